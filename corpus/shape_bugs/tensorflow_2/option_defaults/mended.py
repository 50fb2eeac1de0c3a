"""A pyramid of features over time: what is halved and doubled again is subtracted from what it came from."""
import os

import tensorflow as tf

STEPS = int(os.environ.get("PYRAMID_STEPS", "16"))
CHANNELS = int(os.environ.get("PYRAMID_CHANNELS", "4"))


class Pyramid:
    def __init__(self, channels):
        self.down = tf.keras.layers.MaxPooling1D(2)
        self.up = tf.keras.layers.UpSampling1D(2)
        self.mix = tf.keras.layers.Dense(channels)

    def details(self, rows):
        coarse = self.mix(self.up(self.down(rows)))
        return rows - coarse


print(Pyramid(CHANNELS).details(tf.ones([2, STEPS, CHANNELS])).shape)
