"""Everything that ends deferral, combined with everything that may be deferred before it and used after it.

Each of `USES` is a generator of two parts: before the interruption something is deferred, after it that is used; the
values yielded by the second part are compared. Each of `INTERRUPTIONS` is a context manager in which all second parts
run. `program` builds a step of one interruption and all uses. `python -m tests.runtime.interruptions` also compares
each use by itself.
"""

from __future__ import annotations

import _thread
import contextlib
import functools
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import keras
import numpy as np
import tensorflow as tf

Decorator = Any
Use = Callable[[Any, Any], Iterator[Any]]
USES: dict[str, Use] = {}
INTERRUPTIONS: dict[str, Callable[[Any], Any]] = {}


class Objects:
    """Objects that a program has created before its step, not shared with another program."""

    def __init__(self) -> None:
        normal = keras.initializers.RandomNormal
        self.sigmoid = keras.layers.Dense(3, activation="sigmoid", kernel_initializer=normal(seed=1))
        self.softmax = keras.layers.Dense(3, activation="softmax")
        for layer in (self.sigmoid, self.softmax):
            layer.build((None, 3))
        self.sigmoid.kernel.assign(self.sigmoid.kernel * 40)
        self.softmax.kernel.assign([[9.0, -20, 3], [1, 2, 30], [-7, 5, 2]])
        self.embedding = keras.layers.Embedding(5, 3, mask_zero=True, embeddings_initializer=normal(seed=2))
        self.embedding.build((None,))
        self.recurrent = keras.layers.SimpleRNN(3, kernel_initializer=normal(seed=3), recurrent_initializer="ones")
        self.recurrent.build((None, None, 3))
        self.losses = [keras.losses.CategoricalCrossentropy(), keras.losses.BinaryCrossentropy()]
        self.sparse = keras.losses.SparseCategoricalCrossentropy()
        self.variable = tf.Variable([[1.0, 2, 3], [4, 5, 6]])
        self.other = tf.Variable(tf.eye(3) * 0.5 + 0.1)
        self.function = tf.function(lambda x, y: tf.tanh(x) * y, autograph=False)
        self.optimizer = keras.optimizers.Adam(0.05)
        self.optimizer.build(self.sigmoid.trainable_variables)
        self.pool = ThreadPoolExecutor(1)
        self.pool.submit(int).result()
        self.labels = tf.one_hot([0, 2], 3)

    def state(self) -> Any:
        return [self.variable, self.other, self.sigmoid.kernel.value, self.optimizer.iterations.value]


def _use(function: Use) -> Use:
    USES[function.__name__] = function
    return function


def _interruption(function: Callable[[Any], Any]) -> Any:
    INTERRUPTIONS[function.__name__] = contextlib.contextmanager(function)
    return function


# --- what ends deferral, or does not


@_interruption
def nothing(x: Any) -> Iterator[None]:
    yield


@_interruption
def a_value(x: Any) -> Iterator[None]:
    float(tf.reduce_sum(x))
    yield


@_interruption
def an_accumulator(x: Any) -> Iterator[None]:
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)):
        yield


@_interruption
def a_thread(x: Any) -> Iterator[None]:
    thread = threading.Thread(target=lambda: tf.ones(()) + 1.0)
    thread.start()
    thread.join()
    tf.reduce_sum(x)
    yield


@_interruption
def a_thread_without_a_hook(x: Any) -> Iterator[None]:
    done: list[Any] = []
    _thread.start_new_thread(lambda: done.append(tf.ones(()) + 1.0), ())
    while not done:
        time.sleep(0.001)
    tf.reduce_sum(x)
    yield


@_interruption
def a_device(x: Any) -> Iterator[None]:
    with tf.device(tf.config.list_logical_devices("CPU")[-1].name):
        yield


@_interruption
def a_persistent_tape(x: Any) -> Iterator[None]:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        float(tf.reduce_sum(x))
        yield


@_interruption
def two_tapes(x: Any) -> Iterator[None]:
    with tf.GradientTape() as tape, tf.GradientTape():
        tape.watch(x)
        float(tf.reduce_sum(x))
        yield


@_interruption
def an_open_tape(x: Any) -> Iterator[None]:
    with tf.GradientTape() as tape:
        tape.watch(x)
        float(tf.reduce_sum(x))
        yield


@_interruption
def no_recording(x: Any) -> Iterator[None]:
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            yield


@_interruption
def a_shape_that_depends_on_data(x: Any) -> Iterator[None]:
    tf.boolean_mask(x, x > 0)
    yield


@_interruption
def functions_run_eagerly(x: Any) -> Iterator[None]:
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


@_interruption
def scopes(x: Any) -> Iterator[None]:
    with tf.init_scope(), tf.name_scope("named"):
        yield


@_interruption
def a_setting_of_keras(x: Any) -> Iterator[None]:
    before = keras.config.epsilon()
    keras.config.set_epsilon(1e-6)
    try:
        yield
    finally:
        keras.config.set_epsilon(before)


@_interruption
def an_error(x: Any) -> Iterator[None]:
    with contextlib.suppress(tf.errors.InvalidArgumentError):
        tf.debugging.assert_less(x, -1e9)
    yield


@_interruption
def a_new_variable(x: Any) -> Iterator[None]:
    tf.Variable(x).assign_add(x)
    yield


# --- what is deferred, and used later


@_use
def loss_of_a_sigmoid(o: Objects, x: Any) -> Iterator[Any]:
    predicted = o.sigmoid(x)
    yield
    yield [loss(o.labels, predicted) for loss in o.losses]


@_use
def loss_of_a_softmax(o: Objects, x: Any) -> Iterator[Any]:
    predicted = o.softmax(x)
    yield
    yield o.sparse(tf.constant([0, 2]), predicted), keras.losses.kl_divergence(o.labels, predicted)


@_use
def loss_of_an_operation_of_keras(o: Objects, x: Any) -> Iterator[Any]:
    predicted = keras.ops.softmax(x * 20)
    yield
    entropy = keras.ops.categorical_crossentropy(o.labels, predicted)
    yield o.losses[0](o.labels, predicted), entropy, hasattr(predicted, "_keras_logits")


@_use
def loss_of_an_operation_of_tensorflow(o: Objects, x: Any) -> Iterator[Any]:
    predicted = tf.nn.softmax(x * 20)
    yield
    yield o.losses[0](o.labels, predicted), hasattr(predicted, "_keras_logits")


@_use
def mask(o: Objects, x: Any) -> Iterator[Any]:
    embedded = o.embedding(tf.constant([[1, 2, 0], [3, 0, 0]]))
    yield
    yield o.recurrent(embedded), embedded._keras_mask


@_use
def attribute_of_the_program(o: Objects, x: Any) -> Iterator[Any]:
    y: Any = tf.tanh(x)
    y.mine = y * 2
    yield
    yield y.mine, tf.convert_to_tensor(y).mine, tf.nest.map_structure(lambda each: each.mine, [y])


@_use
def slice_of_a_variable(o: Objects, x: Any) -> Iterator[Any]:
    first, last = o.variable[0], o.variable[:, 1:]
    yield
    first.assign([7.0, 8, 9])
    yield last.assign(last * 2) + 0, o.variable + 0, first


@_use
def into_a_variable(o: Objects, x: Any) -> Iterator[Any]:
    y = tf.sin(x)
    yield
    o.variable.assign(y)
    yield tf.Variable(y) + 0, o.variable + 0


@_use
def into_a_function(o: Objects, x: Any) -> Iterator[Any]:
    y = tf.sin(x)
    z = o.variable * y
    yield
    yield o.function(y, z), o.function(z, 2.0)


@_use
def captured_by_a_function(o: Objects, x: Any) -> Iterator[Any]:
    y = tf.sin(x)
    yield
    yield tf.function(lambda z: z * y + o.variable, autograph=False)(x)


@_use
def into_numpy(o: Objects, x: Any) -> Iterator[Any]:
    y = tf.sin(x)
    yield
    yield np.sum(y), np.stack([y, y]), y.numpy().tolist(), np.float32(2) * y


@_use
def into_control_flow(o: Objects, x: Any) -> Iterator[Any]:
    y = tf.sin(x)
    yield
    branch = tf.cond(tf.reduce_sum(y) > 0, lambda: y * 2, lambda: y * 3)
    loop = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z + y), (0, y))
    yield branch, loop, tf.map_fn(lambda row: row * y[0], y)


@_use
def into_an_array(o: Objects, x: Any) -> Iterator[Any]:
    y = tf.sin(x)
    array = tf.TensorArray(tf.float32, 2).write(0, y)
    yield
    yield array.write(1, y * 2).stack(), tf.RaggedTensor.from_row_lengths(y, [1, 1]).to_tensor()


@_use
def gradient_of_a_tape_that_was_left(o: Objects, x: Any) -> Iterator[Any]:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(o.sigmoid(x) ** 2)
    yield
    gradients = tape.gradient(loss, o.sigmoid.trainable_variables)
    o.optimizer.apply_gradients(zip(gradients, o.sigmoid.trainable_variables, strict=True))
    yield gradients, o.sigmoid.kernel + 0


@_use
def slices_of_a_gradient(o: Objects, x: Any) -> Iterator[Any]:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(o.variable, [0, 0]) * x)
    gradient = tape.gradient(loss, o.variable)
    yield
    o.variable.scatter_sub(tf.IndexedSlices(gradient.values * 0.1, gradient.indices))
    yield gradient.values, gradient.indices, o.variable + 0, tf.convert_to_tensor(gradient)


@_use
def random_numbers(o: Objects, x: Any) -> Iterator[Any]:
    y = tf.random.normal((2, 3))
    yield
    yield y, tf.random.uniform((2,)), keras.random.normal((2,)), y + tf.random.stateless_normal((2, 3), [1, 2])


@_use
def assignments(o: Objects, x: Any) -> Iterator[Any]:
    o.variable.assign_add(x)
    o.other.assign(o.other * 2)
    yield
    yield o.variable + 0, o.other.numpy(), o.other.read_value()


@_use
def into_python_functions(o: Objects, x: Any) -> Iterator[Any]:
    y = tf.sin(x)
    yield
    own = tf.py_function(lambda z: z * 2 + o.variable, [y], tf.float32)
    yield own, tf.numpy_function(np.cos, [y], tf.float32)


@_use
def strings(o: Objects, x: Any) -> Iterator[Any]:
    text = tf.as_string(tf.round(x))
    yield
    yield tf.strings.join([text, text]), f"{tf.sin(x)[0, 0]:.3f}", str(text[0, 0].numpy())


@_use
def on_another_thread(o: Objects, x: Any) -> Iterator[Any]:
    y = tf.sin(x)
    o.variable.assign(y)
    yield
    yield o.pool.submit(lambda: y * 2 + o.variable).result(), o.variable + 0


@_use
def into_a_dataset(o: Objects, x: Any) -> Iterator[Any]:
    y = tf.sin(x)
    yield
    yield list(tf.data.Dataset.from_tensor_slices(y).map(lambda row: row * 2)), list(y)


@_use
def custom_gradient(o: Objects, x: Any) -> Iterator[Any]:
    @tf.custom_gradient
    def square(z: Any) -> Any:
        return z * z, lambda upstream: upstream * 3 * z

    y = tf.sin(x)
    yield
    with tf.GradientTape() as tape:
        tape.watch(y)
        z = square(y)
    yield z, tape.gradient(z, y)


@_use
def linear_algebra(o: Objects, x: Any) -> Iterator[Any]:
    matrix = tf.matmul(x, x, transpose_b=True) + tf.eye(2) * 3
    factor = tf.linalg.cholesky(matrix)
    yield
    yield factor, tf.linalg.solve(matrix, x), tf.linalg.eigh(matrix)[0], tf.linalg.det(factor)


def program(co: Decorator, interruption: str, names: Sequence[str] = tuple(USES), calls: int = 5) -> Any:
    """The results of the calls of a step, and the variables afterwards."""
    keras.utils.set_random_seed(5)
    objects = Objects()

    def step(x: Any) -> Any:
        uses = [USES[name](objects, x + 0.0) for name in names]
        for use in uses:
            next(use)
        with INTERRUPTIONS[interruption](x * 1.0):
            return [next(use) for use in uses]

    decorated = co(step)
    found = [decorated(tf.constant([[1.0, -2, 0.5], [0.3, 0.2, 2.0]]) * (1 + number % 2)) for number in range(calls)]
    objects.pool.shutdown()
    return found, objects.state()


def main() -> int:
    """Compares each use by itself under each interruption, with and without room for new paths."""
    from terra_refactor.runtime import co_execute  # noqa: PLC0415
    from tests.runtime.test_against import plain  # noqa: PLC0415

    different = 0
    for interruption, name in itertools.product(INTERRUPTIONS, USES):
        eager = plain(program(lambda function: function, interruption, [name]))
        for paths in (256, 1):
            co = functools.partial(co_execute, measure=False, max_paths=paths)
            if plain(program(co, interruption, [name])) != eager:
                different += 1
                print(f"{interruption}, {name}, max_paths={paths}", flush=True)
    print(f"{2 * len(INTERRUPTIONS) * len(USES)} programs: {different} different")
    return different


if __name__ == "__main__":
    sys.exit(bool(main()))
