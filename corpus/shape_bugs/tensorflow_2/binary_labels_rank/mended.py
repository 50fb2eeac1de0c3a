"""Logits of one unit and labels without that axis, in a training loop of one's own."""
import tensorflow as tf

w = tf.Variable(tf.zeros([6, 1]))
b = tf.Variable(tf.zeros([1]))


def forward(x):
    return tf.matmul(x, w) + b


def loss_fn(labels, logits):
    per_example = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=tf.squeeze(logits, -1))
    return tf.reduce_mean(per_example)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, forward(x))
    gradients = tape.gradient(loss, [w, b])
    for variable, gradient in zip([w, b], gradients):
        variable.assign_sub(0.1 * gradient)
    return loss


print(step(tf.random.normal([32, 6]), tf.ones([32])).shape)
