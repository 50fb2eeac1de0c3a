"""The gallery of shape bugs: what TensorFlow says of each program, and that the bug is found at its line and nothing else is reported."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

from analysis_support import analyze_modules

from corpus.shape_bugs import ShapeBug, shape_bugs
from terra_refactor.rules.rule import Finding

BUGS = shape_bugs()
SHAPE_RULES = ("TR401", "TR402", "TR403", "TR404", "TR405", "TR406")
SILENT_RULES = ("TR404", "TR405")
RAISED_LATER = ("generator_signature",)
"""Programs whose bug is where something is declared; it raises where that is used."""


def findings(path: Path) -> list[Finding]:
    """What the shape rules report about one program."""
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


@cache
def outcomes(generation: int) -> dict[str, dict[str, str | None]]:
    """What came of each program of a generation, run in TensorFlow in a process of its own."""
    paths = [str(path) for bug in BUGS if bug.generation == generation for path in (bug.broken, bug.mended)]
    process = subprocess.run(
        [sys.executable, "-m", "corpus.shape_bugs.run", str(generation), *paths],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in process.stdout.splitlines() if line.startswith('{"path"')]
    return {line["path"]: line for line in lines}


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_tensorflow_agrees(bug: ShapeBug) -> None:
    pytest.importorskip("tensorflow")
    ran = outcomes(bug.generation)
    broken, mended = ran[str(bug.broken)], ran[str(bug.mended)]
    assert mended["error"] is None
    if bug.silent:
        assert broken["error"] is None
        assert broken["output"] != mended["output"]
        return
    assert broken["error"] is not None
    if bug.name not in RAISED_LATER:
        assert f'{bug.broken}", line {bug.line}' in broken["error"]
