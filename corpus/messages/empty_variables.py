"""ValueError: not enough values to unpack (expected 2, got 0)

`model.trainable_variables` was read before the model was built, when the list was empty.
"""
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
variables = model.trainable_variables  # TR313
optimizer = tf.keras.optimizers.SGD()
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(model(tf.ones([2, 3])) ** 2)
gradients = tape.gradient(loss, variables)
optimizer.apply_gradients(zip(gradients, variables))
