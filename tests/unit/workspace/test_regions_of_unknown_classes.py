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
