"""Faster R-CNN: a detector in two stages, whose second stage works on the boxes found by the first (Ren et al., NeurIPS 2015).

In the middle of the step the proposals become NumPy arrays: overlaps with the true boxes are computed there, and anchors
and regions are drawn at random. An image without any true box only trains the first stage.
Boxes are rows of top, left, bottom, right, in pixels.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .program import Program, Size

SIZES = {
    "small": {"image": 64, "filters": (8, 16, 32), "head": 32, "proposals": 24, "regions": 12},
    "large": {"image": 448, "filters": (48, 96, 192), "head": 256, "proposals": 128, "regions": 64},
}
CLASSES = 4  # class 0 is the background
STRIDE = 8
SIDES = (12, 24, 40)
POOL = 4


def make_anchors(image):
    """Square anchors around the centre of every feature cell: float array [cells * len(SIDES), 4]."""
    centres = np.arange(STRIDE / 2, image, STRIDE)
    y, x, side = np.meshgrid(centres, centres, SIDES, indexing="ij")
    return np.stack([y - side / 2, x - side / 2, y + side / 2, x + side / 2], axis=-1).reshape(-1, 4)


def overlaps(boxes, others):
    """Intersection over union of every box with every other box: float array [boxes, others]."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=-1)
    areas = [np.prod(b[:, 2:] - b[:, :2], axis=-1) for b in (boxes, others)]
    return shared / np.maximum(areas[0][:, None] + areas[1][None, :] - shared, 1e-9)


def encode(boxes, references):
    """Shifts and log scales [n, 4] that turn the references into the boxes."""
    size, reference_size = boxes[:, 2:] - boxes[:, :2], references[:, 2:] - references[:, :2]
    shift = (boxes[:, 2:] + boxes[:, :2] - references[:, 2:] - references[:, :2]) / (2 * reference_size)
    return np.concatenate([shift, np.log(size / reference_size)], axis=1)


def decode(deltas, references, image):
    """The boxes that `encode` started from, cut to the image; tensors [n, 4]."""
    size = references[:, 2:] - references[:, :2]
    centre = (references[:, 2:] + references[:, :2]) / 2 + deltas[:, :2] * size
    half = size * tf.exp(tf.clip_by_value(deltas[:, 2:], -4.0, 4.0)) / 2
    return tf.clip_by_value(tf.concat([centre - half, centre + half], axis=1), 0.0, float(image))


def roi_align(features, boxes):
    """Sample features [height, width, channels] on a POOL × POOL grid in each box [n, 4], bilinearly."""
    cells = tf.reshape((tf.range(POOL, dtype=features.dtype) + 0.5) / POOL, [1, POOL])

    def weights(low, high, count):
        at = (low + cells * (high - low)) / STRIDE - 0.5
        return tf.nn.relu(1.0 - tf.abs(at[:, :, tf.newaxis] - tf.range(count, dtype=features.dtype)))

    top, left, bottom, right = tf.split(boxes, 4, axis=1)
    rows = weights(top, bottom, features.shape[0])
    columns = weights(left, right, features.shape[1])
    return tf.einsum("nph,nqw,hwc->npqc", rows, columns, features)


def smooth_l1(errors):
    size = tf.abs(errors)
    return tf.reduce_sum(tf.where(size < 1.0, 0.5 * size**2, size - 0.5), axis=-1)


class FasterRCNN(keras.Model):
    def __init__(self, filters, head):
        super().__init__()
        self.backbone = keras.Sequential(
            [layers.Conv2D(n, 3, strides=2, padding="same", activation="relu") for n in filters]
        )
        self.rpn = layers.Conv2D(filters[-1], 3, padding="same", activation="relu")
        self.rpn_scores = layers.Conv2D(len(SIDES), 1)
        self.rpn_deltas = layers.Conv2D(4 * len(SIDES), 1)
        self.head = keras.Sequential(
            [layers.Flatten(), layers.Dense(head, activation="relu"), layers.Dense(head, activation="relu")]
        )
        self.class_logits = layers.Dense(CLASSES)
        self.box_deltas = layers.Dense(4)

    def propose(self, images):
        features = self.backbone(images)
        hidden = self.rpn(features)
        return features, tf.reshape(self.rpn_scores(hidden), [-1]), tf.reshape(self.rpn_deltas(hidden), [-1, 4])

    def classify(self, features, boxes):
        hidden = self.head(roi_align(features[0], boxes))
        return self.class_logits(hidden), self.box_deltas(hidden)


class Trainer:
    def __init__(self, model, image, proposals, regions, seed=0):
        self.model = model
        self.image, self.proposals, self.regions = image, proposals, regions
        self.anchors = make_anchors(image)
        self.optimizer = keras.optimizers.SGD(0.01, momentum=0.9, clipnorm=5.0)
        self.random = np.random.default_rng(seed)
        self.history = {"rpn": [], "head": [], "foreground": []}

    def sample(self, overlap, high, low, count):
        """Draw rows of overlap [boxes, true boxes], at most half of them foreground: (indices, is foreground, true box)."""
        best = overlap.max(axis=1)
        is_foreground = best >= high
        is_foreground[overlap.argmax(axis=0)] = True
        foreground = self.random.permutation(np.flatnonzero(is_foreground))[: count // 2]
        background = np.flatnonzero((best < low) & ~is_foreground)
        background = self.random.choice(background, count - len(foreground), replace=len(background) < count)
        chosen = np.concatenate([foreground, background])
        return chosen, np.arange(count) < len(foreground), overlap[chosen].argmax(axis=1)

    def rpn_loss(self, scores, deltas, true_boxes):
        chosen, foreground, matched = self.sample(overlaps(self.anchors, true_boxes), 0.5, 0.3, 2 * self.regions)
        objectness = tf.nn.sigmoid_cross_entropy_with_logits(
            tf.constant(foreground, scores.dtype), tf.gather(scores, chosen)
        )
        errors = tf.gather(deltas, chosen) - encode(true_boxes[matched], self.anchors[chosen])
        return tf.reduce_mean(objectness + foreground * smooth_l1(errors))

    def select_proposals(self, scores, deltas):
        boxes = decode(tf.stop_gradient(deltas), tf.constant(self.anchors, deltas.dtype), self.image)
        kept = tf.image.non_max_suppression(
            tf.cast(boxes, "float32"), tf.cast(scores, "float32"), self.proposals, iou_threshold=0.7
        )
        return tf.gather(boxes, kept).numpy()

    def head_loss(self, features, proposals, true_boxes, true_classes):
        candidates = np.concatenate([proposals, true_boxes])
        candidates = candidates[np.all(candidates[:, 2:] - candidates[:, :2] > 1.0, axis=1)]
        chosen, foreground, matched = self.sample(overlaps(candidates, true_boxes), 0.5, 0.5, self.regions)
        boxes = candidates[chosen]
        logits, deltas = self.model.classify(features, tf.constant(boxes, features.dtype))
        classes = np.where(foreground, true_classes[matched], 0)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(classes, logits)
        losses += foreground * smooth_l1(deltas - encode(true_boxes[matched], boxes))
        self.history["foreground"].append(int(foreground.sum()))
        return tf.reduce_mean(losses)

    def train_step(self, images, true_boxes, true_classes):
        true_boxes, true_classes = true_boxes.numpy(), true_classes.numpy()
        present = true_classes > 0
        true_boxes, true_classes = true_boxes[present], true_classes[present]
        with tf.GradientTape() as tape:
            features, scores, deltas = self.model.propose(images)
            if len(true_boxes) == 0:
                loss = tf.reduce_mean(tf.nn.softplus(scores))
                self.apply(tape, loss)
                return loss
            rpn_loss = self.rpn_loss(scores, deltas, true_boxes)
            proposals = self.select_proposals(scores, deltas)
            head_loss = self.head_loss(features, proposals, true_boxes, true_classes)
            loss = rpn_loss + head_loss
        self.apply(tape, loss)
        self.history["rpn"].append(float(rpn_loss))
        self.history["head"].append(float(head_loss))
        return loss

    def apply(self, tape, loss):
        variables = self.model.trainable_variables
        gradients = tape.gradient(loss, variables)
        used = [(g, v) for g, v in zip(gradients, variables) if g is not None]
        self.optimizer.apply_gradients(used)


def build(size: Size, dtype: str) -> Program:
    config = SIZES[size]
    image, most = config["image"], 3
    random = np.random.default_rng(0)
    batches = []
    for i in range(8):
        count = i % (most + 1)
        pixels = random.normal(scale=0.2, size=[1, image, image, 3])
        boxes, classes = np.zeros([most, 4]), np.zeros([most], "int32")
        for j in range(count):
            side = random.uniform(12, 40, size=2)
            corner = random.uniform(0, image - side)
            boxes[j] = *corner, *(corner + side)
            classes[j] = random.integers(1, CLASSES)
            top, left, bottom, right = boxes[j].astype(int)
            pixels[0, top:bottom, left:right, classes[j] - 1] += 1.0
        batches.append((tf.constant(pixels, dtype), tf.constant(boxes, dtype), tf.constant(classes)))
    model = FasterRCNN(config["filters"], config["head"])
    features, _, _ = model.propose(batches[0][0])
    model.classify(features, tf.constant([[0.0, 0.0, 16.0, 16.0]], dtype))
    trainer = Trainer(model, image, config["proposals"], config["regions"])
    trainer.optimizer.build(model.trainable_variables)
    return Program(
        step=trainer.train_step,
        batches=batches,
        variables=[*model.variables, *trainer.optimizer.variables],
        host=lambda: trainer.history,
    )
