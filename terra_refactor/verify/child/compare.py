"""Compares the recordings of two runs, call by call.

Computes: for each function the number of calls that were compared and the first difference; the same for the program
as a whole. Needs: the folders of the two runs, and optionally of a third, the *control*: the original once more, with
different rounding. Gives: `compare_runs`, which writes JSON.

Numbers are equal within a tolerance that depends on their type, on the largest number of their array, and on how many
calls came before (rounding errors accumulate in a training run). If even that is exceeded, the control shows how much
the original differs from itself: a difference of up to ten times that counts as rounding. Texts are equal if their
non-numeric parts are equal, and the numbers to printed precision.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Node = dict[str, Any]

TOLERANCE: Final = {
    "float16": 1e-2,
    "bfloat16": 3e-2,
    "float32": 1e-4,
    "float64": 1e-7,
    "complex64": 1e-4,
    "complex128": 1e-7,
}
"""Relative tolerances by dtype; also relative to the largest number of the array."""
SMALLEST_SCALE: Final = 1e-3
"""Lower bound for the scale of an array: for a zero gradient, an optimizer sees only rounding errors."""
PYTHON_TOLERANCE: Final = 1e-4
"""Python floats are usually float32 results."""
MAX_DRIFT: Final = 100
CONTROL_FACTOR: Final = 10.0
_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
_LOG_LINE: Final = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d:\d\d|(WARNING|INFO|ERROR):(tensorflow|absl)"
    r"|WARNING: All log messages|To enable the following)"
)
"""Lines logged by TensorFlow itself."""
_NODE: Final = re.compile(r"\{\{function_node [^}]*\}\} *")
"""The place of an operation at the beginning of TensorFlow's message."""
_DURATION: Final = re.compile(
    r"\b\d+(\.\d+)?\s?(ms|us|µs|ns|s|sec|secs|seconds|minutes|m|h)\b(/(step|epoch|sample))?|\b\d+:\d\d(:\d\d)?\b"
)
"""Times, which differ between runs."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where and how two values differ.

    `size` is the distance of two numbers relative to their scale; None if rounding does not explain it.
    """

    path: str
    text: str
    size: float | None = None


class Run:
    """A recording read back from disk."""

    def __init__(self, folder: str) -> None:
        self.calls: dict[str, dict[int, Node]] = {}
        self.totals: dict[str, Node] = {}
        self.timed: dict[str, list[float]] = {}
        self.unreachable: dict[str, str] = {}
        self.begun: list[str] = []
        self.end: Node | None = None
        self.folder = folder
        self._numbers = np.memmap(_nonempty(os.path.join(folder, "numbers.bin")), dtype=np.uint8, mode="r")
        with open(os.path.join(folder, "events.jsonl"), encoding="utf-8") as stream:
            for line in stream:
                try:
                    self._take(json.loads(line))
                except ValueError:  # the incomplete last line of a process that died
                    break

    def _take(self, event: Node) -> None:
        kind = event["event"]
        if kind == "call":
            self.calls.setdefault(event["function"], {})[event["call"]] = event
        elif kind == "total":
            self.totals[event["function"]] = event
        elif kind == "timed":
            self.timed.setdefault(event["function"], []).extend(event["seconds"])
        elif kind == "unreachable":
            self.unreachable[event["function"]] = event["reason"]
        elif kind == "begin":
            self.begun.append(event["function"])
        elif kind == "end":
            self.end = event

    def array(self, node: Node) -> Any:
        """The numbers of a node, flat."""
        start, length, dtype = node["at"]
        return np.frombuffer(self._numbers[start : start + length].tobytes(), dtype=dtype)

    def printed(self) -> tuple[str, str]:
        """The printed output."""
        texts = []
        for name in ("stdout", "stderr"):
            with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as stream:
                texts.append(stream.read())
        return texts[0], texts[1]


def _nonempty(path: str) -> str:
    """The path of the file, after writing a byte to an empty one, which cannot be mapped into memory."""
    if os.path.getsize(path) == 0:
        with open(path, "wb") as stream:
            stream.write(b"\0")
    return path


def compare_runs(request: Node) -> None:
    """Compares `before` and `after`, and writes the result to `result`."""
    control = Run(request["control"]) if request.get("control") else None
    comparison = Comparison(Run(request["before"]), Run(request["after"]), control, recorded=request["program"])
    result = {
        "functions": {key: comparison.function(key) for key in request["functions"]},
        "program": comparison.program() if request["program"] else None,
        "rounding": comparison.rounding,
    }
    with open(request["result"], "w", encoding="utf-8") as stream:
        json.dump(result, stream)


class Comparison:
    """Comparison of two runs. `rounding`: some difference was purely numeric, which a control run may explain."""

    def __init__(self, before: Run, after: Run, control: Run | None, *, recorded: bool) -> None:
        self.recorded = recorded
        self.before = before
        self.after = after
        self.control = control
        self.rounding = False

    def function(self, key: str) -> Node:
        """Results of the calls of one function."""
        found: Node = {"compared": 0, "difference": None, "fails": None, "stopped": None}
        before, after = self.before.calls.get(key, {}), self.after.calls.get(key, {})
        control = self.control.calls.get(key, {}) if self.control is not None else {}
        for number in sorted(before):
            old, new = before[number], after.get(number)
            if new is None:
                if number <= max(after, default=0) or key in self.after.totals:
                    found["stopped"] = f"call {number} is not made by the refactored program"
                break
            third = control.get(number)
            inputs = self._first(old, new, third, ("arguments",), number)
            if inputs is not None:
                found["stopped"] = f"call {number} gets other arguments: {inputs}"
                break
            if old["raised"] is not None and new["raised"] is not None and not self.recorded:
                # generated arguments may be invalid: the error that they cause does not matter
                found["stopped"] = f"the original rejects the generated arguments: {_error(old['raised'])}"
                continue
            found["compared"] += 1
            if new["raised"] is not None and old["raised"] is None:
                found["fails"] = f"call {number} raises {_error(new['raised'])}"
                break
            difference = self._of_call(old, new, third, number)
            if difference is not None:
                found["difference"] = f"call {number}: {difference}"
                break
        for side, run in (("before", self.before), ("after", self.after)):
            total = run.totals.get(key, {})
            found[side] = {
                "calls": total.get("calls", 0),
                "seconds": run.timed.get(key) or total.get("seconds", []),
                "tracing": total.get("tracing", 0.0),
                "traces": total.get("traces"),
                "unreachable": run.unreachable.get(key),
                "begun": key in run.begun,
            }
        return found

    def _of_call(self, old: Node, new: Node, third: Node | None, number: int) -> str | None:
        if old["raised"] is not None:
            if new["raised"] is None:
                return f"eagerly it raises {old['raised']['type']}: {old['raised']['message']}; refactored it does not"
            if old["raised"]["type"] != new["raised"]["type"]:
                return f"eagerly it raises {old['raised']['type']}, refactored {new['raised']['type']}"
            return None
        difference = self._first(old, new, third, ("result",), number) or self._state(old, new, third, number)
        if difference is not None:
            return difference
        return _printed_difference(old["printed"], new["printed"], number)

    def _first(self, old: Node, new: Node, third: Node | None, fields: tuple[str, ...], number: int) -> str | None:
        for field in fields:
            for difference in self.differences(field, old[field], new[field], number):
                if not self._is_rounding(difference, field, old, third, number):
                    return f"{difference.path}: {difference.text}"
        return None

    def _is_rounding(self, difference: Difference, field: str, old: Node, third: Node | None, number: int) -> bool:
        if difference.size is None:
            return False
        self.rounding = True
        if third is None or third.get(field) is None or self.control is None:
            return False
        own = [
            each.size
            for each in _differences(self.before, self.control, field, old[field], third[field], 0.0)
            if each.path == difference.path and each.size is not None
        ]
        return bool(own) and difference.size <= CONTROL_FACTOR * max(own)

    def _state(self, old: Node, new: Node, third: Node | None, number: int) -> str | None:
        left, right = dict(map(tuple, old["state"])), dict(map(tuple, new["state"]))
        own = dict(map(tuple, third["state"])) if third is not None else {}
        for path, node in left.items():
            if path not in right:
                return f"state {path} is missing"
            for difference in self.differences(path, node, right[path], number):
                wrapped = {path: own[path]} if path in own else None
                if not self._is_rounding(difference, path, {path: node}, wrapped, number):
                    return f"state {difference.path}: {difference.text}"
        added = [path for path in right if path not in left]
        return f"state {added[0]} is new" if added else None

    def differences(self, path: str, left: Node, right: Node, number: int) -> Iterator[Difference]:
        """The differences of two nodes beyond the tolerance."""
        return _differences(self.before, self.after, path, left, right, float(min(1 + number, MAX_DRIFT)))

    def program(self) -> Node:
        """Exit codes, output and final state of the two programs."""
        old, new = self.before.end, self.after.end
        third = self.control.end if self.control is not None else None
        found: Node = {"difference": None, "exit": [old and old["exit"], new and new["exit"]]}
        for field in ("seconds", "cpu"):
            found[field] = [end.get(field) if end else None for end in (old, new)]
        if old is None or new is None:
            found["difference"] = f"the {'original' if old is None else 'refactored'} program did not end by itself"
        elif old["exit"] != new["exit"]:
            raised = new.get("raised")
            said = f": {raised['type']}: {raised['message']}" if raised else ""
            found["difference"] = f"exit code {new['exit']} instead of {old['exit']}{said}"
        elif (old.get("tests") or {}) != (new.get("tests") or {}):
            changed = [
                f"{test}: {outcome} instead of {old['tests'].get(test, 'not run')}"
                for test, outcome in new["tests"].items()
                if old["tests"].get(test) != outcome
            ]
            found["difference"] = "; ".join(changed[:3]) or "some tests did not run"
        else:
            printed = None
            if old.get("tests") is None:
                printed = _printed_difference(self.before.printed(), self.after.printed(), MAX_DRIFT)
            found["difference"] = printed or self._state(old, new, third, MAX_DRIFT)
        return found


def _differences(
    before: Run, after: Run, path: str, left: Node | None, right: Node | None, drift: float
) -> Iterator[Difference]:
    if left is None or right is None:
        if left is not right:
            yield Difference(path, "only one of the two versions returns a value")
        return
    kind = left["k"]
    if kind != right["k"]:
        yield Difference(path, f"{_said(left)} eagerly, {_said(right)} refactored")
    elif kind == "python":
        yield from _python_difference(path, left, right, drift)
    elif kind in ("tensor", "variable", "array", "number"):
        yield from _number_difference(before, after, path, left, right, drift)
    elif kind in ("sequence", "mapping", "composite"):
        if left["type"] != right["type"] or left.get("length") != right.get("length"):
            yield Difference(path, f"{_said(left)} eagerly, {_said(right)} refactored")
            return
        for index, (one, other) in enumerate(zip(left["items"], right["items"], strict=False)):
            if kind == "mapping":
                if one[0] != other[0]:
                    yield Difference(f"{path}[{one[0]}]", f"the key is {other[0]} refactored")
                    return
                yield from _differences(before, after, f"{path}[{one[0]}]", one[1], other[1], drift)
            else:
                yield from _differences(before, after, f"{path}[{index}]", one, other, drift)
    elif left.get("type") != right.get("type"):
        yield Difference(path, f"{_said(left)} eagerly, {_said(right)} refactored")


def _python_difference(path: str, left: Node, right: Node, drift: float) -> Iterator[Difference]:
    if left["type"] == right["type"] == "float":
        one, other = float(left["value"]), float(right["value"])
        if one == other or (math.isnan(one) and math.isnan(other)):
            return
        size = abs(one - other) / max(abs(one), abs(other), 1e-7)
        if not size <= PYTHON_TOLERANCE * drift:
            yield Difference(path, f"{one!r} eagerly, {other!r} refactored", size if size < 1 else None)
    elif left["type"] != right["type"] or left["value"] != right["value"]:
        yield Difference(path, f"{_said(left)} eagerly, {_said(right)} refactored")


def _number_difference(
    before: Run, after: Run, path: str, left: Node, right: Node, drift: float
) -> Iterator[Difference]:
    for field in ("dtype", "shape"):
        if left[field] != right[field]:
            yield Difference(path, f"{field} {left[field]} eagerly, {right[field]} refactored")
            return
    if "text" in left or "text" in right:
        if left.get("text") != right.get("text"):
            yield Difference(path, "the texts differ")
        return
    one, other = before.array(left), after.array(right)
    if one.shape != other.shape:  # a truncated recording
        yield Difference(path, "the numbers are incomplete")
        return
    tolerance = TOLERANCE.get(left["dtype"])
    if tolerance is None:
        wrong = one != other
        if wrong.any():
            place = int(np.argmax(wrong))
            yield Difference(f"{path}{_index(place, left)}", f"{one[place]} eagerly, {other[place]} refactored")
        return
    with np.errstate(all="ignore"):
        finite = np.isfinite(one) & np.isfinite(other)
        alike = (one == other) | (np.isnan(one) & np.isnan(other))
        scale = float(np.max(np.abs(one[finite]))) if finite.any() else 0.0
        distance = np.where(finite, np.abs(one - other), np.inf)
        wrong = ~alike & ~(distance <= tolerance * drift * (np.abs(one) + max(scale, SMALLEST_SCALE)))
    if wrong.any():
        place = int(np.argmax(np.where(wrong, distance, -1)))
        size = float(distance[place]) / max(scale, SMALLEST_SCALE)
        text = f"{one[place]} eagerly, {other[place]} refactored"
        yield Difference(
            f"{path}", f"{text} (at {_index(place, left)})" if left["shape"] else text, _rounding_size(size)
        )


def _rounding_size(size: float) -> float | None:
    return size if np.isfinite(size) else None


def _index(place: int, node: Node) -> str:
    if not node["shape"]:
        return ""
    return (
        "[" + ", ".join(str(int(i)) for i in np.unravel_index(place, node["shape"])) + "]"
        if place < int(np.prod(node["shape"]))
        else f"[{place}]"
    )


def _error(raised: Node) -> str:
    return f"{raised['type']}: {_NODE.sub('', raised['message'])}"


def _said(node: Node) -> str:
    """A short text for a value."""
    kind = node["k"]
    if kind == "python":
        return f"{node['value'][:60]} ({node['type']})"
    if kind in ("tensor", "variable", "array", "number"):
        return f"a {kind} {node['dtype']}{node['shape']}"
    if kind == "symbolic":
        return "a tensor of the graph"
    return f"{node.get('type', kind)}" + (f" of {node['length']}" if "length" in node else "")


def _printed_difference(old: Any, new: Any, number: int) -> str | None:
    """The first line that differs.

    TensorFlow prints to standard error what Python prints to standard output, so both are compared together.
    """
    left, right = _lines(old), _lines(new)
    for one, other in zip(left, right, strict=False):
        if not _same_text(one, other, min(1 + number, MAX_DRIFT)):
            return f"printed {one[:100]!r} eagerly, {other[:100]!r} refactored"
    if len(left) != len(right):
        longer, by = (left, "eagerly") if len(left) > len(right) else (right, "refactored")
        return f"printed {longer[min(len(left), len(right))][:100]!r} only {by}"
    return None


def _lines(printed: Any) -> list[str]:
    text = printed[0] + printed[1]
    return [
        _DURATION.sub("(time)", line.rstrip())
        for line in text.splitlines()
        if line.strip() and not _LOG_LINE.match(line)
    ]


def _same_text(one: str, other: str, drift: int) -> bool:
    if one == other:
        return True
    if _NUMBER.split(one) != _NUMBER.split(other):
        return False
    return all(
        _same_number(left, right, drift)
        for left, right in zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    )


def _same_number(left: str, right: str, drift: int) -> bool:
    if left == right:
        return True
    if not {"." in left, "." in right} <= {True} and "e" not in left + right:
        return False  # integers are counts
    one, other = float(left), float(right)
    mantissa, _, exponent = left.partition("e")
    places = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - places)
    return abs(one - other) <= 1.5 * unit + PYTHON_TOLERANCE * drift * abs(one)
