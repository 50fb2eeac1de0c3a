"""DropBlock: a convolutional classifier whose regularisation grows while it trains (Ghiasi et al., NeurIPS 2018).

The trainer sets `keep_prob` on the layers before each step, from a schedule that it counts through in Python.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .program import Program, Size

SIZES = {
    "small": {"batch": 4, "image": 16, "filters": (8, 16, 32), "block": 3},
    "large": {"batch": 64, "image": 48, "filters": (48, 96, 192), "block": 5},
}
CLASSES = 10


class DropBlock(layers.Layer):
    """Zeroes square regions of a feature map [batch, height, width, channels] and rescales the rest."""

    def __init__(self, block_size, **kwargs):
        super().__init__(**kwargs)
        self.block_size = block_size
        self.keep_prob = 1.0

    def call(self, x, training=False):
        if not training or self.keep_prob == 1.0:
            return x
        _, height, width, channels = x.shape
        size = min(self.block_size, height, width)
        rows, columns = height - size + 1, width - size + 1
        gamma = (1.0 - self.keep_prob) / size**2 * (height * width) / (rows * columns)
        noise = tf.random.uniform([tf.shape(x)[0], rows, columns, channels], dtype=x.dtype)
        seeds = tf.cast(noise < gamma, x.dtype)
        before, after = size // 2, size - 1 - size // 2
        seeds = tf.pad(seeds, [[0, 0], [before, after], [before, after], [0, 0]])
        mask = 1.0 - tf.nn.max_pool2d(seeds, size, strides=1, padding="SAME")
        return x * mask * tf.cast(tf.size(mask), x.dtype) / tf.reduce_sum(mask)


class ResidualBlock(layers.Layer):
    def __init__(self, filters, block_size, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)
        self.norm1 = layers.BatchNormalization()
        self.conv2 = layers.Conv2D(filters, 3, padding="same", use_bias=False)
        self.norm2 = layers.BatchNormalization()
        self.shortcut = layers.Conv2D(filters, 1, strides=2, use_bias=False)
        self.drop1 = DropBlock(block_size)
        self.drop2 = DropBlock(block_size)

    def call(self, x, training=False):
        y = self.drop1(tf.nn.relu(self.norm1(self.conv1(x), training=training)), training=training)
        y = self.drop2(self.norm2(self.conv2(y), training=training), training=training)
        return tf.nn.relu(y + self.shortcut(x))


class Classifier(keras.Model):
    def __init__(self, filters, block_size):
        super().__init__()
        self.stem = layers.Conv2D(filters[0], 3, padding="same", activation="relu")
        self.blocks = [ResidualBlock(n, block_size) for n in filters]
        self.head = layers.Dense(CLASSES)

    def call(self, images, training=False):
        x = self.stem(images)
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(tf.reduce_mean(x, axis=[1, 2]))


class Trainer:
    def __init__(self, model, keep_prob_at_end=0.8, ramp=30):
        self.model = model
        self.optimizer = keras.optimizers.SGD(0.02, momentum=0.9)
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.accuracy = keras.metrics.SparseCategoricalAccuracy()
        self.schedule = np.linspace(1.0, keep_prob_at_end, ramp)
        self.iteration = 0
        self.keep_probs = []

    def train_step(self, images, labels):
        keep_prob = float(self.schedule[min(self.iteration, len(self.schedule) - 1)])
        for block in self.model.blocks:
            block.drop1.keep_prob = block.drop2.keep_prob = keep_prob
        self.keep_probs.append(keep_prob)
        self.iteration += 1

        with tf.GradientTape() as tape:
            logits = self.model(images, training=True)
            loss = self.loss(labels, logits)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        self.accuracy.update_state(labels, logits)
        return {"loss": loss, "accuracy": self.accuracy.result()}


def build(size: Size, dtype: str) -> Program:
    config = SIZES[size]
    random = np.random.default_rng(0)
    image_shape = (config["image"], config["image"], 3)
    batches = [
        (
            tf.constant(random.normal(size=(config["batch"], *image_shape)), dtype),
            tf.constant(random.integers(CLASSES, size=config["batch"]), "int32"),
        )
        for _ in range(8)
    ]
    model = Classifier(config["filters"], config["block"])
    model(batches[0][0])
    trainer = Trainer(model)
    trainer.optimizer.build(model.trainable_variables)
    return Program(
        step=trainer.train_step,
        batches=batches,
        variables=[*model.variables, *trainer.optimizer.variables, *trainer.accuracy.variables],
        host=lambda: {"keep_probs": trainer.keep_probs, "iteration": trainer.iteration},
    )
