"""Calls of NumPy functions, in NumPy and by our rules, and their comparison.

Gives: `check_function`. Half of the calls hide some sizes, or the rank, of the arrays from the rule: then its result
may be less precise, but not different.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import check_unknown
from hypothesis import strategies as st

from terra_refactor.domain.dtype import DType
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    Constant,
    DTypeValue,
    FrozenList,
    LibraryValue,
    PythonType,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model.registry import lookup
from terra_refactor.tf_model.spec import BoundCall, OperationError, ParameterPassing


@dataclass(frozen=True)
class Array:
    """An array argument: its true type, and the visible shape."""

    dtype: str
    shape: tuple[int, ...]
    visible: tuple[int | None, ...] | None

    def make(self) -> Any:
        """A real array of ones."""
        return np.ones(self.shape, self.dtype)


@st.composite
def arrays(
    draw: st.DrawFn,
    dtypes: Sequence[str] = ("float32", "float64", "int32", "int64", "bool", "uint8", "float16"),
    low: int = 0,
    high: int = 4,
    sizes: st.SearchStrategy[int] | None = None,
) -> Array:
    """Any small array."""
    shape = tuple(draw(st.lists(st.integers(1, 4) if sizes is None else sizes, min_size=low, max_size=high)))
    return Array(draw(st.sampled_from(list(dtypes))), shape, draw(hidden(shape)))


@st.composite
def hidden(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int | None, ...] | None:
    """The visible part of a shape."""
    how = draw(st.integers(0, 5))
    if how == 0:
        return None
    if how == 1:
        return tuple(None if draw(st.booleans()) else size for size in shape)
    return shape


def abstract(argument: Any) -> Value:
    """The abstract value of an argument."""
    match argument:
        case Array(dtype, _, visible):
            return TensorValue(TensorType(DType(dtype), visible), TensorKind.NDARRAY)
        case tuple():
            return TupleValue(tuple(abstract(item) for item in argument))
        case list():
            return FrozenList(tuple(abstract(item) for item in argument))
        case type():
            module = "numpy" if issubclass(argument, np.generic) else "builtins"
            return LibraryValue(f"{module}.{argument.__name__}")
        case np.dtype():
            return DTypeValue(DType(argument.name))
        case _:
            return Constant(argument)


def real(argument: Any) -> Any:
    """The real value of an argument."""
    match argument:
        case Array():
            return argument.make()
        case tuple():
            return tuple(real(item) for item in argument)
        case list():
            return [real(item) for item in argument]
        case _:
            return argument


def bind(name: str, positional: Sequence[Any], keywords: Mapping[str, Any], receiver: Any = None) -> BoundCall:
    """The call as the interpreter binds it, by the catalogue's signature."""
    entity = lookup(name)
    arguments: dict[str, Value] = {}
    extra: list[Value] = []
    unused = [abstract(argument) for argument in positional]
    named = {key: abstract(value) for key, value in keywords.items()}
    parameters = () if entity is None or entity.parameters is None else entity.parameters
    if not parameters:
        extra = unused
    for parameter in parameters:
        match parameter.passing:
            case ParameterPassing.VAR_POSITIONAL:
                extra.extend(unused)
                unused = []
            case ParameterPassing.VAR_KEYWORD:
                pass
            case _:
                if parameter.name in named:
                    arguments[parameter.name] = named.pop(parameter.name)
                elif unused and parameter.passing is not ParameterPassing.KEYWORD_ONLY:
                    arguments[parameter.name] = unused.pop(0)
                elif parameter.default is not None:
                    arguments[parameter.name] = parameter.default
    return BoundCall(
        name,
        arguments,
        extra_arguments=tuple(extra),
        extra_keywords=named,
        receiver=None if receiver is None else abstract(receiver),
    )


def contradiction(ours: Value, found: Any) -> str | None:
    """A sentence if our answer contradicts NumPy's; None if it does not."""
    match ours:
        case UnknownValue():
            return None
        case UnionValue(alternatives):
            problems = [contradiction(alternative, found) for alternative in alternatives]
            return None if None in problems else problems[0]
        case TensorValue():
            return _array_contradiction(ours, found)
        case TupleValue(items) | FrozenList(items):
            if items is None:
                assert isinstance(ours, FrozenList)
                return None if isinstance(found, list) else f"NumPy gives {type(found)}, the rule a list"
            if not isinstance(found, list | tuple) or len(found) != len(items):
                return f"NumPy gives {found!r:.200}, the rule {len(items)} elements"
            problems = [contradiction(item, part) for item, part in zip(items, found, strict=True)]
            return next((problem for problem in problems if problem), None)
        case Scalar(kind):
            expected = {PythonType.INT: int, PythonType.FLOAT: float, PythonType.BOOL: bool, PythonType.STR: str}
            wanted = expected.get(kind)
            if wanted is bool:
                return None if isinstance(found, bool | np.bool_) else f"NumPy gives {type(found)}, the rule a bool"
            if wanted is not None and (not isinstance(found, wanted) or isinstance(found, np.generic)):
                return f"NumPy gives {type(found)}, the rule {kind}"
            return None
        case Constant(value):
            return None if found is value or found == value else f"NumPy gives {found!r}, the rule {value!r}"
        case DTypeValue(dtype):
            return None if dtype is None or np.dtype(found).name == dtype else f"NumPy gives {found}, the rule {dtype}"
        case _:
            return f"the rule gives {ours}, which is not compared"


def _array_contradiction(ours: TensorValue, found: Any) -> str | None:
    if not isinstance(found, np.ndarray | np.generic):
        return f"NumPy gives {type(found)}, the rule {ours.type}"
    if ours.kind is TensorKind.NUMPY_SCALAR and not isinstance(found, np.generic):
        return f"NumPy gives an array, the rule a scalar {ours.type}"
    if ours.kind is TensorKind.NDARRAY and ours.type.shape is not None and not isinstance(found, np.ndarray):
        return f"NumPy gives a scalar, the rule an array {ours.type}"
    if ours.type.dtype is not None and ours.type.dtype != found.dtype.name:
        return f"dtype {found.dtype}, the rule says {ours.type}"
    if ours.type.shape is not None:
        if len(ours.type.shape) != found.ndim:
            return f"shape {found.shape}, the rule says {ours.type}"
        for size, dim in zip(found.shape, ours.type.shape, strict=True):
            if isinstance(dim, int) and dim != size:
                return f"shape {found.shape}, the rule says {ours.type}"
    if ours.content is not None:
        return _content_contradiction(ours.content, found)
    return None


def _content_contradiction(content: Value, found: Any) -> str | None:
    if isinstance(content, TupleValue):
        problems = [_content_contradiction(item, part) for item, part in zip(content.elements, found, strict=True)]
        return next((problem for problem in problems if problem), None)
    if isinstance(content, Constant) and content.value != found.item():
        return f"content {found}, the rule says {content}"
    return None


def is_precise(ours: Value, found: Any) -> bool:
    """Whether dtype and all sizes are known to the rule."""
    if isinstance(ours, TensorValue):
        return ours.type.dtype is not None and ours.type.shape is not None and None not in ours.type.shape
    if isinstance(ours, TupleValue | FrozenList):
        return ours.elements is not None and all(is_precise(item, None) for item in ours.elements)
    if isinstance(ours, UnionValue):
        return all(is_precise(alternative, found) for alternative in ours.members)
    return not isinstance(ours, UnknownValue)


def check_function(
    name: str,
    positional: Sequence[Any],
    keywords: Mapping[str, Any],
    *,
    receiver: Array | None = None,
    function: Callable[..., Any] | None = None,
) -> bool | None:
    """Compares one call. Returns whether the rule was precise, None if NumPy raises.

    Raises AssertionError if the rule contradicts NumPy.
    """
    call = bind(name, positional, keywords, receiver)
    shown = f"{name}(receiver={receiver}, {positional}, {keywords})"
    target = function
    if target is None:
        target = np
        for part in name.split(".")[1:]:
            target = getattr(target, part)
    values = [real(argument) for argument in positional]
    if receiver is not None:
        values.insert(0, receiver.make())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = target(*values, **{key: real(value) for key, value in keywords.items()})
    except (ValueError, TypeError, IndexError, np.linalg.LinAlgError) as error:
        found = error
    entity = lookup(name)
    assert entity is not None and entity.rule is not None, f"no rule for {name}"
    try:
        ours = entity.rule(call)
    except OperationError as error:
        assert isinstance(found, Exception), f"{shown}: NumPy gives {found!r:.200}, the rule refuses: {error.message}"
        return None
    if isinstance(found, Exception):
        return None
    problem = contradiction(ours, found)
    assert problem is None, f"{shown}: {problem}"
    # if only None gives a Python number, the equivalent rank-0 array is accepted
    given = np.asarray(found)[()] if isinstance(found, int | float | bool) else found
    check_unknown(entity.rule, call, lambda ours: contradiction(ours, found) and contradiction(ours, given), shown)
    return is_precise(ours, found)
