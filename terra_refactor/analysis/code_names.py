"""Facts about a function that follow from its code alone, cached while the code is unchanged.

Computes: the names that it mentions, the globals that it sets, its uses of the dtypes of weights. Needs: the IR.
Gives: `CodeNames`, `CodeNamesTable`.
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.analysis.weight_dtypes import WeightCode
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.ops import Block, DeleteName, LoadAttribute, LoadName, Scope, StoreName
from terra_refactor.ir.walk import walk


@dataclass(frozen=True, slots=True)
class CodeNames:
    """The names in one function's own code."""

    body: Block
    mentioned: frozenset[str]
    """Variables and attributes that it reads."""
    globals_set: frozenset[str]
    """Globals that it sets or deletes."""
    weights: WeightCode

    @staticmethod
    def of(function: Function) -> CodeNames:
        """The names of a function."""
        mentioned: set[str] = set()
        globals_set: set[str] = set()
        code = {op.id: op for op in walk(function.body)}
        for op in code.values():
            if isinstance(op, LoadName | LoadAttribute):
                mentioned.add(op.name)
            elif isinstance(op, StoreName | DeleteName) and op.scope is Scope.GLOBAL:
                globals_set.add(op.name)
        return CodeNames(function.body, frozenset(mentioned), frozenset(globals_set), WeightCode.of(code))


class CodeNamesTable:
    """The names of functions, each computed once."""

    def __init__(self) -> None:
        self._known: dict[FunctionId, CodeNames] = {}

    def of(self, function: Function) -> CodeNames:
        """The names of a function; reuses the earlier ones if its code is unchanged."""
        known = self._known.get(function.id)
        if known is None or known.body is not function.body:
            known = self._known[function.id] = CodeNames.of(function)
        return known
