"""The result of a refactoring, function by function.

Computes: nothing. Gives: `Change` (one function: done, skipped and why, failed) and `FileRefactoring` (one file: its
changes and its new text). A refactoring that cannot be made is a result with a reason, never an exception.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from terra_refactor.classify.decision import Action, Decision
from terra_refactor.syntax.source import Source


class Outcome(Enum):
    """The outcome of a change."""

    DONE = "done"
    SKIPPED = "skipped"
    """It is not possible or not wanted at this place; the reason says why."""
    FAILED = "failed"
    """It should have been possible: a bug of ours, or a text that does not parse afterwards."""


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
    """For a change that was made, the decision's reason; else why it was not."""
    assumptions: tuple[str, ...] = ()
    """The points that a person should check before accepting the change."""
    title: str = ""
    """A description of the change, if it does not follow from an action: the rule whose finding is removed."""


@dataclass(frozen=True, slots=True)
class FileRefactoring:
    """All changes of one file, and the text after them."""

    source: Source = field(repr=False)
    changes: tuple[Change, ...]
    """In source order."""
    new_text: str = field(repr=False)
    """The module text after the changes; the same as before if none was done."""
    extracted_text: str | None = field(default=None, repr=False)
    """The module text in which regions are functions and nothing else is changed; None where none is."""
    extracted: tuple[Decision, ...] = ()
    """The decisions about the functions that regions became, with the lines of the changes."""

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.new_text != self.source.text
