"""The number of values that a generator function yields.

Computes: the number of values, if one `yield` is in `for` loops of known lengths and nothing leaves them early. Needs: a frame whose body
has run. Gives: `count_of_yields`. Ignores: whether the caller takes them all.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.frames import Frame
from terra_refactor.domain.dim import Dim, multiply
from terra_refactor.ir import ops
from terra_refactor.ir.walk import walk

_LEAVING: Final = (ops.Break, ops.Continue, ops.Return, ops.Raise, ops.YieldFrom, ops.Await)


def count_of_yields(frame: Frame) -> Dim:
    """The number of values if the generator runs to its end; None if unknown."""
    block = frame.function.body
    code = tuple(walk(block))
    yields = [op for op in code if isinstance(op, ops.Yield)]
    if len(yields) != 1 or any(isinstance(op, _LEAVING) for op in code):
        return None
    count: Dim = 1
    while not any(op.id == yields[0].id for op in block):
        # a yield under a condition or in a `while` loop is reached an unknown number of times
        around = [
            op for op in block if isinstance(op, ops.For) and any(inner.id == yields[0].id for inner in walk(op.body))
        ]
        if not around:
            return None
        count = multiply(count, frame.loop_lengths.get(around[0].id))
        block = around[0].body
    return count
