"""Joint rows of three sensors: the readings of all sensors stand in a row for each step."""
import os

import tensorflow as tf

SENSORS = int(os.environ.get("SENSORS", "3"))
STEPS = int(os.environ.get("SENSOR_STEPS", "10"))
VALUES = int(os.environ.get("SENSOR_VALUES", "4"))


def rows_of_steps(readings, steps):
    batch, sensors, _, values = readings.shape
    return tf.reshape(readings, [batch, steps, sensors * values])  # BUG silent: the steps stand behind the sensors


readings = tf.random.stateless_normal([2, SENSORS, STEPS, VALUES], seed=[1, 2])
rows = rows_of_steps(readings, STEPS)
print(rows.shape, tf.reduce_max(tf.reduce_sum(rows, axis=-1)).numpy())
