"""Joint embeddings of two sensors: the readings of one sensor stand in a row for each step."""
import argparse

import tensorflow as tf


def sizes():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sensors", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--values", type=int, default=4)
    return parser.parse_args()


def rows_of_steps(readings, steps):
    batch, sensors, _, values = readings.shape
    return tf.reshape(readings, [batch, steps, sensors * values])  # BUG silent: the steps stand behind the sensors


args = sizes()
readings = tf.random.normal([2, args.sensors, args.steps, args.values])
print(rows_of_steps(readings, args.steps).shape)
