"""The training loop."""

import logging

import tensorflow as tf

from salescast.model import Forecaster

LOGGER = logging.getLogger(__name__)


def huber(target, prediction, delta=1.0):
    error = tf.abs(target - prediction)
    return tf.reduce_mean(tf.where(error < delta, 0.5 * error**2, delta * (error - 0.5 * delta)))


class Training:
    def __init__(self, config):
        self.config = config
        self.model = Forecaster(config)
        self.optimizer = tf.keras.optimizers.Adam(config.learning_rate)
        self.best = float("inf")

    def step(self, series, target):
        with tf.GradientTape() as tape:
            loss = huber(target, self.model(series))
        variables = self.model.trainable_variables
        gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, variables), self.config.clip)
        self.optimizer.apply_gradients(zip(gradients, variables))
        return loss, norm

    def logged_step(self, number, series, target):
        loss, norm = self.step(series, target)
        if number % 50 == 0:
            LOGGER.info("step %d", number)
            print(f"step {number} loss {float(loss):.3f} norm {float(norm):.2f}")
        self.best = min(self.best, float(loss))

    def run(self, dataset):
        for number, (series, target) in enumerate(dataset.take(self.config.steps)):
            self.logged_step(number, series, target)
        return self.best
