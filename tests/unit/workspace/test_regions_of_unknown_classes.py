"""Training steps of classes whose bases are not known: what Keras may trace, and what a graph cannot return."""

from __future__ import annotations

from pathlib import Path

import pytest
from region_projects import new_text


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


STEP = """\
import tensorflow as tf
from somewhere import Base


class Adapted(Base):
    def train_step(self, data):
        x, y = self.unpacked(data)
        print(x.shape)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(x, training=True) - y)) + sum(self.net.losses)
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.net.trainable_variables))
        return {"loss": loss}
"""
LOOP = """\
import tensorflow as tf


def run(net, optimizer, other, data):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(x, training=True) - y)) + sum(net.losses)
        VARIABLES
        grads = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(grads, variables))
        print(float(loss), end=other(USED))
"""


BUFFERS = """\
import random

import numpy as np
import tensorflow as tf


class ReplayBuffer:
    def __init__(self):
        self.items = []

    def draw(self, number):
        return np.array(random.sample(self.items, number), "float32")


class Trainer:
    def __init__(self):
        self.optimizer = tf.keras.optimizers.Adam()

    def learn(self, model, buffer, number):
        states = buffer.draw(number)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(states)))
        grads = tape.gradient(loss, model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss
"""


def test_a_call_that_may_run_a_method_of_the_program_stays_outside() -> None:
    """A graph around the whole method would keep its first batch, if `buffer` is the only class with `draw`."""
    text = new_text(BUFFERS, "speculative")
    assert (
        "        states = buffer.draw(number)\n        loss = self.train_step(model, states)\n        return loss\n"
        in text
    )
    assert (
        "    @tf.function\n    def train_step(self, model, states):\n        with tf.GradientTape() as tape:\n" in text
    )
    assert text.count("@tf.function") == 1


MODELS = """\
import tensorflow as tf


class Saliency:
    def __init__(self, model):
        self.model = model

    def top(self, image):
        return tf.argmax(self.model.predict(image)[0])

    def gradients(self, image):
        image = tf.convert_to_tensor(image)
        top = self.top(image)
        with tf.GradientTape() as tape:
            tape.watch(image)
            chosen = self.model(image)[:, top]
        grads = tape.gradient(chosen, image)
        return grads


class Smooth(Saliency):
    def mask(self, images):
        return [self.gradients(image) for image in images]
"""


def test_what_a_called_object_predicts_stays_outside() -> None:
    """`self.model` is called, so `self.model.predict` is Keras's, which raises in a graph."""
    text = new_text(MODELS, "speculative")
    assert "        top = self.top(image)\n        grads = self.gradient_step(image, top)\n" in text
    assert "@tf.function\n    def gradients" not in text and "@tf.function\n    def top" not in text
    assert "@tf.function" in text


def test_a_step_that_keras_may_call_stays_as_it_is() -> None:
    assert new_text(STEP, "speculative") == STEP


@pytest.mark.parametrize(
    "named",
    [
        "variables = net.trainable_variables",
        "variables = list(net.trainable_variables) + net.head.trainable_weights",
        "variables = [v for v in net.trainable_variables if v.trainable]",
    ],
)
def test_variables_are_no_results(named: str) -> None:
    text = LOOP.replace("VARIABLES", named)
    kept = text.replace("USED", "variables")
    assert "return loss, variables" not in new_text(kept, "speculative")
    assert "@tf.function" in new_text(text.replace("USED", "net"), "speculative")
