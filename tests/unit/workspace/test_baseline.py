"""Baselines: known findings stay silent when their line moves, new ones are reported, fixed ones leave the file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_json import to_json
from terra_refactor.workspace.baseline import read_baseline, save_baseline
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

CODE = """\
import tensorflow as tf


@tf.function
def f(x):
    print(x)
    print(x)
    return x


f(tf.ones([3]))
"""
FILE = Path("known.json")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(CODE)


def run(*paths: str, baseline: Path | None = None, select: tuple[str, ...] = ("TR1",)) -> WorkspaceReport:
    config = Config(jobs=1, baseline=None if baseline is None else str(baseline.absolute()), select=select)
    return analyze(paths or ["."], Options(config=config, use_cache=False))


def places(report: WorkspaceReport) -> list[tuple[str, int]]:
    return [(finding.path, finding.span.line) for finding in report.findings]


def test_moved_lines_are_known_and_new_ones_are_not() -> None:
    assert save_baseline(FILE, run(), shrink=False) == (2, 0)
    assert places(run(baseline=FILE)) == []
    Path("m.py").write_text("# one\n# two\n" + CODE.replace("    return x", "    print( x )\n    return x"))
    report = run(baseline=FILE)
    assert places(report) == [("m.py", 10)]
    assert report.comparison is not None
    assert [finding.span.line for finding in report.comparison.known] == [8, 9]


def test_a_changed_line_is_known_by_its_message() -> None:
    save_baseline(FILE, run(), shrink=False)
    Path("m.py").write_text(CODE.replace("print(x)", "print('x', x)"))
    assert places(run(baseline=FILE)) == []


def test_it_shrinks_and_does_not_grow() -> None:
    save_baseline(FILE, run(), shrink=False)
    Path("m.py").write_text(CODE.replace("    print(x)\n    print(x)\n", "    print(x)\n"))
    Path("n.py").write_text(CODE)
    report = run(baseline=FILE)
    assert report.comparison is not None
    assert len(report.comparison.gone) == 1
    assert save_baseline(FILE, report, shrink=True) == (1, 2)
    assert places(run(baseline=FILE)) == [("n.py", 6), ("n.py", 7)]
    assert save_baseline(FILE, run(baseline=FILE), shrink=False) == (3, 1)
    assert places(run(baseline=FILE)) == []


def test_files_that_were_not_analysed_keep_their_findings() -> None:
    Path("n.py").write_text(CODE)
    save_baseline(FILE, run(), shrink=False)
    report = run("m.py", baseline=FILE)
    assert report.comparison is not None and report.comparison.gone == ()
    assert save_baseline(FILE, report, shrink=True) == (4, 4)
    Path("n.py").unlink()
    assert save_baseline(FILE, run("m.py", baseline=FILE), shrink=True) == (2, 4)


def test_paths_count_from_the_baseline_whatever_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    save_baseline(FILE, run(), shrink=False)
    assert {entry["path"] for entry in json.loads(FILE.read_text())["findings"]} == {"m.py"}
    file = FILE.absolute()
    Path("sub").mkdir()
    monkeypatch.chdir("sub")
    assert places(run(os.pardir, baseline=file)) == []


def test_two_runs_write_the_same_bytes() -> None:
    save_baseline(FILE, run(), shrink=False)
    first = FILE.read_bytes()
    save_baseline(FILE, run(baseline=FILE), shrink=False)
    assert FILE.read_bytes() == first


def test_a_json_report_is_a_baseline_too() -> None:
    FILE.write_text(to_json(build_report(run())))
    assert places(run(baseline=FILE)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a baseline"),
        ("{}", "is not a baseline"),
        (
            '{"schema": "terra-refactor/baseline/2", "findings": []}',
            "does not support; write it again with --write-baseline",
        ),
        ('{"schema": "terra-refactor/baseline/1", "findings": [{}]}', "not complete"),
        ('{"schema": "terra-refactor/baseline/1", "findings": 3, "totals": {}}', "not complete"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_what_is_no_baseline(text: str, message: str) -> None:
    FILE.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_baseline(FILE)


def test_a_baseline_of_another_version_of_the_tool_is_read() -> None:
    save_baseline(FILE, run(), shrink=False)
    data = json.loads(FILE.read_text())
    data["tool"]["version"] = "99.0"
    data["findings"][0]["something"] = "new"
    FILE.write_text(json.dumps(data))
    assert places(run(baseline=FILE)) == []
