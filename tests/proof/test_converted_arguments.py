"""TensorFlow is the judge of arguments that a region's call converts: the same numbers, and no trace for each Python number."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, fix

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
    import numpy as np  # noqa: PLC0415

    monkeypatch.chdir(tmp_path)
    before = STEP.format(target=target, reward=reward)
    Path("m.py").write_text(before, encoding="utf-8")
    report = fix(["m.py"], Options(config=Config(level="speculative", jobs=1, min_ops=0), use_cache=False))
    (file,) = report.files
    assert "np.float32(reward)" in file.new_text
    one, other = run("before.py", before), run("after.py", file.new_text)
    assert np.allclose(one["losses"], other["losses"], rtol=1e-5, atol=1e-6)
    assert other["train_step"].experimental_get_tracing_count() <= 2  # the second is the one without new variables
