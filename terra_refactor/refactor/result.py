"""The result of a refactoring, function by function.

Computes: nothing. Gives: `Change` (one function: done, skipped with a reason, or failed) and `FileRefactoring` (one
file: its changes and its new text). A refactoring that is not possible is a result with a reason, never an exception.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from terra_refactor.classify.decision import Action, Decision, Level
from terra_refactor.syntax.source import Source


class Outcome(Enum):
    """The outcome of a change."""

    DONE = "done"
    SKIPPED = "skipped"
    """It is not possible or not wanted here; the reason is given."""
    FAILED = "failed"
    """It should have been possible: an internal error, or the resulting text does not parse."""


@dataclass(frozen=True, slots=True)
class Change:
    """One function's refactoring."""

    path: str
    qualname: str
    line: int
    """The line of `def`, from 1, before the change."""
    action: Action
    outcome: Outcome
    reason: str
    """If it was made, the decision's reason; otherwise why it was not."""
    assumptions: tuple[str, ...] = ()
    """Assumptions for the user to check before accepting the change."""
    title: str = ""
    """A description of the change, if it does not follow from an action: the rule whose finding it removes."""
    level: Level | None = None
    """The level that it needs, if that is why it was skipped."""


@dataclass(frozen=True, slots=True)
class FileRefactoring:
    """All changes of one file, and the text after them."""

    source: Source = field(repr=False)
    changes: tuple[Change, ...]
    """In source order."""
    new_text: str = field(repr=False)
    """The module text after the changes; unchanged if none was made."""
    extracted_text: str | None = field(default=None, repr=False)
    """The module text in which regions are functions and nothing else is changed; None if there are no regions."""
    extracted: tuple[Decision, ...] = ()
    """The decisions about the functions that regions became, with the lines of the changes."""

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.new_text != self.source.text
