"""DCGAN: two convolutional networks that train against each other (Radford et al., ICLR 2016).

Two tapes are open at once, and the discriminator skips its update while it wins too clearly.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .program import Program, Size

SIZES = {
    "small": {"batch": 4, "image": 16, "width": 8, "noise": 16},
    "large": {"batch": 64, "image": 32, "width": 96, "noise": 64},
}


def make_generator(image, width, noise):
    start = image // 4
    return keras.Sequential(
        [
            keras.Input([noise]),
            layers.Dense(start * start * 2 * width, use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Reshape([start, start, 2 * width]),
            layers.Conv2DTranspose(width, 5, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Conv2DTranspose(1, 5, strides=2, padding="same", activation="tanh"),
        ],
        name="generator",
    )


def make_discriminator(image, width):
    return keras.Sequential(
        [
            keras.Input([image, image, 1]),
            layers.Conv2D(width, 5, strides=2, padding="same"),
            layers.LeakyReLU(),
            layers.Dropout(0.3),
            layers.Conv2D(2 * width, 5, strides=2, padding="same"),
            layers.LeakyReLU(),
            layers.Dropout(0.3),
            layers.Flatten(),
            layers.Dense(1),
        ],
        name="discriminator",
    )


class GAN:
    def __init__(self, generator, discriminator, noise):
        self.generator, self.discriminator = generator, discriminator
        self.noise = noise
        self.random = tf.random.Generator.from_seed(11)
        self.optimizers = {
            "generator": keras.optimizers.Adam(2e-4, beta_1=0.5),
            "discriminator": keras.optimizers.Adam(2e-4, beta_1=0.5),
        }
        self.cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)

    def losses(self, real, fake):
        """Yield the name, loss and network of each side; real and fake are logits [batch, 1]."""
        yield "generator", self.cross_entropy(tf.ones_like(fake), fake), self.generator
        on_real = self.cross_entropy(tf.fill(tf.shape(real), tf.constant(0.9, real.dtype)), real)
        on_fake = self.cross_entropy(tf.zeros_like(fake), fake)
        yield "discriminator", on_real + on_fake, self.discriminator

    def train_step(self, images):
        noise = self.random.normal([images.shape[0], self.noise], dtype=images.dtype)
        with tf.GradientTape() as generator_tape, tf.GradientTape() as discriminator_tape:
            generated = self.generator(noise, training=True)
            real = self.discriminator(images, training=True)
            fake = self.discriminator(generated, training=True)
            sides = list(self.losses(real, fake))
        tapes = {"generator": generator_tape, "discriminator": discriminator_tape}
        gradients = {name: tapes[name].gradient(loss, net.trainable_variables) for name, loss, net in sides}

        self.optimizers["generator"].apply_gradients(zip(gradients["generator"], self.generator.trainable_variables))
        right = tf.concat([real > 0, fake < 0], axis=0)
        accuracy = tf.reduce_mean(tf.cast(right, images.dtype))
        if accuracy < 0.9:
            self.optimizers["discriminator"].apply_gradients(
                zip(gradients["discriminator"], self.discriminator.trainable_variables)
            )
        return {**{name: loss for name, loss, _ in sides}, "accuracy": accuracy}


def build(size: Size, dtype: str) -> Program:
    config = SIZES[size]
    random = np.random.default_rng(0)
    grid = np.linspace(-1, 1, config["image"])
    batches = []
    for _ in range(8):
        # Soft discs at random places.
        x, y = random.uniform(-0.5, 0.5, size=(2, config["batch"], 1, 1))
        distance = (grid[:, np.newaxis] - y) ** 2 + (grid - x) ** 2
        batches.append((tf.constant(np.tanh(2 - 8 * distance)[..., np.newaxis], dtype),))
    generator = make_generator(config["image"], config["width"], config["noise"])
    discriminator = make_discriminator(config["image"], config["width"])
    gan = GAN(generator, discriminator, config["noise"])
    gan.optimizers["generator"].build(generator.trainable_variables)
    gan.optimizers["discriminator"].build(discriminator.trainable_variables)
    optimizer_variables = [v for optimizer in gan.optimizers.values() for v in optimizer.variables]
    return Program(
        step=gan.train_step,
        batches=batches,
        variables=[*generator.variables, *discriminator.variables, *optimizer_variables, gan.random.state],
    )
