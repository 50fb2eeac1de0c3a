"""What could be passed to a parameter: abstract values without the analyser's own object numbers.

Computes: samples of the values that reach a parameter, by names that code outside of the analysis can follow (modules, qualified names).
Needs: facts. Gives: `Samples`. Ignores: values of which too little is known to make one; they have no sample.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.facts import ObjectKind, ProgramFacts
from terra_refactor.classify.sample import (
    ConstantSample,
    FunctionSample,
    InstanceSample,
    LibrarySample,
    Place,
    Sample,
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
from terra_refactor.ir.ops import MakeClass
from terra_refactor.ir.program import Program
from terra_refactor.ir.walk import walk

MAX_SAMPLES: Final = 3
MAX_DEPTH: Final = 4


_USUAL: Final = {
    PythonType.INT: "2",
    PythonType.FLOAT: "0.5",
    PythonType.BOOL: "True",
    PythonType.STR: "'text'",
    PythonType.BYTES: "b'text'",
}


class Samples:
    """Makes samples for one program."""

    def __init__(self, program: Program, facts: ProgramFacts) -> None:
        self.program = program
        self.facts = facts
        self._classes: dict[str, Place] | None = None

    def of(self, values: tuple[Value, ...]) -> tuple[Sample, ...]:
        """Samples of the alternatives of some values, at most a few, those that are tensors first."""
        found = [
            sample for value in values for member in members(value) if (sample := self._sample(member, 0)) is not None
        ]
        found.sort(key=lambda sample: not isinstance(sample, TensorSample))
        return tuple(dict.fromkeys(found))[:MAX_SAMPLES]

    def _sample(self, value: Value, depth: int) -> Sample | None:
        if depth > MAX_DEPTH:
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
                items = tuple(item for element in elements if (item := self._first(element, depth)) is not None)
                place = None if cls is None else self._class(cls)
                if len(items) < len(elements) or (name is not None and place is None):
                    return None
                return SequenceSample("tuple", items, place)
            case SequenceValue(element, "tuple" | "list" as kind):
                item = self._first(element, depth)
                return None if item is None else SequenceSample(kind, (item, item))
            case FrozenList(elements=tuple() as elements):
                items = tuple(item for element in elements if (item := self._first(element, depth)) is not None)
                return SequenceSample("list", items) if len(items) == len(elements) else None
            case RangeValue(Constant() as start, Constant() as stop, Constant() as step):
                return SequenceSample(
                    "range", tuple(ConstantSample(repr(bound.value)) for bound in (start, stop, step))
                )
            case Reference(number) if self.facts.objects[number].kind is ObjectKind.INSTANCE:
                place = self._class(number)
                return None if place is None else InstanceSample(place)
            case FunctionValue((module, index)):
                code = self.program.modules[module].functions[index]
                if "<" in code.qualname:
                    return None
                return FunctionSample(Place(self.program.modules[module].path, module, code.qualname))
            case LibraryValue(name):
                return LibrarySample(name)
            case _:
                return None

    def _first(self, value: Value, depth: int) -> Sample | None:
        return next(
            (sample for member in members(value) if (sample := self._sample(member, depth + 1)) is not None), None
        )

    def _class(self, number: ObjectId) -> Place | None:
        """Where the class of that name is defined, if it is at the top of a module."""
        if self._classes is None:
            self._classes = {}
            for module in self.program.modules.values():
                for op in walk(module.functions[0].body):
                    if isinstance(op, MakeClass):
                        self._classes.setdefault(op.name, Place(module.path, module.name, op.name))
        found = self.facts.objects.get(number)
        return None if found is None else self._classes.get(found.name)
