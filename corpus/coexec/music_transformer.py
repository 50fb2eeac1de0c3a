"""Music Transformer: relative attention over a stream of note events (Huang et al., ICLR 2019).

The trainer counts its steps and keeps its moving averages, its last attention maps and its learning rate in Python
objects, and prints a line now and then.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .program import Program, Size

SIZES = {
    "small": {"layers": 2, "width": 32, "heads": 2, "length": 24, "batch": 4},
    "large": {"layers": 4, "width": 192, "heads": 4, "length": 256, "batch": 12},
}
EVENTS = 120  # note on, note off, time shift, velocity
PAD = 0


class RelativeAttention(layers.Layer):
    """Causal self-attention with a learned bias for each distance between query and key."""

    def __init__(self, width, heads, length, **kwargs):
        super().__init__(**kwargs)
        self.heads, self.length = heads, length
        self.query, self.key, self.value = (layers.Dense(width, use_bias=False) for _ in range(3))
        self.output_projection = layers.Dense(width)
        self.distances = self.add_weight(shape=[length, width // heads], initializer="random_normal", name="distances")
        self.last_weights = None

    def split_heads(self, x):
        batch, length, width = x.shape
        return tf.transpose(tf.reshape(x, [batch, length, self.heads, width // self.heads]), [0, 2, 1, 3])

    def skew(self, x):
        """From [.., query, distance] to [.., query, key], by padding and reshaping."""
        batch, heads, rows, columns = x.shape
        x = tf.pad(x, [[0, 0], [0, 0], [0, 0], [1, 0]])
        return tf.reshape(x, [batch, heads, columns + 1, rows])[:, :, 1:, :]

    def call(self, x, mask):
        query, key, value = (self.split_heads(dense(x)) for dense in (self.query, self.key, self.value))
        relative = self.skew(tf.einsum("bhqd,rd->bhqr", query, self.distances))
        scores = (tf.matmul(query, key, transpose_b=True) + relative) / np.sqrt(key.shape[-1])
        self.last_weights = tf.nn.softmax(scores - 1e4 * mask)
        y = tf.transpose(tf.matmul(self.last_weights, value), [0, 2, 1, 3])
        return self.output_projection(tf.reshape(y, x.shape))


class DecoderLayer(layers.Layer):
    def __init__(self, width, heads, length, dropout, **kwargs):
        super().__init__(**kwargs)
        self.attention = RelativeAttention(width, heads, length)
        self.norm1 = layers.LayerNormalization(epsilon=1e-6)
        self.inner = layers.Dense(2 * width, activation="relu")
        self.outer = layers.Dense(width)
        self.norm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout = layers.Dropout(dropout)

    def call(self, x, mask, training=False):
        x = self.norm1(x + self.dropout(self.attention(x, mask), training=training))
        return self.norm2(x + self.dropout(self.outer(self.inner(x)), training=training))


class MusicTransformer(keras.Model):
    def __init__(self, config, dropout=0.1):
        super().__init__()
        width, length = config["width"], config["length"]
        self.embedding = layers.Embedding(EVENTS, width)
        self.dropout = layers.Dropout(dropout)
        self.decoder = [DecoderLayer(width, config["heads"], length, dropout) for _ in range(config["layers"])]
        self.head = layers.Dense(EVENTS)

    def call(self, events, training=False):
        x = self.embedding(events)
        x = self.dropout(x * np.sqrt(x.shape[-1]), training=training)
        future = 1.0 - tf.linalg.band_part(tf.ones([events.shape[1]] * 2, x.dtype), -1, 0)
        padding = tf.cast(events == PAD, x.dtype)[:, tf.newaxis, tf.newaxis, :]
        mask = tf.maximum(future, padding)
        for layer in self.decoder:
            x = layer(x, mask, training=training)
        return self.head(x)


class Trainer:
    def __init__(self, model, width, warmup=40, log_every=10):
        self.model = model
        self.width, self.warmup, self.log_every = width, warmup, log_every
        self.optimizer = keras.optimizers.Adam(0.0, beta_2=0.98, epsilon=1e-9)
        self.iteration = 0
        self.averages = {}
        self.learning_rates = []
        self.attention_maps = []

    def noam_rate(self):
        return 0.1 * self.width**-0.5 * min(self.iteration**-0.5, self.iteration * self.warmup**-1.5)

    def remember(self, **values):
        for name, value in values.items():
            previous = self.averages.get(name, value)
            self.averages[name] = 0.95 * previous + 0.05 * value

    def train_step(self, events):
        self.iteration += 1
        self.optimizer.learning_rate = self.noam_rate()
        self.learning_rates.append(self.noam_rate())

        targets = events[:, 1:]
        weights = tf.cast(targets != PAD, keras.config.floatx())
        with tf.GradientTape() as tape:
            logits = self.model(events[:, :-1], training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
            loss = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

        right = tf.cast(tf.argmax(logits, axis=-1, output_type=targets.dtype) == targets, weights.dtype)
        self.remember(loss=loss, accuracy=tf.reduce_sum(right * weights) / tf.reduce_sum(weights))
        self.attention_maps = [layer.attention.last_weights for layer in self.model.decoder]
        if self.iteration % self.log_every == 0:
            print(f"step {self.iteration}: " + ", ".join(f"{k} {float(v):.4f}" for k, v in self.averages.items()))
        return loss


def build(size: Size, dtype: str) -> Program:
    config = SIZES[size]
    random = np.random.default_rng(0)
    batches = []
    for _ in range(8):
        events = random.integers(1, EVENTS, size=(config["batch"], config["length"] + 1))
        lengths = random.integers(config["length"] // 2, config["length"] + 2, size=[config["batch"], 1])
        batches.append((tf.constant(np.where(np.arange(events.shape[1]) < lengths, events, PAD), "int32"),))
    model = MusicTransformer(config)
    model(batches[0][0][:, :-1])
    trainer = Trainer(model, config["width"])
    trainer.optimizer.build(model.trainable_variables)
    return Program(
        step=trainer.train_step,
        batches=batches,
        variables=[*model.variables, *trainer.optimizer.variables],
        host=lambda: {
            "iteration": trainer.iteration,
            "learning_rates": trainer.learning_rates,
            "averages": trainer.averages,
            "attention_maps": trainer.attention_maps,
        },
    )
