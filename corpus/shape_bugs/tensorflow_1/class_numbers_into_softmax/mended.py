"""Class numbers into the loss for one-hot rows."""
import numpy as np
import tensorflow as tf

n_hidden_1, n_hidden_2, n_input, n_classes = 64, 32, 30, 5
X = tf.placeholder(tf.float32, [None, n_input])
Y = tf.placeholder(tf.float32, [None])


def multilayer_perceptron(x):
    weights = {
        'h1': tf.Variable(tf.random_normal([n_input, n_hidden_1])),
        'h2': tf.Variable(tf.random_normal([n_hidden_1, n_hidden_2])),
        'out': tf.Variable(tf.random_normal([n_hidden_2, n_classes])),
    }
    layer_1 = tf.nn.relu(tf.matmul(x, weights['h1']))
    layer_2 = tf.nn.relu(tf.matmul(layer_1, weights['h2']))
    return tf.matmul(layer_2, weights['out'])


logits = multilayer_perceptron(X)
loss_op = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=tf.cast(Y, tf.int32)))
train_op = tf.train.AdamOptimizer(0.01).minimize(loss_op)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    _, c = sess.run([train_op, loss_op], feed_dict={X: np.ones((8, n_input)), Y: np.zeros(8)})
    print(c > 0)
