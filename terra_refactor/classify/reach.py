"""Questions about everything that a call reaches.

Computes: whether sizes of static shapes are used, whether something is called that cannot be resolved. Needs: facts. Gives: `Reach`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from terra_refactor.analysis.annotations import ABSTRACT
from terra_refactor.analysis.facts import ContextFacts, ContextId
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.value import Bottom, ShapeValue, TensorValue, UnknownValue, members
from terra_refactor.ir import ops
from terra_refactor.rules.view import ContextView

_SIZE_READERS: Final = frozenset(
    {
        "builtins.len",
        "builtins.range",
        "tensorflow.get_static_value",
        "tensorflow.Tensor.get_shape",
        "tensorflow.unstack",
    }
)


class Reach:
    """Everything that contexts reach through their calls."""

    def __init__(self, hazards: HazardMap) -> None:
        self.hazards = hazards
        self._static_sizes: dict[ContextId, bool] = {}
        self._unresolved: dict[ContextId, bool] = {}

    def uses_static_sizes(self, context: ContextFacts) -> bool:
        """Whether a size of a static shape is used as a Python value: with an unknown axis it would be None."""
        return self._any(context, self._static_sizes, _reads_size)

    def has_unresolved_calls(self, context: ContextFacts) -> bool:
        """Whether something is called that is not known, or whose body only says that subclasses have it."""
        return self._any(context, self._unresolved, _calls_unknown)

    def abstract_methods(self, context: ContextFacts) -> tuple[str, ...]:
        """The methods that are reached and that only say that subclasses have them."""
        found: dict[str, None] = {}
        pending, seen = [context], {context.id}
        while pending:
            current = pending.pop()
            if current is not context and _is_abstract(current):
                found[self.hazards.program.function(current.function).qualname] = None
            for callee in self._callees(current):
                if callee.id not in seen:
                    seen.add(callee.id)
                    pending.append(callee)
        return tuple(sorted(found))

    def _any(
        self, context: ContextFacts, known: dict[ContextId, bool], question: Callable[[ContextView], bool]
    ) -> bool:
        answer = known.get(context.id)
        if answer is None:
            known[context.id] = False
            answer = question(self.hazards.view(context)) or any(
                self._any(callee, known, question) for callee in self._callees(context)
            )
            known[context.id] = answer
        return answer

    def _callees(self, context: ContextFacts) -> Iterator[ContextFacts]:
        for call in context.calls:
            for callee in call.callees:
                yield self.hazards.facts.contexts[callee]


def _reads_size(view: ContextView) -> bool:
    for op in view.code.ops:
        if isinstance(op, ops.LoadAttribute) and op.name in ("shape", "get_shape", "ndims"):
            if any(isinstance(member, ShapeValue | UnknownValue) for member in members(view.value(op.id))):
                return True
    return any(
        name in _SIZE_READERS
        and any(
            isinstance(member, TensorValue)
            for argument in call.arguments
            for member in members(view.value(argument.value))
        )
        for call, name in view.library_calls()
    )


def _calls_unknown(view: ContextView) -> bool:
    if any(call.unknown is not None or "builtins.next" in call.library for call in view.context.calls):
        return True
    if isinstance(view.context.returns, Bottom):
        return True
    return _is_abstract(view.context)


def _is_abstract(context: ContextFacts) -> bool:
    return any(isinstance(member, UnknownValue) and member.reason == ABSTRACT for member in members(context.returns))
