"""The gradient penalty's mixing factors lack the axes of images."""
import tensorflow as tf


def critic():
    return tf.keras.Sequential([
        tf.keras.layers.Input((28, 28, 1)),
        tf.keras.layers.Conv2D(8, 5, strides=2, padding="same"),
        tf.keras.layers.LeakyReLU(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(1),
    ])


def gradient_penalty(model, real, fake):
    batch_size = real.shape[0]
    alpha = tf.random.uniform([batch_size, 1])
    interpolated = real + alpha * (fake - real)  # BUG raises: (20, 1) with (20, 28, 28, 1)
    with tf.GradientTape() as tape:
        tape.watch(interpolated)
        pred = model(interpolated, training=True)
    grads = tape.gradient(pred, interpolated)
    norm = tf.sqrt(tf.reduce_sum(tf.square(grads), axis=[1, 2, 3]))
    return tf.reduce_mean((norm - 1.0) ** 2)


print(float(gradient_penalty(critic(), tf.random.normal((20, 28, 28, 1)), tf.random.normal((20, 28, 28, 1)))) >= 0)
