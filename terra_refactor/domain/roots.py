"""The graphs for which a size is open, relative to the function that sees it.

A set of roots is a small bit set. Bit 0: a graph that begins at this function. Bit 1: one that begins at its caller,
and so on; the last bit stands for all functions further out. Computes: the shift at the boundary of a call. Gives:
`HERE`, `EVERYWHERE`, `inward`, `root_in_caller`, `Traced`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HERE: Final = 1
EVERYWHERE: Final = 0b1111
MAX_ROOTS: Final = 4
_LAST: Final = 0b1000


def inward(roots: int) -> int:
    """The set as seen by a callee."""
    return ((roots << 1) & EVERYWHERE) | (roots & _LAST)


def root_in_caller(roots: int) -> int:
    """A callee's mark as seen by its caller."""
    return (roots >> 1) | (roots & _LAST)


@dataclass(frozen=True, slots=True)
class Traced:
    """Open parts of a traced tensor other than its sizes: sets of roots."""

    content: int = 0
    """Its content depends on values that are known only at run time: it is not a constant of the graph."""
    rank: int = 0
    """The graph does not even know its rank."""
    first: int = 0
    """Its first size is open; used if the rank is unknown here."""

    def __or__(self, other: Traced) -> Traced:
        if self is other or self == other:
            return self
        return Traced(self.content | other.content, self.rank | other.rank, self.first | other.first)

    def seen_inside(self) -> Traced:
        """The marks as seen by a callee."""
        return Traced(inward(self.content), inward(self.rank), inward(self.first))

    def seen_outside(self) -> Traced:
        """A callee's marks as seen by its caller."""
        found = Traced(root_in_caller(self.content), root_in_caller(self.rank), root_in_caller(self.first))
        return KNOWN if found == KNOWN else found


KNOWN: Final = Traced()
"""Only sizes are open, as far as is known."""
