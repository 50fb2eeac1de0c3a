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
