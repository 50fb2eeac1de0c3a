"""Whether something is set between two calls of a function.

Computes: for contexts that set something, whether one of them may run between two calls of the view's function. Needs: facts. Gives:
`comes_between`, `is_repeated`, `is_set_between_calls`. Approximates: the order of operations in a function is that of its source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from terra_refactor.analysis.facts import ContextFacts, ContextId, EntryKind
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.records import AttributeWrite, Literal
from terra_refactor.facts.view import ContextView
from terra_refactor.facts.whole_program import with_all_callers
from terra_refactor.ir.ids import OpId


def is_set_between_calls(
    view: ContextView,
    setting: Sequence[ContextId],
    places: Callable[[ContextFacts], Iterable[tuple[str, OpId]]],
    *,
    to_new: bool = False,
) -> bool:
    """Whether a context that sets something may run between two calls of the view's function.

    `places`: the operations of a context that set it, each with what they set it on. With `to_new`, each call that sets it gives it
    another value; otherwise a call that sets it before the view's function runs may set the same value each time.
    """
    if not setting:
        return False
    changing, running = (with_all_callers(view.facts, each) for each in (setting, view.function_facts.contexts))
    # other code may call a function without callers at any time: one that sets it, or one that leads there, and one that leads here
    if _any_without_callers(view, setting) or (
        _any_without_callers(view, changing) and _any_without_callers(view, running)
    ):
        return True
    around = [view.facts.contexts[each] for each in sorted(running)]
    if to_new and any(is_repeated(view, each, changing, running) for each in around):
        return True
    return any(_is_set_in(view, each, changing, running, places) for each in around)


def is_repeated(view: ContextView, around: ContextFacts, changing: set[ContextId], running: set[ContextId]) -> bool:
    """Whether a function or module body makes several calls, or one in a loop, that set it and run the view's function."""
    outer = view.of(around.id)
    both = [
        call.op
        for call in around.calls
        if not running.isdisjoint(call.callees) and not changing.isdisjoint(call.callees)
    ]
    return len(both) > 1 or any(outer.innermost_loop(call) is not None for call in both)


def _any_without_callers(view: ContextView, contexts: Iterable[ContextId]) -> bool:
    found = (view.facts.contexts[each] for each in contexts)
    return any(each.entry is not EntryKind.MODULE and not view.facts.functions[each.function].callers for each in found)


def _is_set_in(
    view: ContextView,
    around: ContextFacts,
    changing: set[ContextId],
    running: set[ContextId],
    places: Callable[[ContextFacts], Iterable[tuple[str, OpId]]],
) -> bool:
    """Whether a function or module body sets it, itself or in a callee, between two calls that run the view's function."""
    code = view.codes.of(around.function)
    calls = {call.op for call in around.calls if not running.isdisjoint(call.callees)}
    sets: dict[str, list[OpId]] = {}
    for held, place in places(around):
        sets.setdefault(held, []).append(place)
    # a call that does both is examined separately
    others = [call.op for call in around.calls if call.op not in calls and not changing.isdisjoint(call.callees)]
    groups = [*sets.values(), others]
    return bool(calls) and any(
        len({_set_to(code, group, call) for call in calls} - {None}) > 1 or comes_between(code, group, calls)
        for group in groups
    )


def comes_between(code: CodeFacts, sets: Sequence[OpId], calls: set[OpId]) -> bool:
    """Whether something is set between two calls, unless it is set to the same value right before each of them."""
    if None not in (pinned := {_set_to(code, sets, call) for call in calls}) and len(pinned) == 1:
        return False
    return any(code.is_between(number, calls) for number in sets)


def _set_to(code: CodeFacts, sets: Sequence[OpId], call: OpId) -> str | None:
    """The constant to which something is always set before a call; None if unknown."""
    last = max((number for number in sets if number < call), default=None)
    write = None if last is None else code.facts[last]
    if (
        last is None
        or not isinstance(write, AttributeWrite)
        or not isinstance(value := code.facts[write.value], Literal)
    ):
        return None
    together = next(iter(code.around(last)), None) == next(iter(code.around(call)), None)
    return repr(value.value) if together else None
