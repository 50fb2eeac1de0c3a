"""A sequential model, and a tensor whose sizes come from several places."""

import tensorflow as tf

stacked = tf.keras.Sequential(
    [
        tf.keras.Input((28, 28, 1)),
        tf.keras.layers.Conv2D(32, 3, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10),
    ]
)
stacked.summary()
scores = stacked(tf.zeros([16, 28, 28, 1]))
joined = tf.concat([scores, tf.ones([16, 3])], axis=1)
