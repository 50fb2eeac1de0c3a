"""Python numbers that are constant while a loop calls a function: one trace for each run of the loop, not for each call.

Computes: whether all calls of a function pass, for a parameter, a number that no loop around the call sets. Needs:
the code and values of its callers. Gives: `is_steady`. Ignores: how often the loop itself runs with another number,
for which there is an assumption.

    def train(images, weight):          # `weight` is a command-line option
        for image in images:
            train_step(image, weight)
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.facts import EntryKind, ProgramFacts
from terra_refactor.domain.value import Constant
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import NameRead
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import FunctionId

_MAX_DEPTH: Final = 4


def is_steady(codes: Codes, facts: ProgramFacts, identity: FunctionId, name: str, depth: int = 0) -> bool:
    """Whether the loops around each call of the function pass the same number for a parameter in all iterations."""
    found, code = facts.functions[identity], codes.program.function(identity)
    contexts = facts.contexts_of(identity)
    if depth > _MAX_DEPTH or not contexts or found.open_callers or found.recursive:
        return False
    if any(each.entry is not EntryKind.CALLED for each in contexts):
        return False
    looped = False
    for view, call in ContextView(codes, facts, contexts[0]).calls_of_function():
        number = None if call is None else view.given_for(call, code, name)
        if call is None or (number is None and not call.is_plain):
            return False
        if number is None or isinstance(view.value(number), Constant):
            continue
        read = view.made(number)
        if not isinstance(read, NameRead) or not read.is_local:
            return False
        loops = tuple(view.code.loops_around(call.op))
        if any(view.changes_in(loop, number) for loop in loops):
            return False
        # without a loop here, the loop is around the call of the caller, which passes the number on
        given = view.code.has_parameter(read.name) and not view.code.writes.get(read.name)
        if not loops and not (given and is_steady(codes, facts, view.function.id, read.name, depth + 1)):
            return False
        looped = True
    return looped
