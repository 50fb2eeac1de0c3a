"""The functions of a program that some tape may record while they run, by their names.

Computes: the names that occur in a tape's block, in a function of such a name, and so on. Needs: the texts of the
program. Gives: `TapedNames`. Ignores: which object has the method, and functions that are called by a name in a
string (`getattr`).

If no tape records a call, an argument may be converted to an array: no gradient needs to flow through it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property

from terra_refactor.refactor.regions.candidates import is_tape


class TapedNames:
    """The names that tapes may record; the texts are searched on first use."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)

    def may_be_recorded(self, name: str) -> bool:
        """Whether a tape may record the operations of functions of that name.

        Special methods, and functions called by a library, may run anywhere.
        """
        return name.startswith("__") or name in ("call", "build", "forward") or name in self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        bodies: dict[str, set[str]] = {}
        found: set[str] = set()
        for text in self.texts:
            try:
                nodes = list(ast.walk(ast.parse(text)))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            for node in nodes:
                match node:
                    case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                        bodies.setdefault(name, set()).update(_mentioned(node.body))
                    case ast.With(items=items, body=body) if any(is_tape(item.context_expr) for item in items):
                        found |= _mentioned(body)
                    case _:
                        pass
        new = set(found)
        while new:
            new = set().union(*(bodies.get(name, ()) for name in new)) - found
            found |= new
        return frozenset(found)


def _mentioned(body: Iterable[ast.stmt]) -> set[str]:
    """The names and attributes that some statements read."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    found.add(name)
                case _:
                    pass
    return found
