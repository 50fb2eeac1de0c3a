"""`categorical_crossentropy` is trained with class numbers."""
import numpy as np
import tensorflow as tf


def load_data():
    x = np.random.rand(60, 12).astype("float32")
    y = np.random.randint(0, 3, size=(60,))
    return x, tf.keras.utils.to_categorical(y, 3)


def build_model():
    model = tf.keras.Sequential()
    model.add(tf.keras.layers.Input(shape=(12,)))
    model.add(tf.keras.layers.Dense(16, activation="relu"))
    model.add(tf.keras.layers.Dense(3, activation="softmax"))
    model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
    return model


x_train, y_train = load_data()
model = build_model()
model.fit(x_train, y_train, epochs=1, batch_size=20, verbose=0)
