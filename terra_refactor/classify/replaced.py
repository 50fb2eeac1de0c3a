"""Changes that are invisible at a call: replaced library functions, names bound by `exec`, changed defaults.

Computes: whether they may affect a failing operation. Needs: facts. Gives: `Replaced`. Ignores: replacements by code outside of the
program.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, FailureFact
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.classify.provenance import Provenance
from terra_refactor.domain.value import Constant, LibraryValue, members
from terra_refactor.facts.records import AttributeRead, AttributeWrite, Call, ItemWrite
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model.graph_traits import RUN_TEXT
from terra_refactor.tf_model.registry import canonical_name
from terra_refactor.tf_model.spec import ErrorKind

_OF_FUNCTIONS: Final = frozenset({"__defaults__", "__kwdefaults__", "__code__"})
_PROMOTES: Final = "enable_numpy_behavior"
"""Last component of the names of the functions after which TensorFlow promotes dtypes."""


class Replaced:
    """The replaced functions of the program, computed on demand."""

    def __init__(self, hazards: HazardMap, values: Provenance) -> None:
        self.hazards = hazards
        self.facts = hazards.whole_facts
        self.values = values

    def may_be_behind(self, context: ContextFacts, failure: FailureFact) -> bool:
        """Whether the operation may not fail after all, because it depends on something that the program replaces."""
        if context.function.module in self._run_by_text:
            return True
        if failure.kind is ErrorKind.DTYPE and self._promotes:
            return True
        if self._changes_functions and self.hazards.index(context.function).function.kind is not FunctionKind.MODULE:
            return True
        if not self.functions:
            return False
        if any(name.rpartition(".")[2].startswith("__") for name in self.functions) and not self._library(
            context, failure.op
        ):
            return True  # an operator of tensors
        return any(
            name in self.functions
            for inner, number in self.values.behind(context, [failure.op])
            for name in self._library(inner, number)
        )

    def _library(self, context: ContextFacts, number: OpId) -> tuple[str, ...]:
        return self.hazards.view(context).library_of(number)

    @cached_property
    def functions(self) -> frozenset[str]:
        """The canonical names of library members that the program sets: `np.zeros = ...`, `setattr(tf, "matmul", ...)`."""
        found: set[str] = set()
        for context in self.facts.contexts:
            code = self.hazards.index(context.function)
            for write in code.of_kind(AttributeWrite):
                found.update(_members_named(context, write.owner, write.name))
            for call in code.of_kind(Call):
                if call.called_name == "setattr" and len(call.positional) > 1:
                    name = context.values[call.positional[1]]
                    if isinstance(name, Constant) and isinstance(name.value, str):
                        found.update(_members_named(context, call.positional[0], name.value))
        return frozenset(found)

    @cached_property
    def _run_by_text(self) -> frozenset[str]:
        """The modules that execute strings, which may bind their names."""
        return frozenset(
            context.function.module
            for context in self.facts.contexts
            for call in context.calls
            if not RUN_TEXT.isdisjoint(call.library)
        )

    @cached_property
    def _promotes(self) -> bool:
        return any(name.endswith(_PROMOTES) for name in self.facts.library_functions())

    @cached_property
    def _changes_functions(self) -> bool:
        """Whether the program sets the defaults or the code of functions."""
        for module in self.hazards.whole_program.modules.values():
            for function in module.functions:
                code = self.hazards.index(function.id)
                if any(write.name in _OF_FUNCTIONS for write in code.of_kind(AttributeWrite)):
                    return True
                for change in code.of_kind(ItemWrite):
                    owner = code.facts[change.owner]
                    if isinstance(owner, AttributeRead) and owner.name in _OF_FUNCTIONS:
                        return True
        return False


def _members_named(context: ContextFacts, owner: OpId, name: str) -> set[str]:
    value = context.values[owner]
    return {
        canonical_name(f"{member.name}.{name}")
        for member in (() if value is None else members(value))
        if isinstance(member, LibraryValue)
    }
