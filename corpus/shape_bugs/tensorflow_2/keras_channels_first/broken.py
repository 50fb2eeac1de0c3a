"""Photos with channels first reach a model whose input is channels last."""
import numpy as np
import tensorflow as tf


def make_model():
    return tf.keras.Sequential([
        tf.keras.layers.Input(shape=(32, 32, 3)),
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(5),
    ])


def load_photos(count):
    photos = np.random.rand(count, 3, 32, 32).astype("float32")
    return photos


model = make_model()
photos = load_photos(6)
print(model(photos).shape)  # BUG raises: (6, 3, 32, 32) for (None, 32, 32, 3)
