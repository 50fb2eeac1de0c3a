"""ValueError: Unknown variable: ... This optimizer can only be called for the variables it was originally built with

A Keras 3 optimizer creates its slots for the variables of its first call.
"""
import tensorflow as tf

first = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
second = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam()


def step(model, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # TR604


step(first, tf.ones([4, 3]))
step(second, tf.ones([4, 3]))
