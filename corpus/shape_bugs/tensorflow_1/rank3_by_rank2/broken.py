"""Logits of a language model: the softmax weights are stored as (vocabulary, hidden)."""
import numpy as np
import tensorflow as tf

vocabulary_size, hidden_size = 50, 16


def project(outputs, weights, bias):
    flat = tf.reshape(outputs, [-1, hidden_size])
    return tf.matmul(flat, weights) + bias  # BUG raises: 16 columns by 50 rows


ids = tf.placeholder(tf.int32, [None, 9])
embedding = tf.get_variable("embedding", [vocabulary_size, hidden_size])
softmax_b = tf.get_variable("softmax_b", [vocabulary_size])
words = tf.nn.embedding_lookup(embedding, ids)
logits = project(words, embedding, softmax_b)
loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(ids, [-1]), logits=logits)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(loss, {ids: np.zeros((2, 9))}).shape)
