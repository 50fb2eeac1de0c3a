"""Identities of what the IR holds.

Computes: nothing. Gives: the keys by which facts are stored. They are our own, small, ordered and picklable, never CST nodes, so
that facts can go to a worker process or an on-disk cache and survive an edit of another function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

OpId: TypeAlias = int
"""Number of an operation, dense from 0 within one function: also the number of the temporary that holds its result."""


@dataclass(frozen=True, slots=True, order=True)
class FunctionId:
    """One `def`, `lambda`, class body or module body."""

    module: str
    """Name of the module in its repository, for example `pkg.train`."""
    index: int
    """Number of the function in source order within its module; 0 is the module's own body."""

    def __str__(self) -> str:
        return f"{self.module}#{self.index}"
