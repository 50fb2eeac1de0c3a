"""A vision transformer: patch layers, an MLP function, multi-head attention, a schedule, callbacks, fit and evaluate."""

from dataclasses import dataclass, field
from typing import List, Optional

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


@dataclass
class Config:
    num_classes: int = 5
    image_size: int = 24
    patch_size: int = 6
    projection_dim: int = 16
    num_heads: int = 2
    transformer_layers: int = 2
    mlp_head_units: List[int] = field(default_factory=lambda: [32, 16])
    learning_rate: float = 1e-3
    warmup_steps: int = 4
    dropout: Optional[float] = 0.1

    @property
    def num_patches(self):
        return (self.image_size // self.patch_size) ** 2

    @property
    def transformer_units(self):
        return [self.projection_dim * 2, self.projection_dim]


class Patches(layers.Layer):
    def __init__(self, patch_size, **kwargs):
        super().__init__(**kwargs)
        self.patch_size = patch_size

    def call(self, images):
        batch_size = tf.shape(images)[0]
        patches = tf.image.extract_patches(
            images=images,
            sizes=[1, self.patch_size, self.patch_size, 1],
            strides=[1, self.patch_size, self.patch_size, 1],
            rates=[1, 1, 1, 1],
            padding="VALID",
        )
        patch_dims = patches.shape[-1]
        return tf.reshape(patches, [batch_size, -1, patch_dims])

    def get_config(self):
        config = super().get_config()
        config.update({"patch_size": self.patch_size})
        return config


class PatchEncoder(layers.Layer):
    def __init__(self, num_patches, projection_dim):
        super().__init__()
        self.num_patches = num_patches
        self.projection = layers.Dense(units=projection_dim)
        self.position_embedding = layers.Embedding(input_dim=num_patches, output_dim=projection_dim)

    def call(self, patch):
        positions = tf.range(start=0, limit=self.num_patches, delta=1)
        encoded = self.projection(patch) + self.position_embedding(positions)
        return encoded


class ClassToken(layers.Layer):
    def build(self, input_shape):
        self.hidden_size = input_shape[-1]
        self.cls = self.add_weight(name="cls", shape=(1, 1, self.hidden_size), initializer="zeros", trainable=True)

    def call(self, inputs):
        batch_size = tf.shape(inputs)[0]
        cls_broadcasted = tf.cast(
            tf.broadcast_to(self.cls, [batch_size, 1, self.hidden_size]), dtype=inputs.dtype
        )
        return tf.concat([cls_broadcasted, inputs], 1)


class WarmupCosine(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, base, warmup_steps, total_steps):
        super().__init__()
        self.base = base
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        warmup = self.base * step / float(self.warmup_steps)
        progress = (step - self.warmup_steps) / float(self.total_steps - self.warmup_steps)
        cosine = 0.5 * self.base * (1.0 + tf.cos(np.pi * progress))
        return tf.where(step < self.warmup_steps, warmup, cosine)

    def get_config(self):
        return {"base": self.base, "warmup_steps": self.warmup_steps, "total_steps": self.total_steps}


class HistoryPrinter(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch}: {np.mean(self.losses):.3f}")
        self.losses = []


def mlp(x, hidden_units, dropout_rate):
    for units in hidden_units:
        x = layers.Dense(units, activation=tf.nn.gelu)(x)
        x = layers.Dropout(dropout_rate)(x)
    return x


def create_vit_classifier(config: Config) -> keras.Model:
    inputs = layers.Input(shape=(config.image_size, config.image_size, 3))
    augmented = keras.Sequential([layers.Rescaling(1 / 255.0), layers.RandomFlip("horizontal")])(inputs)
    patches = Patches(config.patch_size)(augmented)
    encoded_patches = PatchEncoder(config.num_patches, config.projection_dim)(patches)
    encoded_patches = ClassToken()(encoded_patches)
    for _ in range(config.transformer_layers):
        x1 = layers.LayerNormalization(epsilon=1e-6)(encoded_patches)
        attention_output = layers.MultiHeadAttention(
            num_heads=config.num_heads, key_dim=config.projection_dim, dropout=config.dropout
        )(x1, x1)
        x2 = layers.Add()([attention_output, encoded_patches])
        x3 = layers.LayerNormalization(epsilon=1e-6)(x2)
        x3 = mlp(x3, hidden_units=config.transformer_units, dropout_rate=0.1)
        encoded_patches = layers.Add()([x3, x2])
    representation = layers.LayerNormalization(epsilon=1e-6)(encoded_patches)
    representation = layers.Lambda(lambda t: t[:, 0])(representation)
    features = mlp(representation, hidden_units=config.mlp_head_units, dropout_rate=config.dropout or 0.0)
    logits = layers.Dense(config.num_classes)(features)
    return keras.Model(inputs=inputs, outputs=logits)


def load_data(config, n_train=16, n_test=6):
    rng = np.random.default_rng(0)
    x_train = rng.integers(0, 256, size=(n_train, config.image_size, config.image_size, 3), dtype="uint8")
    y_train = rng.integers(0, config.num_classes, size=(n_train, 1))
    x_test = rng.integers(0, 256, size=(n_test, config.image_size, config.image_size, 3), dtype="uint8")
    y_test = rng.integers(0, config.num_classes, size=(n_test, 1))
    return (x_train, y_train), (x_test, y_test)


def run_experiment(config):
    (x_train, y_train), (x_test, y_test) = load_data(config)
    model = create_vit_classifier(config)
    schedule = WarmupCosine(config.learning_rate, config.warmup_steps, total_steps=20)
    model.compile(
        optimizer=keras.optimizers.AdamW(learning_rate=schedule, weight_decay=1e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
    )
    history = model.fit(
        x_train, y_train, batch_size=8, epochs=2, validation_split=0.25, callbacks=[HistoryPrinter()], verbose=0
    )
    _, accuracy = model.evaluate(x_test, y_test, verbose=0)
    probabilities = tf.nn.softmax(model(x_test[:2].astype("float32"), training=False))
    return history.history["loss"], accuracy, probabilities


if __name__ == "__main__":
    losses, accuracy, probabilities = run_experiment(Config())
    print(len(losses), probabilities.shape)
