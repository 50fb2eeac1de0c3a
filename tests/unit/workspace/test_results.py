"""Results are cached for files that are analysed together: a cache hit where nothing has changed, else recomputed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from terra_refactor.classify.decision import Decision
from terra_refactor.config import Config
from terra_refactor.ir.program import Program
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_json import to_json
from terra_refactor.rules.rule import Finding
from terra_refactor.workspace import workspace
from terra_refactor.workspace.judging import judge_program
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

STEP = """
import tensorflow as tf
from {package}.layers import scale

@tf.function
def step(x):
    print(x)
    return scale(x) * 2.0

step(tf.zeros([4, {size}]))
"""
LAYERS = """
import tensorflow as tf

def scale(x):
    return tf.exp(x) + tf.reshape(x, [2, 2])
"""


class Judged:
    """The usual judge, and which modules it was asked about."""

    def __init__(self) -> None:
        self.modules: list[str] = []

    def __call__(
        self, program: Program, config: Config, progress: Callable[[int, int], None] | None
    ) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
        self.modules.extend(program.modules)
        return judge_program(program, config, progress)


@pytest.fixture(name="judged")
def _judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judged:
    """Two packages that do not import each other, each of two modules, and a file that does not parse."""
    monkeypatch.chdir(tmp_path)
    for package, size in (("one", 1), ("two", 2)):
        (tmp_path / package).mkdir()
        (tmp_path / package / "train.py").write_text(STEP.format(package=package, size=size))
        (tmp_path / package / "layers.py").write_text(LAYERS)
    (tmp_path / "broken.py").write_text("def f(:\n")
    judged = Judged()
    monkeypatch.setattr(workspace, "judge_program", judged)
    return judged


def report(
    judged: Judged, *, use_cache: bool = True, jobs: int = 1, min_ops: int | None = None, exclude: tuple[str, ...] = ()
) -> WorkspaceReport:
    judged.modules.clear()
    config = Config(jobs=jobs, cache_dir="cache", min_ops=min_ops, exclude=exclude)
    return analyze(["."], Options(config=config, use_cache=use_cache, judge=judged))


def text(found: WorkspaceReport) -> str:
    return to_json(build_report(dataclasses.replace(found, stats=dataclasses.replace(found.stats, seconds=0.0))))


def test_what_has_not_changed_is_not_analysed_again(judged: Judged) -> None:
    cold = report(judged)
    assert sorted(judged.modules) == ["one.layers", "one.train", "two.layers", "two.train"]
    assert [error.path for error in cold.errors] == ["broken.py"]
    assert cold.findings
    warm = report(judged)
    assert not judged.modules
    assert text(warm) == text(cold) == text(report(judged, use_cache=False))
    assert (cold.stats.cached_files, warm.stats.cached_files) == (0, 4)


def test_a_change_costs_what_imports_connect_with_it(judged: Judged) -> None:
    report(judged)
    Path("two/layers.py").write_text(LAYERS.replace("[2, 2]", "[8]"))
    changed = report(judged)
    assert judged.modules == ["two.layers", "two.train"]
    assert changed.stats.cached_files == 3
    assert text(changed) == text(report(judged, use_cache=False))
    Path("two/train.py").write_text(STEP.format(package="one", size=2))
    assert text(report(judged)) == text(report(judged, use_cache=False))
    assert sorted(judged.modules) == ["one.layers", "one.train", "two.layers", "two.train"]


def test_a_component_has_the_same_result_whatever_lies_beside_it(judged: Judged) -> None:
    together = report(judged, use_cache=False)
    assert report(judged, jobs=2, use_cache=False).decisions == together.decisions
    for package, other in (("one", "two"), ("two", "one")):
        Path(other).rename("away")
        alone = report(judged, use_cache=False, exclude=("away",))
        Path("away").rename(other)
        assert alone.decisions == tuple(each for each in together.decisions if each.path.startswith(package))
        assert alone.findings == tuple(each for each in together.findings if each.path.startswith(package))


def test_another_configuration_is_another_result(judged: Judged) -> None:
    report(judged)
    few = report(judged, min_ops=0)
    assert len(judged.modules) == 4
    assert text(few) == text(report(judged, min_ops=0, use_cache=False))


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "folder"])
def test_a_damaged_result_is_none(judged: Judged, damage: str) -> None:
    cold = report(judged)
    for file in Path("cache").rglob("*.result"):
        data = file.read_bytes()
        if damage == "folder":
            file.unlink()
            file.mkdir()
        else:
            file.write_bytes({"empty": b"", "cut": data[:50], "flipped": data[:-3] + b"???"}[damage])
    again = report(judged)
    assert len(judged.modules) == 4
    assert again.decisions == cold.decisions


def test_results_of_another_version_are_not_found(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    report(judged)
    monkeypatch.setattr("terra_refactor.workspace.cache.result_generation", lambda: "another")
    report(judged)
    assert len(judged.modules) == 4
