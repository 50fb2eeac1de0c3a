"""A pyramid of features over time: what is halved and doubled again is subtracted from what it came from."""
import argparse

import tensorflow as tf


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--channels", type=int, default=4)
    return parser.parse_args()


class Pyramid:
    def __init__(self, channels):
        self.down = tf.keras.layers.MaxPooling1D(2)
        self.up = tf.keras.layers.UpSampling1D(2)
        self.mix = tf.keras.layers.Dense(channels)

    def details(self, rows):
        coarse = self.mix(self.up(self.down(rows)))
        return rows - coarse


args = options()
print(Pyramid(args.channels).details(tf.ones([2, args.steps, args.channels])).shape)
