"""GPT-2: a causal language model with tied embeddings (Radford et al., 2019).

The step returns early, and leaves the weights alone, when a gradient is not finite.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .program import Program, Size

SIZES = {
    "small": {"layers": 2, "width": 32, "heads": 2, "length": 24, "batch": 4},
    "large": {"layers": 4, "width": 384, "heads": 6, "length": 192, "batch": 8},
}
VOCABULARY = 200


def gelu(x):
    return 0.5 * x * (1.0 + tf.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * tf.pow(x, 3))))


class Attention(layers.Layer):
    def __init__(self, width, heads, dropout, **kwargs):
        super().__init__(**kwargs)
        self.heads = heads
        self.qkv = layers.Dense(3 * width)
        self.output_projection = layers.Dense(width)
        self.dropout = layers.Dropout(dropout)

    def split_heads(self, x):
        batch, length, width = x.shape
        return tf.transpose(tf.reshape(x, [batch, length, self.heads, width // self.heads]), [0, 2, 1, 3])

    def call(self, x, training=False):
        length, width = x.shape[1:]
        query, key, value = map(self.split_heads, tf.split(self.qkv(x), 3, axis=-1))
        scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(width / self.heads)
        causal = tf.linalg.band_part(tf.ones([length, length], scores.dtype), -1, 0)
        weights = tf.nn.softmax(scores * causal - 1e4 * (1.0 - causal))
        y = tf.matmul(self.dropout(weights, training=training), value)
        y = tf.reshape(tf.transpose(y, [0, 2, 1, 3]), tf.shape(x))
        return self.output_projection(y), (key, value)


class Block(layers.Layer):
    def __init__(self, width, heads, dropout, **kwargs):
        super().__init__(**kwargs)
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)
        self.attention = Attention(width, heads, dropout)
        self.norm2 = layers.LayerNormalization(epsilon=1e-5)
        self.inner = layers.Dense(4 * width)
        self.outer = layers.Dense(width)
        self.dropout = layers.Dropout(dropout)

    def call(self, x, training=False):
        attended, present = self.attention(self.norm1(x), training=training)
        x = x + self.dropout(attended, training=training)
        x = x + self.dropout(self.outer(gelu(self.inner(self.norm2(x)))), training=training)
        return x, present


class GPT2(keras.Model):
    def __init__(self, config, dropout=0.1):
        super().__init__()
        self.tokens = layers.Embedding(VOCABULARY, config["width"])
        self.positions = layers.Embedding(config["length"], config["width"])
        self.dropout = layers.Dropout(dropout)
        self.blocks = [Block(config["width"], config["heads"], dropout) for _ in range(config["layers"])]
        self.norm = layers.LayerNormalization(epsilon=1e-5)

    def call(self, ids, training=False):
        x = self.tokens(ids) + self.positions(tf.range(ids.shape[1]))
        x = self.dropout(x, training=training)
        presents = []
        for block in self.blocks:
            x, present = block(x, training=training)
            presents.append(present)
        logits = tf.matmul(self.norm(x), self.tokens.embeddings, transpose_b=True)
        return logits, presents


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = keras.optimizers.Adam(5e-4)

    def train_step(self, ids):
        with tf.GradientTape() as tape:
            logits, _ = self.model(ids[:, :-1], training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(ids[:, 1:], logits)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        norm = tf.linalg.global_norm(gradients)
        if not tf.math.is_finite(norm):
            return loss
        scale = tf.minimum(1.0 / norm, 1.0)
        gradients = [tf.convert_to_tensor(g) * scale for g in gradients]
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss


def build(size: Size, dtype: str) -> Program:
    config = SIZES[size]
    random = np.random.default_rng(0)
    shape = (config["batch"], config["length"] + 1)
    batches = [(tf.constant(random.integers(VOCABULARY, size=shape), "int32"),) for _ in range(8)]
    model = GPT2(config)
    model(batches[0][0][:, :-1])
    trainer = Trainer(model)
    trainer.optimizer.build(model.trainable_variables)
    return Program(
        step=trainer.train_step, batches=batches, variables=[*model.variables, *trainer.optimizer.variables]
    )
