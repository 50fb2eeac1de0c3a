"""Writes to Python state that are harmless in a trace, or may never occur in one.

Computes: whether a write initialises the new object for which the trace is made, and whether it fills a cache that is
looked up first. Needs: the facts and the code. Gives: `sets_up_new_object`, `may_be_filled_before`. Ignores: traced
methods that only `__init__` calls.
"""

from __future__ import annotations

from collections.abc import Iterable

from terra_refactor.analysis.facts import ContextFacts
from terra_refactor.domain.effect import Effect, EffectKind
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.records import (
    AttributeRead,
    AttributeWrite,
    Call,
    Fact,
    ItemWrite,
    Operation,
    Region,
    RegionKind,
)
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import OpId


def sets_up_new_object(code: Function, effect: Effect) -> bool:
    """Whether the write is in a traced `__init__`, usually to its own object.

    `tf.function` keeps separate traces for each object, and `__init__` runs once for each, so every call is a trace.
    """
    return code.kind is FunctionKind.METHOD and code.name == "__init__" and effect.kind is EffectKind.STATE_WRITE


def may_be_filled_before(code: CodeFacts, contexts: Iterable[ContextFacts], effect: Effect) -> bool:
    """Whether eager calls may have stored the value before any trace: the code looks it up first, and also runs eagerly."""
    return (
        effect.kind is EffectKind.STATE_WRITE
        and any(not context.in_graph for context in contexts)
        and _is_looked_up_before(code, effect.site.op)
    )


def _is_looked_up_before(code: CodeFacts, number: OpId) -> bool:
    """Whether a test before the operation looks up the value that it stores: `if cache.get(key) is not None: return ...`."""
    write = code.facts[number]
    if not isinstance(write, ItemWrite | AttributeWrite):
        return False
    name = code.written(write.owner if isinstance(write, ItemWrite) else number)
    return name != "..." and any(
        region.kind is RegionKind.IF
        and region.subject is not None
        and region.subject < number
        and any(_asks_for(code, asked, write, name) for asked in code.behind(region.subject))
        for region in code.of_kind(Region)
    )


def _asks_for(code: CodeFacts, asked: Fact, write: Fact, name: str) -> bool:
    if isinstance(write, AttributeWrite):
        return isinstance(asked, AttributeRead) and code.written(asked.op) == name
    match asked:
        case Call(owner=int() as owner, method="get"):
            return code.written(owner) == name
        case Operation(symbol="in" | "not in", right=int() as right):
            return code.written(right) == name
        case _:
            return False
