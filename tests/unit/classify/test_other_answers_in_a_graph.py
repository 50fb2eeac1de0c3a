"""Results that differ in a graph, without evidence that it matters: speculative, with a sentence that says it."""

from __future__ import annotations

import pytest
from analysis_support import analyze_text

from terra_refactor.classify.decide import DecisionOptions
from terra_refactor.classify.decision import Classification

PROGRAM = """\
import tensorflow as tf

v = tf.Variable([1.0, 1.0])
numbers = tf.data.Dataset.range(5)


def step(x):
{body}


result = step(tf.ones([2]))
print(result)
"""
CASES = {
    "inside_function": ("    return x * 3.0 if tf.inside_function() else x", "tf.inside_function"),
    "device": ('    return x if "CPU" in (x * 2.0).device else -x', "device"),
    "class of a tensor": ('    return x if "Eager" in type(x).__name__ else -x', "type(...)"),
    "variable": ("    v.assign_add(x)\n    return v", "the value of a variable"),
    "variable in a dict": ('    v.assign_add(x)\n    return {"v": v}', "the value of a variable"),
    "length of a dataset": ("    return x * tf.cast(tf.range(len(numbers))[1], tf.float32)", "int64"),
}


@pytest.mark.parametrize(("body", "said"), CASES.values(), ids=CASES)
def test_what_a_graph_answers_otherwise_is_an_assumption(body: str, said: str) -> None:
    decision = analyze_text(PROGRAM.format(body=body), DecisionOptions(min_ops=0)).decision("step")
    assert decision.classification is Classification.SPECULATIVE
    assert any(said in sentence for sentence in decision.assumptions), decision.assumptions


def test_a_variable_that_nobody_looks_at_is_no_matter() -> None:
    text = (
        PROGRAM.format(body="    y = x * 2.0\n    return v.assign_add(y)")
        .replace("result = ", "")
        .replace("print(result)", "")
    )
    assert analyze_text(text, DecisionOptions(min_ops=0)).decision("step").classification is Classification.SAFE
