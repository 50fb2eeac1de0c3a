"""The results of a session are kept on disk, and the next session, or a command, resumes from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.analysis.reuse import Adoption, SummaryStore
from terra_refactor.config import Config
from terra_refactor.ide.session import Session, StaleError
from terra_refactor.syntax.source import source_from_text
from terra_refactor.workspace import kept_analysis
from terra_refactor.workspace.cache import LoweringCache, ResultCache
from terra_refactor.workspace.workspace import Options, analyze

LIBRARY = """import tensorflow as tf


def scaled(x):
    return x * 2.0


def summed(x):
    return tf.reduce_sum(scaled(x))
"""
SCRIPT = """import tensorflow as tf

from library import summed

for step in range(100):
    print(summed(tf.ones([4, 4])))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "library.py").write_text(LIBRARY)
    (project / "script.py").write_text(SCRIPT)
    monkeypatch.chdir(project)
    monkeypatch.setenv("TERRA_REFACTOR_CACHE_DIR", str(tmp_path / "cache"))
    return project


def session(folder: Path) -> Session:
    return Session(str(folder), Config(jobs=1), LoweringCache(), ResultCache())


def kept_contexts(of: Session) -> int:
    (judge,) = of._judges.values()
    return judge.kept_contexts


def test_the_next_session_takes_over_what_the_last_one_kept(folder: Path) -> None:
    first = session(folder)
    first.snapshot("script.py")
    assert kept_contexts(first) == 0
    first.keep()
    (folder / "library.py").write_text(LIBRARY.replace("2.0", "3.0"))
    second = session(folder)
    fresh = Session(str(folder), Config(jobs=1))
    assert second.snapshot("script.py").decisions == fresh.snapshot("script.py").decisions
    assert second.snapshot("script.py").findings == fresh.snapshot("script.py").findings
    assert kept_contexts(second) == 3, "who calls the function that was changed gets what it got, so do both modules"
    third = session(folder)
    (folder / "script.py").write_text(SCRIPT.replace("100", "200"))
    third.snapshot("script.py")


def test_a_text_that_was_open_is_resumed_from(folder: Path) -> None:
    first = session(folder)
    first.set_buffer("script.py", source_from_text(SCRIPT.replace("100", "50"), "script.py"))
    first.snapshot("script.py")
    first.keep()
    second = session(folder)
    second.snapshot("script.py")
    assert kept_contexts(second) > 0


def test_a_command_resumes_from_what_a_session_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = session(folder)
    first.snapshot("script.py")
    first.keep()
    (folder / "script.py").write_text(SCRIPT.replace("100", "200"))
    found: list[object] = []
    wake = kept_analysis.resumed_judge

    def noted(*given: object) -> object:
        found.append(wake(*given))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(kept_analysis, "resumed_judge", noted)
    report = analyze(["."], Options(Config(jobs=1)))
    assert len(found) == 1 and found[0] is not None
    assert report.decisions == analyze(["."], Options(Config(jobs=1), use_cache=False)).decisions


def test_keeping_ends_when_somebody_waits(folder: Path) -> None:
    first = session(folder)
    first.snapshot("script.py")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(StaleError):
        patch.setattr("terra_refactor.workspace.graph_codec._CHECKED_EACH", 1)
        first.keep(lambda: True)
    assert first._unkept, "it is kept in the next quiet moment"
    first.keep()
    assert not first._unkept


def test_what_cannot_be_read_is_as_good_as_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = analyze(["."], Options(Config(jobs=1)))
    (folder / "script.py").write_text(SCRIPT.replace("100", "200"))
    monkeypatch.setattr(ResultCache, "find_analysis", lambda self, place: memoryview(b"\0" * 100))
    report = analyze(["."], Options(Config(jobs=1)))
    assert not report.errors and len(report.decisions) == len(fresh.decisions)


def test_what_fails_with_kept_knowledge_is_analysed_from_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analyze(["."], Options(Config(jobs=1)))
    (folder / "script.py").write_text(SCRIPT.replace("100", "200"))

    def broken(*given: object) -> None:
        raise AssertionError("a bug")

    monkeypatch.setattr("terra_refactor.analysis.reuse.Adoption.settle", broken)
    settle = Adoption.settle
    begin = SummaryStore.begin

    def begun(self: SummaryStore, *given: object) -> Adoption:
        monkeypatch.setattr(Adoption, "settle", settle if self.by_identity else lambda *_: None)
        return begin(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(SummaryStore, "begin", begun)
    report = analyze(["."], Options(Config(jobs=1)))
    assert not report.errors and len(report.decisions) == 2


def test_an_analysis_that_is_ended_is_gone_on_with(folder: Path) -> None:
    (folder / "script.py").write_text(
        SCRIPT + "".join(f"\n\ndef entry{n}(x):\n    return summed(x) + {n}\n" for n in range(60))
    )
    first = session(folder)
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 5  # in the round, not while modules run

    with pytest.raises(StaleError):
        first.snapshot("script.py", cancelled)
    (judge,) = first._judges.values()
    made = len(judge._store.by_identity)
    assert made > 0
    found = first.snapshot("script.py")
    assert kept_contexts(first) > 0
    fresh = Session(str(folder), Config(jobs=1)).snapshot("script.py")
    assert (found.decisions, found.findings) == (fresh.decisions, fresh.findings)
