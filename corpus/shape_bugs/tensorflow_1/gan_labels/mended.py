"""The two losses of a GAN, with targets of another rank than the logits."""
import tensorflow as tf

batch_size, noise_dim = 16, 8


def generator(z):
    with tf.variable_scope("G"):
        return tf.tanh(tf.matmul(z, tf.get_variable("w", [noise_dim, 30])))


def discriminator(x, reuse=None):
    with tf.variable_scope("D", reuse=reuse):
        h = tf.nn.relu(tf.matmul(x, tf.get_variable("w1", [30, 12])))
        return tf.matmul(h, tf.get_variable("w2", [12, 1]))


def adversarial_loss(logits, real):
    targets = tf.ones_like(logits) if real else tf.zeros_like(logits)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=targets))


real_logits = discriminator(tf.random_normal([batch_size, 30]))
fake_logits = discriminator(generator(tf.random_uniform([batch_size, noise_dim])), reuse=True)
d_loss = adversarial_loss(real_logits, True) + adversarial_loss(fake_logits, False)
g_loss = adversarial_loss(fake_logits, True)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run([d_loss, g_loss])[0] > 0)
