"""Refines the state by a condition, for both outcomes.

Computes: narrower values of the variables and attributes in a condition (`x is None`, `isinstance(x, C)`, `x`, `not x`, `x == 3`,
`callable(x)`, `hasattr(x, "a")`, and their combinations). Needs: the operation that computes the condition. Gives: `refine`, False if the
condition cannot have that outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import Frame
from terra_refactor.analysis.instances import is_instance, value_of_class
from terra_refactor.analysis.truth import truth_of
from terra_refactor.domain.dim import OpenDim, eager
from terra_refactor.domain.lattice import filter_members, join_all
from terra_refactor.domain.roots import Traced
from terra_refactor.domain.state import CELL, EXISTS
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    BOTTOM,
    FALSE,
    NONE,
    UNKNOWN_TENSOR,
    BoundMethod,
    Constant,
    EnumMember,
    FunctionValue,
    LibraryValue,
    PartialValue,
    PythonType,
    Reference,
    Scalar,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.tf_model import graph_traits, registry
from terra_refactor.tf_model.ops.conversion import size_value
from terra_refactor.tf_model.python_classes import TENSOR_CLASSES_OF_TESTS

_MAX_DEPTH: Final = 30
"""Maximum depth of nested `and` and `or` for refinement: each link of a chain repeats the work for the rest."""


def refine(site: Site, condition: int, truth: bool, depth: int = 0) -> bool:
    """Narrows the present state to executions in which operation `condition` has that truth value."""
    op = site.operation(condition)
    match op:
        case ops.Unary(operator="not"):
            return depth > _MAX_DEPTH or refine(site, op.operand, not truth, depth + 1)
        case ops.ShortCircuit():
            # `a and b` is true only if both are; `a or b` false only if neither is
            if depth > _MAX_DEPTH:
                return True
            if (op.operator == "and") is truth:
                return all(refine(site, side, truth, depth + 1) for side in (op.left, op.value))
            return op.operator == "or" or _not_of_that_length(site, op)
        case ops.Compare(operator="is" | "is not"):
            return _identity(site, op, truth)
        case ops.Compare(operator="==" | "!="):
            return _equality(site, op, truth is (op.operator == "=="))
        case ops.Call():
            return _call(site, op, truth)
        case ops.LoadName() | ops.LoadAttribute():
            return _narrow(site, condition, lambda member: truth_of(site, member).value is not (not truth))
        case _:
            return True


def _not_of_that_length(site: Site, op: ops.ShortCircuit) -> bool:
    """`isinstance(x, tuple) and len(x) == 2` is false: excludes the tuples of that length."""
    frame = site.frame
    left, right = (site.operation(side) for side in (op.left, op.value))
    if not isinstance(left, ops.Call) or not isinstance(right, ops.Compare) or right.operator != "==":
        return True
    measured = site.operation(right.left)
    if not isinstance(measured, ops.Call) or len(left.arguments) != 2 or len(measured.arguments) != 1:
        return True
    called = frame.value(left.function), frame.value(measured.function)
    subject, again = (site.operation(call.arguments[0].value) for call in (left, measured))
    length = frame.value(right.right)
    if called != (LibraryValue(graph_traits.ISINSTANCE), LibraryValue(graph_traits.LEN)) or not isinstance(
        length, Constant
    ):
        return True
    if not isinstance(subject, ops.LoadName) or not isinstance(again, ops.LoadName) or subject.name != again.name:
        return True
    cls = frame.value(left.arguments[1].value)
    return _narrow(
        site,
        left.arguments[0].value,
        lambda member: (
            not isinstance(member, TupleValue)
            or Constant(len(member.elements)) != length
            or is_instance(site, member, cls) is not True
        ),
    )


def _identity(site: Site, op: ops.Compare, truth: bool) -> bool:
    same = truth is (op.operator == "is")
    for subject, other in ((op.left, op.right), (op.right, op.left)):
        constant = site.frame.value(other)
        if isinstance(constant, Constant) and (constant == NONE or isinstance(constant.value, bool | EnumMember)):
            return _narrow_identity(site, subject, constant, same)
    return True


def _narrow_identity(site: Site, subject: int, constant: Constant, same: bool) -> bool:
    if not same and constant == NONE:
        _note_known_size(site, subject)
    if same:
        return _narrow(site, subject, lambda member: _may_be(member, constant), unknown_becomes=constant)
    return _narrow(site, subject, lambda member: member != constant)


def _note_known_size(site: Site, subject: int) -> None:
    """After `size is not None`, or `x.shape[0] is not None`: a graph that runs this code knows the size."""
    frame = site.frame
    known = frame.value(subject)
    if not isinstance(known, Scalar) or not isinstance(known.dim, OpenDim):
        return
    _store(frame, site.operation(subject), known, size_value(known.dim.size))
    item = site.operation(subject)
    index = frame.value(item.index) if isinstance(item, ops.LoadItem) else None
    shape = site.operation(item.object) if isinstance(item, ops.LoadItem) else None
    if not isinstance(index, Constant) or type(index.value) is not int or not isinstance(shape, ops.LoadAttribute):
        return
    if shape.name == "shape":
        tensor = frame.value(shape.object)
        closed = join_all(_with_known_size(member, index.value) for member in members(tensor))
        replace_value(site, shape.object, closed)


def _with_known_size(value: Value, axis: int) -> Value:
    """The tensor with the size of an axis known."""
    shape = value.type.shape if isinstance(value, TensorValue) else None
    if not isinstance(value, TensorValue):
        return value
    if shape is None:
        return replace(value, traced=Traced(content=value.traced.content)) if axis == 0 else value
    if not -len(shape) <= axis < len(shape):
        return value
    place = axis % len(shape)
    sizes = (*shape[:place], eager(shape[place]), *shape[place + 1 :])
    return replace(value, type=TensorType(value.type.dtype, sizes))


def _may_be(value: Value, constant: Constant) -> bool:
    """Whether an alternative may be None, or that bool."""
    if isinstance(value, Scalar):
        return isinstance(constant.value, bool) and value.type is PythonType.BOOL
    return value == constant or (isinstance(value, LibraryValue) and not registry.is_definition(value.name))


def _equality(site: Site, op: ops.Compare, equal: bool) -> bool:
    for subject, other in ((op.left, op.right), (op.right, op.left)):
        constant = site.frame.value(other)
        if isinstance(constant, Constant):
            return _narrow_equality(site, subject, constant, equal)
    return True


def _narrow_equality(site: Site, subject: int, constant: Constant, equal: bool) -> bool:
    if equal:
        # 1 == 1.0 == True: only other constants are excluded
        return _narrow(site, subject, lambda member: not isinstance(member, Constant) or member.value == constant.value)
    return _narrow(site, subject, lambda member: member != constant)


def _call(site: Site, op: ops.Call, truth: bool) -> bool:
    frame = site.frame
    function = frame.value(op.function)
    if not isinstance(function, LibraryValue) or not op.arguments:
        return True
    subject = op.arguments[0].value
    match function.name:
        case graph_traits.ISINSTANCE if len(op.arguments) == 2:
            cls = frame.value(op.arguments[1].value)
            becomes = _only_instance(site, cls) if truth else None
            return _narrow(
                site, subject, lambda member: is_instance(site, member, cls) is not (not truth), unknown_becomes=becomes
            )
        case graph_traits.ALL_OF | graph_traits.ANY_OF:
            return _elements(site, subject, truth=truth, every=function.name == graph_traits.ALL_OF)
        case graph_traits.CALLABLE:
            callables = (FunctionValue, BoundMethod, PartialValue, LibraryValue)
            if truth:
                return _narrow(site, subject, lambda member: isinstance(member, (*callables, Reference)))
            return _narrow(site, subject, lambda member: not isinstance(member, callables))
        case graph_traits.IS_TENSOR:
            if truth:
                return _narrow(
                    site, subject, lambda member: not isinstance(member, Constant), unknown_becomes=UNKNOWN_TENSOR
                )
            return True
        case _:
            return True


def _elements(site: Site, given: int, *, truth: bool, every: bool) -> bool:
    """`all(isinstance(s, C) for s in structures)`, or `any`: narrows the elements of a tuple.

    If the answer is about some element only, it narrows a tuple of one.
    """
    frame = site.frame
    op = site.operation(given)
    test = _test_of_elements(site, op) if isinstance(op, ops.Comprehension) else None
    if not isinstance(op, ops.Comprehension) or test is None:
        return True
    known, cls = frame.values[op.iterable], frame.values[test.arguments[1].value]
    if not isinstance(known, TupleValue) or cls is None or (every is not truth and len(known.elements) != 1):
        return True
    becomes = _only_instance(site, cls) if truth else None
    narrowed: list[Value] = []
    for element in known.elements:
        kept = filter_members(element, lambda member: is_instance(site, member, cls) is not (not truth))
        if kept == BOTTOM:
            return False
        is_open = becomes is not None and any(isinstance(member, UnknownValue) for member in members(kept))
        narrowed.append(becomes if is_open and becomes is not None else kept)
    replace_value(site, op.iterable, TupleValue(tuple(narrowed)))
    return True


def _test_of_elements(site: Site, op: ops.Comprehension) -> ops.Call | None:
    """The `isinstance(x, C)` of `isinstance(x, C) for x in xs`."""
    stores = [each for each in op.body if isinstance(each, ops.StoreName)]
    collected = op.body[-1]
    if len(stores) != 1 or not isinstance(collected, ops.CollectElement):
        return None
    test = site.operation(collected.value)
    if not isinstance(test, ops.Call) or len(test.arguments) != 2:
        return None
    subject = site.operation(test.arguments[0].value)
    is_element = isinstance(subject, ops.LoadName) and subject.name == stores[0].name
    is_asked = site.frame.values[test.function] == LibraryValue(graph_traits.ISINSTANCE)
    return test if is_element and is_asked else None


def _only_instance(site: Site, cls: Value) -> Value | None:
    """An unknown value refined by `isinstance(x, cls)`; None if not refined."""
    if isinstance(cls, LibraryValue):
        if cls.name in TENSOR_CLASSES_OF_TESTS:
            return UNKNOWN_TENSOR
        return value_of_class(cls)
    if isinstance(cls, TupleValue) and all(isinstance(element, LibraryValue) for element in cls.elements):
        return None
    return None


def _narrow(site: Site, subject: int, keep: Callable[[Value], bool], *, unknown_becomes: Value | None = None) -> bool:
    """Drops alternatives of a variable or attribute; returns False if none is left."""
    frame = site.frame
    op = site.operation(subject)
    known = frame.values[subject]
    if known is None:
        return True
    narrowed = filter_members(known, keep)
    if unknown_becomes is not None and any(isinstance(member, UnknownValue) for member in members(narrowed)):
        narrowed = unknown_becomes
    if narrowed == BOTTOM:
        return False
    if narrowed != known:
        _store(frame, op, known, narrowed)
    return True


def replace_value(site: Site, subject: int, value: Value) -> None:
    """Replaces the value of a variable or attribute by a more precise one (`x.set_shape(...)`)."""
    frame = site.frame
    known = frame.values[subject]
    if known is not None and known != value:
        _store(frame, site.operation(subject), known, value)


def _store(frame: Frame, op: ops.Op | None, known: Value, narrowed: Value) -> None:
    """Sets the variable or attribute that operation `op` has read, if it still has the value that was read."""
    match op:
        case ops.LoadName(scope=ops.Scope.LOCAL):
            if frame.state.locals.get(op.name) == known:
                frame.state.locals[op.name] = narrowed
        case ops.LoadName(scope=ops.Scope.CELL):
            cell = frame.cells[op.name]
            if frame.state.get((cell, CELL)) == known:
                frame.state.set((cell, CELL), narrowed)
        case ops.LoadAttribute():
            owner = frame.value(op.object)
            if isinstance(owner, Reference) and frame.state.get((owner.object, EXISTS)) != FALSE:
                key = (owner.object, op.name)
                if frame.state.get(key) == known:
                    frame.state.set(key, narrowed)
        case _:
            pass
