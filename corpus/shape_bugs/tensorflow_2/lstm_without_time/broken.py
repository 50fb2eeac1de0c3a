"""A table is given to an LSTM, which wants time steps."""
import numpy as np
import tensorflow as tf

table = np.random.rand(100, 6).astype("float32")


def windows(table, length):
    return table


layer = tf.keras.layers.LSTM(4)
out = layer(windows(table, 10))  # BUG raises: (100, 6) has no time axis
print(out.shape[1])
