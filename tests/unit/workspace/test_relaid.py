"""A run after a change of comments, docstrings or layout: the cached result with its places moved equals a fresh analysis."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from layout_support import respaced

from terra_refactor.config import Config
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

PROGRAMS = Path(__file__).parents[3] / "corpus" / "programs"
HEAD = "import numpy as np\nimport tensorflow as tf\n\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, with a cache of its own."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.setenv("TERRA_REFACTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(folder)
    return folder


def run(*, use_cache: bool = True, config: Config | None = None) -> WorkspaceReport:
    return analyze(["."], Options(config or Config(), use_cache=use_cache))


def told(report: WorkspaceReport) -> dict[str, object]:
    """The result of a run, without its costs."""
    return {
        "decisions": report.decisions,
        "findings": report.findings,
        "errors": report.errors,
        "regions": report.regions,
        "size": (report.stats.files, report.stats.lines),
    }


def is_moved(report: WorkspaceReport) -> bool:
    return report.stats.cached_files == report.stats.files


@pytest.mark.slow
@pytest.mark.parametrize("program", ["layers_library", "vae", "transformer", "cli_package", "graph_network"])
def test_what_is_moved_is_what_is_made_anew(project: Path, program: str) -> None:
    shutil.copytree(PROGRAMS / program, project / program)
    run()
    choice = random.Random(program)
    moved = 0
    for _ in range(6):
        file = choice.choice([each for each in sorted(project.rglob("*.py")) if each.stat().st_size])
        file.write_text(respaced(file.read_text(encoding="utf-8"), choice, often=0.05), encoding="utf-8")
        report = run()
        moved += is_moved(report)
        assert told(report) == told(run(use_cache=False))
    assert moved >= 3


def test_code_that_changed_is_judged(project: Path) -> None:
    file = project / "m.py"
    file.write_text(HEAD + "@tf.function\ndef f(x):\n    print(x)\n    return x + 1\n", encoding="utf-8")
    assert [finding.rule for finding in run().findings] == ["TR101"]
    file.write_text(HEAD + "@tf.function\ndef f(x):\n    # print(x)\n    return x + 1\n", encoding="utf-8")
    report = run()
    assert not is_moved(report)
    assert report.findings == ()


def test_places_in_other_files_move(project: Path) -> None:
    (project / "a.py").write_text("def log(x):\n    print(x)\n", encoding="utf-8")
    (project / "b.py").write_text(
        "import tensorflow as tf\nfrom a import log\n\n@tf.function\ndef f(x):\n    log(x)\n    return x\n"
    )
    run()
    (project / "a.py").write_text("# a comment\ndef log(x):\n    '''Prints.'''\n    print(x)\n", encoding="utf-8")
    report = run()
    assert is_moved(report)
    assert told(report) == told(run(use_cache=False))
    assert {effect.span.line for decision in report.decisions for effect in decision.side_effects} == {4}


def test_whether_the_text_allows_a_cure_is_asked_again(project: Path) -> None:
    file = project / "m.py"
    cured = HEAD + "@tf.function\ndef f(x):\n    print('x', x)\n    return x + 1\n"
    file.write_text(cured, encoding="utf-8")
    assert run().findings[0].fixable
    file.write_text(cured.replace("print('x', x)", "print('x',  # first\n      x)"), encoding="utf-8")
    report = run()
    assert is_moved(report)
    assert told(report) == told(run(use_cache=False))


def test_one_change_after_the_other(project: Path) -> None:
    file = project / "m.py"
    for lines in range(3):
        file.write_text("#\n" * lines + HEAD + "def f(x):\n    return tf.square(x)\n", encoding="utf-8")
        report = run()
        assert is_moved(report) == (lines > 0)
        assert report.decisions[0].line == 4 + lines


def test_a_string_at_the_end_of_a_function_is_part_of_it(project: Path) -> None:
    file = project / "m.py"
    text = HEAD + "def f(x):\n    return tf.square(x)\n"
    file.write_text(text, encoding="utf-8")
    run()
    file.write_text(text + "    'the end'\n", encoding="utf-8")
    report = run()
    assert not is_moved(report)
    assert told(report) == told(run(use_cache=False))
    file.write_text(text + "\n    'the end'\n", encoding="utf-8")
    report = run()
    assert is_moved(report)
    assert told(report) == told(run(use_cache=False))


def test_another_configuration_is_another_result(project: Path) -> None:
    file = project / "m.py"
    file.write_text(HEAD + "def f(x):\n    return tf.square(x)\n", encoding="utf-8")
    run()
    file.write_text("#\n" + HEAD + "def f(x):\n    return tf.square(x)\n", encoding="utf-8")
    assert not is_moved(run(config=Config(min_ops=5)))


def test_suppressions_are_those_of_the_new_text(project: Path) -> None:
    file = project / "m.py"
    text = HEAD + "@tf.function\ndef f(x):\n    print(x)\n    return x + 1\n"
    file.write_text(text, encoding="utf-8")
    run()
    file.write_text(text.replace("print(x)", "print(x)  # terra: ignore[TR101]"), encoding="utf-8")
    report = run()
    assert is_moved(report)
    assert report.findings == ()
    assert len(report.suppressed) == 1
