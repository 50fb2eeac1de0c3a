"""One function while the decisions about a set of functions are made.

Computes: nothing. Gives: `Judgement`, which `decide` fills in.
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.analysis.facts import ContextFacts, FunctionFacts
from terra_refactor.classify.assessment import Assessment
from terra_refactor.classify.assumptions import Assumptions
from terra_refactor.classify.benefit import Count
from terra_refactor.classify.decision import Action, Classification, Level, ParameterDecision
from terra_refactor.classify.hazards import ReachedHazard
from terra_refactor.ir.function import Function


@dataclass(slots=True)
class Judgement:
    """What is known about the function, and what is decided so far."""

    code: Function
    found: FunctionFacts
    contexts: tuple[ContextFacts, ...]
    assessment: Assessment
    action: Action = Action.NONE
    level: Level = Level.SAFE
    reason: str = ""
    rule: str = ""
    """Id of the rule that the reason speaks of; empty for none."""
    covered: bool = False
    covered_at_speculative: bool = False
    paid_after: float | None = None
    """The calls after which its trace has paid off, if it is unknown whether there are as many."""
    seen_repeated: bool = True
    """Something in the project calls it again and again."""

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
