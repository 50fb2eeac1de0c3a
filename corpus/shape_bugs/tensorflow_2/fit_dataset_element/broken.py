"""The elements of a dataset have another width than the model's input."""
import tensorflow as tf


def make_windows(series, size):
    starts = tf.range(0, 40)
    windows = tf.map_fn(lambda i: series[i:i + size], starts, fn_output_signature=tf.TensorSpec([size], tf.float32))
    return tf.data.Dataset.from_tensor_slices((windows, tf.gather(series, starts + size)))


def build(size):
    return tf.keras.Sequential([tf.keras.layers.Input((size,)), tf.keras.layers.Dense(1)])


series = tf.sin(tf.range(100, dtype=tf.float32))
dataset = make_windows(series, 12).batch(8)
model = build(10)
model.compile("sgd", "mse")
model.fit(dataset, epochs=1, verbose=0)  # BUG raises: 12 columns, the model takes 10
