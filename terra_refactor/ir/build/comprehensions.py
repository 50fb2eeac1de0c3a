"""Comprehensions and generator expressions.

Computes: nothing beyond the lowering. The first iterable is evaluated outside, as in Python; the rest has a scope of its own, whose
variables become locals of the function under fresh names (`x%1`).
"""

from __future__ import annotations

import libcst as cst

from terra_refactor.ir.build.builder import FrameKind, FunctionBuilder
from terra_refactor.ir.build.control import start_loop_body
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import CollectElement, Comprehension, ComprehensionKind, For, If, Op

_KINDS: dict[type[cst.CSTNode], ComprehensionKind] = {
    cst.ListComp: ComprehensionKind.LIST,
    cst.SetComp: ComprehensionKind.SET,
    cst.DictComp: ComprehensionKind.DICT,
    cst.GeneratorExp: ComprehensionKind.GENERATOR,
}


def lower_comprehension(b: FunctionBuilder, node: cst.BaseComp) -> OpId:
    clause = node.for_in
    iterable = b.value(clause.iter)
    op_id = b.new_id(node)
    outer_frame = b.frame
    outer = b.ops
    b.push_frame(FrameKind.GENERATOR if isinstance(node, cst.GeneratorExp) else FrameKind.COMPREHENSION)
    body: list[Op] = []
    b.ops = body
    start_loop_body(b, clause.target)
    _lower_rest(b, node, clause)
    b.ops = outer
    b.frame = outer_frame
    kind = _KINDS[type(node)]
    outer.append(Comprehension(op_id, kind, iterable, tuple(body), clause.asynchronous is not None))
    return op_id


def _lower_rest(b: FunctionBuilder, node: cst.BaseComp, first: cst.CompFor) -> None:
    """Conditions, further clauses and the element, each nested in the one before."""
    close: list[tuple[list[Op], OpId, OpId, cst.CompFor | None]] = []
    clause = first
    while True:
        for condition in clause.ifs:
            test = b.value(condition.test)
            close.append((b.ops, b.new_id(condition), test, None))
            b.ops = []
        if clause.inner_for_in is None:
            break
        clause = clause.inner_for_in
        iterable = b.value(clause.iter)
        close.append((b.ops, b.new_id(clause), iterable, clause))
        b.ops = []
        start_loop_body(b, clause.target)
    _collect(b, node)
    for ops, op_id, operand, loop in reversed(close):
        block = tuple(b.ops)
        if loop is None:
            ops.append(If(op_id, operand, block, ()))
        else:
            ops.append(For(op_id, operand, block, (), loop.asynchronous is not None))
        b.ops = ops


def _collect(b: FunctionBuilder, node: cst.BaseComp) -> None:
    if isinstance(node, cst.DictComp):
        key = b.value(node.key)
        value = b.value(node.value)
        b.ops.append(CollectElement(b.new_id(node.value), value, key))
    else:
        assert isinstance(node, cst.BaseSimpleComp)
        value = b.value(node.elt)
        b.ops.append(CollectElement(b.new_id(node.elt), value))
