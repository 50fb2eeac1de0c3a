"""Digits with a subclassed model and a hand-written loop."""

import tensorflow as tf
from tensorflow.keras import Model
from tensorflow.keras.layers import Conv2D, Dense, Flatten

NUM_CLASSES = 10
BATCH_SIZE = 16


def load_digits(count):
    images = tf.random.uniform((count, 28, 28), maxval=255, seed=1)
    labels = tf.random.uniform((count,), maxval=NUM_CLASSES, dtype=tf.int64, seed=2)
    return images, labels


def preprocess(image, label):
    image = image / 255.0
    return image[..., tf.newaxis], label


class MyModel(Model):
    def __init__(self):
        super().__init__()
        self.conv1 = Conv2D(32, 3, activation="relu")
        self.flatten = Flatten()
        self.d1 = Dense(128, activation="relu")
        self.d2 = Dense(NUM_CLASSES)

    def call(self, x):
        x = self.conv1(x)
        x = self.flatten(x)
        x = self.d1(x)
        return self.d2(x)


model = MyModel()
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam()
train_loss = tf.keras.metrics.Mean(name="train_loss")
train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        predictions = model(images, training=True)
        loss = loss_object(labels, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_loss(loss)
    train_accuracy(labels, predictions)
    return loss


def evaluate(images, labels):
    predictions = model(images, training=False)
    hits = tf.equal(tf.argmax(predictions, axis=-1), labels)
    return tf.reduce_mean(tf.cast(hits, tf.float32))


train_ds = tf.data.Dataset.from_tensor_slices(load_digits(64)).map(preprocess).shuffle(64).batch(BATCH_SIZE)
test_images, test_labels = load_digits(20)

for epoch in range(2):
    train_loss.reset_state()
    for images, labels in train_ds:
        train_step(images, labels)
    accuracy = evaluate(test_images[..., tf.newaxis] / 255.0, test_labels)
    print(f"epoch {epoch + 1}: loss {train_loss.result():.3f}, accuracy {accuracy:.3f}")
