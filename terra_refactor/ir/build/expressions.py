"""Operators, attributes, subscripts, displays, conditional expressions, `await` and `yield`.

Computes: nothing beyond the lowering; order of evaluation is Python's (language reference, 6.16).
Long chains to the left (`a + b + ...`, `a.b.c`, `f(x)(y)`) are lowered by a loop: their length is not limited by the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import libcst as cst

from terra_refactor.ir.build.builder import FunctionBuilder
from terra_refactor.ir.build.calls import finish_call
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import (
    Await,
    Binary,
    BuildContainer,
    BuildDict,
    BuildSlice,
    Compare,
    ContainerKind,
    DictItem,
    Element,
    IfExpression,
    LoadAttribute,
    LoadItem,
    ShortCircuit,
    Unary,
    Yield,
    YieldFrom,
)

BINARY_OPERATORS: Mapping[type[cst.CSTNode], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
}

COMPARISON_OPERATORS: Mapping[type[cst.CSTNode], str] = {
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.Is: "is",
    cst.IsNot: "is not",
    cst.In: "in",
    cst.NotIn: "not in",
}

UNARY_OPERATORS: Mapping[type[cst.CSTNode], str] = {
    cst.Minus: "-",
    cst.Plus: "+",
    cst.BitInvert: "~",
    cst.Not: "not",
}


# --- chains to the left -------------------------------------------------------------------------------------------------------


def lower_left_chain(b: FunctionBuilder, node: cst.BaseExpression) -> OpId:
    pending = []
    current: Any = node
    while (left := _LEFT.get(type(current))) is not None:
        pending.append(current)
        current = left(current)
    result = b.value(current)
    while pending:
        current = pending.pop()
        result = _FINISH[type(current)](b, current, result)
    return result


def _finish_attribute(b: FunctionBuilder, node: cst.Attribute, value: OpId) -> OpId:
    op_id = b.new_id(node)
    b.ops.append(LoadAttribute(op_id, value, b.mangled(node.attr.value)))
    return op_id


def _finish_subscript(b: FunctionBuilder, node: cst.Subscript, value: OpId) -> OpId:
    index = lower_index(b, node)
    op_id = b.new_id(node)
    b.ops.append(LoadItem(op_id, value, index))
    return op_id


def _finish_binary(b: FunctionBuilder, node: cst.BinaryOperation, left: OpId) -> OpId:
    right = b.value(node.right)
    op_id = b.new_id(node)
    b.ops.append(Binary(op_id, BINARY_OPERATORS[type(node.operator)], left, right))
    return op_id


def _finish_boolean(b: FunctionBuilder, node: cst.BooleanOperation, left: OpId) -> OpId:
    op_id = b.new_id(node)
    block, value = b.value_block(node.right)
    operator = "and" if type(node.operator) is cst.And else "or"
    b.ops.append(ShortCircuit(op_id, operator, left, block, value))
    return op_id


_LEFT: Mapping[type[cst.CSTNode], Callable[[Any], cst.BaseExpression]] = {
    cst.Attribute: attrgetter("value"),
    cst.Subscript: attrgetter("value"),
    cst.Call: attrgetter("func"),
    cst.BinaryOperation: attrgetter("left"),
    cst.BooleanOperation: attrgetter("left"),
}

_FINISH: Mapping[type[cst.CSTNode], Callable[[FunctionBuilder, Any, OpId], OpId]] = {
    cst.Attribute: _finish_attribute,
    cst.Subscript: _finish_subscript,
    cst.Call: finish_call,
    cst.BinaryOperation: _finish_binary,
    cst.BooleanOperation: _finish_boolean,
}


# --- subscripts -----------------------------------------------------------------------------------------------------------------


def lower_index(b: FunctionBuilder, node: cst.Subscript) -> OpId:
    """The index of a subscript; several, a trailing comma or a star make a tuple."""
    elements = node.slice
    first = elements[0]
    if len(elements) == 1 and not isinstance(first.comma, cst.Comma) and not _is_starred(first):
        return _lower_subscript_element(b, first)
    parts = tuple(Element(_lower_subscript_element(b, element), _is_starred(element)) for element in elements)
    op_id = b.new_id(node)
    b.ops.append(BuildContainer(op_id, ContainerKind.TUPLE, parts))
    return op_id


def _is_starred(element: cst.SubscriptElement) -> bool:
    return isinstance(element.slice, cst.Index) and element.slice.star == "*"


def _lower_subscript_element(b: FunctionBuilder, element: cst.SubscriptElement) -> OpId:
    part = element.slice
    if isinstance(part, cst.Index):
        return b.value(part.value)
    assert isinstance(part, cst.Slice)
    lower = b.value(part.lower) if part.lower is not None else None
    upper = b.value(part.upper) if part.upper is not None else None
    step = b.value(part.step) if part.step is not None else None
    op_id = b.new_id(part)
    b.ops.append(BuildSlice(op_id, lower, upper, step))
    return op_id


# --- operators ------------------------------------------------------------------------------------------------------------------


def lower_unary(b: FunctionBuilder, node: cst.UnaryOperation) -> OpId:
    operand = b.value(node.expression)
    op_id = b.new_id(node)
    b.ops.append(Unary(op_id, UNARY_OPERATORS[type(node.operator)], operand))
    return op_id


def lower_comparison(b: FunctionBuilder, node: cst.Comparison) -> OpId:
    """`a < b < c` is `a < b and b < c` with `b` evaluated once; the rest of the chain is in the block of the `and`."""
    left = b.value(node.left)
    outer = b.ops
    links = []
    last = len(node.comparisons) - 1
    for position, target in enumerate(node.comparisons):
        right = b.value(target.comparator)
        result = b.new_id(node)
        b.ops.append(Compare(result, COMPARISON_OPERATORS[type(target.operator)], left, right))
        left = right
        if position < last:
            links.append((b.ops, b.new_id(node), result))
            b.ops = []
    for ops, op_id, test in reversed(links):
        ops.append(ShortCircuit(op_id, "and", test, tuple(b.ops), result))
        b.ops = ops
        result = op_id
    assert b.ops is outer
    return result


def lower_if_expression(b: FunctionBuilder, node: cst.IfExp) -> OpId:
    test = b.value(node.test)
    op_id = b.new_id(node)
    then_block, then_value = b.value_block(node.body)
    else_block, else_value = b.value_block(node.orelse)
    b.ops.append(IfExpression(op_id, test, then_block, then_value, else_block, else_value))
    return op_id


def lower_await(b: FunctionBuilder, node: cst.Await) -> OpId:
    value = b.value(node.expression)
    op_id = b.new_id(node)
    b.ops.append(Await(op_id, value))
    return op_id


def lower_yield(b: FunctionBuilder, node: cst.Yield) -> OpId:
    b.is_generator = True
    if isinstance(node.value, cst.From):
        value = b.value(node.value.item)
        op_id = b.new_id(node)
        b.ops.append(YieldFrom(op_id, value))
        return op_id
    sent = b.value(node.value) if node.value is not None else None
    op_id = b.new_id(node)
    b.ops.append(Yield(op_id, sent))
    return op_id


# --- displays -------------------------------------------------------------------------------------------------------------------


def lower_elements(b: FunctionBuilder, elements: Sequence[cst.BaseElement]) -> tuple[Element, ...]:
    return tuple(Element(b.value(element.value), type(element) is cst.StarredElement) for element in elements)


def lower_tuple(b: FunctionBuilder, node: cst.Tuple) -> OpId:
    return _build(b, node, ContainerKind.TUPLE, node.elements)


def lower_list(b: FunctionBuilder, node: cst.List) -> OpId:
    return _build(b, node, ContainerKind.LIST, node.elements)


def lower_set(b: FunctionBuilder, node: cst.Set) -> OpId:
    return _build(b, node, ContainerKind.SET, node.elements)


def _build(
    b: FunctionBuilder, node: cst.BaseExpression, kind: ContainerKind, elements: Sequence[cst.BaseElement]
) -> OpId:
    parts = lower_elements(b, elements)
    op_id = b.new_id(node)
    b.ops.append(BuildContainer(op_id, kind, parts))
    return op_id


def lower_dict(b: FunctionBuilder, node: cst.Dict) -> OpId:
    items = []
    for element in node.elements:
        key = b.value(element.key) if isinstance(element, cst.DictElement) else None
        items.append(DictItem(key, b.value(element.value)))
    op_id = b.new_id(node)
    b.ops.append(BuildDict(op_id, tuple(items)))
    return op_id
