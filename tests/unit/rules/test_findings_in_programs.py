"""Findings of rules in whole programs, each with a near miss without a fault."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.classify.hazards import HazardMap

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
        (
            "def twice():\n    count(tf.ones([3]))\n    layer.trainable = False\n    count(tf.ones([3]))\n\ncount(tf.ones([3]))",
            True,
        ),
        ("for k in range(3):\n    layer.trainable = k > 1\n    count(tf.ones([3]))", True),
        ("for k in range(3):\n    if k > 1:\n        layer.trainable = False\n    count(tf.ones([3]))", True),
        # as in the training of two networks: it is the same at each call
        (
            "for k in range(3):\n    layer.trainable = True\n    count(tf.ones([3]))\n    layer.trainable = False\n    print(k)",
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


HEAD = "import numpy as np\nimport tensorflow as tf\n\n"


def rules(body: str, call: str) -> tuple[str, ...]:
    return analyze_text(f"{HEAD}@tf.function\ndef f{body}\n\n{call}\n").rules_of("f")


@pytest.mark.parametrize(("given", "wrong"), [("np.ones([2])", True), ("np.load('rows.npy')", False)])
def test_an_array_of_unknown_dtype_may_fit(given: str, wrong: bool) -> None:
    assert ("TR310" in rules("(x):\n    return x * tf.ones([2])", f"f({given})")) is wrong


@pytest.mark.parametrize(("measured", "wrong"), [("kept", True), ("all_of_them", False)])
def test_only_what_the_content_made_has_a_size_that_it_tells(measured: str, wrong: bool) -> None:
    body = (
        "(x):\n    all_of_them = x + 1.0\n    kept = tf.boolean_mask(x, x > 0.0)\n"
        f"    tf.print(tf.reduce_sum(kept))\n    return tf.zeros([{measured}.shape[0] * 2])"
    )
    given = "f(tf.data.Dataset.from_tensor_slices(tf.ones([5])).batch(2).get_single_element())"
    assert ("TR323" in rules(body, given)) is wrong


@pytest.mark.parametrize(
    ("inside", "reported"), [("", True), ("        rows = []\n", False), ("        columns = []\n", True)]
)
def test_a_list_that_each_iteration_makes_anew_does_not_grow(inside: str, reported: bool) -> None:
    body = f"(x):\n    rows = []\n    for row in x:\n{inside}        rows.append(row)\n    return tf.reduce_sum(x)"
    assert ("TR308" in rules(body, "f(tf.ones([4, 2]))")) is reported


@pytest.mark.parametrize("chosen", ["tf.nn.relu", "tf.keras.layers.Dense", "np.tanh"])
def test_a_tensor_chooses_no_function(chosen: str) -> None:
    body = f"(x):\n    if tf.reduce_sum(x) > 0.0:\n        way = {chosen}\n    else:\n        way = tf.nn.tanh\n    return way(x)"
    assert "TR306" in rules(body, "f(tf.ones([4, 2]))")


@pytest.mark.parametrize(
    ("behind", "wrong"),
    [("return y(x)", True), ("y = x\n    return y", False), ("return x", False), ("x += y(x)\n    return x", True)],
)
def test_a_chosen_function_matters_where_the_variable_is_read_behind_the_branch(behind: str, wrong: bool) -> None:
    body = f"(x):\n    y = tf.abs\n    if tf.reduce_sum(x) > 0.0:\n        y = tf.nn.relu\n    {behind}"
    assert ("TR306" in rules(body, "f(tf.ones([4, 2]))")) is wrong


@pytest.mark.parametrize(("shape", "wrong"), [("[None]", True), ("[3]", False), ("[None, 3]", True)])
def test_an_open_axis_of_a_signature_has_no_size(shape: str, wrong: bool) -> None:
    spec = f"tf.TensorSpec(shape={shape}, dtype=tf.float32)" if wrong else f"tf.TensorSpec({shape}, tf.float32)"
    text = (
        f"{HEAD}class Model(tf.Module):\n    @tf.function(input_signature=[{spec}])\n    def f(self, x):\n"
        f"        return tf.zeros([x.shape[0] * 2])\n\n"
        f"Model().f(tf.ones({[3] if shape != '[None, 3]' else [3, 3]}))\n"
    )
    assert ("TR309" in analyze_text(text).rules_of("Model.f")) is wrong


@pytest.mark.parametrize(("other", "wrong"), [("x * 2.0", True), ("read(x)", True), ("None", True)])
def test_none_comes_out_of_no_side_of_a_branch(other: str, wrong: bool) -> None:
    body = f"(x):\n    if tf.reduce_sum(x) > 0.0:\n        return None\n    return {other}"
    text = f"from elsewhere import read\n{HEAD}@tf.function\ndef f{body}\n\nf(tf.ones([4, 2]))\n"
    assert ("TR306" in analyze_text(text).rules_of("f")) is wrong


@pytest.mark.parametrize(("value", "wrong"), [("1.0", False), ("self.scale + 1.0", True), ("x", True)])
def test_a_loop_may_set_the_same_value_as_often_as_it_likes(value: str, wrong: bool) -> None:
    text = (
        f"{HEAD}class State:\n    def __init__(self):\n        self.scale = 0.0\n\n"
        f"    def move(self, x):\n        self.scale = {value}\n\n"
        "@tf.function\ndef f(x):\n    state = State()\n    for row in x:\n        state.move(1.0)\n    return x * state.scale\n\n"
        "f(tf.ones([4, 2]))\n"
    )
    assert ("TR322" in analyze_text(text).rules_of("f")) is wrong


@pytest.mark.parametrize(("part", "wrong"), [("tf.concat([y, y], 0)", True), ("read(y)", False), ("y + 1.0", False)])
def test_only_a_size_that_is_known_to_grow_does(part: str, wrong: bool) -> None:
    text = (
        f"from elsewhere import read\n{HEAD}@tf.function\ndef f(x):\n    y = x[:1]\n    while tf.reduce_sum(y) < 9.0:\n"
        f"        y = {part}\n    return y\n\nf(tf.ones([4]))\n"
    )
    assert ("TR307" in {hazard.rule for hazard in analyze_text(text).decision("f").hazards}) is wrong


def test_hazards_of_graphs_are_looked_for_in_functions_and_not_in_the_body_of_a_module() -> None:
    result = analyze_text(
        "import tensorflow as tf\n\nx = tf.ones([3])\nx.numpy()\n\ndef read(x):\n    x.numpy()\n\nread(x)\n"
    )
    hazards = HazardMap(result.program, result.facts)
    found = {context.function.index: hazards.found(context) for context in result.facts.contexts}
    of_module = found.pop(0)
    assert of_module == ()
    assert [[rule.id for rule, _ in each] for each in found.values()] == [["TR301"]]
