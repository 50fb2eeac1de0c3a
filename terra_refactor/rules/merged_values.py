"""The values that a branch or loop of a graph merges: both sides must have one structure and one dtype.

Computes: why two values cannot be merged. Needs: the values of both sides. Gives: `disagreement`, `mismatch`, `graph_dtype`,
`graph_shape`, `is_open`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from terra_refactor.domain.dtype import BOOL, FLOAT32, FLOAT64, FLOATING, INT32, INT64, STRING, DType
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.value import (
    NONE,
    UNBOUND,
    BoundMethod,
    Constant,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    PartialValue,
    PythonType,
    Scalar,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    is_wide,
    members,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.tensor_choices import no_choice

_SCALAR_DTYPES: Final = {
    PythonType.BOOL: BOOL,
    PythonType.INT: INT32,
    PythonType.FLOAT: FLOAT32,
    PythonType.STR: STRING,
}
"""The dtypes of the tensors to which a branch converts Python values."""
_WIDE_DTYPES: Final = {PythonType.INT: INT64, PythonType.FLOAT: FLOAT64}
_COMPOSITE: Final = {
    TensorKind.SPARSE: "sparse tensor",
    TensorKind.RAGGED: "ragged tensor",
    TensorKind.INDEXED_SLICES: "slice of a tensor",
}
_NO_TENSORS: Final = (FunctionValue, LibraryValue, BoundMethod, PartialValue)


def disagreement(view: ContextView, firsts: list[Value], seconds: list[Value]) -> tuple[str, bool] | None:
    """The reason why the values of two arms cannot be merged, and whether that holds in every trace.

    Without `seconds`, both have the same values.
    """
    pairs = [(one, other) for one in firsts for other in seconds] or [(one, one) for one in firsts]
    problems = [_pair(view, one, other) for one, other in pairs]
    found = next(filter(None, problems), None)
    if (
        found is None
        and seconds
        and any(type(one) is type(other) and (is_open(one) or is_open(other)) for one, other in pairs)
    ):
        return "may be a list or dict with different elements on each side", False
    if found is None and any(_is_one_tensor(one, other) for one, other in pairs):
        return "is a tuple, list or dict on one side, and a tensor on the other,", False
    if found is None and any(_may_have_other_dtypes(one, other) for one, other in pairs):
        return "may have another dtype on one side", False
    return None if found is None else (found, all(problems))


def _is_one_tensor(first: Value, second: Value) -> bool:
    """Whether one value, or an element, is a structure and the other one an assumed tensor; otherwise `mismatch` would be certain."""
    if isinstance(first, TupleValue) and isinstance(second, TupleValue):
        return any(map(_is_one_tensor, first.elements, second.elements))
    return any(_is_structure(a) and isinstance(b, TensorValue) for a, b in ((first, second), (second, first)))


def _may_have_other_dtypes(one: Value, other: Value) -> bool:
    """Whether one is not of floats, and the other a tensor of unknown dtype, which most likely is."""
    dtypes = {graph_dtype(one), graph_dtype(other)}
    known = next(iter(dtypes - {None}), None)
    is_tensor = any(isinstance(each, TensorValue) and each.type.dtype is None for each in (one, other))
    return len(dtypes) == 2 and is_tensor and known is not None and known not in FLOATING


def is_open(value: Value) -> bool:
    """Whether it is a list or dict whose elements are not known individually."""
    return (isinstance(value, FrozenList) and value.elements is None) or (
        isinstance(value, FrozenDict) and value.rest is not None
    )


def _pair(view: ContextView, first: Value, second: Value) -> str | None:
    if UNBOUND in (first, second):
        return "is not defined on one side"
    if NONE in (first, second):
        return "is None on both sides" if first == second else "is None on one side only"
    reason = no_choice(view, first) or no_choice(view, second)
    if reason is not None:
        return f"is {reason} on a side"
    if first == second and not (isinstance(first, TupleValue | FrozenList | FrozenDict)):
        return None
    return mismatch(first, second) or _none_inside(first) or _none_inside(second)


def _none_inside(value: Value) -> str | None:
    """A message if a structure contains None, which no branch of a graph may return; otherwise None."""
    match value:
        case TupleValue(elements=elements) | FrozenList(elements=tuple() as elements):
            parts: Iterable[Value] = elements
        case FrozenDict(items=items):
            parts = (item for _, item in items)
        case _:
            return None
    return "holds None" if any(part == NONE or _none_inside(part) for part in parts) else None


def mismatch(first: Value, second: Value) -> str | None:
    """The certain incompatibility of a variable's values on the two sides of a branch."""
    firsts, seconds = members(first), members(second)
    if UNBOUND in firsts or UNBOUND in seconds:
        # if a side binds it only on some paths, Python values may determine which of these a trace takes
        unset = (UNBOUND,)
        one_sided = (firsts == unset and UNBOUND not in seconds) or (seconds == unset and UNBOUND not in firsts)
        return "is not defined on one side" if one_sided else None
    if (firsts == (NONE,)) is not (seconds == (NONE,)) and all(_is_definite(value) for value in (*firsts, *seconds)):
        return "is None on one side only"
    if len(firsts) == len(seconds) == 1:
        a, b = firsts[0], seconds[0]
        if a != b and isinstance(a, _NO_TENSORS) and isinstance(b, _NO_TENSORS):
            return "is a different function or class on each side"
        if any(_is_structure(one) and _is_leaf(other) for one, other in ((a, b), (b, a))):
            return "is a tuple, list or dict on one side only"
        if any(
            isinstance(one, ShapeValue) and isinstance(other, TupleValue | FrozenList)
            for one, other in ((a, b), (b, a))
        ):
            return "is the shape of a tensor on one side only"
        kinds = {_COMPOSITE.get(each.kind, "tensor") for each in (a, b) if isinstance(each, TensorValue)}
        if isinstance(a, TensorValue) and isinstance(b, TensorValue) and len(kinds) > 1:
            return f"is a {' on one side and a '.join(sorted(kinds))} on the other"
        if _is_structure(a) and _is_structure(b) and type(a) is not type(b):
            return "is a tuple, list or dict, and of a different kind on each side"
        if isinstance(a, TupleValue) and isinstance(b, TupleValue):
            if a.name != b.name:
                return "is a tuple of a different class on each side"
            if len(a.elements) != len(b.elements):
                return "is a tuple of a different length on each side"
            return _elements_mismatch(a.elements, b.elements)
        if isinstance(a, FrozenList) and isinstance(b, FrozenList):
            if a.elements is None or b.elements is None:
                return None
            if len(a.elements) != len(b.elements):
                return "is a list of a different length on each side"
            return _elements_mismatch(a.elements, b.elements)
        if isinstance(a, FrozenDict) and isinstance(b, FrozenDict):
            if a.rest is not None or b.rest is not None:
                return None
            ones, others = dict(a.items), dict(b.items)
            if ones.keys() != others.keys():
                return "is a dict with different keys on each side"
            return _elements_mismatch(ones.values(), (others[key] for key in ones))
        one, other = graph_dtype(a), graph_dtype(b)
        if one is not None and other is not None and one != other:
            return f"is {one} on one side and {other} on the other"
    return None


def _elements_mismatch(firsts: Iterable[Value], seconds: Iterable[Value]) -> str | None:
    problem = next(filter(None, map(mismatch, firsts, seconds)), None)
    return None if problem is None else f"holds something that {problem}"


def graph_dtype(value: Value) -> DType | None:
    """The dtype of a value as a variable of a graph's branch or loop; None if unknown."""
    match value:
        case TensorValue(kind=TensorKind.TENSOR | TensorKind.VARIABLE | TensorKind.NDARRAY | TensorKind.NUMPY_SCALAR):
            return value.type.dtype
        case Constant(bool()):
            return BOOL
        case Constant(int()):
            return INT64 if is_wide(value) else INT32
        case Constant(float()):
            return FLOAT32
        case Constant(str()):
            return STRING
        case Scalar():
            return _WIDE_DTYPES.get(value.type) if value.wide else _SCALAR_DTYPES.get(value.type)
        case _:
            return None


def graph_shape(value: Value) -> Shape:
    """The shape of a value as a variable of a graph's branch or loop, which makes numbers and arrays tensors; None if unknown."""
    match value:
        case TensorValue(kind=TensorKind.TENSOR | TensorKind.NDARRAY | TensorKind.NUMPY_SCALAR):
            return value.type.shape
        case Scalar() | Constant(bool() | int() | float() | str()):
            return ()
        case _:
            return None


def _is_structure(value: Value) -> bool:
    return isinstance(value, TupleValue | FrozenList | FrozenDict)


def _is_leaf(value: Value) -> bool:
    # a tensor without a dtype may be only assumed from its use
    return (isinstance(value, TensorValue) and value.type.dtype is not None) or (
        isinstance(value, Constant) and isinstance(value.value, bool | int | float | str)
    )


def _is_definite(value: Value) -> bool:
    return isinstance(value, TensorValue | TupleValue | Scalar | Constant)
