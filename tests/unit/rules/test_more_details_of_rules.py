"""More details of rules: what a mistake in their code would change without any sample noticing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

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
