"""Possible arguments for a parameter: abstract values without the analyser's own object numbers.

Computes: samples of the values that reach a parameter, by names that code outside of the analysis can follow
(modules, qualified names). Needs: facts. Gives: `samples_of`. Ignores: values about which too little is known; they
have no sample.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.classify.answers import Question
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.classify.sample import (
    ConstantSample,
    FunctionSample,
    InstanceSample,
    LibrarySample,
    Sample,
    SampledPlace,
    SequenceSample,
    SizeSample,
    TensorSample,
)
from terra_refactor.domain.value import (
    Constant,
    FrozenList,
    FunctionValue,
    LibraryValue,
    ObjectId,
    PythonType,
    RangeValue,
    Reference,
    Scalar,
    SequenceValue,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.facts.records import ClassMade
from terra_refactor.ir.ids import FunctionId

MAX_SAMPLES: Final = 3
_MAX_DEPTH: Final = 4


_USUAL: Final = {
    PythonType.INT: "2",
    PythonType.FLOAT: "0.5",
    PythonType.BOOL: "True",
    PythonType.STR: "'text'",
    PythonType.BYTES: "b'text'",
}


def samples_of(hazards: HazardMap, values: tuple[Value, ...]) -> tuple[Sample, ...]:
    """Samples of the alternatives of some values, up to a maximum, tensors first."""
    found = [
        sample for value in values for member in members(value) if (sample := _sample(hazards, member, 0)) is not None
    ]
    found.sort(key=lambda sample: not isinstance(sample, TensorSample))
    return tuple(dict.fromkeys(found))[:MAX_SAMPLES]


def _sample(hazards: HazardMap, value: Value, depth: int) -> Sample | None:
    if depth > _MAX_DEPTH:
        return None
    match value:
        case TensorValue(type, kind):
            return TensorSample(type, kind)
        case Constant(constant):
            return ConstantSample(repr(constant))
        case Scalar(dim=dim) if dim is not None:
            return SizeSample(dim)
        case Scalar(type=type) if type in _USUAL:
            return ConstantSample(_USUAL[type])
        case TupleValue(elements, name, _, cls):
            items = tuple(item for element in elements if (item := _first(hazards, element, depth)) is not None)
            place = None if cls is None else _class(hazards, cls)
            if len(items) < len(elements) or (name is not None and place is None):
                return None
            return SequenceSample("tuple", items, place)
        case SequenceValue(element, "tuple" | "list" as kind):
            item = _first(hazards, element, depth)
            return None if item is None else SequenceSample(kind, (item, item))
        case FrozenList(elements=tuple() as elements):
            items = tuple(item for element in elements if (item := _first(hazards, element, depth)) is not None)
            return SequenceSample("list", items) if len(items) == len(elements) else None
        case RangeValue(Constant() as start, Constant() as stop, Constant() as step):
            return SequenceSample("range", tuple(ConstantSample(repr(bound.value)) for bound in (start, stop, step)))
        case Reference(number) if hazards.facts.objects[number].kind is ObjectKind.INSTANCE:
            place = _class(hazards, number)
            return None if place is None else InstanceSample(place)
        case FunctionValue((module, index)):
            code = hazards.program.function(FunctionId(module, index))
            if "<" in code.qualname:
                return None
            return FunctionSample(SampledPlace(hazards.program.path_of(module), module, code.qualname))
        case LibraryValue(name):
            return LibrarySample(name)
        case _:
            return None


def _first(hazards: HazardMap, value: Value, depth: int) -> Sample | None:
    samples = (_sample(hazards, member, depth + 1) for member in members(value))
    return next((sample for sample in samples if sample is not None), None)


def _class(hazards: HazardMap, number: ObjectId) -> SampledPlace | None:
    """Where the class of that name is defined, if it is at module level."""
    found = hazards.facts.objects.get(number)
    return None if found is None else hazards.ask(_CLASS, found.name)


def _class_named(hazards: HazardMap, name: str) -> SampledPlace | None:
    for module in hazards.program.modules:
        if name in hazards.ask(_CLASSES, module):
            return SampledPlace(hazards.program.path_of(module), module, name)
    return None


def _classes_of(hazards: HazardMap, module: str) -> frozenset[str]:
    """The classes that a module's own body makes."""
    return frozenset(op.name for op in hazards.codes.of(FunctionId(module, 0)).of_kind(ClassMade))


_CLASS: Final = Question[HazardMap, str, SampledPlace | None](_class_named, None)
_CLASSES: Final = Question[HazardMap, str, frozenset[str]](_classes_of, frozenset())
