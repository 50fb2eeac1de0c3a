"""The report for a person: layout at several widths, and colours only where they are wanted."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from terra_refactor.classify.decision import (
    Action,
    Classification,
    Decision,
    ExpectedGain,
    Hazard,
    HybridArguments,
    Level,
    ParameterDecision,
    ParameterValueKind,
    SideEffect,
)
from terra_refactor.config import Config
from terra_refactor.domain.dim import symbol
from terra_refactor.domain.dtype import FLOAT32
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.tensor import TensorType
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.report.agenda import agenda_of
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_github import to_github
from terra_refactor.report.to_text import print_analysis, print_errors, print_findings, print_findings_summary
from terra_refactor.rules.rule import Finding, RelatedPlace, Severity
from terra_refactor.syntax.location import Span
from terra_refactor.workspace.results import FileError, Stats, WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

GOLDEN = Path(__file__).parents[2] / "golden" / "report"
IMAGES = TensorType(FLOAT32, (symbol("N"), 28, 28, 1))


def decision(
    path: str, line: int, qualname: str, classification: Classification, action: Action, reason: str, **more: object
) -> Decision:
    fields: dict[str, object] = {
        "function": FunctionId(path, line),
        "path": path,
        "module": path.removesuffix(".py"),
        "qualname": qualname,
        "line": line,
        "end_line": line + 5,
        "kind": FunctionKind.FUNCTION,
        "hybrid": False,
        "hybrid_arguments": (),
        "classification": classification,
        "action": action,
        "level": Level.SAFE,
        "reason": reason,
        "assumptions": (),
        "parameters": (),
        "returns": (),
        "side_effects": (),
        "recursive": False,
        "tensor_computation": True,
        "covered_by_graph_callers": False,
        "input_signature": None,
        "proposal": HybridArguments(),
        "hazards": (),
    }
    return Decision(**{**fields, **more})  # type: ignore[arg-type]


REPORT = WorkspaceReport(
    decisions=(
        decision(
            "pkg/train.py",
            12,
            "Trainer.train_step",
            Classification.SPECULATIVE,
            Action.ADD_TF_FUNCTION,
            "about 300 tensor operations per call; safe if an assumption holds",
            assumptions=("`images` is a tensor, as its name suggests",),
            parameters=(ParameterDecision("images", ParameterValueKind.TENSOR, Evidence.KEYWORD, (IMAGES,)),),
            returns=(TensorType(FLOAT32, ()),),
        ),
        decision(
            "pkg/train.py",
            40,
            "Trainer.fit",
            Classification.UNSAFE,
            Action.NONE,
            "print(...) happens when the graph is traced, not when it runs",
            held_back=True,
            rule="TR101",
            side_effects=(SideEffect("print", Span(20, 9, 20, 20), "pkg/log.py", "print(...)", ("log_line",)),),
            hazards=(Hazard("TR101", Span(41, 5, 41, 12), "print(...) happens at trace time only", ("log_line",)),),
        ),
        decision(
            "tools.py", 3, "scale", Classification.SAFE, Action.NONE, "no tensor computation", tensor_computation=False
        ),
    ),
    findings=(
        Finding(
            "TR401",
            "shape-mismatch",
            Severity.ERROR,
            "pkg/model.py",
            Span(40, 9, 40, 28),
            "(2, 3) and (4, 5): 100%",
            related=(RelatedPlace("pkg/data.py", Span(3, 1, 3, 9), "the first is made here"),),
        ),
        Finding("TR502", "no-tensor-work", Severity.WARNING, "tools.py", Span(3, 1, 3, 9), "nothing", fixable=True),
    ),
    errors=(FileError("broken.py", 3, "does not parse: '(' was never closed"), FileError("gone.py", 0, "vanished")),
    stats=Stats(files=2, lines=1, cached_files=0, seconds=0.1234),
)


def analysis(report: WorkspaceReport, width: int, *, verbose: bool = False, every_function: bool = False) -> str:
    buffer = io.StringIO()
    console = Console(file=buffer, width=width, highlight=False, emoji=False, markup=False)
    print_analysis(console, report, verbose=verbose, every_function=every_function)
    return buffer.getvalue()


def shown(width: int, *, verbose: bool = False, every_function: bool = False) -> str:
    buffer = io.StringIO()
    console = Console(file=buffer, width=width, highlight=False, emoji=False, markup=False)
    print_analysis(console, REPORT, verbose=verbose, every_function=every_function)
    print_findings(console, REPORT.findings, {}, verbose=verbose)
    print_findings_summary(console, REPORT.findings)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "width", "verbose", "every_function"),
    [
        ("wide", 120, False, False),
        ("every", 120, False, True),
        ("verbose", 120, True, False),
        ("narrow", 50, False, False),
        ("narrow_verbose", 50, True, False),
    ],
)
def test_layout(name: str, width: int, verbose: bool, every_function: bool, update: bool) -> None:
    text = shown(width, verbose=verbose, every_function=every_function)
    file = GOLDEN / f"{name}.txt"
    if update:
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_nothing_is_lost_at_any_width(width: int) -> None:
    text = "".join(shown(width, verbose=True).split())
    for part in ("Trainer.train_step", "speculative", "addtf.function", "asitsnamesuggests", "(N,28,28,1)"):
        assert part in text


def test_changes_come_by_gain_then_by_level_and_hazards_by_size() -> None:
    def change(name: str, level: Level, seconds: float | None, operations: int = 20) -> Decision:
        gain = None if seconds is None else ExpectedGain(100, seconds, "estimate")
        add, safe = Action.ADD_TF_FUNCTION, Classification.SAFE
        return decision("a.py", 1, name, safe, add, "", level=level, expected_gain=gain, operations=operations)

    def hazard(name: str, operations: int) -> Decision:
        return decision("a.py", 1, name, Classification.UNSAFE, Action.NONE, "", held_back=True, operations=operations)

    changes = (
        change("unknown_speculative", Level.SPECULATIVE, None),
        change("unknown_safe", Level.SAFE, None),
        change("unknown_safe_large", Level.SAFE, None, operations=90),
        change("loses", Level.SAFE, -1.0, operations=5),
        change("little", Level.SAFE, 0.5),
        change("much", Level.SPECULATIVE, 9.0),
    )
    others = (
        decision("a.py", 1, "graph", Classification.SAFE, Action.NONE, "", hybrid=True),
        decision("a.py", 1, "part", Classification.SAFE, Action.NONE, "", covered_by_graph_callers=True),
        decision("a.py", 1, "host", Classification.SAFE, Action.NONE, "", tensor_computation=False),
        decision("a.py", 1, "small", Classification.SAFE, Action.NONE, ""),
    )
    hazards = tuple(hazard(f"h{number:02}", number) for number in range(30, 42))
    report = replace(REPORT, decisions=(*changes, *others, *hazards))
    agenda = agenda_of(report)
    names = [item.name for item in agenda.changes]
    assert names == ["much", "little", "unknown_safe_large", "unknown_safe", "loses", "unknown_speculative"]
    assert [item.name for item in agenda.held_back] == [f"h{number}" for number in range(41, 29, -1)]
    assert (agenda.in_graphs, agenda.without_tensors, agenda.others) == (2, 1, 1)
    text = analysis(report, 120)
    assert "and 2 more: --all lists every function" in text
    assert "h41" in text and "h30" not in text and "h30" in analysis(report, 120, every_function=True)
    assert "saves about 9.0 s in a run (100 calls)" in text and "-1.0 s" not in text


def test_a_pipe_gets_no_colours_and_a_terminal_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b" not in shown(120)
    buffer = io.StringIO()
    print_errors(Console(file=buffer, force_terminal=True, color_system="standard"), REPORT.errors)
    assert "\x1b[" in buffer.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    buffer = io.StringIO()
    print_analysis(Console(file=buffer, force_terminal=True), REPORT)
    assert "\x1b[3" not in buffer.getvalue()


def test_github_annotations_escape_what_would_end_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = to_github(build_report(REPORT)).splitlines()
    assert lines == [
        "::error file=broken.py,line=3,title=not analysed::does not parse: '(' was never closed",
        "::error file=gone.py,line=1,title=not analysed::vanished",
        "::error file=pkg/model.py,line=40,col=9,endLine=40,endColumn=28,title=TR401 shape-mismatch"
        "::(2, 3) and (4, 5): 100%25",
        "::warning file=tools.py,line=3,col=1,endLine=3,endColumn=9,title=TR502 no-tensor-work::nothing",
    ]


CALLS = """\
import tensorflow as tf

history = []


def log(loss):
    history.append(loss)


def middle(x):
    log(tf.reduce_sum(x))
    return x


@tf.function
def step(x):
    return middle(x) * 2


for _ in range(10):
    step(tf.ones((4, 4)))


def reshape(t):
    return tf.reshape(t, (3, 5))


def use(a):
    return reshape(a)


use(tf.ones((4, 4)))
"""


def test_the_calls_to_a_cause_follow_the_nearest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(CALLS, encoding="utf-8")
    report = analyze(["a.py"], Options(config=Config(jobs=1), use_cache=False))
    lines = [line.strip() for line in analysis(report, 200).splitlines()]
    (at,) = [number for number, line in enumerate(lines) if line.startswith("a.py:16  step  remove tf.function")]
    assert lines[at + 1 : at + 4] == [
        "a.py:7:5: in log",
        "a.py:11:5: called from middle",
        "a.py:17:12: called from step",
    ]
    buffer = io.StringIO()
    print_findings(Console(file=buffer, width=200, highlight=False, emoji=False, markup=False), report.findings, {})
    lines = buffer.getvalue().splitlines()
    (of_hazard,) = [number for number, line in enumerate(lines) if "TR104" in line]
    assert lines[of_hazard + 1 : of_hazard + 3] == [
        "    a.py:11:5: called from middle",
        "    a.py:17:12: called from step",
    ]
    (of_shape,) = [number for number, line in enumerate(lines) if "TR401" in line]
    assert lines[of_shape + 1 : of_shape + 3] == [
        "    a.py:29:12: called from use",
        "    a.py:32:1: called from <module>",
    ]


def test_a_long_way_is_cut_and_a_hazard_in_the_own_code_has_its_line() -> None:
    names = [f"f{number}" for number in range(6)]

    def named(number: int, **more: object) -> Decision:
        hazard = Hazard(
            "TR104",
            Span(10 * number + 2, 5, 10 * number + 2, 9),
            "it leaks",
            tuple(names[number + 1 :]),
            is_reason=True,
        )
        action = Action.NONE if number else Action.REMOVE_TF_FUNCTION
        fields: dict[str, object] = {"hazards": (hazard,), "rule": "TR104", "function": FunctionId("a", number), **more}
        callees = (FunctionId("a", number + 1),) if number < 5 else ()
        name = names[number]
        return decision(
            "a.py", 10 * number + 1, name, Classification.UNSAFE, action, "it leaks", callees=callees, **fields
        )

    decisions = (*(named(number) for number in range(5)), named(5, held_back=True))
    report = replace(REPORT, decisions=decisions, findings=())
    text = [line.strip() for line in analysis(report, 120).splitlines()]
    at = text.index("a.py:1  f0  remove tf.function: it leaks")
    assert text[at + 1 : at + 6] == [
        "a.py:52:5: in f5",
        "a.py:42:5: called from f4",
        "a.py:32:5: called from f3",
        "a.py:22:5: called from f2",
        "and 2 calls more: --verbose lists all",
    ]
    assert "a.py:51  f5  it leaks (TR104, line 52)" in text
    assert "a.py:2:5: called from f0" in analysis(report, 120, verbose=True)
    # code without a decision on the path: no calls that lead nowhere
    report = replace(report, decisions=(decisions[0], *decisions[2:]))
    assert "called from" not in analysis(report, 120)


def test_a_hazard_in_a_notebook_has_its_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = ["import tensorflow as tf\n", "kept = []\n@tf.function\ndef f(x):\n    kept.append(x)\n\nf(tf.ones([2]))\n"]
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    book = {"cells": [{**code, "source": cell} for cell in cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    Path("n.ipynb").write_text(json.dumps(book), encoding="utf-8")
    report = analyze(["n.ipynb"], Options(config=Config(jobs=1), use_cache=False))
    assert "where it has no value after the call (cell 1, line 4)\n" in analysis(report, 300)
    assert "TR104 at cell 1, line 4: " in analysis(report, 300, verbose=True, every_function=True)
