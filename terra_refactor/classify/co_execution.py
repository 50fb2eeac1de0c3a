"""Training steps that the shim may run although they cannot become graphs.

Computes: whether a function is a training step that runs the same operations in each call, and whether only varying
Python values, or unknowns of the analysis, keep it from being a graph. Needs: its `Judgement`. Gives:
`does_equal_steps`, `is_kept_eager`, `may_run_eagerly`, `called_by`. Ignores: certain hazards, which `decide` handles.
"""

from __future__ import annotations

from collections.abc import Iterator

from terra_refactor.analysis.facts import ProgramFacts
from terra_refactor.classify.assessment import obstacle_of
from terra_refactor.classify.benefit import tapes_open_loops
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.classify.judgement import Judgement
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.rules.rule import Nature


def does_equal_steps(hazards: HazardMap, judgement: Judgement) -> bool:
    """Whether it updates variables by a gradient, without Python loops that make the operations differ between calls."""
    trains = judgement.count.differentiated and judgement.updates_variables
    return trains and not judgement.count.open_loops and not tapes_open_loops(hazards, judgement.contexts)


def is_kept_eager(hazards: HazardMap, judgement: Judgement) -> bool:
    """Whether only varying Python values, or insufficiently known arguments, keep it from being a graph."""
    obstacle = obstacle_of(hazards, judgement.code.id)
    if judgement.found.problem is not None:
        return False
    if obstacle is None:
        return any(hazard.nature is Nature.UNKNOWABLE for hazard in judgement.hazards)
    return obstacle.varies


def may_run_eagerly(judgement: Judgement, definitions: int | None) -> bool:
    """Whether the shim may run it: a function that is defined once, and which eager execution does not refuse.

    Each definition of a nested function has segments of its own.
    """
    is_refused = any(hazard.nature is Nature.REFUSED for hazard in judgement.hazards)
    return (judgement.code.kind is not FunctionKind.NESTED or definitions == 1) and not is_refused


def called_by(facts: ProgramFacts, judgement: Judgement) -> Iterator[FunctionId]:
    """The functions that it calls itself."""
    for context in judgement.contexts:
        for call in context.calls:
            yield from (facts.contexts[callee].function for callee in call.callees)
