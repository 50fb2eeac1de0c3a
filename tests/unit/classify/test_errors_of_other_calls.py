"""What holds for one call of a function is no error in another: closures that are graphs in some calls only, sides of conditions that
eager code tests, entries that each call would store again, and functions that others call as well.
"""

from __future__ import annotations

import pytest
from analysis_support import analyze_text

from terra_refactor.classify.decide import DecisionOptions
from terra_refactor.classify.decision import Action
from terra_refactor.rules.rule import Severity


def _severities(text: str, rule: str) -> list[Severity]:
    return [found.severity for found in analyze_text(text).findings if found.rule == rule]


CLOSURE = """
import tensorflow as tf

class Optimizer:
    def __init__(self, trace=False):
        self.trace = trace

    def wrapped(self, loss):
        def f(x):
            return loss(x)
        {wrap}
        return f

class First(Optimizer):
    def minimize(self, loss):
        return self.wrapped(loss)

class Second(Optimizer):
    def __init__(self, size=3, trace=False):
        super().__init__(trace)

    def minimize(self, loss):
        return self.wrapped(loss)

def loss(x):
    assert tf.reduce_all(x > 0)
    return tf.reduce_sum(x)

First().minimize(loss)
"""


@pytest.mark.parametrize(
    ("wrap", "severities"),
    [
        ("if self.trace: f = tf.function(f)", [Severity.WARNING]),
        ("f = tf.function(f)", [Severity.ERROR]),
    ],
)
def test_a_closure_that_only_some_calls_make_a_graph(wrap: str, severities: list[Severity]) -> None:
    # `Second` may be created with `trace=True`, but gets no such loss
    assert _severities(CLOSURE.format(wrap=wrap), "TR304") == severities


RANKS = """
import numpy as np
import tensorflow as tf

class Window(tf.keras.layers.Layer):
    def call(self, inputs):
        if tf.rank(inputs) == 2:
            series, several = inputs, False
        else:
            series, several = inputs, True
        if several:
            steps = tf.shape(series)[1]
            return self.weighted(tf.reshape(series, [-1, steps]))
        return self.weighted(series)

    def weighted(self, series):
        return series * tf.ones([tf.shape(series)[1]])

batch = np.random.rand(3, 200, 2)
out = Window(){method}(tf.constant(batch, dtype=tf.float32))
"""


def test_eager_code_may_test_the_rank_before_it_calls() -> None:
    assert _severities(RANKS.format(method=""), "TR401") == [Severity.WARNING]
    assert _severities(RANKS.format(method=".weighted"), "TR401") == [Severity.ERROR]


ENTRIES = """
import time
import tensorflow as tf
from configs import Config

entries = {{}}

def register(name, value):
    {write}

config = Config()

@tf.function
def parse(x):
    register("first", config)
    return tf.sin(x)

for _ in range(3):
    parse(tf.ones([3]))
print(entries)
"""


@pytest.mark.parametrize(
    ("write", "severity"),
    [
        ("entries[name] = Config()", Severity.WARNING),
        ("entries[name] = value", Severity.WARNING),
        ("entries[name] = entries[name] + 1", Severity.ERROR),
        ("entries[name] = entries.get(name, 0) + 1", Severity.ERROR),
        ("entries[len(entries)] = value", Severity.ERROR),
        ("entries[name] = time.time()", Severity.ERROR),
    ],
)
def test_an_entry_that_each_call_would_store_again(write: str, severity: Severity) -> None:
    assert _severities(ENTRIES.format(write=write), "TR102") == [severity]


NESTED = """
import tensorflow as tf
from elsewhere import publish

def build(model):
    @tf.function
    def assign(x):
        for _ in range(30):
            x = tf.sin(x) + 1.0
        return x

    @tf.function
    def step(x):
        return assign(x) * 2.0
{handed_out}
    return step

step = build(None)
for _ in range(1000):
    step(tf.ones([3]))
"""


@pytest.mark.parametrize(
    ("handed_out", "action"),
    [
        ("", Action.REMOVE_TF_FUNCTION),
        ("\n    publish(assign)", Action.NONE),
        ("\n    step.assign = assign", Action.NONE),
    ],
)
def test_a_nested_graph_that_others_may_call_stays(handed_out: str, action: Action) -> None:
    result = analyze_text(NESTED.format(handed_out=handed_out))
    assert result.decision("build.<locals>.assign").action is action


BEHIND = """
import tensorflow as tf

@tf.function
def residuals(t: tf.Tensor, base: tf.Tensor):
    return [base[i] for i in tf.range({size})]

residuals(tf.ones([3]), tf.ones([3, 2]))
"""


@pytest.mark.parametrize(("size", "severity"), [("t.shape - 1", Severity.WARNING), ("t.shape[0] - 1", Severity.ERROR)])
def test_a_shape_has_no_difference_with_a_number(size: str, severity: Severity) -> None:
    text = BEHIND.format(size=size)
    assert _severities(text, "TR303") == [severity]
    action = analyze_text(text, DecisionOptions(min_ops=0)).decision("residuals").action
    assert (action is Action.REMOVE_TF_FUNCTION) is (severity is Severity.ERROR)
