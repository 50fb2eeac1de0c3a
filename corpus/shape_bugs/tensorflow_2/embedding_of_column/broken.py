"""Ids with an axis of their own make an embedding of rank 4, which no LSTM takes."""
import numpy as np
import tensorflow as tf


def load_ids():
    ids = np.random.randint(1, 500, size=(16, 20))
    return ids.reshape(16, 20, 1)


def encoder(ids):
    x = tf.keras.layers.Embedding(500, 8)(ids)
    return tf.keras.layers.LSTM(12)(x)  # BUG raises: (16, 20, 1, 8) has rank 4


print(encoder(load_ids()).shape)
