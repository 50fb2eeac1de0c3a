"""The abstract interpreter is sound: whatever a program computes is covered by what the analysis says.

Random programs of plain Python are run, and the values at their marks recorded; each must be covered by the abstract value of the same
place. A value that the analysis holds to be impossible, or code that runs although it is held to be unreachable, is a failure.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from analysis_support import Result, analyze_text
from concretization import covers
from hypothesis import given, settings
from hypothesis import strategies as st
from value_program_writer import ValueProgramWriter

from terra_refactor.analysis.dump import format_value
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.value import (
    Constant,
    UnknownValue,
    Value,
)
from terra_refactor.ir import ops
from terra_refactor.ir.walk import walk

MAX_MARKS = 3_000
RUNS = 6
"""So many times each program is run, with other results of `flip()`."""


class TooLong(BaseException):
    """The program marks more than is worth comparing."""


@dataclass
class Recorder:
    """Collects what a program marks."""

    seen: list[tuple[int, Any]]

    def mark(self, number: int, value: Any) -> Any:
        if len(self.seen) >= MAX_MARKS:
            raise TooLong
        self.seen.append((number, value))
        return value


def run(text: str, seed: int) -> list[tuple[int, Any]]:
    """The values that the program marks until it ends, or fails; `seed` decides what `flip()` gives."""
    recorder = Recorder([])
    random = Random(seed)
    namespace = {"__name__": "__main__", "mark": recorder.mark, "flip": lambda: random.random() < 0.5}
    # a program that fails ends early: what was marked until then counts
    with contextlib.suppress(Exception, TooLong):
        exec(compile(text, "m.py", "exec"), namespace)
    return recorder.seen


def abstract_values(result: Result) -> dict[int, tuple[Value, str]]:
    """For each mark the value that the analysis has there, over all contexts."""
    found: dict[int, list[Value]] = {}
    for module in result.program.modules.values():
        for function in module.functions:
            for op in walk(function.body):
                if not isinstance(op, ops.Call) or len(op.arguments) != 2:
                    continue
                for context in result.facts.contexts_of(function.id):
                    callee, number = context.value(op.function), context.value(op.arguments[0].value)
                    if not _is_mark(callee) or not isinstance(number, Constant) or type(number.value) is not int:
                        continue
                    value = context.value(op.arguments[1].value)
                    found.setdefault(number.value, []).extend(() if value is None else (value,))
    return {
        number: (join_all(values), format_value(result.program, result.facts, join_all(values)))
        for number, values in found.items()
    }


def _is_mark(value: Value | None) -> bool:
    return isinstance(value, UnknownValue) and value.origin is not None and value.origin.name == "mark"


def unsound_marks(text: str) -> list[str]:
    """The marks whose concrete values the analysis excludes, described."""
    result = analyze_text(text)
    problems = [found.problem for found in result.facts.functions.values() if found.problem is not None]
    wrong = [problem for problem in problems if problem.startswith("internal error")]
    values = abstract_values(result)
    for number, concrete in [marked for seed in range(RUNS) for marked in run(text, seed)]:
        known = values.get(number)
        if known is None:
            wrong.append(f"mark {number}: {concrete!r}, but held to be unreachable")
        elif not covers(known[0], concrete, result):
            wrong.append(f"mark {number}: {concrete!r}, but held to be {known[1]}")
    return list(dict.fromkeys(wrong))


@pytest.mark.slow
@given(st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_what_programs_compute_is_covered(seed: int) -> None:
    text = ValueProgramWriter(Random(seed)).program()
    assert not unsound_marks(text), text
