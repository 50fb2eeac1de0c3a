"""Lists of objects as arguments: TensorFlow chooses the graph by each object, so a list of new objects is traced on each call."""

from __future__ import annotations

import pytest
from analysis_support import analyze_text

from terra_refactor.classify.decision import Action

PROGRAM = """\
import tensorflow as tf


class Box:
    def __init__(self, scale):
        self.scale = scale


def total(boxes, x):
    for _ in range(20):
        x = tf.tanh(x) + 1.0
    for box in boxes:
        x = x * box.scale
    return x


one, two = Box(1.0), Box(2.0)


{maker}


def run(x):
    boxes = {given}
    print(total(boxes, x))


for _ in range(1000):
    run(tf.ones([3]))
"""
INLINE = PROGRAM.replace(
    "    boxes = {given}\n", "    boxes = []\n    boxes.append({first})\n    boxes.append({second})\n"
)
ELSEWHERE = "def made():\n    found = []\n    found.append({first})\n    found.append({second})\n    return found"
NEW = {"first": "Box(1.0)", "second": "Box(2.0)"}
KEPT = {"first": "one", "second": "two"}


def decided(text: str) -> tuple[Action, str]:
    decision = analyze_text(text).decision("total")
    return decision.action, decision.reason


def test_new_objects_in_a_list_of_the_caller_are_traced_on_each_call() -> None:
    assert decided(INLINE.format(maker="", **NEW)) == (
        Action.NONE,
        "each call passes a new `boxes`: each would be traced (TR204)",
    )


def test_objects_that_stay_are_traced_once() -> None:
    action, _ = decided(INLINE.format(maker="", **KEPT))
    assert action is Action.ADD_TF_FUNCTION


def test_new_objects_in_a_list_that_another_function_makes_are_traced_on_each_call() -> None:
    action, reason = decided(PROGRAM.format(maker=ELSEWHERE.format(**NEW), given="made()"))
    assert action is Action.NONE and "TR204" in reason


@pytest.mark.parametrize("given", ["range(3)", "range(int(input()))", "(1.0, 2.0)"])
def test_a_range_is_compared_by_its_numbers(given: str) -> None:
    text = PROGRAM.replace("box.scale", "float(box)").format(maker="", given=given)
    action, reason = decided(text)
    assert action is Action.ADD_TF_FUNCTION, reason


HANDED_ON = """\
import tensorflow as tf


def total(parts, x):
    for _ in range(20):
        x = tf.tanh(x) + 1.0
    return x


def middle(parts, x):
    print(total(parts, x))


for _ in range(1000):
    middle({given}, tf.ones([3]))
"""


@pytest.mark.parametrize(
    ("given", "action"),
    [
        ("zip([1.0], [2.0])", Action.NONE),
        ("iter([1.0, 2.0])", Action.NONE),
        ("range(3)", Action.ADD_TF_FUNCTION),
        ("(1.0, 2.0)", Action.ADD_TF_FUNCTION),
    ],
)
def test_an_iterator_that_is_handed_on_is_another_one_on_each_call(given: str, action: Action) -> None:
    found, reason = decided(HANDED_ON.format(given=given))
    assert found is action, reason


@pytest.mark.parametrize("given", ["{1: 2}.items()", "{1: 2.0}.keys()", "dict(input().split()).items()"])
def test_a_view_of_a_dict_that_is_handed_on_is_refused(given: str) -> None:
    found, reason = decided(HANDED_ON.format(given=given))
    assert found is Action.NONE
    assert reason == "`parts` is a view of a dict, which a traced function does not accept"
