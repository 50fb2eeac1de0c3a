"""The state that a function can reach: variables, and the Python objects around them.

Computes: a flat list of (path, value) for everything reachable from some roots: variables of models and optimizers,
attributes and container elements that are numbers, strings, arrays or tensors. Needs: the roots. Gives: `state_of`,
`roots_of_function`. Ignores: private attributes of TensorFlow and Keras objects, everything deeper than `MAX_DEPTH`,
and more than `MAX_LEAVES` values.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any, Final

MAX_DEPTH: Final = 6
MAX_LEAVES: Final = 2000
_LIBRARIES: Final = ("tensorflow", "keras", "tf_keras", "numpy", "tensorflow_probability")


def state_of(roots: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """All comparable state of the roots in a fixed order, each object once."""
    found: list[tuple[str, Any]] = []
    seen: set[int] = set()
    for name, root in roots:
        for entry in _walk(name, root, 0, seen):
            found.append(entry)
            if len(found) >= MAX_LEAVES:
                return found
    return found


def roots_of_function(function: Any) -> list[tuple[str, Any]]:
    """The globals that a function's code names, and its captured variables."""
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    space = function.__globals__
    names = sorted({name for name in _names(code) if name in space})
    roots = [(name, space[name]) for name in names]
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            roots.append((name, cell.cell_contents))
        except ValueError:  # not set yet
            continue
    return roots


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _walk(path: str, value: Any, depth: int, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        yield path, value
        return
    if id(value) in seen or depth > MAX_DEPTH:
        return
    if isinstance(value, types.ModuleType | type | types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        return
    seen.add(id(value))
    tf = sys.modules.get("tensorflow")
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic):
        yield path, value
        return
    if tf is not None and hasattr(tf, "Tensor") and isinstance(value, tf.Tensor | tf.Variable | tf.RaggedTensor):
        yield path, value
        return
    keras = sys.modules.get("keras")
    if keras is not None and isinstance(value, getattr(keras, "Variable", ())):
        yield path, value
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(f"{path}[{key!r}]", item, depth + 1, seen)
        return
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _walk(f"{path}[{index}]", item, depth + 1, seen)
        return
    if isinstance(value, set | frozenset):
        yield f"{path} (set)", sorted(map(repr, value))
        return
    if isinstance(value, types.GeneratorType):
        return
    yield from _walk_object(path, value, depth, seen)


def _walk_object(path: str, value: Any, depth: int, seen: set[int]) -> Iterator[tuple[str, Any]]:
    variables: Any = ()
    if type(value).__module__.partition(".")[0] in _LIBRARIES or _has_variables(value):
        try:
            variables = list(getattr(value, "variables", ()) or ())
        except Exception:  # a property of user code may raise anything
            variables = ()
    for index, variable in enumerate(variables):
        if id(variable) not in seen:
            yield from _walk(f"{path}.variables[{index}]", variable, depth + 1, seen)
    if type(value).__module__.partition(".")[0] in _LIBRARIES:
        return
    for name, item in sorted(getattr(value, "__dict__", {}).items(), key=lambda entry: str(entry[0])):
        if _is_kept_by_library(value, str(name)):
            continue
        yield from _walk(f"{path}.{name}", item, depth + 1, seen)


def _has_variables(value: Any) -> bool:
    return any(cls.__module__.partition(".")[0] in _LIBRARIES for cls in type(value).__mro__)


def _is_kept_by_library(value: Any, name: str) -> bool:
    """Whether it is an attribute that Keras or TensorFlow stores on a user's subclass for itself."""
    if not _has_variables(value):
        return name.startswith("__")
    return name.startswith("_") or name in (
        "built",
        "seed_generators",
        "name",
        "autocast",
        "supports_jit",
        "train_function",
        "test_function",
    )
