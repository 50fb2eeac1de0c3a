"""A dataset is batched when it is made, and once more before training."""
import tensorflow as tf


def load():
    data = tf.random.normal([24, 16, 3])
    return tf.data.Dataset.from_tensor_slices(data).batch(4)


def prepare(ds):
    return ds.shuffle(100).batch(2).prefetch(1)


layer = tf.keras.layers.Conv1D(5, 3)
for batch in prepare(load()):
    features = layer(batch)  # BUG raises: (2, 4, 16, 3) has rank 4
print(features.shape)
