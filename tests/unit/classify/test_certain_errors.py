"""Errors of `lint` need certainty: what may be right is none, and what is certainly wrong stays one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.classify.decision import Action
from terra_refactor.rules.rule import Severity

RUN_EAGERLY = """\
import sys
import keras
import tensorflow as tf


class Given(keras.Model):
    def compile(self, optimizer, loss):
        super().compile(optimizer=optimizer, loss=loss, run_eagerly=True)

    def train_step(self, data):
        x, y = data
        self.seen = 1
        return {"loss": inner(x).numpy()}


class Kept(keras.Model):
    def compile(self, *args, **kwargs):
        kwargs["run_eagerly"] = True
        super().compile(*args, **kwargs)

    def call(self, x):
        return x * x.numpy()


class Asked(keras.Model):
    def train_step(self, data):
        x, y = data
        return {"loss": tf.reduce_mean(x).numpy()}


class SetAfter(keras.Model):
    def train_step(self, data):
        x, y = data
        return {"loss": tf.reduce_mean(x).numpy()}


class SetBefore(keras.Model):
    def train_step(self, data):
        x, y = data
        return {"loss": tf.reduce_mean(x).numpy()}  # error


class Refused(keras.Model):
    def train_step(self, data):
        x, y = data
        return {"loss": tf.reduce_mean(x).numpy()}  # error


@tf.function
def inner(x):
    return tf.constant(x.numpy())  # error


def train(model, **settings):
    model.compile("sgd", "mse", **settings)
    model.fit(tf.ones([4, 2]), tf.ones([4, 1]))


def train_by_attribute():
    after = SetAfter()
    after.compile("sgd", "mse")
    after.run_eagerly = True
    after.fit(tf.ones([4, 2]), tf.ones([4, 1]))
    before = SetBefore()
    before.run_eagerly = True
    before.compile("sgd", "mse")
    before.fit(tf.ones([4, 2]), tf.ones([4, 1]))


train(Given())
train(Kept())
train(Asked(), run_eagerly="--debug" in sys.argv)
train(Refused(), run_eagerly=False)
train_by_attribute()
"""

FUNCTIONS_RUN_EAGERLY = """\
import tensorflow as tf

log = []
tf.config.run_functions_eagerly(True)


@tf.function
def eager(x):
    log.append(1)
    return x.numpy()


eager(tf.ones([2]))
tf.config.run_functions_eagerly(False)


@tf.function
def graph(x):
    log.append(1)  # error
    return x * 2.0


graph(tf.ones([2]))
"""

SLICES = """\
import tensorflow as tf


class Potential:
    def __init__(self, model):
        self.model = model

    def evaluate(self, thing):
        return self.forces(self.model.convert(thing)), self.spoil([tf.eye(3), self.model.convert(thing)])

    @tf.function
    def forces(self, graph):
        part = graph[1:]
        part[0] = tf.matmul(graph[0], tf.eye(3))
        del part[1]
        return self.model(part)

    @tf.function
    def spoil(self, graph):
        part = graph[:]
        graph[0] = tf.matmul(graph[0], tf.eye(3))  # error
        return self.model(part)
"""

CONSTRUCTORS = """\
import tensorflow as tf


class Settings:
    pass


class Likelihood:
    @tf.function
    def __init__(self, settings, x):
        self.settings = settings
        settings.used = True
        self.reset()
        self.kept = x * 2.0  # error
        if tf.reduce_sum(x) > 0:
            self.flag = 1  # error

    def reset(self):
        self.count = 0

    @tf.function
    def step(self, x):
        self.count = 1  # error
        return x * 2.0


for _ in range(2):
    likelihood = Likelihood(Settings(), tf.ones([3]))
    likelihood.step(tf.ones([3]))
    print(likelihood.kept, likelihood.flag, likelihood.count)
"""

JACOBIANS = """\
import tensorflow as tf


class Trainer:
    def __init__(self, model):
        self.model = model

    @tf.function
    def unknown(self, x):
        with tf.GradientTape() as tape:
            y = self.model(x)
        found = tape.jacobian(y, self.model.trainable_variables)
        assert found
        return [tf.reshape(each, (-1,)) for each in found]

    @tf.function(autograph=False)
    def of_tensor(self, x: tf.Tensor):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        found = tape.jacobian(y, x)
        assert found  # error
        return found
"""

CACHES = """\
import tensorflow as tf


class Filled:
    def __init__(self):
        self.cache = {}
        self.first = None

    def norm(self, x, key):
        hit = self.cache.get(key)
        if hit is not None:
            return hit
        found = tf.nn.l2_normalize(x)
        self.cache[key] = found
        return found

    def lazy(self, x):
        if self.first is not None:
            return self.first
        self.first = tf.nn.l2_normalize(x)
        return self.first


filled = Filled()
filled.norm(tf.ones([3]), "a")
filled.lazy(tf.ones([3]))


@tf.function
def good(x):
    return filled.norm(x, "a") * filled.lazy(x)


good(tf.ones([3]))


class Empty:
    def __init__(self):
        self.cache = {}
        self.last = None

    def norm(self, x, key):
        if key in self.cache:
            return self.cache[key]
        self.cache[key] = tf.nn.l2_normalize(x)  # error
        return self.cache[key]

    def keep(self, x):
        self.last = tf.nn.l2_normalize(x)  # error
        return self.last


empty = Empty()
empty.keep(tf.ones([3]))


@tf.function
def bad(x):
    return empty.norm(x, "a") * empty.keep(x)


bad(tf.ones([3]))
print(empty.last)
"""

CALLS_OF_ONE_OPERATION = """\
import functools
import itertools
import tensorflow as tf

variables = [tf.Variable(tf.zeros([3])), tf.Variable(tf.zeros([2, 5]))]
shapes = list(map(lambda variable: variable.shape.as_list(), variables))
for shape, variable in zip(shapes, variables):
    variable.assign(tf.zeros(shape))
sizes = list(itertools.starmap(lambda variable, times: [variable.shape[0] * times], [(variables[0], 1), (variables[1], 3)]))
nested = tf.nest.map_structure(lambda variable: {"shape": variable.shape.as_list()}, variables)
variables[0].assign(tf.zeros(sizes[0]))
variables[1].assign(tf.zeros(nested[1]["shape"]))
variables[1].assign(tf.zeros(shapes[0]))  # error
variables[0].assign(tf.zeros(sizes[1]))  # error
variables[0].assign(tf.zeros(nested[1]["shape"]))  # error
"""

ONE_OF_SEVERAL_CLASSES = """\
import functools
import tensorflow as tf

layers = tf.keras.layers


class Recurrent(layers.Layer):
    def __init__(self, size, kind, **kwargs):
        super().__init__(**kwargs)
        made = {"lstm": layers.LSTM, "gru": layers.GRU, "last": functools.partial(layers.GRU, go_backwards=True)}[kind]
        self.recurrent = made(size, return_sequences=True)

    def call(self, x):
        return self.recurrent(x)


print(Recurrent(4, "gru")(tf.ones([1, 2, 3])))
"""

GRADIENTS_OF_GRADIENTS = """\
import tensorflow as tf


def both_ways(x):
    @tf.custom_gradient
    def up(x):
        return x * 2.0, down

    @tf.custom_gradient
    def down(dy):
        print("down")
        return dy * 2.0, up

    return up(x)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = both_ways(x)
    return tape.gradient(y, x)


step(tf.ones([3]))
"""


@pytest.mark.parametrize(
    "text",
    [
        RUN_EAGERLY,
        FUNCTIONS_RUN_EAGERLY,
        SLICES,
        CONSTRUCTORS,
        JACOBIANS,
        CACHES,
        CALLS_OF_ONE_OPERATION,
        ONE_OF_SEVERAL_CLASSES,
        GRADIENTS_OF_GRADIENTS,
    ],
)
def test_errors_are_where_they_are_certain(text: str) -> None:
    result = analyze_text(text)
    assert all(context.problem is None for context in result.facts.contexts)
    found = {finding.span.line for finding in result.findings if finding.severity is Severity.ERROR}
    assert found == {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# error")}


@pytest.mark.parametrize(
    ("text", "kept", "removed"),
    [
        (SLICES, "Potential.forces", "Potential.spoil"),
        (CACHES, "good", "bad"),
        (FUNCTIONS_RUN_EAGERLY, "eager", "graph"),
        (JACOBIANS, "Trainer.unknown", "Trainer.of_tensor"),
    ],
)
def test_a_removal_needs_as_much(text: str, kept: str, removed: str) -> None:
    result = analyze_text(text)
    assert result.decision(kept).action is not Action.REMOVE_TF_FUNCTION
    assert result.decision(removed).action is Action.REMOVE_TF_FUNCTION


def test_the_effects_of_a_gradient_of_a_gradient_are_seen() -> None:
    assert "TR101" in analyze_text(GRADIENTS_OF_GRADIENTS).rules_of("step")


@pytest.mark.parametrize(
    ("test", "differs"),
    [
        ("isinstance(x, EagerTensor)", True),
        ("isinstance(x, (tf.Variable, ops.EagerTensor))", True),
        ("isinstance(x, ops.SymbolicTensor)", True),
        ("isinstance(x, (tf.Tensor, EagerTensor))", False),
        ("isinstance(x, tf.Tensor)", False),
        ("isinstance(x.shape, EagerTensor)", False),
        ("x.__class__.__name__ == 'EagerTensor'", True),
        ("getattr(x, 'numpy', None) is not None", True),
        ("getattr(x, 'shape', None) is not None", False),
        ("getattr(table, 'numpy', None) is not None", False),  # made before the trace: it stays what it is
    ],
)
def test_a_class_that_tensors_have_in_one_mode_only(test: str, differs: bool) -> None:
    text = (
        "import tensorflow as tf\n"
        "from tensorflow.python.framework import ops\n"
        "from tensorflow.python.framework.ops import EagerTensor\n\n"
        "table = tf.constant([1.0])\n\n\n"
        f"def f(x):\n    return tf.tanh(x) if {test} else tf.sin(x)\n\n\n"
        "f(tf.ones([3]))\n"
    )
    decision = analyze_text(text).decision("f")
    assert any("with the other value that" in each for each in decision.assumptions) is differs


def test_a_project_may_wrap_by_a_decorator_of_its_own() -> None:
    text = CACHES.replace("@tf.function\n", "@wrapped\n").replace(
        "class Filled:",
        "def wrapped(function):\n"
        "    made = tf.function(function)\n\n"
        "    def inner(*args):\n"
        "        return made(*args)\n\n"
        "    return inner\n\n\n"
        "class Filled:",
        1,
    )
    result = analyze_text(text)
    found = {finding.span.line for finding in result.findings if finding.severity is Severity.ERROR}
    assert found == {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# error")}
