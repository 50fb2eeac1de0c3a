"""Nested and mixed use: each is either fast and right, or falls back and right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402

from terra_refactor.runtime import co_execute, co_executing, report  # noqa: E402

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow, pytest.mark.kept]


@pytest.fixture(autouse=True)
def float64() -> Any:
    # Keras keeps the policy that it made of the setting when it was first asked
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_floatx("float32")
    keras.config.set_dtype_policy("float32")


def data(*shape: int) -> Any:
    return tf.constant(np.random.default_rng(0).normal(size=shape))


def test_inside_and_around_a_graph_function(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(data(2, 3))
        inner = tf.function(lambda x: tf.tanh(x) * v)

        def step(number: int) -> Any:
            y = inner(v + 1.0)
            v.assign_sub(0.1 * y)
            return inner(y)

        return step, lambda: [v]

    same(build)
    traced = tf.function(co_execute(lambda x: tf.tanh(x) + 1.0))
    np.testing.assert_allclose(traced(data(3)).numpy(), np.tanh(data(3).numpy()) + 1.0)


def test_nested_co_execution_and_recursion(same: Any) -> None:
    def build() -> Any:
        @co_execute
        def power(x: Any, n: int) -> Any:
            return x if n == 0 else power(tf.tanh(x), n - 1) * x

        return lambda number: power(data(2, 3), number % 3), list

    same(build)


def test_keras_train_step_with_metrics_dropout_and_batch_norm(same: Any) -> None:
    def build() -> Any:
        class Model(keras.Model):
            def __init__(self) -> None:
                super().__init__()
                self.dense = keras.layers.Dense(8, activation="relu")
                self.norm = keras.layers.BatchNormalization()
                self.dropout = keras.layers.Dropout(0.3, seed=2)
                self.head = keras.layers.Dense(3)
                self.seen: list[int] = []

            def call(self, x: Any, training: bool = False) -> Any:
                self.seen.append(len(self.seen))
                return self.head(self.dropout(self.norm(self.dense(x), training=training), training=training))

        model = Model()
        x, y = data(8, 4), tf.constant(np.arange(8) % 3)
        model(x)
        model.compile(
            keras.optimizers.Adam(0.01),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        model.optimizer.build(model.trainable_variables)

        def step(number: int) -> Any:
            return {name: float(value) for name, value in model.train_step((x, y)).items()}

        return step, lambda: [[v.numpy() for v in model.variables], model.seen]

    same(build, calls=8)


def test_recurrent_layers_and_embeddings(same: Any) -> None:
    def build() -> Any:
        embed = keras.layers.Embedding(10, 4)
        lstm = keras.layers.LSTM(5)
        gru = keras.layers.Bidirectional(keras.layers.GRU(3, return_sequences=True))
        ids = tf.constant(np.arange(12).reshape(2, 6) % 10)
        gru(embed(ids))
        lstm(gru(embed(ids)))
        variables = [*embed.trainable_variables, *gru.trainable_variables, *lstm.trainable_variables]
        optimizer = keras.optimizers.Adam(0.01)
        optimizer.build(variables)

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(lstm(gru(embed(tf.roll(ids, number, axis=1)))) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return loss

        return step, lambda: [v.numpy() for v in variables]

    same(build)


def test_datasets_iterated_inside(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(0.0, dtype=tf.float64)
        iterator = iter(tf.data.Dataset.range(100).map(lambda x: tf.cast(x, tf.float64)).batch(2).repeat())

        def step(number: int) -> Any:
            for _ in range(2):
                v.assign_add(tf.reduce_sum(next(iterator)))
            return v * 1.0

        return step, lambda: [v]

    same(build)


DTYPES = [dtype.name for dtype in vars(tf.dtypes).values() if isinstance(dtype, tf.DType)]


@pytest.mark.parametrize("dtype", sorted(set(DTYPES) - {"resource", "variant"}))
def test_variables_of_every_dtype(same: Any, dtype: str) -> None:
    kind = tf.as_dtype(dtype)
    computes = kind.is_integer or kind.is_floating or kind.is_complex

    def build() -> Any:
        values = ["a", "b"] if kind == tf.string else tf.cast([0, 1], kind) if not kind.is_quantized else None
        if values is None:  # no kernel casts to these
            values = tf.quantization.quantize(tf.constant([0.0, 1.0]), -1.0, 1.0, kind).output
        try:
            v = tf.Variable(values)
        except (tf.errors.NotFoundError, tf.errors.InvalidArgumentError):  # no kernel keeps these in variables either
            return (lambda number: None), list

        def step(number: int) -> Any:
            if kind == tf.string:
                v.assign(tf.strings.join([v, ["x", "y"]]))
            elif kind == tf.bool:
                v.assign(tf.logical_not(v))
            elif computes and number:
                try:
                    v.assign_add(v)
                except (tf.errors.NotFoundError, tf.errors.InvalidArgumentError):  # no kernel adds these
                    v.assign(tf.reverse(v, [0]) if number % 2 else v.read_value())
            shown = v.read_value()
            return shown if kind in (tf.string, tf.bool) or not computes else tf.cast(shown, tf.complex128)

        return step, lambda: [v.shape.as_list(), v.dtype.name]

    same(build, tolerance=1e-6)


def test_persistent_nested_and_second_order_tapes(same: Any) -> None:
    def build() -> Any:
        v, w = tf.Variable(data(2, 3)), tf.Variable(data(2, 3) * 0.3)

        def step(number: int) -> Any:
            with tf.GradientTape(persistent=True) as tape:
                y = tf.tanh(v) * w
                z = y**2
            first, second = tape.gradient(y, v), tape.gradient(z, [v, w])
            with tf.GradientTape() as outer:
                with tf.GradientTape() as inner:
                    loss = tf.reduce_sum(tf.sin(v * w))
                    if number % 2:
                        print(float(loss))
                slope = inner.gradient(loss, v)
            curvature = outer.gradient(slope, w)
            v.assign_sub(0.01 * first)
            return first, second, slope, curvature

        return step, lambda: [v, w]

    same(build, calls=8)


def test_tapes_across_fetches_in_every_way(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(data(2, 3))

        def step(number: int) -> Any:
            x = data(2, 3)
            with tf.GradientTape(persistent=number % 2 == 0) as tape:
                tape.watch(x)
                y = tf.tanh(x * v)
                print(float(tf.reduce_sum(y)))
                with tape.stop_recording():
                    y2 = y * 3.0
                z = y * y2 + tf.stop_gradient(y)
                if float(tf.reduce_sum(z)) > 100.0:
                    z = z * 0.5
            gradients = tape.gradient(z, [x, v, y])
            jacobian = None
            if number % 2 == 0:
                jacobian = tape.jacobian(tf.constant(0.0, tf.float64) if number > 6 else y, v)
            return gradients, 0.0 if jacobian is None else jacobian, [w.shape.rank for w in tape.watched_variables()]

        return step, lambda: [v]

    same(build, calls=6)


@pytest.mark.parametrize("later", [False, True])
def test_a_tape_watches_what_it_has_seen_used(same: Any, later: bool) -> None:
    """What was recorded because of another operand leads to a tensor that is watched only afterwards, too."""

    def build() -> Any:
        weight = tf.Variable(2.0, dtype=tf.float64)

        def step(number: int) -> Any:
            x = tf.constant([1.0, 2.0 + number], tf.float64)
            with tf.GradientTape() as tape:
                y = x * weight + 0.1 * x
                scale = float(tf.reduce_sum(y)) if later else 1.0
                tape.watch([x])
                scale = scale + float(tf.reduce_sum(y))
                total = tf.reduce_sum(y * x) * scale
            return tape.gradient(total, [x, weight])

        return step, lambda: weight

    same(build, 6)


def test_jacobians_and_gradients_of_gradients_through_compiled_segments(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(data(3))

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                y = tf.tanh(v) * v
                print(float(tf.reduce_sum(y)))
                z = y * y
            if number % 2:
                return tape.jacobian(z, v)
            seed = tf.ones([3], tf.float64)
            with tf.GradientTape() as second:
                second.watch(seed)
                gradient = tape.gradient(z, v, output_gradients=seed)
            return gradient, second.gradient(gradient, seed)

        return step, lambda: [v]

    same(build, calls=8)


def test_forward_accumulators_and_custom_gradients(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(data(3))

        @tf.custom_gradient
        def scaled(x: Any) -> Any:
            print("forward")
            return x * 2.0, lambda upstream: upstream * 7.0

        def step(number: int) -> Any:
            with tf.autodiff.ForwardAccumulator(v, tf.ones([3], tf.float64)) as accumulator:
                y = tf.sin(v) * 2.0
            with tf.GradientTape() as tape:
                z = tf.reduce_sum(scaled(tf.tanh(v)) * v)
            return accumulator.jvp(y), tape.gradient(z, v)

        return step, lambda: [v]

    same(build)


def test_control_flow_tensor_arrays_sparse_and_strings(same: Any) -> None:
    def build() -> Any:
        def step(number: int) -> Any:
            x = data(4, 3)
            array = tf.TensorArray(tf.float64, size=4)
            for index in range(4):
                array = array.write(index, x[index] * number)
            scanned = tf.scan(lambda a, row: a + row, x)
            sparse = tf.sparse.from_dense(tf.nn.relu(x))
            text = tf.strings.as_string(tf.cast(x * 10.0, tf.int32))
            joined = tf.strings.reduce_join(text)
            return array.stack(), scanned, sparse, tf.sparse.sparse_dense_matmul(sparse, tf.transpose(x)), joined

        return step, list

    same(build)


def test_generators_exceptions_and_early_returns(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(data(2, 3))
        log: list[Any] = []

        def parts() -> Any:
            for index in range(3):
                yield tf.tanh(v) * index
                log.append(index)

        def step(number: int) -> Any:
            total = tf.zeros([2, 3], tf.float64)
            try:
                for part in parts():
                    total += part
                    if number == 3 and float(tf.reduce_sum(total)) < 1e9:
                        raise KeyError("stop")
                    if number == 4:
                        return total
            except KeyError:
                log.append("caught")
            finally:
                v.assign_add(0.01 * total)
            if number == 5:
                raise RuntimeError("to the caller")
            return total

        return step, lambda: [v, log]

    same(build, calls=9)


def test_checkpoints_in_mid_training(same: Any, tmp_path: Any) -> None:
    def build() -> Any:
        v = tf.Variable(data(2, 3))
        checkpoint = tf.train.Checkpoint(v=v)
        kept: list[str] = []

        def step(number: int) -> Any:
            v.assign(tf.tanh(v) + 0.1)
            if number == 3:
                kept.append(checkpoint.save(str(tmp_path / "mid")))
            if number == 6:
                checkpoint.restore(kept[0])
            v.assign(v * 0.9)
            return v * 1.0

        return step, lambda: [v]

    same(build, calls=9)


def test_a_block_of_statements() -> None:
    v = tf.Variable(data(2, 3))
    expected = v.numpy()
    for _ in range(5):
        with co_executing("the block"):
            y = tf.tanh(v) * 2.0
            v.assign(y)
        expected = np.tanh(expected) * 2.0
        np.testing.assert_allclose(y.numpy(), expected)
        np.testing.assert_allclose((y + 0.0).numpy(), expected)
        with tf.GradientTape() as tape:
            tape.watch(y)
            z = y * y
        np.testing.assert_allclose(tape.gradient(z, y).numpy(), 2 * expected)
    assert "the block: 5 calls" in report()


def test_deferred_tensors_that_outlive_the_call() -> None:
    kept: list[Any] = []

    @co_execute
    def step(x: Any) -> None:
        kept.append(tf.tanh(x))

    for _ in range(4):
        step(data(2, 3))
    for tensor in kept:
        assert isinstance(tensor, tf.Tensor)
        np.testing.assert_allclose(tf.stack([tensor, tensor * 1.0])[0].numpy(), np.tanh(data(2, 3).numpy()))
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            y = tf.reduce_sum(tensor**2)
        np.testing.assert_allclose(tape.gradient(y, tensor).numpy(), 2 * np.tanh(data(2, 3).numpy()))
        assert tf.function(lambda kept=tensor: kept * 2.0)().shape == (2, 3)


def test_interruption_leaves_a_clean_state(same: Any) -> None:
    v = tf.Variable(data(2, 3))

    @co_execute
    def step(number: int) -> Any:
        v.assign_add(tf.ones([2, 3], tf.float64))
        if number == 3:
            raise KeyboardInterrupt
        return v * 2.0

    start = v.numpy()
    for number in range(6):
        if number == 3:
            with pytest.raises(KeyboardInterrupt):
                step(number)
        else:
            step(number)
    np.testing.assert_allclose(v.numpy(), start + 6.0)


def test_strategies_and_device_scopes_fall_back(same: Any) -> None:
    def build() -> Any:
        v = tf.Variable(data(2, 3))

        def step(number: int) -> Any:
            with tf.device("CPU:0"):
                return tf.tanh(v) * 2.0

        return step, lambda: [v]

    same(build)
    step = co_execute(name="in a strategy")(lambda x: tf.tanh(x) * 1.0)
    with tf.distribute.get_strategy().scope(), tf.device("CPU:0"):
        np.testing.assert_allclose(step(data(3)).numpy(), np.tanh(data(3).numpy()))
    assert "inside a device scope" in report()
