"""A mixture density network whose targets lack the axis of the components."""
import numpy as np
import tensorflow as tf

K = 5


def mdn(units):
    inputs = tf.keras.Input((1,))
    h = tf.keras.layers.Dense(units, activation="tanh")(inputs)
    return tf.keras.Model(inputs, [tf.keras.layers.Dense(K)(h) for _ in range(3)])


def nll(y, logits, mu, log_sigma):
    z = (y[:, tf.newaxis] - mu) / tf.exp(log_sigma)
    log_probs = tf.nn.log_softmax(logits) - 0.5 * z ** 2 - log_sigma
    return -tf.reduce_mean(tf.reduce_logsumexp(log_probs, axis=-1))


x = np.linspace(-1, 1, 40, dtype="float32")
y = np.sin(x)
model = mdn(16)
optimizer = tf.keras.optimizers.Adam()
with tf.GradientTape() as tape:
    loss = nll(tf.constant(y), *model(x[:, None]))
grads = tape.gradient(loss, model.trainable_variables)
optimizer.apply_gradients(zip(grads, model.trainable_variables))
print(float(loss) > 0)
