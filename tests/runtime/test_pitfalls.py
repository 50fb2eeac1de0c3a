"""Each pitfall of co-execution, as a program on which an implementation without its mend gives something else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from terra_refactor.runtime import co_execute, disable, enable  # noqa: E402

pytestmark = [pytest.mark.tensorflow, pytest.mark.kept]
# ruff: noqa: PLC0415


def ones(value: float = 1.0) -> Any:
    return tf.fill([2, 3], tf.constant(value, tf.float64))


def test_an_untraced_operation_under_a_live_tape_keeps_its_gradient(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(ones(0.5))

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                x = tf.tanh(v * 2.0)
                y = tf.reshape(tf.py_function(lambda t: t * t, [x], tf.float64), [2, 3])  # runs at once, on the tape
                loss = tf.reduce_sum(y * x)
            gradient = tape.gradient(loss, v)
            v.assign_sub(0.1 * gradient)
            return gradient

        return step, lambda: [v]

    same(build)


def test_the_gradient_of_an_intermediate_result_across_a_fetch(same: Any) -> None:
    def build() -> Any:
        v, w = tf.Variable(ones(0.5)), tf.Variable(ones(0.2))

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                h = tf.tanh(v)
                unused = w * 3.0
                y = h * h + v
                print(float(tf.reduce_sum(y)))
                loss = tf.reduce_sum(y * h)
            gradients = tape.gradient(loss, [h, v, y, w])
            del unused
            return [0.0 if gradient is None else gradient for gradient in gradients]

        return step, lambda: [v, w]

    same(build)


def test_gradients_stop_at_results_of_function_calls_and_of_operations_with_several_results(same: Any) -> None:
    inner = tf.function(lambda x: tf.tanh(x) + tf.reduce_sum(x) * 0.01)

    def build() -> Any:
        v = tf.Variable(ones(0.5))

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                h = v * 1.5
                print(float(tf.reduce_sum(h)))
                y = inner(h)
                first, second = tf.unstack(y * h)
                loss = tf.reduce_sum(first * second + first)
                del second
                print(float(loss))
            return tape.gradient(loss, [v, h, y, first])

        return step, lambda: [v]

    same(build)


def test_constants_are_told_apart_by_type(same: Any) -> None:
    def build() -> Any:
        def step(number: int) -> Any:
            constant = [1, 1.0, True, 0.0, -0.0, float("nan")][number % 6]
            return tf.convert_to_tensor(constant), tf.math.atan2(
                tf.constant(0.0), tf.add(constant, 0.0) if number > 2 else 1.0
            )

        return step, list

    same(build, calls=12)


def test_arrays_are_read_when_the_call_is_made(same: Any) -> None:
    def build() -> Any:
        buffer = np.zeros([40, 3])

        def step(number: int) -> Any:
            buffer[:] = number
            result = tf.ones([40, 3], tf.float64) * buffer
            buffer[:] = -1.0  # too late to matter
            return result

        return step, list

    same(build)


def test_small_integer_arrays_stay_static_shapes(same: Any) -> None:
    def build() -> Any:
        def step(number: int) -> Any:
            x = tf.reshape(tf.range(6.0) + number, np.array([2, 3]))
            return tf.transpose(x, np.array([1, 0])), int(x.shape[1])

        return step, list

    same(build)


def test_a_variable_read_by_its_raw_operation_is_watched(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(ones(0.5))

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(v)
                y = tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=tf.float64) * v
            return tape.gradient(y, v)

        return step, lambda: [v]

    same(build)


def test_random_numbers_are_those_of_eager_execution(same: Any) -> None:
    def build() -> Any:
        tf.random.set_seed(5)
        generator = tf.random.Generator.from_seed(3)

        def step(number: int) -> Any:
            x = tf.random.normal([2, 3], dtype=tf.float64)
            y = tf.random.uniform([2, 3], dtype=tf.float64, seed=7)  # each time the next of one stream
            z = tf.nn.dropout(x, 0.5) + generator.normal([2, 3], dtype=tf.float64)
            return x * 2.0, y + x, z, tf.random.shuffle(tf.range(5)), tf.random.stateless_normal([3], [number, 1])

        return step, list

    same(build, tolerance=0.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_numbers_drawn_in_segments_have_the_same_bits(same: Any, dtype: str) -> None:
    def build() -> Any:
        tf.random.set_seed(8)
        generator = tf.random.Generator.from_seed(3)

        def step(number: int) -> Any:
            if number == 6:
                tf.random.set_seed(9)  # also throws the kernels' streams away
            shape = [7, number % 2 + 2]
            drawn = [tf.random.uniform(shape, 1, 5, dtype), tf.random.normal(shape, dtype=dtype)]
            drawn.append(tf.random.truncated_normal([tf.shape(drawn[0])[1], 3], dtype=dtype))
            three = tf.constant([3])
            again = [tf.raw_ops.RandomUniform(shape=three, seed=3, seed2=number // 3, dtype=dtype) for _ in range(3)]
            own = generator.uniform(shape, dtype="float32" if dtype == "bfloat16" else dtype)
            return [tf.cast(x, tf.float64) * 2.0 for x in [*drawn, *again, own]]

        return step, list

    same(build, calls=12, tolerance=0.0)


def test_numbers_drawn_in_segments_and_elsewhere_are_one_stream() -> None:
    def draw(number: int) -> Any:
        return tf.raw_ops.RandomUniform(shape=tf.constant([number]), seed=3, seed2=4, dtype=tf.float64)

    tf.random.set_seed(1)
    expected = [draw(number).numpy() for number in (2, 5, 3, 4)]
    tf.random.set_seed(1)
    step = co_execute(lambda number: draw(number) * 1.0)
    actual = [step(2).numpy(), draw(5).numpy(), step(3).numpy(), tf.function(draw)(4).shape]
    for one, other in zip(expected[:3], actual, strict=False):
        np.testing.assert_array_equal(one, other)
    assert expected[3].shape == actual[3]


def test_random_numbers_stay_the_same_with_xla(same: Any) -> None:
    def build() -> Any:
        tf.random.set_seed(5)
        v = tf.Variable(ones())

        def step(number: int) -> Any:
            v.assign(v * 0.5 + tf.random.stateless_uniform([2, 3], [1, 2], dtype=tf.float64))
            return tf.tanh(v) * tf.random.normal([2, 3], dtype=tf.float64)

        return step, lambda: [v]

    same(build, xla=True, tolerance=1e-14)


@pytest.mark.parametrize("xla", [False, True])
def test_an_index_out_of_range_raises_at_its_own_line(same: Any, xla: bool) -> None:
    def build() -> Any:
        table = tf.Variable(tf.reshape(tf.range(12.0), [4, 3]))
        log: list[str] = []

        def step(number: int) -> Any:
            try:
                row = tf.gather(table, tf.constant([0, number % 6]))
                log.append("looked up")
                return tf.reduce_sum(row * 2.0)
            except tf.errors.InvalidArgumentError:
                log.append("out of range")
                return -1.0

        return step, lambda: [table, log]

    same(build, calls=12, xla=xla)


def test_assignments_before_a_failure_happen_and_those_after_it_do_not(same: Any) -> None:
    def build() -> Any:
        before, after = tf.Variable(0.0, dtype=tf.float64), tf.Variable(0.0, dtype=tf.float64)

        def step(number: int) -> Any:
            before.assign_add(1.0)
            tf.debugging.check_numerics(tf.math.log(tf.constant(2.0 - number % 4, tf.float64)), "log")
            after.assign_add(1.0)
            return after * 2.0

        return step, lambda: [before, after]

    for _ in range(5):
        same(build, calls=8)


def test_a_failure_leaves_nothing_behind(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(ones())

        def step(number: int) -> Any:
            x = tf.tanh(v)
            if number == 3:
                tf.debugging.check_numerics(tf.math.log(x - 2.0), "log")
            v.assign(x + 0.1)
            return tf.reduce_sum(v)

        return step, lambda: [v]

    same(build, calls=8)


def test_operations_run_at_once_see_pending_assignments(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(ones())

        def step(number: int) -> Any:
            v.assign_add(tf.tanh(v))
            looked = tf.py_function(lambda: v * 1.0, [], tf.float64)
            v.assign_add(ones())
            return looked, tf.boolean_mask(v, v > 2.0)

        return step, lambda: [v]

    same(build)


def test_variables_read_outside_after_the_call_are_up_to_date() -> None:
    v = tf.Variable(tf.zeros([300, 300]))

    @co_execute
    def step() -> None:
        v.assign(tf.linalg.matmul(v, v) * 0.0 + v + 1.0)

    for number in range(30):
        step()
        assert float(v[0, 0]) == number + 1.0
        assert v.numpy()[1, 1] == number + 1.0


def test_shapes_that_depend_on_data(same: Any) -> None:
    def build() -> Any:
        def step(number: int) -> Any:
            x = tf.constant(np.arange(6.0) * (number % 4))
            picked = tf.boolean_mask(x, x > 2.5)
            return picked * 2.0, picked.shape[0], tf.unique(tf.cast(x, tf.int32) % 3)[0] + 1

        return step, list

    same(build, calls=10)


def test_operands_that_are_lists_end_no_segment(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(tf.reshape(tf.range(12.0, dtype=tf.float64), [4, 3]))

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                x = v * 0.5
                x.set_shape([None, 3])
                picked = tf.boolean_mask(x, tf.constant([True, number % 2 == 0, False, True]))
                count = tf.raw_ops.Prod(input=tf.shape(picked), axis=[0])
                sizes = tf.raw_ops.ConcatV2(values=[[1], [count], tf.shape(x)[:1]], axis=0)
                loss = tf.reduce_sum(tf.reshape(picked, [-1]) ** 2) * tf.cast(tf.reduce_sum(sizes), tf.float64)
            gradient = tape.gradient(loss, v)
            v.assign_sub(0.001 * gradient)
            return loss, gradient, sizes, count

        return step, lambda: [v.numpy()]

    same(build, calls=8)
    assert set(same.program.immediates) <= {"Where", "GradientTape.gradient"}, same.report


def test_lists_that_do_not_convert_raise_what_tensorflow_raises(same: Any) -> None:
    def build() -> Any:
        log: list[str] = []

        def step(number: int) -> Any:
            x = tf.ones([2, 3], tf.float64) * float(number)
            y = x * 2.0
            try:
                y.set_shape([3, 3])
            except ValueError as error:
                log.append(str(error))
            for axis in (["a"], [[0], [1, 2]], [7], [0.5]):
                try:
                    log.append(str(tf.raw_ops.Prod(input=x, axis=axis).numpy()))
                except Exception as error:
                    log.append(f"{type(error).__name__}: {error}")
            return tf.raw_ops.Prod(input=x, axis=[])

        return step, lambda: log

    same(build)


def test_many_paths_share_what_they_have_in_common(same: Any) -> None:
    def build() -> Any:
        random = np.random.default_rng(1)

        def step(number: int) -> Any:
            x = ones(0.3)
            for _ in range(6):
                x = tf.tanh(x) if float(tf.reduce_sum(x)) + random.normal() > 0 else tf.sin(x + 0.1)
            return x

        return step, list

    same(build, calls=60)
    assert same.program.segments_built < 16, same.report
    assert not same.program.frozen


def test_more_paths_than_allowed_run_eagerly(same: Any) -> None:
    def build() -> Any:
        def step(number: int) -> Any:
            x = ones(0.3)
            for bit in range(5):
                x = tf.tanh(x) if number >> bit & 1 else tf.sin(x)
            return x

        return step, list

    same(build, calls=16, max_paths=4)
    assert same.program.frozen
    assert "more paths than max_paths" in same.report


def test_a_function_that_always_takes_new_paths_is_left_eager_with_one_warning() -> None:
    @co_execute(max_paths=2)
    def step(number: int) -> Any:
        return tf.reshape(tf.range(4.0), [1] * (number + 1) + [4]) + 1.0

    with pytest.warns(UserWarning, match="no longer co-executed") as seen:
        for number in range(5):
            step(number)
        for number in range(30):
            assert step(number % 7 + 5 * (number % 11)).shape[-1] == 4
    assert len(seen) == 1


def test_the_first_of_several_values_that_come_back_has_no_path_of_its_own(same: Any) -> None:
    def build() -> Any:
        table = tf.Variable(np.linspace(-1.0, 1.0, 12).reshape(4, 3))

        def step(number: int) -> Any:
            this = number % 3  # the same three batches in each epoch
            x = tf.gather(table, np.array([this, this + 1, 0])) * (0.5 + this)
            table.assign_sub(0.01 * tf.tanh(table))
            return x + tf.constant([float(this), 1.0, 2.0], tf.float64)

        return step, lambda: [table]

    same(build, calls=40)
    assert same.program.segments_built == 1, same.report


def test_floats_that_change_become_inputs(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(ones())

        def step(number: int) -> Any:
            rate = 0.1 / (number + 1)
            v.assign_sub(v * rate)
            return v * np.float64(rate) + number

        return step, lambda: [v]

    same(build, calls=20)
    assert same.program.segments_built <= 4, same.report


def test_attributes_of_layers_are_structure(same: Any) -> None:
    import keras

    def build() -> Any:
        keras.config.set_floatx("float64")
        dense = keras.layers.Dense(3, activation="tanh")
        dropout = keras.layers.Dropout(0.5, seed=1)
        dense.build((None, 3))
        keras.config.set_floatx("float32")

        def step(number: int) -> Any:
            if number == 4:
                dense.activation = keras.activations.relu
            if number == 6:
                dense.trainable = False
            if number == 8:
                dropout.rate = 0.25
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(dropout(dense(ones(0.3)), training=True))
            gradients = tape.gradient(y, [dense.kernel.value])
            return y, [0.0 if gradient is None else gradient for gradient in gradients]

        return step, lambda: [dense.kernel.value]

    same(build, calls=12)


@pytest.mark.concurrent
def test_another_thread_sees_what_was_assigned_before_it_started(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(ones())
        seen: list[float] = []

        def step(number: int) -> Any:
            v.assign_add(ones())
            thread = threading.Thread(target=lambda: seen.append(float(tf.reduce_sum(v))))
            thread.start()
            thread.join()
            v.assign_add(ones())
            return tf.reduce_sum(v)

        return step, lambda: [v, seen]

    same(build)


@pytest.mark.concurrent
def test_a_thread_that_was_there_before_sees_it_too(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(ones())
        seen: list[float] = []
        go, done, stop = threading.Event(), threading.Event(), []

        def watch() -> None:
            while True:
                go.wait()
                go.clear()
                if stop:
                    return
                seen.append(float(tf.reduce_sum(v)))
                done.set()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()

        def step(number: int) -> Any:
            v.assign_add(ones())
            go.set()
            done.wait()
            done.clear()
            if number == 5:
                stop.append(True)
                go.set()
                thread.join()
            return tf.reduce_sum(v)

        return step, lambda: [v, seen]

    same(build, calls=6)


def test_ragged_tensors(same: Any) -> None:
    def build() -> Any:
        def step(number: int) -> Any:
            rows = [tf.range(2.0), tf.range(3.0) * number, tf.constant([1.0])]
            stacked = tf.ragged.stack(rows)
            return stacked.to_tensor() * 2.0, tf.reduce_sum(stacked, axis=1), stacked.row_lengths()

        return step, list

    same(build)


def test_sums_that_double_are_not_written_out(same: Any) -> None:
    # TensorFlow's optimiser makes 2 ** 30 terms of these, in as many bytes and more
    def build() -> Any:
        v = tf.Variable(ones(0.5))

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                x = v * 1.0
                for _ in range(30):
                    x = x + x
            v.assign(tf.tanh(v))
            return x, tape.gradient(x, v)

        return step, lambda: [v]

    same(build)
    assert same.program.segments_built, same.report


def test_what_cannot_be_built_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from terra_refactor.runtime import segments

    def refuse(*args: Any) -> Any:
        raise NotImplementedError("no such graph")

    from terra_refactor.runtime import flush

    monkeypatch.setattr(flush, "build_segment", refuse)
    assert segments.build_segment is not refuse

    @co_execute(name="cannot be built")
    def step(x: Any) -> Any:
        return tf.tanh(x) * 2.0

    for _ in range(4):
        np.testing.assert_array_equal(step(ones()).numpy(), np.tanh(np.ones([2, 3])) * 2.0)
    from terra_refactor.runtime import report

    assert "could not be built: NotImplementedError: no such graph" in report()


def test_hooks_go_away() -> None:
    original = tf.tanh.__wrapped__ if hasattr(tf.tanh, "__coexec_original__") else tf.tanh
    step: Callable[[Any], Any] = co_execute(lambda x: tf.tanh(x) * 1.0)
    enable()
    step(ones())
    assert hasattr(tf.tanh, "__coexec_original__")
    disable()
    assert not hasattr(tf.tanh, "__coexec_original__")
    assert tf.tanh is original or tf.tanh is not None
    np.testing.assert_array_equal(step(ones()).numpy(), np.tanh(np.ones([2, 3])))
    assert not hasattr(tf.tanh, "__coexec_original__")
    enable()


def test_shadow_mode_takes_what_is_zero_but_for_rounding_as_the_same() -> None:
    from terra_refactor.runtime.shadow import Snapshot, compare

    weights = tf.constant([0.5, -1.0], tf.float64)
    none = Snapshot([])

    def same_as(one: float, other: float) -> bool:
        return (
            compare([weights, tf.constant(one, tf.float64)], [weights, tf.constant(other, tf.float64)], none, none)
            is None
        )

    assert same_as(3e-17, -5e-17)
    assert not same_as(3e-15, -5e-15)
    assert not same_as(1e-7, 1.00001e-7)
    assert compare([tf.constant(3e-17, tf.float64)], [tf.constant(5e-17, tf.float64)], none, none) is not None


def test_objects_made_in_each_call_have_no_path_of_their_own(same: Any) -> None:
    import keras

    def build() -> Any:
        v = tf.Variable(ones(0.5))

        def step(number: int) -> Any:
            half = tf.function(lambda x: tf.gather(x, [0, 1]) * 0.5)
            with tf.GradientTape() as tape:
                loss = keras.losses.MeanSquaredError(dtype="float64")(ones(), tf.tanh(v))
            gradient = tape.gradient(loss, v)
            v.assign_sub(0.1 * gradient)
            return loss, half(v)

        return step, lambda: [v]

    same(build, 30, measure=False)
    assert same.program.complete_calls > 20, same.report
    assert same.program.paths < 10


def test_layers_made_in_each_call_leave_the_paths_of_others_valid(same: Any) -> None:
    import keras

    def build() -> Any:
        v = tf.Variable(ones(0.5))

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                x = keras.layers.Rescaling(2.0, dtype="float64")(keras.layers.Flatten(dtype="float64")(v))
                loss = tf.reduce_sum(keras.layers.Concatenate(dtype="float64")([x, tf.sin(x)]) ** 2)
            gradient = tape.gradient(loss, v)
            v.assign_sub(0.01 * gradient)
            return loss, gradient

        return step, lambda: [v]

    same(build, 30, measure=False)
    assert same.program.complete_calls > 20, same.report


def test_parts_of_an_object_are_structure(same: Any) -> None:
    """Keras objects in attributes of one that was called, and in lists of it, set after the call was recorded."""
    import keras

    def build() -> Any:
        v = tf.Variable(ones(0.5))
        inner = keras.layers.Rescaling(2.0, dtype="float64")
        outer = keras.layers.TimeDistributed(inner, dtype="float64")
        chain = keras.layers.Pipeline([keras.layers.LeakyReLU(negative_slope=0.5, dtype="float64")])
        schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
        optimizer = keras.optimizers.SGD(schedule)
        optimizer.build([v])
        outer.build((2, 3, 1))

        def step(number: int) -> Any:
            nonlocal schedule
            if number == 8:
                schedule = keras.optimizers.schedules.ExponentialDecay(0.2, 3, 0.5)
                optimizer.learning_rate = schedule
            if number % 4 == 3:
                inner.scale, schedule.decay_rate = float(number), 1.0 / number
                chain.layers[0].negative_slope = 1.0 / number
            y = outer(v[..., None]), chain(-v)
            optimizer.apply_gradients([(tf.reduce_mean(y[0], -1) + y[1], v)])
            return y

        return step, lambda: [v]

    same(build, 16, measure=False)


def test_an_object_that_stays_has_a_path_again() -> None:
    import sys

    import keras

    losses = [keras.losses.MeanSquaredError() for _ in range(2)]

    @co_execute(measure=False)
    def step(number: int) -> Any:
        loss = keras.losses.MeanSquaredError() if number < 8 else losses[number % len(losses)]
        return loss(tf.zeros((1, 3)), tf.fill((1, 3), 2.0)) * float(number)

    assert [float(step(number)) for number in range(20)] == [4.0 * number for number in range(20)]
    places: list[dict[Any, Any]] = [sys.modules["terra_refactor.runtime.report"].programs()[-1].roots]
    calls = []
    while places:
        for node in places.pop().values():
            places.append(node.children)
            if node.call is not None and node.call.name == "keras MeanSquaredError":
                calls.append(node.owner)
    assert set(map(id, calls)) == set(map(id, losses))
