"""Budgets of an analysis, counted in operations, so that a report is the same on every machine.

Gives: `StepBudget`. A context that runs out of steps gets an unknown result, is reported with the reason "budget",
and counts as an unresolved call (TR107) in its callers. Each entry of the analysis (a module, or a function without
callers) gets a share, so that the others are still analysed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from terra_refactor.analysis.frames import Frame, Summary
from terra_refactor.domain.state import State
from terra_refactor.domain.value import Value
from terra_refactor.domain.weight import bounded, weight

STEPS_OF_A_CALL: Final = 20
"""The cost, in operations, of looking up the summary of a call: without it, nested calls (each function calls the next
one twice) take exponential time before the budget ends.
"""
FREE_PARTS: Final = 32
PARTS_OF_A_STEP: Final = 32
"""Number of parts of a value (beyond the free ones) that cost as much as one operation."""
FIELDS_OF_A_STEP: Final = 16
"""Number of merged fields that cost as much as one operation, multiplied by the depth of states: each field may be
looked up in all of them.
"""


def steps_of_call(summary: Summary) -> int:
    """Cost of applying the reads, writes and effects of a callee to the caller: small, unless the state grows with the
    program.
    """
    fields = len(summary.reads) + len(summary.writes) + len(summary.effects) + len(summary.state_reads)
    return fields // FIELDS_OF_A_STEP


class StepBudget:
    """The remaining steps."""

    __slots__ = ("given", "left")

    def __init__(self, left: int) -> None:
        self.given = self.left = left

    @property
    def used(self) -> int:
        """The number of steps taken."""
        return self.given - self.left

    def charge(self, frame: Frame, steps: int) -> None:
        """Charges work that was done for a context."""
        frame.steps += steps
        self.left -= steps

    def merged(self, frame: Frame, branches: Sequence[State]) -> bool:
        """Charges a merge of states before it is done; returns whether enough steps are left."""
        fields = sum(len(branch.heap) for branch in branches)
        self.charge(frame, fields * (FIELDS_OF_A_STEP + branches[0].depth) // FIELDS_OF_A_STEP**2)
        return frame.steps <= frame.max_steps and self.left > 0

    def weighed(self, frame: Frame, value: Value) -> Value:
        """The result of an operation, or unknown if it is too large: comparing and hashing a large value costs as much
        as running operations.
        """
        parts = weight(value)
        if parts <= FREE_PARTS:
            return value
        self.charge(frame, parts // PARTS_OF_A_STEP)
        return bounded(value)

    @contextmanager
    def share(self, least: int) -> Iterator[None]:
        """Limits the code inside to half of the remaining steps, or to `least`."""
        left = self.left
        given = self.left = max(left // 2, least)
        try:
            yield
        finally:
            self.left += left - given
