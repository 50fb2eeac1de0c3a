"""The candidates of a program before their judgement.

Gives: `find_trials`, `trials_of`, `places_of`. Needs: the texts, and the decisions about the functions around the candidates: code that is,
or becomes, a graph has no regions of its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from terra_refactor.classify.decision import Action, Decision
from terra_refactor.refactor.regions.candidates import Candidate, find_candidates
from terra_refactor.refactor.regions.outline import Outliner
from terra_refactor.refactor.regions.taped import TapedNames
from terra_refactor.syntax.source import Source
from terra_refactor.tf_model.graph_traits import KERAS_STEPS
from terra_refactor.workspace.found_region import may_have_regions
from terra_refactor.workspace.kept_regions import CandidatePlace
from terra_refactor.workspace.region_trial import Trial


def find_trials(sources: Mapping[str, Source], decisions: Sequence[Decision]) -> list[Trial]:
    """The undecided candidates of a program, by path and line."""
    taped = _taped(sources)
    return [trial for path in sorted(sources) for trial in trials_of(path, sources, decisions, taped)]


def _taped(sources: Mapping[str, Source]) -> TapedNames:
    return TapedNames(source.text for _, source in sorted(sources.items()))


def places_of(trials: Sequence[Trial], sources: Mapping[str, Source]) -> tuple[CandidatePlace, ...]:
    """The positions of the candidates, each with the digest of its file's text."""
    return tuple(
        (
            trial.path,
            sources[trial.path].digest,
            trial.candidate.scope.qualname,
            trial.candidate.anchor.lineno,
            trial.candidate.anchor.col_offset,
        )
        for trial in trials
    )


def _is_called(method: str, sources: Mapping[str, Source]) -> bool:
    """Whether the program itself calls a method that Keras usually calls; `super().train_step(data)` is part of Keras's call."""
    call = re.compile(rf"(?<!super\(\))\.{method}\(")
    return any(call.search(source.text) for source in sources.values())


def trials_of(
    path: str, sources: Mapping[str, Source], decisions: Sequence[Decision], taped: TapedNames | None = None
) -> list[Trial]:
    """The candidates of one file.

    `sources` are all files of the program; `taped` are the functions that its tapes may record, if known.
    """
    source = sources[path]
    taped = taped or _taped(sources)
    if not may_have_regions(source):
        return []
    try:
        tree = ast.parse(source.text)
        candidates = find_candidates(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    around = {decision.qualname: decision for decision in decisions if decision.path == path}
    cells = frozenset(cell.line for cell in source.cells)
    outliner = Outliner(source.text, tree, cells)
    return [
        Trial(path, candidate, outliner, outliner.placements(candidate), taped=taped)
        for candidate in candidates
        if _is_eager(around.get(candidate.scope.qualname), candidate, sources)
    ]


def _is_eager(decision: Decision | None, candidate: Candidate, sources: Mapping[str, Source]) -> bool:
    """Whether the code around a candidate is, and remains, host code. `sources` are all files of the program."""
    if isinstance(candidate.scope.node, ast.Module):
        return True
    scope = candidate.scope
    name = scope.qualname.rpartition(".")[2]
    if scope.is_method and name in KERAS_STEPS and scope.class_around.bases and not _is_called(name, sources):
        return False  # `fix` makes it a graph if the class turns out to be a Keras class
    return decision is not None and not (
        decision.hybrid
        or decision.action is Action.ADD_TF_FUNCTION
        or decision.covered_by_graph_callers
        or (decision.runs_in_graph and not decision.runs_eagerly)
    )
