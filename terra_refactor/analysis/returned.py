"""Results of functions in which a condition on a tensor selects the `return`.

Computes: whether there is such a condition. Needs: the branches of a finished frame. Gives: `returned`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from terra_refactor.analysis.facts import BranchKind
from terra_refactor.analysis.frames import Frame
from terra_refactor.analysis.transfer.staged import make_contents_symbolic, make_fields_symbolic
from terra_refactor.domain.chosen import chosen_in_graph, symbolic
from terra_refactor.domain.value import Value
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.index import CodeIndex
from terra_refactor.ir.walk import blocks

_IN_GRAPH = (BranchKind.TENSOR, BranchKind.DATASET)


def returned(frame: Frame, index: CodeIndex, result: Value) -> Value:
    """The result of a function: AutoGraph merges Python values under conditions on tensors into one tensor."""
    staged = {number for number, fact in frame.branches.items() if fact.kind in _IN_GRAPH}
    left = {around for op in index.of_kind(ops.Return) if (around := _outermost(op.id, staged, index)) is not None}
    if left:
        # what a side that returns has set is merged where the function ends
        for op in filter(None, map(index.ops.__getitem__, sorted(left))):
            for block in blocks(op):
                make_fields_symbolic(frame, frame.state, block)
        make_contents_symbolic(frame, frame.state, result)
        return chosen_in_graph(symbolic(result))
    return result


def _outermost(op: OpId, regions: AbstractSet[OpId], index: CodeIndex) -> OpId | None:
    found, around = None, index.parents[op]
    while around is not None:
        found = around if around in regions else found
        around = index.parents[around]
    return found
