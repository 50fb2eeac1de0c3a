"""The two states of a bidirectional encoder are joined; the decoder has only half of that."""
import tensorflow as tf

UNITS = 16


def encode(x):
    layer = tf.keras.layers.Bidirectional(tf.keras.layers.GRU(UNITS, return_sequences=True, return_state=True))
    output, forward, backward = layer(x)
    return output, tf.concat([forward, backward], axis=-1)


decoder = tf.keras.layers.GRU(UNITS, return_sequences=True)
_, state = encode(tf.random.normal([3, 7, 5]))
out = decoder(tf.random.normal([3, 4, 5]), initial_state=state)  # BUG raises: a state of 32 for 16 units
print(out.shape)
