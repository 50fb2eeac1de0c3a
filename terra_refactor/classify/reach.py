"""Queries about everything that a call reaches.

Computes: whether sizes of static shapes are used, whether an unresolved call is reached, whether code is converted
only because of a decorator. Needs: facts. Gives: `uses_static_sizes`, `has_unresolved_calls`, `abstract_methods`,
`is_converted_by_decorator`, `is_handed_out`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from terra_refactor.analysis.annotations import ABSTRACT
from terra_refactor.analysis.facts import ContextFacts, ContextId, FunctionFacts
from terra_refactor.classify.answers import Question
from terra_refactor.classify.conversion import leaves_conversion
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.value import Bottom, FunctionValue, ShapeValue, TensorValue, UnknownValue, Value, members
from terra_refactor.facts.records import AttributeRead, AttributeWrite, Call, ItemWrite
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.tf_model.graph_traits import NEXT
from terra_refactor.tf_model.spec import Trait


def uses_static_sizes(hazards: HazardMap, context: ContextFacts) -> bool:
    """Whether a size of a static shape is used as a Python value; for an open axis it would be None."""
    return hazards.ask(_STATIC_SIZES, context.id)


def has_unresolved_calls(hazards: HazardMap, context: ContextFacts) -> bool:
    """Whether an unknown function is called, or an abstract method that only subclasses implement."""
    return hazards.ask(_UNRESOLVED, context.id)


def abstract_methods(hazards: HazardMap, context: ContextFacts) -> tuple[str, ...]:
    """The reached abstract methods, which only subclasses implement."""
    names: frozenset[str] = hazards.ask(_ABSTRACT, context.id)
    return tuple(sorted(names))


def is_converted_by_decorator(hazards: HazardMap, code: Function, found: FunctionFacts) -> bool:
    """Whether a decorated function has tensor conditions that its callers would leave unconverted, as Keras does with `call`."""
    facts = hazards.facts
    if not any(hazards.unconverted(context) for context in facts.contexts_of(code.id)):
        return False
    for caller in found.callers:
        view = hazards.view(facts.contexts[caller.context])
        call = view.calls.get(caller.op)
        if call is None or leaves_conversion(view, call, code):
            return True
    return False


def is_handed_out(hazards: HazardMap, code: Function) -> bool:
    """Whether the enclosing function stores a nested function in an attribute or item, or passes it to unknown code: both
    may lead to calls outside of graphs.
    """
    if code.parent is None or code.kind is not FunctionKind.NESTED:
        return False
    outer = hazards.index(code.parent)
    stored = [write.value for write in outer.of_kind(AttributeWrite, ItemWrite)]
    for context in hazards.facts.contexts_of(code.parent):
        unknown = {call.op for call in context.calls if call.unknown is not None}
        passed = [given.value for call in outer.of_kind(Call) if call.op in unknown for given in call.arguments]
        if any(_may_be(context.values[number], code.id) for number in (*stored, *passed)):
            return True
    return False


def _may_be(value: Value | None, function: FunctionId) -> bool:
    alternatives = () if value is None else members(value)
    return any(isinstance(each, FunctionValue) and FunctionId(*each.function) == function for each in alternatives)


def _anywhere(
    hazards: HazardMap,
    number: ContextId,
    question: Question[HazardMap, ContextId, bool],
    here: Callable[[ContextView], bool],
) -> bool:
    context = hazards.facts.contexts[number]
    if here(hazards.view(context)):
        return True
    if hazards.facts.functions[context.function].recursive:
        return any(here(hazards.view(each)) for each in _all_reached(hazards, context))
    return any(hazards.ask(question, callee) for call in context.calls for callee in call.callees)


def _abstract(hazards: HazardMap, number: ContextId) -> frozenset[str]:
    context = hazards.facts.contexts[number]
    if hazards.facts.functions[context.function].recursive:
        reached = _all_reached(hazards, context)
        return frozenset(_name(hazards, each) for each in reached if each is not context and _is_abstract(each))
    found: set[str] = set()
    for call in context.calls:
        for callee in call.callees:
            inner = hazards.facts.contexts[callee]
            found.update(abstract_methods(hazards, inner))
            if _is_abstract(inner):
                found.add(_name(hazards, inner))
    return frozenset(found)


def _name(hazards: HazardMap, context: ContextFacts) -> str:
    return hazards.program.function(context.function).qualname


def _all_reached(hazards: HazardMap, context: ContextFacts) -> tuple[ContextFacts, ...]:
    """A context and everything that it reaches; queries about each callee would not terminate with recursion."""
    found, pending = {context.id: context}, [context]
    while pending:
        for call in pending.pop().calls:
            for callee in call.callees:
                if callee not in found:
                    inner = found[callee] = hazards.facts.contexts[callee]
                    pending.append(inner)
    return tuple(found.values())


_STATIC_SIZES: Final[Question[HazardMap, ContextId, bool]] = Question[HazardMap, ContextId, bool](
    lambda hazards, context: _anywhere(hazards, context, _STATIC_SIZES, _reads_size), meanwhile=False
)
_UNRESOLVED: Final[Question[HazardMap, ContextId, bool]] = Question[HazardMap, ContextId, bool](
    lambda hazards, context: _anywhere(hazards, context, _UNRESOLVED, _calls_unknown), meanwhile=False
)
_ABSTRACT: Final = Question[HazardMap, ContextId, frozenset[str]](_abstract, frozenset())


def _reads_size(view: ContextView) -> bool:
    for read in view.code.of_kind(AttributeRead):
        if read.name in ("shape", "get_shape", "ndims"):
            if view.any_of(read.op, lambda member: isinstance(member, ShapeValue | UnknownValue)):
                return True
    return any(
        view.any_of(argument.value, lambda member: isinstance(member, TensorValue))
        for call, _ in view.calls_with(Trait.READS_SIZE)
        for argument in call.arguments
    )


def _calls_unknown(view: ContextView) -> bool:
    if any(call.unknown is not None or NEXT in call.library for call in view.context.calls):
        return True
    if isinstance(view.context.returns, Bottom):
        return True
    return _is_abstract(view.context)


def _is_abstract(context: ContextFacts) -> bool:
    return any(isinstance(member, UnknownValue) and member.reason == ABSTRACT for member in members(context.returns))
