"""Hazards about arguments, as those of a caller.

A hazard about an array holds where the array is an argument of the graph itself. Computes: for a hazard of a callee, the caller's own
parameter, or the variable, from which the callee has the array. Needs: the view of the caller. Gives: `passed_on`, `Passed`.
"""

from __future__ import annotations

from typing import TypeAlias

from terra_refactor.facts.argument_flow import ArraySource, sources_at_call
from terra_refactor.facts.records import Call
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import OpId

Passed: TypeAlias = tuple[str | None, ArraySource | None]
"""A parameter that must be an argument of the graph, and a variable that must have its arrays from one."""
ALWAYS: Passed = (None, None)


def passed_on(view: ContextView, number: OpId, code: Function, passed: Passed, *, is_assumed: bool) -> Passed | None:
    """The same for the caller at a call of the function `code`; None if the hazard does not concern the caller.

    An assumption also counts for a parameter of which the callee gets a part.
    """
    parameter, waits = passed
    if parameter is None and waits is None:
        return ALWAYS
    if parameter is not None:
        made = view.made(number)
        given = view.given_for(made, code, parameter) if isinstance(made, Call) else None
        behind = view.parameter_around if is_assumed else view.parameter_behind
        own = None if given is None else behind(given)
        if own is not None:
            return own, None
        waits = ArraySource(parameter)
    assert waits is not None
    for source in sources_at_call(view, number, code, waits):
        return (None, source) if source.owner is not None or source.is_held else (source.name, None)
    return None
