"""The budget of one check of a rule, in looks at the program.

Gives: `LookBudget`, which a view charges for each operation and value that it shows, and `OutOfBudgetError`. A count, not a clock: the
same program gives the same report on every machine.
"""

from __future__ import annotations

import sys
from typing import Final

MAX_LOOKS: Final = 300_000
"""Maximum number of looks of one check of one context: some tenths of a second, and two hundred times the maximum in two large
projects."""


class OutOfBudgetError(Exception):
    """A check has looked at more than it may."""


class LookBudget:
    """The looks that are left to the check that runs."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = sys.maxsize

    def begin(self) -> int:
        """Limits the following looks to `MAX_LOOKS`. Returns the remaining number before, which the caller sets again at the end: a
        context manager would take a seventh of the time of all checks, most of which end immediately."""
        outer, self.left = self.left, MAX_LOOKS
        return outer

    def end(self) -> None:
        """Nothing is left.

        Raises:
            OutOfBudgetError: always.
        """
        raise OutOfBudgetError("it looks at too much of the program")
