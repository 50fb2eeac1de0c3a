"""BERT question answering: predicts where in a text the answer starts and ends (SQuAD).

A step goes through its batch in parts, from a generator, and adds their gradients up in a Python list.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .bert_encoder import CONFIGS, VOCABULARY, BertEncoder, WarmupThenLinear
from .program import Program, Size

PARTS = 2


class QuestionAnswering(keras.Model):
    def __init__(self, config):
        super().__init__()
        self.encoder = BertEncoder(config)
        self.span = layers.Dense(2)

    def call(self, inputs, training=False):
        logits = self.span(self.encoder(inputs, training=training))
        # Padding cannot be part of an answer.
        logits -= 1e4 * tf.cast(1 - inputs["mask"], logits.dtype)[..., tf.newaxis]
        start, end = tf.unstack(logits, axis=-1)
        return {"start": start, "end": end}


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = keras.optimizers.AdamW(WarmupThenLinear(1e-3, warmup=10, total=2000), weight_decay=0.01)
        self.optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def parts(self, inputs, answers):
        for i in range(PARTS):
            yield (
                {name: tf.split(tensor, PARTS)[i] for name, tensor in inputs.items()},
                {name: tf.split(tensor, PARTS)[i] for name, tensor in answers.items()},
            )

    def train_step(self, inputs, answers):
        variables = self.model.trainable_variables
        totals, losses = [], []
        for part_inputs, part_answers in self.parts(inputs, answers):
            with tf.GradientTape() as tape:
                logits = self.model(part_inputs, training=True)
                loss = sum(self.loss(part_answers[name], logits[name]) for name in logits) / (len(logits) * PARTS)
            gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
            totals = [a + b for a, b in zip(totals, gradients)] if totals else gradients
            losses.append(loss)
        clipped, norm = tf.clip_by_global_norm(totals, 1.0)
        self.optimizer.apply_gradients(zip(clipped, variables))
        return {"loss": tf.add_n(losses), "gradient_norm": norm}


def build(size: Size, dtype: str) -> Program:
    config = CONFIGS[size]
    random = np.random.default_rng(0)
    shape = (config["batch"], config["length"])
    batches = []
    for _ in range(8):
        lengths = random.integers(config["length"] // 2, config["length"] + 1, size=config["batch"])
        positions = np.arange(config["length"])
        inputs = {
            "ids": random.integers(VOCABULARY, size=shape),
            "segments": np.tile(positions >= config["length"] // 4, [config["batch"], 1]),
            "mask": positions < lengths[:, np.newaxis],
        }
        start = random.integers(config["length"] // 4, lengths)
        answers = {"start": start, "end": random.integers(start, lengths)}
        batches.append(
            (
                {name: tf.constant(array, "int32") for name, array in inputs.items()},
                {name: tf.constant(array, "int32") for name, array in answers.items()},
            )
        )
    model = QuestionAnswering(config)
    model(batches[0][0])
    trainer = Trainer(model)
    trainer.optimizer.build(model.trainable_variables)
    return Program(
        step=trainer.train_step, batches=batches, variables=[*model.variables, *trainer.optimizer.variables]
    )
