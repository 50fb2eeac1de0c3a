"""Details of decisions that a mistake in their code would change without any case noticing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.classify.decide import DecisionOptions
from terra_refactor.classify.decision import Classification

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
    assert (decision.classification is Classification.UNSAFE and "put together again" in decision.reason) is unsafe
