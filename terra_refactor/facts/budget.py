"""The budget of one check of a rule, counted in reads of the program ("looks").

Gives: `LookBudget`, which a view charges for each operation and value that it returns, and `OutOfBudgetError`. A
count, not a clock: the same program gives the same report on every machine.
"""

from __future__ import annotations

import sys
from typing import Final

MAX_LOOKS: Final = 300_000
"""Maximum number of looks of one check in one context: a few tenths of a second, and two hundred times the maximum seen
in two large projects.
"""


class OutOfBudgetError(Exception):
    """A check has exceeded its budget."""


class LookBudget:
    """The remaining looks of the running check."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = sys.maxsize

    def begin(self) -> int:
        """Limits the following looks to `MAX_LOOKS`.

        Returns the remaining number from before, which the caller restores at the end. Not a context manager, which
        would take a seventh of the time of all checks, most of which end immediately.
        """
        outer, self.left = self.left, MAX_LOOKS
        return outer

    def end(self) -> None:
        """Stops a check that has used up its budget.

        Raises:
            OutOfBudgetError: always.
        """
        raise OutOfBudgetError("it reads too much of the program")
