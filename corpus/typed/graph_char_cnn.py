"""A TensorFlow 1 program: placeholders, variable scopes, a text CNN, summaries, feed dictionaries, an evaluation loop."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

flags = tf.flags
flags.DEFINE_integer("embedding_dim", 8, "Dimensionality of character embedding")
flags.DEFINE_string("filter_sizes", "2,3", "Comma-separated filter sizes")
flags.DEFINE_integer("num_filters", 4, "Number of filters per filter size")
flags.DEFINE_float("dropout_keep_prob", 0.5, "Dropout keep probability")
flags.DEFINE_float("l2_reg_lambda", 0.1, "L2 regularization lambda")
flags.DEFINE_integer("batch_size", 4, "Batch Size")
flags.DEFINE_integer("num_epochs", 1, "Number of training epochs")
FLAGS = flags.FLAGS

SEQUENCE_LENGTH = 12
VOCAB_SIZE = 30


class TextCNN(object):
    def __init__(
        self, sequence_length, num_classes, vocab_size, embedding_size, filter_sizes, num_filters, l2_reg_lambda=0.0
    ):
        self.input_x = tf.placeholder(tf.int32, [None, sequence_length], name="input_x")
        self.input_y = tf.placeholder(tf.float32, [None, num_classes], name="input_y")
        self.dropout_keep_prob = tf.placeholder(tf.float32, name="dropout_keep_prob")
        l2_loss = tf.constant(0.0)
        with tf.device("/cpu:0"), tf.name_scope("embedding"):
            self.W = tf.Variable(tf.random_uniform([vocab_size, embedding_size], -1.0, 1.0), name="W")
            self.embedded_chars = tf.nn.embedding_lookup(self.W, self.input_x)
            self.embedded_chars_expanded = tf.expand_dims(self.embedded_chars, -1)
        pooled_outputs = []
        for i, filter_size in enumerate(filter_sizes):
            with tf.name_scope("conv-maxpool-%s" % filter_size):
                pooled = conv_max_pool(
                    self.embedded_chars_expanded, filter_size, embedding_size, num_filters, sequence_length
                )
                pooled_outputs.append(pooled)
        num_filters_total = num_filters * len(filter_sizes)
        self.h_pool = tf.concat(pooled_outputs, 3)
        self.h_pool_flat = tf.reshape(self.h_pool, [-1, num_filters_total])
        with tf.name_scope("dropout"):
            self.h_drop = tf.nn.dropout(self.h_pool_flat, self.dropout_keep_prob)
        with tf.variable_scope("output"):
            W = tf.get_variable("W", shape=[num_filters_total, num_classes], initializer=tf.glorot_uniform_initializer())
            b = tf.Variable(tf.constant(0.1, shape=[num_classes]), name="b")
            l2_loss += tf.nn.l2_loss(W)
            l2_loss += tf.nn.l2_loss(b)
            self.scores = tf.nn.xw_plus_b(self.h_drop, W, b, name="scores")
            self.predictions = tf.argmax(self.scores, 1, name="predictions")
        self.loss = self.add_loss(self.scores, self.input_y, l2_loss, l2_reg_lambda)
        self.accuracy = accuracy(self.predictions, self.input_y)

    def add_loss(self, scores, labels, l2_loss, l2_reg_lambda):
        losses = tf.nn.softmax_cross_entropy_with_logits_v2(logits=scores, labels=labels)
        return tf.reduce_mean(losses) + l2_reg_lambda * l2_loss


def weight_variable(shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1), name="W")


def conv_max_pool(inputs, filter_size, embedding_size, num_filters, sequence_length):
    filter_shape = [filter_size, embedding_size, 1, num_filters]
    W = weight_variable(filter_shape)
    b = tf.Variable(tf.constant(0.1, shape=[num_filters]), name="b")
    conv = tf.nn.conv2d(inputs, W, strides=[1, 1, 1, 1], padding="VALID", name="conv")
    h = tf.nn.relu(tf.nn.bias_add(conv, b), name="relu")
    return tf.nn.max_pool(h, ksize=[1, sequence_length - filter_size + 1, 1, 1], strides=[1, 1, 1, 1], padding="VALID")


def accuracy(predictions, labels):
    correct_predictions = tf.equal(predictions, tf.argmax(labels, 1))
    return tf.reduce_mean(tf.cast(correct_predictions, "float"), name="accuracy")


def load_data_and_labels(n=14):
    rng = np.random.RandomState(10)
    x = rng.randint(1, VOCAB_SIZE, size=(n, SEQUENCE_LENGTH))
    labels = (x[:, 0] > VOCAB_SIZE // 2).astype(int)
    y = np.eye(2)[labels]
    return x, y


def batch_iter(data, batch_size, num_epochs, shuffle=True):
    data = np.array(data, dtype=object)
    data_size = len(data)
    num_batches_per_epoch = int((len(data) - 1) / batch_size) + 1
    for epoch in range(num_epochs):
        if shuffle:
            shuffle_indices = np.random.permutation(np.arange(data_size))
            shuffled_data = data[shuffle_indices]
        else:
            shuffled_data = data
        for batch_num in range(num_batches_per_epoch):
            start_index = batch_num * batch_size
            end_index = min((batch_num + 1) * batch_size, data_size)
            yield shuffled_data[start_index:end_index]


def train_step(sess, cnn, train_op, global_step, x_batch, y_batch):
    feed_dict = {cnn.input_x: x_batch, cnn.input_y: y_batch, cnn.dropout_keep_prob: FLAGS.dropout_keep_prob}
    _, step, loss, acc = sess.run([train_op, global_step, cnn.loss, cnn.accuracy], feed_dict)
    return step, loss, acc


def dev_step(sess, cnn, x_batch, y_batch):
    feed_dict = {cnn.input_x: x_batch, cnn.input_y: y_batch, cnn.dropout_keep_prob: 1.0}
    loss, acc, predictions = sess.run([cnn.loss, cnn.accuracy, cnn.predictions], feed_dict)
    return predictions


def main(_):
    x, y = load_data_and_labels()
    x_train, x_dev = x[:-4], x[-4:]
    y_train, y_dev = y[:-4], y[-4:]
    with tf.Graph().as_default():
        sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
        with sess.as_default():
            cnn = TextCNN(
                sequence_length=x_train.shape[1],
                num_classes=y_train.shape[1],
                vocab_size=VOCAB_SIZE,
                embedding_size=FLAGS.embedding_dim,
                filter_sizes=list(map(int, FLAGS.filter_sizes.split(","))),
                num_filters=FLAGS.num_filters,
                l2_reg_lambda=FLAGS.l2_reg_lambda,
            )
            global_step = tf.Variable(0, name="global_step", trainable=False)
            optimizer = tf.train.AdamOptimizer(1e-3)
            grads_and_vars = optimizer.compute_gradients(cnn.loss)
            train_op = optimizer.apply_gradients(grads_and_vars, global_step=global_step)
            sess.run(tf.global_variables_initializer())
            batches = batch_iter(list(zip(x_train, y_train)), FLAGS.batch_size, FLAGS.num_epochs)
            for batch in batches:
                x_batch, y_batch = zip(*batch)
                step, loss, acc = train_step(sess, cnn, train_op, global_step, x_batch, y_batch)
            predictions = dev_step(sess, cnn, x_dev, y_dev)
            print(step, predictions.shape)


if __name__ == "__main__":
    tf.app.run()
