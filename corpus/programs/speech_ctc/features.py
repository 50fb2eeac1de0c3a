"""Words as sequences of tones, and what a recogniser hears of them."""

import numpy as np
import tensorflow as tf

LETTERS = "abcde"
RATE = 2000
TONE = 160  # samples of one letter
LONGEST = 6


def make_word(rng):
    """A word and its sound: one tone for each letter, with a pause between two that are the same."""
    word = [int(letter) for letter in rng.integers(1, len(LETTERS) + 1, rng.integers(2, LONGEST + 1))]
    pieces, last = [], 0
    for letter in word:
        length = int(TONE * rng.uniform(0.8, 1.2))
        if letter == last:
            pieces.append(np.zeros(TONE // 3))
        pieces.append(np.sin(2 * np.pi * 150 * letter * np.arange(length) / RATE))
        last = letter
    sound = np.concatenate(pieces) + rng.normal(0.0, 0.5, sum(len(piece) for piece in pieces))
    return word, sound.astype("float32")


def make_words(count, seed):
    """Sounds and words, padded with zeros to the longest, with their lengths."""
    rng = np.random.default_rng(seed)
    words, sounds = zip(*[make_word(rng) for _ in range(count)])
    padded = np.zeros((count, LONGEST * TONE * 8 // 5), "float32")
    labels = np.zeros((count, LONGEST), "int32")
    for row, (word, sound) in enumerate(zip(words, sounds)):
        padded[row, : len(sound)] = sound
        labels[row, : len(word)] = word
    return padded, labels, np.array([len(word) for word in words], "int32")


def spectrogram(sound):
    """The logarithm of the strength of each frequency, for each frame: [frames, 33]."""
    transformed = tf.signal.stft(sound, frame_length=64, frame_step=32, fft_length=64)
    return tf.math.log(tf.abs(transformed) + 1e-3)
