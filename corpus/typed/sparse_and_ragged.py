"""Sparse, ragged and string tensors through functions."""

import tensorflow as tf


def bag_of_words(ids, size):
    ones = tf.ones_like(ids.values, dtype=tf.float32)
    rows = ids.value_rowids()
    return tf.scatter_nd(tf.stack([rows, ids.values], axis=1), ones, tf.stack([ids.nrows(), size]))


def sparse_layer(features, weights):
    return tf.sparse.sparse_dense_matmul(features, weights)


def row_means(ragged):
    return tf.reduce_mean(ragged, axis=1)


def lookup(words, vocabulary):
    keys = tf.constant(vocabulary)
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys, tf.range(len(vocabulary), dtype=tf.int64)), default_value=-1
    )
    return table.lookup(words)


def clean(text):
    return tf.strings.regex_replace(tf.strings.lower(text), "[^a-z ]", "")


def joined(parts):
    return tf.strings.reduce_join(parts, axis=-1, separator="-")


def lengths(words):
    return tf.strings.length(words)


def dense_of(sparse):
    return tf.sparse.to_dense(tf.sparse.reorder(sparse))


VOCABULARY = ["red", "green", "blue", "grey"]
texts = tf.constant(["Red green!", "blue blue blue", "grey"])
words = tf.strings.split(clean(texts))
print(joined(tf.constant([["a", "b"], ["c", "d"]])), lengths(words.to_tensor()))
ids = tf.ragged.map_flat_values(lambda flat: tf.maximum(lookup(flat, VOCABULARY), 0), words)
print(bag_of_words(ids, len(VOCABULARY)))
print(row_means(tf.ragged.constant([[1.0, 2.0], [], [4.0]])))
features = tf.sparse.SparseTensor(indices=[[0, 1], [2, 3]], values=[1.0, 2.0], dense_shape=[3, 4])
print(sparse_layer(features, tf.ones([4, 2])), dense_of(features))
