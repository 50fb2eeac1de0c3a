"""Conditions of rules that a sample of mutants showed to be untested: each with the nearest program on the other side."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from analysis_support import analyze_text
from test_findings_in_programs import GRAPH, rules_of

CAPTURED = """
import tensorflow as tf

def outer(x{parameter}):
    {before}
    @tf.function
    def inner(y):
        return y * scale

    first = inner(x) if {called} else x
    {after}
    return inner(first)

outer(tf.ones([3]){given})
"""


@pytest.mark.parametrize(
    ("parameter", "before", "after", "stale"),
    [
        ("", "scale = 1.0", "scale = 2.0", True),
        (", scale", "pass", "scale = 2.0", True),
        ("", "pass", "scale = 2.0", False),
        ("", "scale = 1.0", "pass", False),
    ],
)
def test_a_captured_variable_is_stale_if_it_has_another_value_later(
    parameter: str, before: str, after: str, stale: bool
) -> None:
    text = CAPTURED.format(
        parameter=parameter,
        before=before,
        after=after,
        given=", 1.0" if parameter else "",
        called=before != "pass" or bool(parameter),
    )
    hazards = analyze_text(text).decision("outer.<locals>.inner").hazards
    assert any(each.rule == "TR106" for each in hazards) is stale


COMPILED = """
import sys
import tensorflow as tf

def halved(x, depth):
    {body}
    return halved(x / 2.0, depth - 1) if depth > 0 else x

def start(x):
    return halved(x, len(sys.argv))

@tf.function(jit_compile=True)
def step(x):
    return start(x)

step(tf.ones([3]))
"""


@pytest.mark.parametrize(("body", "lines"), [("pass", ()), ("tf.print(x)", (14,))])
def test_what_xla_reaches_through_a_recursion(body: str, lines: tuple[int, ...]) -> None:
    assert analyze_text(COMPILED.format(body=body)).lines("TR701") == lines


STACKED = """
import functools
import tensorflow as tf

class Ring:
    def __init__(self):
        self.radius = tf.constant(2.0)

    @tf.function
    {between}
    {below}
    def area(self):
        return 3.0 * self.radius

area = Ring().area
"""


@pytest.mark.parametrize(
    ("between", "below", "lines"),
    [
        ("@property", "@tf.function", (9,)),
        ("@tf.autograph.experimental.do_not_convert", "@property", (9,)),
        ("@tf.autograph.experimental.do_not_convert", "@tf.autograph.experimental.do_not_convert", ()),
    ],
)
def test_every_decorator_below_a_traced_function_counts(between: str, below: str, lines: tuple[int, ...]) -> None:
    assert analyze_text(STACKED.format(between=between, below=below)).lines("TR605") == lines


MULTIPLIED = """
import tensorflow as tf

def {name}(n, k):
    return n {operator} k

@tf.function
def step(rows):
    count = 1
    for row in rows:
        count = {name}(count, 3)
    return count

step(tf.ones([3, 2]))
"""


@pytest.mark.parametrize(("operator", "grows"), [("*", True), ("+", False)])
def test_an_int_that_a_called_function_multiplies_may_overflow(operator: str, grows: bool) -> None:
    decision = analyze_text(MULTIPLIED.format(name="scaled", operator=operator)).decision("step")
    assert any("is multiplied in a loop" in each.message for each in decision.hazards) is grows


WATCHED = """
import tensorflow as tf

left, right = tf.Variable(1.0), tf.Variable(2.0)

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        if x > 0.0:
            loss = left * x
        else:
            loss = right * x
    found = tape.{call}
    return {result}

step(tf.constant(1.0))
"""


@pytest.mark.parametrize(
    ("call", "result", "lines"),
    [
        ("watched_variables()", "len(found)", (13,)),
        ("gradient(loss, left)", "found", ()),
        ("gradient(loss, left)", "found if found is not None else x", (14,)),
    ],
)
def test_a_tape_is_asked_for_its_variables_or_a_gradient_is_compared_with_none(
    call: str, result: str, lines: tuple[int, ...]
) -> None:
    assert analyze_text(WATCHED.format(call=call, result=result)).lines("TR334") == lines


ARRAYS = """
import numpy as np
import tensorflow as tf

@tf.function
def step(x, rows):
    {body}

step(tf.ones([3]), np.ones([3], np.float32))
"""


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("return x if isinstance(rows, np.ndarray) else x + 1.0", ("TR302",)),
        ("return x if isinstance(rows + x, np.ndarray) else x + 1.0", ()),
        ("return x if isinstance(x, np.ndarray) else x + 1.0", ()),
    ],
)
def test_the_class_of_an_array_that_is_an_argument(body: str, rules: tuple[str, ...]) -> None:
    assert analyze_text(ARRAYS.format(body=body)).rules_of("step") == rules


@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [
        ("x", "(x, y)", ("TR306",)),
        ("(x, y)", "(y, x)", ()),
        ("x", "y", ()),
        ("[x, y]", "(x, y)", ("TR306",)),
    ],
)
def test_a_structure_on_one_side_only(first: str, second: str, rules: tuple[str, ...]) -> None:
    body = f"if tf.reduce_sum(x) > 0.0:\n    z = {first}\nelse:\n    z = {second}\nreturn z"
    assert rules_of(body) == rules


def test_an_operation_that_takes_a_tensor_may_return_something_else() -> None:
    assert rules_of("return tf.data.Dataset.from_tensor_slices(x)") == ("TR318",)


def test_functions_that_several_callers_reach_are_visited_once() -> None:
    levels = 40
    calls = "\n".join(f"def level{n}(x):\n    return level{n + 1}(x) + level{n + 1}(x)\n" for n in range(levels))
    end = f"def level{levels}(x):\n    return x\n\n@tf.function(jit_compile=True)\ndef step(x):\n    return level0(x)\n"
    assert analyze_text(f"import tensorflow as tf\n\n{calls}\n{end}\nstep(tf.ones([3]))\n").lines("TR701") == ()


@pytest.mark.parametrize(
    ("first", "second", "one_sided"), [("None", "x", True), ("x", "None", True), ("None", "None", False)]
)
def test_a_function_of_a_cond_that_gives_none(first: str, second: str, one_sided: bool) -> None:
    body = f"tf.cond(tf.reduce_sum(x) > 0.0, lambda: {first}, lambda: {second})\nreturn x"
    messages = messages_of(body)
    assert any("is None on one side only" in each for each in messages) is one_sided, messages


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        ("for row in x:\n    if row > 0.0:\n        return x\n    else:\n        return y\nreturn y", True),
        ("for row in x:\n    if row > 0.0:\n        return x\n    y = y + row\nreturn y", False),
    ],
)
def test_code_behind_a_branch_that_always_returns_is_traced(body: str, reported: bool) -> None:
    assert any("is never reached eagerly" in each for each in messages_of(body)) is reported


def messages_of(body: str) -> list[str]:
    """The hazards of a traced function with that body, assumed ones among them."""
    result = analyze_text(GRAPH.format(textwrap.indent(body, "    ")))
    return [hazard.message for hazard in result.decision("step").hazards]


CALLED_WITH_NUMBERS = """
import tensorflow as tf

@tf.function
def scaled(x, rate):
    return x * rate

for number in range(5):
    scaled({tensor}, number * 0.5)
"""


@pytest.mark.parametrize(
    ("tensor", "cured"),
    [("tf.ones([3])", True), ("tf.ones([3], tf.float64)", False), ("tf.ones([3], tf.int32)", False)],
)
def test_a_number_becomes_a_tensor_only_of_the_dtype_it_is_used_with(tensor: str, cured: bool) -> None:
    (finding,) = (
        each for each in analyze_text(CALLED_WITH_NUMBERS.format(tensor=tensor)).findings if each.rule == "TR201"
    )
    assert (finding.cure is not None) is cured


@pytest.mark.parametrize(
    ("call", "cured"),
    [
        ("np.sqrt(x)", True),
        ("np.maximum(x, 0.0)", True),
        ("np.sqrt(tf.cast(x, tf.int32))", False),
        ("np.power(x, tf.cast(y, tf.float64))", False),
    ],
)
def test_a_numpy_function_has_a_counterpart_for_some_dtypes(call: str, cured: bool) -> None:
    result = analyze_text(GRAPH.format(f"    import numpy as np\n    return {call}"))
    (hazard,) = (each for each in result.decision("step").hazards if each.rule == "TR302")
    assert (hazard.cure is not None) is cured


CONNECTED = """
import tensorflow as tf

@tf.function
def model(x):
    features = tf.tanh(x)
    return features, tf.reduce_sum(features)

def heat(x):
    with tf.GradientTape() as tape:
        features, score = model(x)
        target = {target}
    return tape.gradient(target, features)

heat(tf.ones([3]))
"""


@pytest.mark.parametrize(
    ("target", "reported"),
    [
        ("score", True),
        ("tf.reduce_max(score)", True),
        ("score.__add__(1.0)", True),
        ("tf.reduce_sum(features)", False),
    ],
)
def test_a_gradient_of_what_is_computed_from_another_result(target: str, reported: bool) -> None:
    assert bool(analyze_text(CONNECTED.format(target=target)).lines("TR334")) is reported


@pytest.mark.parametrize(
    ("value", "reported"), [("len(x)", True), ("float(x[0])", True), ("x.numpy()", False), ("np.sum(x)", False)]
)
def test_a_python_value_is_returned_only_by_a_call_that_does_not_raise(value: str, reported: bool) -> None:
    messages = messages_of(f"import numpy as np\nreturn {value}")
    assert any("which a graph returns as a tensor" in each for each in messages) is reported, messages


@pytest.mark.parametrize(
    ("first", "second", "differ"),
    [
        ("x, x", "x", True),
        ("x", "(x, x)", True),
        ("x, (x, x)", "x, x", True),
        ("x, x", "x, -x", False),
        ("x", "-x", False),
    ],
)
def test_a_structure_and_a_tensor_of_unknown_dtype_may_be_no_sides_of_a_branch(
    first: str, second: str, differ: bool
) -> None:
    """TensorFlow raises for those that differ, whatever the dtype; that it is a tensor may be only guessed."""
    for parameter in ("x: tf.Tensor", "x"):
        body = f"    if tf.reduce_sum(x) > 0.0:\n        return {first}\n    return {second}\n"
        hazards = analyze_text(f"import tensorflow as tf\n\ndef f({parameter}):\n{body}").decision("f").hazards
        assert [(each.rule, each.assumed is not None) for each in hazards] == [("TR306", True)] * differ
