"""Programs written to break the shim, from its manual: each must have the same results as eagerly.

Each takes the decorator (or an identity), and returns the values to compare. `test_against.py` runs them.
"""

from __future__ import annotations

import collections
import dataclasses
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import keras
import numpy as np
import tensorflow as tf

Decorator = Any
# ruff: noqa: N818, PLW0108, RUF005


def again(co: Decorator, function: Any, *args: Any, times: int = 4) -> list[Any]:
    decorated = co(function)
    return [decorated(*args) for _ in range(times)]


def rows() -> Any:
    return tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 60.0]])


# --- what Keras hangs on tensors, and what a graph decides by the kind of an operation


def softmax_of_tensorflow_then_a_loss_of_keras(co: Decorator) -> Any:
    weights, loss = tf.Variable([[60.0, 0, 0], [0, 0, 20.0]]), keras.losses.SparseCategoricalCrossentropy()

    def step() -> Any:
        with tf.GradientTape() as tape:
            value = loss(tf.constant([1, 2]), tf.nn.softmax(tf.ones((2, 2)) @ weights))
        return value, tape.gradient(value, weights)

    return again(co, step)


def softmax_of_a_layer_looked_at_before_the_loss(co: Decorator) -> Any:
    model = keras.Sequential([keras.layers.Dense(3, activation="softmax", kernel_initializer="ones")])
    model.build((None, 2))
    model.layers[0].kernel.assign([[60.0, 0, 0], [0, 0, 20.0]])
    loss = keras.losses.CategoricalCrossentropy()

    def step() -> Any:
        with tf.GradientTape() as tape:
            predicted = model(tf.ones((2, 2)))
            best = np.asarray(predicted).argmax(1).tolist()
            value = loss(tf.one_hot([1, 2], 3), predicted)
        return float(value), best, tape.gradient(value, model.trainable_variables)

    return again(co, step)


def sigmoid_of_a_layer_then_a_loss_that_is_not_deferred(co: Decorator) -> Any:
    dense = keras.layers.Dense(3, activation="sigmoid")
    dense.build((None, 3))
    dense.kernel.assign([[1.0, -1, 2], [0.5, 2, -1], [-2, 1, 0]])
    loss, labels = keras.losses.CategoricalCrossentropy(), tf.one_hot([0, 2], 3)

    def under_an_accumulator(x: Any) -> Any:
        predicted = dense(x)
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)):
            return loss(labels, predicted)

    def while_another_thread_runs_operations(x: Any) -> Any:
        predicted = dense(x)
        thread = threading.Thread(target=lambda: tf.ones(()) + 1.0)
        thread.start()
        thread.join()
        return float(tf.reduce_sum(x)), loss(labels, predicted)

    return again(co, under_an_accumulator, rows()) + again(co, while_another_thread_runs_operations, rows())


def sigmoid_of_the_program_s_model(co: Decorator) -> Any:
    class Model(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(1, kernel_initializer="ones")

        def call(self, x: Any) -> Any:
            return tf.sigmoid(self.dense(x))

    model, loss, optimizer = Model(), keras.losses.BinaryCrossentropy(), keras.optimizers.SGD(0.1)
    model(tf.ones((1, 2)))

    def step(scale: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(tf.zeros((3, 1)), model(tf.ones((3, 2)) * scale))
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value

    return [*again(co, step, tf.constant(30.0)), model.dense.kernel.numpy()]


def logits_hang_on_what_activations_give(co: Decorator) -> Any:
    def step(x: Any) -> Any:
        given = keras.activations.sigmoid(x), keras.ops.softmax(x), keras.activations.softmax(x), tf.nn.softmax(x)
        return [hasattr(each, "_keras_logits") for each in given], getattr(given[2], "_keras_logits", x * 0)

    return again(co, step, rows())


def predictions_returned_and_the_loss_outside(co: Decorator) -> Any:
    model = keras.Sequential([keras.layers.Dense(3, activation="softmax")])
    model.build((None, 3))
    model.layers[0].kernel.assign(np.diag([1.0, 2.0, 50.0]))
    predict, loss, found = co(lambda x: model(x)), keras.losses.SparseCategoricalCrossentropy(), []
    for _ in range(4):
        with tf.GradientTape() as tape:
            value = loss(tf.constant([0, 1]), predict(rows()))
        found += [value, tape.gradient(value, model.trainable_variables)]
    return found


def attributes_of_the_program(co: Decorator) -> Any:
    def step(x: Any) -> Any:
        y = x * 2
        y.tag, y.parent = {"a": 1}, x + 1
        total = float(tf.reduce_sum(y))
        y.once, y.twice = 1, 2
        tf.debugging.check_numerics(y, "")  # runs at once: the real tensor has the attributes now
        del y.once
        y.twice = 3
        found = [hasattr(y, "once"), y.twice, sorted(vars(y))]
        del y.twice
        try:
            del y.twice
        except AttributeError as error:
            found.append(str(error))
        return y, y + total, y.tag, [*found, hasattr(y, "twice")]

    found = []
    decorated = co(step)
    for _ in range(4):
        one, other, tag, names = decorated(tf.ones(2))
        found.append((one.tag is tag, one.parent, hasattr(other, "tag"), one, type(one.parent).__name__, names))
    return found


def the_dictionary_of_a_tensor_that_is_gone(co: Decorator) -> Any:
    def step(x: Any) -> Any:
        y = keras.activations.softmax(x * 50)
        y.note = [1]
        return vars(y).keys(), tf.reduce_sum(y)

    return [(sorted(names), total) for names, total in again(co, step, tf.ones(2))]


def a_call_that_returns_its_argument(co: Decorator) -> Any:
    def step(x: Any) -> Any:
        y = x + 1
        found = []
        for _ in range(2):
            found += [tf.convert_to_tensor(y) is y, tf.convert_to_tensor(value=y) is y, tf.cast(y, y.dtype) is y]
            found += [tf.identity(y) is y, keras.ops.convert_to_tensor(y) is y, tf.nn.dropout(y, 0.0) is y]
            float(y[0])
        return found

    return again(co, step, tf.ones(2))


def finalizers_that_run_operations(co: Decorator) -> Any:
    found, log, v = [], [], tf.Variable(1.0)

    class Box:
        def __init__(self, tensor: Any) -> None:
            self.tensor, self.me = tensor, self

        def __del__(self) -> None:
            log.append(float(tf.reduce_sum(self.tensor)))

    def step(x: Any) -> Any:
        for number in range(3):
            Box(x * v + number)  # a cycle: freed by the garbage collector, anywhere
            v.assign_add(1.0)
            x = tf.tanh(x) + 0.5
        return x, v + 0

    decorated = co(step)
    thresholds = gc.get_threshold()
    gc.set_threshold(20)
    try:
        found = [decorated(rows()) for _ in range(6)]
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    return found, sorted(log), gc.isenabled()


def finalizers_of_attributes(co: Decorator) -> Any:
    log, v = [], tf.Variable(1.0)

    class Box:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __del__(self) -> None:
            log.append(float(tf.reduce_sum(self.tensor)))
            v.assign_add(1.0)

    def step(x: Any, look: bool) -> Any:
        y = x * v
        y.box = Box(x + v)
        z = tf.tanh(y)
        if look:
            float(z[0, 0])
        return z * v, v + 0

    decorated = co(step)
    return [(decorated(rows(), number % 2 == 1), list(log), float(v)) for number in range(6)]


# --- variables


def indices_that_vary(co: Decorator) -> Any:
    """Every kind of index with varying numbers, in and out of range, and uses of the slices."""
    variable = tf.Variable(tf.reshape(tf.sin(tf.range(60.0)), (5, 4, 3)))

    def step(x: Any, a: int, b: int, c: int, size: int) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = [x[a], x[a, b], x[:, b], x[..., c], x[-1 - a], x[a:], x[: b + 1], x[a : a + size], x[::2, b:]]
            found += [x[np.int64(a)], variable[a], variable[a:, b], x[a][b][c], x[0, a : a + 2, :], x[:, tf.newaxis, b]]
            total = tf.add_n([tf.reduce_sum(tf.sin(each)) for each in found])
        gradients = tape.gradient(total, [x, variable])
        variable[a].assign(variable[a] * 0.9)
        part = variable[a, b]
        part.assign(part + gradients[0][a, b, c])
        last: list[Any] = []
        for outside in (lambda: x[2 * a], lambda: x[a :: a - 2], lambda: x[a:b:0], lambda: x[::-1, b]):
            try:
                last.append(outside())
            except (tf.errors.InvalidArgumentError, IndexError) as error:
                last.append((type(error).__name__, str(error)))
        row = tf.gather(x, (tf.range(5) * 2)[a // 2])
        return found, [each.shape.as_list() for each in found], gradients, last, x[a:a], row, variable + 0

    decorated, x = co(step), tf.reshape(tf.cos(tf.range(60.0)), (5, 4, 3))
    return [
        decorated(x * (1.0 + k), k * 3 % 4, k * 5 % 4, k % 3, 1 + k // 4 % 2)
        for k in (0, 1, 2, 3, 4, 8, 5, 6, 7, 10, 11, 3, 3, 2, 1, 0)
    ]


def slices_at_varying_places_are_assigned_to(co: Decorator) -> Any:
    """A buffer that is filled in turns: assigned values (numbers, arrays, tensors), positions, shapes, and errors."""
    matrix, row = tf.Variable(tf.reshape(tf.sin(tf.range(20.0)), (4, 5))), keras.Variable(tf.zeros(4))
    counts, seen = tf.Variable([[0, 0], [0, 0], [0, 0]]), []

    def step(x: Any, i: int, j: int) -> Any:
        before = matrix[i] * 2.0
        returned = matrix[i, j].assign(tf.reduce_sum(before))
        matrix[:, j].assign(matrix[:, j - 1] + 1.0)
        matrix[i : i + 1, ::2].assign(x[None, :3])
        matrix[-1, ..., j // 2 : j // 2 + 2].assign(np.full(2, i + 0.5, np.float32))
        row[i].assign(0.25 * i)
        row[i - 1].assign(tf.reduce_max(row) + matrix[i, 0])
        counts[i % 3].assign([i, j])
        counts[j % 3, i % 2].assign(np.int64(j))
        data = np.arange(5, dtype=np.float32) * i
        matrix[i % 2].assign(data)
        data[:] = -1.0  # that is how the program uses it afterwards
        try:
            matrix[i].assign(x[: i + 2])  # valid if i is 3
        except (tf.errors.InvalidArgumentError, ValueError) as error:
            seen.append(type(error).__name__)
        try:
            matrix[i + j].assign(x)
        except (tf.errors.InvalidArgumentError, IndexError, ValueError) as error:
            seen.append(type(error).__name__)
        try:
            counts[i % 3, 0].assign(0.5)
        except TypeError as error:
            seen.append(str(error)[:30])
        with tf.GradientTape() as tape:
            tape.watch(x)
            matrix[j % 4].assign(x * 2.0)
            total = tf.reduce_sum(matrix[j % 4] * matrix[i]) + row[i]
        gradients = tape.gradient(total, [matrix, x, row.value])
        return before, returned + 0.0, total, gradients, matrix + 0.0, row + 0.0, counts + 0, list(seen)

    decorated = co(step)
    return [decorated(tf.cos(tf.range(5.0) + number), number * 3 % 4, number * 2 % 5) for number in range(24)]


def slices_of_variables_are_assigned_to(co: Decorator) -> Any:
    matrix, row, weight = tf.Variable(tf.zeros((3, 3))), keras.Variable(tf.zeros(4)), tf.Variable(2.0)

    def step(x: Any, position: int) -> Any:
        matrix[0].assign(x)
        matrix[1, 1:].assign(x[1:])
        with tf.GradientTape() as tape:
            row[position].assign(weight * 3.0)
            matrix[:, 0].assign(x * weight)
            y = tf.reduce_sum(row * weight)
        return matrix + 0, y, tape.gradient(y, weight), row.numpy()

    decorated = co(step)
    return [decorated(tf.constant([1.0, 2.0, 3.0]), number % 4) for number in range(8)]


def a_lock_orders_two_threads(co: Decorator) -> Any:
    variable, lock, found = tf.Variable(0.0), threading.Lock(), []

    def write() -> Any:
        with lock:
            variable.assign_add(1.0)
        box.append(1)  # invisible to the shim
        while len(box) < 2:
            pass
        return variable + 0

    def look() -> Any:
        with lock:
            return float(variable)

    writer, reader = co(write), co(look)
    for _ in range(4):
        box: list[int] = []
        thread = threading.Thread(target=writer)
        thread.start()
        while not box:
            pass
        found.append(reader())
        box.append(2)
        thread.join()
    return found


def a_deferred_tensor_on_another_thread(co: Decorator) -> Any:
    pool = ThreadPoolExecutor(1)
    pool.submit(int).result()

    def step(x: Any) -> Any:
        y = x * 2
        return y + 1, pool.submit(lambda: float(tf.reduce_sum(y))).result(), pool.submit(y.numpy).result()

    return again(co, step, tf.ones(3))


# --- other ways of recording


def accumulators_around_and_inside(co: Decorator) -> Any:
    variable = tf.Variable([1.0, 2.0])

    def cube() -> Any:
        return tf.reduce_sum(variable**3)

    def product() -> Any:
        with tf.autodiff.ForwardAccumulator(variable, tf.constant([1.0, 0.0])) as accumulator:
            with tf.GradientTape() as tape:
                y = inner()
            gradient = tape.gradient(y, variable)
        return accumulator.jvp(gradient)

    inner = co(cube)
    found = [product() for _ in range(4)]
    inner = cube
    return found + again(co, product)


def blocks_with_devices(co: Decorator) -> Any:
    other = tf.config.list_logical_devices("CPU")[-1].name

    def step(x: Any) -> Any:
        with tf.device(other):
            y = x * 2
            z = tf.ones(2)
        with tf.device("CPU:0"):
            return y.device, z.device, (y + z).device, y

    return again(co, step, tf.ones(2))


# --- containers and exceptions


def containers_are_the_program_s_own(co: Decorator) -> Any:
    @dataclasses.dataclass
    class Both:
        one: Any
        other: Any

    class Many(list[Any]):
        pass

    Pair = collections.namedtuple("Pair", "x y")
    kept: list[Any] = []
    shared = [1]

    def step(x: Any) -> Any:
        ring: list[Any] = [x * 2]
        ring.append(ring)
        many = Many([x + 1, x + 2])
        kept.append(many)
        both = shared, x * 1
        ordered = collections.OrderedDict(a=x - 1, b=collections.defaultdict(list, {1: [x - 1]}))
        return ring, many, Pair(x, x * 3), Both(both, shared), ordered, both, both, x

    decorated, found, given = co(step), [], tf.ones(2)
    for _ in range(4):
        ring, many, pair, record, ordered, one, other, same = decorated(given)
        found.append(
            (ring[1] is ring, ring[0], kept[-1] is many, type(many) is Many, many[1], pair.y, pair.x is given)
            + (record.other is shared, one is other, one[0] is shared, type(ordered).__name__, ordered["b"]["none"])
            + (ordered["a"], same is given, type(ring[0]).__name__)
        )
    return found


def exceptions_carry_tensors(co: Decorator) -> Any:
    class Stop(Exception):
        pass

    def step(x: Any) -> Any:
        stop = Stop(x * 2)
        stop.extra = x + 1  # type: ignore[attr-defined]
        raise stop

    decorated, found = co(step), []
    for _ in range(4):
        try:
            decorated(tf.ones(2))
        except Stop as stop:
            found.append((stop.args[0], stop.extra, type(stop.extra).__name__))  # type: ignore[attr-defined]
    return found


# --- code of the program inside Keras


def a_method_is_put_into_a_class_of_keras(co: Decorator) -> Any:
    dense, optimizer, variable = (
        keras.layers.Dense(2, kernel_initializer="ones"),
        keras.optimizers.SGD(0.1),
        tf.Variable(1.0),
    )
    dense.build((None, 3))
    optimizer.build([variable])
    called: list[str] = []
    layer_call, update_step = keras.layers.Dense.call, keras.optimizers.SGD.update_step

    def call(self: Any, x: Any, **kwargs: Any) -> Any:
        called.append("call")
        return layer_call(self, x, **kwargs) * 10

    def update(self: Any, gradient: Any, variable: Any, rate: Any) -> None:
        called.append("update")
        update_step(self, gradient * 2, variable, rate)

    def step(x: Any, patch_here: bool) -> Any:
        before = dense(x)
        if patch_here:
            keras.layers.Dense.call = call
        after = dense(x)
        optimizer.apply_gradients([(tf.constant(1.0), variable)])
        return before, after, variable + 0

    decorated, found = co(step), []
    try:
        for number in range(9):
            if number == 3:
                keras.layers.Dense.call, keras.optimizers.SGD.update_step = call, update
            if number == 6:
                keras.layers.Dense.call, keras.optimizers.SGD.update_step = layer_call, update_step
            found.append(decorated(rows(), number == 7))
    finally:
        keras.layers.Dense.call, keras.optimizers.SGD.update_step = layer_call, update_step
    return found, called


def an_operation_of_the_program_in_a_functional_model(co: Decorator) -> Any:
    called: list[int] = []
    scale = {"value": 1.0}

    class Scale(keras.Operation):  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            called.append(1)
            return x * scale["value"]

        def compute_output_spec(self, x: Any) -> Any:
            return keras.KerasTensor(x.shape, x.dtype)

    entry = keras.Input((3,))
    model = keras.Model(entry, Scale()(entry))
    called.clear()

    def step(x: Any, value: float) -> Any:
        scale["value"] = value
        return model(x)

    decorated = co(step)
    return [decorated(rows(), float(number)) for number in range(5)], len(called)


# --- numbers


def rewrites_that_are_not_exact(co: Decorator) -> Any:
    tiny = tf.constant([1e-9, 1e-7, 1e-3, -0.0, 3.0, -np.inf, np.inf])

    def step(x: Any) -> Any:
        wide = tf.cast(x, tf.float64)
        return (
            (tf.exp(x) - 1.0, tf.math.log(1.0 + x), (x + 12582912.0) - 12582912.0, x**0.5, x**-0.5)
            + ((wide + 1.0) - 1.0, (wide * 1e300) * 1e300 * 1e-300, tf.math.log(tf.exp(wide) + 1.0))
            + ((x / 3.0) / 7.0, x * 2.0 + x * -1.0, 1.0 / (1.0 / x), x * 1e30 * 1e9 + x * -1e30 * 1e9)
        )

    return again(co, step, tiny)


def matrices_and_transforms(co: Decorator) -> Any:
    matrix = tf.constant([[4.0, 1.0], [1.0, 3.0]])

    def step(x: Any) -> Any:
        frequencies = tf.signal.rfft(tf.concat([x, x], 1))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.linalg.det(x)
        return (
            tape.gradient(y, x),
            tf.linalg.cholesky(x),
            tf.linalg.qr(x),
            frequencies,
            tf.linalg.svd(x, compute_uv=False),
        )

    return again(co, step, matrix)


def an_integer_that_varies_and_is_looked_at_below_the_api(co: Decorator) -> Any:
    decorated = co(
        lambda number: (tf.as_string(tf.range(3) + number), tf.strings.join([["a"], tf.as_string([number])]))
    )
    return [[value.numpy() for value in decorated(number)] for number in range(7)]


def training_whose_updates_depend_on_no_other_layer(co: Decorator) -> Any:
    """The first layer's update does not depend on reads of its own variables: only a control dependency orders the two."""

    def train() -> Any:
        model = keras.Sequential([keras.layers.Dense(3, kernel_initializer="ones") for _ in range(3)])
        optimizer, x = keras.optimizers.Adam(0.1), tf.constant([[1.0, 2, 3], [4, 5, 6]])

        def step() -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        return again(co, step, times=5), model.get_weights()

    return [train() for _ in range(6)]


def a_variable_is_an_operand_right_after_the_call(co: Decorator) -> Any:
    variable, large = tf.Variable([1.0, 2.0]), tf.ones((600, 600))

    def step() -> None:
        x = large
        for _ in range(4):
            x = tf.tanh(x @ large)
        variable.assign_add(x[0, :2])

    decorated, found = co(step), []
    for _ in range(5):
        decorated()
        found.append(tf.reduce_sum(variable))  # TensorFlow reads the variable inside the operation
        decorated()
        found.append(tf.stack([variable, variable]))
    return found


def what_a_tensor_says_of_its_type(co: Decorator) -> Any:
    def step() -> Any:
        x = rows() * 2.0
        found = [type(x).__name__, type(x).__module__, x.ref().deref() is x, {x.ref(): 1}[x.ref()]]
        for wrong in (lambda: setattr(x, "shape", 1), lambda: x.reshape(3), lambda: x.foo, lambda: hash(x)):
            try:
                wrong()
            except Exception as error:
                found.append(str(error))
        return found

    return again(co, step)


def slower_than_eager_execution(co: Decorator) -> Any:
    variable = tf.Variable(0.0)

    def step(size: int) -> Any:
        variable.assign_add(1.0)
        return variable * tf.reduce_sum(tf.ones((size, 2)))

    decorated = co(step)
    return [decorated(number % 70 + 1) for number in range(160)]


def a_tensor_stays_itself_when_nothing_is_deferred_any_more(co: Decorator) -> Any:
    pool = ThreadPoolExecutor(1)
    pool.submit(int).result()
    variable = tf.Variable(tf.ones((2, 3)))

    def step(number: int) -> Any:
        x = tf.tanh(rows() * number)
        if number % 3:
            pool.submit(variable.assign_add, rows()).result()
        found = [tf.convert_to_tensor(x) is x, keras.ops.convert_to_tensor(x) is x, tf.cast(x, x.dtype) is x]
        y = x + variable
        return [*found, tf.convert_to_tensor(y) is y, y]

    decorated = co(step)
    found = [decorated(number) for number in range(12)]
    pool.shutdown()
    return found
