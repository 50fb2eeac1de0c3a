"""Operands and blocks of each operation, and walks over blocks.

Computes: nothing beyond reading the fields. Gives: `operands`, `blocks`, `walk`. Complete for the closed set of
operations, which the type checker verifies by `assert_never`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast, get_args

from typing_extensions import assert_never

from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import (
    Await,
    Binary,
    Block,
    Break,
    BuildContainer,
    BuildDict,
    BuildSlice,
    Call,
    CollectElement,
    Compare,
    Comprehension,
    Continue,
    DeleteAttribute,
    DeleteItem,
    DeleteName,
    For,
    FormatField,
    FormatString,
    If,
    IfExpression,
    Import,
    ImportFrom,
    ImportStar,
    Lazy,
    Literal,
    LoadAttribute,
    LoadItem,
    LoadName,
    MakeClass,
    MakeFunction,
    NextItem,
    Op,
    OpKind,
    PatternAttribute,
    PatternTest,
    Raise,
    Return,
    ShortCircuit,
    StoreAttribute,
    StoreItem,
    StoreName,
    Try,
    Unary,
    UnpackElement,
    While,
    With,
    Yield,
    YieldFrom,
)

OP_CLASSES: tuple[type[Op], ...] = get_args(OpKind)
"""Every class of operation; `analysis` may number them for tables that are faster than a long `match`."""


def operands(op: Op) -> tuple[OpId, ...]:
    """The temporaries that `op` itself reads before its blocks run, in order of evaluation.

    The results of its own blocks (`value` of a `ShortCircuit`, `test` of a `While`) are not among them: see `block_results`.
    """
    kind = cast(OpKind, op)
    match kind:
        case (
            Literal()
            | LoadName()
            | DeleteName()
            | Import()
            | ImportFrom()
            | ImportStar()
            | NextItem()
            | Break()
            | Continue()
            | While()
            | Try()
            | Lazy()
        ):
            return ()
        case FormatString(parts=parts):
            return tuple(
                read for part in parts if isinstance(part, FormatField) for read in _present(part.value, part.spec)
            )
        case BuildContainer(elements=elements):
            return tuple(element.value for element in elements)
        case BuildDict(items=items):
            return tuple(read for item in items for read in _present(item.key, item.value))
        case BuildSlice(lower=lower, upper=upper, step=step):
            return _present(lower, upper, step)
        case StoreName(value=value, annotation=annotation):
            return _present(value, annotation)
        case LoadAttribute(object=owner) | DeleteAttribute(object=owner):
            return (owner,)
        case StoreAttribute(object=owner, value=value, annotation=annotation):
            return _present(value, owner, annotation)
        case LoadItem(object=owner, index=index) | DeleteItem(object=owner, index=index):
            return (owner, index)
        case StoreItem(object=owner, index=index, value=value):
            return (value, owner, index)
        case UnpackElement(source=source):
            return (source,)
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case ShortCircuit(left=left):
            return (left,)
        case IfExpression(test=test) | If(test=test):
            return (test,)
        case Call(function=function, arguments=arguments):
            return (function, *(argument.value for argument in arguments))
        case MakeFunction(defaults=defaults, annotations=annotations):
            return (*(value for _, value in defaults), *(value for _, value in annotations))
        case MakeClass(bases=bases, keywords=keywords):
            return (*(base.value for base in bases), *(value for _, value in keywords))
        case Await(value=value) | YieldFrom(value=value):
            return (value,)
        case Yield(value=value) | Return(value=value):
            return _present(value)
        case PatternTest(subject=subject, operands=reads):
            return (subject, *reads)
        case PatternAttribute(subject=subject, cls=cls):
            return (subject, cls)
        case For(iterable=iterable) | Comprehension(iterable=iterable):
            return (iterable,)
        case CollectElement(key=key, value=value):
            return _present(key, value)
        case With(manager=manager):
            return (manager,)
        case Raise(exception=exception, cause=cause):
            return _present(exception, cause)
        case _:
            assert_never(kind)


def _present(*reads: OpId | None) -> tuple[OpId, ...]:
    return tuple(read for read in reads if read is not None)


def blocks(op: Op) -> tuple[Block, ...]:
    """The blocks that `op` holds, in source order (that of its `id`s); empty blocks included."""
    match op:
        case ShortCircuit(block=block) | Lazy(block=block):
            return (block,)
        case IfExpression(then_block=then_block, else_block=else_block):
            return (then_block, else_block)
        case If(then_block=then_block, else_block=else_block):
            return (then_block, else_block)
        case While(test_block=test_block, body=body, else_block=else_block):
            return (test_block, body, else_block)
        case For(body=body, else_block=else_block):
            return (body, else_block)
        case Comprehension(body=body) | With(body=body):
            return (body,)
        case Try(body=body, handlers=handlers, else_block=else_block, final_block=final_block):
            inner = [part for handler in handlers for part in (handler.type_block, handler.body)]
            return (body, *inner, else_block, final_block)
        case _:
            return ()


def block_results(op: Op) -> tuple[tuple[Block, OpId], ...]:
    """The blocks of `op` whose result it uses, each with the temporary that holds it, which may be defined in an outer block."""
    match op:
        case ShortCircuit(block=block, value=value) | Lazy(block=block, value=value):
            return ((block, value),)
        case IfExpression():
            return ((op.then_block, op.then_value), (op.else_block, op.else_value))
        case While(test_block=test_block, test=test):
            return ((test_block, test),)
        case Try(handlers=handlers):
            return tuple((handler.type_block, handler.type) for handler in handlers if handler.type is not None)
        case _:
            return ()


def walk(block: Block) -> Iterator[Op]:
    """Every operation of `block` and of the blocks nested in it, in pre-order: over a function's body, `id` counts 0, 1, 2, ..."""
    stack = [iter(block)]
    while stack:
        op = next(stack[-1], None)
        if op is None:
            stack.pop()
            continue
        yield op
        if type(op) in HAS_BLOCKS:
            # One after the other, first on top.
            stack.extend(iter(inner) for inner in reversed(blocks(op)) if inner)


HAS_BLOCKS = frozenset({ShortCircuit, Lazy, IfExpression, If, While, For, Comprehension, With, Try})
"""The operation classes that hold blocks."""
