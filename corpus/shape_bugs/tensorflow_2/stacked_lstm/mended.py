"""Two recurrent layers, the first of which gives its last output only."""
import tensorflow as tf


def build(timesteps, features, units):
    model = tf.keras.models.Sequential()
    model.add(tf.keras.Input(shape=(timesteps, features)))
    model.add(tf.keras.layers.LSTM(units, return_sequences=True))
    model.add(tf.keras.layers.LSTM(units))
    model.add(tf.keras.layers.Dense(1))
    return model


print(build(12, 3, 7).output_shape)
