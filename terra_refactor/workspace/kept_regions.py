"""The regions of a component from one run, for a later run in which all their dependencies are unchanged.

Gives: `KeptRegions`. Needs: the recorded dependencies (`classify/alike.py`). They are stored with the state of the
analysis, under the same key.
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
    """The regions, the candidates from which they were chosen, and the dependencies of the decisions about them."""

    candidates: tuple[CandidatePlace, ...]
    regions: tuple[FoundRegion, ...]
    seen: Seen
