"""The graphs for which a size is open, relative to the function that sees it.

A set of roots is a small number of bits. Bit 0: a graph that begins at this function. Bit 1: one that begins at its caller, and so on;
the last bit is for every function further out. Computes: the shift at the boundary of a call. Gives: `HERE`, `EVERYWHERE`, `inward`,
`root_in_caller`, `Traced`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HERE: Final = 1
EVERYWHERE: Final = 0b1111
MAX_ROOTS: Final = 4
_LAST: Final = 0b1000


def inward(roots: int) -> int:
    """The same set as a callee sees it."""
    return ((roots << 1) & EVERYWHERE) | (roots & _LAST)


def root_in_caller(roots: int) -> int:
    """A mark inside the callee, translated for its caller."""
    return (roots >> 1) | (roots & _LAST)


@dataclass(frozen=True, slots=True)
class Traced:
    """Open parts of a traced tensor other than its sizes: sets of roots."""

    content: int = 0
    """Its content is computed from a content that only the run determines: it is not a constant of the graph."""
    rank: int = 0
    """Not even its rank is known to TensorFlow."""
    first: int = 0
    """Its first size is open, where the rank is not known here."""

    def __or__(self, other: Traced) -> Traced:
        if self is other or self == other:
            return self
        return Traced(self.content | other.content, self.rank | other.rank, self.first | other.first)

    def seen_inside(self) -> Traced:
        """The same as a callee sees it."""
        return Traced(inward(self.content), inward(self.rank), inward(self.first))

    def seen_outside(self) -> Traced:
        """A mark inside the callee, translated for its caller."""
        found = Traced(root_in_caller(self.content), root_in_caller(self.rank), root_in_caller(self.first))
        return KNOWN if found == KNOWN else found


KNOWN: Final = Traced()
"""Nothing but sizes is open, as far as is known."""
