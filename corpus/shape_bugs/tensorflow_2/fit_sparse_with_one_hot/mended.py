"""`sparse_categorical_crossentropy` is trained with one-hot labels."""
import numpy as np
import tensorflow as tf

digits = np.random.rand(40, 8, 8, 1).astype("float32")
labels = np.arange(40) % 10

model = tf.keras.Sequential([
    tf.keras.layers.Input(shape=(8, 8, 1)),
    tf.keras.layers.Conv2D(4, 3, activation="relu"),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(10, activation="softmax"),
])
model.compile(loss="sparse_categorical_crossentropy", optimizer="sgd", metrics=["accuracy"])
model.fit(digits, labels, epochs=1, verbose=0)
