"""A variational autoencoder as a class with methods."""

import numpy as np
import tensorflow as tf


class CVAE(tf.keras.Model):
    """Encoder and decoder of 8x8 images; the latent space is a plane."""

    def __init__(self, latent_dim):
        super().__init__()
        self.latent_dim = latent_dim
        self.encoder = tf.keras.Sequential(
            [
                tf.keras.Input((8, 8, 1)),
                tf.keras.layers.Conv2D(4, 3, strides=2, activation="relu"),
                tf.keras.layers.Flatten(),
                tf.keras.layers.Dense(latent_dim + latent_dim),
            ]
        )
        self.decoder = tf.keras.Sequential(
            [
                tf.keras.Input((latent_dim,)),
                tf.keras.layers.Dense(4 * 4 * 4, activation="relu"),
                tf.keras.layers.Reshape((4, 4, 4)),
                tf.keras.layers.Conv2DTranspose(1, 3, strides=2, padding="same"),
            ]
        )

    def sample(self, eps=None):
        if eps is None:
            eps = tf.random.normal(shape=(16, self.latent_dim))
        return self.decode(eps, apply_sigmoid=True)

    def encode(self, x):
        mean, logvar = tf.split(self.encoder(x), num_or_size_splits=2, axis=1)
        return mean, logvar

    def reparameterize(self, mean, logvar):
        eps = tf.random.normal(shape=tf.shape(mean))
        return eps * tf.exp(logvar * 0.5) + mean

    def decode(self, z, apply_sigmoid=False):
        logits = self.decoder(z)
        if apply_sigmoid:
            return tf.sigmoid(logits)
        return logits


def log_normal_pdf(sample, mean, logvar, raxis=1):
    log2pi = tf.math.log(2.0 * np.pi)
    return tf.reduce_sum(-0.5 * ((sample - mean) ** 2.0 * tf.exp(-logvar) + logvar + log2pi), axis=raxis)


def compute_loss(model, x):
    mean, logvar = model.encode(x)
    z = model.reparameterize(mean, logvar)
    x_logit = model.decode(z)
    cross_ent = tf.nn.sigmoid_cross_entropy_with_logits(logits=x_logit, labels=x)
    logpx_z = -tf.reduce_sum(cross_ent, axis=[1, 2, 3])
    logpz = log_normal_pdf(z, 0.0, 0.0)
    logqz_x = log_normal_pdf(z, mean, logvar)
    return -tf.reduce_mean(logpx_z + logpz - logqz_x)


def train_step(model, x, optimizer):
    with tf.GradientTape() as tape:
        loss = compute_loss(model, x)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def make_images(count):
    rng = np.random.RandomState(3)
    images = np.zeros((count, 8, 8, 1), "float32")
    for i in range(count):
        row, column = rng.randint(0, 6, 2)
        images[i, row : row + 3, column : column + 3] = 1.0
    return images


def main():
    train = tf.data.Dataset.from_tensor_slices(make_images(640)).batch(64, drop_remainder=True)
    test = tf.constant(make_images(64))
    model = CVAE(2)
    optimizer = tf.keras.optimizers.Adam(2e-3)
    for epoch in range(1, 16):
        for batch in train:
            train_step(model, batch, optimizer)
        elbo = -compute_loss(model, test)
        print(f"epoch {epoch}, ELBO {elbo:.2f}")
    print("sample range", bool(tf.reduce_all(model.sample() <= 1.0)))


if __name__ == "__main__":
    main()
