"""The types of the bundled programs, against what was recorded when they ran: nothing is wrong, and what is not exact is written down."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from corpus.recorder import bundled  # noqa: E402
from corpus.recorder.compare import Comparison  # noqa: E402


@pytest.fixture(scope="module")
def found() -> Mapping[str, Comparison]:
    return bundled.comparisons()


def test_every_recording_is_of_the_program_that_is_there() -> None:
    assert bundled.stale() == [], "python -m corpus record"


@pytest.mark.slow
def test_no_type_is_wrong(found: Mapping[str, Comparison]) -> None:
    wrong = [line for line in bundled.not_exact(found) if line.endswith((", wrong]", "[false tensor]"))]
    assert wrong == []


@pytest.mark.slow
def test_what_is_not_exact_is_what_was_written_down(found: Mapping[str, Comparison]) -> None:
    present = bundled.not_exact(found)
    written = bundled.NOT_EXACT.read_text(encoding="utf-8").splitlines()
    changed = [
        line
        for line in difflib.unified_diff(written, present, "written down", "now", n=0, lineterm="")
        if line[0] in "+-"
    ]
    assert not changed, "\n".join(["python -m corpus types writes it:", *changed])
    assert bundled.numbers(found) == json.loads(bundled.NUMBERS.read_text(encoding="utf-8"))


def test_a_changed_program_has_a_stale_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "program.py"
    source.write_text("def f(x):\n    return x\n", encoding="utf-8")
    program = bundled.Bundled("typed", "program", tmp_path, (("program.py",),), (source,))
    monkeypatch.setattr(bundled, "RECORDINGS", tmp_path / "recordings")
    monkeypatch.setattr(bundled, "bundled", lambda: [program])
    assert bundled.stale() == ["typed/program was never recorded"]
    program.file.parent.mkdir(parents=True)
    program.file.write_text(json.dumps({"sources": program.digest, "functions": []}), encoding="utf-8")
    assert bundled.stale() == []
    source.write_text("def f(y):\n    return y\n", encoding="utf-8")
    assert bundled.stale() == ["typed/program is not what was recorded"]
    (program.file.parent / "gone.json").write_text("{}", encoding="utf-8")
    assert bundled.stale()[1:] == ["typed/gone.json is of no program"]


def test_a_program_is_recorded_by_all_of_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "program.py"
    source.write_text(
        "import sys\n\ndef f(n):\n    return n\n\nf(int(sys.argv[1]) if sys.argv[1:] else [])\n", encoding="utf-8"
    )
    program = bundled.Bundled("typed", "program", tmp_path, (("program.py",), ("program.py", "3")), (source,))
    monkeypatch.setattr(bundled, "RECORDINGS", tmp_path / "recordings")
    monkeypatch.setattr(bundled, "bundled", lambda: [program])
    assert bundled.record_bundled([]) == 0
    (function,) = json.loads(program.file.read_text(encoding="utf-8"))["functions"]
    assert [each["kind"] for each in function["parameters"]["n"]] == ["container", "primitive"]
    source.write_text("raise SystemExit(2)\n", encoding="utf-8")
    program = replace(program, eager=False)  # needs no TensorFlow
    before = program.file.read_text(encoding="utf-8")
    assert bundled.record_bundled([]) == 1
    assert program.file.read_text(encoding="utf-8") == before
