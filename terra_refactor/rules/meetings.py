"""Operands whose dtypes must agree in a graph: of operators, and of functions such as `tf.maximum`.

Computes: pairs of operands. Needs: a view. Gives: `meetings`, `OF_ARRAYS`, `SHIFTS`, `OF_BITS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from terra_refactor.facts.records import Call, Display, Fact, Operation
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

OF_ARRAYS: Final = frozenset(["+", "-", "*", "/", "//", "%", "**", "@", "<", "<=", ">", ">=", "==", "!="])
"""Operators on two arrays, or on an array and a number, that a graph rejects, or computes differently, if the dtypes differ."""
SHIFTS: Final = frozenset(["<<", ">>"])
"""Operators of arrays that tensors do not have."""
OF_BITS: Final = frozenset(["&", "|", "^"])


def meetings(view: ContextView, fact: Fact) -> Iterator[tuple[OpId, OpId]]:
    """Pairs of operands whose dtypes must agree, in both orders."""
    match fact:
        case Operation(symbol=symbol, pairs=pairs) if symbol in OF_ARRAYS | SHIFTS | OF_BITS:
            yield from pairs
        case Call(positional=given):
            library = view.library_of(fact.op)
            if not library or not all(has_trait(name, Trait.ONE_DTYPE) for name in library):
                return
            display = view.made(given[0]) if given else None
            if any(name.endswith("where") for name in library):
                given = given[1:]
            elif any(name.endswith("clip_by_value") for name in library):
                given = tuple(argument.value for argument in fact.arguments if argument.keyword != "name")
            elif isinstance(display, Display) and display.is_sequence:
                given = tuple(item.value for item in display.items)
            else:
                given = given[:2]
            for first, second in combinations(given, 2):
                yield first, second
                yield second, first
        case _:
            return
