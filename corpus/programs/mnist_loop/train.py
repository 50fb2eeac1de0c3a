"""Classify small images with a training loop written by hand."""

import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras


def load_data(count, seed=0):
    """Images of one bright blob each; the class is the quadrant that it is in."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, 4, count)
    images = rng.uniform(0.0, 0.2, (count, 14, 14, 1)).astype("float32")
    for i, label in enumerate(labels):
        row, column = 3 + 7 * (label // 2), 3 + 7 * (label % 2)
        images[i, row - 2 : row + 2, column - 2 : column + 2] += 0.8
    return images, labels.astype("int64")


def make_model():
    return keras.Sequential(
        [
            keras.Input((14, 14, 1)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(4),
        ]
    )


model = make_model()
optimizer = keras.optimizers.Adam(1e-3)
loss_object = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_loss = keras.metrics.Mean(name="train_loss")
train_accuracy = keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
test_loss = keras.metrics.Mean(name="test_loss")
test_accuracy = keras.metrics.SparseCategoricalAccuracy(name="test_accuracy")


def train_step(images, labels):
    with tf.GradientTape() as tape:
        predictions = model(images, training=True)
        loss = loss_object(labels, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_loss.update_state(loss)
    train_accuracy.update_state(labels, predictions)


def test_step(images, labels):
    predictions = model(images, training=False)
    test_loss.update_state(loss_object(labels, predictions))
    test_accuracy.update_state(labels, predictions)


def report(epoch):
    print(
        f"epoch {epoch}: loss {train_loss.result().numpy():.3f}, accuracy {train_accuracy.result().numpy():.2f}, "
        f"test loss {test_loss.result().numpy():.3f}, test accuracy {test_accuracy.result().numpy():.2f}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    arguments = parser.parse_args()
    images, labels = load_data(1280)
    train = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1280, seed=1).batch(32)
    test = tf.data.Dataset.from_tensor_slices(load_data(256, seed=1)).batch(32)
    for epoch in range(arguments.epochs):
        for metric in (train_loss, train_accuracy, test_loss, test_accuracy):
            metric.reset_state()
        for batch_images, batch_labels in train:
            train_step(batch_images, batch_labels)
        for batch_images, batch_labels in test:
            test_step(batch_images, batch_labels)
        report(epoch)


if __name__ == "__main__":
    main()
