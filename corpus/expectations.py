"""A reviewer's expectations for each function of `corpus/programs`, and the comparison with the analysis.

Every program's folder has an `expected.toml`, written from knowledge of TensorFlow and of the program, not from the tool's results: a
title, the command that runs it, and for each function

- `class`: `safe` (a graph keeps its meaning), `unsafe` (it does not, or there is no useful graph), `any`;
- `action`: the expected action, or `any` if either is right;
- `types`: of parameters, as `float32[?,28,28,1]`; `?` for an open size; alternatives by `|`;
- `pays`: a graph makes it faster in this program;
- `why`: the reason, if it is not obvious.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from terra_refactor.classify.decision import Action, Classification, Decision
from terra_refactor.config import Config
from terra_refactor.domain.tensor import TensorType
from terra_refactor.verify.verdict import Script
from terra_refactor.workspace.workspace import Options, analyze

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Expectation:
    """One function."""

    file: str
    qualname: str
    classification: str
    action: str
    types: Mapping[str, str] = field(default_factory=dict)
    pays: bool = False
    why: str = ""


@dataclass(frozen=True)
class Program:
    """One program."""

    name: str
    folder: Path
    title: str
    command: str
    expectations: tuple[Expectation, ...]

    @property
    def script(self) -> Script:
        words = self.command.split()
        if words[0] == "-m":
            return Script(self.command, None, words[1], tuple(words[2:]))
        return Script(self.command, str(self.folder / words[0]), None, tuple(words[1:]))


@dataclass(frozen=True)
class Disagreement:
    """A difference between the analysis and the reviewer.

    `kind` is `safety` (the tool says safe, the reviewer unsafe), `class`, `action`, `type`, or `precision` (only the
    types are less precise).
    """

    program: str
    place: str
    kind: str
    expected: str
    actual: str
    reason: str


def programs() -> list[Program]:
    """All programs, by name."""
    return [_read(file) for file in sorted(PROGRAMS.glob("*/expected.toml"))]


def _read(file: Path) -> Program:
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    expectations = tuple(
        Expectation(
            path,
            name,
            entry["class"],
            entry["action"],
            entry.get("types", {}),
            entry.get("pays", False),
            entry.get("why", ""),
        )
        for path, entries in data["functions"].items()
        for name, entry in entries.items()
    )
    return Program(file.parent.name, file.parent, data["title"], data["run"], expectations)


def decisions_of(program: Program) -> dict[tuple[str, str], Decision]:
    """The decision about each function, by file (within the program) and qualified name."""
    report = analyze([str(program.folder)], Options(Config(jobs=1), use_cache=False))
    if report.errors:
        raise RuntimeError(f"{program.name}: {report.errors}")
    found = {}
    for decision in report.decisions:
        path = str((Path.cwd() / decision.path).resolve().relative_to(program.folder.resolve()))
        found[path.replace("\\", "/"), decision.qualname] = decision
    return found


def missing(program: Program, decisions: Mapping[tuple[str, str], Decision]) -> list[str]:
    """Functions that only one of the two lists contains."""
    expected = {(entry.file, entry.qualname) for entry in program.expectations}
    return sorted(f"{file}: {name}" for file, name in expected ^ set(decisions))


def disagreements(program: Program, decisions: Mapping[tuple[str, str], Decision]) -> Iterator[Disagreement]:
    """The differences between the two."""
    for entry in program.expectations:
        decision = decisions.get((entry.file, entry.qualname))
        if decision is None:
            continue
        place = f"{entry.file}:{decision.line} {entry.qualname}"
        said = decision.classification
        changed = decision.action in (Action.ADD_TF_FUNCTION, Action.TUNE_TF_FUNCTION)
        if entry.classification == "unsafe" and said is Classification.SAFE and (changed or decision.tensor_computation):
            yield Disagreement(program.name, place, "safety", "unsafe", "safe", decision.reason)
        elif entry.classification == "safe" and said is Classification.UNSAFE:
            yield Disagreement(program.name, place, "class", "safe", "unsafe", decision.reason)
        if entry.action not in ("any", decision.action.value):
            yield Disagreement(program.name, place, "action", entry.action, decision.action.value, decision.reason)
        for name, text in entry.types.items():
            types = next((each.types for each in decision.parameters if each.name == name), ())
            if not _agrees(text, types):
                actual = " | ".join(_written(each) for each in types) or "nothing"
                kind = "precision" if _allows(text, types) else "type"
                yield Disagreement(program.name, place, kind, f"{name}: {text}", actual, "")


def _agrees(text: str, types: tuple[TensorType, ...]) -> bool:
    """Whether the inferred types cover the expected ones, and are no wider than `?` allows."""
    wanted = [part.strip() for part in text.split("|")]
    return all(any(_covers(one, each) for each in types) for one in wanted) and all(
        any(_covers(one, each) for one in wanted) for each in types
    )


def _allows(text: str, types: tuple[TensorType, ...]) -> bool:
    """Whether the inferred types are only less precise than the expected ones."""
    return all(any(_wider(one.strip(), each) for each in types) for one in text.split("|")) if types else True


def _wider(text: str, found: TensorType) -> bool:
    dtype, _, sizes = text.rstrip("]").partition("[")
    if found.dtype not in (None, dtype):
        return False
    wanted = sizes.split(",") if sizes else []
    return found.shape is None or (
        len(wanted) == len(found.shape)
        and all(
            not isinstance(dim, int) or size == "?" or dim == int(size)
            for size, dim in zip(wanted, found.shape, strict=True)
        )
    )


def _covers(text: str, found: TensorType) -> bool:
    dtype, _, sizes = text.rstrip("]").partition("[")
    if found.dtype != dtype or found.shape is None:
        return False
    wanted = sizes.split(",") if sizes else []
    if len(wanted) != len(found.shape):
        return False
    return all(size == "?" or dim == int(size) for size, dim in zip(wanted, found.shape, strict=True))


def _written(found: TensorType) -> str:
    return str(found).replace(" (", "[").replace(")", "]") if found.shape is not None else str(found)


def said(found: Any) -> str:
    """A disagreement as one line."""
    reason = f" ({found.reason})" if found.reason else ""
    return f"{found.program}/{found.place}: {found.kind}: expected {found.expected}, found {found.actual}{reason}"
