"""Types of the parameters and results of a function, in the report's form.

Computes: kind and tensor types of each parameter from the values that reach it. Needs: facts. Gives: `describe_parameters`, `tensor_types`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from terra_refactor.analysis.facts import FunctionFacts, ObjectKind, ParameterFacts, ProgramFacts
from terra_refactor.classify.decision import ParameterDecision, ParameterValueKind
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN_TENSOR,
    Bottom,
    BoundMethod,
    Constant,
    DatasetValue,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    PartialValue,
    RangeValue,
    Reference,
    Scalar,
    SequenceValue,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Unbound,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir.function import Function, FunctionKind


def describe_parameters(facts: ProgramFacts, code: Function, found: FunctionFacts) -> tuple[ParameterDecision, ...]:
    """The parameters of a function, `self` and `cls` included."""
    return tuple(
        _describe(facts, code, parameter, position == 0, found.open_callers)
        for position, parameter in enumerate(found.parameters)
    )


def _describe(
    facts: ProgramFacts, code: Function, parameter: ParameterFacts, first: bool, open_callers: bool
) -> ParameterDecision:
    if first and code.kind is FunctionKind.METHOD and parameter.name in ("self", "cls"):
        return ParameterDecision(parameter.name, ParameterValueKind.OBJECT, parameter.evidence, ())
    values = [member for value in parameter.values for member in members(value)]
    told = [value for value in values if value not in parameter.supposed]
    types = reported_types(told, open_callers=open_callers and parameter.evidence is Evidence.DATAFLOW)
    # evidence from the body about unknown calls does not count if known calls pass tensors or arrays
    described = [value for value in (told if types else values) if not isinstance(value, Unbound | Bottom)]
    types = types or reported_types(values)
    kinds = {kind_of(facts, value) for value in described}
    if UNKNOWN_TENSOR in described and not any(isinstance(v, TensorValue) and v != UNKNOWN_TENSOR for v in described):
        # an unknown tensor is a guess from the callers' uses of the argument: the actual arguments are more precise;
        # but None may occur besides a tensor, and an object may be one that libraries convert to a tensor
        informed = {kind_of(facts, value) for value in described if value not in (UNKNOWN_TENSOR, NONE)}
        kinds = informed - {ParameterValueKind.UNKNOWN, ParameterValueKind.OBJECT} or kinds
    kind = _strongest(kinds)
    if kind is ParameterValueKind.OBJECT and any(_may_hold_more(value) for value in told):
        kind = ParameterValueKind.UNKNOWN
    if kind is ParameterValueKind.NDARRAY and TensorType() in types:
        kind = ParameterValueKind.UNKNOWN  # unknown calls may pass tensors, too
    evidence = parameter.evidence
    if kind is ParameterValueKind.UNKNOWN and evidence in (Evidence.KEYWORD, Evidence.RECORDED):
        # an assumption, which is listed: the values themselves are unknown, and no rule is certain because of a name
        # or a run
        return ParameterDecision(parameter.name, ParameterValueKind.TENSOR, evidence, (TensorType(),))
    if kind is ParameterValueKind.UNKNOWN and not types and evidence is not Evidence.DATAFLOW:
        evidence = Evidence.NONE
    return ParameterDecision(parameter.name, kind, evidence, types)


def reported_types(values: Iterable[Value], *, open_callers: bool = False) -> tuple[TensorType, ...]:
    """The distinct types of all tensors that values are or contain; with an unknown type if something unknown may be a
    tensor, too.

    `open_callers`: unknown calls may pass others.
    """
    given = tuple(values)
    types = dict.fromkeys(type_ for value in given for type_ in tensor_types(value))
    if types and (open_callers or any(_may_hold_more(value) for value in given)):
        types[TensorType()] = None
    return tuple(types)


def _may_hold_more(value: Value) -> bool:
    """Whether an unknown part of it may be a tensor."""
    for member in members(value):
        match member:
            case UnknownValue(may_be_tensor=True):
                return True
            case TupleValue(elements):
                found = any(_may_hold_more(element) for element in elements)
            case SequenceValue(element):
                found = _may_hold_more(element)
            case FrozenList(elements, rest):
                found = any(
                    _may_hold_more(element) for element in (*(elements or ()), *(() if rest is None else (rest,)))
                )
            case FrozenDict(items, rest):
                found = any(_may_hold_more(item) for _, item in items) or (rest is not None and _may_hold_more(rest))
            case _:
                found = False
        if found:
            return True
    return False


_ORDER = (
    ParameterValueKind.TENSOR,
    ParameterValueKind.VARIABLE,
    ParameterValueKind.NDARRAY,
    ParameterValueKind.CONTAINER,
    ParameterValueKind.OBJECT,
    ParameterValueKind.FUNCTION,
    ParameterValueKind.UNKNOWN,
    ParameterValueKind.PRIMITIVE,
)


def _strongest(kinds: set[ParameterValueKind]) -> ParameterValueKind:
    """The kind most relevant for a trace: a tensor that may also be None is a tensor."""
    return next((kind for kind in _ORDER if kind in kinds), ParameterValueKind.UNKNOWN)


def kind_of(facts: ProgramFacts, value: Value) -> ParameterValueKind:
    """The kind of one alternative of a value."""
    match value:
        case TensorValue(kind=TensorKind.VARIABLE):
            return ParameterValueKind.VARIABLE
        case TensorValue(kind=TensorKind.NDARRAY | TensorKind.NUMPY_SCALAR):
            return ParameterValueKind.NDARRAY
        case TensorValue():
            return ParameterValueKind.TENSOR
        case Constant() | Scalar():
            return ParameterValueKind.PRIMITIVE
        case TupleValue() | SequenceValue() | FrozenList() | FrozenDict() | RangeValue():
            return ParameterValueKind.CONTAINER
        case Reference(number):
            if facts.objects[number].kind in (ObjectKind.LIST, ObjectKind.DICT, ObjectKind.SET):
                return ParameterValueKind.CONTAINER
            return ParameterValueKind.OBJECT
        case FunctionValue() | BoundMethod() | PartialValue() | LibraryValue():
            return ParameterValueKind.FUNCTION
        case DatasetValue() | ShapeValue():
            return ParameterValueKind.OBJECT
        case UnknownValue():
            return ParameterValueKind.UNKNOWN
        case _:
            return ParameterValueKind.OBJECT


def tensor_types(value: Value) -> Iterator[TensorType]:
    """The types of the tensors that a value is or contains (not through objects)."""
    for member in members(value):
        match member:
            case TensorValue(type):
                yield type
            case TupleValue(elements):
                for element in elements:
                    yield from tensor_types(element)
            case SequenceValue(element):
                yield from tensor_types(element)
            case FrozenList(elements, rest):
                for element in elements or ():
                    yield from tensor_types(element)
                if rest is not None:
                    yield from tensor_types(rest)
            case FrozenDict(items, rest):
                for _, item in items:
                    yield from tensor_types(item)
                if rest is not None:
                    yield from tensor_types(rest)
            case _:
                continue
