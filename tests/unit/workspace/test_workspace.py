"""The front door: the same answer for any number of jobs and from the cache, and errors that cost only their file."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.workspace import pool
from terra_refactor.workspace.components import AnalysedFiles
from terra_refactor.workspace.results import FileError, WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze, fix

MODULE = """
import tensorflow as tf
from pkg.m{before} import step as inner

@tf.function
def step(x):
    print(x)
    return inner(x) + tf.reduce_sum(x) * {number}

def once(x):
    return step(tf.zeros([{number}, 2]))
"""


@pytest.fixture(name="project")
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for number in range(30):
        (package / f"m{number}.py").write_text(MODULE.format(number=number, before=max(number - 1, 0)))
    (package / "broken.py").write_text("def f(:\n")
    (package / "null.py").write_bytes(b"x = 1\n\0\n")
    return tmp_path


def options(tmp_path: Path, jobs: int = 1, *, use_cache: bool = False) -> Options:
    return Options(config=Config(jobs=jobs, cache_dir=str(tmp_path / "cache")), use_cache=use_cache)


def without_cost(report: WorkspaceReport) -> WorkspaceReport:
    return dataclasses.replace(report, stats=dataclasses.replace(report.stats, seconds=0.0, cached_files=0))


def test_the_number_of_jobs_changes_nothing(project: Path) -> None:
    one = analyze(["."], options(project, 1))
    two = analyze(["."], options(project, 2))
    assert without_cost(one) == without_cost(two)
    assert len(one.decisions) == 60
    assert [error.path for error in one.errors] == ["pkg/broken.py", "pkg/null.py"]


def test_the_cache_changes_nothing(project: Path) -> None:
    cold = analyze(["."], options(project, use_cache=True))
    warm = analyze(["."], options(project, use_cache=True))
    assert without_cost(cold) == without_cost(warm)
    assert (cold.stats.cached_files, warm.stats.cached_files) == (0, 31)
    (project / "pkg" / "m3.py").write_text("def other():\n    return 1\n")
    changed = analyze(["."], options(project, use_cache=True))
    assert changed.stats.cached_files == 30
    assert without_cost(changed) == without_cost(analyze(["."], options(project)))


def _die_of_m7(task: pool.LoweringTask, cache: object) -> pool.LoweringResult:
    if task.name == "pkg.m7":
        os.kill(os.getpid(), signal.SIGKILL)
    return pool._lower(task, None)


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_worker_that_dies_costs_only_its_file(project: Path) -> None:
    sources = [project / "pkg" / f"m{number}.py" for number in range(30)]
    tasks = [
        pool.LoweringTask(pool.Source(str(path), path.read_text(), "0"), f"pkg.{path.stem}", False) for path in sources
    ]
    results = dict(pool._in_workers(tasks, range(30), 2, None, lower=_die_of_m7))
    assert sorted(results) == list(range(30))
    failed = [index for index, result in results.items() if not isinstance(result, pool.Lowered)]
    assert failed == [7]


def _hang_in_m7(task: pool.LoweringTask, cache: object) -> pool.Attempt:
    while task.name == "pkg.m7":
        time.sleep(1)
    return pool._lower(task, None)


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_worker_that_hangs_costs_only_its_file(project: Path) -> None:
    sources = [project / "pkg" / f"m{number}.py" for number in range(5, 9)]
    tasks = [
        pool.LoweringTask(pool.Source(str(path), path.read_text(), "0"), f"pkg.{path.stem}", False) for path in sources
    ]
    results = dict(pool._in_workers(tasks, range(4), 2, None, lower=_hang_in_m7, patience=3.0))
    assert [isinstance(results[index], pool.Lowered) for index in range(4)] == [True, True, False, True]
    error = results[2]
    assert isinstance(error, FileError)
    assert "took more than 3 seconds" in error.message


def test_an_unusual_file_is_parsed_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("deep.py").write_text(f"def f(x):\n    return {' + '.join(['x'] * 400)}\n")
    Path("plain.py").write_text("def g(x):\n    return x\n")
    asked: list[list[str]] = []
    original = pool._one_by_one

    def one_by_one(tasks: Any, indices: Any, *rest: Any) -> Any:
        asked.append([tasks[index].source.path for index in indices])
        return original(tasks, indices, *rest)

    monkeypatch.setattr(pool, "_one_by_one", one_by_one)
    report = analyze(["."], options(tmp_path))
    assert {decision.qualname for decision in report.decisions} == {"f", "g"}
    assert asked == [["deep.py"]]


def test_scripts_of_one_name_are_two_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "train.py").write_text(f"from helper import f\ndef {folder}():\n    return f()\n")
        Path(folder, "helper.py").write_text("def f():\n    return 1\n")
    report = analyze(["a", "b"], options(tmp_path))
    assert [(decision.path, decision.qualname) for decision in report.decisions] == [
        ("a/helper.py", "f"),
        ("a/train.py", "a"),
        ("b/helper.py", "f"),
        ("b/train.py", "b"),
    ]


def test_an_unknown_function_is_said(project: Path) -> None:
    with pytest.raises(UsageError, match="did you mean `step`"):
        fix(["."], options(project), ["stepp"])


def test_an_unknown_rule_is_said(project: Path) -> None:
    config = Config(select=("TR999",))
    with pytest.raises(UsageError, match="unknown rule `TR999`"):
        analyze(["."], Options(config=config, use_cache=False))


FINDINGS = """
import tensorflow as tf

@tf.function
def f(x):
    print(x){comment}
    return x.numpy()

f(tf.constant(1.0))
"""


def rules_of(config: Config, comment: str = "") -> list[str]:
    Path("m.py").write_text(FINDINGS.format(comment=comment))
    return [finding.rule for finding in analyze(["m.py"], Options(config=config, use_cache=False)).findings]


def test_selection_and_suppression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    everything = rules_of(Config())
    assert {"TR101", "TR301"} <= set(everything)
    assert set(rules_of(Config(select=("TR1",)))) == {"TR101"}
    assert set(rules_of(Config(select=("eager-only-call",)))) == {"TR301"}
    assert "TR101" not in rules_of(Config(ignore=("TR101",)))
    assert "TR101" not in rules_of(Config(per_file_ignores={"m*.py": ("TR1",)}))
    assert "TR101" in rules_of(Config(per_file_ignores={"n*.py": ("TR1",)}))
    assert "TR101" not in rules_of(Config(), "  # terra: ignore[TR101]")


def test_files_without_tensors_are_passed_over_and_nothing_else_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {
        "app/__init__.py": "",
        "app/train.py": "import tensorflow as tf\nfrom app import log\n\n@tf.function\ndef f(x):\n    log.show(x)\n    return x\n",
        "app/log.py": "def show(x):\n    print(x)\n",
        "app/main.py": "import app.train\nfrom app.sizes import SIZE\n\napp.train.f(SIZE)\n",
        "app/sizes.py": "SIZE = 3\n",
        "arrays.py": "import numpy as np\n\nnp.ones((2, 3)) @ np.ones((4, 5))\n",
        "plain.py": "def g(x):\n    return x  # terra: ignore[TR101]\n",
        "broken.py": "def f(:\n",
        "deep.py": "x = " + "(" * 5000 + "1" + ")" * 5000 + "\n",
    }
    for name, text in texts.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    whole = analyze(["."], Options(config=Config(jobs=1), use_cache=False))
    narrow = analyze(["."], Options(config=Config(jobs=1), use_cache=False, coverage=AnalysedFiles.FINDINGS))
    assert narrow.findings == whole.findings
    assert {(finding.path, finding.rule) for finding in whole.findings} >= {
        ("app/log.py", "TR101"),
        ("arrays.py", "TR401"),
        ("plain.py", "TR901"),
    }
    assert narrow.errors == whole.errors != ()
    assert narrow.stats.files == whole.stats.files
    assert {decision.path for decision in whole.decisions} - {decision.path for decision in narrow.decisions} == {
        "plain.py"
    }
