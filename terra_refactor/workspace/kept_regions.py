"""The regions of a component that a run has found, for a later run in which all that they were decided from is the same.

Gives: `KeptRegions`. Needs: what was seen on the way (`classify/alike.py`). It is kept with the state of the analysis, and is found by the
files of that state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from terra_refactor.classify.alike import Seen
from terra_refactor.workspace.found_region import FoundRegion

CandidatePlace: TypeAlias = "tuple[str, str, str, int, int]"
"""The path of a candidate's file, the file's digest, the function around the tape, and the tape's line and column."""


@dataclass(frozen=True, slots=True)
class KeptRegions:
    """The regions, what they were chosen from, and what the decisions about them were made from."""

    candidates: tuple[CandidatePlace, ...]
    regions: tuple[FoundRegion, ...]
    seen: Seen
