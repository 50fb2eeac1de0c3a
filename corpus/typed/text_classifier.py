"""Sequences of words: ragged token ids, padding, an embedding, a bidirectional LSTM."""

import argparse
from dataclasses import dataclass, field

import tensorflow as tf


@dataclass
class Config:
    vocab_size: int = 100
    embedding_dim: int = 8
    hidden_units: int = 12
    max_length: int = 10
    classes: list = field(default_factory=lambda: ["bad", "good", "neutral"])


SENTENCES = ["a fine film", "not good at all", "meh", "what a wonderful thing to see"]


def tokenize(texts):
    words = tf.strings.split(tf.strings.lower(texts))
    return tf.strings.to_hash_bucket_fast(words, 100)


def pad(tokens, length):
    return tokens.to_tensor(default_value=0, shape=[None, length])


def masked_mean(values, mask):
    mask = tf.cast(mask, values.dtype)[..., tf.newaxis]
    return tf.reduce_sum(values * mask, axis=1) / tf.reduce_sum(mask, axis=1)


class TextClassifier(tf.keras.Model):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = tf.keras.layers.Embedding(config.vocab_size, config.embedding_dim)
        self.encoder = tf.keras.layers.Bidirectional(
            tf.keras.layers.LSTM(config.hidden_units, return_sequences=True)
        )
        self.dropout = tf.keras.layers.Dropout(0.3)
        self.head = tf.keras.layers.Dense(len(config.classes))

    def call(self, tokens, training=False):
        mask = tf.not_equal(tokens, 0)
        embedded = self.embedding(tokens)
        encoded = self.encoder(embedded)
        pooled = masked_mean(encoded, mask)
        return self.head(self.dropout(pooled, training=training))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=12)
    args = parser.parse_args()
    config = Config(hidden_units=args.units)
    tokens = pad(tokenize(tf.constant(SENTENCES)), config.max_length)
    labels = tf.constant([1, 0, 2, 1])
    model = TextClassifier(config)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(1e-2)
    for _ in range(3):
        with tf.GradientTape() as tape:
            logits = model(tokens, training=True)
            loss = loss_fn(labels, logits)
        grads = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(grads, model.trainable_weights))
    print([config.classes[i] for i in tf.argmax(model(tokens), axis=-1).numpy()])


if __name__ == "__main__":
    main()
