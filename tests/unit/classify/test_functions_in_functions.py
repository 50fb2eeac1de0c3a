"""A function in a function is decorated where its definitions can be counted and their traces are won back; elsewhere it is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.classify.decision import Decision
from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze

ANEW = "the enclosing function creates it on every call, so each copy would be traced again"
STEP = """\
    weights = tf.Variable(tf.ones([2]))

    def step(x):
        with tf.GradientTape() as tape:
            value = x * weights
            for _ in range(20):
                value = tf.tanh(value) * 2.0
            loss = tf.reduce_sum(value)
        return tape.gradient(loss, weights)
"""


def decide(folder: Path, text: str, min_ops: int | None = None) -> dict[str, Decision]:
    file = folder / "program.py"
    file.write_text("import tensorflow as tf\n\n\n" + text)
    report = analyze([str(file)], Options(Config(jobs=1, min_ops=min_ops), use_cache=False))
    return {decision.qualname: decision for decision in report.decisions}


MAIN = """

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(("count", "action"), [("1000", "add_tf_function"), ("20", "none")])
def test_in_a_program_that_defines_it_once_its_calls_decide(tmp_path: Path, count: str, action: str) -> None:
    loop = f"    for _ in range({count}):\n        step(tf.ones([2]))\n"
    found = decide(tmp_path, f"def main():\n{STEP}{loop}{MAIN}")["main.<locals>.step"]
    assert found.action.value == action, found.reason
    if action == "none":
        assert found.reason.startswith("the program calls it 20 times outside of graphs: a trace costs more")


def test_calls_that_nobody_can_count_are_many_where_it_is_defined_once(tmp_path: Path) -> None:
    loop = "    for x in tf.data.TFRecordDataset('file').map(lambda x: tf.io.decode_raw(x, tf.float32)):\n        step(x[:2])\n"
    found = decide(tmp_path, f"def main():\n{STEP}{loop}{MAIN}")["main.<locals>.step"]
    assert found.action.value == "add_tf_function", found.reason


@pytest.mark.parametrize("least", [None, 0])
def test_in_a_library_nobody_knows_how_often_it_is_defined(tmp_path: Path, least: int | None) -> None:
    loop = "    for _ in range(20):\n        step(tf.ones([2]))\n"
    found = decide(tmp_path, f"def fit():\n{STEP}{loop}", least)["fit.<locals>.step"]
    assert (found.action.value, found.reason) == ("none", ANEW)


def test_however_often_it_is_defined_calls_that_win_back_each_trace_are_enough(tmp_path: Path) -> None:
    loop = "    for _ in range(1000):\n        step(tf.ones([2]))\n"
    found = decide(tmp_path, f"def fit():\n{STEP}{loop}")["fit.<locals>.step"]
    assert found.action.value == "add_tf_function", found.reason


@pytest.mark.parametrize(
    "loop",
    [
        "    for _ in range(1000):\n        if x:\n            step(tf.ones([2]))\n",
        "    for _ in range(1000):\n        call(step)\n",
        "    return step\n",
    ],
)
def test_calls_that_may_be_fewer_win_back_nothing(tmp_path: Path, loop: str) -> None:
    helper = "def call(f):\n    f(tf.ones([2]))\n\n\n"
    assert decide(tmp_path, f"{helper}def fit(x):\n{STEP}{loop}")["fit.<locals>.step"].reason == ANEW


@pytest.mark.parametrize(("each", "action"), [(1000, "add_tf_function"), (30, "none")])
def test_each_definition_is_traced(tmp_path: Path, each: int, action: str) -> None:
    fold = f"def fold():\n{STEP}    for _ in range({each}):\n        step(tf.ones([2]))\n\n\n"
    main = "def main():\n    for _ in range(5):\n        fold()\n"
    found = decide(tmp_path, fold + main + MAIN)["fold.<locals>.step"]
    assert found.action.value == action, found.reason
    if action == "none":
        assert found.reason.startswith(f"the program calls it {5 * each} times outside of graphs: 5 traces cost more")


def test_a_loop_around_the_definition_counts(tmp_path: Path) -> None:
    body = STEP.replace("    ", "        ", 1).replace("\n    ", "\n        ")
    loop = "        for _ in range(30):\n            step(tf.ones([2]))\n"
    found = decide(tmp_path, f"def main():\n    for fold in range(5):\n{body}{loop}{MAIN}")["main.<locals>.step"]
    assert found.reason.startswith("the program calls it 150 times outside of graphs: 5 traces cost more"), found.reason


def test_a_loop_of_unknown_length_around_the_definition_leaves_it(tmp_path: Path) -> None:
    fold = f"def fold():\n{STEP}    for _ in range(20):\n        step(tf.ones([2]))\n\n\n"
    main = "def main():\n    while input():\n        fold()\n"
    assert decide(tmp_path, fold + main + MAIN)["fold.<locals>.step"].reason == ANEW


@pytest.mark.parametrize("run", ["absl.app.run(main)", "absl.app.run(main=main)", "tf.compat.v1.app.run(main)"])
def test_absl_runs_main_once(tmp_path: Path, run: str) -> None:
    loop = "    for _ in range(1000):\n        step(tf.ones([2]))\n"
    main = f"import absl.app\n\n\ndef main(argv):\n{STEP}{loop}\n\nif __name__ == '__main__':\n    {run}\n"
    assert decide(tmp_path, main)["main.<locals>.step"].action.value == "add_tf_function"


FACTORY = f"def make_step():\n{STEP}\n    return step\n\n\n"


@pytest.mark.parametrize(
    ("rest", "action"),
    [
        (f"def main():\n    step = make_step()\n    for _ in range(1000):\n        step(tf.ones([2]))\n{MAIN}", "add_tf_function"),
        ("step = make_step()\nwhile input():\n    step(tf.ones([2]))\n", "add_tf_function"),
        ("first, second = make_step(), make_step()\nwhile input():\n    first(second(tf.ones([2])))\n", "none"),
        ("def use(x):\n    return make_step()(x)\n", "none"),
    ],
)  # fmt: skip
def test_a_factory_that_is_called_once_makes_one_function(tmp_path: Path, rest: str, action: str) -> None:
    found = decide(tmp_path, FACTORY + rest)["make_step.<locals>.step"]
    assert found.action.value == action, found.reason
    assert action != "none" or found.reason == ANEW


GRADIENT = """\
@tf.custom_gradient
def clipped(x):
    def gradient(upstream):
        for _ in range(20):
            upstream = tf.tanh(upstream) * 2.0
        return upstream

    return tf.identity(x), gradient


def main():
    weights = tf.Variable(tf.ones([2]))
    for _ in range(1000):
        with tf.GradientTape() as tape:
            value = clipped(weights)
        weights.assign_sub(tape.gradient(value, weights))
"""


def test_what_tensorflow_calls_for_a_gradient_is_left(tmp_path: Path) -> None:
    found = decide(tmp_path, GRADIENT + MAIN)["clipped.<locals>.gradient"]
    assert (found.action.value, found.reason) == ("none", "TensorFlow calls it while it computes gradients")


def test_it_is_co_executed_if_it_is_defined_once(tmp_path: Path) -> None:
    """Each definition has segments of its own."""
    printing = STEP.replace("            loss =", "            print(value.numpy())\n            loss =")
    loop = "    for _ in range(1000):\n        step(tf.ones([2]))\n"
    found = decide(tmp_path, f"def main():\n{printing}{loop}{MAIN}")
    assert found["main.<locals>.step"].classification.value == "unsafe"
    assert found["main.<locals>.step"].action.value == "co_execute"
    often = MAIN.replace("    main()", "    for _ in range(3):\n        main()")
    assert often != MAIN
    assert decide(tmp_path, f"def main():\n{printing}{loop}{often}")["main.<locals>.step"].action.value == "none"
    plain = f"weights = tf.Variable(tf.ones([2]))\n\n\ndef step(x):{printing.partition('def step(x):')[2]}".replace(
        "\n    ", "\n"
    )
    # the same function at the top of its module is in both cases
    for calls in (MAIN, often):
        assert decide(tmp_path, f"{plain}\n\ndef main():\n{loop}{calls}")["step"].action.value == "co_execute"


@pytest.mark.parametrize(("definition", "stale"), [("for fold in range(3):", False), ("if input():", True)])
def test_a_variable_that_changes_with_the_definition_is_not_stale(tmp_path: Path, definition: str, stale: bool) -> None:
    made = f"    {definition}\n        def step(x):\n            return x * scale\n"
    loop = "        for scale in (1.0, 2.0):\n            pass\n        step(tf.ones([2]))\n"
    if stale:
        loop = "        for scale in (1.0, 2.0):\n            step(tf.ones([2]))\n"
    found = decide(tmp_path, f"def main():\n    scale = 0.0\n{made}{loop}{MAIN}")["main.<locals>.step"]
    certain = [hazard for hazard in found.hazards if hazard.rule == "TR106" and not hazard.assumed]
    assert bool(certain) is stale
