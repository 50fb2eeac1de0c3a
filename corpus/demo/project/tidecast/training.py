"""Custom training loops."""

import time

import tensorflow as tf

from . import metrics


class Trainer:
    """Fits a forecaster with Adam and keeps a history of what happened."""

    def __init__(self, model, learning_rate=1e-2):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(learning_rate)
        self.history = []

    def train_step(self, inputs, targets):
        """The heart of it: nothing but tensors."""
        with tf.GradientTape() as tape:
            predicted = self.model(inputs)
            loss = metrics.huber(predicted, targets)
        variables = self.model.trainable_variables
        gradients = tape.gradient(loss, variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply_gradients(zip(gradients, variables))
        return loss

    def logged_step(self, inputs, targets):
        """The same with everything people add while they debug."""
        loss = self.train_step(inputs, targets)
        self.history.append(float(loss))
        if len(self.history) % 50 == 0:
            print("step %d: %.4f" % (len(self.history), loss.numpy()))
        return loss

    def evaluate_batch(self, inputs, targets):
        predicted = self.model(inputs)
        return metrics.skill(predicted, targets)

    def fit(self, dataset, epochs=1):
        for epoch in range(epochs):
            started = time.time()
            for inputs, targets in dataset:
                loss = self.logged_step(inputs, targets)
            print("epoch %d: loss %.4f, %.1f s" % (epoch, float(loss), time.time() - started))
        return self.history


def penalty_sweep(model, inputs, targets, penalties):
    """Makes a new graph for each penalty."""
    results = []
    for penalty in penalties:
        @tf.function
        def penalised():
            size = tf.add_n([tf.nn.l2_loss(variable) for variable in model.trainable_variables])
            return metrics.mean_squared_error(model(inputs), targets) + penalty * size

        results.append(float(penalised()))
    return results


def smooth(levels, factor=0.8):
    """Exponential smoothing along the time axis, which needs every level as a number."""
    smoothed = []
    last = levels[0].numpy()
    for level in levels:
        last = factor * last + (1 - factor) * level.numpy()
        smoothed.append(last)
    return tf.constant(smoothed)
