"""Small random programs as trees, and the interpreter that runs them: the same Python with and without the shim.

A program is a list of statements over a few float64 tensors of shape [2, 3], two variables, a square variable and a log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import strategies as st

UNARY: dict[str, Callable[[Any], Any]] = {
    "tanh": tf.tanh,
    "sin": tf.math.sin,
    "relu": tf.nn.relu,
    "softmax": tf.nn.softmax,
    "half": lambda x: x * 0.5,
    "shift": lambda x: 1.25 - x,
    "abs": abs,
    "flip": lambda x: x[::-1],
    "rows": lambda x: tf.stack(tf.unstack(x)[::-1]),
    "cast": lambda x: tf.cast(tf.cast(x * 8.0, tf.int32), tf.float64) / 8.0,
    "stop": tf.stop_gradient,
    "mean": lambda x: x - tf.reduce_mean(x, axis=1, keepdims=True),
    "where": lambda x: tf.where(x > 0.1234567, x, tf.zeros_like(x)),
    "size": lambda x: x / tf.cast(tf.shape(x)[1], x.dtype),
    "same": tf.convert_to_tensor,
    "raw": lambda x: tf.raw_ops.Sigmoid(x=x),
    "norm": lambda x: tf.clip_by_norm(x, 1.0),
    "cube": lambda x: tf.clip_by_value(x, -1.0, 1.0) ** 3,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": tf.subtract,
    "mul": lambda a, b: tf.tanh(a) * tf.tanh(b),
    "max": tf.maximum,
    "matmul": lambda a, b: tf.matmul(tf.tanh(a), tf.tanh(b), transpose_b=True) @ tf.ones([2, 3], tf.float64) * 0.1,
    "concat": lambda a, b: tf.concat([a[:1], b[1:]], axis=0),
}


@tf.function
def _compiled(x: Any) -> Any:
    return tf.tanh(x) + tf.reduce_sum(x) * 0.01


@tf.custom_gradient
def _clipped(x: Any) -> Any:
    def backward(upstream: Any) -> Any:
        return tf.clip_by_value(upstream, -0.1, 0.1)

    return tf.identity(x), backward


CALLS: dict[str, Callable[[Any], Any]] = {
    "function": _compiled,
    "custom": _clipped,
    "cond": lambda x: tf.cond(tf.reduce_sum(x) > 0.1234567, lambda: tf.sin(x), lambda: x * 2.0),
    "while": lambda x: tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.tanh(y) + 0.1), [0, x])[1],
    "map": lambda x: tf.map_fn(lambda row: row * 2.0, x),
    "pyfunc": lambda x: tf.reshape(tf.py_function(lambda y: y + 1.0, [x], tf.float64), [2, 3]),
    "boolean": lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 0.1234567)) + x,
    "random": lambda x: x + tf.random.uniform([2, 3], dtype=tf.float64),
    "normal": lambda x: x + 0.1 * tf.random.normal([2, 3], dtype=tf.float64, seed=3),
    "stateless": lambda x: x + tf.random.stateless_uniform([2, 3], seed=[1, 2], dtype=tf.float64),
    "dropout": lambda x: tf.nn.dropout(x, 0.5),
    "ragged": lambda x: tf.RaggedTensor.from_tensor(x).to_tensor() * 1.5,
    "array": lambda x: x + np.arange(3.0),
    "numbers": lambda x: tf.constant([[0.5, 1.5, 2.5]], tf.float64) * x,
}


class Machine:
    """The state that a program works on."""

    def __init__(self) -> None:
        start = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
        self.variables = [tf.Variable(start), tf.Variable(start[::-1] * 0.5), tf.Variable(np.eye(3) * 0.9)]
        self.log: list[Any] = []
        self.kept: list[Any] = []

    def step(self, program: Any) -> Callable[[int], Any]:
        def run(number: int) -> Any:
            xs = [tf.constant(np.full((2, 3), 0.3 + 0.1 * (number % 3))), tf.constant(np.ones((2, 3)))]
            try:
                self.block(program, xs, number)
            except StopIteration:
                return xs[0]
            return [xs[-1], tf.reduce_sum(xs[0])]

        return run

    def state(self) -> Any:
        return [*self.variables, self.log, self.kept]

    def block(self, statements: Any, xs: list[Any], number: int) -> None:
        for statement in statements:
            self.statement(statement, xs, number)

    def statement(self, statement: Any, xs: list[Any], number: int) -> None:
        kind, *rest = statement
        if kind == "unary":
            xs.append(UNARY[rest[0]](xs[rest[1] % len(xs)]))
        elif kind == "binary":
            xs.append(BINARY[rest[0]](xs[rest[1] % len(xs)], xs[rest[2] % len(xs)]))
        elif kind == "call":
            xs.append(CALLS[rest[0]](xs[rest[1] % len(xs)]))
        elif kind == "read":
            xs.append(self.variables[rest[0]] * 1.0 if rest[0] < 2 else tf.tanh(xs[-1]) @ self.variables[2])
        elif kind == "assign":
            self.variables[rest[0]].assign(tf.tanh(xs[rest[1] % len(xs)]))
        elif kind == "assign_add":
            self.variables[rest[0]].assign_add(0.01 * tf.tanh(xs[rest[1] % len(xs)]))
        elif kind == "scale":
            xs.append(xs[-1] * (0.5 + 0.125 * (number % rest[0])))
        elif kind == "print":
            print(f"{float(tf.reduce_sum(xs[rest[0] % len(xs)])):.6f}")
        elif kind == "say":
            print("said", number)
        elif kind == "keep":
            self.kept.append(xs[rest[0] % len(xs)])
            self.log.append(len(self.kept))
        elif kind == "numpy":
            xs.append(tf.constant(np.sort(xs[rest[0] % len(xs)].numpy(), axis=1)))
        elif kind == "if":
            self.block(rest[1] if float(tf.reduce_sum(xs[-1])) > rest[0] else rest[2], xs, number)
        elif kind == "sometimes":
            if number % rest[0] == 0:
                self.block(rest[1], xs, number)
        elif kind == "loop":
            for _ in range(rest[0]):
                self.block(rest[1], xs, number)
        elif kind == "try":
            self._try(rest, xs, number)
        elif kind == "gather":
            order = np.array([number % 2, 1, 0])[: rest[0]]
            xs.append(xs[-1] + tf.reduce_sum(tf.gather(xs[-1], order)))
        elif kind == "pop":
            if len(xs) > 2:
                xs.pop(rest[0] % len(xs))
        elif kind == "return":
            if number % rest[0] == 1:
                raise StopIteration
        elif kind == "tape":
            self._tape(rest, xs, number)

    def _try(self, rest: Any, xs: list[Any], number: int) -> None:
        before = self.variables[0]
        try:
            self.block(rest[1], xs, number)
            if rest[0] == "gather":
                xs.append(xs[-1] + tf.reduce_sum(tf.gather(xs[-1], [0, number % 4])))
            elif rest[0] == "reshape":
                xs.append(tf.reshape(xs[-1], [*[3, -1][: 1 + number % 2], 2]) if number % 2 else xs[-1])
            elif rest[0] == "check":
                tf.debugging.assert_greater(tf.reduce_sum(xs[-1]), 0.1234567)
            elif rest[0] == "numerics":
                tf.debugging.check_numerics(tf.math.log(xs[-1] - 0.2), "log")
            elif rest[0] == "python" and number % 3 == 0:
                raise ValueError("from the program")
            before.assign_add(tf.ones([2, 3], tf.float64) * 0.001)
        except (tf.errors.InvalidArgumentError, ValueError) as error:
            self.log.append(type(error).__name__)

    def _tape(self, rest: Any, xs: list[Any], number: int) -> None:
        persistent, watch, body, wanted, update = rest
        mine = list(xs)
        with tf.GradientTape(persistent=persistent) as tape:
            if watch:
                tape.watch(mine[0])
            self.block(body, mine, number)
            loss = tf.reduce_mean(mine[-1] ** 2)
        sources = [self.variables[0], self.variables[1], self.variables[2], mine[0], mine[-1]]
        chosen = [sources[index] for index in wanted]
        gradients = tape.gradient(loss, chosen)
        if persistent and len(wanted) > 1:
            gradients = [*gradients, tape.gradient(mine[-1], chosen[0])]
        self.log.append([gradient is None for gradient in gradients])
        for index, gradient in zip(wanted, gradients, strict=False):
            if gradient is not None:
                if update and index < 3:
                    self.variables[index].assign_sub(0.05 * gradient)
                elif gradient.shape == [2, 3]:
                    xs.append(gradient)


def statements() -> Any:
    """A strategy for programs."""
    index = st.integers(0, 7)
    simple = st.one_of(
        st.tuples(st.just("unary"), st.sampled_from(sorted(UNARY)), index),
        st.tuples(st.just("binary"), st.sampled_from(sorted(BINARY)), index, index),
        st.tuples(st.just("call"), st.sampled_from(sorted(CALLS)), index),
        st.tuples(st.just("read"), st.integers(0, 2)),
        st.tuples(st.just("assign"), st.integers(0, 1), index),
        st.tuples(st.just("assign_add"), st.integers(0, 1), index),
        st.tuples(st.just("scale"), st.integers(1, 5)),
        st.tuples(st.just("print"), index),
        st.tuples(st.just("say")),
        st.tuples(st.just("keep"), index),
        st.tuples(st.just("numpy"), index),
        st.tuples(st.just("gather"), st.integers(1, 3)),
        st.tuples(st.just("pop"), index),
    )
    threshold = st.sampled_from([-1.2345678, 0.1234567, 1.2345678, 3.3456789])

    def compound(inner: Any) -> Any:
        block = st.lists(inner, min_size=1, max_size=4)
        return st.one_of(
            st.tuples(st.just("if"), threshold, block, block),
            st.tuples(st.just("sometimes"), st.integers(2, 3), block),
            st.tuples(st.just("loop"), st.integers(1, 3), block),
            st.tuples(st.just("return"), st.integers(2, 4)),
            st.tuples(st.just("try"), st.sampled_from(["gather", "reshape", "check", "numerics", "python"]), block),
            st.tuples(
                st.just("tape"),
                st.booleans(),
                st.booleans(),
                block,
                st.lists(st.integers(0, 4), min_size=1, max_size=4, unique=True),
                st.booleans(),
            ),
        )

    return st.lists(st.recursive(simple, compound, max_leaves=10), min_size=1, max_size=7)
