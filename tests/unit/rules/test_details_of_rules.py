"""Details of rules that a mistake in their code would change without any sample or case noticing."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

GRAPH = "import tensorflow as tf\n\n@tf.function\ndef step(x, y):\n{}\n\nstep(tf.ones([3]), tf.ones([3]))\n"


def rules_of(body: str) -> tuple[str, ...]:
    """The rules by which a traced function with that body is wrong."""
    result = analyze_text(GRAPH.format(textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")))
    return result.rules_of("step")


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        # a key makes numbers of the tensors before anything is compared
        ("return sorted([x, y], key=lambda each: 1.0)[0]", ()),
        ("return max(tf.reduce_sum(x), 0.0)", ("TR304",)),
        # what is spread is a tuple of tensors, or a tensor
        ("pair = (x, y)\nreturn tf.add(*pair)", ()),
        ("return tf.stack([*x])", ("TR303",)),
        # kept as an item, as an attribute, or only called
        ("kept = {}\nfor i in range(3):\n    kept[i] = lambda v: v * float(i)\nreturn kept[0](x)", ("TR326",)),
        ("kept = {}\nfor i in range(3):\n    kept[i] = (lambda v: v * float(i))(x)\nreturn kept[0]", ()),
        # a condition of a loop that starts as a Python value, next to one that is a tensor throughout
        ("left = True\nwhile left:\n    x = x + 1.0\n    left = tf.reduce_sum(x) < 9.0\nreturn x", ("TR306",)),
        ("n = tf.constant(0)\nwhile n < 3:\n    n = n + 1\nreturn n", ()),
        ("n = 0\nwhile n < 3:\n    n = n + 1\nreturn x * float(n)", ()),
    ],
)
def test_what_is_wrong_as_a_graph(body: str, rules: tuple[str, ...]) -> None:
    assert rules_of(body) == rules


CHANGES = """
import tensorflow as tf

class Count:
    def __init__(self):
        self.calls = 0

    def one_more(self, other):
        {changes}.calls += 1

@tf.function
def step(x, y):
    mine = Count()
    other = Count()
    if tf.reduce_sum(x) > 2.0:
        mine.one_more(other)
    return x + float({read}.calls)

step(tf.ones([3]), tf.ones([3]))
"""


@pytest.mark.parametrize(
    ("changes", "read", "rules"), [("self", "mine", ("TR322",)), ("other", "other", ("TR322",)), ("self", "other", ())]
)
def test_the_receiver_is_the_first_argument_of_a_method(changes: str, read: str, rules: tuple[str, ...]) -> None:
    assert analyze_text(CHANGES.format(changes=changes, read=read)).rules_of("step") == rules


FREEZES = """
import keras
import tensorflow as tf

layer = keras.layers.Dense(2)
layer.build([None, 3])

def count(x):
    return tf.reduce_sum(x) * float(len(layer.trainable_variables))

{rest}
"""


@pytest.mark.parametrize(
    ("rest", "assumed"),
    [
        ("count(tf.ones([3]))\nlayer.trainable = False\ncount(tf.ones([3]))", True),
        ("layer.trainable = False\ncount(tf.ones([3]))\ncount(tf.ones([3]))", False),
        # a function is no script: nobody knows what comes between its calls
        (
            "def twice():\n    count(tf.ones([3]))\n    layer.trainable = False\n    count(tf.ones([3]))\n\ncount(tf.ones([3]))",
            False,
        ),
    ],
)
def test_a_script_that_freezes_layers_between_calls(rest: str, assumed: bool) -> None:
    sentences = analyze_text(FREEZES.format(rest=rest)).decision("count").assumptions
    assert any("trainable_variables" in sentence for sentence in sentences) is assumed


POSITIVE = """
import tensorflow as tf

def positive(row):
    return tf.range(tf.where(row > 0.0).shape[0])

tf.{call}(positive, tf.ones([2, 3]), fn_output_signature=tf.int32)
"""


def test_map_fn_runs_its_function_eagerly_where_it_is_called_eagerly() -> None:
    assert not analyze_text(POSITIVE.format(call="map_fn")).findings
    traced = POSITIVE.format(call="vectorized_map").replace(", fn_output_signature=tf.int32", "")
    assert analyze_text(traced).lines("TR323") == (5,)


GUARDED = """
import numpy as np
import tensorflow as tf

def error(true, seen):
    try:
        return tf.reduce_mean((true[np.newaxis, :] - seen) ** 2)
    except {exceptions}:
        {handled}

error(np.array(3.0), tf.ones([4]))
"""


@pytest.mark.parametrize(
    ("exceptions", "handled", "reported"),
    [
        ("IndexError", "return tf.reduce_mean((true - seen) ** 2)", False),
        ("(KeyError, ValueError)", "return None", False),
        ("Exception", "return None", False),
        ("Exception", "raise", True),
        ("KeyboardInterrupt", "return None", True),
        ("(KeyError, tf.errors.OutOfRangeError)", "return None", True),
    ],
)
def test_what_a_handler_may_be_for_is_no_proven_failure(exceptions: str, handled: str, reported: bool) -> None:
    found = analyze_text(GUARDED.format(exceptions=exceptions, handled=handled)).lines("TR402")
    assert found == ((7,) if reported else ())


def test_a_package_for_tensors_may_give_a_tensor() -> None:
    text = "import keras_core\nimport tensorflow as tf\n\nclass Words(keras_core.layers.Layer):\n"
    text += "    def take(self, x):\n        found = self.table.lookup(x)\n        return tf.boolean_mask(x, found == '')\n\n"
    assert not analyze_text(text + "Words().take(tf.constant(['a']))\n").lines("TR402")


ASKS = """
import tensorflow as tf

def value(x):
    {scope}
        eagerly = tf.executing_eagerly() and not tf.inside_function()
    if eagerly:
        return x.numpy()
    return x

@tf.function
def step(x):
    return value(x)

step(tf.ones([3]))
"""


@pytest.mark.parametrize(("scope", "lines"), [("if True:", ()), ("with tf.init_scope():", (8,))])
def test_code_that_a_trace_runs_does_not_run_eagerly(scope: str, lines: tuple[int, ...]) -> None:
    assert analyze_text(ASKS.format(scope=scope)).lines("TR301") == lines


CAPTURES = """
import tensorflow as tf

def run(scale):
    {before}
    for i in range(3):
        {inside}
        step(tf.ones([3]))
"""
STEP = "def step(x):\n{}    return x * scale"


@pytest.mark.parametrize(
    ("before", "inside", "stale"),
    [
        (STEP.format("    "), "scale = float(i)", True),
        (STEP.format("    "), "other = float(i)", False),
        ("other = 1.0", STEP.format("        "), False),
        # each round makes a function of its own
        ("other = 1.0", "value = float(i)\n        " + STEP.format("        ").replace("scale", "value"), False),
        # the function is called before, and again after
        ("other = 1.0", STEP.format("        ") + "\n        step(tf.ones([2]))\n        scale = 3.0", True),
    ],
)
def test_a_captured_variable_that_is_bound_again(before: str, inside: str, stale: bool) -> None:
    text = CAPTURES.format(before=before, inside=inside) + "\nrun(2.0)\n"
    hazards = analyze_text(text).decision("run.<locals>.step").hazards
    assert any(hazard.rule == "TR106" for hazard in hazards) is stale
