"""`match` statements, lowered to tests and stores.

Computes: nothing beyond the lowering. Each case is an `If` in the else branch of the one before. Its test is a chain of `and`, each link
in the block of the link before, because a sub-pattern is tested only if the enclosing one has matched. Names are bound at the end of the
chain, before the guard; in an alternative (`a | b`) when the alternative has matched, where Python waits for the whole pattern (the
bindings after a failed pattern are unspecified).
Source: language reference, 8.6; PEP 634.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import libcst as cst

from terra_refactor.ir.build.builder import FunctionBuilder
from terra_refactor.ir.build.control import fold_if_chain
from terra_refactor.ir.build.names import CONSTANTS
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import (
    Argument,
    Block,
    BuildDict,
    Call,
    Compare,
    DeleteItem,
    DictItem,
    LoadAttribute,
    LoadItem,
    Op,
    PatternAttribute,
    PatternKind,
    PatternTest,
    ShortCircuit,
    UnpackElement,
)

Captures: TypeAlias = list[tuple[cst.Name, OpId]]
Rest: TypeAlias = Callable[[], "OpId | None"]
"""Lowers the code after a matching pattern; its result is None if there is no further test."""


def lower_match(b: FunctionBuilder, node: cst.Match) -> None:
    subject = b.value(node.subject)
    links: list[tuple[list[Op], OpId, OpId, Block]] = []
    for case in node.cases:
        test = _lower_case_test(b, case, subject)
        if test is None:
            # Matches whatever the subject is: Python allows this in the last case only.
            b.suite(case.body)
            break
        op_id = b.new_id(case)
        then_block = b.suite_block(case.body)
        links.append((b.ops, op_id, test, then_block))
        b.ops = []
    fold_if_chain(b, links, are_cases=True)


def _lower_case_test(b: FunctionBuilder, case: cst.MatchCase, subject: OpId) -> OpId | None:
    captures: Captures = []

    def bind_and_guard() -> OpId | None:
        _bind(b, captures)
        return b.value(case.guard) if case.guard is not None else None

    return _lower_pattern(b, case.pattern, subject, captures, bind_and_guard)


def _bind(b: FunctionBuilder, captures: Captures) -> None:
    for name, value in captures:
        b.store(name, b.mangled(name.value), value)


def _and(b: FunctionBuilder, node: cst.CSTNode, test: OpId, rest: Rest) -> OpId:
    """`test and rest`; only `test` where the rest is nothing."""
    op_id = b.new_id(node)
    outer = b.ops
    inner: list[Op] = []
    b.ops = inner
    value = rest()
    if value is None and inner:
        value = b.literal(node, True)
    b.ops = outer
    if value is None:
        b.spans.pop()
        return test
    outer.append(ShortCircuit(op_id, "and", test, tuple(inner), value))
    return op_id


def _lower_pattern(
    b: FunctionBuilder, pattern: cst.MatchPattern, subject: OpId, captures: Captures, rest: Rest
) -> OpId | None:
    if isinstance(pattern, cst.MatchAs):
        return _lower_as(b, pattern, subject, captures, rest)
    if isinstance(pattern, cst.MatchValue):
        expected = b.value(pattern.value)
        return _and(b, pattern, _compare(b, pattern, "==", subject, expected), rest)
    if isinstance(pattern, cst.MatchSingleton):
        expected = b.literal(pattern, CONSTANTS[pattern.value.value])
        return _and(b, pattern, _compare(b, pattern, "is", subject, expected), rest)
    if isinstance(pattern, cst.MatchSequence):
        return _lower_sequence(b, pattern, subject, captures, rest)
    if isinstance(pattern, cst.MatchMapping):
        return _lower_mapping(b, pattern, subject, captures, rest)
    if isinstance(pattern, cst.MatchClass):
        return _lower_class(b, pattern, subject, captures, rest)
    if isinstance(pattern, cst.MatchOr):
        return _lower_or(b, pattern, subject, rest)
    raise TypeError(f"unknown pattern: {type(pattern).__name__}")


def _compare(b: FunctionBuilder, node: cst.CSTNode, operator: str, left: OpId, right: OpId) -> OpId:
    op_id = b.new_id(node)
    b.ops.append(Compare(op_id, operator, left, right))
    return op_id


def _lower_as(b: FunctionBuilder, pattern: cst.MatchAs, subject: OpId, captures: Captures, rest: Rest) -> OpId | None:
    name = pattern.name

    def capture() -> OpId | None:
        if name is not None:
            captures.append((name, subject))
        return rest()

    if pattern.pattern is None:
        return capture()
    return _lower_pattern(b, pattern.pattern, subject, captures, capture)


def _lower_all(
    b: FunctionBuilder, parts: Sequence[tuple[cst.MatchPattern, OpId]], captures: Captures, rest: Rest
) -> OpId | None:
    """Sub-patterns one after the other, each tested only when those before it have matched."""
    if not parts:
        return rest()
    (pattern, subject), *others = parts
    return _lower_pattern(b, pattern, subject, captures, lambda: _lower_all(b, others, captures, rest))


def _is_wildcard(pattern: cst.MatchPattern) -> bool:
    return isinstance(pattern, cst.MatchAs) and pattern.pattern is None and pattern.name is None


def _lower_sequence(
    b: FunctionBuilder, pattern: cst.MatchSequence, subject: OpId, captures: Captures, rest: Rest
) -> OpId:
    elements = pattern.patterns
    star = next((place for place, element in enumerate(elements) if isinstance(element, cst.MatchStar)), None)
    total = len(elements)
    test = b.new_id(pattern)
    length = total if star is None else total - 1
    b.ops.append(PatternTest(test, PatternKind.SEQUENCE, subject, (), length, star is not None))

    def unpack() -> OpId | None:
        parts = []
        for position, element in enumerate(elements):
            if isinstance(element, cst.MatchStar):
                if element.name is not None:
                    captures.append((element.name, _unpack(b, element, subject, position, total, star)))
            elif not _is_wildcard(element.value):
                parts.append((element.value, _unpack(b, element, subject, position, total, star)))
        return _lower_all(b, parts, captures, rest)

    return _and(b, pattern, test, unpack)


def _unpack(b: FunctionBuilder, node: cst.CSTNode, source: OpId, position: int, total: int, star: int | None) -> OpId:
    op_id = b.new_id(node)
    b.ops.append(UnpackElement(op_id, source, position, total, star))
    return op_id


def _lower_mapping(
    b: FunctionBuilder, pattern: cst.MatchMapping, subject: OpId, captures: Captures, rest: Rest
) -> OpId:
    keys = tuple(_lower_key(b, element.key) for element in pattern.elements)
    test = b.new_id(pattern)
    b.ops.append(PatternTest(test, PatternKind.MAPPING, subject, keys))

    def look_up() -> OpId | None:
        parts = []
        for element, key in zip(pattern.elements, keys, strict=True):
            if not _is_wildcard(element.pattern):
                item = b.new_id(element)
                b.ops.append(LoadItem(item, subject, key))
                parts.append((element.pattern, item))
        return _lower_all(b, parts, captures, copy_remainder)

    def copy_remainder() -> OpId | None:
        if pattern.rest is not None:
            remainder = b.new_id(pattern.rest)
            b.ops.append(BuildDict(remainder, (DictItem(None, subject),)))
            for key in keys:
                b.ops.append(DeleteItem(b.new_id(pattern.rest), remainder, key))
            captures.append((pattern.rest, remainder))
        return rest()

    return _and(b, pattern, test, look_up)


def _lower_key(b: FunctionBuilder, key: cst.CSTNode) -> OpId:
    if isinstance(key, cst.MatchValue):
        return b.value(key.value)
    if isinstance(key, cst.MatchSingleton):
        return b.literal(key, CONSTANTS[key.value.value])
    assert isinstance(key, cst.BaseExpression)
    return b.value(key)


def _lower_class(b: FunctionBuilder, pattern: cst.MatchClass, subject: OpId, captures: Captures, rest: Rest) -> OpId:
    cls = b.value(pattern.cls)
    function = b.builtin(pattern, "isinstance")
    is_instance = b.new_id(pattern)
    b.ops.append(Call(is_instance, function, (Argument(subject), Argument(cls))))
    attributes = tuple(element.key.value for element in pattern.kwds)

    def test_attributes() -> OpId | None:
        if not (attributes or pattern.patterns):
            return rest()
        test = b.new_id(pattern)
        b.ops.append(
            PatternTest(test, PatternKind.CLASS, subject, (cls,), len(pattern.patterns), attributes=attributes)
        )
        return _and(b, pattern, test, read_attributes)

    def read_attributes() -> OpId | None:
        parts = []
        for position, element in enumerate(pattern.patterns):
            if not _is_wildcard(element.value):
                op_id = b.new_id(element)
                b.ops.append(PatternAttribute(op_id, subject, cls, position))
                parts.append((element.value, op_id))
        for keyword in pattern.kwds:
            if not _is_wildcard(keyword.pattern):
                op_id = b.new_id(keyword)
                b.ops.append(LoadAttribute(op_id, subject, keyword.key.value))
                parts.append((keyword.pattern, op_id))
        return _lower_all(b, parts, captures, rest)

    return _and(b, pattern, is_instance, test_attributes)


def _lower_or(b: FunctionBuilder, pattern: cst.MatchOr, subject: OpId, rest: Rest) -> OpId:
    result = _lower_alternative(b, pattern.patterns[0].pattern, subject)
    for element in pattern.patterns[1:]:
        op_id = b.new_id(element)
        outer = b.ops
        inner: list[Op] = []
        b.ops = inner
        value = _lower_alternative(b, element.pattern, subject)
        b.ops = outer
        outer.append(ShortCircuit(op_id, "or", result, tuple(inner), value))
        result = op_id
    return _and(b, pattern, result, rest)


def _lower_alternative(b: FunctionBuilder, pattern: cst.MatchPattern, subject: OpId) -> OpId:
    """Lowers one alternative of `a | b`. Each binds its own names, since their values are in different blocks."""
    captures: Captures = []

    def bind() -> None:
        _bind(b, captures)

    test = _lower_pattern(b, pattern, subject, captures, bind)
    return test if test is not None else b.literal(pattern, True)
