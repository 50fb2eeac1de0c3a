"""A table is given to an LSTM, which wants time steps."""
import numpy as np
import tensorflow as tf

table = np.random.rand(100, 6).astype("float32")


def windows(table, length):
    return np.stack([table[i:i + length] for i in range(90)])


layer = tf.keras.layers.LSTM(4)
out = layer(windows(table, 10))
print(out.shape[1])
