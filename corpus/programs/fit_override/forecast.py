"""A Keras model that overrides train_step and test_step, and a callback."""

import numpy as np
import tensorflow as tf


class QuantileForecaster(tf.keras.Model):
    def __init__(self, quantiles):
        super().__init__()
        self.quantiles = tf.constant(quantiles, tf.float32)
        self.lstm = tf.keras.layers.LSTM(12)
        self.head = tf.keras.layers.Dense(len(quantiles))
        self.tracker = tf.keras.metrics.Mean(name="pinball")

    @property
    def metrics(self):
        return [self.tracker]

    def call(self, series, training=False):
        return self.head(self.lstm(series))

    def pinball(self, target, prediction):
        error = target[:, tf.newaxis] - prediction
        return tf.reduce_mean(tf.maximum(self.quantiles * error, (self.quantiles - 1.0) * error))

    def train_step(self, data):
        series, target = data
        with tf.GradientTape() as tape:
            loss = self.pinball(target, self(series, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        self.tracker.update_state(loss)
        return {"pinball": self.tracker.result()}

    def test_step(self, data):
        series, target = data
        self.tracker.update_state(self.pinball(target, self(series)))
        return {"pinball": self.tracker.result()}


class History(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.values = []

    def on_epoch_end(self, epoch, logs=None):
        self.values.append(float(logs["pinball"]))
        print(f"epoch {epoch} pinball {logs['pinball']:.2f}")


def make_windows(count, length):
    rng = np.random.RandomState(47)
    start = rng.uniform(0, 6, (count, 1))
    series = np.sin(start + 0.3 * np.arange(length + 1)) + rng.normal(0, 0.1, (count, length + 1))
    return series[:, :-1, None].astype("float32"), series[:, -1].astype("float32")


def main():
    series, target = make_windows(320, 10)
    model = QuantileForecaster([0.1, 0.5, 0.9])
    model.compile(optimizer=tf.keras.optimizers.Adam(0.01))
    history = History()
    model.fit(series, target, epochs=5, batch_size=32, shuffle=False, verbose=0, callbacks=[history])
    print("evaluated", model.evaluate(series, target, verbose=0, return_dict=True).keys())
    spread = model.predict(series[:8], verbose=0)
    print("falls", history.values[-1] < history.values[0], spread.shape)


if __name__ == "__main__":
    main()
