"""Compound statements: `if`, `while`, `for`, `with`, `try`, and their async forms.

Computes: nothing beyond the lowering. A chain of `elif` is lowered by a loop, so that its length costs no recursion here.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from terra_refactor.ir.build.builder import FunctionBuilder
from terra_refactor.ir.build.statements import store_target
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Block, For, Handler, If, NextItem, Op, Try, While, With


def lower_if(b: FunctionBuilder, node: cst.If) -> None:
    outer = b.ops
    links: list[tuple[list[Op], OpId, OpId, Block]] = []
    current: cst.If | cst.Else | None = node
    while isinstance(current, cst.If):
        test = b.value(current.test)
        op_id = b.new_id(current)
        then_block = b.suite_block(current.body)
        links.append((b.ops, op_id, test, then_block))
        b.ops = []
        current = current.orelse
    if current is not None:
        b.suite(current.body)
    fold_if_chain(b, links)
    assert b.ops is outer


def fold_if_chain(
    b: FunctionBuilder, links: Sequence[tuple[list[Op], OpId, OpId, Block]], *, are_cases: bool = False
) -> None:
    """Builds the nested `If`s of a chain of tests, each in the else branch of the previous one; the current block is the
    last else branch.
    """
    for ops, op_id, test, then_block in reversed(links):
        ops.append(If(op_id, test, then_block, tuple(b.ops), is_case=are_cases))
        b.ops = ops


def lower_while(b: FunctionBuilder, node: cst.While) -> None:
    op_id = b.new_id(node)
    test_block, test = b.value_block(node.test)
    body = b.suite_block(node.body)
    b.ops.append(While(op_id, test_block, test, body, _else_block(b, node.orelse)))


def lower_for(b: FunctionBuilder, node: cst.For) -> None:
    iterable = b.value(node.iter)
    op_id = b.new_id(node)
    outer = b.ops
    inner: list[Op] = []
    b.ops = inner
    start_loop_body(b, node.target)
    b.suite(node.body)
    b.ops = outer
    else_block = _else_block(b, node.orelse)
    outer.append(For(op_id, iterable, tuple(inner), else_block, node.asynchronous is not None))


def start_loop_body(b: FunctionBuilder, target: cst.BaseExpression) -> None:
    """Starts the body of a loop: takes the next element and binds the target."""
    item = b.new_id(target)
    b.ops.append(NextItem(item))
    store_target(b, target, item)


def _else_block(b: FunctionBuilder, orelse: cst.Else | None) -> Block:
    return b.suite_block(orelse.body) if orelse is not None else ()


def lower_with(b: FunctionBuilder, node: cst.With) -> None:
    """Several items are nested, each in the body of the one before."""
    is_async = node.asynchronous is not None
    links = []
    for item in node.items:
        manager = b.value(item.item)
        op_id = b.new_id(node)
        links.append((b.ops, op_id, manager))
        b.ops = []
        entered = b.new_id(item)
        b.ops.append(NextItem(entered))
        if item.asname is not None:
            store_target(b, item.asname.name, entered)
    b.suite(node.body)
    for ops, op_id, manager in reversed(links):
        ops.append(With(op_id, manager, tuple(b.ops), is_async))
        b.ops = ops


def lower_try(b: FunctionBuilder, node: cst.Try | cst.TryStar) -> None:
    op_id = b.new_id(node)
    body = b.suite_block(node.body)
    handlers = tuple(_lower_handler(b, handler) for handler in node.handlers)
    else_block = _else_block(b, node.orelse)
    final_block = b.suite_block(node.finalbody.body) if node.finalbody is not None else ()
    b.ops.append(Try(op_id, body, handlers, else_block, final_block))


def _lower_handler(b: FunctionBuilder, node: cst.ExceptHandler | cst.ExceptStarHandler) -> Handler:
    type_block: Block = ()
    type_value: OpId | None = None
    if node.type is not None:
        type_block, type_value = b.value_block(node.type)
    outer = b.ops
    inner: list[Op] = []
    b.ops = inner
    exception = b.new_id(node)
    inner.append(NextItem(exception))
    target = node.name.name if node.name is not None else None
    if target is not None:
        store_target(b, target, exception)
    b.suite(node.body)
    if isinstance(target, cst.Name):
        # Python unbinds the name however the body ends; code after a `return` or `raise` is not reached anyway.
        b.delete(target, b.mangled(target.value))
    b.ops = outer
    return Handler(type_block, type_value, tuple(inner), isinstance(node, cst.ExceptStarHandler))
