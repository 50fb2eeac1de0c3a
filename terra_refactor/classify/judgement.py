"""One function while the decisions about a set of functions are made.

Computes: nothing. Gives: `Judgement`, which `decide` fills in, and `FunctionNames`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypeAlias

from terra_refactor.analysis.facts import ContextFacts, FunctionFacts
from terra_refactor.classify.assessment import Assessment
from terra_refactor.classify.assumptions import Assumptions
from terra_refactor.classify.benefit import Count
from terra_refactor.classify.decision import Action, Classification, GraphPays, Level, ParameterDecision
from terra_refactor.classify.reached_hazard import ReachedHazard
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import NONE, FrozenDict, FrozenList, TensorValue, TupleValue, Value, members
from terra_refactor.ir.function import Function

FunctionNames: TypeAlias = AbstractSet[tuple[str, str]]
"""File paths with names of functions."""


@dataclass(slots=True)
class Judgement:
    """Assessment of a function, and the decision so far."""

    code: Function
    found: FunctionFacts
    contexts: tuple[ContextFacts, ...]
    assessment: Assessment
    action: Action = Action.NONE
    level: Level = Level.SAFE
    reason: str = ""
    rule: str = ""
    """Id of the rule in the reason; empty if there is none."""
    cause: ReachedHazard | None = None
    """The hazard that the reason is about."""
    covered: bool = False
    covered_at_speculative: bool = False
    held_back: bool = False
    """A graph of it would pay off, were it not for a hazard in its own code."""
    paid_after: float | None = None
    """The number of calls after which its trace pays off, if it is unknown whether there are that many."""
    pays: GraphPays | None = None
    """The reason, if it is that a graph pays."""
    seen_repeated: bool = True
    """Code of the project calls it repeatedly."""

    @property
    def hazards(self) -> tuple[ReachedHazard, ...]:
        return self.assessment.hazards

    @property
    def assumptions(self) -> Assumptions:
        return self.assessment.assumptions

    @property
    def classification(self) -> Classification:
        return self.assessment.classification

    @property
    def count(self) -> Count:
        return self.assessment.count

    @property
    def tensor_computation(self) -> bool:
        return bool(self.count)

    @property
    def parameters(self) -> tuple[ParameterDecision, ...]:
        return self.assessment.parameters

    @property
    def updates_variables(self) -> bool:
        """Whether a call changes variables or other tensor state; applying gradients through an unknown optimizer does,
        too. An optimizer that the function itself gets from an unknown call would create its variables in each trace.
        """
        effects = [effect for context in self.contexts for effect in context.effects]
        if any(effect.kind is EffectKind.TENSOR_STATE for effect in effects):
            return True
        given = {parameter.name for parameter in self.parameters}
        return self.count.differentiated and any(
            effect.kind is EffectKind.UNKNOWN_CALL
            and not effect.via
            and effect.detail.endswith(_UPDATES)
            and effect.detail.partition(".")[0] in given
            for effect in effects
        )

    @property
    def returns_tensors_only(self) -> bool:
        """Whether callers receive the same from the function and from a graph of it: no Python value that a graph
        returns as a tensor.
        """
        return _holds_tensors_only(self.found.returns)


_UPDATES: Final = (".apply_gradients", ".minimize")
"""Methods that only optimizers have."""


def _holds_tensors_only(value: Value) -> bool:
    """Whether a value consists only of tensors and None, at any nesting."""

    def holds(member: Value) -> bool:
        match member:
            case TensorValue():
                return True
            case TupleValue(elements=elements):
                return all(map(_holds_tensors_only, elements))
            case FrozenList(elements=elements) if elements is not None:
                return all(map(_holds_tensors_only, elements))
            case FrozenDict(items=items, rest=rest):
                return rest is None and all(_holds_tensors_only(item) for _, item in items)
            case _:
                return member == NONE

    return all(map(holds, members(value)))


def has_own_decorator(code: Function) -> bool:
    """Whether the `tf.function` that wraps the function is written above it."""
    names = (decorator.text.partition("(")[0].rpartition(".")[2].strip() for decorator in code.decorators)
    return any(name in ("function", "defun", "tf_function") for name in names)
