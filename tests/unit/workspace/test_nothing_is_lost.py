"""A fault of one file or function affects only itself, is named in the report, and the rest is analysed."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import pytest

from terra_refactor.classify.decision import Classification, Decision
from terra_refactor.config import Config
from terra_refactor.facts.view import ContextView
from terra_refactor.ide.session import Session
from terra_refactor.ir.ids import numbers_of
from terra_refactor.ir.program import Program
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_github import to_github
from terra_refactor.report.to_gitlab import to_gitlab
from terra_refactor.report.to_html import to_html
from terra_refactor.report.to_json import to_json, to_json_lines
from terra_refactor.report.to_junit import to_junit
from terra_refactor.report.to_markdown import to_markdown
from terra_refactor.report.to_rdjson import to_rdjson
from terra_refactor.report.to_sarif import to_sarif
from terra_refactor.rules import registry
from terra_refactor.rules.rule import Finding, LocalHazard
from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.workspace import loading, watchdog
from terra_refactor.workspace.judgement import RepeatedJudge
from terra_refactor.workspace.judging import judge_program
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.watchdog import OverLimitError, ProcessLimits, watched
from terra_refactor.workspace.workspace import Options, analyze, fix

Judged: TypeAlias = tuple[tuple[Decision, ...], tuple[Finding, ...]]

PAIR = """
import tensorflow as tf

def hit(x):
    for _ in range(30):
        x = tf.nn.relu(x + 1.0)
    return x

def outer(x):
    return hit(x) * 2.0

def other(x):
    for _ in range(30):
        x = tf.nn.relu(x + 1.0)
    return x

outer(tf.ones([3]))
other(tf.ones([3]))
"""


def report_of(*paths: Path, config: Config | None = None) -> WorkspaceReport:
    options = Options(config=config or Config(min_ops=0, jobs=1), use_cache=False)
    return analyze([str(path) for path in paths], options)


def by_name(report: WorkspaceReport) -> dict[str, Decision]:
    return {decision.qualname: decision for decision in report.decisions}


# --- functions -------------------------------------------------------------------------------------------------------------------------


def _without_end(view: ContextView) -> Iterator[LocalHazard]:
    while True:
        view.op(0)
    yield


def _deeper(view: ContextView) -> Iterator[LocalHazard]:
    yield from _deeper(view)


def _without_memory(view: ContextView) -> Iterator[LocalHazard]:
    raise MemoryError
    yield


@pytest.mark.parametrize("fault", [_without_end, _deeper, _without_memory])
def test_a_check_that_fails_costs_the_function_and_its_callers(
    fault: Callable[[ContextView], Iterator[LocalHazard]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(view: ContextView) -> Iterator[LocalHazard]:
        if view.function.name == "hit":
            yield from fault(view)

    rules = dict(registry.all_rules())
    rules["TR319"] = dataclasses.replace(rules["TR319"], check=check)
    monkeypatch.setattr(registry, "checking_rules", lambda: tuple(rule for rule in rules.values() if rule.check))
    (tmp_path / "a.py").write_text(PAIR)
    report = report_of(tmp_path)
    found = by_name(report)
    assert not report.errors
    for name in ("hit", "outer"):
        assert found[name].classification is Classification.UNSAFE
        assert "internal error: the check of TR319 in hit failed" in found[name].reason
    assert found["other"].classification is Classification.SAFE
    assert not [finding for finding in report.findings if finding.rule == "TR319"]


def test_an_assessment_that_fails_costs_one_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from terra_refactor.classify import assessment  # noqa: PLC0415

    usual = assessment._assessed

    def failing(hazards: object, identity: object) -> object:
        if getattr(identity, "index", None) == numbers_of(["hit"])[0]:
            raise ValueError("a fault")
        return usual(hazards, identity)  # type: ignore[arg-type]

    monkeypatch.setattr(assessment, "_assessed", failing)
    (tmp_path / "a.py").write_text(PAIR)
    found = by_name(report_of(tmp_path))
    assert "a fault" in found["hit"].reason
    assert found["hit"].classification is Classification.UNSAFE
    assert found["other"].classification is Classification.SAFE


# --- files -----------------------------------------------------------------------------------------------------------------------------


def test_an_analysis_that_fails_costs_the_files_that_belong_together(tmp_path: Path) -> None:
    def judge(
        program: Program, config: Config, progress: Callable[[int, int], None] | None
    ) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
        if "a" in program.modules:
            raise RecursionError("too deep")
        return judge_program(program, config, progress)

    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(PAIR)
    options = Options(config=Config(min_ops=0, jobs=1), use_cache=False, judge=judge)
    report = analyze([str(tmp_path)], options)
    (error,) = report.errors
    assert error.path.endswith("a.py")
    assert "RecursionError" in error.message
    assert {Path(decision.path).name for decision in report.decisions} == {"b.py"}


FORMATS = MappingProxyType(
    {
        "json": lambda report: to_json(build_report(report)),
        "jsonl": lambda report: to_json_lines(build_report(report)),
        "sarif": to_sarif,
        "github": lambda report: to_github(build_report(report)),
        "gitlab": to_gitlab,
        "html": to_html,
        "junit": to_junit,
        "markdown": to_markdown,
        "rdjson": to_rdjson,
    }
)


@pytest.mark.skipif(os.name == "nt", reason="names of files are text there")
@pytest.mark.parametrize(
    "name", [b"\xff\xfe.py", b"a\nb.py", b"a:b.py", b"\x1b[31m.py", b"d\xe9/m.py", "é.py".encode()]
)
def test_a_name_that_is_no_text_is_reported_in_every_format_and_fixed(name: bytes, tmp_path: Path) -> None:
    file = os.path.join(os.fsencode(tmp_path), name)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "wb") as stream:
        stream.write(PAIR.encode())
    broken = os.path.join(os.fsencode(tmp_path), b"broken\xff.py")
    with open(broken, "wb") as stream:
        stream.write(b"x = (\n")
    options = Options(config=Config(min_ops=0, jobs=1), use_cache=False)
    fixed = fix([str(tmp_path)], options)
    assert len(fixed.report.errors) == 1
    assert len(fixed.report.decisions) == 3
    for show in FORMATS.values():
        show(fixed.report).encode("utf-8")
    json.loads(to_sarif(fixed.report))
    (changed,) = fixed.files
    assert changed.source.file is not None
    assert os.fsencode(changed.source.file) == file


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipes_and_devices_in_the_tree_do_not_block(tmp_path: Path) -> None:
    for name in ("a.py", "b.ipynb", "c.pyi", "setup.py", ".gitignore"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    (tmp_path / "good.py").write_text(PAIR)
    report = report_of(tmp_path)
    assert len(report.decisions) == 3
    named = report_of(tmp_path / "a.py")
    assert [error.message for error in named.errors] == ["is not a regular file"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_file_that_becomes_a_pipe_or_folder_or_goes_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("pipe.py", "folder.py", "gone.py", "good.py"):
        Path(name).write_text(PAIR)
    regular = os.stat("good.py")
    discover, look = loading.discover_files, os.stat

    def exchange(*arguments: Any, **options: Any) -> Any:
        """Lists the files; then three of them become something else."""
        found = discover(*arguments, **options)
        for name in ("pipe.py", "folder.py", "gone.py"):
            Path(name).unlink()
        os.mkfifo("pipe.py")
        Path("folder.py").mkdir()
        return found

    def stat(name: Any, *rest: Any, **options: Any) -> os.stat_result:
        return regular if str(name) == "pipe.py" else look(name, *rest, **options)  # before it was exchanged

    monkeypatch.setattr(loading, "discover_files", exchange)
    monkeypatch.setattr(os, "stat", stat)
    report = report_of(Path("."))
    assert {decision.path for decision in report.decisions} == {"good.py"}
    assert {error.path: error.message for error in report.errors} == {
        "pipe.py": "is not a regular file",
        "folder.py": "is a folder, not a file",
        "gone.py": "does not exist",
    }


def test_the_place_of_an_error_in_a_notebook_is_that_in_the_document(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]},
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": ["%cd a\n", "x = 1"]},
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": ["y = 2\n", "z = = 3"]},
    ]
    document = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    path = tmp_path / "n.ipynb"
    path.write_text(document)
    report = report_of(path)
    (error,) = report.errors
    assert document.split("\n")[error.line - 1].strip() == '"z = = 3"'
    assert error.message.endswith("(cell 2, line 2)")
    for show in FORMATS.values():
        assert "cell 2, line 2" in show(report) or show is to_html


# --- loops -----------------------------------------------------------------------------------------------------------------------------

CIRCLES = """
import tensorflow as tf

def f(x):
    s = s.shape.as_list()
    t = t.shape[t]
    a = b
    b = c
    c = a
    n = n[n]
    boxes[n] = a
    return tf.reshape(x, s), tf.zeros([t, a[0]]), tf.gather(a, n), x[a], int(n), int(a) * x

@tf.function
def g(x):
    while True:
        p = q
        q = p
        x = tf.reshape(x, p)
        y = tf.zeros([q, len(p)])
        if x > p:
            break
    v = [v, v]
    return tf.concat(v, 0), tf.stack(v)[v], y

f(tf.ones([2]))
g(tf.ones([2]))
k = k
j = i
i = j
tf.reshape(tf.ones([3]), k)
tf.ones(i)
"""


def test_variables_that_are_set_from_themselves_do_not_lead_round(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CIRCLES)
    report = report_of(tmp_path)
    assert not report.errors
    assert {"f", "g"} <= by_name(report).keys()
    assert not [decision for decision in report.decisions if "internal" in decision.reason]


@pytest.mark.parametrize(
    "text",
    [
        "match x:\n    case " + "[" * 120 + "y" + "]" * 120 + ": pass\n",
        "match x:\n" + "    case {1: {2: {3: {4: {5: {6: {7: {8: {9: y}}}}}}}}}: pass\n" * 40,
        "x = [" + "1, " * 1_400_000 + "]\n",
        "x = " + " + ".join(["x"] * 10_000) + "\n",
        "if x: pass\n" + "elif x: pass\n" * 10_000,
    ],
    ids=["pattern", "patterns", "literal", "operators", "branches"],
)
def test_what_the_parser_takes_too_long_for_is_given_up(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "b.py").write_text(PAIR)
    report = report_of(tmp_path)
    (error,) = report.errors
    assert error.path.endswith("a.py")
    assert "to be analysed" in error.message
    assert len(report.decisions) == 3


def test_patterns_that_people_write_are_parsed(tmp_path: Path) -> None:
    case = '    case {"a": [Point(x=0, y=[1, *rest]), {"b": (c, d)}], **more} if f((((((((((c)))))))))): print(d)\n'
    (tmp_path / "a.py").write_text("match x:\n" + case * 50)
    assert not report_of(tmp_path).errors


@pytest.mark.parametrize("size", [30, 400])
def test_classes_whose_bases_branch_are_linearized_once(size: int, tmp_path: Path) -> None:
    lines = ["class A0: pass", "class B0: pass"]
    for number in range(1, min(size, 45)):
        lines += [f"class A{number}(A{number - 1}, B{number - 1}): pass", f"class B{number}(A{number - 1}): pass"]
    lines.append(f"print({' and '.join(['A0()'] * size)})")
    (tmp_path / "a.py").write_text("\n".join(lines) + "\n")
    assert not report_of(tmp_path).errors


# --- twice is once ---------------------------------------------------------------------------------------------------------------------

LOOP = """
import tensorflow as tf

def energy(x):
    for _ in range(30):
        x = tf.nn.relu(x + 1.0)
    return tf.reduce_sum(x)

def simulate(x, steps):
    log = []
    for _ in range(steps):
        x = tf.tanh(x) * 0.5 + tf.sin(x) - tf.cos(x)
        log.append(float(energy(x).numpy()))
    return x, log

print(simulate(tf.ones([3]), 100))
"""


def test_a_callee_that_is_decorated_already_counts_as_one_that_is_to_be(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(LOOP)
    options = Options(config=Config(level="coexec", min_ops=0, jobs=1), use_cache=False)
    (first,) = fix([str(path)], options).files
    assert "@tf.function" in first.new_text
    path.write_text(first.new_text)
    assert not [file for file in fix([str(path)], options).files if file.changed]


def test_many_fixes_are_parsed_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from terra_refactor.workspace import fixes  # noqa: PLC0415

    parsed: list[object] = []
    parse = fixes.parse_module
    monkeypatch.setattr(fixes, "parse_module", lambda source: parsed.append(source) or parse(source))
    prints = "".join(f'    print("step {number}", x)\n' for number in range(12))
    path = tmp_path / "many.py"
    path.write_text(
        f"import tensorflow as tf\n\n\n@tf.function\ndef f(x: tf.Tensor):\n{prints}    return x + 1\n", encoding="utf-8"
    )
    config = Config(jobs=1, level="speculative")
    fixed = fix([str(path)], Options(config=config, use_cache=False), of_findings=True, rounds=1)
    changes = [change for file in fixed.files for change in file.changes if change.outcome.value == "done"]
    assert len(changes) >= 10
    assert len(parsed) == 1


# --- what no budget sees ---------------------------------------------------------------------------------------------------------------


def test_an_analysis_without_end_costs_its_component(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("endless.py").write_text("def f(x):\n    return x\n")
    Path("other.py").write_text("def g(x):\n    return x\n")
    monkeypatch.setattr(watchdog, "_SECONDS", 0.5)

    def judge(program: Program, config: Config, progress: Callable[[int, int], None] | None) -> Judged:
        def spin() -> Judged:
            while True:
                try:
                    sum(range(1000))
                except Exception:
                    continue

        return (
            call_with_deep_stack(spin, at_once=True)
            if "endless" in program.modules
            else judge_program(program, config, progress)
        )

    report = analyze(["."], Options(config=Config(jobs=1), use_cache=False, judge=judge))
    assert [decision.qualname for decision in report.decisions] == ["g"]
    (error,) = report.errors
    assert error.path == "endless.py"
    assert "the analysis was ended: it took more than" in error.message


def test_an_analysis_that_takes_all_memory_costs_its_component(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "resident_bytes", lambda: 10 << 30)

    def without_end() -> None:
        while True:
            time.sleep(0)

    with pytest.raises(OverLimitError, match=r"more than 1\.0 GiB of memory"):
        watched(without_end, ProcessLimits(seconds=60.0, memory=1 << 30))


def test_the_watchdog_lets_results_and_errors_pass() -> None:
    limits = ProcessLimits.of(10)
    assert watched(lambda: 3, limits) == 3
    with pytest.raises(ZeroDivisionError):
        watched(lambda: 1 / 0, limits)


def test_the_editor_answers_for_a_file_whose_analysis_has_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "endless.py").write_text("def f(x):\n    return x\n")
    monkeypatch.setattr(watchdog, "_SECONDS", 0.5)
    original = RepeatedJudge.judge

    def judge(self: RepeatedJudge, program: Program, *rest: Any) -> Any:
        while program.modules:
            sum(range(1000))
        return original(self, program, *rest)

    monkeypatch.setattr(RepeatedJudge, "judge", judge)
    monkeypatch.chdir(tmp_path)
    session = Session(".", Config(jobs=1))
    (path,) = session.snapshot("endless.py").errors
    assert path == "endless.py"


TRACED_AFTERWARDS = """
import sys
from terra_refactor.workspace.watchdog import OverLimitError, ProcessLimits, watched

def endless():
    while True:
        sum(range(100))

def inner():
    return 1

def traced():
    sys.setprofile(lambda *_: None)
    try:
        return inner()
    finally:
        sys.setprofile(None)

assert watched(lambda: 1, ProcessLimits(100.0, 1 << 50)) == 1
assert traced() == 1
try:
    watched(endless, ProcessLimits(0.1, 1 << 50))
except OverLimitError:
    assert traced() == 1
    print("done")
"""


def test_the_interpreter_is_as_before_after_a_watched_call() -> None:
    """An exception that is called off leaves CPython 3.11 looking for it, and the next frame that is profiled never begins."""
    command = [sys.executable, "-c", TRACED_AFTERWARDS]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout == "done\n"
