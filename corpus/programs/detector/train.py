"""A single-shot detector: anchors on a grid, a class and four offsets for each, and non-maximum suppression at the end."""

import numpy as np
import tensorflow as tf

from boxes import assign, decode, make_anchors, overlaps
from scenes import SIDE, make_scenes

GRID = 8
CLASSES = 3  # nothing, square, triangle
BATCH = 16


class Detector(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.body = tf.keras.Sequential(
            [
                tf.keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu"),
                tf.keras.layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
                tf.keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
            ]
        )
        self.classes = tf.keras.layers.Conv2D(CLASSES, 3, padding="same")
        self.places = tf.keras.layers.Conv2D(4, 3, padding="same")

    def call(self, images):
        features = self.body(images)
        logits = tf.reshape(self.classes(features), [-1, GRID * GRID, CLASSES])
        offsets = tf.reshape(self.places(features), [-1, GRID * GRID, 4])
        return logits, offsets


def detection_loss(logits, offsets, labels, targets):
    """Cross-entropy of the classes, with the hardest of the empty anchors only, and a smooth distance of the boxes."""
    taken = tf.cast(labels > 0, tf.float32)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    hardest, _ = tf.math.top_k(entropy * (1.0 - taken), k=12)
    count = tf.maximum(tf.reduce_sum(taken), 1.0)
    distance = tf.abs(offsets - targets)
    smooth = tf.where(distance < 1.0, 0.5 * distance * distance, distance - 0.5)
    boxes = tf.reduce_sum(smooth, axis=-1) * taken
    return (tf.reduce_sum(entropy * taken) + tf.reduce_sum(hardest) + tf.reduce_sum(boxes)) / count


def train_step(model, optimizer, images, labels, targets):
    with tf.GradientTape() as tape:
        logits, offsets = model(images, training=True)
        loss = detection_loss(logits, offsets, labels, targets)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def detect(model, anchors, image):
    """The boxes of one image that are left after non-maximum suppression, with their labels and scores."""
    logits, offsets = model(image[None])
    scores = tf.nn.softmax(logits[0])[:, 1:]
    boxes = tf.clip_by_value(decode(offsets[0], anchors), 0.0, 1.0)
    best = tf.reduce_max(scores, axis=1)
    kept = tf.image.non_max_suppression(boxes, best, max_output_size=5, iou_threshold=0.4, score_threshold=0.4)
    return tf.gather(boxes, kept), tf.gather(tf.argmax(scores, axis=1) + 1, kept), tf.gather(best, kept)


def evaluate(model, anchors, images, boxes, labels):
    """The share of the true boxes that are found with their class."""
    found = total = 0
    for image, true_boxes, true_labels in zip(images, boxes, labels):
        seen, classes, _ = detect(model, anchors, tf.constant(image))
        total += len(true_boxes)
        if len(seen) == 0:
            continue
        overlap = overlaps(tf.constant(true_boxes), seen).numpy()
        for row, label in zip(overlap, true_labels):
            found += int(row.max() > 0.5 and classes.numpy()[row.argmax()] == label)
    return found / total


def main():
    tf.keras.utils.set_random_seed(11)
    anchors = make_anchors(GRID, 0.3)
    images, boxes, labels = make_scenes(320, seed=1)
    train = (
        tf.data.Dataset.from_tensor_slices((images, boxes, labels))
        .map(lambda image, box, label: (image, *assign(anchors, box, label)))
        .shuffle(320, seed=2)
        .batch(BATCH, drop_remainder=True)
    )
    test_images, test_boxes, test_labels = make_scenes(48, seed=3)
    model = Detector()
    optimizer = tf.keras.optimizers.Adam(5e-3)
    model(tf.zeros((1, SIDE, SIDE, 1)))
    optimizer.build(model.trainable_variables)
    for epoch in range(1, 9):
        losses = []
        for batch, classes, targets in train:
            losses.append(train_step(model, optimizer, batch, classes, targets).numpy())
        if epoch % 2 == 0:
            recall = evaluate(model, anchors, test_images, test_boxes, test_labels)
            print(f"epoch {epoch}: loss {np.mean(losses):.2f}, found {recall:.2f}")


if __name__ == "__main__":
    main()
