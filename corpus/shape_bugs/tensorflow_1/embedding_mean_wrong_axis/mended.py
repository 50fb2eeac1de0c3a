"""A bag of words averages over the embedding instead of over the words."""
import numpy as np
import tensorflow as tf


class TextClassifier:
    def __init__(self, vocab_size=100, dim=16, n_classes=4, length=12):
        self.input_x = tf.placeholder(tf.int32, [None, length])
        self.input_y = tf.placeholder(tf.int32, [None])
        table = tf.get_variable("table", [vocab_size, dim])
        embedded = tf.nn.embedding_lookup(table, self.input_x)
        self.document = tf.reduce_mean(embedded, axis=1)
        self.logits = self.output(dim, n_classes)

    def output(self, dim, n_classes):
        w = tf.get_variable("out_w", [dim, n_classes])
        b = tf.get_variable("out_b", [n_classes])
        return tf.nn.xw_plus_b(self.document, w, b)


model = TextClassifier()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(model.logits, {model.input_x: np.zeros([3, 12])}).shape)
