"""Calls.

Computes: nothing beyond the lowering. Positional arguments and `*args` are evaluated before keywords and `**kwargs`, also where the
source has a keyword first (language reference, 6.3.4); `Call.arguments` has this order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from terra_refactor.ir.build.builder import FunctionBuilder
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Argument, Call, Spread

_SPREADS: Mapping[str, Spread] = {"": Spread.PLAIN, "*": Spread.STAR, "**": Spread.DOUBLE_STAR}


def finish_call(b: FunctionBuilder, node: cst.Call, function: OpId) -> OpId:
    """Lowers a call whose function is already evaluated."""
    arguments = lower_arguments(b, node.args)
    op_id = b.new_id(node)
    b.ops.append(Call(op_id, function, arguments))
    return op_id


def lower_arguments(b: FunctionBuilder, args: Sequence[cst.Arg]) -> tuple[Argument, ...]:
    arguments = []
    keyword_seen = False
    for arg in args:
        if arg.keyword is not None or arg.star == "**":
            keyword_seen = True
        elif keyword_seen:
            args = sorted(args, key=_is_by_keyword)
            break
    for arg in args:
        keyword = arg.keyword.value if arg.keyword is not None else None
        arguments.append(Argument(b.value(arg.value), keyword, _SPREADS[arg.star]))
    return tuple(arguments)


def _is_by_keyword(arg: cst.Arg) -> bool:
    return arg.keyword is not None or arg.star == "**"
