"""Small random programs as trees, and the interpreter that runs them: the same Python with and without the shim.

A program is a list of statements over a few float64 tensors of shape [2, 3], variables of several dtypes, tensors and
tapes that live longer than a call, Keras objects with state, an iterator, and a log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from hypothesis import strategies as st

from terra_refactor.runtime import co_execute

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
    "split": lambda x: tf.concat(tf.split(x, 3, axis=1)[::-1], axis=1),
    "columns": lambda x: tf.stack([row * (i + 0.5) for i, row in enumerate(tf.unstack(x, axis=1))], axis=1),
    "moments": lambda x: (x - tf.nn.moments(x, [0])[0]) / tf.sqrt(tf.nn.moments(x, [0])[1] + 0.1),
    "top": lambda x: tf.nn.top_k(x, 3)[0] + tf.cast(tf.nn.top_k(x, 2)[1][0, 0], tf.float64),
    "argmax": lambda x: x + tf.gather(tf.constant([0.5, 1.5, 2.5], tf.float64), tf.argmax(x, axis=1))[:, None],
    "onehot": lambda x: x + tf.one_hot(tf.argmax(x, axis=1), 3, dtype=tf.float64),
    "pick": lambda x: tf.gather(x, [1, 0]) + tf.gather(x, tf.constant([2, 0, 1]), axis=1),
    "identity": tf.identity,
    "not": lambda x: tf.where(tf.logical_not(x > 0.1234567), x, 1.0),
    "integers": lambda x: x + tf.cast(tf.cast(x * 10.0, tf.int32) // 3 % 5, tf.float64),
    "norms": lambda x: tf.clip_by_global_norm([x, x * 2.0], 1.0)[0][1],
    "product": lambda x: tf.einsum("ij,kj->ik", x, x) @ tf.ones([2, 3], tf.float64) * 0.01 + x,
    "iterate": lambda x: tf.stack([row + 1.0 for row in x]),
    "items": lambda x: tf.convert_to_tensor([[x[i, j] for j in range(3)] for i in range(2)]),
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


@tf.function
def _several(x: Any) -> Any:
    return [*tf.unstack(tf.sin(x)), x * 0.5]


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
    "several": lambda x: tf.stack(_several(x)[:2]) + _several(x)[2],
    "sparse": lambda x: tf.sparse.to_dense(tf.sparse.from_dense(tf.nn.relu(x))) + x,
    "string": lambda x: x + float(tf.strings.to_number(tf.strings.as_string(tf.round(x[0, 0] * 8.0)))),
    "tensorarray": lambda x: tf.TensorArray(tf.float64, 2).unstack(x).write(0, x[1] * 0.5).stack(),
    "unique": lambda x: x + tf.cast(tf.size(tf.unique(tf.cast(tf.reshape(x, [-1]) * 2.0, tf.int32))[0]), tf.float64),
    "size of where": lambda x: x * tf.cast(tf.shape(tf.where(x > 0.1234567))[0], tf.float64) * 0.1,
    "asarray": lambda x: x + np.asarray(x).sum() * 0.01 + np.mean([np.asarray(x[0, 0]), x[1, 1]]),
    "scatter": lambda x: tf.tensor_scatter_nd_update(x, [[0, 1]], [x[1, 2]]),
    "segment": lambda x: tf.math.unsorted_segment_sum(x, tf.argmax(x, axis=1), 3)[:2] + x,
    "svd": lambda x: x + tf.reduce_sum(tf.linalg.svd(x, compute_uv=False)) * 0.1,
    "cholesky": lambda x: x + tf.linalg.cholesky(x @ tf.transpose(x) + tf.eye(2, dtype=tf.float64))[:, :1],
    "switch": lambda x: tf.switch_case(tf.argmax(x[0]), [lambda: x, lambda: x * 0.5, lambda: tf.sin(x)]),
    "scan": lambda x: tf.scan(lambda a, b: a * 0.5 + b, x),
    "numbers": lambda x: tf.constant([[0.5, 1.5, 2.5]], tf.float64) * x,
}


class Machine:
    """The state that a program works on."""

    def __init__(self) -> None:
        start = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
        self.variables = [tf.Variable(start), tf.Variable(start[::-1] * 0.5), tf.Variable(np.eye(3) * 0.9)]
        self.log: list[Any] = []
        self.kept: list[Any] = []
        self.store: dict[str, Any] = {}
        self.count = tf.Variable(0, dtype=tf.int64)
        self.single = tf.Variable([0.5, 1.5, 2.5], dtype=tf.float32)
        self.flag = tf.Variable(True)
        self.text = tf.Variable("a")
        self.held: list[tuple[Any, Any]] = []
        self._keras: Any = None
        self._iterator: Any = None
        self._generator: Any = None
        self.co_executed = co_execute(lambda x: tf.tanh(x) * self.variables[0])

    def step(self, program: Any) -> Callable[[int], Any]:
        def run(number: int) -> Any:
            xs = [tf.constant(np.full((2, 3), 0.3 + 0.1 * (number % 3))), tf.constant(np.ones((2, 3)))]
            try:
                self.block(program, xs, number)
            except StopIteration:
                return xs[0]
            finally:
                for tape, _ in self.held:
                    if tape._recording:
                        tape.__exit__(None, None, None)
                self.held.clear()
            return [xs[-1], tf.reduce_sum(xs[0])]

        return run

    def state(self) -> Any:
        extra = [] if self._keras is None else [variable.numpy() for variable in self._keras.weights()]
        small = [self.count, self.single, self.flag, self.text.numpy().decode()]
        return [*self.variables, self.log, self.kept, self.store, small, extra]

    @property
    def keras(self) -> Trained:
        if self._keras is None:
            self._keras = Trained()
        return self._keras

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
        else:
            self._more(kind, rest, xs, number)

    def _more(self, kind: str, rest: Any, xs: list[Any], number: int) -> None:
        if kind == "hold":
            tape = tf.GradientTape(persistent=rest[0])
            tape.__enter__()
            tape.watch(xs[-1])
            self.held.append((tape, xs[-1]))
        elif kind == "ask":
            if self.held:
                tape, source = self.held.pop(rest[0] % len(self.held))
                if tape._recording:
                    tape.__exit__(None, None, None)
                gradients = tape.gradient(xs[-1], [source, self.variables[1]])
                self.log.append([gradient is None for gradient in gradients])
                xs.extend(gradient for gradient in gradients if gradient is not None)
        elif kind == "store":
            self.store[rest[0]] = xs[rest[1] % len(xs)]
        elif kind == "load":
            if rest[0] in self.store:  # a tensor of this call or of an earlier one
                xs.append(self.store[rest[0]] * 0.5)
        elif kind == "replace":
            xs[rest[0] % len(xs)] += 0.25
        elif kind == "count":
            self.count.assign_add(rest[0])
            if int(self.count) % 3 == 0:
                self.flag.assign(tf.logical_not(self.flag))
        elif kind == "flag":
            if self.flag:
                self.text.assign(tf.strings.substr(self.text + "b", 0, 5))
            xs.append(tf.where(self.flag, xs[-1], xs[-1] * 0.5))
        elif kind == "single":
            self.single.assign(tf.cast(tf.tanh(xs[-1][0]), tf.float32))
            xs.append(xs[-1] + tf.cast(self.single, tf.float64))
        elif kind == "next":
            if self._iterator is None:
                self._iterator = iter(tf.data.Dataset.range(1000).map(lambda i: tf.cast(i, tf.float64) * 0.01))
            xs.append(xs[-1] + next(self._iterator))
        elif kind == "generator":
            if self._generator is None:
                self._generator = tf.random.Generator.from_seed(4)
            xs.append(xs[-1] + self._generator.uniform([2, 3], dtype=tf.float64))
        elif kind == "keras":
            xs.append(self.keras.use(rest[0], xs[rest[1] % len(xs)], number))
        elif kind == "nested":
            xs.append(self.co_executed(xs[-1]))
        elif kind == "finally":
            try:
                self.block(rest[1], xs, number)
                if number % rest[0] == 0:
                    raise KeyError(number)
            except KeyError:
                print("key error")
            finally:
                self.variables[1].assign_add(tf.ones([2, 3], tf.float64) * 0.001)
        elif kind == "shapes":
            part = tf.ones([number % rest[0] + 1, 3], tf.float64) * xs[-1][:1]
            self.log.append(part.shape[0])
            xs.append(xs[-1] + tf.reduce_sum(part, axis=0))

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
            if number % 4 == 3:
                with tape.stop_recording():
                    mine.append(mine[-1] * 1.5)
                mine[-1] = mine[-1] + mine[-2]
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


class Slower(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule of the program that counts its calls."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, step: Any) -> Any:
        self.asked += 1
        return 0.01 / (1.0 + tf.cast(step, tf.float64))


class Trained:
    """Keras layers with state, a metric and two optimizers."""

    def __init__(self) -> None:
        self.dense = keras.layers.Dense(3, activation="tanh")
        self.norm = keras.layers.BatchNormalization()
        self.dropout = keras.layers.Dropout(0.4, seed=2)
        self.recurrent = keras.layers.GRU(3)
        self.optimizer = keras.optimizers.Adam(0.01, clipnorm=1.0)  # a schedule would compute in float32
        self.slower = Slower()
        self.decaying = keras.optimizers.AdamW(self.slower, weight_decay=0.01)
        self.metric = keras.metrics.Mean()
        self.loss = keras.losses.MeanSquaredError()
        self.dense.build((2, 3))
        self.norm.build((2, 3))
        self.recurrent(tf.ones([2, 2, 3], tf.float64))
        self.optimizer.build(self.dense.trainable_variables)
        self.decaying.build(self.dense.trainable_variables)

    def weights(self) -> list[Any]:
        layers = [self.dense, self.norm, self.recurrent, self.dropout]
        return [w for layer in layers for w in layer.variables] + [
            *self.optimizer.variables,
            *self.decaying.variables,
            *self.metric.variables,
        ]

    def use(self, what: str, x: Any, number: int) -> Any:
        if what == "norm":
            return self.norm(x, training=number % 2 == 0)
        if what == "dropout":
            return self.dropout(x, training=True)
        if what == "recurrent":
            return self.recurrent(tf.stack([x, x * 0.5], axis=1))
        if what == "metric":
            self.metric.update_state(x)
            return x + self.metric.result()
        if what == "rate" and number == 3:
            self.dropout.rate = 0.2
        with tf.GradientTape() as tape:
            loss = self.loss(tf.ones([2, 3], tf.float64), self.dense(x))
            if what == "look" and float(loss) > 0.1234567:
                loss = loss * 0.5
        gradients = tape.gradient(loss, self.dense.trainable_variables)
        optimizer = self.decaying if what == "decay" else self.optimizer
        optimizer.apply_gradients(zip(gradients, self.dense.trainable_variables, strict=True))
        return x + loss + 0.001 * self.slower.asked


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
        st.tuples(st.just("hold"), st.booleans()),
        st.tuples(st.just("ask"), index),
        st.tuples(st.just("store"), st.sampled_from("ab"), index),
        st.tuples(st.just("load"), st.sampled_from("ab")),
        st.tuples(st.just("replace"), index),
        st.tuples(st.just("count"), st.integers(1, 2)),
        st.sampled_from([("flag",), ("single",), ("next",), ("generator",), ("nested",)]),
        st.tuples(
            st.just("keras"),
            st.sampled_from(["train", "look", "decay", "rate", "norm", "dropout", "recurrent", "metric"]),
            index,
        ),
        st.tuples(st.just("shapes"), st.integers(1, 3)),
    )
    threshold = st.sampled_from([-1.2345678, 0.1234567, 1.2345678, 3.3456789])

    def compound(inner: Any) -> Any:
        block = st.lists(inner, min_size=1, max_size=4)
        return st.one_of(
            st.tuples(st.just("if"), threshold, block, block),
            st.tuples(st.just("sometimes"), st.integers(2, 3), block),
            st.tuples(st.just("loop"), st.integers(1, 3), block),
            st.tuples(st.just("return"), st.integers(2, 4)),
            st.tuples(st.just("finally"), st.integers(2, 4), block),
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
