"""TensorFlow is the judge of arguments that a region's call converts: the same numbers, and no trace for each Python number.

Its answer to a pair of texts is kept (`kept_answers`).
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kept_answers import Harness

from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, fix

RUNS = Harness("converted_arguments", (Path(__file__),))
STEP = """\
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
net = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.Adam(1e-2)
rng = np.random.default_rng(1)
losses = []


def learn(state, reward, next_state, done):
    with tf.GradientTape() as tape:
        value = net(state)[0, 0]
        target = {target}
        loss = tf.square(target - value) + tf.reduce_mean(tf.square(net(state) - value))
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return loss.numpy()


state = rng.normal(size=(1, 4)).astype("float32")
for step in range(60):
    next_state = rng.normal(size=(1, 4)).astype("float32")
    losses.append(learn(state, {reward}, next_state, step % 20 == 19))
    state = next_state
"""


def run(name: str, text: str) -> dict[str, Any]:
    """What a program binds. AutoGraph reads its text from the file."""
    Path(name).write_text(text, encoding="utf-8")
    return runpy.run_path(name)


def answer_about(before: str, after: str, function: Callable[[dict[str, Any]], Any]) -> str:
    """TensorFlow's answer: whether both programs have the same losses, and how often the function in the second is traced."""

    def ask() -> str:
        np = pytest.importorskip("numpy")
        pytest.importorskip("tensorflow")
        one, other = run("before.py", before), run("after.py", after)
        same = np.allclose(one["losses"], other["losses"], rtol=1e-5, atol=1e-6)
        traces = function(other).experimental_get_tracing_count()
        return f"{'same' if same else 'different'} {len(one['losses'])} losses, {traces} traces"

    return RUNS.answer(json.dumps([before, after]), ask)


# the second trace is the one without new variables
FEW_TRACES = ("1 traces", "2 traces")


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "reward"),
    [
        ("reward + (1 - done) * 0.99 * net(next_state)[0, 1]", "float(step % 7) / 3"),
        ("2.5 * reward + (1 - done) * 0.99 * net(next_state)[0, 1]", "rng.normal()"),
        ("(1.0 - done) * net(next_state)[0, 1] - reward", "step"),
    ],
)
def test_numbers_mean_the_same_and_take_one_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, reward: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = STEP.format(target=target, reward=reward)
    Path("m.py").write_text(before, encoding="utf-8")
    report = fix(["m.py"], Options(config=Config(level="speculative", jobs=1, min_ops=0), use_cache=False))
    (file,) = report.files
    assert "np.float32(reward)" in file.new_text
    answer = answer_about(before, file.new_text, lambda bound: bound["train_step"])
    assert answer.startswith("same 60 losses, ") and answer.endswith(FEW_TRACES)


ANNEALED = """\
{imports}
tf.keras.utils.set_random_seed(1)
losses = []


class Trainer:
    def __init__(self):
        self.encoder = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(4)])
        self.decoder = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(8)])
        self.optimizer = tf.keras.optimizers.Adam(1e-2)

    def weighted(self, first, second, weight):
        return {weighted}

    def loss(self, x, weight):
        z = self.encoder(x)
        out = self.decoder(z)
        return self.weighted(tf.reduce_mean(tf.square(out - x)), tf.reduce_mean(tf.square(z)), weight)

    def train_step(self, x, weight=1.0):
        with tf.GradientTape() as tape:
            loss = self.loss(x, weight)
        variables = self.encoder.trainable_variables + self.decoder.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables))
        return loss

    def train(self, x, epochs):
        for epoch in range(epochs):
            weight = {number}
            for _ in range(5):
                loss = self.train_step(x, weight)
            losses.append(float(loss))


trainer = Trainer()
trainer.train(tf.random.normal([32, 8], seed=1), 12)
"""
WITH_NUMPY = "import numpy as np\nimport tensorflow as tf\n"
WITHOUT_NUMPY = "import tensorflow as tf\n"


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize(
    ("imports", "weighted", "number", "given"),
    [
        (WITH_NUMPY, "first + weight * second", "min(1.0, epoch / 7)", "np.float32(weight)"),
        (WITH_NUMPY, "weight * first + (1 - weight) * second", "epoch / epochs", "np.float32(weight)"),
        (WITHOUT_NUMPY, "first + second / weight", "5.0 * 0.9 ** epoch", "tf.cast(weight, tf.float32)"),
        (WITHOUT_NUMPY, "first + second * weight", "epoch", "tf.cast(weight, tf.float32)"),
    ],
)
def test_numbers_that_functions_of_the_step_combine_with_tensors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imports: str, weighted: str, number: str, given: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = ANNEALED.format(imports=imports, weighted=weighted, number=number)
    Path("m.py").write_text(before, encoding="utf-8")
    report = fix(["m.py"], Options(config=Config(level="safe", jobs=1, min_ops=0), use_cache=False))
    (file,) = report.files
    assert f"loss = self.train_step_2(x, {given})\n" in file.new_text
    answer = answer_about(before, file.new_text, lambda bound: bound["trainer"].train_step_2)
    assert answer.startswith("same 12 losses, ") and answer.endswith(FEW_TRACES)


@pytest.mark.parametrize(
    ("weighted", "number"),
    [
        ("first + weight * second if weight > 0.5 else first", "epoch / epochs"),
        ("first + second * tf.reduce_sum(tf.ones([weight]))", "epoch"),
        ("first + sum(second for _ in range(weight))", "epoch"),
        ("first + second * [1.0, 2.0][weight % 2] * weight", "epoch"),
        ("first + second * float('%.2f' % weight)", "epoch / epochs"),
        ("first + weight * second + tf.cast(first, tf.float64) * 0 * weight", "epoch / epochs"),
        ("first + tf.cast(weight * tf.cast(second, tf.float64), tf.float32)", "epoch / epochs"),
        ("tf.reduce_mean(tf.stack([first, second], axis=weight))", "epoch % 1"),
        ("first + weight * unknown()", "epoch / epochs"),
    ],
)
def test_numbers_that_a_function_of_the_step_uses_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weighted: str, number: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = ANNEALED.format(imports=WITH_NUMPY, weighted=weighted, number=number)
    Path("m.py").write_text(text, encoding="utf-8")
    report = fix(["m.py"], Options(config=Config(level="speculative", jobs=1, min_ops=0), use_cache=False))
    assert not any("float32(weight)" in file.new_text for file in report.files)
