"""Pretrained vectors of another width than the variable."""
import numpy as np
import tensorflow as tf

vocab_size = 200


def load_glove(dim):
    vectors = np.random.uniform(-0.25, 0.25, (vocab_size, dim)).astype("float32")
    vectors[0] = 0
    return vectors


class TextModel:
    def __init__(self, embedding_dim):
        self.W = tf.Variable(tf.constant(0.0, shape=[vocab_size, embedding_dim]), trainable=False, name="W")
        self.embedding_placeholder = tf.placeholder(tf.float32, [vocab_size, embedding_dim])
        self.embedding_init = self.W.assign(self.embedding_placeholder)
        self.words = tf.placeholder(tf.int32, [None, 12])
        self.mean = tf.reduce_mean(tf.nn.embedding_lookup(self.W, self.words), 1)

    def initialize(self, sess, vectors):
        sess.run(tf.global_variables_initializer())
        sess.run(self.embedding_init, feed_dict={self.embedding_placeholder: vectors})  # BUG raises: (200, 100) for (200, 50)


model = TextModel(50)
with tf.Session() as sess:
    model.initialize(sess, load_glove(100))
    print(sess.run(model.mean, {model.words: np.ones((3, 12))}).shape)
