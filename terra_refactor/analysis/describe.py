"""The source text of an operation, for messages.

Computes: the source form of names, attribute chains, items and calls. Needs: the IR only. Gives: short texts such as `self.model.summary`.
"""

from __future__ import annotations

from collections.abc import Callable

from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId, source_name
from terra_refactor.ir.ops import Op


def written_form(lookup: Callable[[OpId], Op | None], number: OpId, depth: int = 0) -> str:
    """The text of an operation's result; `...` if it is not short."""
    op = lookup(number)
    if depth > 8:
        return "..."
    match op:
        case ops.LoadName(name=name) | ops.StoreName(name=name):
            return source_name(name)
        case ops.LoadAttribute(object=owner, name=name) | ops.StoreAttribute(object=owner, name=name):
            return f"{written_form(lookup, owner, depth + 1)}.{name}"
        case ops.LoadItem(object=owner, index=index) | ops.StoreItem(object=owner, index=index):
            key = lookup(index)
            inside = repr(key.value) if isinstance(key, ops.Literal) and isinstance(key.value, int) else "..."
            return f"{written_form(lookup, owner, depth + 1)}[{inside}]"
        case (
            ops.Binary(operator=operator, left=left, right=right)
            | ops.Compare(operator=operator, left=left, right=right)
        ):
            first, second = _side(lookup, left, depth + 3), _side(lookup, right, depth + 3)
            return f"{first} {operator} {second}" if first != "..." or second != "..." else "..."
        case ops.Call(function=function):
            return f"{written_form(lookup, function, depth + 1)}(...)"
        case ops.Literal(value=value):
            text = repr(value)
            return text if len(text) < 30 else "..."
        case ops.Import(module=module):
            return module
        case _:
            return "..."


def _side(lookup: Callable[[OpId], Op | None], number: OpId, depth: int) -> str:
    """The text of an operand, in parentheses if it is an operation itself."""
    text = written_form(lookup, number, depth)
    return f"({text})" if text != "..." and isinstance(lookup(number), ops.Binary | ops.Compare) else text
