"""Segment bright blobs with the library's layers and losses."""

import numpy as np
import tensorflow as tf

from smalllayers.attention import GatedResidual
from smalllayers.losses import combined


def make_scenes(count):
    rng = np.random.RandomState(79)
    images = rng.uniform(0, 0.3, (count, 10, 10, 1)).astype("float32")
    masks = np.zeros((count, 10, 10, 1), "float32")
    for i in range(count):
        r, c = rng.randint(0, 7, 2)
        masks[i, r : r + 3, c : c + 3] = 1.0
    return images + 0.6 * masks, masks


def iou(target, prediction):
    inside = tf.cast(prediction > 0.5, tf.float32)
    common = tf.reduce_sum(target * inside)
    return common / (tf.reduce_sum(target) + tf.reduce_sum(inside) - common + 1e-6)


def main():
    images, masks = make_scenes(256)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((10, 10, 1)),
            tf.keras.layers.Conv2D(4, 3, padding="same"),
            GatedResidual(4),
            tf.keras.layers.Conv2D(1, 1, activation="sigmoid"),
        ]
    )
    optimizer = tf.keras.optimizers.Adam(0.01)

    def step(image, mask):
        with tf.GradientTape() as tape:
            loss = combined(mask, model(image, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    dataset = tf.data.Dataset.from_tensor_slices((images, masks)).batch(32, drop_remainder=True)
    for epoch in range(8):
        for image, mask in dataset:
            loss = step(image, mask)
        print(f"epoch {epoch} loss {float(loss):.2f}")
    print("overlap", bool(iou(tf.constant(masks), model(images)) > 0.2))


if __name__ == "__main__":
    main()
