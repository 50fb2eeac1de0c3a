"""Functions that a program calls a few times only are left as they are: a trace would cost more than it saves."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.classify.decision import Decision
from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze

STEP = """\
import tensorflow as tf


def inner(x):
    for _ in range(20):
        x = tf.tanh(x) * 2.0
    return x


def step(x):
    return inner(inner(x)) + inner(x)


"""


def decide(folder: Path, rest: str, min_ops: int | None = None) -> dict[str, Decision]:
    file = folder / "program.py"
    file.write_text(STEP + rest)
    report = analyze([str(file)], Options(Config(jobs=1, min_ops=min_ops), use_cache=False))
    return {decision.qualname: decision for decision in report.decisions}


ONCE = "def main():\n    print(step(tf.ones([2])))\n\n\nif __name__ == '__main__':\n    main()\n"
OFTEN = (
    "def main():\n    for _ in range(1000):\n        step(tf.ones([2]))\n\n\nif __name__ == '__main__':\n    main()\n"
)
NOBODY_KNOWS = """\
def main(count):
    for _ in range(count):
        step(tf.ones([2]))


if __name__ == '__main__':
    main(int(input()))
"""


def test_once_is_too_seldom(tmp_path: Path) -> None:
    found = decide(tmp_path, ONCE)
    assert found["step"].action.value == "none"
    assert found["step"].reason.startswith("the program calls it 1 time outside of graphs")
    # what it calls is called three times, which is too seldom as well
    assert found["inner"].action.value == "none"
    assert found["inner"].reason.startswith("the program calls it 3 times outside of graphs")


@pytest.mark.parametrize("rest", [OFTEN, NOBODY_KNOWS])
def test_often_pays(tmp_path: Path, rest: str) -> None:
    found = decide(tmp_path, rest)
    assert found["step"].action.value == "add_tf_function"
    assert found["inner"].action.value == "none" and found["inner"].covered_by_graph_callers


SMALL = """\
import tensorflow as tf


def small(x):
    for _ in range(COUNT):
        x = tf.tanh(x)
    return x


def main(count):
    for _ in range(count):
        small(tf.ones([2]))


if __name__ == "__main__":
    main(CALLS)
"""


@pytest.mark.parametrize(
    ("operations", "calls", "level"),
    [(20, "int(input())", "speculative"), (20, "1000", "safe"), (200, "int(input())", "safe")],
)
def test_what_needs_many_calls_that_nobody_can_count_is_no_safe_change(
    tmp_path: Path, operations: int, calls: str, level: str
) -> None:
    file = tmp_path / "program.py"
    file.write_text(SMALL.replace("COUNT", str(operations)).replace("CALLS", calls))
    report = analyze([str(file)], Options(Config(jobs=1), use_cache=False))
    found = next(decision for decision in report.decisions if decision.qualname == "small")
    assert found.classification.value == "safe"
    assert (found.action.value, found.level.value) == ("add_tf_function", level), found.reason
    assert found.reason.endswith("the number of calls is unknown") is (level == "speculative")


OUTER = """\
import tensorflow as tf


def inner(x):
    for _ in range(20):
        x = tf.tanh(x)
    return x


def outer(x):
    return inner(x) + 1.0


def many(x):
    for _ in range(40):
        x = inner(x)
    return x


def run(steps):
    for _ in range(steps):
        many(tf.ones([2]))
"""


def test_the_levels_of_callers_decide_what_is_covered(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(OUTER)
    report = analyze([str(file)], Options(Config(jobs=1), use_cache=False))
    found = {decision.qualname: decision for decision in report.decisions}
    assert found["many"].level.value == "safe" and found["outer"].level.value == "speculative"
    assert found["many"].action.value == found["outer"].action.value == "add_tf_function"
    # called from `outer` it would be eager at `safe`; that it needs many calls itself leaves it to `speculative`, where it is covered
    assert found["inner"].action.value == "none" and found["inner"].covered_by_graph_callers


def test_without_a_least_number_of_operations_everything_counts_but_what_runs_once(tmp_path: Path) -> None:
    assert decide(tmp_path, ONCE, min_ops=0)["step"].action.value == "none"
    assert decide(tmp_path, ONCE + "    step(tf.ones([2]))\n", min_ops=0)["step"].action.value == "add_tf_function"


def test_a_call_at_the_top_of_a_module_says_nothing(tmp_path: Path) -> None:
    assert decide(tmp_path, "step(tf.ones([2]))\n")["step"].action.value == "add_tf_function"


LIBRARY = """

def train(x):
    return step(x) + 1.0


class Grid:
    def __init__(self, x):
        self.points = self.make(x)

    def make(self, x):
        for _ in range(40):
            x = tf.tanh(x)
        return x


variable = tf.Variable([1.0, 2.0])


def learn(x: tf.Tensor):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(step(variable * x))
    variable.assign_sub(tape.gradient(loss, variable))
    return loss
"""


def test_what_nothing_calls_again_and_again(tmp_path: Path) -> None:
    found = decide(tmp_path, LIBRARY)
    # others may call it, which they have to say
    assert (found["train"].action.value, found["train"].level.value) == ("add_tf_function", "speculative")
    assert "no repeated call is visible in the project" in found["train"].reason
    # a step of training is there to be repeated
    assert (found["learn"].action.value, found["learn"].level.value) == ("add_tf_function", "safe")
    assert found["Grid.make"].action.value == "none"
    assert found["Grid.make"].reason.startswith("it is called once per object")


def test_what_a_script_never_calls(tmp_path: Path) -> None:
    found = decide(tmp_path, ONCE + LIBRARY)
    assert found["train"].reason == "the script never calls it: a graph would not help"
    assert found["step"].action.value == found["learn"].action.value == "none"
    called = decide(tmp_path, ONCE + LIBRARY + "\n\ndef loop(x):\n    while True:\n        train(x)\n")
    assert (called["train"].action.value, called["train"].level.value) == ("add_tf_function", "safe")


def test_a_method_of_an_unknown_object_may_be_the_one(tmp_path: Path) -> None:
    rest = "class Net:\n    def forward(self, x):\n        return step(x)\n\n\n"
    loop = "def run(net, steps):\n    for _ in range(steps):\n        net.forward(tf.ones([2]))\n"
    assert decide(tmp_path, rest)["Net.forward"].level.value == "speculative"
    assert decide(tmp_path, rest + loop)["Net.forward"].level.value == "safe"
