"""The effect of a record on decisions, and its limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from terra_refactor.classify.decision import Action, Classification, Decision, Level
from terra_refactor.cli.output import to_string
from terra_refactor.config import Config
from terra_refactor.domain.evidence import Evidence
from terra_refactor.errors import UsageError
from terra_refactor.record.child.places import definitions
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_text import by_gain, print_analysis
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

TENSOR = ["tensor", "float32", [16, 32]]


def record_of(
    folder: Path,
    text: str,
    seen: dict[str, dict[str, Any]],
    *,
    name: str = "record.json",
) -> str:
    """A record of what was seen of some functions of a text that is written to `step.py`."""
    (folder / "step.py").write_text(text, encoding="utf-8")
    places = {name: (line, digest) for name, line, digest in definitions(text.encode()).values()}
    functions = []
    for qualname, facts in seen.items():
        line, digest = places[qualname]
        given = {
            "path": "step.py",
            "qualname": qualname,
            "line": line,
            "digest": digest,
            "calls": 0,
            "seconds": 0.0,
            "estimated": False,
            "own_seconds": None,
            "detailed_calls": 0,
            "traced_calls": 0,
            "returns": [],
            "parameters": [],
            "graph": None,
        }
        functions.append({**given, **facts})
    record = {
        "schema": "terra-refactor/record/1",
        "tool": {"name": "terra-refactor", "version": "0"},
        "root": ".",
        "python": "3.12.1",
        "tensorflow": "2.21.0",
        "seconds": 1.0,
        "exit_code": 0,
        "complete": True,
        "processes": 1,
        "notices": [],
        "files": [],
        "functions": functions,
    }
    (folder / name).write_text(json.dumps(record), encoding="utf-8")
    return str(folder / name)


def parameter(name: str, *types: list[Any], values: tuple[Any, ...] = (), distinct: int = 0) -> dict[str, Any]:
    return {
        "name": name,
        "types": [{"type": each, "calls": 10} for each in types],
        "values": list(values),
        "distinct": distinct,
    }


def run(folder: Path, *files: str, use_cache: bool = False) -> WorkspaceReport:
    return analyze([str(folder / "step.py")], Options(config=Config(evidence=files), use_cache=use_cache))


def decision(report: WorkspaceReport, name: str) -> Decision:
    return next(each for each in report.decisions if each.qualname == name)


HELPER = """\
import tensorflow as tf


def combine(first, second):
    total = first.score(second)
    for _ in range(20):
        total = tf.nn.relu(total * 2.0) + tf.sin(total)
    return total


def mix(first, second):
    total = first
    for _ in range(20):
        total = tf.nn.relu(total * 2.0) + tf.sin(second)
    return total
"""


def test_a_recorded_tensor_makes_a_candidate_that_rests_on_an_assumption(tmp_path: Path) -> None:
    text = HELPER.replace("first.score(second)", "first * second")
    seen = {"calls": 5000, "seconds": 10.0, "detailed_calls": 10, "parameters": [parameter("first", TENSOR)]}
    file = record_of(
        tmp_path, text, {"combine": {**seen, "parameters": [parameter("first", TENSOR), parameter("second", TENSOR)]}}
    )
    without, found = decision(run(tmp_path), "combine"), decision(run(tmp_path, file), "combine")
    assert (without.action, without.parameters[0].evidence) == (Action.NONE, Evidence.NONE)
    assert (found.action, found.level) == (Action.ADD_TF_FUNCTION, Level.SPECULATIVE)
    assert found.classification is Classification.SPECULATIVE
    assert found.assumptions == (
        "`first` is a tensor in every call, as in the 10 that were recorded",
        "`second` is a tensor in every call, as in the 10 that were recorded",
    )
    assert found.parameters[0].evidence is Evidence.RECORDED
    assert [str(each.dtype) for each in found.parameters[0].types] == ["float32"]
    assert found.parameters[0].types[0].shape == (16, 32)
    assert found.expected_gain is not None
    assert (found.expected_gain.calls, found.expected_gain.source) == (5000, "record")
    assert 0 < found.expected_gain.seconds_saved <= 9.0


def test_recorded_types_are_no_reason_for_an_error_or_for_safe(tmp_path: Path) -> None:
    text = "import tensorflow as tf\n\n\ndef f(a, b):\n    if a.shape[0] == 16:\n        print(a)\n    return tf.matmul(a, b)\n"
    wrong = [parameter("a", TENSOR), parameter("b", ["tensor", "int32", [5, 5]])]
    file = record_of(tmp_path, text, {"f": {"calls": 10, "detailed_calls": 10, "parameters": wrong}})
    report = run(tmp_path, file)
    assert not report.findings
    assert decision(report, "f").classification is Classification.UNSAFE  # what another shape would do counts


@pytest.mark.parametrize(
    "other", [["symbolic", "float32", [None, 3]], ["object", "mine.Box"], ["container", "list", None, []]]
)
def test_what_came_as_something_else_too_is_not_known(tmp_path: Path, other: list[Any]) -> None:
    file = record_of(
        tmp_path,
        HELPER,
        {"mix": {"calls": 10, "detailed_calls": 10, "parameters": [parameter("first", TENSOR, other)]}},
    )
    assert decision(run(tmp_path, file), "mix").parameters[0].evidence is not Evidence.RECORDED


def test_a_changed_function_is_told_and_not_used(tmp_path: Path) -> None:
    seen = {"calls": 5000, "detailed_calls": 10, "parameters": [parameter("second", TENSOR)]}
    file = record_of(tmp_path, HELPER, {"combine": seen, "mix": seen})
    assert run(tmp_path, file).evidence_notices == ()
    (tmp_path / "step.py").write_text(
        "# moved\n\n" + HELPER.replace("def mix", "@tf.function\ndef mix").replace("score", "value")
    )
    (notice,) = run(tmp_path, file).evidence_notices
    assert "1 of 2 recorded functions have changed" in notice and "step.py: combine" in notice
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "step.py").write_text(HELPER)
    assert (
        "records no function"
        in analyze([str(tmp_path / "other")], Options(Config(evidence=(file,)))).evidence_notices[0]
    )


STEP = """\
import tensorflow as tf


def step(x: tf.Tensor) -> tf.Tensor:
    for _ in range(20):
        x = tf.nn.relu(x * 2.0) + tf.sin(x)
    return x
"""


def test_calls_lift_the_doubt_whether_it_pays_and_nothing_else(tmp_path: Path) -> None:
    many = record_of(tmp_path, STEP, {"step": {"calls": 5000, "seconds": 5.0}}, name="many.json")
    few = record_of(tmp_path, STEP, {"step": {"calls": 2, "seconds": 0.1}}, name="few.json")
    for use_cache in (False, True):
        levels = {
            file: decision(run(tmp_path, *([file] if file else []), use_cache=use_cache), "step").level
            for file in ("", few, many)
        }
        assert levels == {"": Level.SPECULATIVE, few: Level.SPECULATIVE, many: Level.SAFE}
    gain = build_report(run(tmp_path, many)).functions[0].expected_gain
    assert gain is not None and gain["from"] == "record" and gain["calls"] == 5000
    assert decision(run(tmp_path, few), "step").action is Action.ADD_TF_FUNCTION


def graph(*causes: dict[str, Any], traces: int = 40, calls: int = 400) -> dict[str, Any]:
    found = {"calls": calls, "inner_calls": 0, "seconds": 1.0, "traces": traces, "tracing_seconds": 2.5, "objects": 1}
    return {"graph": {**found, "causes": list(causes)}}


RETRACED = """\
import tensorflow as tf


@tf.function
def scaled(x, n):
    return x * tf.cast(n, tf.float32)


def train(x, numbers):
    for n in numbers():
        scaled(x, n)
"""


def test_traces_are_findings_with_their_numbers(tmp_path: Path) -> None:
    values = [{"value": n} for n in range(9)]
    cause = {"cause": "value", "parameter": "n", "traces": 39, "examples": values}
    file = record_of(tmp_path, RETRACED, {"scaled": {**graph(cause), "parameters": [parameter("n", distinct=40)]}})
    assert not run(tmp_path).findings
    (finding,) = run(tmp_path, file).findings
    assert (finding.rule, finding.span.line) == ("TR201", 4)
    assert "traced 40 times in 400 recorded calls, 2.5 s: `n` was 0, 1, 2, 3, 4, 5, ..." in finding.message
    flag = {**cause, "traces": 3, "examples": [{"value": True}, {"value": False}]}
    file = record_of(
        tmp_path, RETRACED, {"scaled": {**graph(flag, traces=4), "parameters": [parameter("n", distinct=2)]}}
    )
    assert not run(tmp_path, file).findings


def test_a_record_of_numbers_is_no_finding_once_all_calls_pass_tensors(tmp_path: Path) -> None:
    cause = {"cause": "value", "parameter": "n", "traces": 39, "examples": [{"value": n} for n in range(9)]}
    seen = {"scaled": {**graph(cause), "parameters": [parameter("n", distinct=40)]}}
    for called, expected in (("tf.constant(n)", []), ("n", ["TR201"]), ("n if n else tf.constant(n)", ["TR201"])):
        text = (
            RETRACED.replace("scaled(x, n)\n", f"scaled(x, {called})\n")
            + "\n\ntrain(tf.ones([3]), lambda: range(40))\n"
        )
        found = run(tmp_path, record_of(tmp_path, text, seen)).findings
        assert [finding.rule for finding in found] == expected, called


def test_recorded_shapes_propose_the_argument_that_helps(tmp_path: Path) -> None:
    examples = [{"type": ["tensor", "float32", [n]]} for n in range(1, 8)]
    cause = {"cause": "shape", "parameter": "x", "traces": 11, "examples": examples}
    file = record_of(tmp_path, RETRACED, {"scaled": graph(cause, traces=12, calls=12)})
    report = run(tmp_path, file)
    found = decision(report, "scaled")
    assert (found.action, found.proposal.arguments) == (Action.TUNE_TF_FUNCTION, (("reduce_retracing", "True"),))
    assert found.expected_gain is not None and found.expected_gain.source == "record"
    (finding,) = report.findings
    assert finding.rule == "TR202" and "12 times in 12 recorded calls" in finding.message and finding.fixable


def test_a_record_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "step.py").write_text(STEP)
    for name in ("missing.json", "step.py"):
        with pytest.raises(UsageError):
            run(tmp_path, str(tmp_path / name))


def test_the_text_begins_with_what_costs_most(tmp_path: Path) -> None:
    other = RETRACED.replace("scaled", "other").replace("import tensorflow as tf\n", "")
    examples = [{"type": ["tensor", "float32", [n]]} for n in range(1, 8)]
    cause = {"cause": "shape", "parameter": "x", "traces": 11, "examples": examples}
    slow = graph(cause, traces=12)
    slow["graph"]["tracing_seconds"] = 90.0
    file = record_of(tmp_path, RETRACED + other, {"scaled": graph(cause, traces=12), "other": slow})
    report = run(tmp_path, file)
    assert [finding.function for finding in report.findings] == ["scaled", "other"]
    assert [finding.function for finding in by_gain(report)] == ["other", "scaled"]
    text = to_string(lambda console: print_analysis(console, report))
    assert text.index("75.0 s") < text.index("2.1 s")
    assert "saves about" in text
    assert "saves about" not in to_string(lambda console: print_analysis(console, run(tmp_path)))


def test_what_only_a_run_shows_is_not_handed_on_as_known(tmp_path: Path) -> None:
    text = """\
import tensorflow as tf


def outer(x):
    return inner(x)


def inner(y):
    for _ in range(20):
        y = y * 2 + 1
    return y
"""
    seen = {"calls": 5000, "seconds": 5.0, "detailed_calls": 10}
    file = record_of(tmp_path, text, {"outer": {**seen, "parameters": [parameter("x", TENSOR)]}})
    assert decision(run(tmp_path, file), "inner").classification is not Classification.SAFE
    assert decision(run(tmp_path, file), "outer").classification is Classification.SPECULATIVE
    both_seen = {
        "outer": {**seen, "parameters": [parameter("x", TENSOR)]},
        "inner": {**seen, "parameters": [parameter("y", TENSOR)]},
    }
    found = decision(run(tmp_path, record_of(tmp_path, text, both_seen)), "inner")
    assert (found.classification, found.parameters[0].evidence) == (Classification.SPECULATIVE, Evidence.RECORDED)
    assert found.assumptions == ("`y` is a tensor in every call, as in the 10 that were recorded",)


def test_a_function_with_many_python_values_is_left(tmp_path: Path) -> None:
    text = STEP.replace("x: tf.Tensor", "x: tf.Tensor, n=1").replace("* 2.0", "* tf.cast(n, tf.float32)")
    numbers = parameter("n", ["primitive", "int"], values=tuple(range(24)), distinct=40)
    seen = {"calls": 5000, "seconds": 5.0, "detailed_calls": 100}
    file = record_of(tmp_path, text, {"step": {**seen, "parameters": [parameter("x", TENSOR), numbers]}})
    assert decision(run(tmp_path), "step").action is Action.ADD_TF_FUNCTION
    found = decision(run(tmp_path, file), "step")
    assert (found.action, found.reason) == (
        Action.NONE,
        "`n` had 40 Python values in the recorded calls: each would be traced",
    )
