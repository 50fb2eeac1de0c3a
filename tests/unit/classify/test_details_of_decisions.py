"""Conditions of decisions that a mistake would turn round without another test noticing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.classify.benefit import Count
from terra_refactor.classify.calls import PLAIN
from terra_refactor.classify.decision import Action, Classification
from terra_refactor.classify.recorded import gain_of

REPLICAS = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
total = tf.Variable(0.0)

def counted(x):
    for _ in range(20):
        x = tf.nn.relu(x + 1.0)
    total.assign_add(tf.reduce_sum(x))
    return x

def smoothed(x):
    for _ in range(20):
        x = tf.nn.relu(x * 0.5 + tf.roll(x, 1, axis=0))
    return x

def step(x):
    return smoothed(counted(x))

for _ in range(1000):
    strategy.run(step, args=(tf.ones([3]),))
"""


def test_below_a_step_of_replicas_only_what_updates_variables_stays_eager() -> None:
    result = analyze_text(REPLICAS)
    actions = {name: result.decision(name).action for name in ("counted", "smoothed", "step")}
    assert actions == {"counted": Action.NONE, "smoothed": Action.ADD_TF_FUNCTION, "step": Action.NONE}


@pytest.mark.parametrize(("steps", "counted"), [(6, "about 151 "), (60, "about 1231 ")])
def test_a_recurrent_layer_counts_its_time_steps(steps: int, counted: str) -> None:
    text = (
        "import tensorflow as tf\n\nlayer = tf.keras.layers.LSTM(4)\n\ndef run(x):\n    return layer(x)\n\n"
        f"for _ in range(1000):\n    run(tf.ones([2, {steps}, 3]))\n"
    )
    assert analyze_text(text).decision("run").reason.startswith(counted)


LAZY = """
import tensorflow as tf

class Model:
    def __init__(self):
        self.scale = None

    def call(self, x, fresh):
        if {test}:
            self.scale = tf.Variable(tf.ones([3]))
        for _ in range(20):
            x = tf.nn.relu(x * 0.5 + self.scale)
        return x

model = Model()
for _ in range(1000):
    model.call(tf.ones([3]), True)
"""


@pytest.mark.parametrize(
    ("test", "classification"),
    [
        ("self.scale is None", Classification.SAFE),
        ("self.scale is None and fresh", Classification.SAFE),
        ("fresh and self.scale is None", Classification.SAFE),
        ("fresh", Classification.UNSAFE),
        ("self.scale is not None or fresh", Classification.UNSAFE),
    ],
)
def test_a_condition_makes_variables_once_if_one_part_of_it_does(test: str, classification: Classification) -> None:
    assert analyze_text(LAZY.format(test=test)).decision("Model.call").classification is classification


OPENED = """
import tensorflow as tf

@tf.function
def step(x, mode):
    with open("names.txt"{mode}):
        return tf.tanh(x)

for _ in range(1000):
    step(tf.ones([3]), "r")
"""


@pytest.mark.parametrize(
    ("mode", "severity"),
    [
        ("", "warning"),
        (', "rb"', "warning"),
        (', mode="rt"', "warning"),
        (', "w"', "error"),
        (', mode="a"', "error"),
        (', "r+"', "error"),
        (", mode", "error"),
    ],
)
def test_a_file_that_is_opened_to_read_stays_what_it_is(mode: str, severity: str) -> None:
    (finding,) = analyze_text(OPENED.format(mode=mode)).findings
    assert (finding.rule, finding.severity.value) == ("TR103", severity)


KEPT_EAGER = """
import tensorflow as tf

history = []

def small(x):
    history.append(float(tf.reduce_sum(x)))
    return x + 1.0

def large(x):
    for _ in range(40):
        x = tf.tanh(x)
    history.append(1.0)
    return x

@tf.function
def graph(x):
    return large(x)

def fine(x):
    for _ in range(40):
        x = tf.tanh(x)
    return x

for _ in range(1000):
    small(tf.ones([3]))
    graph(tf.ones([3]))
    fine(tf.ones([3]))
print(history)
"""


def test_only_what_would_pay_is_held_back_by_a_hazard() -> None:
    result = analyze_text(KEPT_EAGER)
    assert {name: result.decision(name).held_back for name in ("small", "large", "fine")} == {
        "small": False,
        "large": True,
        "fine": False,
    }


def test_the_gain_is_that_of_all_calls_less_the_trace() -> None:
    """A call saves 100 times 15.5 less 140 microseconds; a trace takes 18 milliseconds and 0.77 for each operation."""
    gain = gain_of(None, 1000, Count(executed=100, traced=1000), PLAIN)
    assert gain is not None
    assert (gain.calls, gain.source) == (1000, "estimate")
    assert gain.seconds_saved == pytest.approx(1.41 - 0.788)
    assert gain_of(None, None, Count(executed=100, traced=1000), PLAIN) is None


MAPPED = """
import tensorflow as tf

def parse(pair, label):
    {first}
    if tf.reduce_mean(pair["a"]) > 0.0:
        z = pair["a"]
    return z, label

pairs = tf.data.Dataset.from_tensor_slices(({{"a": tf.ones([8, 3])}}, tf.ones([8])))
for batch in pairs.map(parse):
    print(batch)
"""


@pytest.mark.parametrize(("first", "severity"), [("pass", "error"), ("pair = dict(pair)", "warning")])
def test_a_structure_of_a_library_is_supposed_only_if_the_function_binds_it_again(first: str, severity: str) -> None:
    (finding,) = analyze_text(MAPPED.format(first=first)).findings
    assert (finding.rule, finding.severity.value) == ("TR306", severity)


SELDOM_CALLED = """
import tensorflow as tf

def table(x: tf.Tensor):
    for _ in range(20):
        x = tf.tanh(x)
    return x

class Model:
    start = table(tf.ones([3]))

    def unused(self, x: tf.Tensor):
        for _ in range(20):
            x = tf.tanh(x)
        return x

class Other(Model):
    def left(self, x: tf.Tensor):
        for _ in range(20):
            x = tf.tanh(x)
        return x

def run(x: tf.Tensor):
    return tf.tanh(x)

if __name__ == "__main__":
    run(tf.ones([3]))
"""


def test_a_call_in_the_body_of_a_class_runs_once_and_methods_without_calls_only_with_base_classes() -> None:
    result = analyze_text(SELDOM_CALLED)
    assert "called once per object, or once in a run" in result.decision("table").reason
    assert "never calls it" in result.decision("Model.unused").reason
    left = result.decision("Other.left")
    assert left.action is Action.ADD_TF_FUNCTION and "the number of calls is unknown" in left.reason


def test_a_message_names_the_changed_object_and_not_the_call_that_gives_it() -> None:
    result = analyze_text(
        "import tensorflow as tf\n\nSTORE = []\n\ndef cache():\n    return STORE\n\n"
        "def keeps(x: tf.Tensor):\n    cache().append(1)\n    STORE.append(2)\n    return tf.tanh(x)\n\nkeeps(tf.ones([3]))\n"
    )
    messages = [hazard.message for hazard in result.decision("keeps").hazards]
    assert any("later calls do not change `STORE`" in message for message in messages)
    assert not any("do not change `cache" in message for message in messages)
