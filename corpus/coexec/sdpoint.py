"""SDPoint: stochastic downsampling, a network trained at random costs (Kuen et al., CVPR 2018).

Before each step the trainer draws a point of the network and a ratio in Python, and shrinks the feature maps from that
point on: the shapes of the rest of the network follow.
"""

import random

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .program import Program, Size

SIZES = {
    "small": {"batch": 4, "image": 16, "filters": (8, 16, 24)},
    "large": {"batch": 16, "image": 48, "filters": (48, 96, 160)},
}
CLASSES = 10
RATIOS = (0.5, 0.75)


def adaptive_average_pool(x, ratio):
    """Average [batch, size, size, channels] over a coarser square grid of round(size * ratio) cells a side."""
    size = x.shape[1]
    cells = max(round(size * ratio), 1)
    pooling = np.zeros([cells, size])
    for cell in range(cells):
        start, stop = cell * size // cells, -(-(cell + 1) * size // cells)
        pooling[cell, start:stop] = 1.0 / (stop - start)
    pooling = tf.constant(pooling, x.dtype)
    return tf.einsum("ih,jw,bhwc->bijc", pooling, pooling, x)


class Block(layers.Layer):
    """A residual block that can shrink its output: `ratio` is None, or what the trainer has drawn."""

    def __init__(self, filters, strides, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)
        self.norm1 = layers.BatchNormalization()
        self.conv2 = layers.Conv2D(filters, 3, padding="same", use_bias=False)
        self.norm2 = layers.BatchNormalization()
        self.shortcut = layers.Conv2D(filters, 1, strides=strides, use_bias=False)
        self.ratio = None

    def call(self, x, training=False):
        y = tf.nn.relu(self.norm1(self.conv1(x), training=training))
        y = tf.nn.relu(self.norm2(self.conv2(y), training=training) + self.shortcut(x))
        if self.ratio is not None:
            y = adaptive_average_pool(y, self.ratio)
        return y


class Network(keras.Model):
    def __init__(self, filters):
        super().__init__()
        self.stem = layers.Conv2D(filters[0], 3, padding="same", activation="relu")
        self.blocks = [Block(n, strides=1 if i == 0 else 2) for i, n in enumerate(filters)]
        self.head = layers.Dense(CLASSES)

    def call(self, images, training=False):
        x = self.stem(images)
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(tf.reduce_mean(x, axis=[1, 2]))


class Trainer:
    def __init__(self, model, seed=0):
        self.model = model
        self.optimizer = keras.optimizers.SGD(0.02, momentum=0.9, nesterov=True)
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.random = random.Random(seed)
        self.instances = {}
        self.steps_of = {}

    def draw_instance(self):
        """Choose where to shrink and by how much; one choice is the whole network."""
        point = self.random.randrange(len(self.model.blocks) + 1)
        ratio = self.random.choice(RATIOS)
        for i, block in enumerate(self.model.blocks):
            block.ratio = ratio if i == point else None
        return (point, ratio) if point < len(self.model.blocks) else "whole"

    def train_step(self, images, labels):
        instance = self.draw_instance()
        with tf.GradientTape() as tape:
            loss = self.loss(labels, self.model(images, training=True))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        # A moving average of the loss for every instance of the network.
        previous = self.instances.get(instance)
        self.instances[instance] = loss if previous is None else 0.9 * previous + 0.1 * loss
        self.steps_of[instance] = self.steps_of.get(instance, 0) + 1
        return loss


def build(size: Size, dtype: str) -> Program:
    config = SIZES[size]
    generator = np.random.default_rng(0)
    image_shape = (config["image"], config["image"], 3)
    batches = [
        (
            tf.constant(generator.normal(size=(config["batch"], *image_shape)), dtype),
            tf.constant(generator.integers(CLASSES, size=config["batch"]), "int32"),
        )
        for _ in range(8)
    ]
    model = Network(config["filters"])
    model(batches[0][0])
    trainer = Trainer(model)
    trainer.optimizer.build(model.trainable_variables)
    return Program(
        step=trainer.train_step,
        batches=batches,
        variables=[*model.variables, *trainer.optimizer.variables],
        host=lambda: {"steps_of": trainer.steps_of, "instances": trainer.instances},
    )
