"""Behaviour of programs in TensorFlow, as graphs and eagerly: `run_programs.py` runs them in a process of its own, with answers kept.

A program that does not end, or that ends the process, affects only itself: another process continues with the next
one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kept_answers import Harness, digest

SCRIPT = Path(__file__).with_name("run_programs.py")
AGAIN = "what was seen is not kept: run the test with TERRA_REFACTOR_ANSWERS=fresh"


@dataclass(frozen=True, slots=True)
class Run:
    """Observations of one run."""

    error: str | None
    """The type of the exception that ended it."""
    lines: int
    """Number of printed lines."""
    results: str
    """The digest of the values of all global variables whose name begins with `result`."""
    traces: int
    functions: int


@dataclass(frozen=True, slots=True)
class Observation:
    """Both runs of one program."""

    eager: Run
    graph: Run
    same: bool
    """Whether both printed, computed and raised the same."""
    difference: str = AGAIN
    """For display."""

    @property
    def verdict(self) -> object:
        """Its reproducible part; a graph that differs may have different values each time."""
        runs = [(run.error, run.lines, run.traces, run.functions) for run in (self.eager, self.graph)]
        return self.same, runs, self.eager.results == self.graph.results

    def __str__(self) -> str:
        """As one line, for `read_observation`."""
        runs = [[run.error, run.lines, run.results, run.traces, run.functions] for run in (self.eager, self.graph)]
        return json.dumps([self.same, *(runs[:1] if runs[0] == runs[1] else runs)], separators=(",", ":"))


def read_observation(line: str) -> Observation:
    """An observation from its line."""
    same, *runs = json.loads(line)
    return Observation(Run(*runs[0]), Run(*runs[-1]), same)


PROGRAMS = Harness(
    "programs",
    (SCRIPT, Path(__file__)),
    lambda kept, seen: read_observation(kept).verdict == read_observation(seen).verdict,
)


class Observations(dict[str, Observation]):
    """Observations by program; for a program that crashed its process, the lookup fails with a description."""

    def __init__(self, lost: dict[str, str] | None = None) -> None:
        super().__init__()
        self.lost = lost or {}

    def __missing__(self, name: str) -> Observation:
        raise AssertionError(f"{name} ended the process that ran it: {self.lost[name]}")


def observe(programs: dict[str, str], folder: Path) -> Observations:
    """The behaviour of every program in both modes; unknown ones are run, in as few child processes as necessary."""
    seen = Observations()
    now: dict[str, Observation] = {}

    def ask(asked: dict[str, str]) -> dict[str, str]:
        runs, lost = run(asked, folder)
        seen.lost.update(lost)
        now.update({name: observation(**runs[name]) for name in runs})
        return {name: str(each) for name, each in now.items()}

    answers = PROGRAMS.answers(programs, ask)
    seen.update(
        {name: now.get(name) or read_observation(line) for name, line in answers.items() if name not in seen.lost}
    )
    return seen


def run(programs: dict[str, str], folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Observations of each program's runs, by `eager` and `graph`; and for each one that ended the process, a description."""
    asked, answered = folder / "programs.json", folder / "runs.jsonl"
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": "tensorflow"}
    seen: dict[str, Any] = {}
    lost: dict[str, str] = {}
    waiting = dict(programs)
    while waiting:
        asked.write_text(json.dumps(waiting), encoding="utf-8")
        answered.write_text("", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(asked), str(answered)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for line in answered.read_text(encoding="utf-8").splitlines():
            answer = json.loads(line)
            name = answer.pop("name")
            seen[name] = answer
            del waiting[name]
        if done.returncode != 0 and waiting:
            culprit = next(iter(waiting))
            lost[culprit] = f"exit code {done.returncode}\n{done.stderr[-4000:]}"
            del waiting[culprit]
    return seen, lost


def observation(eager: dict[str, Any], graph: dict[str, Any]) -> Observation:
    """The compared part of two runs."""
    different = [name for name in ("error", "output") if eager[name] != graph[name]]
    lines = [f"{name}: {eager[name]!r}\n  vs {graph[name]!r}" for name in different]
    values, others = eager["values"], graph["values"]
    for name in sorted(values.keys() | others.keys()):
        if values.get(name) != others.get(name):
            lines.append(f"{name}: {values.get(name)!r}\n  vs {others.get(name)!r}")
    same = not different and values == others
    return Observation(_run(eager), _run(graph), same, "\n".join(lines))


def _run(seen: dict[str, Any]) -> Run:
    results = {name: value for name, value in sorted(seen["values"].items()) if name.startswith("result")}
    error = seen["error"] and seen["error"].partition(":")[0]
    lines = seen["output"].count("\n")
    return Run(error, lines, digest(json.dumps(results), 4), seen["traces"], seen["functions"])
