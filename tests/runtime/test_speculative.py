"""`speculative`: a graph where it is the same as eager execution, eager for good where it is not."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from terra_refactor.runtime import report, speculative  # noqa: E402

pytestmark = pytest.mark.tensorflow


def test_a_function_that_is_the_same_becomes_a_graph() -> None:
    v = tf.Variable(1.0)

    @speculative
    def step(x: Any) -> Any:
        v.assign_add(tf.reduce_sum(x))
        return x * v

    expected = 1.0
    for number in range(6):
        expected += 6.0
        np.testing.assert_allclose(step(tf.ones([2, 3])).numpy(), np.full([2, 3], expected))
        assert float(v) == expected, number
    assert "a graph; 2 calls compared, 4 trusted" in report()


def test_each_new_trace_is_compared_again() -> None:
    calls: list[int] = []

    @speculative(calls=1)
    def step(x: Any) -> Any:
        if not tf.executing_eagerly():
            return x + 1.0
        calls.append(1)
        return x + 1.0

    step(tf.ones([2]))
    step(tf.ones([2]))
    assert len(calls) == 1
    step(tf.ones([3]))
    assert len(calls) == 2
    step(tf.ones([3]))
    assert len(calls) == 2


@pytest.mark.parametrize("kind", ["print", "branch", "numpy", "random", "append", "value"])
def test_a_function_that_is_not_the_same_stays_eager_with_one_warning(kind: str, capsys: Any) -> None:
    log: list[Any] = []
    v = tf.Variable(0.0)
    counter = [0]

    @speculative(calls=3)
    def step(x: Any, seen: Any) -> Any:
        v.assign_add(1.0)
        counter[0] += 1
        if kind == "print":
            print("value", float(x[0]) if tf.executing_eagerly() else "?")
        if kind == "branch":
            return x * (1.0 if x.numpy()[0] > 0 else 2.0)
        if kind == "numpy":
            return x.numpy() * 2.0
        if kind == "random":
            return x * random.random()
        if kind == "append":
            seen.append(x.shape[0] + counter[0])
        if kind == "value" and not tf.executing_eagerly():
            return x * 1.5
        return x + 0.0

    with pytest.warns(UserWarning, match="stays eager") as warned:
        for _ in range(5):
            step(tf.ones([2]), log)
    assert len(warned) == 1
    assert float(v) == 5.0
    if kind == "print":
        assert capsys.readouterr().out == "value 1.0\n" * 5
    if kind == "append":
        assert len(log) == 5


def test_errors_are_those_of_eager_execution() -> None:
    @speculative
    def step(x: Any) -> Any:
        return tf.debugging.check_numerics(tf.math.log(x), "log")

    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError):
            step(tf.constant([[-1.0]]))
