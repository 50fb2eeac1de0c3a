"""Recording wrappers around functions, inserted while their modules are compiled.

Computes: the code of a module whose chosen functions have an additional decorator. Needs: which functions of which
files. Gives: `install`, `compiled`.

The decorator is added to the syntax tree, below `staticmethod` and similar ones and above all others, so that every
call passes through it, including calls from the module's own body; lines are unchanged, and AutoGraph reads the
unchanged file.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib.machinery
import importlib.util
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any, Final

from terra_refactor.verify.child.recorder import Recorder, bind, python_function

NAME: Final = "__terra_refactor_record__"
_OUTERMOST: Final = frozenset({"staticmethod", "classmethod", "property", "cached_property", "setter", "overload"})

Targets = Mapping[str, Mapping[tuple[str, int], str]]
"""By real path of the file: the key of each function by its qualified name and the index, from 0, among definitions of
that name.
"""


def install(targets: Targets, recorder: Recorder) -> None:
    """Compiles every module imported from now on with recorders."""
    setattr(builtins, NAME, functools.partial(_decorator, recorder))
    original = importlib.machinery.SourceFileLoader.source_to_code

    def source_to_code(self: Any, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:
        chosen = targets.get(os.path.realpath(os.fspath(path))) if not isinstance(path, bytes) else None
        if not chosen:
            return original(self, data, path, _optimize=_optimize)
        text = data if isinstance(data, str) else importlib.util.decode_source(data)
        return compiled(text, os.fspath(path), chosen)

    importlib.machinery.SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign]


def compiled(text: str, path: str, chosen: Mapping[tuple[str, int], str]) -> CodeType:
    """The code of a module, with recorders."""
    tree = ast.parse(text, path)
    seen: dict[str, int] = {}
    for qualname, node, is_method in definitions(tree):
        ordinal = seen.get(qualname, 0)
        seen[qualname] = ordinal + 1
        key = chosen.get((qualname, ordinal))
        if key is None:
            continue
        place = 0
        while place < len(node.decorator_list) and _name_of(node.decorator_list[place]) in _OUTERMOST:
            place += 1
        bound = is_method and not any(
            _name_of(d) in ("staticmethod", "classmethod") for d in node.decorator_list[:place]
        )
        call = ast.Call(ast.Name(NAME, ast.Load()), [ast.Constant(key), ast.Constant(bound)], [])
        for part in ast.walk(call):
            if isinstance(part, ast.expr):
                ast.copy_location(part, node)
        node.decorator_list.insert(place, call)
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def definitions(tree: ast.AST) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Qualified name of every `def`, in source order, with whether it is directly in a class."""
    yield from _definitions(tree, "", False)


def _definitions(
    node: ast.AST, prefix: str, in_class: bool
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child, in_class
            yield from _definitions(child, f"{prefix}{child.name}.<locals>.", False)
        elif isinstance(child, ast.ClassDef):
            yield from _definitions(child, f"{prefix}{child.name}.", True)
        elif isinstance(child, ast.Lambda):
            continue
        else:
            yield from _definitions(child, prefix, in_class)


def _name_of(decorator: ast.expr) -> str:
    if isinstance(decorator, ast.Call):
        return _name_of(decorator.func)
    return decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")


def _decorator(recorder: Recorder, key: str, bound: bool) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        def recorded(*arguments: Any, **keywords: Any) -> Any:
            if recorder.passes():
                return function(*arguments, **keywords) if is_plain else _through(function, bound, arguments, keywords)
            return recorder.call(key, function, arguments, keywords, bound=bound and not is_plain)

        is_plain = inspect.isfunction(function)
        inner = python_function(function)
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            if hasattr(inner, name):
                setattr(recorded, name, getattr(inner, name))
        with contextlib.suppress(TypeError, ValueError):
            recorded.__signature__ = inspect.signature(inner)  # type: ignore[attr-defined]
        for name in ("get_concrete_function", "python_function", "experimental_get_tracing_count", "input_signature"):
            if hasattr(function, name):  # callers may use the attributes of the `tf.function`
                setattr(recorded, name, getattr(function, name))
        return recorded

    return decorate


def _through(function: Any, bound: bool, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    target, rest = bind(function, bound, arguments)
    return target(*rest, **keywords)
