"""Golden pairs of rewrites: `before` and `case.toml` in, `after` and the outcomes out.

A folder below `tests/golden/refactor` is a case. With `--update` the expectations are rewritten; review
reads the difference. Bytes are compared, so that line endings, tabs, byte order marks and missing final newlines are part of each case.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from made_decisions import decide_for

from terra_refactor.classify.decision import Action, Level
from terra_refactor.refactor.plan import refactor_file
from terra_refactor.refactor.result import FileRefactoring, Outcome
from terra_refactor.syntax.source import Source, source_from_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GOLDEN = Path(__file__).parents[2] / "golden" / "refactor"
CASES = sorted(folder.parent.name for folder in GOLDEN.glob("*/case.toml"))


def _refactored(name: str, data: bytes) -> tuple[Source, FileRefactoring]:
    case = tomllib.loads((GOLDEN / name / "case.toml").read_text(encoding="utf-8"))
    source = source_from_bytes(data, f"before{_suffix(name)}")
    actions = {
        qualname: (Action(wanted["action"]), [tuple(pair) for pair in wanted.get("arguments", [])])
        for qualname, wanted in case["functions"].items()
    }
    decisions = decide_for(source, actions)
    return source, refactor_file(source, decisions, Level(case.get("level", "coexec")))


def _suffix(name: str) -> str:
    return ".ipynb" if (GOLDEN / name / "before.ipynb").exists() else ".py"


def _outcomes(refactoring: FileRefactoring) -> str:
    return "".join(f"{change.qualname}: {change.outcome.value}: {change.reason}\n" for change in refactoring.changes)


@pytest.mark.parametrize("name", CASES)
def test_golden_pair(name: str, update: bool) -> None:
    folder = GOLDEN / name
    before = (folder / f"before{_suffix(name)}").read_bytes()
    source, refactoring = _refactored(name, before)
    after = source.encode(refactoring.new_text)
    if update:
        (folder / f"after{_suffix(name)}").write_bytes(after)
        (folder / "outcomes.txt").write_text(_outcomes(refactoring), encoding="utf-8")
    assert after == (folder / f"after{_suffix(name)}").read_bytes()
    assert _outcomes(refactoring) == (folder / "outcomes.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_a_second_run_changes_nothing(name: str) -> None:
    before = (GOLDEN / name / f"before{_suffix(name)}").read_bytes()
    source, first = _refactored(name, before)
    after = source.encode(first.new_text)
    _, second = _refactored(name, after)
    assert second.new_text == first.new_text
    assert not any(change.outcome is Outcome.DONE for change in second.changes)


def test_there_are_cases() -> None:
    assert len(CASES) >= 20
