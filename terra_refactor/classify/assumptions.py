"""Assumptions of decisions.

Computes: sentences for the user to check, or the reason why the answer is unknown. Needs: facts and hazards. Gives:
`Assumption`, `Assumptions`, `are_too_many`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from terra_refactor.analysis.facts import (
    ContextFacts,
    ContextId,
    FunctionFacts,
    ObjectFacts,
    ObjectKind,
    ParameterFacts,
    ProgramFacts,
)
from terra_refactor.classify.decision import ParameterDecision, ParameterValueKind
from terra_refactor.classify.fresh_arguments import AskFresh, Freshness, freshness
from terra_refactor.classify.reached_hazard import ReachedHazard
from terra_refactor.classify.recorded import assumption_of
from terra_refactor.classify.steady_arguments import is_steady
from terra_refactor.classify.weak_references import lacks_hash, lacks_weak_references
from terra_refactor.classify.weight_arguments import weight_problem
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.value import (
    DTypeValue,
    FrozenDict,
    FrozenList,
    PythonType,
    Reference,
    Scalar,
    SequenceValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.facts.class_bases import derives_from
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import Call
from terra_refactor.facts.view import TAPES, ContextView
from terra_refactor.ir.function import Function, FunctionKind, ParameterKind
from terra_refactor.rules.graph_failures.numpy_on_tensor import ARRAY_IS_CONVERTED
from terra_refactor.rules.graph_failures.tensor_as_bool import NO_TENSOR
from terra_refactor.rules.host_effects.unresolved_call import RULE as UNRESOLVED_CALL
from terra_refactor.rules.rule import Nature
from terra_refactor.tf_model.decorators import Decoration, decoration
from terra_refactor.tf_model.probability import DEFERRED_CLASSES
from terra_refactor.tf_model.spec import Trait

_UNDERSTOOD = frozenset(
    {
        Decoration.TRANSPARENT,
        Decoration.GIVES_GRADIENT,
        Decoration.HYBRIDISES,
        Decoration.STATIC_METHOD,
        Decoration.CLASS_METHOD,
        Decoration.PREVENTS_CONVERSION,
        Decoration.OVERLOAD,
        Decoration.ABSTRACT,
        Decoration.PROPERTY,
        Decoration.CACHED_PROPERTY,
        Decoration.CONTEXT_MANAGER,
        Decoration.FIXTURE,
    }
)


def _holds_instance(facts: ProgramFacts, parameter: ParameterFacts) -> bool:
    """Whether objects are passed whose identity is part of the trace key, and which may differ between calls.

    Datasets and shapes are compared by content.
    """
    objects = [
        facts.objects[member.object]
        for value in parameter.values
        for member in members(value)
        if isinstance(member, Reference) and facts.objects[member.object].kind is ObjectKind.INSTANCE
    ]
    # in a function, an argument created by the caller has another name than where it was created
    places = {(each.function, each.op) for each in objects if each.op is not None}
    classes = {each.name for each in objects}
    return bool(objects) and not (len(places) <= 1 and len(classes) == 1 and parameter.evidence is Evidence.DATAFLOW)


def _converted(codes: Codes, facts: ProgramFacts, found: FunctionFacts) -> dict[str, bool]:
    """The parameters that are converted to tensors of a dtype, so that calls may pass other values, too. For each,
    whether the function itself does that, and the dtype is certain: `dtype=dtype` may be None, and then the dtype is
    not converted.
    """
    open_ones = {
        each.name for each in found.parameters if each.evidence not in (Evidence.DATAFLOW, Evidence.ANNOTATION)
    }
    names: dict[str, bool] = {}
    for context in map(facts.contexts.__getitem__, found.contexts if open_ones else ()):
        for name, is_certain in _converted_in(codes, facts, context, set()).items():
            if name in open_ones:
                names[name] = is_certain or names.get(name, False)
    return names


def _converted_in(codes: Codes, facts: ProgramFacts, context: ContextFacts, seen: set[ContextId]) -> dict[str, bool]:
    """The same of one context, for any of its parameters; `seen` are the contexts on the way to it."""
    view = ContextView(codes, facts, context)
    names: dict[str, bool] = {}
    for call, name in view.calls_with(Trait.CONVERTS_ARRAYS):
        given = view.parameter_behind(call.arguments[0].value) if call.arguments else None
        wanted = None if given is None else view.library_argument(call, name, "dtype")
        if given is not None and wanted is not None:
            is_certain = any(isinstance(each, DTypeValue) for each in members(view.value(wanted)))
            names[given] = is_certain or names.get(given, False)
    seen.add(context.id)
    for record in context.calls if view.function.parameters and len(seen) <= _LONGEST_WAY else ():
        made = view.made(record.op)
        if not isinstance(made, Call):
            continue
        if not any(view.parameter_behind(argument.value) for argument in made.arguments):
            continue
        converting = (
            each for each in record.callees if facts.leads_to(each, Trait.CONVERTS_ARRAYS) and each not in seen
        )
        for inner in map(facts.contexts.__getitem__, converting):
            for name in _converted_in(codes, facts, inner, seen):
                passed = view.given_for(made, codes.program.function(inner.function), name)
                given = None if passed is None else view.parameter_behind(passed)
                if given is not None:
                    names.setdefault(given, False)
    seen.discard(context.id)
    return names


_LONGEST_WAY: Final = 3
"""Maximum number of calls between a parameter and its conversion."""
_NUMBERS: Final = (PythonType.INT, PythonType.FLOAT)


def _is_any_number(code: Function, parameter: ParameterFacts) -> bool:
    """Whether only an annotation shows that it is a number, so that its values are unknown.

    A parameter with a default is usually a setting.
    """
    written = next(each for each in code.parameters if each.name == parameter.name)
    return (
        parameter.evidence is Evidence.ANNOTATION
        and not written.has_default
        and any(
            isinstance(member, Scalar) and member.type in _NUMBERS and not member.symbolic
            for value in parameter.values
            for member in members(value)
        )
    )


def _is_computed_number(parameter: ParameterFacts) -> bool:
    """Whether calls pass a number or string whose value is unknown."""
    return parameter.evidence is Evidence.DATAFLOW and any(
        isinstance(member, Scalar) and member.type in (*_NUMBERS, PythonType.STR) and not member.symbolic
        for value in parameter.values
        for member in members(value)
    )


_OF_ANY_NUMBER: Final = (ParameterKind.VAR_POSITIONAL, ParameterKind.VAR_KEYWORD)


def _values_of(name: str) -> str:
    return f"the values of `{name}` are tensors, or Python values that do not vary"


def _has_unknown_items(parameter: ParameterFacts) -> bool:
    """Whether calls pass a container with items of which nothing is known: a number among them is part of the trace key."""
    return any(
        _is_unknown(item)
        for value in parameter.values
        if value not in parameter.supposed
        for member in members(value)
        for item in _items_of(member)
    )


def _items_of(value: Value) -> Iterator[Value]:
    match value:
        case FrozenList(elements, rest):
            given = (*(elements or ()), *(() if rest is None else (rest,)))
        case FrozenDict(items, rest):
            given = (*(item for _, item in items), *(() if rest is None else (rest,)))
        case TupleValue(elements):
            given = elements
        case SequenceValue(element):
            given = (element,)
        case _:
            given = ()
    for item in given:
        for member in members(item):
            yield from _items_of(member)
            yield member


def _is_unknown(value: Value) -> bool:
    return isinstance(value, UnknownValue) and value.may_be_tensor


def _is_tape(facts: ProgramFacts, parameter: ParameterFacts) -> bool:
    """Whether a `tf.GradientTape` (or forward accumulator) may be passed. Inside of its caller's graph that is fine."""
    return any(
        isinstance(member, Reference) and facts.objects[member.object].name.rpartition(".")[2] in TAPES
        for value in parameter.values
        for member in members(value)
    )


_IN_WORDS: Final = {"budget": "too many steps", "recursion depth": "calls are nested too deeply"}
_UPDATE_BY_OPTIMIZER: Final = frozenset({"apply", "apply_gradients", "minimize"})


def _is_rebuilt(codes: Codes, facts: ProgramFacts, parameter: ParameterFacts, *, made: bool) -> bool:
    """Whether objects are passed that a traced function flattens and rebuilds without what their class adds.

    TensorFlow Probability's deferred tensors are composite tensors; an instance of a subclass is rebuilt as one of
    the library's class. With `made`, only objects created by a known call count; others may occur only because an
    annotation allows them.
    """
    names = {
        instance.name
        for value in parameter.values
        for member in members(value)
        if isinstance(member, Reference)
        and (instance := facts.objects[member.object]).kind is ObjectKind.INSTANCE
        and (not made or _is_made_by_call(codes, instance))
    }
    return any(
        derives_from(codes, facts, outline.body, DEFERRED_CLASSES)
        for name in sorted(names)
        for outline in codes.classes_named(name)
    )


def _is_made_by_call(codes: Codes, instance: ObjectFacts) -> bool:
    return (
        instance.function is not None
        and instance.op is not None
        and isinstance(codes.of(instance.function).facts[instance.op], Call)
    )


@dataclass(frozen=True, slots=True)
class Assumption:
    """A sentence for the user to check, and the thing that it is about."""

    sentence: str
    thing: str
    """A variable, an attribute of `self`, all inputs, all optimizers, or the sentence itself."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Assumptions under which the function is safe."""

    found: tuple[Assumption, ...]
    unknowable: str | None
    """The reason why no assumption suffices; None if the assumptions are complete."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The assumptions in words."""
        return tuple(each.sentence for each in self.found)


MAX_ASSUMPTIONS: Final = 8
"""Maximum number of assumptions: a change with more than a user would check is not proposed."""
_INPUTS: Final = "<inputs>"
_OPTIMIZERS: Final = "<optimizers>"


def are_too_many(assumptions: Sequence[Assumption], *, is_step: bool) -> bool:
    """Whether a change has more assumptions than a user would check.

    A training step receives a batch, and networks with their optimizers: all assumptions about one network, its calls and
    its methods count once, and so do all inputs, and all optimizers.
    """
    return len({each.thing for each in assumptions} if is_step else assumptions) > MAX_ASSUMPTIONS


def thing_of(hazard: ReachedHazard) -> str | None:
    """The thing that the assumption of a hazard is about; None if it is about this place only."""
    called = hazard.subject.written
    if hazard.rule == UNRESOLVED_CALL.id and called.rpartition(".")[2] in _UPDATE_BY_OPTIMIZER:
        return _OPTIMIZERS
    if hazard.parameter is not None or not hazard.is_effect:
        return hazard.parameter
    first, *rest = (hazard.subject.state or called).split(".")
    return f"self.{_name_in(rest[0])}" if first == "self" and rest else _name_in(first) or None


def _name_in(text: str) -> str:
    """The name at the beginning of an expression: `layers` in `layers[0](...)`."""
    return next((text[:end] for end in range(len(text), 0, -1) if text[:end].isidentifier()), "")


def gather_assumptions(
    codes: Codes,
    facts: ProgramFacts,
    code: Function,
    found: FunctionFacts,
    parameters: tuple[ParameterDecision, ...],
    hazards: tuple[ReachedHazard, ...],
    ask: AskFresh,
) -> Assumptions:
    """The assumptions under which a function without certain hazards is safe."""
    if found.problem is not None:
        return Assumptions((), f"the analysis of it did not finish: {_IN_WORDS.get(found.problem, found.problem)}")
    failed = next((hazard.message for hazard in hazards if hazard.nature is Nature.INTERNAL_ERROR), None)
    if failed is not None:
        return Assumptions((), failed)
    if not found.contexts:
        return Assumptions((), "the analysis never reached it: the enclosing code appears not to run")
    if lacks_weak_references(codes, facts, code):
        return Assumptions(
            (),
            "objects of its class have `__slots__` without `__weakref__` (or are named tuples): a traced method of them raises",
        )
    if lacks_hash(codes, facts, code):
        return Assumptions(
            (),
            "its class derives from a container of Python that has no hash: a traced method of it raises `TypeError: unhashable type`",
        )
    for parameter_facts in found.parameters:
        if _is_tape(facts, parameter_facts):
            return Assumptions(
                (),
                f"`{parameter_facts.name}` is a gradient tape of its caller: an eager tape does not record tensors inside a graph",
            )
        if (problem := weight_problem(codes, facts, code, found, parameter_facts)) is not None:
            return Assumptions((), problem)
        if _is_rebuilt(codes, facts, parameter_facts, made=True):
            return Assumptions(
                (),
                f"`{parameter_facts.name}` is a deferred tensor (TensorFlow Probability) of a class of the program: as an argument "
                "of a graph it is rebuilt as TensorFlow Probability's own class",
            )
    things: dict[str, str] = {}
    kinds = {parameter.name: parameter.kind for parameter in code.parameters}
    for position, parameter in enumerate(parameters):
        if position == 0 and code.kind is FunctionKind.METHOD and parameter.name in ("self", "cls"):
            continue
        if parameter.evidence is Evidence.KEYWORD:
            things[f"`{parameter.name}` is a tensor, as its name suggests"] = parameter.name
        elif parameter.evidence is Evidence.RECORDED and code.id in codes.program.recorded:
            things[assumption_of(codes.program.recorded[code.id], parameter.name)] = parameter.name
        elif _is_rebuilt(codes, facts, found.parameters[position], made=False):
            things[
                f"`{parameter.name}` is a tensor, and not a deferred tensor (TensorFlow Probability) of a class of the program"
            ] = parameter.name
        elif parameter.kind is ParameterValueKind.OBJECT and _holds_instance(facts, found.parameters[position]):
            things[f"`{parameter.name}` is the same object in most calls: each new one is traced"] = parameter.name
        elif parameter.kind is ParameterValueKind.PRIMITIVE and (
            _is_any_number(code, found.parameters[position])
            or (_is_computed_number(found.parameters[position]) and is_steady(codes, facts, code.id, parameter.name))
        ):
            things[f"`{parameter.name}` takes few values: each new one is traced"] = parameter.name
        elif parameter.kind is ParameterValueKind.UNKNOWN or found.parameters[position].is_operand:
            if kinds[parameter.name] in _OF_ANY_NUMBER:
                things[_values_of(parameter.name)] = _INPUTS
            else:
                things[f"`{parameter.name}` is a tensor, or a Python value that does not vary"] = _INPUTS
        elif parameter.kind is ParameterValueKind.CONTAINER and _has_unknown_items(found.parameters[position]):
            things[_values_of(parameter.name)] = _INPUTS
    for name, is_certain in _converted(codes, facts, found).items():
        if is_certain:
            return Assumptions((), f"`{name}` is converted to another dtype; in a graph only Python values are")
        things[f"`{name}` {ARRAY_IS_CONVERTED}"] = name
    fresh = freshness(code, ask)
    if fresh.how is Freshness.REFUSED:
        return Assumptions((), f"`{fresh.parameter}` is a view of a dict, which a traced function does not accept")
    if fresh.how is Freshness.SOMETIMES:
        things[f"`{fresh.parameter}` is the same object in most calls: each new one is traced"] = fresh.parameter
    for name in found.wrappers:
        if decoration(name)[0] not in _UNDERSTOOD:
            things[f"the decorator `{name}` keeps the meaning of the function"] = name
    for hazard in hazards:
        if hazard.nature is Nature.UNKNOWABLE:
            return Assumptions((), hazard.message)
        if hazard.assumption is not None:
            things.setdefault(hazard.assumption, thing_of(hazard) or hazard.assumption)
    for parameter in parameters:
        if f"`{parameter.name}` {NO_TENSOR}" in things:
            things.pop(f"`{parameter.name}` is a tensor, or a Python value that does not vary", None)
    return Assumptions(tuple(Assumption(*each) for each in things.items()), None)
