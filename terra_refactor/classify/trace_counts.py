"""Writes to Python state of which a trace is no worse than a call, or that a trace may never do.

Computes: whether a write sets up the new object that each trace is for, and whether it fills what is looked up before. Needs: the facts and
the code. Gives: `sets_up_new_object`, `may_be_filled_before`. Ignores: traced methods that only `__init__` calls.
"""

from __future__ import annotations

from collections.abc import Iterable

from terra_refactor.analysis.describe import written_form
from terra_refactor.analysis.facts import ContextFacts
from terra_refactor.domain.effect import Effect, EffectKind
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.index import CodeIndex
from terra_refactor.ir.walk import operands


def sets_up_new_object(code: Function, effect: Effect) -> bool:
    """Whether a traced `__init__` writes something, to its own object as a rule.

    `tf.function` keeps traces for each object apart, and `__init__` runs once for each: every call is a trace.
    """
    return code.kind is FunctionKind.METHOD and code.name == "__init__" and effect.kind is EffectKind.STATE_WRITE


def may_be_filled_before(index: CodeIndex, contexts: Iterable[ContextFacts], effect: Effect) -> bool:
    """Whether eager calls may have stored, before any trace, what is stored here: the code looks it up first, and runs eagerly, too."""
    return (
        effect.kind is EffectKind.STATE_WRITE
        and any(not context.in_graph for context in contexts)
        and _is_looked_up_before(index, effect.site.op)
    )


def _is_looked_up_before(index: CodeIndex, number: OpId) -> bool:
    """Whether a test before the operation asks for what it stores: `if cache.get(key) is not None: return ...`."""
    store = index.ops[number]
    match store:
        case ops.StoreItem(object=kept):
            name = _written(index, kept)
        case ops.StoreAttribute():
            name = _written(index, number)
        case _:
            return False
    return name != "..." and any(
        branch.test < number and any(_asks_for(index, asked, store, name) for asked in _behind(index, branch.test))
        for branch in index.of_kind(ops.If)
    )


def _asks_for(index: CodeIndex, number: OpId, store: ops.Op, name: str) -> bool:
    op = index.ops[number]
    if isinstance(store, ops.StoreAttribute):
        return isinstance(op, ops.LoadAttribute) and _written(index, number) == name
    match op:
        case ops.Call(function=function):
            method = index.ops[function]
            return (
                isinstance(method, ops.LoadAttribute)
                and method.name == "get"
                and _written(index, method.object) == name
            )
        case ops.Compare(operator="in" | "not in", right=right):
            return _written(index, right) == name
        case _:
            return False


def _behind(index: CodeIndex, test: OpId) -> set[OpId]:
    """The operations that a test is computed from, through local variables."""
    seen: set[OpId] = set()
    waiting = [test]
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        op = index.ops[number]
        if isinstance(op, ops.LoadName):
            waiting.extend(store.value for store in index.stores.get(op.name, ()) if store.value is not None)
        elif op is not None:
            waiting.extend(operands(op))
    return seen


def _written(index: CodeIndex, number: OpId) -> str:
    return written_form(lambda each: index.ops[each], number)
