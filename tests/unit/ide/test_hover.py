"""Hover texts for names: operations with their shape rule, layers with weights, models as tables, and why nothing is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from ide_support import MARK, at_mark, project, shown

from terra_refactor.ide.hover import hover
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.tf_model import summaries
from terra_refactor.tf_model.registry import canonical_name, lookup

TEXT = '''\
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
from somewhere import load

class Net(keras.Model):
    """A small net."""

    def __init__(self, units):
        super().__init__()
        self.dense = layers.Dense(units, activation="relu")

    def call(self, x, training=False):
        h = self.dense(x)
        return tf.nn.softmax(h, axis=-1)

def build(n):
    inputs = keras.Input((n,))
    hidden = layers.Dense(64, use_bias=False)(inputs)
    other = layers.Dense(7)(inputs)
    return keras.Model(inputs, layers.Dense(10)(hidden))

def unused(data, m):
    if m:
        del data
    return load(m)

sequential = keras.Sequential([layers.Dense(32), layers.Dropout(0.5), layers.Dense(4)])
net = Net(16)
optimizer = keras.optimizers.SGD(0.1)
loaded = load("x")

def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss

model = build(28)
w = tf.random.normal((4, 128))
z = tf.matmul(w, tf.zeros([128, 10])) + tf.ones([10])
step(tf.zeros([32, 20]))
sequential(tf.zeros([8, 5]))
eager = z.numpy()
'''


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Snapshot, str]:
    folder = tmp_path_factory.mktemp("hover")
    path = shown(folder, "m.py")
    return project(folder, {"m.py": TEXT}).snapshot(path), path


def said(analysed: tuple[Snapshot, str], marked: str) -> str:
    plain = marked.replace(MARK, "")
    assert TEXT.count(plain) == 1
    offset = TEXT.index(plain) + marked.index(MARK)
    line, column = TEXT.count("\n", 0, offset) + 1, offset - TEXT.rfind("\n", 0, offset)
    answer = hover(*analysed, line, column)
    assert answer is not None
    assert answer.span.contains(line, column)
    return answer.text


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("tf.‸matmul(w", ["matmul: (4, 128) × (128, 10) → (4, 10) · float32", "Matrix product"]),
        (
            "tf.nn.‸softmax",
            ["softmax: (32, 16) [axis=-1] → (32, 16) · float32", "tf.nn.softmax(logits, axis=None, name=None)"],
        ),
        ("tf.nn.softmax(h, ‸axis", ["argument `axis`", "int -1"]),
        ("10])) ‸+ tf", ["(4, 10) + (10,) → (4, 10) · float32"]),
        (
            "self.‸dense(x)",
            ["dense: (32, 20) → (32, 16)", "kernel float32 (20, 16), bias float32 (16,)", "parameters: 336"],
        ),
        ("self.‸dense = ", ["float32 (32, 20) → float32 (32, 16)", "keras.layers.Dense"]),
        ("layers.‸Dense(units", ["class keras.layers.Dense(units, activation=None", "parameters: 336"]),
        ("layers.‸Dense(64", ["kernel float32 (28, 64)\nparameters: 1,792"]),
        ("‸model = build", ["Dense  float32 (N, 64)  1,792", "Dense  float32 (N, 10)  650", "known parameters: 2,442"]),
        (
            "‸sequential = ",
            ["Dense    float32 (8, 32)  192", "Dropout  float32 (8, 32)", "Dense    float32 (8, 4)   132"],
        ),
        ("optimizer.‸apply_gradients", ["apply_gradients(grads_and_vars)", "Updates variables"]),
        ("z.‸numpy()", ["Fails in a graph"]),
        ("class ‸Net", ["class Net(keras.Model)", "A small net."]),
        ("‸net = Net", ["object of class `Net`: `Net(16)`"]),
        ("‸step(tf.zeros", ["def step(x: float32 (32, 20)) -> float32 ()"]),
        ("import ‸tensorflow as", ["module `tensorflow`"]),
        ("def build(‸n)", ["int 28"]),
        ("def unused(‸data", ["unknown; the project does not call this function"]),
        ("‸loaded = load", ["unknown"]),
    ],
)
def test_hover_says(analysed: tuple[Snapshot, str], marked: str, expected: list[str]) -> None:
    text = said(analysed, marked)
    for part in expected:
        assert part in text


def test_a_models_table_has_only_the_layers_that_lead_to_its_outputs(analysed: tuple[Snapshot, str]) -> None:
    assert "(N, 7)" not in said(analysed, "‸model = build")


HOMES = (
    *(
        "tensorflow",
        "keras",
        "numpy",
        "tensorflow.random",
        "tensorflow.compat.v1",
        "tensorflow.data",
        "tensorflow.distribute",
    ),
    *(f"tensorflow.{name}" for name in ("math", "nn", "linalg", "image", "strings", "signal", "keras.backend")),
    *(
        f"keras.{name}"
        for name in ("layers", "losses", "metrics", "optimizers", "Model", "layers.Layer", "metrics.Metric", "ops")
    ),
    *(
        "keras.optimizers.Optimizer",
        "tensorflow.Variable",
        "tensorflow.Tensor",
        "keras.initializers",
        "tensorflow.dtypes",
    ),
)


def test_every_summary_speaks_of_something_that_exists() -> None:
    for key in summaries._SUMMARIES:
        found = [name for home in HOMES if lookup(name := canonical_name(f"{home}.{key}")) is not None]
        assert any(summaries.description_of(name) == summaries._SUMMARIES[key] for name in found), key
    assert summaries.description_of("mylib.softmax") is None


def test_a_card_is_not_followed_by_the_rule_that_repeats_it(tmp_path: Path) -> None:
    text = """\
        import tensorflow as tf

        def ‸hot(x):
            for _ in range(20):
                x = tf.nn.relu(x + 1.0)
            print(x)
            return x

        @tf.function
        def loud(x):
            ‸print(x)
            return x * 2.0

        for _ in range(1000):
            hot(tf.ones([3]))
        loud(tf.ones([3]))
        """
    plain = text.replace("            print(x)\n            return x\n", "            return x\n", 1)
    card = answer_at(tmp_path, plain.replace("‸print", "print"))
    assert "Add @tf.function" in card and "missed-hybridization" not in card
    assert "TR101" in answer_at(tmp_path, text.replace("‸hot", "hot"))


def test_the_name_of_a_special_method_is_shown_as_it_is(tmp_path: Path) -> None:
    text = """\
        import tensorflow as tf

        class Net:
            def ‸__call__(self, x):
                return x * 2.0

        Net()(tf.ones([2]))
        """
    found = hover(*at_mark(tmp_path, text))
    assert found is not None
    assert found.text.startswith("**Net.\\_\\_call\\_\\_**: ")


def answer_at(folder: Path, text: str) -> str:
    """The text of the hover at the mark."""
    found = hover(*at_mark(folder, text))
    assert found is not None
    return found.text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("f = lambda **given: g(\n    size=given,\n    ‸rest=given,\n)\nf(a=1)\n", "argument `rest`"),
        ("def f(log):\n    return {‸k: log[k] for k in log}\n", "`k`: unknown; "),
        ("def f(log):\n    return {k: log[k] for ‸k in log}\n", "`k`: unknown; "),
        ("def f(x):\n    raise ValueError\n    return ‸tf.abs(x)\n", "module `tensorflow`"),
        ("def f(x):\n    raise ValueError\n    return ‸f(x)\n", "def f("),
        ("class A:\n    def f(self, x):\n        ‸__y = x.z\n", "`__y`: unknown; "),
        ("class A:\n    def f(self, x):\n        __y = x.z\n        return ‸__y + 1\n", "`__y`: unknown; "),
        ("class A:\n    def f(self):\n        return self.‸__y\n", "`__y`: unknown; "),
        ("class A:\n    def f(self):\n        del self.‸__y\n", "`__y` is unbound here"),
    ],
)
def test_names_in_odd_places_have_an_answer(tmp_path: Path, text: str, part: str) -> None:
    answer = answer_at(tmp_path, f"import tensorflow as tf\n{text}")
    assert part in answer


def test_a_call_with_unknown_arguments_is_left_out_beside_others(tmp_path: Path) -> None:
    text = f"""\
        import tensorflow as tf
        def f(x):
            return tf.{MARK}reduce_sum(x, axis=1)
        def g(y):
            return f(y)
        f(tf.ones([2, 3]))
    """
    answer = answer_at(tmp_path, text)
    assert "reduce_sum: (2, 3) [axis=1] → (2,) · float32" in answer
    assert "(...)" not in answer


def test_numbers_stand_in_one_block(tmp_path: Path) -> None:
    answer = answer_at(tmp_path, f"def f(n):\n    return {MARK}n\nf(1)\nf(2)\n")
    assert answer == "```text\nint 1\nint 2\n```"


def test_settings_alone_have_one_space_before_them(tmp_path: Path) -> None:
    answer = answer_at(tmp_path, f"import tensorflow as tf\nx = tf.random.{MARK}normal(shape=(2, 3))\n")
    assert "normal: [shape=(2, 3)] → (2, 3) · float32" in answer
