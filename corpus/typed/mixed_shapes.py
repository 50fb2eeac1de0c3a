"""Functions that are called with several shapes and dtypes, and one batch that is smaller than the others."""

import tensorflow as tf


def normalize(x):
    return x / tf.maximum(tf.norm(x, axis=-1, keepdims=True), 1e-6)


def outer(a, b):
    return tf.expand_dims(a, -1) * tf.expand_dims(b, -2)


def flatten_batch(x):
    return tf.reshape(x, [tf.shape(x)[0], -1])


def merge_heads(x):
    batch, heads, length, depth = x.shape
    return tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [batch, length, heads * depth])


def count_nonzero(values, axis=None):
    return tf.math.count_nonzero(values, axis=axis)


def accumulate(batches):
    total = None
    for batch in batches:
        total = batch if total is None else tf.concat([total, batch], axis=0)
    return total


def reduce_all(x, reducers):
    return {name: reducer(x) for name, reducer in reducers.items()}


def batch_statistics(batch):
    mean = tf.reduce_mean(batch, axis=0)
    return mean, tf.math.reduce_std(batch, axis=0), tf.shape(batch)[0]


def gather_last(sequence, lengths):
    indices = tf.stack([tf.range(tf.shape(sequence)[0]), lengths - 1], axis=1)
    return tf.gather_nd(sequence, indices)


print(normalize(tf.ones([3])), normalize(tf.ones([2, 5])), normalize(tf.ones([2, 2, 4], tf.float64)))
print(outer(tf.ones([3]), tf.ones([4])).shape, outer(tf.ones([2, 3]), tf.ones([2, 5])).shape)
print(flatten_batch(tf.zeros([4, 3, 2])).shape, merge_heads(tf.zeros([2, 4, 7, 8])).shape)
print(count_nonzero([0, 1, 2]), count_nonzero(tf.constant([[0.0, 1.0]]), axis=1))
dataset = tf.data.Dataset.from_tensor_slices(tf.random.normal([10, 6])).batch(4)
for batch in dataset:
    print(batch_statistics(batch)[2])
print(accumulate(list(dataset)).shape, accumulate([tf.ones([1, 2]), tf.ones([2, 2])]).shape)
print(reduce_all(tf.ones([2, 3]), {"sum": tf.reduce_sum, "rows": lambda t: tf.reduce_sum(t, axis=1)}))
print(gather_last(tf.random.normal([3, 5, 2]), tf.constant([5, 1, 3])))
