"""Decision about hot code that is not a function of its own.

Computes: nothing. Gives: `RegionDecision`, in the terms of the report (`regions` of `report/1`).
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.classify.decision import Action, Classification, Hazard, Level, ParameterDecision
from terra_refactor.domain.tensor import TensorType


@dataclass(frozen=True, slots=True)
class RegionDecision:
    """The complete decision about one sequence of statements that could become a function."""

    path: str
    module: str
    inside: str
    """The qualified name of the enclosing function; `<module>` at module level."""
    line: int
    end_line: int
    classification: Classification
    extract: bool
    """Whether it should become a function that is a graph."""
    co_execute: bool
    """Whether it should become a function that runs under the shim, since it cannot be a graph."""
    level: Level
    """The lowest level at which `fix` performs the action."""
    reason: str
    assumptions: tuple[str, ...]
    hazards: tuple[Hazard, ...]
    """At their lines in the present file."""
    inputs: tuple[ParameterDecision, ...]
    outputs: tuple[str, ...]
    output_types: tuple[TensorType, ...]
    """The distinct types of all its results."""
    function_name: str
    """Name of the new function."""
    qualname: str
    """Qualified name of the new function."""

    @property
    def action(self) -> Action:
        """The action."""
        if self.extract:
            return Action.EXTRACT_TF_FUNCTION
        return Action.CO_EXECUTE if self.co_execute else Action.NONE

    @property
    def changes(self) -> bool:
        """Whether it should become a function, as a graph or under the shim."""
        return self.action is not Action.NONE
