"""Segments round as single operations do: sums of several gradients, and convolutions with a bias, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

import numpy as np  # noqa: E402

pytestmark = pytest.mark.tensorflow

RANDOM = np.random.default_rng(3)


def numbers(*shape: int, dtype: str = "float32") -> Any:
    return tf.cast(tf.constant(RANDOM.normal(size=shape) * 0.5), dtype)


def bits(value: Any) -> list[tuple[Any, bytes]]:
    return [(each.shape, np.asarray(each).tobytes()) for each in tf.nest.flatten(value) if each is not None]


def rounds_the_same(function: Callable[..., Any], batches: list[Any], **options: Any) -> bool:
    from terra_refactor.runtime import co_execute  # noqa: PLC0415

    expected = [bits(function(*batch)) for batch in batches]
    step = co_execute(measure=False, **options)(function)
    return [bits(step(*batch)) for batch in batches] == expected


def of_a_sum(x: Any, y: Any) -> Any:
    """In a graph, the third operand of the sum of gradients is the first whose memory the kernel may reuse."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.sin(x) + tf.cos(x) + x * x * y)
    return loss, tape.gradient(loss, x)


def test_a_sum_of_several_gradients() -> None:
    batches = [(numbers(40), numbers(40)) for _ in range(6)]
    assert rounds_the_same(of_a_sum, batches)
    # otherwise the program would show nothing
    assert not rounds_the_same(of_a_sum, batches, fast_math=True)


@pytest.mark.parametrize("more", [0, 4, 5, 6, 10, 14, 21])
def test_a_long_sum_of_the_program(more: int) -> None:
    def total(x: Any, y: Any) -> Any:
        return tf.add_n([tf.sin(x), y, *(tf.cos(x * float(k)) for k in range(more)), x * y])

    assert rounds_the_same(total, [(numbers(50), numbers(50)) for _ in range(4)])


def test_a_sum_that_is_a_result_under_a_tape_that_watches_more_and_more() -> None:
    """The graph of a segment is differentiated once for what each tape watches."""
    weight = tf.Variable(np.linspace(-1.0, 1.0, 6))

    def step(x: Any, y: Any, watched: int) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, y][:watched])
            total = tf.add_n([tf.sin(x) * weight, x * x, y * x])
            after = tf.tanh(total) * weight
            if float(tf.reduce_sum(after)) > 1e9:
                return after
            loss = tf.reduce_sum(after * total + x)
        return loss, [tf.zeros([]) if each is None else each for each in tape.gradient(loss, [x, y, weight, total])]

    from terra_refactor.runtime import co_execute  # noqa: PLC0415

    compiled = co_execute(measure=False)(step)
    for number in range(12):
        batch = numbers(6, dtype="float64"), numbers(6, dtype="float64"), number % 3
        for one, other in zip(tf.nest.flatten(step(*batch)), tf.nest.flatten(compiled(*batch)), strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_convolution_with_a_bias(dtype: str, padding: str) -> None:
    kernel, bias = numbers(3, 3, 4, 6, dtype=dtype), numbers(6, dtype=dtype)

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, kernel, bias])
            y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, padding), bias))
            loss = tf.reduce_sum(tf.sin(y) * y)
        return y, tape.gradient(loss, [x, kernel, bias])

    batches = [(numbers(2, 6, 6, 4, dtype=dtype),) for _ in range(5)]
    assert rounds_the_same(step, batches)
