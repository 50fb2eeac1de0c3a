"""Small statements: assignments to any target, `del`, `return`, `raise`, `assert`, expression statements.

Computes: nothing beyond the lowering. A value is evaluated before its targets, targets from left to right; the object and index of
an augmented assignment's target are evaluated once.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from terra_refactor.ir.build.builder import FrameKind, FunctionBuilder
from terra_refactor.ir.build.expressions import BINARY_OPERATORS, lower_index
from terra_refactor.ir.build.literals import is_plain_text
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import (
    Argument,
    Binary,
    Block,
    Break,
    Call,
    Continue,
    DeleteAttribute,
    DeleteItem,
    If,
    LoadAttribute,
    LoadItem,
    Op,
    Raise,
    Return,
    StoreAttribute,
    StoreItem,
    UnpackElement,
)

# --- assignment ---------------------------------------------------------------------------------------------------------------


def lower_assign(b: FunctionBuilder, node: cst.Assign) -> None:
    value = b.value(node.value)
    for target in node.targets:
        store_target(b, target.target, value)


def store_target(b: FunctionBuilder, target: cst.BaseExpression, value: OpId) -> None:
    """Binds a target of any form: name, attribute, item, or tuple and list of targets to any depth."""
    if isinstance(target, cst.Name):
        b.store(target, b.mangled(target.value), value)
    elif isinstance(target, cst.Attribute):
        owner = b.value(target.value)
        b.ops.append(StoreAttribute(b.new_id(target), owner, b.mangled(target.attr.value), value))
    elif isinstance(target, cst.Subscript):
        owner = b.value(target.value)
        index = lower_index(b, target)
        b.ops.append(StoreItem(b.new_id(target), owner, index, value))
    elif isinstance(target, cst.Tuple | cst.List):
        _unpack(b, target.elements, value)
    elif isinstance(target, cst.StarredElement):
        store_target(b, target.value, value)
    else:
        raise TypeError(f"not an assignment target: {type(target).__name__}")


def _unpack(b: FunctionBuilder, elements: Sequence[cst.BaseElement], source: OpId) -> None:
    star = next((place for place, element in enumerate(elements) if isinstance(element, cst.StarredElement)), None)
    total = len(elements)
    values = []
    # All elements are taken from the source before the first target is bound.
    for position, element in enumerate(elements):
        op_id = b.new_id(element)
        b.ops.append(UnpackElement(op_id, source, position, total, star))
        values.append(op_id)
    for element, value in zip(elements, values, strict=True):
        store_target(b, element.value, value)


def lower_annotated_assign(b: FunctionBuilder, node: cst.AnnAssign) -> None:
    value = b.value(node.value) if node.value is not None else None
    target = node.target
    if isinstance(target, cst.Name):
        annotation = lower_annotation(b, node.annotation, in_body=True)
        b.store(target, b.mangled(target.value), value, annotation)
    elif isinstance(target, cst.Attribute):
        owner = b.value(target.value)
        annotation = lower_annotation(b, node.annotation, in_body=True)
        b.ops.append(StoreAttribute(b.new_id(target), owner, b.mangled(target.attr.value), value, annotation))
    else:
        assert isinstance(target, cst.Subscript)
        owner = b.value(target.value)
        index = lower_index(b, target)
        if value is not None:
            b.ops.append(StoreItem(b.new_id(target), owner, index, value))
        lower_annotation(b, node.annotation, in_body=True)


def lower_annotation(b: FunctionBuilder, annotation: cst.Annotation, *, in_body: bool) -> OpId:
    """Lowers the annotation of a variable (`in_body`) or of a parameter; `Lazy` where Python does not evaluate it."""
    quoted = _quoted(annotation.annotation)
    if quoted is not None:
        # the name of a string annotation has the position of the string as a whole
        own, span = b.span_of, b.span_of(annotation.annotation)
        b.span_of = lambda _: span
        try:
            return b.lazy(quoted)
        finally:
            b.span_of = own
    if b.module.lazy_annotations or (in_body and b.root_frame.kind is FrameKind.FUNCTION):
        return b.lazy(annotation.annotation)
    return b.value(annotation.annotation)


_IN_QUOTES = (
    cst.Name,
    cst.Attribute,
    cst.Subscript,
    cst.BinaryOperation,
    cst.SimpleString,
    cst.Integer,
    cst.Ellipsis,
    cst.List,
    cst.Tuple,
)


def _quoted(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The expression in a string annotation (`x: "tf.Tensor"`); None if it is not a string, or not a type."""
    if not isinstance(node, cst.SimpleString):
        return None
    text = node.evaluated_value
    if not isinstance(text, str):
        return None
    try:
        expression = cst.parse_expression(text.strip())
    except cst.ParserSyntaxError:
        return None
    pending: list[cst.CSTNode] = [expression]
    while pending:
        inner = pending.pop()
        if isinstance(inner, cst.BaseExpression) and not isinstance(inner, _IN_QUOTES):
            return None
        pending.extend(inner.children)
    return expression


def lower_augmented_assign(b: FunctionBuilder, node: cst.AugAssign) -> None:
    operator = AUGMENTED_OPERATORS[type(node.operator)]
    target = node.target
    if isinstance(target, cst.Name):
        name = b.mangled(target.value)
        old = b.load(target, name)
        new = _in_place(b, node, operator, old)
        b.store(target, name, new)
    elif isinstance(target, cst.Attribute):
        owner = b.value(target.value)
        attribute = b.mangled(target.attr.value)
        old = b.new_id(target)
        b.ops.append(LoadAttribute(old, owner, attribute))
        new = _in_place(b, node, operator, old)
        b.ops.append(StoreAttribute(b.new_id(target), owner, attribute, new))
    else:
        assert isinstance(target, cst.Subscript)
        owner = b.value(target.value)
        index = lower_index(b, target)
        old = b.new_id(target)
        b.ops.append(LoadItem(old, owner, index))
        new = _in_place(b, node, operator, old)
        b.ops.append(StoreItem(b.new_id(target), owner, index, new))


def _in_place(b: FunctionBuilder, node: cst.AugAssign, operator: str, old: OpId) -> OpId:
    right = b.value(node.value)
    op_id = b.new_id(node)
    b.ops.append(Binary(op_id, operator, old, right, in_place=True))
    return op_id


AUGMENTED_OPERATORS: dict[type[cst.CSTNode], str] = {
    getattr(cst, f"{operator.__name__}Assign"): sign for operator, sign in BINARY_OPERATORS.items()
}


# --- del ------------------------------------------------------------------------------------------------------------------------


def lower_del(b: FunctionBuilder, node: cst.Del) -> None:
    _delete_target(b, node.target)


def _delete_target(b: FunctionBuilder, target: cst.BaseExpression) -> None:
    if isinstance(target, cst.Name):
        b.delete(target, b.mangled(target.value))
    elif isinstance(target, cst.Attribute):
        owner = b.value(target.value)
        b.ops.append(DeleteAttribute(b.new_id(target), owner, b.mangled(target.attr.value)))
    elif isinstance(target, cst.Subscript):
        owner = b.value(target.value)
        index = lower_index(b, target)
        b.ops.append(DeleteItem(b.new_id(target), owner, index))
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            _delete_target(b, element.value)
    else:
        raise TypeError(f"not a target of del: {type(target).__name__}")


# --- the others -------------------------------------------------------------------------------------------------------------------


def lower_expression_statement(b: FunctionBuilder, node: cst.Expr) -> None:
    """A string statement does nothing, so there is no operation for it."""
    if not is_plain_text(node.value):
        b.value(node.value)


def lower_pass(b: FunctionBuilder, node: cst.Pass) -> None:
    """It does nothing, so there is no operation for it."""


def lower_return(b: FunctionBuilder, node: cst.Return) -> None:
    value = b.value(node.value) if node.value is not None else None
    b.ops.append(Return(b.new_id(node), value))


def lower_raise(b: FunctionBuilder, node: cst.Raise) -> None:
    exception = b.value(node.exc) if node.exc is not None else None
    cause = b.value(node.cause.item) if node.cause is not None else None
    b.ops.append(Raise(b.new_id(node), exception, cause))


def lower_break(b: FunctionBuilder, node: cst.Break) -> None:
    b.ops.append(Break(b.new_id(node)))


def lower_continue(b: FunctionBuilder, node: cst.Continue) -> None:
    b.ops.append(Continue(b.new_id(node)))


def lower_assert(b: FunctionBuilder, node: cst.Assert) -> None:
    """`assert test, message` raises `AssertionError(message)` in the else branch of an `If`."""
    test = b.value(node.test)
    op_id = b.new_id(node)
    outer = b.ops
    inner: list[Op] = []
    b.ops = inner
    exception = b.load(node, "AssertionError")
    if node.msg is not None:
        message = b.value(node.msg)
        made = b.new_id(node)
        inner.append(Call(made, exception, (Argument(message),)))
        exception = made
    inner.append(Raise(b.new_id(node), exception, None))
    b.ops = outer
    empty: Block = ()
    outer.append(If(op_id, test, empty, tuple(inner), is_assert=True))
