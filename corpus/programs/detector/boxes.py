"""Boxes as [top, left, bottom, right] in shares of the image, anchors, and what a network is taught about them."""

import tensorflow as tf


def make_anchors(grid, size):
    """One square of the given size around the centre of each cell: [grid * grid, 4]."""
    centres = (tf.range(grid, dtype=tf.float32) + 0.5) / grid
    rows, columns = tf.meshgrid(centres, centres, indexing="ij")
    middle = tf.reshape(tf.stack([rows, columns], axis=-1), [-1, 2])
    return tf.concat([middle - size / 2, middle + size / 2], axis=1)


def area(boxes):
    return tf.maximum(boxes[..., 2] - boxes[..., 0], 0.0) * tf.maximum(boxes[..., 3] - boxes[..., 1], 0.0)


def overlaps(left, right):
    """Intersection over union of each box of `left` with each of `right`: [len(left), len(right)]."""
    corner = tf.maximum(left[:, None, :2], right[None, :, :2])
    opposite = tf.minimum(left[:, None, 2:], right[None, :, 2:])
    shared = area(tf.concat([corner, opposite], axis=-1))
    return shared / (area(left)[:, None] + area(right)[None, :] - shared + 1e-9)


def encode(boxes, anchors):
    """Where the boxes are, seen from their anchors."""
    size = anchors[:, 2:] - anchors[:, :2]
    middle = (anchors[:, 2:] + anchors[:, :2]) / 2
    return tf.concat(
        [
            ((boxes[:, 2:] + boxes[:, :2]) / 2 - middle) / size,
            tf.math.log(tf.maximum(boxes[:, 2:] - boxes[:, :2], 1e-3) / size),
        ],
        axis=1,
    )


def decode(offsets, anchors):
    """The boxes that the offsets stand for."""
    size = anchors[:, 2:] - anchors[:, :2]
    middle = (anchors[:, 2:] + anchors[:, :2]) / 2 + offsets[:, :2] * size
    half = tf.exp(offsets[:, 2:]) * size / 2
    return tf.concat([middle - half, middle + half], axis=1)


def assign(anchors, boxes, labels):
    """For each anchor the label (0 for none) and the offsets of the box that it overlaps most."""
    overlap = overlaps(anchors, boxes)
    best = tf.argmax(overlap, axis=1)
    found = tf.reduce_max(overlap, axis=1) > 0.3
    chosen = tf.where(found, tf.gather(labels, best), 0)
    return chosen, encode(tf.gather(boxes, best), anchors)
