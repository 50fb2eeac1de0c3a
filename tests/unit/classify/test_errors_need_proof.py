"""An error needs proof: types come from calls of TensorFlow, and what a graph freezes must matter to somebody."""

from __future__ import annotations

import pytest
from analysis_support import analyze_text

from terra_refactor.classify.decision import Action
from terra_refactor.domain.evidence import Evidence
from terra_refactor.rules.rule import Severity

PRINTED = """\
import tensorflow as tf


@tf.function
def graph(a, b):
    return a + b


print("a + b = %d" % graph(int(input()), int(input())))
"""

SUPPOSED = """\
import tensorflow as tf


class Agent:
    def __init__(self, body):
        self.body = body

    @tf.function
    def act(self, given):
        return self.unroll(given), tf.tanh(given)

    @tf.function
    def known(self):
        return self.rows(tf.stack(self.body(), axis=1))

    def unroll(self, given):
        return self.split(given)

    def split(self, pair):
        action, state = pair
        return tf.tanh(action) + state

    def rows(self, tensor):
        first, second = tensor  # error
        return first + second
"""

ANNOTATED = """\
import tensorflow as tf


@tf.function
def rows(x: tf.Tensor):
    return tf.stack([row * 2.0 for row in x])


@tf.function
def computed_rows(x: tf.Tensor):
    return tf.stack([row * 2.0 for row in tf.tanh(x)])  # error


@tf.function
def called_rows(x: tf.Tensor):
    return tf.stack([row * 2.0 for row in x])  # error


def main(data):
    called_rows(tf.ones([2, 3]))
    rows(data)
"""

PLACEHOLDERS = """\
import tensorflow as tf


@tf.function
def double(x):
    return x * 2


@tf.function
def direct(x):
    return x * 2  # error


inputs = tf.keras.Input([3])
by_name = tf.keras.layers.Lambda(double)(inputs)
by_lambda = tf.keras.layers.Lambda(lambda t: double(t))(inputs)
activated = tf.keras.layers.Activation(double)(inputs)
outputs = tf.keras.layers.Dense(2)(by_lambda)
direct(inputs)
"""

GIVEN_BY_KERAS = """\
import keras
import tensorflow as tf
from tensorflow_addons.layers import GroupNormalization


@tf.function
def suppress(outputs, most):
    boxes, scores = outputs
    return boxes * most, scores


class Suppress(keras.layers.Layer):
    def __init__(self, most):
        super().__init__()
        self.most = most

    def call(self, decoded, **kwargs):
        return suppress(decoded, self.most)


class Scaled(keras.layers.Layer):
    def build(self, shape):
        self.kernel = self.add_weight(shape=(3, 3))
        keras.backend.set_value(self.kernel, keras.backend.eval(self.kernel) / 2.0)

    def call(self, x):
        return keras.backend.eval(x @ self.kernel)  # error


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.scaled = Scaled()
        self.norm = keras.Sequential([GroupNormalization(groups=1)])

    def call(self, x):
        return self.norm(self.scaled(x))

    @tf.function
    def step(self, x):
        return tf.reduce_sum(self(tf.tanh(x)))


class Watched(tf.keras.layers.Layer):
    @tf.function
    def call(self, x):
        self.add_metric(tf.reduce_mean(x), name="mean")
        return x


class Warm(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return 0.1 * (step * 0.5) + tf.constant(1.0) * (step / 1000)


model = Model()
model.step(tf.ones([2, 3]))
Watched()(tf.ones([2, 3]))
keras.optimizers.Adam(Warm()).apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])
"""

ONE_OF_SEVERAL = """\
import tensorflow as tf


class Plain:
    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        return tf.image.resize(image, self.size)


class Crop:
    def __init__(self, size, overlaps=(0.1, 0.3), **kwargs):
        self.size = size
        self.overlaps = tf.constant(overlaps, dtype=tf.float32)

    def __call__(self, image):
        return tf.image.resize(image, self.size) * self.overlaps[0]


CROPS = {"crop": Crop, "plain": Plain}


class Compose:
    def __init__(self, size, crops):
        self.size = size
        self.crops = crops

    def __call__(self, image):
        kind = list(self.crops.keys())[0]
        return CROPS[kind](size=self.size, **self.crops[kind])(image)


class Tasks:
    def __init__(self, compose, tasks):
        self.compose = compose
        self.tasks = tasks

    @tf.function
    def parse(self, image):
        return self.compose(image)

    @tf.function
    def losses(self, batch):
        def loss(batch):
            y, x = batch
            return tf.reduce_sum(y * x)

        return tf.map_fn(loss, elems=batch, fn_output_signature=tf.float32)

    def train(self, n):
        batch = self.tasks.sample(n)
        return tf.map_fn(lambda batch: self.losses(batch), elems=batch, fn_output_signature=tf.float32)


def main(cfg, tasks):
    return Tasks(Compose((3, 3), cfg), tasks).parse(tf.ones([5, 5, 3]))
"""

SCRATCH_OF_MODELS = """\
import tensorflow as tf


class Decoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(3)
        self.angles = None

    def call(self, x):
        self.angles = self.dense(x)
        return {"angles": self.angles}


class Poses:
    def __init__(self, x):
        self.x = x

    def total(self):
        return sum(self.__dict__[name] for name in self.__dict__)


class Trainer:
    def __init__(self, models):
        self.models = {}
        for name in models:
            self.models[name] = Decoder()

    @tf.function
    def step(self, x):
        return self.models["pose"](x)["angles"], self.models["depth"](x)["angles"]


trainer = Trainer(["pose", "depth"])
trainer.step(tf.ones([2, 3]))
print(Poses(1).total())
"""

KERAS_2_OR_3 = """\
import tensorflow as tf


class Gate(tf.keras.layers.Layer):
    def call(self, x):
        if tf.reduce_sum(x) > 0:
            return x
        return x * 2


@tf.autograph.experimental.do_not_convert
def plain(x):
    if tf.reduce_sum(x) > 0:  # error
        return x
    return x * 2


gate = Gate()


@tf.function
def step(x):
    return gate(x) + plain(x)


step(tf.ones([2]))
"""

THE_SAME_EACH_TIME = """\
import tensorflow as tf


class Prenet(tf.keras.layers.Layer):
    def __init__(self, rate):
        super().__init__()
        self.rate = tf.Variable(rate, trainable=False)
        self.drop = tf.keras.layers.Dropout(0.5)
        self.other = tf.keras.layers.Dropout(0.5)
        self.sizes = None
        self.count = 0
        self.mode = "none"
        self.unread = 0

    def call(self, x):
        self.drop.rate = self.rate
        self.other.rate = self.rate
        self.sizes = (x.shape[0], 1.0 / x.shape[1])
        self.count = self.count + 1  # error
        self.unread = self.unread + 1
        self.mode = "graph"  # error
        return self.drop(x) * self.sizes[1]

    def reset(self):
        self.mode = "eager"


net = Prenet(0.1)


@tf.function
def step(x):
    return net(x)


step(tf.ones([2, 3]))
print(net.drop.rate, net.sizes, net.count, net.mode)
"""

KEPT_OBJECTS = """\
import tensorflow as tf


class Model:
    def __init__(self, size):
        self.size = tf.constant(size)

    def run(self, x):
        return x * self.size


class Lazy:
    def run(self, x):
        if not hasattr(self, "model"):
            self.model = Model(2.0)
        self.last = tf.tanh(x)  # error
        return self.model.run(x)


lazy = Lazy()
tf.function(lazy.run)(tf.ones([2]))
print(lazy.last, lazy.model)
"""

PROVOKED = """\
import unittest
import pytest
import tensorflow as tf


@tf.function
def pair(inputs):
    first, second = inputs
    return tf.matmul(first, second)


@tf.function
def other(inputs):
    first, second = inputs  # error
    return tf.matmul(first, second)


class Tests(unittest.TestCase):
    def test_bad(self):
        with self.assertRaises(ValueError):
            pair(tf.ones([2, 2]))

    def test_good(self):
        pair((tf.ones([2, 2]), tf.ones([2, 2])))


def test_bad():
    with pytest.raises(ValueError):
        pair(tf.ones([2, 2]))
    other(tf.ones([2, 2, 2]))
"""

STRUCTURES_OVER_TIME = """\
import tensorflow.compat.v1 as tf


def unroll(cell, image, reward):
    return tf.nn.dynamic_rnn(cell, (image, reward), dtype=tf.float32)


unroll(tf.nn.rnn_cell.GRUCell(4), tf.ones([3, 50, 1]), tf.ones([3, 50, 2]))
tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), tf.ones([3, 50]), dtype=tf.float32)  # error
"""


FIRST_CALL = """\
import tensorflow as tf


class Accumulator:
    def __init__(self):
        self.first_call = True
        self.slots = []

    def reinit(self):
        self.slots = [tf.Variable(tf.zeros([2]))]

    @tf.function
    def step(self, x):
        if self.first_call:
            self.reinit()
            self.first_call = False
        return self.slots[0].assign_add(x)


accumulator = Accumulator()
print(accumulator.step(tf.ones([2])), accumulator.step(tf.ones([2])))
"""

EACH_CALL = FIRST_CALL.replace("call = False", "call = True").replace("zeros([2]))]", "zeros([2]))]  # error")


OF_A_SUMMARY = """\
import tensorflow as tf

class Ranking(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, inputs):
        return self.dense(inputs["user"])

    def summary(self):
        inputs = {"user": tf.keras.Input((3,))}
        tf.keras.Model(inputs=inputs, outputs=self.call(inputs)).summary()

model = Ranking()
model.summary()
model.compile("sgd", "mse")
model.fit({"user": tf.ones([4, 3])}, tf.ones([4, 1]))
"""
"""The summary passes KerasTensors, `fit` tensors."""


@pytest.mark.parametrize(
    "text",
    [
        PRINTED,
        SUPPOSED,
        ANNOTATED,
        PLACEHOLDERS,
        GIVEN_BY_KERAS,
        SCRATCH_OF_MODELS,
        ONE_OF_SEVERAL,
        KERAS_2_OR_3,
        THE_SAME_EACH_TIME,
        KEPT_OBJECTS,
        PROVOKED,
        STRUCTURES_OVER_TIME,
        FIRST_CALL,
        EACH_CALL,
        OF_A_SUMMARY,
    ],
)
def test_only_what_is_proven_is_an_error(text: str) -> None:
    result = analyze_text(text)
    assert all(context.problem is None for context in result.facts.contexts)
    found = {finding.span.line for finding in result.findings if finding.severity is Severity.ERROR}
    assert found == {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# error")}


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (ANNOTATED, 6, "if `x` is a tensor, which no call shows"),
        (KERAS_2_OR_3, 6, "under Keras 3"),
        (THE_SAME_EACH_TIME, 16, "each call would set it to the same value"),
        (THE_SAME_EACH_TIME, 20, "if some code reads it"),
    ],
)
def test_a_warning_says_what_is_not_proven(text: str, line: int, said: str) -> None:
    found = [each for each in analyze_text(text).findings if each.span.line == line]
    assert found and all(each.severity is Severity.WARNING for each in found)
    assert said in found[0].message


def test_a_decorator_stays_where_the_type_is_only_supposed() -> None:
    result = analyze_text(ANNOTATED)
    assert result.decision("rows").action is Action.NONE
    assert result.decision("called_rows").action is Action.REMOVE_TF_FUNCTION


UNKNOWN_CALLER = """\
import tensorflow as tf


def annotated(x: tf.Tensor, y: tf.Tensor):
    for _ in range(20):
        x = tf.matmul(x, y)
    return x


def used(x, y):
    for _ in range(20):
        x = tf.matmul(x, y)
    return x


def joined(x, y):
    for _ in range(20):
        x = tf.matmul(x, y)
    return x


def main(loader):
    joined(tf.ones([2, 2]), tf.ones([2, 2]))
    for batch in loader:
        annotated(batch["a"], batch["b"])
        used(batch["a"], batch["b"])
        joined(batch["a"], batch["b"])
"""


@pytest.mark.parametrize(
    ("function", "evidence"),
    [("annotated", Evidence.ANNOTATION), ("used", Evidence.USAGE), ("joined", Evidence.DATAFLOW)],
)
def test_an_unknown_argument_does_not_beat_what_is_known(function: str, evidence: Evidence) -> None:
    decision = analyze_text(UNKNOWN_CALLER).decision(function)
    assert [parameter.evidence for parameter in decision.parameters] == [evidence, evidence]
    assert decision.action is Action.ADD_TF_FUNCTION


def test_calls_that_are_to_fail_are_no_evidence() -> None:
    decision = analyze_text(PROVOKED.replace("@tf.function\n", "")).decision("pair")
    assert not [hazard for hazard in decision.hazards if hazard.rule == "TR303"]
