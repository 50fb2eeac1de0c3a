"""Spectrograms, filters and a little linear algebra."""

import math

import tensorflow as tf

RATE = 1600


def tone(frequency, seconds):
    time = tf.range(0.0, seconds, 1.0 / RATE)
    return tf.sin(2.0 * math.pi * frequency * time)


def spectrogram(wave, frame_length=128, frame_step=64):
    stft = tf.signal.stft(wave, frame_length, frame_step, fft_length=128)
    return tf.abs(stft)


def log_mel(magnitudes, bins):
    weights = tf.signal.linear_to_mel_weight_matrix(bins, magnitudes.shape[-1], RATE, 20.0, 700.0)
    mel = tf.tensordot(magnitudes, weights, 1)
    return tf.math.log(mel + 1e-6)


def add_deltas(features):
    deltas = features[1:] - features[:-1]
    padded = tf.pad(deltas, [[1, 0], [0, 0]])
    return tf.stack([features, padded], axis=-1)


def whiten(samples):
    centered = samples - tf.reduce_mean(samples, axis=0, keepdims=True)
    covariance = tf.einsum("ni,nj->ij", centered, centered) / tf.cast(tf.shape(samples)[0], tf.float32)
    values, vectors = tf.linalg.eigh(covariance + 1e-3 * tf.eye(samples.shape[-1]))
    return centered @ vectors / tf.sqrt(values)


def project(samples, rank):
    s, u, v = tf.linalg.svd(samples)
    return u[:, :rank] * s[:rank], v[:, :rank]


def energies(frames):
    return tf.map_fn(lambda frame: tf.reduce_sum(tf.square(frame)), frames)


def smooth(values, width=5):
    kernel = tf.ones([width, 1, 1]) / width
    return tf.nn.conv1d(values[None, :, None], kernel, stride=1, padding="SAME")[0, :, 0]


wave = tone(220.0, 1.0) + 0.5 * tone(330.0, 1.0)
magnitudes = spectrogram(wave)
features = log_mel(magnitudes, 20)
print(add_deltas(features).shape, whiten(features).shape, smooth(energies(magnitudes)).shape)
print([part.shape for part in project(features, 4)])
print(tf.linalg.cholesky_solve(tf.linalg.cholesky(tf.eye(3) * 2.0), tf.ones((3, 1))))
