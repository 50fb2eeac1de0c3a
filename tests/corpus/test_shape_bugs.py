"""The gallery of shape bugs: what TensorFlow says of each program, and that the bug is found at its line and nothing else is reported."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

from analysis_support import analyze_modules
from kept_answers import Harness, digest

from corpus.shape_bugs import ShapeBug, shape_bugs
from terra_refactor.rules.rule import Finding

BUGS = shape_bugs()
SHAPE_RULES = ("TR401", "TR402", "TR403", "TR404", "TR405", "TR406", "TR407")
SILENT_RULES = ("TR404", "TR405", "TR407")
RAISED_LATER = ("generator_signature",)
"""Programs whose bug is where something is declared; it raises where that is used."""
ROOT = Path(__file__).resolve().parents[2]
RUNS = Harness("shape_bugs", (ROOT / "corpus" / "shape_bugs" / "run.py", Path(__file__)))


def findings(path: Path) -> list[Finding]:
    """The findings of the shape rules about one program."""
    result = analyze_modules({path.stem: path.read_text(encoding="utf-8")})
    return [finding for finding in result.findings if finding.rule in SHAPE_RULES]


def test_the_gallery_is_large_and_of_both_generations() -> None:
    assert len(BUGS) >= 60
    assert sum(bug.generation == 1 for bug in BUGS) >= 20
    assert sum(bug.silent for bug in BUGS) >= 10
    assert 2 * sum(bug.function is not None for bug in BUGS) >= len(BUGS)
    assert len({bug.name for bug in BUGS}) == len(BUGS)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_bug_is_found_at_its_line(bug: ShapeBug) -> None:
    found = [finding for finding in findings(bug.broken) if finding.span.line == bug.line]
    assert found
    if bug.silent:
        assert {finding.rule for finding in found} <= set(SILENT_RULES)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_nothing_is_reported_on_the_mended_program(bug: ShapeBug) -> None:
    assert findings(bug.mended) == []


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program."""

    error: str | None
    """The type of the exception that ended it."""
    lines: tuple[int, ...]
    """Of the program, in the trace of that exception."""
    output: str
    """A digest of what it printed."""


@cache
def outcomes(generation: int) -> dict[str, Outcome]:
    """The outcome of each program of a generation, run in TensorFlow in a process of its own."""
    paths = [str(path) for bug in BUGS if bug.generation == generation for path in (bug.broken, bug.mended)]
    questions = {path: f"{generation}\n{Path(path).read_text(encoding='utf-8')}" for path in paths}
    answers = RUNS.answers(questions, lambda asked: ran(generation, asked))
    return {path: Outcome(error, tuple(lines), output) for path, (error, lines, output) in _read(answers).items()}


def _read(answers: dict[str, str]) -> dict[str, Any]:
    return {path: json.loads(line) for path, line in answers.items()}


def ran(generation: int, paths: Iterable[str]) -> dict[str, str]:
    """The outcomes of programs that are run now."""
    process = subprocess.run(
        [sys.executable, "-m", "corpus.shape_bugs.run", str(generation), *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = {}
    for line in process.stdout.splitlines():
        if line.startswith('{"path"'):
            seen = json.loads(line)
            path, error = seen["path"], seen["error"]
            lines = sorted({int(number) for number in re.findall(rf'{re.escape(path)}", line (\d+)', error or "")})
            found[path] = json.dumps([seen["type"], lines, digest(seen["output"], 4)])
    return found


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_tensorflow_agrees(bug: ShapeBug) -> None:
    pytest.importorskip("tensorflow")
    seen = outcomes(bug.generation)
    broken, mended = seen[str(bug.broken)], seen[str(bug.mended)]
    assert mended.error is None
    if bug.silent:
        assert broken.error is None
        assert broken.output != mended.output
        return
    assert broken.error is not None
    if bug.name not in RAISED_LATER:
        assert bug.line in broken.lines
