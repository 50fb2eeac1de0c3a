"""Next-token prediction on counting sequences."""

import numpy as np
import tensorflow as tf

from layers import Transformer

VOCABULARY = 20
LENGTH = 12


class WarmUp(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d_model, warmup_steps=100):
        super().__init__()
        self.d_model = tf.cast(d_model, tf.float32)
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        return tf.math.rsqrt(self.d_model) * tf.math.minimum(tf.math.rsqrt(step), step * (self.warmup_steps**-1.5))


def create_look_ahead_mask(size):
    return 1 - tf.linalg.band_part(tf.ones((size, size)), -1, 0)


def loss_function(real, pred):
    loss = tf.keras.losses.sparse_categorical_crossentropy(real, pred, from_logits=True)
    mask = tf.cast(tf.not_equal(real, 0), loss.dtype)
    return tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(WarmUp(model.d_model), beta_2=0.98, epsilon=1e-9)
        self.loss = tf.keras.metrics.Mean()

    def train_step(self, tokens):
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        mask = create_look_ahead_mask(tf.shape(inputs)[1])
        with tf.GradientTape() as tape:
            predictions = self.model(inputs, mask=mask, training=True)
            loss = loss_function(targets, predictions)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        self.loss.update_state(loss)

    def fit(self, dataset, epochs):
        for epoch in range(epochs):
            self.loss.reset_state()
            for tokens in dataset:
                self.train_step(tokens)
            print(f"epoch {epoch}: loss {self.loss.result().numpy():.2f}")


def generate(model, prefix, count):
    """Greedy continuation of a list of tokens."""
    tokens = list(prefix)
    for _ in range(count):
        window = tf.constant([tokens[-LENGTH:]])
        logits = model(window, mask=create_look_ahead_mask(window.shape[1]))
        tokens.append(int(tf.argmax(logits[0, -1])))
    return tokens


def make_sequences(count):
    rng = np.random.RandomState(7)
    starts = rng.randint(1, VOCABULARY - 1, (count, 1))
    return (1 + (starts + np.arange(LENGTH + 1)) % (VOCABULARY - 1)).astype("int32")


def main():
    model = Transformer(2, 32, 4, 64, VOCABULARY, LENGTH)
    dataset = tf.data.Dataset.from_tensor_slices(make_sequences(960)).batch(32, drop_remainder=True)
    Trainer(model).fit(dataset, epochs=5)
    print("continuation has", len(generate(model, [3, 4, 5], 6)), "tokens")


if __name__ == "__main__":
    main()
