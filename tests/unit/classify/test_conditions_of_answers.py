"""Conditions of rules and decisions that change an answer, each with a program that shows it.

Found with mutants (`tools/check_mutants.py`) that no other test detected.
"""

from __future__ import annotations

import pytest
from analysis_support import analyze_text

from terra_refactor.classify.decision import Action, Classification
from terra_refactor.rules.rule import Severity

START = "import tensorflow as tf\n"
FINDINGS = {
    "a call shows which value of a variable a function reads": """
A = tf.ones((2, 3))
A = tf.ones((4, 5))


def f():
    return tf.matmul(A, tf.ones((2, 2)))  # error TR401


f()
""",
    "no call shows which value of a variable a function reads": """
A = tf.ones((2, 3))
A = tf.ones((4, 5))


def f():
    return tf.matmul(A, tf.ones((2, 2)))  # warning TR401
""",
    "the module itself reads each value": """
A = tf.ones((2, 3))
tf.matmul(A, tf.ones((2, 2)))  # error TR401
A = tf.ones((4, 5))
tf.matmul(A, tf.ones((2, 2)))  # error TR401
""",
    "an attribute that is set to one of two values, of which one changes between calls": """
class Model:
    def __init__(self):
        self.is_kept = True
        self.count = 0
        self.last = 0

    def tick(self):
        self.count += 1

    @tf.function
    def step(self, x):
        self.last = self.count if self.is_kept else 0  # error TR102  # warning TR106
        return x * 1.0


model = Model()
for _ in range(4):
    model.step(tf.ones(3))
    model.tick()
    print(model.last)
""",
    "the array that an expression chooses is used": """
@tf.function
def chosen(x):
    rows = tf.TensorArray(tf.float32, size=2)
    done = rows.write(0, x) if x.shape[0] else rows
    return done.stack()


@tf.function
def by_and(x):
    rows = tf.TensorArray(tf.float32, size=2)
    return (x.shape[0] and rows.write(0, x)).stack()


@tf.function
def dropped(x):
    rows = tf.TensorArray(tf.float32, size=2)
    rows.write(0, x)  # error TR320
    return rows.stack()


chosen(tf.ones(3))
by_and(tf.ones(3))
dropped(tf.ones(3))
""",
    "a tuple on one side and an unknown value on the other agree": """
@tf.function
def first(x, make):
    if tf.reduce_sum(x) > 0:
        y = (x, x)
    else:
        y = make()
    return y


@tf.function
def second(x, make):
    if tf.reduce_sum(x) > 0:
        y = make()
    else:
        y = (x, x)
    return y
""",
    "a caller's loop sets an attribute of an object of an unknown class": """
import things


@tf.function
def step(x, thing):
    return tf.tanh(thing.apply(x))  # warning TR106


def train():
    thing = things.Thing()
    for i in range(10):
        thing.rate = 0.9 / (i + 1)
        step(tf.ones((3, 3)), thing)


train()
""",
}


@pytest.mark.parametrize("text", FINDINGS.values(), ids=FINDINGS.keys())
def test_findings(text: str) -> None:
    lines = (START + text).splitlines()
    marked = {
        (number, *mark.split())
        for number, line in enumerate(lines, 1)
        for mark in line.split("# ")[1:]
        if " TR" in mark
    }
    result = analyze_text(START + text)
    found = {
        (each.span.line, each.severity.value, each.rule)
        for each in result.findings
        if each.severity is not Severity.INFORMATION
    }
    assert found == marked
    assert not any(each.reason.startswith("internal error") for each in result.decisions)


def test_a_number_computed_from_one_that_a_branch_merges() -> None:
    text = """\
import tensorflow as tf


@tf.function
def f(x):
    n = 1
    if tf.reduce_sum(x) > 0:
        n = 2
    m = n + 1
    return x * m


f(tf.ones(3))
"""
    (found,) = [each for each in analyze_text(text).findings if each.rule == "TR306"]
    assert found.span.line == 10 and "`m` is a number" in found.message


def test_a_function_that_a_script_defines_in_a_loop_and_calls_there_often() -> None:
    text = """\
import tensorflow as tf

for k in range(3):

    def step(x):
        for _ in range(20):
            x = tf.tanh(x @ x)
        return x

    for _ in range(1000):
        step(tf.ones((4, 4)))
"""
    assert analyze_text(text).decision("step").action is Action.ADD_TF_FUNCTION


def test_the_calls_by_a_graph_that_loses_its_decorator_are_not_counted_as_none() -> None:
    text = """\
import tensorflow as tf

history = []


def inner(x):
    for _ in range(20):
        x = tf.tanh(x @ x)
    return x


@tf.function
def outer(x):
    y = inner(x)
    history.append(y)
    return y


for _ in range(1000):
    outer(tf.ones((4, 4)))
"""
    result = analyze_text(text)
    assert result.decision("outer").action is Action.REMOVE_TF_FUNCTION
    inner = result.decision("inner")
    assert (inner.classification, inner.action) == (Classification.SAFE, Action.ADD_TF_FUNCTION)
    assert inner.expected_gain is None or inner.expected_gain.calls > 0
