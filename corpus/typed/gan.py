"""Adversarial training with two sequential models and a class that trains them, in the style of the Keras guides."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

LATENT = 8


def make_discriminator():
    return keras.Sequential(
        [
            keras.Input(shape=(16, 16, 1)),
            layers.Conv2D(8, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.GlobalMaxPooling2D(),
            layers.Dense(1),
        ],
        name="discriminator",
    )


def make_generator():
    model = keras.Sequential(name="generator")
    model.add(keras.Input(shape=(LATENT,)))
    model.add(layers.Dense(4 * 4 * 16, use_bias=False))
    model.add(layers.LeakyReLU(negative_slope=0.2))
    model.add(layers.Reshape((4, 4, 16)))
    model.add(layers.Conv2DTranspose(16, (4, 4), strides=(2, 2), padding="same"))
    model.add(layers.Conv2DTranspose(1, (4, 4), strides=(2, 2), padding="same", activation="sigmoid"))
    return model


class GAN(keras.Model):
    def __init__(self, discriminator, generator, latent_dim):
        super().__init__()
        self.discriminator = discriminator
        self.generator = generator
        self.latent_dim = latent_dim
        self.d_loss_tracker = keras.metrics.Mean(name="d_loss")
        self.g_loss_tracker = keras.metrics.Mean(name="g_loss")

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer = d_optimizer
        self.g_optimizer = g_optimizer
        self.loss_fn = loss_fn

    def combine(self, real, fake):
        images = tf.concat([fake, real], axis=0)
        labels = tf.concat([tf.ones((tf.shape(fake)[0], 1)), tf.zeros((tf.shape(real)[0], 1))], axis=0)
        return images, labels + 0.05 * tf.random.uniform(tf.shape(labels))

    def train_step(self, real_images):
        batch_size = tf.shape(real_images)[0]
        noise = tf.random.normal(shape=(batch_size, self.latent_dim))
        generated = self.generator(noise)
        images, labels = self.combine(real_images, generated)
        with tf.GradientTape() as tape:
            predictions = self.discriminator(images)
            d_loss = self.loss_fn(labels, predictions)
        grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
        self.d_optimizer.apply_gradients(zip(grads, self.discriminator.trainable_weights))
        misleading = tf.zeros((batch_size, 1))
        with tf.GradientTape() as tape:
            predictions = self.discriminator(self.generator(tf.random.normal(shape=(batch_size, self.latent_dim))))
            g_loss = self.loss_fn(misleading, predictions)
        grads = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_optimizer.apply_gradients(zip(grads, self.generator.trainable_weights))
        self.d_loss_tracker.update_state(d_loss)
        self.g_loss_tracker.update_state(g_loss)
        return {"d_loss": self.d_loss_tracker.result(), "g_loss": self.g_loss_tracker.result()}


def normalize(images):
    return tf.cast(images, tf.float32) / 255.0


digits = tf.cast(tf.random.uniform((24, 16, 16, 1), maxval=255), tf.uint8)
dataset = tf.data.Dataset.from_tensor_slices(digits).map(normalize).shuffle(24).batch(6)
gan = GAN(make_discriminator(), make_generator(), LATENT)
gan.compile(keras.optimizers.Adam(3e-4), keras.optimizers.Adam(3e-4), keras.losses.BinaryCrossentropy(from_logits=True))
gan.fit(dataset, epochs=1, verbose=0)
