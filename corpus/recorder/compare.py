"""Comparison of a report of `analyze` with the types recorded while the program ran.

Needs: a recording of `observe.py`, the JSON report for the same files, and the sources (to match lines). Gives: `compare`, one `Item`
for each tensor parameter and each result that holds tensors, with a verdict; `Score`, the shares. docs/accuracy.md defines the terms.

Ignores: functions that did not run, and those that the report does not list; the sizes of symbols, except that one symbol is one size
within one shape.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias

Size: TypeAlias = "int | str | None"


class Verdict(Enum):
    """The verdict on an item of the report, compared with the recording."""

    EXACT = "exact"
    IMPRECISE = "imprecise"
    """It covers the recorded types, and others."""
    UNKNOWN = "unknown"
    """There is no type."""
    WRONG = "wrong"
    """It excludes a recorded type."""


@dataclass(frozen=True, slots=True)
class ArrayType:
    """Dtype and shape; None if unknown. In a recording, an unknown size is one that a symbolic tensor leaves open."""

    dtype: str | None
    shape: tuple[Size, ...] | None

    def __str__(self) -> str:
        shape = (
            "?" if self.shape is None else f"({', '.join('?' if size is None else str(size) for size in self.shape)})"
        )
        return f"{self.dtype or '?'} {shape}"


@dataclass(frozen=True, slots=True)
class Item:
    """A parameter (or, where `name` is `return`, the result) of a function that ran."""

    place: str
    name: str
    verdict: Verdict
    recognised: bool
    """Whether the report says that it is a tensor or a variable (for results: that it is or contains some)."""
    recorded: tuple[ArrayType, ...]
    reported: tuple[ArrayType, ...]
    kind: str
    """The kind according to the report."""

    def __str__(self) -> str:
        told = ", ".join(map(str, self.reported)) or "nothing"
        seen = ", ".join(map(str, self.recorded[:4])) + (", ..." if len(self.recorded) > 4 else "")
        return f"{self.place} {self.name}: recorded {seen}; reported {self.kind} {told}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """All items of one program or package."""

    functions: int
    """Functions that ran and are in the report."""
    unmatched: tuple[str, ...]
    """Functions that ran and are not in the report."""
    parameters: tuple[Item, ...]
    """Parameters that received tensors or variables."""
    containers: tuple[Item, ...]
    """Parameters that received containers of tensors, and never a tensor."""
    arrays: tuple[Item, ...]
    """Parameters that received NumPy arrays, and never a tensor."""
    returns: tuple[Item, ...]
    """Results that were or contained tensors, variables or arrays."""
    false_tensors: tuple[str, ...]
    """Parameters that are tensors or variables in the report but never received one."""


@dataclass(frozen=True, slots=True)
class Score:
    """Shares of some items."""

    number: int
    recognised: int
    exact: int
    imprecise: int
    unknown: int
    wrong: int

    @property
    def sound(self) -> int:
        """The number of items whose type is covered."""
        return self.exact + self.imprecise


def score(items: Sequence[Item]) -> Score:
    """Counts the verdicts."""
    verdicts = [item.verdict for item in items]
    return Score(
        number=len(items),
        recognised=sum(item.recognised for item in items),
        exact=verdicts.count(Verdict.EXACT),
        imprecise=verdicts.count(Verdict.IMPRECISE),
        unknown=verdicts.count(Verdict.UNKNOWN),
        wrong=verdicts.count(Verdict.WRONG),
    )


def compare(
    recording: Mapping[str, Any], report: Mapping[str, Any], root: Path, only: str = "", *, usual: bool = False
) -> Comparison:
    """Compares the report with the recording; `only` restricts it to functions below one folder (or of one file) of `root`.

    With `usual` the sizes of the report's default run are compared, and the recorded run must be the default run.
    """
    told: dict[tuple[str, int, str], list[Mapping[str, Any]]] = defaultdict(list)
    for entry in report["functions"]:
        told[entry["path"], entry["line"], entry["qualname"].rpartition(".")[2]].append(entry)
    definitions: dict[str, Mapping[tuple[int, str], int]] = {}
    parameters: list[Item] = []
    containers: list[Item] = []
    arrays: list[Item] = []
    returns: list[Item] = []
    false: list[str] = []
    unmatched: list[str] = []
    functions = 0
    for seen in recording["functions"]:
        path = seen["path"]
        if not path.startswith(only):
            continue
        if path not in definitions:
            definitions[path] = _definition_lines(root / path)
        line = definitions[path].get((seen["line"], seen["name"]))
        found = told.get((path, line, seen["name"]), []) if line is not None else []
        if len(found) != 1:
            # two lambdas on one line cannot be distinguished
            if not found and line is not None:
                unmatched.append(f"{path}:{line} {seen['name']}")
            continue
        functions += 1
        entry = found[0]
        place = f"{path}:{line} {entry['qualname']}"
        said = {parameter["name"]: parameter for parameter in entry["parameters"]}
        for name, observations in seen["parameters"].items():
            parameter = said.get(name)
            if parameter is None or not observations or name == "self":
                continue
            kinds = {observation["kind"] for observation in observations}
            reported = tuple(_reported(entry, usual) for entry in parameter["types"])
            kind = parameter["kind"]
            recorded = _recorded(observations)
            if kinds & {"tensor", "variable", "deferred tensor"}:
                recognised = kind in ("tensor", "variable")
                # an object that converts to a tensor is still an object: the report omits the tensor
                silent = kind == "unknown" or (kind == "object" and not kinds & {"tensor", "variable"})
                verdict = _verdict(recorded, reported, recognised, silent)
                parameters.append(Item(place, name, verdict, recognised, recorded, reported, kind))
                continue
            if kind in ("tensor", "variable"):
                false.append(
                    f"{place} {name}: {', '.join(sorted(kinds))}; reported {kind} {', '.join(map(str, reported))}"
                )
            if kinds & {"ndarray"}:
                recognised = kind == "ndarray"
                verdict = _verdict(recorded, reported, recognised, kind == "unknown")
                arrays.append(Item(place, name, verdict, recognised, recorded, reported, kind))
            elif recorded:
                recognised = kind == "container"
                verdict = _verdict(recorded, reported, recognised, kind == "unknown")
                containers.append(Item(place, name, verdict, recognised, recorded, reported, kind))
        recorded = _recorded(seen["returns"])
        if recorded:
            reported = tuple(_reported(each, usual) for each in entry["returns"])
            verdict = _verdict(recorded, reported, bool(reported), not reported)
            returns.append(Item(place, "return", verdict, bool(reported), recorded, reported, ""))
    return Comparison(
        functions,
        tuple(unmatched),
        tuple(parameters),
        tuple(containers),
        tuple(arrays),
        tuple(returns),
        tuple(false),
    )


def merged(recordings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The merged recordings of several runs of one project."""
    functions: dict[tuple[str, int, str], dict[str, Any]] = {}
    for recording in recordings:
        for seen in recording["functions"]:
            known = functions.setdefault(
                (seen["path"], seen["line"], seen["name"]), {**seen, "parameters": {}, "returns": []}
            )
            for name, types in seen["parameters"].items():
                own = known["parameters"].setdefault(name, [])
                own.extend(entry for entry in types if entry not in own)
            known["returns"].extend(entry for entry in seen["returns"] if entry not in known["returns"])
    return {"functions": list(functions.values())}


def total(comparisons: Sequence[Comparison]) -> Comparison:
    """All programs combined."""
    return Comparison(
        sum(comparison.functions for comparison in comparisons),
        *(
            tuple(item for comparison in comparisons for item in getattr(comparison, field))
            for field in ("unmatched", "parameters", "containers", "arrays", "returns", "false_tensors")
        ),
    )


def _definition_lines(path: Path) -> dict[tuple[int, str], int]:
    """From the interpreter's first line of a function (its first decorator) and its name to the line of its `def`."""
    lines: dict[tuple[int, str], int] = {}
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            lines[first, node.name] = node.lineno
        elif isinstance(node, ast.Lambda):
            lines[node.lineno, "<lambda>"] = node.lineno
    return lines


def _recorded(observations: Iterable[Mapping[str, Any]]) -> tuple[ArrayType, ...]:
    """The array types among observations.

    Symbolic tensors count only if nothing else was observed, since their sizes are open.
    """
    found = list(_arrays(observations))
    concrete = [entry for entry in found if not entry.get("symbolic")]
    return tuple(dict.fromkeys(_type(entry) for entry in (concrete or found)))


def _arrays(observations: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for observation in observations:
        if "shape" in observation:
            yield observation
        yield from observation.get("held", ())


def _type(entry: Mapping[str, Any]) -> ArrayType:
    shape = entry["shape"]
    return ArrayType(entry["dtype"], None if shape is None else tuple(shape))


def _reported(entry: Mapping[str, Any], usual: bool) -> ArrayType:
    return _type({**entry, "shape": entry["usual"]} if usual and "usual" in entry else entry)


def _verdict(recorded: Sequence[ArrayType], reported: Sequence[ArrayType], recognised: bool, silent: bool) -> Verdict:
    if not reported:
        return Verdict.UNKNOWN if silent or recognised else Verdict.WRONG
    if not all(any(covers(said, seen) for said in reported) for seen in recorded):
        return Verdict.WRONG
    if not recognised:
        return Verdict.WRONG if not silent else Verdict.UNKNOWN
    return Verdict.EXACT if generalized(recorded) == generalized(reported) else Verdict.IMPRECISE


def covers(said: ArrayType, seen: ArrayType) -> bool:
    """Whether a value of type `seen` is one of type `said`. A symbol is one size within a shape."""
    if said.dtype is not None and said.dtype != seen.dtype:
        return False
    if said.shape is None or seen.shape is None:
        return True
    if len(said.shape) != len(seen.shape):
        return False
    symbols: dict[str, Size] = {}
    for left, right in zip(said.shape, seen.shape, strict=True):
        if isinstance(left, str) and right is not None and symbols.setdefault(left, right) != right:
            return False
        if isinstance(left, int) and right is not None and left != right:
            return False
    return True


def generalized(types: Iterable[ArrayType]) -> frozenset[ArrayType]:
    """The types, with None for sizes that differ among those of one dtype and rank."""
    groups: dict[tuple[str | None, int | None], list[Size]] = {}
    for entry in types:
        key = (entry.dtype, None if entry.shape is None else len(entry.shape))
        sizes: list[Size] = [size if isinstance(size, int) else None for size in entry.shape or ()]
        known = groups.get(key)
        groups[key] = sizes if known is None else [a if a == b else None for a, b in zip(known, sizes, strict=True)]
    return frozenset(
        ArrayType(dtype, None if rank is None else tuple(sizes)) for (dtype, rank), sizes in groups.items()
    )
