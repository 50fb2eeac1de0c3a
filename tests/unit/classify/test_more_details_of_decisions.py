"""More details of decisions: what only one case in a hundred comes past."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.classify.benefit import NOTHING, largest
from terra_refactor.classify.decide import DecisionOptions
from terra_refactor.classify.sample import SequenceSample, TensorSample

HEAD = "import tensorflow as tf\n\n"
WORK = "def work(x):\n    for _ in range(30):\n        x = tf.tanh(x) * 2.0\n    return x\n\n"


def test_the_most_of_no_counts_is_nothing() -> None:
    assert largest([]) == NOTHING


@pytest.mark.parametrize(
    ("body", "end"), [("print(1)", "call"), ("print(1)\n    print(2)", "(and 1 more)"), ("pass", "")]
)
def test_a_reason_names_one_hazard_and_counts_the_others(body: str, end: str) -> None:
    decision = analyze_text(f"{HEAD}def f(x):\n    {body}\n    return x * 2.0\n\nf(tf.ones([2]))\n").decision("f")
    assert decision.reason.endswith(end)
    assert (decision.classification.value == "unsafe") is bool(end)


def test_what_a_call_of_keras_leads_to_stays_as_it_is() -> None:
    layer = "class Layer(tf.keras.layers.Layer):\n    def call(self, x):\n        return between(x)\n\n"
    between = "def between(x):\n    return work(x)\n\n"
    uses = "layer = Layer()\nwhile input():\n    layer(tf.ones([2]))\n    work(tf.ones([2]))\n"
    decision = analyze_text(HEAD + WORK + between + layer + uses).decision("work")
    assert decision.reason.startswith("Keras traces it as part of a `call`")
    alone = analyze_text(HEAD + WORK + between + uses.replace("layer = Layer()", "layer = between")).decision("work")
    assert not alone.reason.startswith("Keras traces it")


def test_a_method_of_a_class_that_derives_from_a_layer_of_the_program_is_keras_own() -> None:
    base = "class Base(tf.keras.layers.Layer):\n    pass\n\n"
    layer = f"class Layer(Base):\n    def call(self, x):\n        return x{' * 2.0 + x' * 20}\n\n"
    decision = analyze_text(f"{HEAD}{base}{layer}layer = Layer()\nlayer(tf.ones([2]))\n").decision("Layer.call")
    assert decision.reason.startswith("Keras traces `call` itself")


@pytest.mark.parametrize("depth", [1, 2])
def test_a_tape_further_out_records_too(depth: int) -> None:
    middle = "def middle(x):\n    print('called')\n    return work(x)\n\n"
    called, between = ("work", "") if depth == 1 else ("middle", middle)
    main = (
        "def main():\n    w = tf.Variable(tf.ones([2]))\n    for _ in range(20):\n        with tf.GradientTape() as tape:\n"
        f"            loss = {called}(w)\n        w.assign_sub(tape.gradient(loss, w))\n\n\nif __name__ == '__main__':\n    main()\n"
    )
    reason = analyze_text(HEAD + WORK + between + main).decision("work").reason
    assert reason.startswith("the program calls it 20 times outside of graphs, under a tape of the caller"), reason


@pytest.mark.parametrize(
    ("old", "lines"),
    [
        ("", (4,)),
        ("tf.compat.v1.disable_eager_execution()", ()),
        ("tf.compat.v1.layers.dense(tf.ones([2, 2]), 3)", ()),
    ],
)
def test_equality_of_graphs_of_tensorflow_1_is_identity(old: str, lines: tuple[int, ...]) -> None:
    text = (
        f"import tensorflow as tf\n{old}\nlabels, scores = tf.zeros([8, 1]), tf.zeros([8])\nright = scores == labels\n"
    )
    assert analyze_text(text).lines("TR404") == lines


def test_a_list_is_passed_with_all_that_is_in_it() -> None:
    text = f"{HEAD}def f(parts):\n    return tf.concat(parts, 0)\n\nf([tf.ones([2]), tf.ones([3])])\n"
    (parameter,) = analyze_text(text, DecisionOptions(min_ops=0)).decision("f").parameters
    (sample,) = parameter.samples
    assert isinstance(sample, SequenceSample) and sample.kind == "list"
    assert [type(item) for item in sample.items] == [TensorSample, TensorSample]


def test_a_list_of_tensors_is_enough_to_know_that_tensors_are_passed() -> None:
    body = "    for _ in range(30):\n        x = tf.tanh(x) + parts[0]\n    return x + other.size()\n\n"
    text = f"{HEAD}def f(parts, other):\n    x = parts[1]\n{body}"
    calls = "f([tf.ones([2]), tf.ones([2])], unknown)\n"
    decision = analyze_text(f"from elsewhere import unknown\n{text}{calls}").decision("f")
    assert decision.reason != "nothing says that one of its parameters is a tensor"


@pytest.mark.parametrize("count", [8, 9])
def test_what_rests_on_too_many_assumptions_is_no_proposal(count: int) -> None:
    names = ["inputs", "logits", "images", "labels", "features", "weights", "mask", "targets", "tensor"][:count]
    text = f"{HEAD}def f(x: tf.Tensor, {', '.join(names)}):\n    return tf.tanh(x) * ({' + '.join(names)})\n"
    decision = analyze_text(text, DecisionOptions(min_ops=0)).decision("f")
    assert len(decision.assumptions) == count
    assert decision.reason.startswith(f"safe only if {count} assumptions hold") is (count == 9)
