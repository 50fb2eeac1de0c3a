"""Sentiment of made-up sentences with Keras's own training loop."""

import random
import re

import numpy as np
import tensorflow as tf

GOOD = ["good", "great", "fine", "lovely"]
BAD = ["bad", "awful", "poor", "dull"]
OTHER = ["the", "film", "was", "a", "plot", "and", "actor", "story"]


def make_sentences(count):
    random.seed(43)
    sentences, labels = [], []
    for _ in range(count):
        label = random.randrange(2)
        words = random.choices(OTHER, k=6) + random.choices(GOOD if label else BAD, k=2)
        random.shuffle(words)
        sentences.append(" ".join(words) + "!")
        labels.append(label)
    return sentences, labels


def tokenize(sentence):
    return re.sub(r"[^a-z ]", "", sentence.lower()).split()


def build_vocabulary(sentences):
    words = sorted({word for sentence in sentences for word in tokenize(sentence)})
    return {word: number + 1 for number, word in enumerate(words)}


def encode(sentences, vocabulary, length):
    encoded = np.zeros((len(sentences), length), dtype="int32")
    for row, sentence in enumerate(sentences):
        for column, word in enumerate(tokenize(sentence)[:length]):
            encoded[row, column] = vocabulary.get(word, 0)
    return encoded


def masked_mean(embedded, tokens):
    mask = tf.cast(tf.not_equal(tokens, 0), embedded.dtype)[:, :, tf.newaxis]
    return tf.reduce_sum(embedded * mask, axis=1) / tf.maximum(tf.reduce_sum(mask, axis=1), 1.0)


class Classifier(tf.keras.Model):
    def __init__(self, words):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(words + 1, 8)
        self.hidden = tf.keras.layers.Dense(8, activation="relu")
        self.out = tf.keras.layers.Dense(1)

    def call(self, tokens):
        return self.out(self.hidden(masked_mean(self.embedding(tokens), tokens)))


def main():
    sentences, labels = make_sentences(512)
    vocabulary = build_vocabulary(sentences)
    tokens = encode(sentences, vocabulary, 10)
    model = Classifier(len(vocabulary))
    model.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(tokens, np.array(labels), epochs=8, batch_size=32, shuffle=False, verbose=0)
    loss, accuracy = model.evaluate(tokens, np.array(labels), verbose=0)
    print(f"loss {loss:.2f} accuracy {accuracy:.2f}")
    print("scores", model.predict(tokens[:4], verbose=0).shape)


if __name__ == "__main__":
    main()
