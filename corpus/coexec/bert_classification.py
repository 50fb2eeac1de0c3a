"""BERT classification: a fine-tuning step that looks at its own predictions with NumPy (MRPC, as in GLUE).

In the middle of the step, under the tape, the predictions leave TensorFlow: hard examples weigh more, and a confusion
matrix gives Matthews' correlation, which is logged. Batches are cut to their longest text, rounded up to a multiple of 8.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .bert_encoder import CONFIGS, VOCABULARY, BertEncoder, WarmupThenLinear
from .program import Program, Size

CLASSES = 2


def matthews_correlation(confusion):
    """Of a 2 × 2 confusion matrix, as a Python float; 0.0 where it is undefined."""
    (tn, fp), (fn, tp) = confusion
    scale = np.sqrt(float((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))
    return float((tp * tn - fp * fn) / scale) if scale else 0.0


class Classifier(keras.Model):
    def __init__(self, config):
        super().__init__()
        self.encoder = BertEncoder(config)
        self.pooler = layers.Dense(config["width"], activation="tanh")
        self.dropout = layers.Dropout(0.1)
        self.head = layers.Dense(CLASSES)

    def call(self, inputs, training=False):
        first = self.encoder(inputs, training=training)[:, 0]
        return self.head(self.dropout(self.pooler(first), training=training))


class Trainer:
    def __init__(self, model, log_every=10):
        self.model = model
        self.optimizer = keras.optimizers.AdamW(WarmupThenLinear(1e-3, warmup=10, total=2000), weight_decay=0.01)
        self.confusion = np.zeros([CLASSES, CLASSES], "int64")
        self.log_every = log_every
        self.losses = []

    def hard_example_weights(self, probabilities, labels):
        """Weights [batch] with mean 1, larger where the right class got less."""
        right = probabilities[np.arange(len(labels)), labels]
        weights = (1.0 - right) ** 2
        return weights / max(weights.mean(), 1e-6)

    def train_step(self, inputs, labels):
        longest = int(tf.reduce_max(tf.reduce_sum(inputs["mask"], axis=1)))
        length = min(-(-longest // 8) * 8, inputs["mask"].shape[1])
        inputs = {name: tensor[:, :length] for name, tensor in inputs.items()}

        with tf.GradientTape() as tape:
            logits = self.model(inputs, training=True)
            probabilities = tf.nn.softmax(logits).numpy()
            np.add.at(self.confusion, (labels.numpy(), probabilities.argmax(axis=1)), 1)
            weights = self.hard_example_weights(probabilities, labels.numpy())
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(losses * weights)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply_gradients(zip(clipped, self.model.trainable_variables))

        self.losses.append(float(loss))
        if len(self.losses) % self.log_every == 0:
            recent = np.mean(self.losses[-self.log_every :])
            mcc = matthews_correlation(self.confusion)
            print(f"step {len(self.losses)}: loss {recent:.4f}, Matthews correlation {mcc:+.3f}")
        return loss


def build(size: Size, dtype: str) -> Program:
    config = CONFIGS[size]
    random = np.random.default_rng(0)
    shape = (config["batch"], config["length"])
    batches = []
    for i in range(8):
        longest = config["length"] - 8 * (i % 2)
        lengths = random.integers(longest // 2, longest + 1, size=config["batch"])
        lengths[0] = longest
        positions = np.arange(config["length"])
        inputs = {
            "ids": random.integers(VOCABULARY, size=shape),
            "segments": positions >= lengths[:, np.newaxis] // 2,
            "mask": positions < lengths[:, np.newaxis],
        }
        labels = random.integers(CLASSES, size=config["batch"])
        batches.append(
            (
                {name: tf.constant(array, "int32") for name, array in inputs.items()},
                tf.constant(labels, "int32"),
            )
        )
    model = Classifier(config)
    model(batches[0][0])
    trainer = Trainer(model)
    trainer.optimizer.build(model.trainable_variables)
    return Program(
        step=trainer.train_step,
        batches=batches,
        variables=[*model.variables, *trainer.optimizer.variables],
        host=lambda: {"confusion": trainer.confusion, "losses": trainer.losses},
    )
