"""Regions for an editor: whether lines are in hot statements that could be a function, and the decision about them.

Needs: a snapshot. Gives: `regions_at`, `decisions_beside_regions`. The program is analysed again with the region as a function, so this
runs only on request; the answers for the last few texts are kept.
"""

from __future__ import annotations

import ast
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from terra_refactor.classify.decision import Action, Decision
from terra_refactor.classify.judgement import FunctionNames
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ir.program import Program
from terra_refactor.refactor.regions.candidates import find_candidates
from terra_refactor.workspace.found_region import FoundRegion, without_shim
from terra_refactor.workspace.judgement import RepeatedJudge
from terra_refactor.workspace.regions import judge_regions

_KEPT: Final = 4
_known: OrderedDict[tuple[str, str], tuple[FoundRegion, ...]] = OrderedDict()
_guard: Final = threading.Lock()


def regions_at(snapshot: Snapshot, path: str, first_line: int, last_line: int) -> tuple[FoundRegion, ...]:
    """The regions of a file that share a line with some lines (from 1, both included)."""
    if not snapshot.config.extract or not _has_candidate(snapshot, path, first_line, last_line):
        return ()
    return tuple(
        found
        for found in _regions(snapshot, path)
        if found.decision.line <= last_line and first_line <= found.decision.end_line
    )


def decisions_beside_regions(
    snapshot: Snapshot, path: str, decisions: tuple[Decision, ...], first_line: int, last_line: int
) -> tuple[Decision, ...]:
    """The decisions, without co-execution of a function around some lines whose step can become a graph: as `fix` has them."""
    around = [
        decision
        for decision in decisions
        if decision.action is Action.CO_EXECUTE and decision.line <= last_line and first_line <= decision.end_line
    ]
    regions = [found for each in around for found in regions_at(snapshot, path, each.line, each.end_line)]
    return without_shim(decisions, regions) if regions else decisions


def _has_candidate(snapshot: Snapshot, path: str, first_line: int, last_line: int) -> bool:
    source = snapshot.sources.get(path)
    if source is None or path not in snapshot.module_names or "GradientTape" not in source.text:
        return False
    try:
        candidates = find_candidates(ast.parse(source.text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        candidate.block[candidate.start].lineno <= last_line
        and first_line <= (candidate.block[candidate.end - 1].end_lineno or 0)
        for candidate in candidates
    )


def _regions(snapshot: Snapshot, path: str) -> tuple[FoundRegion, ...]:
    key = (snapshot.identity, path)
    with _guard:
        if key in _known:
            _known.move_to_end(key)
            return _known[key]

    judge = RepeatedJudge()

    def decide(program: Program, names: FunctionNames) -> Sequence[Decision]:
        return judge.decided_about(program, snapshot.config, names)

    decisions = [decision for here in snapshot.decisions.values() for decision in here]
    found = judge_regions(snapshot.program, {path: snapshot.sources[path]}, decisions, decide)
    with _guard:
        _known[key] = found
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return found
