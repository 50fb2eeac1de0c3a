"""Inline training steps that cannot be graphs, and that the shim runs as functions of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from region_projects import STEP, analyzed, fixed, in_loop, indented, new_text

from terra_refactor.classify.decision import Action, Level

VALUE_IN_TAPE = STEP.replace("grad =", "    if loss.numpy() > 0.5:\n        loss = loss * 2.0\ngrad =")
"""A step that branches on a number: no graph."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_step_that_needs_values_is_co_executed() -> None:
    (region,) = analyzed(in_loop(inside=VALUE_IN_TAPE)).regions
    assert region.decision.action is Action.CO_EXECUTE
    assert region.decision.level is Level.COEXEC
    assert not region.decision.extract
    assert "numpy" in region.decision.reason


def test_only_the_level_of_the_shim_changes_it() -> None:
    text = in_loop(inside=VALUE_IN_TAPE)
    assert new_text(text, "speculative") == text
    changed = new_text(text, "coexec")
    assert "@co_execute\ndef train_step(x, y):\n" in changed
    assert "from terra_refactor.runtime import co_execute\n" in changed
    assert "        train_step(x, y)\n" in changed


def test_the_change_says_why_it_is_no_graph() -> None:
    (file,) = fixed(in_loop(inside=VALUE_IN_TAPE), "coexec").files
    (change,) = file.changes
    assert change.action is Action.EXTRACT_TF_FUNCTION
    assert change.reason.startswith("with `co_execute`: ")


def test_a_step_that_becomes_a_graph_needs_no_shim() -> None:
    (region,) = analyzed(in_loop()).regions
    assert region.decision.extract
    assert not region.decision.co_execute


def test_variables_of_each_iteration_are_no_reason_for_the_shim() -> None:
    """Each call would have operations of its own."""
    inside = VALUE_IN_TAPE.replace("h = x\n", "h = x\n    scale = tf.Variable(2.0)\n    h = h * scale\n")
    (region,) = analyzed(in_loop(inside=inside)).regions
    assert region.decision.action is Action.NONE


METHOD = """\
import tensorflow as tf


def weighted(loss):
{helper}    return loss * 0.5


class Trainer:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(8) for _ in range(6)])
        self.optimizer = tf.keras.optimizers.Adam()
        self.history = []

    def update(self, x):
        with tf.GradientTape() as tape:
            loss = weighted(tf.reduce_mean(self.net(x) ** 2))
            if loss.numpy() > 2.0:
                loss = tf.sqrt(loss)
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.net.trainable_variables))
        self.history.append(float(loss))


trainer = Trainer()
for _ in range(1000):
    trainer.update(tf.ones([4, 8]))
"""


def test_a_function_that_the_shim_runs_has_no_second_one_inside() -> None:
    report = analyzed(METHOD.format(helper=""))
    assert {each.qualname: each.action for each in report.decisions}["Trainer.update"] is Action.CO_EXECUTE
    assert [region.decision.action for region in report.regions] == [Action.NONE]


@pytest.mark.parametrize("squares", [16, 400])
def test_a_helper_that_is_a_graph_is_no_reason_against_the_shim_unless_it_does_most(squares: int) -> None:
    helper = indented("loss = loss + tf.sqrt(loss * loss)\n" * (squares // 3), 4)
    actions = {each.qualname: each.action for each in analyzed(METHOD.format(helper=helper)).decisions}
    assert actions["weighted"] is Action.ADD_TF_FUNCTION
    assert actions["Trainer.update"] is (Action.CO_EXECUTE if squares == 16 else Action.NONE)


NESTED = """\
import tensorflow as tf


def main():
    w = tf.Variable(tf.ones([8, 8]))
    data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 8]))).batch(8)
    for epoch in range(20):
        for x, y in data:
            with tf.GradientTape() as tape:
                h = x
                for _ in range(8):
                    h = tf.tanh(h @ w)
                loss = tf.reduce_mean((h - y) ** 2) * float(tf.reduce_mean(h).numpy() > 0.1)
            grad = tape.gradient(loss, w)
            w.assign_sub(0.1 * grad)
        print(epoch, loss.numpy())


if __name__ == "__main__":
    main()
"""


def test_a_step_in_a_function_that_runs_once_is_co_executed() -> None:
    """It is nested there, and its segments are those of the only definition."""
    changed = new_text(NESTED, "coexec")
    assert "    @co_execute\n    def train_step(x, y):\n" in changed
    assert "            loss = train_step(x, y)\n" in changed
    often = NESTED.replace("    main()", "    for _ in range(3):\n        main()")
    assert "    @co_execute\n    def train_step(" not in new_text(often, "coexec")
