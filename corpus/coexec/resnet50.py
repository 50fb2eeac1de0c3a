"""ResNet-50: bottleneck blocks in four stages of 3, 4, 6 and 3 (He et al., CVPR 2016).

Labels come as class numbers or as one row of probabilities for each image (mixed images); which, the step finds out by trying.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .program import Program, Size

SIZES = {
    "small": {"batch": 4, "image": 64, "width": 4},
    "large": {"batch": 16, "image": 160, "width": 32},
}
CLASSES = 10
STAGES = (3, 4, 6, 3)


class Bottleneck(layers.Layer):
    def __init__(self, width, strides, project, **kwargs):
        super().__init__(**kwargs)
        self.convolutions = [
            layers.Conv2D(width, 1, use_bias=False),
            layers.Conv2D(width, 3, strides=strides, padding="same", use_bias=False),
            layers.Conv2D(4 * width, 1, use_bias=False),
        ]
        # The last scale starts at zero, so that a block starts as its shortcut (Goyal et al., 2017).
        self.norms = [layers.BatchNormalization(gamma_initializer=g) for g in ("ones", "ones", "zeros")]
        self.project = project
        if project:
            self.shortcut = layers.Conv2D(4 * width, 1, strides=strides, use_bias=False)
            self.shortcut_norm = layers.BatchNormalization()

    def call(self, x, training=False):
        y = x
        for i, (convolution, norm) in enumerate(zip(self.convolutions, self.norms)):
            y = norm(convolution(y), training=training)
            if i < 2:
                y = tf.nn.relu(y)
        if self.project:
            x = self.shortcut_norm(self.shortcut(x), training=training)
        return tf.nn.relu(x + y)


class ResNet50(keras.Model):
    def __init__(self, width):
        super().__init__()
        self.stem = keras.Sequential(
            [
                layers.Conv2D(width, 7, strides=2, padding="same", use_bias=False),
                layers.BatchNormalization(),
                layers.ReLU(),
                layers.MaxPooling2D(3, strides=2, padding="same"),
            ]
        )
        self.blocks = []
        for stage, depth in enumerate(STAGES):
            for i in range(depth):
                strides = 2 if i == 0 and stage > 0 else 1
                self.blocks.append(Bottleneck(width * 2**stage, strides, project=i == 0))
        self.head = layers.Dense(CLASSES)

    def call(self, images, training=False):
        x = self.stem(images, training=training)
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(tf.reduce_mean(x, axis=[1, 2]))


class Trainer:
    def __init__(self, model, smoothing=0.1, weight_decay=1e-4):
        self.model = model
        schedule = keras.optimizers.schedules.CosineDecay(0.0, 500, warmup_target=0.02, warmup_steps=20)
        self.optimizer = keras.optimizers.SGD(schedule, momentum=0.9, nesterov=True)
        self.loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=smoothing)
        self.weight_decay = weight_decay
        self.metrics = {"loss": keras.metrics.Mean(), "top1": keras.metrics.CategoricalAccuracy()}

    def decayed(self):
        """The weights that decay: kernels, neither biases nor what belongs to a normalisation."""
        for variable in self.model.trainable_variables:
            if variable.path.endswith("kernel"):
                yield variable

    def train_step(self, images, labels):
        try:
            targets = labels[:, :CLASSES]
        except (ValueError, tf.errors.InvalidArgumentError):
            targets = tf.one_hot(labels, CLASSES, dtype=images.dtype)
        with tf.GradientTape() as tape:
            logits = self.model(images, training=True)
            loss = self.loss(targets, logits)
            total = loss + self.weight_decay * sum(tf.nn.l2_loss(tf.convert_to_tensor(v)) for v in self.decayed())
        gradients = tape.gradient(total, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        self.metrics["loss"].update_state(loss)
        self.metrics["top1"].update_state(targets, logits)
        return {name: metric.result() for name, metric in self.metrics.items()}


def build(size: Size, dtype: str) -> Program:
    config = SIZES[size]
    random = np.random.default_rng(0)
    image_shape = (config["image"], config["image"], 3)
    batches = []
    for i in range(8):
        images = random.normal(size=(config["batch"], *image_shape))
        labels = random.integers(CLASSES, size=config["batch"])
        if i % 4 == 3:
            share = random.uniform(0.2, 0.8)
            images = share * images + (1 - share) * images[::-1]
            one_hot = np.eye(CLASSES)[labels]
            mixed = share * one_hot + (1 - share) * one_hot[::-1]
            batches.append((tf.constant(images, dtype), tf.constant(mixed, dtype)))
        else:
            batches.append((tf.constant(images, dtype), tf.constant(labels, "int32")))
    model = ResNet50(config["width"])
    model(batches[0][0])
    trainer = Trainer(model)
    trainer.optimizer.build(model.trainable_variables)
    metric_variables = [v for metric in trainer.metrics.values() for v in metric.variables]
    return Program(
        step=trainer.train_step,
        batches=batches,
        variables=[*model.variables, *trainer.optimizer.variables, *metric_variables],
    )
