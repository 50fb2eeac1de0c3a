"""Functions of a module that was lowered anew, numbered as they were in an earlier form of it.

Computes: which functions are the ones of before, by their kinds and qualified names. Needs: a lowered module that nobody has seen yet.
Gives: `numbered_like`. What is known of functions is known by their numbers: a function that is put in must not change those behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.program import ModuleIR


def numbered_like(module: ModuleIR, earlier: ModuleIR) -> ModuleIR:
    """The module with the numbers that its functions have in an earlier form; what is new there gets those that are left.

    Its identities are changed in place, so nothing else may know them.
    """
    count = len(module.functions)
    known = {name: function.id.index for name, function in _named(earlier) if function.id.index < count}
    taken: dict[int, Function] = {}
    new: list[Function] = []
    for name, function in _named(module):
        index = known.get(name)
        if index is None:
            new.append(function)
        else:
            taken[index] = function
    free = (index for index in range(count) if index not in taken)
    taken.update(zip(free, new, strict=True))
    functions = tuple(taken[index] for index in range(count))
    for index, function in enumerate(functions):
        # the identities are shared by all that names them
        object.__setattr__(function.id, "index", index)
    return replace(module, functions=functions)


def _named(module: ModuleIR) -> Iterator[tuple[tuple[FunctionKind, str, int], Function]]:
    """Each function with what tells it from the others: of several of one name, which of them it is."""
    seen: dict[tuple[FunctionKind, str], int] = {}
    for function in module.functions:
        name = function.kind, function.qualname
        seen[name] = seen.get(name, -1) + 1
        yield (*name, seen[name]), function
