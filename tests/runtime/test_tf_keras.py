"""Keras 2 (`tf_keras`), whose classes the shim does not know: their Python runs, what they call is deferred, the numbers are the same."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

pytest.importorskip("tensorflow")

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("tf_keras") is None, reason="tf_keras is not installed (make shim-versions)"
    ),
]

PROGRAM = """
import numpy as np
import tensorflow as tf
from terra_refactor.runtime import co_execute, report

assert tf.keras.__name__.startswith("tf_keras") or "tf_keras" in tf.keras.layers.Dense.__module__

def trained(decorator):
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(8, "relu"),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dropout(0.3),
        tf.keras.layers.Dense(3, "softmax"),
    ])
    model.build((4, 5))
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy()
    optimizer = tf.keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)
    mean = tf.keras.metrics.Mean()
    history = []

    @decorator
    def step(x, labels):
        with tf.GradientTape() as tape:
            loss = loss_function(labels, model(x, training=True))
            if float(loss) > 1.0:
                history.append(float(loss))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        mean.update_state(loss)
        return loss

    random = np.random.default_rng(0)
    losses = []
    for _ in range(12):
        x = tf.constant(random.normal(size=(4, 5)), tf.float32)
        losses.append(float(step(x, tf.constant([0, 1, 2, 1]))))
    return losses, float(mean.result()), [weight.numpy() for weight in model.weights], history

eager, found = trained(lambda step: step), trained(co_execute(measure=False))
np.testing.assert_allclose(found[0], eager[0], 1e-4)
np.testing.assert_allclose(found[1], eager[1], 1e-4)
assert len(eager[3]) == len(found[3])
for one, other in zip(eager[2], found[2], strict=True):
    np.testing.assert_allclose(other, one, 1e-3, 1e-5)
print(report())
"""


def test_training_with_keras_2() -> None:
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "trained.<locals>.step" in done.stdout
