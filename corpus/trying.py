"""Functions that `fix` does not change but that would make their program faster as graphs, found by trying each of
them.

Computes: for one program of `corpus/programs`, the functions for which a decorator would still pay. The program is refactored at
`speculative` first and runs under a profiler: a function in whose body it spends less than `SHARE` of its time outside of graphs
(callees included) cannot make it faster by as much as that. Each of the others gets `tf.function` and nothing else, and the program
is run once: if it fails, or takes no less processor time than without the decorator, the function does not pay. Otherwise it pays if
the program, run in pairs, takes less processor time by more than `SHARE` and behaves the same by `verify`. Ignores: lambdas;
functions that other threads call.
"""

from __future__ import annotations

import ast
import json
import os
import pstats
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corpus.expectations import Program
from terra_refactor.classify.decision import Action, Decision
from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.refactor.result import Change, FileRefactoring, Outcome
from terra_refactor.syntax.source import Source
from terra_refactor.verify.child.instrument import definitions
from terra_refactor.verify.copies import copy_project
from terra_refactor.verify.session import Setting, verify_changes
from terra_refactor.verify.verdict import Limits, Script, Status
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze, fix

SHARE = 0.05
MIN_LIMIT, LIMIT = 60.0, 5.0
"""Limits of a trial: seconds, and a multiple of the time under the profiler. Tracing a long Python loop may take hours."""
DECORATOR = '@__import__("tensorflow").function'
"""Needs no import in the file; works since Python 3.9."""


@dataclass(frozen=True, slots=True)
class Try:
    """One function that was decorated."""

    function: str
    """File and qualified name."""
    classification: str
    """Its class according to the analysis."""
    share: float
    """Share of the program's time that was spent in it outside of graphs before."""
    ratio: float | None
    """Processor time before divided by after, of the slower pair (of the first run, if that is not faster); None if the
    program fails.
    """
    difference: str | None
    """The reason why it is not a candidate after all: the failure of the program, or a difference.

    Not determined if the program is not faster.
    """

    @property
    def pays(self) -> bool:
        """Whether it makes the program faster and changes nothing."""
        return self.difference is None and self.ratio is not None and self.ratio > 1 + SHARE


def tried(program: Program) -> list[dict[str, Any]]:
    """Every function of a program that might pay off and is unchanged at `speculative`, decorated individually; sorted."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / program.name
        script = _refactored(program, folder)
        shares, seconds = _profile(script, folder, Path(scratch) / "profile")
        limits = Limits(run_seconds=MIN_LIMIT + LIMIT * seconds)
        plain = _run(script, folder, Path(scratch) / "plain", limits)
        assert plain.cpu is not None, plain.failure
        before = os.getcwd()
        os.chdir(folder)
        try:
            report = analyze(["."], Options(Config(jobs=1), use_cache=False))
            found = []
            for decision in report.decisions:
                share = shares.get((_place(report, decision), decision.line), 0.0)
                if share >= SHARE and not decision.hybrid and not decision.qualname.endswith("<lambda>"):
                    found.append(_try(decision, share, report, _Setup(script, limits, folder, plain.cpu)))
        finally:
            os.chdir(before)
    return [asdict(each) | {"pays": each.pays} for each in sorted(found, key=lambda each: each.function)]


def _refactored(program: Program, folder: Path) -> Script:
    """Copies the program with all changes of `speculative`, a notebook as the module of its cells; returns the command
    of the copy.
    """
    fixed = fix([str(program.folder)], Options(Config(jobs=1, level="speculative"), use_cache=False))
    texts = {file.source.path: file.new_text for file in fixed.files}
    replaced = {}
    for path, source in fixed.report.sources.items():
        assert source.file is not None
        file, text = os.path.realpath(source.file), texts.get(path, source.text)
        if source.notebook is not None:
            replaced[str(Path(file).with_suffix(".py"))] = text.encode()
        elif path in texts:
            replaced[file] = source.encode(text)
    copy_project(program.folder, folder, replaced)
    for notebook in folder.rglob("*.ipynb"):
        notebook.unlink()
    script = program.script
    if script.file is None:
        return script
    name = Path(os.path.relpath(script.file, program.folder)).with_suffix(".py")
    return Script(script.command, str(folder / name), None, script.arguments)


def _profile(script: Script, folder: Path, output: Path) -> tuple[dict[tuple[str, int], float], float]:
    """The share of the run's time that is spent in each function, by real path and line of `def`; and the seconds of the run.

    Traced functions run other code and are excluded, as is the import of TensorFlow.
    """
    what = ["-m", str(script.module)] if script.file is None else [script.file]
    environment = {**os.environ, "PYTHONPATH": str(folder), "TF_CPP_MIN_LOG_LEVEL": "2"}
    subprocess.run(
        [sys.executable, "-c", _PROFILED, str(output), *what, *script.arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    statistics = pstats.Stats(str(output))
    rows: dict[tuple[str, int, str], tuple[Any, ...]] = statistics.stats  # type: ignore[attr-defined]
    total = float(statistics.total_tt)  # type: ignore[attr-defined]
    lines = {}
    for path in folder.rglob("*.py"):
        for _, node, _ in definitions(ast.parse(path.read_bytes())):
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
            lines[os.path.realpath(path), first] = node.lineno
    shares = {}
    for (file, line, _), row in rows.items():
        place = os.path.realpath(file), line
        if place in lines:
            shares[place[0], lines[place]] = row[3] / total
    return shares, total


def _place(report: WorkspaceReport, decision: Decision) -> str:
    file = report.sources[decision.path].file
    assert file is not None
    return os.path.realpath(file)


@dataclass(frozen=True, slots=True)
class _Ran:
    """One run of a program."""

    failure: str | None
    cpu: float | None
    """Seconds of processor time, without the import of TensorFlow; None if it failed."""


@dataclass(frozen=True, slots=True)
class _Setup:
    """How the program is run, and its time without changes."""

    script: Script
    limits: Limits
    folder: Path
    cpu: float


_PROFILED = """
import cProfile, sys
import tensorflow
sys.argv = ["cProfile", "-o", *sys.argv[1:]]
cProfile.main()
"""
"""Runs a program under the profiler, after importing TensorFlow."""

_TIMED = """
import json, os, runpy, sys, time
import tensorflow
output, name, *arguments = sys.argv[1:]
sys.argv = [name, *arguments]
failure = None
begun = time.process_time()
try:
    if name == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(name))
        runpy.run_path(name, run_name="__main__")
except SystemExit as ended:
    failure = f"exit code {ended.code}" if ended.code not in (None, 0) else None
except BaseException as error:
    said = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    kind = type(error).__name__ + ": "
    told = next((line for line in said if line.startswith(kind)), said[-1])  # AutoGraph says first where it was
    failure = kind + told.removeprefix(kind)
with open(output, "w") as file:
    json.dump({"failure": failure, "cpu": time.process_time() - begun}, file)
"""
"""Runs a program in this process, and writes its outcome and time."""


def _run(script: Script, folder: Path, output: Path, limits: Limits) -> _Ran:
    what = ["-m", str(script.module)] if script.file is None else [script.file]
    command = [sys.executable, "-c", _TIMED, str(output), *what, *script.arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder), "TF_CPP_MIN_LOG_LEVEL": "2"}
    try:
        ended = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=limits.run_seconds
        )
    except subprocess.TimeoutExpired:
        return _Ran(f"it was stopped after {limits.run_seconds:.0f} seconds", None)
    if not output.exists():
        return _Ran(f"exit code {ended.returncode}", None)
    result = json.loads(output.read_text(encoding="utf-8"))
    failure = result["failure"] and result["failure"].replace(f"{folder}{os.sep}", "")
    return _Ran(failure, None if failure else result["cpu"])


def _try(decision: Decision, share: float, report: WorkspaceReport, setup: _Setup) -> Try:
    source = report.sources[decision.path]
    text = _decorated(source, decision.line)
    ratios: Sequence[float] = ()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / setup.folder.name
        assert source.file is not None
        copy_project(setup.folder, folder, {os.path.realpath(source.file): source.encode(text)})
        once = _run(_moved(setup.script, setup.folder, folder), folder, Path(scratch) / "decorated", setup.limits)
    difference = once.failure
    if once.cpu is not None:
        ratios = [setup.cpu / once.cpu]
        if ratios[0] > 1:
            ratios, difference = _in_pairs(decision, text, report, setup)
    if difference is not None:
        difference = difference.replace(sys.prefix, "...")  # paths of packages on this machine are ignored
    where = f"{Path(decision.path).as_posix()}:{decision.qualname}"
    return Try(where, decision.classification.value, round(share, 3), min(ratios, default=None), difference)


def _moved(script: Script, original: Path, copy: Path) -> Script:
    if script.file is None:
        return script
    return Script(script.command, str(copy / os.path.relpath(script.file, original)), None, script.arguments)


def _in_pairs(decision: Decision, text: str, report: WorkspaceReport, setup: _Setup) -> tuple[Sequence[float], str | None]:
    """Processor time before divided by after, for each pair of runs, and the differences; stops if it does not pay off."""
    change = Change(decision.path, decision.qualname, decision.line, Action.ADD_TF_FUNCTION, Outcome.DONE, "tried")
    file = FileRefactoring(report.sources[decision.path], (change,), text)
    ratios: list[float] = []
    try:
        for record in (True, False, False):
            setting = Setting(sys.executable, setup.script, setup.limits, record=record)
            done = verify_changes([file], report.decisions, report.sources, setting)
            assert done.program is not None
            difference = None
            if record:  # otherwise a graph draws different random numbers, and the output is not comparable
                wrong = [each.detail for each in done.functions if each.status in (Status.DIFFERENT, Status.FAILS)]
                difference = done.program.difference or next(iter(wrong), None)
            else:
                before, after = done.program.cpu
                if before and after:
                    ratios.append(before / after)
            if difference is not None or (ratios and min(ratios) <= 1 + SHARE):
                return ratios, difference  # it fails, or cannot pay off
    except UsageError as error:
        return ratios, str(error)
    return ratios, None


def _decorated(source: Source, line: int) -> str:
    lines = source.text.splitlines(keepends=True)
    head = lines[line - 1]
    indent = head[: len(head) - len(head.lstrip())]
    return "".join([*lines[: line - 1], f"{indent}{DECORATOR}\n", *lines[line - 1 :]])
