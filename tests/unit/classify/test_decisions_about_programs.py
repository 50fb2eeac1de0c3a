"""Decisions about whole programs, each with a near miss where the other decision is right."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.classify.benefit import NOTHING, largest
from terra_refactor.classify.decide import DecisionOptions
from terra_refactor.classify.decision import Classification
from terra_refactor.classify.sample import SequenceSample, TensorSample

HEAD = "import tensorflow as tf\n\n"
WORK = "def work(x):\n    for _ in range(30):\n        x = tf.tanh(x) * 2.0\n    return x\n\n"


def test_what_a_function_of_map_does_to_what_it_is_given_is_nobody_elses_business() -> None:
    head = "def named(record):\n    record['twice'] = record['x'] * 2.0\n    return record\n\n"
    data = "tf.data.Dataset.from_tensor_slices({'x': [1.0, 2.0]})"
    result = analyze_text(f"{HEAD}{head}for each in {data}.map(named):\n    pass\n")
    assert result.lines("TR102") == ()
    kept = analyze_text(f"{HEAD}SEEN = {{}}\n\ndef named(x):\n    SEEN['n'] = 1\n    return x\n\n{data}.map(named)\n")
    assert kept.lines("TR102") == (6,)


def test_calls_from_graphs_are_no_calls_that_pay() -> None:
    step = "@tf.function\ndef step(x):\n    return work(x)\n\n"
    main = "if __name__ == '__main__':\n    for _ in range(500):\n        step(tf.ones([2]))\n    work(tf.ones([2]))\n"
    reason = analyze_text(HEAD + WORK + step + main).decision("work").reason
    assert "the program calls it 1 time outside of graphs" in reason


@pytest.mark.parametrize(
    ("test", "first_time"),
    [
        ("not cache.get('w')", True),
        ("cache.get('w') is None", True),
        ("cache.pop('w') is None", False),
    ],
)
def test_what_a_look_up_says_of_the_first_time(test: str, first_time: bool) -> None:
    making = "cache['w'] = tf.Variable(tf.ones([3]))"
    scaled = f"cache = {{}}\n\ndef scaled(x):\n    if {test}:\n        {making}\n    return x * cache['w']\n\n"
    rules = analyze_text(f"{HEAD}{scaled}scaled(tf.ones([3]))\nscaled(tf.ones([3]))\n").rules_of("scaled")
    assert ("TR603" not in rules) is first_time


@pytest.mark.parametrize(
    ("given", "signature"),
    [
        (("tf.ones([3])", "tf.ones([4])"), "[tf.TensorSpec(shape=[None], dtype=tf.float32)]"),
        (("tf.ones([3])", "tf.constant([1, 2, 3])"), None),
    ],
)
def test_a_signature_needs_one_dtype(given: tuple[str, ...], signature: str | None) -> None:
    calls = "".join(f"work({each})\n" for each in given)
    text = HEAD + "def work(x):\n    return x + x\n\n" + calls
    assert analyze_text(text, DecisionOptions(min_ops=0)).decision("work").input_signature == signature


@pytest.mark.parametrize(("way", "wrong"), [("read(Flag(x))", True), ("Flag(x).told()", False)])
def test_tensors_decide_only_in_code_that_autograph_rewrites(way: str, wrong: bool) -> None:
    flag = (
        "class Flag:\n    def __init__(self, x):\n        self.x = x\n\n"
        "    def told(self):\n        if tf.reduce_sum(self.x) > 1.0:\n            return self.x\n        return -self.x\n\n"
        "    @property\n    def there(self):\n        if tf.reduce_sum(self.x) > 1.0:\n            return self.x\n"
        "        return -self.x\n\n"
        "def read(flag):\n    return flag.there\n\n"
    )
    result = analyze_text(f"{HEAD}{flag}@tf.function\ndef step(x):\n    return {way}\n\nstep(tf.ones([3]))\n")
    assert ("TR304" in result.rules_of("step")) is wrong


@pytest.mark.parametrize(("decorator", "lines"), [("", ()), ("    @tf.function\n", (8,))])
def test_keras_collects_the_losses_that_call_adds(decorator: str, lines: tuple[int, ...]) -> None:
    model = (
        "import keras\nimport numpy as np\nimport tensorflow as tf\n\nclass Model(keras.Model):\n"
        f"{decorator or '    # plain' + chr(10)}    def call(self, x):\n        self.add_loss(tf.reduce_sum(x))\n        return x\n\n"
        "model = Model()\nmodel.compile('sgd')\nmodel.fit(np.ones([4, 2], np.float32))\n"
    )
    assert analyze_text(model).lines("TR102") == lines


@pytest.mark.parametrize(
    ("given", "unsafe"), [("Positive(1.0)", True), ("tfp.util.TransformedVariable(1.0, tfp.bijectors.Exp())", False)]
)
def test_a_graph_puts_deferred_tensors_together_again_without_what_a_subclass_adds(given: str, unsafe: bool) -> None:
    text = (
        "import tensorflow as tf\nimport tensorflow_probability as tfp\n\n"
        "class Positive(tfp.util.TransformedVariable):\n    def __init__(self, value):\n"
        "        super().__init__(value, tfp.bijectors.Exp())\n        self.prior = 2.0\n\n"
        "def weighted(x, scale):\n    for _ in range(20):\n        x = tf.tanh(x * scale)\n    return x\n\n"
        f"scale = {given}\nfor _ in range(100):\n    weighted(tf.ones([3]), scale)\n"
    )
    decision = analyze_text(text).decision("weighted")
    assert (decision.classification is Classification.UNSAFE and "is rebuilt as" in decision.reason) is unsafe


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
    assert decision.reason != "no parameter is known to be a tensor"


@pytest.mark.parametrize("count", [8, 9])
def test_what_rests_on_too_many_assumptions_is_no_proposal(count: int) -> None:
    names = ["inputs", "logits", "images", "labels", "features", "weights", "mask", "targets", "tensor"][:count]
    text = f"{HEAD}def f(x: tf.Tensor, {', '.join(names)}):\n    return tf.tanh(x) * ({' + '.join(names)})\n"
    decision = analyze_text(text, DecisionOptions(min_ops=0)).decision("f")
    assert len(decision.assumptions) == count
    assert decision.reason.startswith(f"safe only if {count} assumptions hold") is (count == 9)
