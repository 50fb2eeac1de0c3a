"""Decision about hot code that is not a function of its own.

Computes: nothing. Gives: `RegionDecision`, whose words are those of the report (`regions` of `report/1`).
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.classify.decision import Action, Classification, Hazard, Level, ParameterDecision
from terra_refactor.domain.tensor import TensorType


@dataclass(frozen=True, slots=True)
class RegionDecision:
    """Everything that is decided about one run of statements that could become a function."""

    path: str
    module: str
    inside: str
    """The qualified name of the function around it; `<module>` at the top."""
    line: int
    end_line: int
    classification: Classification
    extract: bool
    """Whether it should become a function that is a graph."""
    co_execute: bool
    """Whether it should become a function that the shim runs, since it cannot be a graph."""
    level: Level
    """The least level at which `fix` does so."""
    reason: str
    assumptions: tuple[str, ...]
    hazards: tuple[Hazard, ...]
    """At their lines in the file as it is."""
    inputs: tuple[ParameterDecision, ...]
    outputs: tuple[str, ...]
    output_types: tuple[TensorType, ...]
    """The distinct types of all that it gives."""
    function_name: str
    """Name of the function."""
    qualname: str
    """And its qualified name."""

    @property
    def action(self) -> Action:
        """The action."""
        if self.extract:
            return Action.EXTRACT_TF_FUNCTION
        return Action.CO_EXECUTE if self.co_execute else Action.NONE

    @property
    def changes(self) -> bool:
        """Whether it should become a function, a graph or not."""
        return self.action is not Action.NONE
