"""Verification of functions that differ, and of arbitrary user code.

The refactored text is written by hand here: the point is what running it shows, not whether the analyser would propose it.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from terra_refactor.classify.decision import Action, Decision
from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.refactor.result import Change, FileRefactoring, Outcome
from terra_refactor.syntax.source import read_source
from terra_refactor.verify.process import Child
from terra_refactor.verify.session import Setting, verify_changes
from terra_refactor.verify.verdict import FunctionVerdict, Limits, Script, Status, Verification
from terra_refactor.workspace.workspace import Options, analyze

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]
pytest.importorskip("tensorflow")

DECORATOR = "@tf.function\n"


def verify(folder: Path, text: str, *, run: str | None = None, limits: Limits | None = None) -> Verification:
    """Verify a module in which `# refactored` stands where a decorator is to be."""
    file = folder / "module.py"
    file.write_text(re.sub(r"(?m)^[ ]*# refactored\n", "", text))
    report = analyze([str(file)], Options(Config(jobs=1), use_cache=False))
    new_text = re.sub(r"(?m)^([ ]*)# refactored\n", r"\1" + DECORATOR, text)
    names = {match[2] for match in re.finditer(r"(?m)^([ ]*)# refactored\n[ ]*def (\w+)", text)}
    decisions = [
        replace(decision, action=Action.ADD_TF_FUNCTION) if decision.qualname.rpartition(".")[2] in names else decision
        for decision in report.decisions
    ]
    chosen = [decision for decision in decisions if decision.action is Action.ADD_TF_FUNCTION]
    source = read_source(file)
    changes = tuple(Change(each.path, each.qualname, each.line, each.action, Outcome.DONE, "") for each in chosen)
    source = replace(source, path=chosen[0].path)
    script = None if run is None else Script(run, str(file), None, tuple(run.split()[2:]))
    return verify_changes(
        [FileRefactoring(source, changes, new_text)],
        decisions,
        {source.path: source},
        Setting(sys.executable, script, limits or Limits()),
    )


def by_name(verification: Verification) -> dict[str, FunctionVerdict]:
    return {verdict.qualname: verdict for verdict in verification.functions}


RANKS = """\
import tensorflow as tf


# refactored
def corner(data):
    return tf.split(tf.split(data, 2, axis=1)[0], 2, axis=2)[0]


# refactored
def scaled(data):
    return tf.nn.relu(data) * 2.0
"""


@pytest.mark.usefixtures("warm_children")
def test_a_tensor_of_unknown_rank_is_tried_with_several(tmp_path: Path) -> None:
    found = by_name(verify(tmp_path, RANKS))
    assert found["corner"].status in (Status.SAME, Status.SLOWER)
    assert found["corner"].compared > 0
    assert found["scaled"].compared > found["corner"].compared


DIFFERENCES = """\
import time

import numpy as np
import tensorflow as tf

calls = 0
log = []
scale = tf.Variable(2.0)


# refactored
def same(x: tf.Tensor):
    for _ in range(60):
        x = tf.tanh(x) + 0.1
    scale.assign_add(tf.reduce_sum(x))
    return {"y": x * scale, "z": [x, None]}


# refactored
def counts(x: tf.Tensor):
    global calls
    calls += 1
    return x * 2.0


# refactored
def appends(x: tf.Tensor):
    log.append(1)
    return x


# refactored
def draws(x: tf.Tensor):
    return x + np.random.rand()


# refactored
def draws_in_tensorflow(x: tf.Tensor):
    for _ in range(20):
        x = tf.nn.dropout(tf.tanh(x), 0.1) + tf.random.normal([4, 4])
    return x


# refactored
def prints(x: tf.Tensor):
    print("called")
    return x


# refactored
def reads(x: tf.Tensor):
    return x + float(tf.reduce_sum(x).numpy())


# refactored
def gives_a_number(x: tf.Tensor):
    return 3


# refactored
def refuses(x: tf.Tensor):
    raise ValueError("never")


# refactored
def waits(x: tf.Tensor):
    if not tf.executing_eagerly():
        time.sleep(0.002)
        return tf.py_function(lambda value: time.sleep(0.003) or value, [x], tf.float32)
    return x


def use():
    for function in (same, counts, appends, draws, draws_in_tensorflow, prints, reads, gives_a_number, refuses, waits):
        function(tf.zeros([4, 4]))
"""


@pytest.mark.usefixtures("warm_children")
def test_differences_are_seen(tmp_path: Path) -> None:
    found = by_name(verify(tmp_path, DIFFERENCES))
    assert {name: verdict.status.value for name, verdict in found.items()} == {
        "same": "same",
        "counts": "different",
        "appends": "different",
        "draws": "different",
        "draws_in_tensorflow": "same",
        "prints": "different",
        "reads": "fails",
        "gives_a_number": "different",
        "refuses": "not reached",
        "waits": "slower",
    }
    assert found["counts"].detail == "call 2: state calls: 2 (int) eagerly, 1 (int) refactored"
    assert "printed 'called' only eagerly" in found["prints"].detail
    assert "3 (int) eagerly, a tensor int32[] refactored" in found["gives_a_number"].detail
    assert "ValueError: never" in found["refuses"].detail


HOSTILE = """\
import os
import sys
import time

import tensorflow as tf


# refactored
def leaves(x: tf.Tensor):
    if not tf.executing_eagerly():
        os._exit(7)
    return x


# refactored
def hangs(x: tf.Tensor):
    if not tf.executing_eagerly():
        time.sleep(1000)
    return x


# refactored
def forks(x: tf.Tensor):
    if os.fork() == 0:
        print("I am nobody's child")
        os._exit(0)
    os.wait()
    return x


# refactored
def allocates(x: tf.Tensor):
    if not tf.executing_eagerly():
        kept = [bytearray(1 << 28) for _ in range(100)]
    return x


# refactored
def exits(x: tf.Tensor):
    sys.exit(3)


# refactored
def good(x: tf.Tensor):
    for _ in range(100):
        x = tf.tanh(x) + 0.1
    return x


def use():
    for function in (leaves, hangs, forks, allocates, exits, good):
        function(tf.zeros([4, 4]))
"""


@pytest.mark.usefixtures("warm_children")
def test_hostile_code_costs_only_itself(tmp_path: Path) -> None:
    # less memory than by default: a machine is slow to give 8 GB
    found = by_name(verify(tmp_path, HOSTILE, limits=Limits(function_seconds=10.0, memory=3 << 30)))
    assert found["leaves"].status is Status.FAILS and "exit code 7" in found["leaves"].detail
    assert found["hangs"].status is Status.FAILS and "stopped after 10 s" in found["hangs"].detail
    assert found["allocates"].status is Status.FAILS and "MemoryError" in found["allocates"].detail
    assert found["exits"].status is Status.NOT_REACHED
    assert found["good"].status is Status.SAME
    assert found["forks"].status in (Status.DIFFERENT, Status.SAME)  # what it prints comes once in a graph


ENDLESS = """\
import tensorflow as tf


# refactored
def f(x):
    return x * 2.0


f(tf.ones([2]))
while True:
"""


@pytest.mark.usefixtures("warm_children")
def test_a_script_that_never_ends_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first_event = Child.first_event
    # TensorFlow may take its time where much else runs; the script may not
    monkeypatch.setattr(Child, "first_event", lambda child, seconds: first_event(child, 120.0))
    verification = verify(tmp_path, ENDLESS + "    pass\n", run="python module.py", limits=Limits(run_seconds=4.0))
    assert verification.program is not None and "stopped after 4 s" in (verification.program.difference or "")
    assert verification.differs


@pytest.mark.usefixtures("warm_children")
def test_a_script_that_prints_without_end_is_stopped(tmp_path: Path) -> None:
    verification = verify(
        tmp_path, ENDLESS + "    print('x' * 1000)\n", run="python module.py", limits=Limits(output=1 << 20)
    )
    assert verification.program is not None and "printing 1 MB" in (verification.program.difference or "")


@pytest.mark.usefixtures("warm_children")
def test_the_exit_code_and_the_output_are_compared(tmp_path: Path) -> None:
    text = (
        "import sys\n\nimport tensorflow as tf\n\nseen = []\n\n\n# refactored\ndef f(x):\n    seen.append(1)\n    return x * 2.0\n\n\n"
        "for _ in range(3):\n    f(tf.ones([2]))\nprint('seen', len(seen))\nsys.exit(len(seen))\n"
    )
    verification = verify(tmp_path, text, run="python module.py")
    assert verification.program is not None
    assert verification.program.exit_codes == (3, 1)
    assert by_name(verification)["f"].status is Status.DIFFERENT


def test_an_interpreter_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        file = tmp_path / "module.py"
        file.write_text("import tensorflow as tf\n\n\ndef f(x: tf.Tensor):\n    return x\n")
        report = analyze([str(file)], Options(Config(jobs=1), use_cache=False))
        decision: Decision = replace(report.decisions[0], action=Action.ADD_TF_FUNCTION)
        source = replace(read_source(file), path=decision.path)
        change = Change(decision.path, "f", decision.line, decision.action, Outcome.DONE, "")
        verify_changes(
            [FileRefactoring(source, (change,), source.text)],
            [decision],
            {source.path: source},
            Setting(str(file)),
        )
