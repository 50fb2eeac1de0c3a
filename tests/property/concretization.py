"""The concrete values that an abstract value admits: the meaning of the lattice, against which it is tested."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

from analysis_support import Result

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import (
    UNBOUND,
    BoundMethod,
    Constant,
    FunctionValue,
    LibraryValue,
    PartialValue,
    RangeValue,
    Reference,
    Scalar,
    SequenceValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)


def covers(abstract: Value, concrete: Any, result: Result | None = None) -> bool:
    """Whether the abstract value covers the concrete one. Without `result`, objects and functions of programs cover nothing."""
    return any(_covers(member, concrete, result) for member in members(abstract) if member != UNBOUND)


def _covers(abstract: Value, concrete: Any, result: Result | None = None) -> bool:
    match abstract:
        case UnknownValue():
            return True
        case Constant(value):
            return type(value) is type(concrete) and repr(value) == repr(concrete)
        case Scalar(kind, dim):
            return type(concrete).__name__ == kind.value and (not isinstance(dim, int) or dim == concrete)
        case TupleValue(elements):
            return (
                isinstance(concrete, tuple)
                and len(elements) == len(concrete)
                and all(covers(*pair, result) for pair in zip(elements, concrete, strict=True))
            )
        case SequenceValue(element, kind):
            if kind == "tuple":
                return isinstance(concrete, tuple) and all(covers(element, inner, result) for inner in concrete)
            return isinstance(concrete, Iterator) or kind == type(concrete).__name__
        case RangeValue(start, stop, step):
            return isinstance(concrete, range) and all(
                covers(*pair, result)
                for pair in ((start, concrete.start), (stop, concrete.stop), (step, concrete.step))
            )
        case Reference(number):
            if result is None:
                return False
            facts = result.facts.objects[number]
            match facts.kind:
                case ObjectKind.INSTANCE:
                    return type(concrete).__name__ == facts.name
                case ObjectKind.CLASS:
                    return isinstance(concrete, type) and concrete.__name__ == facts.name
                case kind:
                    return type(concrete).__name__ == kind.value
        case FunctionValue((module, index)):
            if result is None:
                return False
            code = result.program.modules[module].by_index[index]
            return isinstance(concrete, types.FunctionType) and concrete.__name__ in (code.name, "<lambda>")
        case BoundMethod():
            return isinstance(concrete, types.MethodType | types.BuiltinMethodType)
        case PartialValue():
            return isinstance(concrete, functools.partial)
        case LibraryValue(name):
            return name.rpartition(".")[2] == getattr(concrete, "__name__", None)
        case _:
            return False
