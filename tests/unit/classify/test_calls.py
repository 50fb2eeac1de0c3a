"""Functions that a program calls a few times only are left as they are: a trace would cost more than it saves."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.classify.benefit import Count
from terra_refactor.classify.calls import calls_until_paid
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
    assert found.reason.endswith("nobody can tell how many there are") is (level == "speculative")


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


def test_other_callers_may_call_it_often(tmp_path: Path) -> None:
    found = decide(tmp_path, ONCE + "\n\ndef train(x):\n    return step(x) + 1.0\n")
    assert found["step"].action.value == "add_tf_function" or found["train"].action.value == "add_tf_function"


def test_a_trace_is_paid_sooner_the_more_it_saves() -> None:
    assert calls_until_paid(Count(8, 8)) == float("inf")
    assert (
        calls_until_paid(Count(15, 15)) > calls_until_paid(Count(100, 100)) > calls_until_paid(Count(1000, 1000)) > 40
    )


LIBRARY = """\
import tensorflow as tf


def loss(x):
    for _ in range(30):
        x = tf.tanh(x)
    return tf.reduce_sum(x)
"""
PROGRAM = """\
import tensorflow as tf

from library import loss


def main():
    weights = tf.Variable(tf.ones([2]))

    def step(x):
        with tf.GradientTape() as tape:
            value = loss(weights * x)
        print(value.numpy())
        return tape.gradient(value, weights)

    for _ in range({count}):
        step(tf.ones([2]))


if __name__ == "__main__":
    main()
"""


def decide_two(folder: Path, count: int) -> Decision:
    (folder / "library.py").write_text(LIBRARY)
    (folder / "program.py").write_text(PROGRAM.format(count=count))
    report = analyze([str(folder)], Options(Config(jobs=1), use_cache=False))
    return next(decision for decision in report.decisions if decision.qualname == "loss")


def test_calls_from_another_module_and_from_nested_functions_count(tmp_path: Path) -> None:
    found = decide_two(tmp_path, 50)
    assert found.action.value == "none"
    assert found.reason.startswith("the program calls it 50 times outside of graphs, under a tape of the caller")
    assert decide_two(tmp_path, 1000).action.value == "add_tf_function"


def test_under_an_eager_tape_a_graph_is_paid_later() -> None:
    assert calls_until_paid(Count(30, 30), under_tape=True) > calls_until_paid(Count(30, 30))
    assert calls_until_paid(Count(8, 8), under_tape=True) == float("inf")
    assert calls_until_paid(Count(30, 30), traces=2) > 1.9 * calls_until_paid(Count(30, 30))


STEPPING = """\
import tensorflow as tf


def step(logits, labels, lengths):
    return tf.reduce_mean(tf.nn.ctc_loss(labels, logits, lengths, lengths, logits_time_major={major}))


def main():
    for _ in range(12):
        step(tf.ones([4, 40, 6]), tf.ones([4, 3], tf.int32), tf.fill([4], 3))


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(("major", "action"), [(False, "add_tf_function"), (True, "none")])
def test_the_steps_of_a_loop_over_time_are_the_tensors(tmp_path: Path, major: bool, action: str) -> None:
    file = tmp_path / "program.py"
    file.write_text(STEPPING.format(major=major))
    report = analyze([str(file)], Options(Config(jobs=1), use_cache=False))
    found = next(decision for decision in report.decisions if decision.qualname == "step")
    assert found.action.value == action, found.reason


IN_GRAPH = """\
import tensorflow as tf


def step(x):
    for _ in {range}(4):
BODY    return x


def main():
    for _ in range(60):
        step(tf.ones([2]))


if __name__ == "__main__":
    main()
""".replace("BODY", "        x = tf.tanh(x) * 2.0\n" * 10)


@pytest.mark.parametrize(("name", "action"), [("range", "none"), ("tf.range", "add_tf_function")])
def test_a_loop_of_the_graph_is_traced_once_and_one_of_python_each_time(tmp_path: Path, name: str, action: str) -> None:
    file = tmp_path / "program.py"
    file.write_text(IN_GRAPH.format(range=name))
    report = analyze([str(file)], Options(Config(jobs=1), use_cache=False))
    found = next(decision for decision in report.decisions if decision.qualname == "step")
    assert found.action.value == action, found.reason


@pytest.mark.parametrize(
    ("dataset", "reason"),
    [
        ("tf.data.Dataset.from_tensor_slices(tf.ones([3, 4]))", "the program calls it 3 times outside of graphs"),
        ("tf.data.Dataset.from_tensor_slices(tf.ones([3, 4])).filter(lambda x: x[0] > 0.0)", "about "),
        ("tf.data.Dataset.from_tensor_slices(tf.ones([3, 4])).repeat()", "about "),
    ],
)
def test_a_loop_over_a_data_set_calls_as_often_as_it_has_elements(tmp_path: Path, dataset: str, reason: str) -> None:
    main = f"def main():\n    for batch in {dataset}:\n        step(batch)\n\n\n"
    found = decide(tmp_path, main + "if __name__ == '__main__':\n    main()\n")["step"]
    assert found.reason.startswith(reason)
    assert (found.action.value == "none") == reason.startswith("the program")
