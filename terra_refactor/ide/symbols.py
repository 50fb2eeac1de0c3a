"""Document symbols: the classes and functions of a file as a tree, each function with its decision, except
setup code, factories and tests, which need no graph.

Computes: the tree. Needs: a snapshot. Gives: `symbols`, `Symbol`. Ignores: lambdas and variables.
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.ide.code_lens import in_peace
from terra_refactor.ide.explanations import verdict
from terra_refactor.ide.snapshot import NAMED, Snapshot, name_span
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.syntax.deep_stack import deeply
from terra_refactor.syntax.location import Span


@dataclass(frozen=True, slots=True)
class Symbol:
    """A class or a function, with its nested definitions."""

    name: str
    kind: FunctionKind
    """`CLASS_BODY` for a class."""
    span: Span
    name_span: Span
    detail: str
    inner: tuple[Symbol, ...]


@deeply
def symbols(snapshot: Snapshot, path: str) -> tuple[Symbol, ...]:
    """The top level of a file, in source order."""
    functions = snapshot.functions(path)
    if not functions:
        return ()
    verdicts = {
        decision.function: verdict(decision) for decision in snapshot.decisions.get(path, ()) if not in_peace(decision)
    }
    by_parent: dict[FunctionId | None, list[Function]] = {}
    for function in functions:
        by_parent.setdefault(function.parent, []).append(function)

    def below(parent: Function) -> tuple[Symbol, ...]:
        found: list[Symbol] = []
        for function in by_parent.get(parent.id, ()):
            if function.kind is FunctionKind.CLASS_BODY or function.kind in NAMED:
                detail = verdicts.get(function.id, "")
                place = name_span(snapshot, path, function)
                found.append(Symbol(function.name, function.kind, function.span, place, detail, below(function)))
        return tuple(sorted(found, key=lambda symbol: symbol.span))

    return below(functions[0])
