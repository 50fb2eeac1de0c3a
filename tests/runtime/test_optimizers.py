"""Every optimizer of Keras, with every option, and learning rates that the program computes itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

ALL = sorted(
    name
    for name, kind in vars(keras.optimizers).items()
    if isinstance(kind, type) and issubclass(kind, keras.optimizers.Optimizer) and name != "Optimizer"
)
CosineDecay = keras.optimizers.schedules.CosineDecay


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


def make(name: str, rate: Any, **options: Any) -> Any:
    kind = getattr(keras.optimizers, name)
    if name == "LossScaleOptimizer":
        return kind(keras.optimizers.Adam(rate, **options), initial_scale=8.0, dynamic_growth_steps=3)
    if name == "MultiOptimizer":
        chosen = keras.optimizers.OptimizerMap(keras.optimizers.Adam(rate, **options))
        chosen[".*bias"] = keras.optimizers.SGD(rate, momentum=0.9)
        return kind(chosen)
    return kind(learning_rate=rate, **options)


def training(optimizer: Any, log: Any = None) -> Any:
    """A dense layer and an embedding, whose gradient is sparse, and a step that trains them."""
    dense, embed = keras.layers.Dense(3), keras.layers.Embedding(6, 4)
    dense.build((None, 4))
    embed.build((None,))
    variables = [*dense.trainable_variables, *embed.trainable_variables]
    optimizer.build(variables)

    def step(number: int) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(dense(data(5, 4) + embed(tf.range(5) % (number % 3 + 1))) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    state = [*variables, *optimizer.variables]
    return step, lambda: [[v.numpy() for v in state], list(log or [])]


@pytest.mark.parametrize("name", ALL)
def test_every_optimizer_with_schedule_and_clipping(agrees: Any, name: str) -> None:
    schedule = (0.0, 50)

    def build() -> Any:
        rate = CosineDecay(*schedule, warmup_target=0.05, warmup_steps=3)
        return training(make(name, rate, global_clipnorm=1.0))

    agrees(build, calls=8)


OPTIONS: list[dict[str, Any]] = [
    {"weight_decay": 0.01, "clipvalue": 0.1},
    {"clipnorm": 0.2, "loss_scale_factor": 4.0},
    {"use_ema": True, "ema_momentum": 0.9, "ema_overwrite_frequency": 3},
    {"gradient_accumulation_steps": 2},
]


@pytest.mark.parametrize("options", OPTIONS, ids="-".join)
@pytest.mark.parametrize("name", ["SGD", "AdamW", "Nadam", "Lion"])
def test_every_option(agrees: Any, name: str, options: dict[str, Any]) -> None:
    agrees(lambda: training(make(name, 0.05, **options)), calls=8)


def test_a_learning_rate_set_at_each_step(same: Any) -> None:
    def build() -> Any:
        v = keras.Variable(np.ones([2, 3]))
        optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
        optimizer.build([v])

        def step(number: int) -> Any:
            optimizer.learning_rate = 0.1 / (1 + number)
            optimizer.apply_gradients([(v * 0.5, v)])
            return v * 1.0

        return step, lambda: [v.numpy()]

    same(build, calls=12)
    assert same.program.segments_built <= 4, same.report


class Told(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule of the program: it notes every call, prints, and is another formula from the third step on."""

    def __init__(self, log: list[Any], number: bool = False) -> None:
        self.log = log
        self.number = number

    def __call__(self, step: Any) -> Any:
        self.log.append(int(step) if self.number else len(self.log))
        print("asked", len(self.log))
        if self.number:
            return 0.1 / (1.0 + int(step))
        rate = tf.cast(step, "float64") + 1.0
        return 0.1 / (rate if len(self.log) < 20 else rate * rate)


@pytest.mark.parametrize("number", [False, True], ids=["tensor", "number"])
@pytest.mark.parametrize("name", ALL)
def test_a_schedule_of_the_program_is_called_as_often_as_keras_calls_it(agrees: Any, name: str, number: bool) -> None:
    def build() -> Any:
        log: list[Any] = []
        takes_decay = name not in ("LossScaleOptimizer", "MultiOptimizer")
        options = {"weight_decay": 0.01} if takes_decay else {}
        return training(make(name, Told(log, number), **options), log)

    agrees(build, calls=8)


def test_a_schedule_of_the_program_leaves_the_update_whole(same: Any) -> None:
    def build() -> Any:
        log: list[Any] = []
        optimizer = keras.optimizers.AdamW(Told(log), weight_decay=0.01)
        optimizer.exclude_from_weight_decay(var_names=["bias"])
        return training(optimizer, log)

    same(build, calls=12)
    named = {call.name for root in same.program.roots.values() for call in calls_below(root)}
    assert {"keras AdamW update", "keras AdamW weight decay"} <= named, sorted(named)
    assert "Variable.assign_sub" not in named, sorted(named)  # what Adam and weight decay do to each variable


def calls_below(node: Any) -> Any:
    """The calls of a trie, each as often as it stands there."""
    for child in node.children.values():
        yield child.call
        yield from calls_below(child)


def test_a_learning_rate_that_reads_what_is_trained(same: Any) -> None:
    def build() -> Any:
        v = keras.Variable(np.ones([2, 3]))
        w = keras.Variable(np.full([2, 3], 0.5))
        optimizer = keras.optimizers.AdamW(lambda: 0.01 * tf.reduce_sum(tf.convert_to_tensor(v)), weight_decay=0.1)
        optimizer.build([v, w])

        def step(number: int) -> Any:
            optimizer.apply_gradients([(v * 0.5, v), (w * 0.25, w)])
            return v + w

        return step, lambda: [v.numpy(), w.numpy()]

    same(build, calls=10)


def test_an_optimizer_of_the_program_runs_as_python(same: Any) -> None:
    def build() -> Any:
        log: list[Any] = []

        class Noted(keras.optimizers.SGD):
            def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
                log.append(variable.shape.as_list())
                super().update_step(gradient, variable, learning_rate)

        return training(Noted(0.1, momentum=0.9, weight_decay=0.01), log)

    same(build, calls=8)
