"""TensorFlow's treatment of decorators next to `tf.function`: the reasons for where `placement` puts a new one."""

from __future__ import annotations

import functools
from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow
tf: Any = pytest.importorskip("tensorflow")


def test_wraps_above_copies_a_wrapped_graph_over_the_new_one() -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return x + 1

    @functools.wraps(inner)
    @tf.function
    def outer(*args: Any) -> Any:
        return inner(*args) * 10

    assert int(outer(tf.constant(1))) == 2  # not 20: the wrong function runs


def test_wraps_below_gives_the_wrapped_signature() -> None:
    def inner(x: Any) -> Any:
        return x + 1

    @tf.function
    @functools.wraps(inner)
    def outer(x: Any, factor: int = 10) -> Any:
        return inner(x) * factor

    with pytest.raises(TypeError, match="factor"):
        outer(tf.constant(1), factor=2)


def test_a_custom_gradient_cannot_be_above() -> None:
    def square(x: Any) -> Any:
        return x * x, lambda upstream: 100.0 * upstream

    with pytest.raises(TypeError, match="must return zero or more Tensors"):
        tf.custom_gradient(tf.function(square))(tf.constant(3.0))
    traced = tf.function(tf.custom_gradient(square))
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = traced(x)
    assert float(tape.gradient(y, x)) == 100.0


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
def test_static_and_class_methods_above_are_fine(kind: Any) -> None:
    def double(*args: Any) -> Any:
        return args[-1] * 2

    cls = type("C", (), {"double": kind(tf.function(double))})
    assert int(cls.double(tf.constant(4))) == 8  # type: ignore[attr-defined]


def test_a_property_above_is_fine() -> None:
    cls = type("C", (), {"three": property(tf.function(lambda self: tf.constant(3)))})
    assert int(cls().three) == 3  # type: ignore[attr-defined]
