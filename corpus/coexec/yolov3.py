"""YOLOv3: a detector in one pass, with heads at three scales (Redmon and Farhadi, 2018).

A generator gives the predictions, coarse to fine; the loss keeps, image by image, only the true boxes that there are.
Boxes are rows of centre x, centre y, width, height, as parts of the image.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .program import Program, Size

SIZES = {
    "small": {"batch": 2, "image": 64, "width": 4, "depths": (1, 1, 1, 1, 1)},
    "large": {"batch": 4, "image": 256, "width": 16, "depths": (1, 2, 4, 4, 2)},
}
CLASSES = 3
# Width and height of three anchors at each scale, coarse to fine.
ANCHORS = np.array(
    [
        [[0.4, 0.4], [0.6, 0.4], [0.8, 0.8]],
        [[0.2, 0.2], [0.3, 0.2], [0.3, 0.4]],
        [[0.05, 0.05], [0.1, 0.1], [0.1, 0.15]],
    ]
)


class Convolution(layers.Layer):
    """Convolution, batch normalisation and leaky ReLU, the brick of Darknet."""

    def __init__(self, filters, size, strides=1, **kwargs):
        super().__init__(**kwargs)
        self.convolution = layers.Conv2D(filters, size, strides=strides, padding="same", use_bias=False)
        self.norm = layers.BatchNormalization()

    def call(self, x, training=False):
        return tf.nn.leaky_relu(self.norm(self.convolution(x), training=training), alpha=0.1)


class Residual(layers.Layer):
    def __init__(self, filters, **kwargs):
        super().__init__(**kwargs)
        self.narrow = Convolution(filters // 2, 1)
        self.wide = Convolution(filters, 3)

    def call(self, x, training=False):
        return x + self.wide(self.narrow(x, training=training), training=training)


class YOLOv3(keras.Model):
    def __init__(self, width, depths):
        super().__init__()
        self.stem = Convolution(width, 3)
        self.stages = []
        for i, depth in enumerate(depths, start=1):
            filters = width * 2**i
            self.stages.append([Convolution(filters, 3, strides=2), *(Residual(filters) for _ in range(depth))])
        widths = [width * 2**i for i in (4, 3, 2)]
        self.laterals = [Convolution(n, 1) for n in widths]
        self.necks = [Convolution(2 * n, 3) for n in widths]
        self.detectors = [layers.Conv2D(3 * (5 + CLASSES), 1) for _ in widths]
        self.upsample = layers.UpSampling2D(2)

    def predictions(self, maps, training):
        """Yield raw predictions [batch, cells, cells, 3 anchors, 5 + CLASSES], coarse to fine."""
        x = None
        for lateral, neck, output, features in zip(self.laterals, self.necks, self.detectors, reversed(maps)):
            if x is not None:
                features = tf.concat([self.upsample(x), features], axis=-1)
            x = lateral(features, training=training)
            raw = output(neck(x, training=training))
            yield tf.reshape(raw, [*raw.shape[:3], 3, 5 + CLASSES])

    def call(self, images, training=False):
        x = self.stem(images, training=training)
        maps = []
        for stage in self.stages:
            for layer in stage:
                x = layer(x, training=training)
            maps.append(x)
        return list(self.predictions(maps, training))


def overlaps(boxes, others):
    """Intersection over union of boxes [..., 4] with every row of others [n, 4]: [..., n]."""
    boxes = boxes[..., tf.newaxis, :]
    low = tf.maximum(boxes[..., :2] - boxes[..., 2:] / 2, others[:, :2] - others[:, 2:] / 2)
    high = tf.minimum(boxes[..., :2] + boxes[..., 2:] / 2, others[:, :2] + others[:, 2:] / 2)
    shared = tf.reduce_prod(tf.maximum(high - low, 0.0), axis=-1)
    union = tf.reduce_prod(boxes[..., 2:], axis=-1) + tf.reduce_prod(others[:, 2:], axis=-1) - shared
    return shared / tf.maximum(union, 1e-9)


def decode(raw, anchors):
    """Raw predictions to boxes [batch, cells, cells, 3, 4] as parts of the image."""
    cells = raw.shape[1]
    along = tf.range(cells, dtype=raw.dtype)
    corner = tf.stack(tf.meshgrid(along, along), axis=-1)[:, :, tf.newaxis, :]
    centre = (tf.sigmoid(raw[..., 0:2]) + corner) / cells
    return tf.concat([centre, tf.exp(tf.minimum(raw[..., 2:4], 4.0)) * anchors], axis=-1)


def scale_losses(raw, target, anchors, ignore_above=0.5):
    """Box, objectness and class loss of one scale, each [batch]; target is [batch, cells, cells, 3, 5 + CLASSES]."""
    boxes = decode(raw, anchors)
    true_boxes, present, true_classes = target[..., :4], target[..., 4], target[..., 5:]

    def best_overlap(inputs):
        predicted, true, there = inputs
        real = tf.boolean_mask(true, tf.cast(there, "bool"))
        if tf.shape(real)[0] == 0:
            return tf.zeros_like(predicted[..., 0])
        return tf.reduce_max(overlaps(predicted, real), axis=-1)

    best = tf.map_fn(best_overlap, (tf.stop_gradient(boxes), true_boxes, present), fn_output_signature=raw.dtype)
    ignored = tf.cast(best > ignore_above, raw.dtype) * (1.0 - present)
    scale = 2.0 - tf.reduce_prod(true_boxes[..., 2:], axis=-1)
    size_error = tf.math.log(tf.maximum(boxes[..., 2:], 1e-6) / tf.maximum(true_boxes[..., 2:], 1e-6))
    errors = tf.square(boxes[..., :2] - true_boxes[..., :2]) + 0.1 * tf.square(size_error)
    per_cell = {
        "box": present * scale * tf.reduce_sum(errors, axis=-1),
        "object": (1.0 - ignored) * tf.nn.sigmoid_cross_entropy_with_logits(present, raw[..., 4]),
        "class": present * tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(true_classes, raw[..., 5:]), axis=-1),
    }
    return {name: tf.reduce_sum(loss, axis=[1, 2, 3]) for name, loss in per_cell.items()}


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = keras.optimizers.Adam(3e-4, global_clipnorm=10.0)

    def train_step(self, images, targets):
        with tf.GradientTape() as tape:
            totals = {"box": 0.0, "object": 0.0, "class": 0.0}
            for raw, target, anchors in zip(self.model(images, training=True), targets, ANCHORS):
                for name, loss in scale_losses(raw, target, tf.constant(anchors, raw.dtype)).items():
                    totals[name] += tf.reduce_mean(loss)
            loss = sum(totals.values())
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return {"loss": loss, **totals}


def make_targets(boxes, classes, image):
    """Put each true box into the cell and anchor that fit it best, at the three scales."""
    targets = [np.zeros([image // s, image // s, 3, 5 + CLASSES]) for s in (32, 16, 8)]
    for box, kind in zip(boxes, classes):
        shared = np.minimum(ANCHORS, box[2:]).prod(axis=-1)
        fit = shared / (ANCHORS.prod(axis=-1) + box[2:].prod() - shared)
        scale, anchor = np.unravel_index(fit.argmax(), fit.shape)
        column, row = (box[:2] * len(targets[scale])).astype(int)
        targets[scale][row, column, anchor] = [*box, 1.0, *np.eye(CLASSES)[kind]]
    return targets


def build(size: Size, dtype: str) -> Program:
    config = SIZES[size]
    image = config["image"]
    random = np.random.default_rng(0)
    batches = []
    for _ in range(8):
        images = random.normal(scale=0.2, size=[config["batch"], image, image, 3])
        targets = []
        for pixels in images:
            count = random.integers(1, 4)
            sides = random.uniform(0.05, 0.8, size=[count, 2])
            boxes = np.concatenate([random.uniform(sides / 2, 1 - sides / 2), sides], axis=1)
            classes = random.integers(CLASSES, size=count)
            for (x, y, width, height), kind in zip(boxes * image, classes):
                rows, columns = (slice(int(c - s / 2), int(c + s / 2) + 1) for c, s in ((y, height), (x, width)))
                pixels[rows, columns, kind] += 1.0
            targets.append(make_targets(boxes, classes, image))
        batches.append((tf.constant(images, dtype), tuple(tf.constant(np.stack(t), dtype) for t in zip(*targets))))
    model = YOLOv3(config["width"], config["depths"])
    model(batches[0][0])
    trainer = Trainer(model)
    trainer.optimizer.build(model.trainable_variables)
    return Program(
        step=trainer.train_step, batches=batches, variables=[*model.variables, *trainer.optimizer.variables]
    )
