"""A beta-VAE with overriden train_step and a separate sampling layer."""
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.keras import backend as K


class Sampling(layers.Layer):
    """Uses (z_mean, z_log_var) to sample z."""

    def call(self, inputs):
        z_mean, z_log_var = inputs
        batch = tf.shape(z_mean)[0]
        dim = tf.shape(z_mean)[1]
        epsilon = tf.random.normal(shape=(batch, dim))
        return z_mean + tf.exp(0.5 * z_log_var) * epsilon


def build_encoder(latent_dim):
    encoder_inputs = keras.Input(shape=(28, 28, 1))
    x = layers.Conv2D(8, 3, activation="relu", strides=2, padding="same")(encoder_inputs)
    x = layers.Conv2D(16, 3, activation="relu", strides=2, padding="same")(x)
    x = layers.Flatten()(x)
    x = layers.Dense(16, activation="relu")(x)
    z_mean = layers.Dense(latent_dim, name="z_mean")(x)
    z_log_var = layers.Dense(latent_dim, name="z_log_var")(x)
    z = Sampling()([z_mean, z_log_var])
    return keras.Model(encoder_inputs, [z_mean, z_log_var, z], name="encoder")


def build_decoder(latent_dim):
    latent_inputs = keras.Input(shape=(latent_dim,))
    x = layers.Dense(7 * 7 * 16, activation="relu")(latent_inputs)
    x = layers.Reshape((7, 7, 16))(x)
    x = layers.Conv2DTranspose(16, 3, activation="relu", strides=2, padding="same")(x)
    x = layers.Conv2DTranspose(8, 3, activation="relu", strides=2, padding="same")(x)
    decoder_outputs = layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(x)
    return keras.Model(latent_inputs, decoder_outputs, name="decoder")


class VAE(keras.Model):
    def __init__(self, encoder, decoder, beta=1.0, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.decoder = decoder
        self.beta = beta
        self.total_loss_tracker = keras.metrics.Mean(name="total_loss")
        self.kl_loss_tracker = keras.metrics.Mean(name="kl_loss")

    @property
    def metrics(self):
        return [self.total_loss_tracker, self.kl_loss_tracker]

    def kl_divergence(self, z_mean, z_log_var):
        kl = -0.5 * (1 + z_log_var - tf.square(z_mean) - tf.exp(z_log_var))
        return tf.reduce_mean(tf.reduce_sum(kl, axis=1))

    def reconstruction(self, data, recon):
        bce = keras.losses.binary_crossentropy(data, recon)
        return tf.reduce_mean(tf.reduce_sum(bce, axis=(1, 2)))

    def train_step(self, data):
        with tf.GradientTape() as tape:
            z_mean, z_log_var, z = self.encoder(data)
            recon = self.decoder(z)
            rl = self.reconstruction(data, recon)
            kl = self.kl_divergence(z_mean, z_log_var)
            total = rl + self.beta * kl
        grads = tape.gradient(total, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.total_loss_tracker.update_state(total)
        self.kl_loss_tracker.update_state(kl)
        return {"loss": self.total_loss_tracker.result(), "kl_loss": self.kl_loss_tracker.result()}

    def call(self, inputs):
        _, _, z = self.encoder(inputs)
        return self.decoder(z)


def interpolate(decoder, z_a, z_b, steps):
    weights = tf.linspace(0.0, 1.0, steps)[:, None]
    z = z_a[None, :] * (1 - weights) + z_b[None, :] * weights
    return decoder(z)


def latent_grid(decoder, n=5, scale=1.0):
    grid_x = np.linspace(-scale, scale, n)
    grid_y = np.linspace(-scale, scale, n)[::-1]
    figure = np.zeros((28 * n, 28 * n))
    for i, yi in enumerate(grid_y):
        for j, xi in enumerate(grid_x):
            z_sample = np.array([[xi, yi]])
            x_decoded = decoder(z_sample)
            digit = tf.reshape(x_decoded[0], (28, 28))
            figure[i * 28:(i + 1) * 28, j * 28:(j + 1) * 28] = digit.numpy()
    return figure


def elbo_per_example(vae, x):
    mean, log_var, z = vae.encoder(x)
    logits = vae.decoder(z)
    ll = -tf.reduce_sum(K.binary_crossentropy(x, logits), axis=[1, 2, 3])
    kl = 0.5 * tf.reduce_sum(tf.exp(log_var) + mean ** 2 - 1.0 - log_var, axis=-1)
    return ll - kl, kl


def main(args):
    data = np.random.rand(96, 28, 28, 1).astype("float32")
    vae = VAE(build_encoder(args.latent), build_decoder(args.latent), beta=args.beta)
    vae.compile(optimizer=keras.optimizers.Adam(), run_eagerly=True)
    vae.fit(data, epochs=1, batch_size=32, verbose=0)
    elbo, kl = elbo_per_example(vae, tf.constant(data[:20]))
    m, _, _ = vae.encoder(data[:2])
    frames = interpolate(vae.decoder, m[0], m[1], 7)
    fig = latent_grid(vae.decoder)
    print(elbo.shape, frames.shape, fig.shape)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latent", type=int, default=2)
    parser.add_argument("--beta", type=float, default=1.0)
    main(parser.parse_args())
