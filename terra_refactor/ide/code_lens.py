"""Code lens: a line above each function that says what was decided about it.

Computes: lenses of a file. Needs: a snapshot. Gives: `code_lenses`, `Lens`.
Ignores: functions without tensor work that are no graph, and those that set objects up: there is nothing to say about them.
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.classify.decision import Action, Decision
from terra_refactor.ide.explanations import verdict
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ir.function import FunctionKind
from terra_refactor.syntax.location import Span

_SET_UP = frozenset({"__init__", "__new__", "__post_init__", "build", "__init_subclass__"})


@dataclass(frozen=True, slots=True)
class Lens:
    """One line above a function. `applies` is whether a click changes the code; else it explains."""

    span: Span
    title: str
    decision: Decision
    applies: bool


def code_lenses(snapshot: Snapshot, path: str) -> tuple[Lens, ...]:
    """The lenses of a file, in source order."""
    return tuple(
        Lens(
            Span(decision.line, 1, decision.line, 1),
            verdict(decision),
            decision,
            decision.action is not Action.NONE,
        )
        for decision in snapshot.decisions.get(path, ())
        if decision.kind is not FunctionKind.LAMBDA
        and (decision.action is not Action.NONE or decision.hybrid or decision.tensor_computation)
        and (decision.action is not Action.NONE or decision.qualname.rpartition(".")[2] not in _SET_UP)
    )
