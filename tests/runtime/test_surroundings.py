"""The surroundings of operations: settings, masks, options of objects, variables without a fixed shape, Python on tensors."""

from __future__ import annotations

import copy
import importlib.util
import math
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402

from terra_refactor.runtime import api_hooks, co_execute, disable, enable  # noqa: E402
from terra_refactor.runtime.state import thread  # noqa: E402
from terra_refactor.runtime.tf_internals import pywrap_tfe  # noqa: E402

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow, pytest.mark.kept]


@pytest.fixture(autouse=True)
def no_lock_is_left() -> Iterator[None]:
    """Otherwise another thread would wait for it without end."""
    yield
    assert not api_hooks.switching._is_owned()  # type: ignore[attr-defined]


def ones(*shape: int) -> Any:
    return tf.ones(shape or (2, 3), tf.float64)


@pytest.fixture(autouse=True)
def float64() -> Any:
    # Keras keeps the policy that it made of the setting when it was first asked
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_floatx("float32")
    keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize("shape", [None, [None]])
def test_a_variable_whose_shape_may_change(same: Any, shape: Any) -> None:
    def build() -> Any:
        v = tf.Variable(ones(2), shape=tf.TensorShape(shape))
        log: list[Any] = []

        def step(number: int) -> Any:
            y = v * 3.0
            log.append(y.shape.as_list())
            v.assign(ones(number % 4 + 1) * 2.0)
            try:
                v.assign_add(ones(2))
                log.append("added")
            except tf.errors.InvalidArgumentError:
                log.append("another shape")
            return y, tf.shape(v), tf.size(v)

        return step, lambda: [v, log]

    same(build, calls=12)


def test_an_axis_and_a_range_that_are_tensors(same: Any) -> None:
    def build() -> Any:
        axes = [tf.constant(0), tf.constant(1)]
        log: list[Any] = []

        def step(number: int) -> Any:
            y = tf.concat([ones(), ones() * 2.0], axis=axes[number % 2])
            log.append(y.shape.as_list())
            try:
                drawn = tf.random.stateless_uniform([3], [1, 2], 0, tf.constant([3, 0, 5][number % 3]) + 0, tf.int32)
            except tf.errors.InvalidArgumentError:
                return y * 2.0
            return y * 2.0, drawn

        return step, lambda: [log]

    same(build, calls=12)


def test_masks_of_keras_in_lists_keywords_and_losses(same: Any) -> None:
    def build() -> Any:
        embed = keras.layers.Embedding(10, 4, mask_zero=True)
        add, join, recurrent = keras.layers.Add(), keras.layers.Concatenate(), keras.layers.LSTM(3)
        dense, attention = keras.layers.Dense(1), keras.layers.MultiHeadAttention(2, 3)
        one, other = tf.constant([[1, 2, 0], [3, 0, 0]]), tf.constant([[1, 0, 0], [3, 4, 5]])
        recurrent(add([embed(one), embed(other)]))
        attention(query=embed(one), value=dense(embed(other)) * ones(2, 3, 4))
        loss = keras.losses.MeanSquaredError()

        def step(number: int) -> Any:
            a, b = embed(one), embed(other)
            both, joined = add([a, b]), join([a, b])
            masks = [
                tf.cast(mask, tf.int32)
                for t in (a, both, joined)
                if (mask := getattr(t, "_keras_mask", None)) is not None
            ]
            predicted = dense(a)
            return recurrent(both), masks, loss(ones(2, 3, 1), predicted), attention(query=a, value=b), recurrent(a + b)

        return step, list

    same(build)


def test_settings_of_keras_belong_to_the_path(same: Any) -> None:
    def build() -> Any:
        def step(number: int) -> Any:
            before = keras.ops.zeros([2]) + 1
            keras.config.set_floatx("float32" if number % 2 else "float64")
            keras.config.set_epsilon(1e-3 if number % 3 else 1e-2)
            zeros = keras.ops.zeros([2]) + 1
            loss = keras.losses.BinaryCrossentropy()(tf.constant([[0.0], [1.0]]), tf.constant([[0.0], [1.0]]))
            keras.config.set_floatx("float64")
            keras.config.set_epsilon(1e-7)
            return before, zeros, loss, str(zeros.dtype)

        return step, list

    same(build, calls=12)


def test_options_of_losses_and_schedules_belong_to_the_path(same: Any) -> None:
    def build() -> Any:
        squared, cross = keras.losses.MeanSquaredError(), keras.losses.CategoricalCrossentropy()
        schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
        v = keras.Variable(np.ones([2, 3]))
        optimizer = keras.optimizers.SGD(schedule)
        optimizer.build([v])

        def step(number: int) -> Any:
            if number == 4:
                squared.reduction = "sum"
            if number == 5:
                cross._fn_kwargs["label_smoothing"] = 0.3
            if number == 6:
                schedule.decay_rate = 0.9
            optimizer.apply([v * 1.0], [v])
            return squared(ones() * 2.0, ones()), cross(tf.constant([[0.0, 1.0]]), tf.constant([[0.3, 0.7]]))

        return step, lambda: [v.numpy()]

    same(build, calls=10)


def test_what_is_deferred_is_called_as_it_was_before_a_change(same: Any) -> None:
    def build() -> Any:
        dropout = keras.layers.Dropout(0.4, seed=2)
        loss = keras.losses.MeanSquaredError()
        prints: list[int] = []

        @tf.function
        def inner(x: Any) -> Any:
            prints.append(len(prints))
            return x * 2.0

        def step(number: int) -> Any:
            x = dropout(ones(4, 5), training=True)
            y = loss(ones() * 2.0, ones()) + tf.reduce_sum(inner(x))
            dropout.rate = 0.1 * (number % 5)
            loss.reduction = "sum" if number % 3 else "sum_over_batch_size"
            tf.config.run_functions_eagerly(number % 4 == 2)
            z = inner(x)
            tf.config.run_functions_eagerly(False)
            return x, y, z, dropout(x, training=True)

        return step, lambda: [prints]

    same(build, calls=12)


def test_graph_functions_that_are_run_eagerly_for_a_while(same: Any) -> None:
    def build() -> Any:
        traced: list[int] = []

        @tf.function
        def inner(x: Any) -> Any:
            traced.append(len(traced))
            return x * 2.0

        def step(number: int) -> Any:
            tf.config.run_functions_eagerly(number > 3)
            try:
                return inner(ones()) + 1.0
            finally:
                tf.config.run_functions_eagerly(False)

        return step, lambda: [traced]

    same(build)


def test_numbers_are_checked_while_that_is_switched_on(same: Any) -> None:
    def build() -> Any:
        log: list[str] = []

        def step(number: int) -> Any:
            x = tf.constant([1.0, 0.0, float("nan")][number % 3], tf.float64)
            if number > 4:
                tf.debugging.enable_check_numerics()
            try:
                y = tf.math.log(x) * 2.0
                log.append("fine")
            except tf.errors.InvalidArgumentError:
                log.append("not a number")
                y = ones()
            finally:
                tf.debugging.disable_check_numerics()
            return y

        return step, lambda: [log]

    same(build, calls=10)


def test_comparisons_with_nan(same: Any) -> None:
    def build() -> Any:
        def step(number: int) -> Any:
            x = tf.constant([1.0, float("nan"), float("inf"), -0.0], tf.float64) + float(number % 2)
            z = tf.zeros_like(x)
            inverted = [tf.logical_not(x <= 1.0), tf.logical_not(x > 1.0), ~(x < z), ~(x >= z)]
            return inverted, x * z, z / x, x - x, x / x, tf.maximum(x, z), tf.reduce_max(x), tf.nn.relu(x), tf.argmax(x)

        return step, list

    same(build)


def test_an_identity_of_tensorflow_s_own_modules(same: Any) -> None:
    from tensorflow.python.ops import array_ops  # noqa: PLC0415  (what tf.summary.write calls)

    def build() -> Any:
        v = tf.Variable(ones())

        def step(number: int) -> Any:
            x = tf.sin(v) * 2.0
            v.assign(array_ops.identity(x))
            return array_ops.identity(x) + 1.0

        return step, lambda: [v]

    same(build)


# Python's and NumPy's own ways with a tensor `x` and a number `n`.
EXPRESSIONS = """
np.asarray(x)|np.asarray(x, np.float32)|np.array([x, x])|np.add(x, 1)|np.mean([x, x + 1])|np.stack([x, x])|np.float64(2) * x
np.float32(1) + x|x + np.float64(1)|x * np.int64(2)|np.ones(2) * x|keras.ops.convert_to_numpy(x)|x.numpy().item()
f'{x:.2f} {x}'|repr(x)|str(x)|'%d' % (tf.constant(3) * n)|bool(x > 1)|not x|x in [1.0]|1.0 in [x]|float(x)|complex(x)|round(float(x))
max([x, x - 1])|sorted([x, x - 1])|math.sqrt(x)|math.floor(x)|sum([x, x])|abs(x)|-x|x ** 2|2 ** x|x // 1|divmod(x, 2.0)|round(x)
range(5)[tf.constant(n % 5)]|[1, 2, 3][:tf.constant(1) + n % 2]|[float(y) for y in tf.range(3.0) * n]|len(tf.zeros([n % 3 + 1]))
x == x|x != None|x == 'a'|x + 'a'|x + 1j|x + None|x @ x|hash(x)|x.ref() == x.ref()|x + tf.constant(1.0)|x * True|[2.0] * x
x.name|x.op|x.graph|x.foo|x.eval()|x.T|x.consumers()|x.device[-5:]|x.shape == ()|x.dtype.name|x.ndim|x.get_shape().rank
isinstance(x, tf.Tensor)|tf.is_tensor(x)|tf.get_static_value(x)|copy.copy(x)|copy.deepcopy([x])|len(x)|iter(x)|x[0]|list(x)
tf.nest.map_structure(lambda y: y * 2, [x])|tf.constant([x, 2.0])|tf.stack([x, 2.0])|tf.ensure_shape(x, [3])|tf.cast(x, int)
tf.zeros([tf.cast(x * 0 + 2, tf.int32), 3]) * x|tf.ones(tf.shape(tf.ones([2, n % 3 + 1])))|tf.range(tf.constant(n % 4))
tf.gather(tf.range(5.0), [0, n])|tf.gather(tf.range(5.0), tf.constant([0, n]))|tf.gather_nd(tf.eye(2), [[0, n % 3]])
tf.scatter_nd([[0], [n]], [1.0, 2.0], [4])|tf.slice(tf.range(5.0), [n % 4], [2])|tf.split(tf.range(6.0) * n, [n % 3 + 1, -1])
tf.boolean_mask(tf.range(3.0) * n, tf.range(3.0) * n > 2)|tf.math.bincount(tf.constant([1, n % 3]))|tf.repeat(tf.range(2.0), [n % 3, 1])
tf.math.unsorted_segment_sum(tf.ones([3]), tf.constant([0, n % 3, 1]), 3)|tf.sequence_mask([1, n % 4])|tf.where(tf.range(4) > n)
tf.unique([n % 2, 1])|tf.meshgrid([1.0, n], [2.0])|tf.roll(tf.range(4), n, 0)|tf.strings.format('{}', x)|tf.pow(tf.constant(2), n - 1)
tf.math.floormod(tf.constant(7), tf.constant(n))|tf.constant(7) // n|tf.constant(7) % tf.constant(n + 1)|tf.zeros([-1])
tf.squeeze(tf.ones([1, 2]), n % 2)|tf.matmul(tf.ones([2, 3]), tf.ones([n % 3 + 2, 2]))|tf.reshape(tf.range(6), [n, -1])
tf.debugging.assert_less(x, 2.0)|tf.Variable(x).numpy()|tf.ragged.range([n % 4, 2])|tf.saturate_cast(x * 300, tf.uint8)
tf.bitcast(x, tf.int64)
tf.nn.embedding_lookup(tf.eye(3), [n % 4])|tf.one_hot(tf.constant([0, 5, -1]), 3)|tf.switch_case(n % 2, [lambda: x, lambda: x * 2])
keras.ops.take(tf.range(5.0), n)|keras.ops.arange(n)|keras.ops.where(tf.range(3) > n)|keras.ops.cond(x > 1, lambda: 1.0, lambda: 2.0)
tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x))|np.from_dlpack(x)|x.__dlpack_device__()
tf.range(9)[n::0]|tf.range(9)[n % 4::-1]|tf.range(9)[:n:2]
keras.random.uniform([2], seed=n)|keras.utils.to_categorical([n % 3], 3)|tf.io.serialize_tensor(x)|tf.group(x)|tf.identity_n([x, x])
"""


def test_python_and_numpy_on_deferred_tensors(same: Any) -> None:
    sources = [source for line in EXPRESSIONS.split("\n") for source in line.split("|") if source]
    compiled = [compile(source, source, "eval") for source in sources]

    def build() -> Any:
        def step(number: int) -> Any:
            found: list[Any] = []
            for source, code in zip(sources, compiled, strict=True):
                x = tf.constant(1.0, tf.float64) * number
                names = {"x": x, "n": number, "tf": tf, "np": np, "math": math, "copy": copy, "keras": keras}
                try:
                    value = eval(code, names)
                except Exception as error:
                    value = f"raises {type(error).__name__}"
                found.append([source, str(value) if isinstance(value, tf.RaggedTensor) else value])
            return found

        return step, list

    same(build, calls=8, shadow=False)


def test_signals_wait_until_a_graph_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    from terra_refactor.runtime import flush, segments  # noqa: PLC0415

    came: list[str] = []
    build = segments.build_segment
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGUSR1)}

    def interrupted(*args: Any) -> Any:
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGINT)
        came.append("building")
        segment = build(*args)
        came.append("built")
        return segment

    signal.signal(signal.SIGUSR1, lambda number, frame: came.append("SIGUSR1"))
    step = co_execute(lambda x: tf.tanh(x) * 2.0)
    x = ones()
    try:
        step(x)
        monkeypatch.setattr(flush, "build_segment", interrupted)
        with pytest.raises(KeyboardInterrupt):
            step(x)
        assert came == ["building", "built", "SIGUSR1"]
        assert signal.getsignal(signal.SIGINT) is handlers[signal.SIGINT]
        monkeypatch.undo()
        np.testing.assert_array_equal(step(x), 2.0 * np.tanh(ones()))
    finally:
        signal.signal(signal.SIGUSR1, handlers[signal.SIGUSR1])


# A few lines that nothing could make safe in Python: they begin and end what protects the others.
ATOMIC = ("enter", "leave", "unregister", "end_call", "__enter__", "__exit__")


def _release_what_only_a_trace_leaves() -> None:
    """A trace can raise at the end of a `with`, before the lock is released: Python looks for signals after a call only, when it is."""
    while api_hooks.switching._is_owned():  # type: ignore[attr-defined]
        api_hooks.switching.release()


# 18 and 25 hit what TensorFlow calls back while it differentiates, 22 and 28 the beginning of a segment.
@pytest.mark.parametrize("offset", [*range(8), 18, 22, 25, 28])
def test_whatever_line_of_the_shim_is_interrupted_later_calls_are_right(offset: int) -> None:
    v, w = tf.Variable(ones()), tf.Variable(ones())

    def run(number: int) -> Any:
        with tf.GradientTape() as tape:
            y = tf.tanh(v * w + float(number % 3))
            if number % 4 == 0 and float(tf.reduce_sum(y)) > 100.0:
                y *= 0.5
            for _ in range(number % 3):
                y = tf.sin(y) + tf.unstack(y, axis=1)[1][:, None]
            loss = tf.reduce_sum(y**2)
        first, second = tape.gradient(loss, [v, w])
        v.assign_sub(0.1 * first)
        w.assign_sub(0.1 * second)
        return loss

    left = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "call":
            code = frame.f_code
            return trace if "terra_refactor" in code.co_filename and code.co_name not in ATOMIC else None
        if event == "line":
            left -= 1
            if left == 0:
                signal.raise_signal(
                    signal.SIGINT
                )  # its handler raises KeyboardInterrupt here, or where it was held back
        return trace

    step = co_execute(run)
    interrupted = 0
    for number in range(120):
        for function in (run, step) if number % 5 == 0 else (step,):
            v.assign(ones() * 0.01 * (number + 1))
            w.assign(ones() * 0.2)
            if function is step and number % 5:
                # a step has some hundreds of lines when its path is known, and some thousands when it is not
                left = 3 + (number * 37 + offset * 101) % (400 if number % 2 else 4000)
                sys.settrace(trace)
                try:
                    step(number)
                except KeyboardInterrupt:
                    interrupted += 1
                finally:
                    sys.settrace(None)
                    _release_what_only_a_trace_leaves()
            elif function is run:
                expected = [run(number).numpy(), v.numpy(), w.numpy()]
            else:
                actual = [step(number).numpy(), v.numpy(), w.numpy()]
                for one, other in zip(expected, actual, strict=True):
                    np.testing.assert_allclose(other, one, rtol=1e-10)
                with tf.GradientTape() as tape:  # no tape was left behind
                    y = v * 2.0
                np.testing.assert_array_equal(tape.gradient(y, v), 2.0 * np.ones([2, 3]))
    assert interrupted > 40
    assert not thread.tapes
    assert pywrap_tfe.TFE_Py_TapeSetIsEmpty()


def test_a_tape_that_an_interruption_left_in_the_list_is_not_started_again() -> None:
    """Removing the thread's tapes while a graph is built, and restoring them, would start one that is never stopped."""
    v = tf.Variable(ones())
    with tf.GradientTape() as stopped:
        tf.tanh(v)

    @co_execute
    def step(x: Any) -> Any:
        y = tf.tanh(x * v)
        thread.tapes.append(stopped)  # as an exception does that is caught in the program
        return y + 1.0

    for number in range(4):
        np.testing.assert_array_equal(step(ones() * number), np.tanh(ones() * number) + 1.0)
        assert pywrap_tfe.TFE_Py_TapeSetIsEmpty() and not thread.recording()


def load_internals(monkeypatch: pytest.MonkeyPatch, version: str) -> Any:
    """The shim's interface to TensorFlow, executed again as if another version of TensorFlow were installed."""
    from terra_refactor.runtime import tf_internals  # noqa: PLC0415  (the file is wanted, under another name)

    monkeypatch.setattr(tf, "__version__", version)
    spec = importlib.util.spec_from_file_location("internals_of_another_version", tf_internals.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_version_of_tensorflow_nobody_has_tried_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(RuntimeWarning, match=r"tested up to TensorFlow 2\.\d+, and found 2\.99\.0-rc1"):
        assert load_internals(monkeypatch, "2.99.0-rc1").VERSION == (2, 99)


def test_an_old_version_of_tensorflow_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImportError, match=r"needs TensorFlow 2\.16 or later, and found 2\.15\.1"):
        load_internals(monkeypatch, "2.15.1")


def test_a_version_without_the_internals_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorflow.python import framework  # noqa: PLC0415

    monkeypatch.delattr(framework, "func_graph")
    monkeypatch.setitem(sys.modules, "tensorflow.python.framework.func_graph", None)
    with pytest.raises(ImportError, match="does not have the internals that the co-execution shim uses"):
        load_internals(monkeypatch, tf.__version__)


def test_a_function_that_deletes_its_own_globals(same: Any) -> None:
    source = (
        "def step(number):\n    global scale\n    y = tf.tanh(v) * scale\n    v.assign(y)\n    del scale\n"
        "    if number % 3 == 0:\n        scale = tf.reduce_sum(y)\n    return y * 2.0\n"
    )

    def build() -> Any:
        names: dict[str, Any] = {"tf": tf, "v": tf.Variable(ones()), "scale": 0.5}
        exec(source, names)
        whole = names["step"]

        def step(number: int) -> Any:
            names.setdefault("scale", 0.5)
            if number == 5:
                del names["scale"]  # a NameError in the middle, after an operation
            return whole(number)

        return step, lambda: [names["v"], sorted(set(names) - {"__builtins__"})]

    same(build, calls=9)


@pytest.mark.concurrent
def test_threads_that_train_at_the_same_time(same: Any) -> None:
    def train(step: Any) -> list[Any]:
        results: list[Any] = [None] * 4

        def work(index: int) -> None:
            v = tf.Variable(ones() * 0.1 * (index + 1))
            losses = [float(step(v, number)) for number in range(25)]
            results[index] = [losses, v.numpy()]

        threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return results

    def step(v: Any, number: int) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(v) ** 2) * (1.0 + number % 3)
            if number % 5 == 0 and float(loss) > 100.0:
                loss *= 0.5
        v.assign_sub(0.01 * tape.gradient(loss, v))
        return loss

    for (one, v), (other, w) in zip(train(step), train(co_execute(step)), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-10)
        np.testing.assert_allclose(w, v, rtol=1e-10)


def test_switched_off_variables_are_up_to_date_and_kept_tensors_are_of_use() -> None:
    large = tf.Variable(ones(500, 500) * 0.001)
    kept: list[Any] = []

    @co_execute
    def step(switch: bool) -> Any:
        x = large * 1.0
        for _ in range(6):
            x = tf.matmul(x, large)
        large.assign(x * 0.0 + large + 1.0)
        kept.append(tf.reduce_mean(x))
        if switch:
            disable()
        return tf.reduce_sum(large[0, :2] * 2.0)

    try:
        for _ in range(6):
            step(False)
        disable()
        np.testing.assert_allclose(large.numpy()[0, 0], 6.001)
        enable()
        np.testing.assert_allclose(float(step(True)), 4 * 7.001)
        for x in kept:
            value = float(x)
            for result in (
                x + 1.0,
                1.0 + x,
                tf.add(x, 1.0),
                tf.stack([x, 1.0])[0] + 1.0,
                tf.function(lambda y: y + 1.0)(x),
            ):
                np.testing.assert_allclose(result.numpy(), value + 1.0)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
            np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2.0 * value)
    finally:
        enable()
