"""Components that are judged in worker processes have the results of one process, whatever becomes of the processes."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from terra_refactor.classify.decision import Decision
from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.ir.program import Program
from terra_refactor.rules.rule import Finding
from terra_refactor.workspace import component_pool, components
from terra_refactor.workspace.component_pool import ComponentTask, worthwhile_workers
from terra_refactor.workspace.component_result import ComponentResult
from terra_refactor.workspace.judging import judge_program
from terra_refactor.workspace.loading import ReadProject, read_project
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.watchdog import OverLimitError
from terra_refactor.workspace.workspace import Options, analyze

PROGRAMS = Path(__file__).parents[3] / "corpus" / "programs"
NAMES = ("heat_equation", "layers_library")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Components of which all are worth a process, in the current folder; those that are judged here, by their first file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERRA_REFACTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(component_pool, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(component_pool, "processors_for", lambda jobs: jobs)
    for name in NAMES:
        shutil.copytree(PROGRAMS / name, tmp_path / "work" / name)
    found: list[str] = []
    judged_component = components.judged_component

    def noted(*given: object) -> ComponentResult:
        found.append(min(given[0]))  # type: ignore[call-overload]
        return judged_component(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(components, "judged_component", noted)
    return found


def analyzed(jobs: int, *, use_cache: bool = False) -> WorkspaceReport:
    report = analyze(["work"], Options(Config(jobs=jobs), use_cache=use_cache))
    return replace(report, stats=replace(report.stats, seconds=0.0, cached_files=0))


def test_processes_give_the_report_of_one(here: list[str]) -> None:
    one = analyzed(1)
    assert len(here) >= len(NAMES)
    here.clear()
    assert analyzed(2) == one
    assert here == []


def test_processes_use_what_one_has_kept_and_keep_it_themselves(here: list[str]) -> None:
    changed = Path("work/heat_equation/heat.py")
    text = changed.read_text(encoding="utf-8")
    for first, second in ((1, 2), (2, 1)):
        shutil.rmtree("cache", ignore_errors=True)
        changed.write_text(text, encoding="utf-8")
        kept = analyzed(first, use_cache=True)
        changed.write_text(text + "\n\ndef added(x):\n    return x\n", encoding="utf-8")
        here.clear()
        assert analyzed(second, use_cache=True) == analyzed(1)
        assert kept != analyzed(1, use_cache=True)


def test_progress_goes_on_within_a_component(here: list[str]) -> None:
    def judge(
        program: Program, config: Config, progress: Callable[[int, int], None] | None
    ) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
        assert progress is not None
        for done in (5, 9, 0, 10):  # a second round, which begins again
            progress(done, 10)
        return judge_program(program, config, None)

    told: list[tuple[str, int, int]] = []
    options = Options(Config(jobs=1), use_cache=False, judge=judge, progress=lambda *each: told.append(each))
    report = analyze(["work"], options)
    judging = [each for each in told if each[0] != "reading"]
    assert {stage for stage, _, _ in judging} == {"analysing", "deciding"}
    numbers = [done for _, done, _ in judging]
    assert numbers == sorted(numbers) and len(set(numbers)) > len(here), "not only at the end of a component"
    assert judging[-1] == ("deciding", report.stats.files, report.stats.files)


def test_a_process_tells_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []

    def judged(*given: object) -> None:
        for done in (3, 1):
            given[4](done, 4)  # type: ignore[operator]
            told.append(shares[1])

    shares = [0.0, 0.0]
    monkeypatch.setattr(component_pool, "judged_component", judged)
    monkeypatch.setitem(component_pool._own, "project", (ReadProject({}, None, ()), 2, shares))  # type: ignore[arg-type]
    component_pool._judge(ComponentTask((), {}, (), 0, Config(), None), 1)
    assert told == [0.75, 0.75] and shares[0] == 0


def _dies_of_heat(task: ComponentTask, place: int) -> ComponentResult:
    if "work/heat_equation/heat.py" in task.group:
        os.kill(os.getpid(), signal.SIGKILL)
    return component_pool._judge(task, place)


def _needs_more_than_its_part(task: ComponentTask, place: int) -> ComponentResult:
    raise OverLimitError("it took more than 0.1 GiB of memory", of_memory=True)


def _is_wrong(task: ComponentTask, place: int) -> ComponentResult:
    raise UsageError("wrong")


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_what_a_process_dies_of_is_judged_here(here: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    one = analyzed(1)
    here.clear()
    monkeypatch.setattr(component_pool, "_judge", _dies_of_heat)
    assert analyzed(2) == one
    assert "work/heat_equation/heat.py" in here


@pytest.mark.parametrize("judge", [_needs_more_than_its_part, _is_wrong])
def test_what_no_process_can_judge_is_judged_here(
    judge: object, here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = analyzed(1)
    here.clear()
    monkeypatch.setattr(component_pool, "_judge", judge)
    assert analyzed(2) == one
    assert len(here) >= len(NAMES)


def test_an_interrupt_ends_the_processes(here: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[object] = []
    end_processes = component_pool.end_processes

    def noted(executor: object) -> None:
        ended.extend(executor._processes.values())  # type: ignore[attr-defined]
        end_processes(executor)  # type: ignore[arg-type]

    def interrupt(stage: str, done: int, total: int) -> None:
        if stage == "analysing":
            raise KeyboardInterrupt

    monkeypatch.setattr(component_pool, "end_processes", noted)
    with pytest.raises(KeyboardInterrupt):
        analyze(["work"], Options(Config(jobs=2), use_cache=False, progress=interrupt))
    assert ended
    for process in ended:
        process.join(10)  # type: ignore[attr-defined]
        assert not process.is_alive()  # type: ignore[attr-defined]


def test_processes_are_for_components_that_take_longer_than_starting_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(component_pool, "processors_for", lambda jobs: jobs)
    for name, size in (("small", 1), ("a", 20_000), ("b", 110_000), ("c", 210_000)):
        Path(f"{name}.py").write_text(f"x = {name!r}\n" + "#" * size, encoding="utf-8")
    project = read_project(["."], Config())

    def workers(jobs: int, *names: str) -> int:
        return worthwhile_workers(project, [(f"{name}.py",) for name in names], jobs)

    assert workers(2, "b", "c") == 2
    assert workers(1, "b", "c") == 1
    assert workers(4, "b", "c") == 2
    assert workers(2, "a", "c") == 1  # what is left beside the longest is done sooner than a process has started
    assert workers(4, "a", "a", "a", "small") == 4
    assert workers(2, "c") == 1
