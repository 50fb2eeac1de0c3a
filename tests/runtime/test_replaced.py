"""Functions of TensorFlow's API that the program replaces, and what it sees of the type of a deferred tensor."""

from __future__ import annotations

import operator
import pickle
import types
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

tf = pytest.importorskip("tensorflow")

import numpy as np  # noqa: E402

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("float64")]


def test_a_function_that_layers_call_is_replaced_for_a_while(same: Any) -> None:
    """Keras' layers look `tf.nn.relu` up at each call; a layer is one node otherwise."""
    import keras  # noqa: PLC0415

    def build() -> Any:
        layer = keras.layers.Dense(3, activation="relu")
        layer.build((None, 3))
        seen: list[float] = []

        def leaky(x: Any, name: Any = None) -> Any:
            seen.append(float(tf.reduce_sum(x)))
            return tf.maximum(x, 0.1 * x)

        def step(number: int) -> Any:
            x = tf.constant(np.sin(np.arange(6.0) + number).reshape(2, 3))
            before = layer(x) * 2.0
            if number % 4 < 2:
                return before
            with mock.patch.object(tf.nn, "relu", leaky):
                inside = layer(x)
            return before, inside, layer(x)

        return step, lambda: [seen, layer.weights]

    same(build, 12)


def test_a_function_is_replaced_between_calls(same: Any) -> None:
    import keras  # noqa: PLC0415

    def build() -> Any:
        layer = keras.layers.Dense(3, activation="relu")
        layer.build((None, 3))
        outer = tf.nn.relu

        def step(number: int) -> Any:
            return layer(tf.constant(np.sin(np.arange(6.0) + number).reshape(2, 3)))

        def call(number: int) -> Any:
            if number in (3, 6):
                tf.nn.relu = (lambda x, name=None: x * 0.5) if number == 3 else outer
            return step(number)

        return call, lambda: layer.weights

    same(build, 9)
    assert not same.program.build_failures


def test_the_modules_are_modules_for_everybody() -> None:
    from terra_refactor.runtime import co_execute, disable, enable  # noqa: PLC0415

    co_execute(lambda x: x + 1.0)(tf.ones([2]))
    assert isinstance(tf.nn, types.ModuleType) and pickle.loads(pickle.dumps(tf.nn)) is tf.nn
    disable()
    assert type(tf.nn) is types.ModuleType
    enable()


def test_messages_of_python_name_the_type_as_eagerly(same: Any) -> None:
    attempts: list[Callable[[Any], Any]] = [
        lambda y: y(),
        lambda y: operator.setitem(y, 0, 1),
        lambda y: operator.delitem(y, 0),
        next,
        lambda y: "%d" % y,  # noqa: UP031
        "".join,
        lambda y: divmod(y, "a"),
        lambda y: y << 1,
        lambda y: y.no_such_attribute,
        bytes,
    ]

    def build() -> Any:
        def step(number: int) -> Any:
            y = tf.constant([1.5, 2.5]) * float(number + 1)
            found: list[Any] = [type(y).__name__, type(y).__qualname__, type(y).__module__, repr(type(y))]
            for attempt in attempts:
                try:
                    found.append(attempt(y))
                except Exception as error:
                    found.append((type(error).__name__, str(error)))
            return found

        return step, lambda: None

    same(build, 4)


def test_a_tape_warns_of_an_integer_that_it_watches_as_often_as_eagerly(
    same: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tensorflow.python.platform import tf_logging  # noqa: PLC0415

    logged: list[Any] = []

    def log_first_n(level: Any, message: str, times: int, *args: Any) -> None:
        logged.append((level, message, times, args))

    monkeypatch.setattr(tf_logging, "log_first_n", log_first_n)

    def build() -> Any:
        logged.clear()

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                x = tf.constant([2.0, 3.0], tf.float64)
                tape.watch([x, tf.constant(number)])
                y = x * x
            return tape.gradient(y, x)

        return step, lambda: [repr(each) for each in logged]

    same(build, calls=5)
    assert len(logged) == 5


def test_a_function_is_dispatched_to_one_of_the_program(same: Any) -> None:
    class Pair(tf.experimental.ExtensionType):  # type: ignore[misc, name-defined]
        first: tf.Tensor
        second: tf.Tensor

    def build() -> Any:
        def step(number: int) -> Any:
            x = tf.constant([1.0, 2.0], tf.float64) * float(number)
            pair = Pair(x, x > 1.0)
            found = tf.math.add(pair, tf.add(pair, pair))
            return [found.first, found.second, pair.first is x, tf.math.add(x, 1.0), float(found.first[0])]

        return step, list

    from terra_refactor.runtime import co_execute  # noqa: PLC0415

    co_execute(lambda x: x + 1.0)(tf.ones([2]))  # the hooks are there before the program asks to be called

    @tf.experimental.dispatch_for_api(tf.math.add, {"x": Pair, "y": Pair})
    def added(x: Any, y: Any, name: Any = None) -> Any:
        return Pair(x.first + y.first, tf.logical_or(x.second, y.second))

    try:
        same(build, calls=5)
    finally:
        tf.experimental.unregister_dispatch_for(added)
