"""Scenes with one or two bright shapes on a dark ground."""

import numpy as np

SIDE = 32


def make_scene(rng):
    """An image, its two boxes (the second is the first again where there is one shape only) and their labels, from 1."""
    image = rng.normal(0.0, 0.05, (SIDE, SIDE, 1)).astype("float32")
    boxes, labels = [], []
    for _ in range(rng.integers(1, 3)):
        size = rng.integers(7, 12)
        top, left = rng.integers(0, SIDE - size, 2)
        label = rng.integers(1, 3)
        patch = np.ones((size, size), "float32") if label == 1 else np.tri(size, dtype="float32")
        image[top : top + size, left : left + size, 0] += patch
        boxes.append([top / SIDE, left / SIDE, (top + size) / SIDE, (left + size) / SIDE])
        labels.append(label)
    while len(boxes) < 2:
        boxes.append(boxes[0])
        labels.append(labels[0])
    return image, np.array(boxes, "float32"), np.array(labels, "int32")


def make_scenes(count, seed):
    rng = np.random.default_rng(seed)
    images, boxes, labels = zip(*(make_scene(rng) for _ in range(count)))
    return np.stack(images), np.stack(boxes), np.stack(labels)
