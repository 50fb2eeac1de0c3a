"""The BERT encoder that question answering and classification share (Devlin et al., NAACL 2019)."""

import keras
import tensorflow as tf
from keras import layers

VOCABULARY = 200
CONFIGS = {
    "small": {"layers": 2, "width": 32, "heads": 2, "length": 24, "batch": 4},
    "large": {"layers": 4, "width": 384, "heads": 6, "length": 192, "batch": 8},
}


class EncoderLayer(layers.Layer):
    def __init__(self, width, heads, dropout, **kwargs):
        super().__init__(**kwargs)
        self.attention = layers.MultiHeadAttention(heads, width // heads, dropout=dropout)
        self.attention_norm = layers.LayerNormalization(epsilon=1e-6)
        self.inner = layers.Dense(4 * width, activation="gelu")
        self.outer = layers.Dense(width)
        self.dropout = layers.Dropout(dropout)
        self.output_norm = layers.LayerNormalization(epsilon=1e-6)

    def call(self, x, mask, training=False):
        attended = self.attention(x, x, attention_mask=mask, training=training)
        x = self.attention_norm(x + self.dropout(attended, training=training))
        y = self.outer(self.inner(x))
        return self.output_norm(x + self.dropout(y, training=training))


class BertEncoder(layers.Layer):
    """Token ids, segment ids and a 0/1 mask, each int32 [batch, length], to states [batch, length, width]."""

    def __init__(self, config, dropout=0.1, **kwargs):
        super().__init__(**kwargs)
        width = config["width"]
        initializer = keras.initializers.TruncatedNormal(stddev=0.02, seed=1)
        self.tokens = layers.Embedding(VOCABULARY, width, embeddings_initializer=initializer)
        self.segments = layers.Embedding(2, width)
        self.positions = layers.Embedding(config["length"], width)
        self.norm = layers.LayerNormalization(epsilon=1e-6)
        self.dropout = layers.Dropout(dropout)
        self.blocks = [EncoderLayer(width, config["heads"], dropout) for _ in range(config["layers"])]

    def call(self, inputs, training=False):
        ids = inputs["ids"]
        x = self.tokens(ids) + self.segments(inputs["segments"]) + self.positions(tf.range(ids.shape[1]))
        x = self.dropout(self.norm(x), training=training)
        mask = tf.cast(inputs["mask"][:, tf.newaxis, :], "bool")
        for block in self.blocks:
            x = block(x, mask, training=training)
        return x


class WarmupThenLinear(keras.optimizers.schedules.LearningRateSchedule):
    """Rises to `peak` over `warmup` steps, then falls to zero at `total`."""

    def __init__(self, peak, warmup, total):
        self.peak, self.warmup, self.total = peak, warmup, total

    def __call__(self, step):
        step = tf.cast(step, keras.config.floatx())
        rising = self.peak * (step + 1.0) / self.warmup
        falling = self.peak * tf.maximum(self.total - step, 0.0) / (self.total - self.warmup)
        return tf.where(step < self.warmup, rising, falling)
