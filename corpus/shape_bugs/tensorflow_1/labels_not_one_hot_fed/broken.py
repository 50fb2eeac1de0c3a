"""Class numbers are fed where one-hot rows are expected."""
import numpy as np
import tensorflow as tf

n_input, n_hidden, n_classes = 4, 16, 3

X = tf.placeholder("float", [None, n_input])
Y = tf.placeholder("float", [None, n_classes])

weights = {
    'h1': tf.Variable(tf.random_normal([n_input, n_hidden])),
    'out': tf.Variable(tf.random_normal([n_hidden, n_classes])),
}
biases = {
    'b1': tf.Variable(tf.random_normal([n_hidden])),
    'out': tf.Variable(tf.random_normal([n_classes])),
}


def multilayer_perceptron(x):
    layer_1 = tf.nn.relu(tf.add(tf.matmul(x, weights['h1']), biases['b1']))
    return tf.matmul(layer_1, weights['out']) + biases['out']


logits = multilayer_perceptron(X)
loss_op = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=Y))
train_op = tf.train.AdamOptimizer(learning_rate=0.001).minimize(loss_op)

features = np.random.rand(150, 4)
species = np.random.randint(0, 3, size=150)
targets = species

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(2):
        _, c = sess.run([train_op, loss_op], feed_dict={X: features, Y: targets})  # BUG raises: Y is (?, 3), fed (150,)
        print("epoch", epoch, "loss", c)
