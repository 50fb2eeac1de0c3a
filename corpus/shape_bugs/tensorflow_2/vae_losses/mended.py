"""The two parts of a VAE's loss are summed over different axes."""
import tensorflow as tf


class VAE(tf.keras.Model):
    def __init__(self, latent):
        super().__init__()
        self.latent = latent
        self.enc = tf.keras.layers.Dense(2 * latent)
        self.dec = tf.keras.layers.Dense(14 * 14)

    def encode(self, x):
        mean, logvar = tf.split(self.enc(tf.reshape(x, [-1, 196])), num_or_size_splits=2, axis=1)
        return mean, logvar

    def decode(self, z):
        return tf.reshape(self.dec(z), [-1, 14, 14, 1])


def compute_loss(model, x):
    mean, logvar = model.encode(x)
    logits = model.decode(mean)
    cross_entropy = tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=x)
    reconstruction = tf.reduce_sum(cross_entropy, axis=[1, 2, 3])
    kl = -0.5 * tf.reduce_sum(1 + logvar - tf.square(mean) - tf.exp(logvar), axis=1)
    return tf.reduce_mean(reconstruction + kl)


print(compute_loss(VAE(2), tf.zeros([9, 14, 14, 1])).shape)
