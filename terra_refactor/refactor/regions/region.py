"""A region: a run of statements, and the edits that turn it into a function.

Gives: `ExtractedFunction`, `apply_regions`, `edits_of_regions`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from terra_refactor.syntax.edit import Edit, apply_edits


@dataclass(frozen=True, slots=True)
class ExtractedFunction:
    """A run of statements as a function: the edits, and its parameters and results."""

    inside: str
    """The qualified name of the function around the run; `<module>` at module level."""
    line: int
    end_line: int
    function_name: str
    inputs: tuple[str, ...]
    """Without the object of a method."""
    outputs: tuple[str, ...]
    body_lines: tuple[int, ...] = field(repr=False)
    """The lines of the file that form the function's body, except for a `return`."""
    insert_at: int = field(repr=False)
    """The place of the definition."""
    definition: str = field(repr=False)
    start: int = field(repr=False)
    end: int = field(repr=False)
    call: str = field(repr=False)
    """The text that replaces the range from `start` to `end`."""
    reread: tuple[str, ...] = ()
    """The expressions that the function evaluates in the place of names of the run."""


def apply_regions(text: str, regions: Iterable[ExtractedFunction]) -> str:
    """The text with some regions extracted as functions."""
    return apply_edits(text, edits_of_regions(regions))


def edits_of_regions(regions: Iterable[ExtractedFunction]) -> tuple[Edit, ...]:
    """The edits that turn some regions of one text into functions; definitions at one position are in source order."""
    ordered = sorted(regions, key=lambda region: (region.insert_at, region.start))
    edits = [
        Edit(at, at, "".join(region.definition for region in here))
        for at, here in groupby(ordered, key=lambda region: region.insert_at)
    ]
    return (*edits, *(Edit(region.start, region.end, region.call) for region in ordered))
