"""No error rests on arguments that are not seen: those of `**settings`, those that unknown decorators add, and of host callbacks."""

from __future__ import annotations

import pytest
from analysis_support import analyze_text

from terra_refactor.classify.decision import Action
from terra_refactor.rules.rule import Severity

SETTINGS = """\
import json

from keras.layers import GRU, LSTM, Bidirectional, Concatenate, Dense, Input

with open("model.json") as file:
    params = json.load(file)


def model():
    inputs = Input((70, 20))
    first = Bidirectional(LSTM(**{**params["lstm"], **params["lstm1"]}))(inputs)
    second = Bidirectional(LSTM(8, **params["lstm"]))(first)
    third = GRU(8, **dict(params["lstm"], dropout=0.1))(second)
    return Dense(3)(Concatenate(axis=-1)([first, second, third]))


def known():
    settings = {"units": 8, "return_sequences": True}
    first = LSTM(**settings)(Input((70, 20)))
    settings["return_sequences"] = False
    second = LSTM(**settings)(first)
    return LSTM(**settings)(second)  # error


model()
known()
"""

ARGUMENT_SCOPES = """\
import keras
import tf_slim as slim


@slim.add_arg_scope
def layer(*args, **kwargs):
    return keras.layers.GRU(*args, **kwargs)


def plain(*args, **kwargs):
    return keras.layers.GRU(*args, **kwargs)


def model():
    with slim.arg_scope([layer], return_sequences=True):
        return keras.Sequential([keras.Input((None, 10)), layer(128), layer(128)])  # warning


def other():
    return keras.Sequential([keras.Input((None, 10)), plain(128), plain(128)])  # error


model()
other()
"""

ENDS = """\
import sys

import tensorflow as tf


def decoded(path, kind):
    data = tf.io.read_file(path)
    if kind == "png":
        return tf.image.decode_png(data)
    sys.exit(f"no image format: {kind}")


def stop():
    sys.exit(1)


@tf.function
def checked(x):
    if tf.reduce_sum(x) > 0:
        stop()
    return x


@tf.function
def stepwise(xs):
    for x in xs:
        sys.exit(str(x.shape))  # error
    return xs


for name in sys.argv[1:]:
    tf.data.Dataset.list_files("*." + name).map(lambda path: decoded(path, name))
    checked(tf.zeros([3]))
    stepwise(tf.zeros([3]))
""".replace("    sys.exit(1)", "    sys.exit(1)  # error")

BALANCED = """\
import tensorflow as tf


class Backend:
    def __init__(self):
        self.name = None
        self.choose()

    def choose(self, name=None):
        self.name = spelled(name or "numpy")  # warning


def spelled(name):
    return name.lower()


class Layer:
    def __init__(self):
        self.backend = Backend()
        self.calls = 0

    @tf.function
    def apply(self, x):
        self.backend.choose("TENSORFLOW")
        self.calls = following(self.calls)  # error
        self.backend.choose()
        return x + 1


def following(number):
    return number + 1


layer = Layer()
for _ in range(3):
    layer.apply(tf.zeros([]))
    print(layer.backend.name, layer.calls)
"""

AFTER_A_FAILURE = """\
import tensorflow as tf


@tf.function
def fails(x):
    product = x @ tf.zeros([5, 2])  # error
    first, second = product  # warning
    return first, second


@tf.function
def works(x):
    product = x @ tf.zeros([3, 2])
    first, second = product  # error
    return first, second


for _ in range(3):
    fails(tf.zeros([2, 3]))
    works(tf.zeros([2, 3]))
"""

OPTIONS = """\
import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--dataset", default="mnist")
parser.add_argument("--inputs", type=int, default=784)
parser.add_argument("--factors", type=int, default=8)
args = parser.parse_args()
weights = tf.Variable(tf.zeros([args.inputs, 10]))


def evaluate(images):
    return tf.reshape(images, [-1, 3072]) @ weights  # warning


if args.dataset == "mnist":
    print(tf.zeros([7, 784]) @ weights)
elif args.dataset == "cifar":
    print(tf.zeros([7, 3072]) @ weights)  # warning
    evaluate(tf.zeros([7, 32, 32, 3]))
print(tf.zeros([7, args.factors]) @ weights)  # error
print(tf.zeros([7, args.inputs]) @ weights)
"""

_SEVERITIES = (Severity.ERROR, Severity.WARNING)


@pytest.mark.parametrize(
    "text",
    [SETTINGS, ARGUMENT_SCOPES, ENDS, BALANCED, AFTER_A_FAILURE, OPTIONS],
    ids=["settings", "argument scopes", "ends", "balanced", "after a failure", "options"],
)
def test_errors_rest_on_what_is_seen(text: str) -> None:
    marked = {
        (number, severity)
        for number, line in enumerate(text.splitlines(), 1)
        for severity in _SEVERITIES
        if line.endswith(f"# {severity.value}")
    }
    found = {
        (each.span.line, each.severity)
        for each in analyze_text(text).findings
        if each.severity is Severity.ERROR or (each.severity is Severity.WARNING and each.message.endswith(")"))
    }
    assert found == marked


HOST_CALLBACK = """\
import numpy as np
import tensorflow as tf


@tf.py_function(Tout=tf.bool)
def assigned(cost):
    found = np.zeros_like(cost, dtype=bool)
    found[np.argmin(cost), 0] = True
    return found


@tf.function
def match(cost):
    return assigned(cost)


def direct(cost):
    return np.zeros_like(cost, dtype=bool)


@tf.function
def fails(cost):
    return direct(cost)


match(tf.zeros([3, 3]))
fails(tf.zeros([3, 3]))
"""


def test_what_a_host_callback_decorates_runs_as_python_in_graphs_too() -> None:
    result = analyze_text(HOST_CALLBACK)
    assert {each.span.line for each in result.findings if each.severity is Severity.ERROR} == {18}
    assert result.decision("match").action is not Action.REMOVE_TF_FUNCTION
    assert result.decision("fails").action is Action.REMOVE_TF_FUNCTION
    assert result.decision("assigned").action is Action.NONE


COMPILED = """\
import keras
import numpy as np
import tensorflow as tf


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(3)
        self.scale = 1.0
        self.factor = 1.0

    def compile(self, scale, **settings):
        super().compile(**settings)
        self.scale = scale

    def change(self, factor):
        self.factor = factor

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, data):
        loss = tf.reduce_sum(self(data)) * self.scale
        return {"loss": loss * self.factor}

    @tf.function
    def graph(self, data):
        return tf.reduce_sum(self(data)) * self.scale


model = Model()
for scale in (1.0, 2.0):
    model.compile(scale, optimizer="sgd")
    model.fit(np.ones([8, 2], np.float32))
    model.graph(np.ones([8, 2], np.float32))
    model.change(scale)
"""


def test_what_compile_sets_is_not_stale_in_the_graphs_that_it_renews() -> None:
    stale = {each.span.line for each in analyze_text(COMPILED).findings if each.rule == "TR106"}
    assert stale == {25, 29}
