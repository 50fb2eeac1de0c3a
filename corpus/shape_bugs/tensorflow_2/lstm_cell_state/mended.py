"""A cell is stepped by hand with states of another width."""
import tensorflow as tf


def initial_state(batch, units):
    return [tf.zeros([batch, units]), tf.zeros([batch, units])]


def unroll(cell, inputs):
    state = initial_state(inputs.shape[0], cell.units)
    outputs = []
    for step in tf.unstack(inputs, axis=1):
        output, state = cell(step, state)
        outputs.append(output)
    return tf.stack(outputs, axis=1)


print(unroll(tf.keras.layers.LSTMCell(32), tf.random.normal([4, 6, 10])).shape)
