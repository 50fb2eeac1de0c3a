"""Types of values: the parts of a value that may be recorded.

Computes: a description for JSON, as nested tuples, so that equal ones are shared; whether a Python value is small
enough to be recorded. Needs: a value. Gives: `describe`, `small`, `NOT_WRITTEN`.

Ignores: contents of arrays, and all strings, including keys: a string may be a password, so only its type is
recorded. Elements of containers beyond MAX_ITEMS are not inspected. Only `dtype` and `shape` of values are read, and
only if their class is an array's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

MAX_ITEMS: Final = 16
MAX_DEPTH: Final = 4
LARGEST_INTEGER: Final = 10**9
"""A larger one may be an identifier or a key."""
NOT_WRITTEN: Final = "not written"
"""Result of `small` for a value that is too large or too private."""

Described = tuple[Any, ...]

_kinds: dict[type, str] = {}


def small(value: object) -> Any:
    """The value if it may be recorded (a bool, None, a float, an int of at most nine digits), otherwise `NOT_WRITTEN`."""
    if value is None or isinstance(value, bool):
        return value
    if type(value) is int:
        return value if -LARGEST_INTEGER < value < LARGEST_INTEGER else NOT_WRITTEN
    if type(value) is float:
        return value if math.isfinite(value) else repr(value)
    return NOT_WRITTEN


def is_plain(value: object) -> bool:
    """Whether it is a Python value that is part of a trace key: a number, a string, None."""
    return value is None or isinstance(value, (bool, int, float, complex, str, bytes))


def describe(value: object, depth: int = 0) -> Described:
    """`(kind, dtype, shape)` of a tensor, variable or array, `(kind, type name)` of an object, `(kind, type name, elements)` of
    a container.

    Elements of a tuple are in order; for other containers, each type is listed once.
    """
    kind = _kinds.get(type(value))
    if kind is None:
        kind = _kinds[type(value)] = _kind(type(value))
    try:
        if kind in ("tensor", "symbolic", "variable", "ndarray"):
            return (kind, _dtype(value), _shape(value))
        if kind == "primitive":
            return (kind, type(value).__name__)
        if kind == "container":
            return _container(value, depth)
    except Exception:  # access to a program's value may have side effects
        return ("object", _name(type(value)))
    return (kind, _name(type(value)))


def _container(value: Any, depth: int) -> Described:
    name = next(base.__name__ for base in (dict, list, tuple, set, frozenset, Mapping) if isinstance(value, base))
    name = {"Mapping": "dict"}.get(name, name)
    if depth >= MAX_DEPTH:
        return ("container", name, None)
    if name == "dict":
        # a key is a string of the program's data, which must not be recorded
        return ("container", name, None, _each_once(list(value.values())[:MAX_ITEMS], depth))
    if name == "tuple" and len(value) <= MAX_ITEMS:
        return ("container", name, tuple(describe(member, depth + 1) for member in value))
    return ("container", name, None, _each_once(list(value)[:MAX_ITEMS], depth))


def _each_once(members: list[object], depth: int) -> Described:
    return tuple(sorted({describe(member, depth + 1) for member in members}, key=repr))


def _kind(cls: type) -> str:
    """The kind of the instances of a class, by the names of its bases: nothing is imported."""
    names = {base.__name__: base.__module__.partition(".")[0] for base in cls.__mro__}
    if names.get("KerasTensor") in ("keras", "tf_keras"):
        return "symbolic"
    if names.get("Variable") in ("tensorflow", "keras") or names.get("BaseResourceVariable") == "tensorflow":
        return "variable"
    if "tensorflow" in (names.get("Tensor"), names.get("RaggedTensor"), names.get("SparseTensor")):
        return "tensor" if "EagerTensor" in names or "Tensor" not in names else "symbolic"
    if names.get("ndarray") == "numpy" or names.get("generic") == "numpy":
        return "ndarray"
    if issubclass(cls, (bool, int, float, complex, str, bytes, type(None))):
        return "primitive"
    if issubclass(cls, (tuple, list, set, frozenset, Mapping)):
        return "container"
    if cls.__name__ in ("function", "method", "builtin_function_or_method", "partial"):
        return "function"
    return "object"


def _dtype(value: Any) -> str:
    name = str(getattr(value.dtype, "name", value.dtype))
    return "string" if name.startswith(("str", "bytes")) else name.removesuffix("_ref")


def _shape(value: Any) -> tuple[int | None, ...] | None:
    shape = value.shape
    if getattr(shape, "rank", 0) is None:
        return None
    given = shape.as_list() if hasattr(shape, "as_list") else shape
    return tuple(None if size is None else int(size) for size in given)


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
