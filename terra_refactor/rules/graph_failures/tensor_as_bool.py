"""TR304: a tensor whose truth Python tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ObjectKind
from terra_refactor.domain.dtype import BOOL
from terra_refactor.domain.value import (
    Constant,
    FrozenDict,
    PythonType,
    Reference,
    Scalar,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.facts.records import Call, Choice, Container, Display, Operation, Region, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import BOOL_OF
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
NO_TENSOR: Final = "is a Python value that does not vary, and not a tensor"
"""Follows the name of a parameter, in place of the assumption that it is one or the other."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _numbers_that_decide(view)
    yield from _methods_that_decide(view)
    for branch in view.reached(Region):
        if branch.kind is not RegionKind.IF or branch.subject is None:
            continue
        if view.is_symbolic(branch.subject) and any(
            outer.kind is RegionKind.COMPREHENSION for outer in view.enclosing(branch.op)
        ):
            yield LocalHazard(
                branch.op, "the `if` of a comprehension tests the truth of a tensor: in a graph this raises"
            )
        if branch.is_assert and view.kind_of(branch) is BranchKind.TENSOR:
            yield LocalHazard(branch.op, "`assert` on a tensor: in a graph this raises")
    for operation in view.reached(Operation):
        if operation.symbol in ("in", "not in") and any(map(view.gives_symbolic, operation.sides)):
            message = f"`{operation.symbol}` compares a tensor as a Python bool: in a graph this raises"
            yield LocalHazard(operation.op, message)
        elif operation.right is not None and _compares_parts(view, operation.symbol, operation.left, operation.right):
            message = f"`{operation.symbol}` compares tensors in containers as Python bools: in a graph this raises"
            yield LocalHazard(operation.op, message)
        elif (noted := view.branches.get(operation.op)) is not None and noted.kind is BranchKind.TENSOR:
            message = f"`{operation.symbol}` tests the truth of a tensor that `__eq__` returns: in a graph this raises"
            yield LocalHazard(operation.op, message)
        elif operation.symbol in ("in", "not in") and not _is_of_texts(view, operation.right):
            yield from _of_unknown_argument(view, operation.op, operation.left)
    for call, name in view.library_calls():
        if name == BOOL_OF and call.first is not None and view.is_symbolic(call.first):
            yield LocalHazard(call.op, "`bool(...)` of a tensor: in a graph this raises")
        compared = _compared(view, call, name)
        if compared is not None:
            yield LocalHazard(call.op, f"`{view.written(call.op)}` {compared}: in a graph this raises")
        elif (array := _compared_array(view, call, name)) is not None:
            message = f"`{view.written(call.op)}` compares the array `{array}` as a Python bool: a traced function gets a tensor for it"
            yield LocalHazard(call.op, message, parameter=array)
        elif has_trait(name, Trait.COMPARES_ARGUMENTS) or name == BOOL_OF:
            for given in call.positional:
                yield from _of_unknown_argument(view, call.op, given)


def _compares_parts(view: ContextView, symbol: str, left: OpId, right: OpId) -> bool:
    """Whether Python compares tensors as parts of tuples, lists, dicts or dataclass objects, and tests the results."""
    if symbol in ("in", "not in"):
        display = view.origin(right)
        is_sequence = isinstance(display, Display) and display.is_sequence
        return is_sequence and (_holds_tensors(view, left) or _holds_tensors(view, right))
    return symbol in _COMPARISONS and any(
        _holds_tensors(view, one)
        and view.all_of(other, lambda value: isinstance(value, TupleValue | Reference) and value != TupleValue(()))
        for one, other in ((left, right), (right, left))
    )


def _holds_tensors(view: ContextView, number: OpId) -> bool:
    """Whether it is a container, or a dataclass object that compares by value, made of tensors in this call."""
    if view.is_symbolic(number):
        return False
    made = view.origin(number)
    if not isinstance(made, Call) or isinstance(view.value(number), TupleValue):
        return view.holds_symbolic(number)
    objects = [view.facts.objects[each.object] for each in members(view.value(number)) if isinstance(each, Reference)]
    return (
        bool(objects)
        and all(any(outline.compares_fields for outline in view.codes.classes_named(each.name)) for each in objects)
        and any(view.is_symbolic(argument.value) for argument in made.arguments)
    )


def _of_unknown_argument(view: ContextView, at: OpId, number: OpId) -> Iterator[LocalHazard]:
    """An argument that may be anything, if Python tests the truth of a comparison with it."""
    name = view.parameter_behind(number)
    if name is not None and view.all_of(number, _may_be_tensor):
        yield LocalHazard(
            at,
            f"`{view.written(at)}` raises in a graph if `{name}` is a tensor",
            f"`{name}` {NO_TENSOR}",
        )


def _may_be_tensor(value: Value) -> bool:
    return isinstance(value, UnknownValue) and value.may_be_tensor


def _is_of_texts(view: ContextView, number: OpId | None) -> bool:
    """Whether a container holds only strings, or finds its items by hash: a membership test compares no tensors."""
    for member in () if number is None else members(view.value(number)):
        match member:
            case TupleValue(elements):
                is_of_texts = all(isinstance(each, Constant) and isinstance(each.value, str) for each in elements)
            case FrozenDict():
                is_of_texts = True
            case Reference():
                is_of_texts = view.object_kind(member) in (ObjectKind.DICT, ObjectKind.SET)
            case _:
                is_of_texts = False
        if not is_of_texts:
            return False
    return True


def _compared(view: ContextView, call: Call, name: str) -> str | None:
    """A text about the truth test of tensors that a call of a Python function makes, for example by comparing its
    arguments; None if it makes none.
    """
    compares = "compares tensors as Python bools"
    of_elements = has_trait(name, Trait.COMPARES_ELEMENTS)
    first = None if call.first is None else view.origin(call.first)
    display = first if isinstance(first, Display) else None
    if of_elements and len(call.arguments) == 1 and display is not None and display.is_sequence:
        if view.holds_symbolic(display.op):
            return compares
    if has_trait(name, Trait.COMPARES_ARGUMENTS) and len(call.positional) > 1:
        if any(map(view.gives_symbolic, call.positional)):
            return compares
    if not of_elements and not has_trait(name, Trait.COMPARES_RESULTS):
        return None
    asks = "tests the truth of tensors, or of comparisons"
    if display is not None and display.is_comprehension:
        if any(_is_compared(view, item.value) for item in display.items):
            return asks
    branch, fact = view.branches.get(call.op), view.calls.get(call.op)
    if branch is not None and branch.kind is BranchKind.TENSOR:
        return compares
    # `sorted(..., key=f)`, `filter(f, ...)`
    inner = [view.of(callee) for callee in (() if fact is None else fact.callees)]
    return asks if any(callee.is_symbolic(value) for callee in inner for _, value in callee.returns()) else None


def _compared_array(view: ContextView, call: Call, name: str) -> str | None:
    """The parameter with a number of NumPy that `max` or `min` compares with others; None if there is none."""
    if not has_trait(name, Trait.COMPARES_ARGUMENTS):
        return None
    display = None if call.first is None else view.origin(call.first)
    given = call.positional
    if len(given) == 1 and isinstance(display, Display) and display.is_sequence:
        given = tuple(item.value for item in display.items)
    found = (view.argument_behind(number) for number in given if len(given) > 1)
    return next((each for each in found if each is not None), None)


def _is_compared(view: ContextView, number: OpId) -> bool:
    """Whether it is a tensor, or a tuple whose first item is a tensor, which is compared first."""
    made = view.made(number)
    if isinstance(made, Display) and made.is_sequence and made.kind is not Container.SET and made.items:
        return _is_compared(view, made.items[0].value)
    return view.is_symbolic(number)


def _numbers_that_decide(view: ContextView) -> Iterator[LocalHazard]:
    """Conditions on tensors that are not bools: eagerly a nonzero value is true, but a graph accepts only bools."""
    for number in range(len(view.code.facts)):
        region, made = view.code.regions.get(number), view.code.facts[number]
        if region is not None and region.is_assert:
            continue
        asked = view.code.tested_by(number)
        if isinstance(made, Choice) and made.is_connective and view.is_symbolic(made.test):
            asked = made.results
        for each in asked:
            if not _can_be_number(view, each):
                continue
            message = f"`{view.written(each)}` is not a bool: in a graph a condition must be a bool tensor"
            certain = _is_number(view, each)
            yield LocalHazard(
                number, message, None if certain else f"`{view.written(each)}` is a bool if it is a tensor"
            )
            if certain:
                break


def _methods_that_decide(view: ContextView) -> Iterator[LocalHazard]:
    """`__bool__` and `__contains__` of the program's classes that return a tensor, or a number that a graph makes one."""
    for number, call in view.calls.items():
        for context in () if isinstance(view.made(number), Call) else call.callees:
            code = view.program.function(view.facts.contexts[context].function)
            callee = view.of(context) if code.name in ("__bool__", "__contains__") else None
            if callee is not None and any(callee.is_symbolic(value) for _, value in callee.returns()):
                message = f"`{code.qualname}` returns a tensor, whose truth Python tests: in a graph this raises"
                yield LocalHazard(number, message)
                break


def _can_be_number(view: ContextView, number: OpId) -> bool:
    """Whether it is a tensor, or a number that a graph makes one, that may have a dtype other than bool."""
    return view.gives_symbolic(number) and view.any_of(
        number,
        lambda member: (
            member.type.dtype != BOOL
            if isinstance(member, TensorValue)
            else isinstance(member, Scalar) and member.type is not PythonType.BOOL
        ),
    )


def _is_number(view: ContextView, number: OpId) -> bool:
    """Whether it certainly is a tensor of numbers or strings."""
    return view.gives_symbolic(number) and view.all_of(
        number,
        lambda member: (
            (isinstance(member, Scalar) and member.type is not PythonType.BOOL)
            or (isinstance(member, TensorValue) and member.type.dtype not in (None, BOOL))
        ),
    )


RULE: Final = Rule(
    id="TR304",
    name="tensor-as-bool",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`assert tensor`, `tensor in ...`, `bool(tensor)`, and conditions on tensors in code that is not converted, raise in a graph.",
    explanation=(
        "`OperatorNotAllowedInGraphError: Using a symbolic tf.Tensor as a Python bool is not allowed`. AutoGraph converts `if`, "
        "`while`, `for`, `and`, `or`, `not` and conditional expressions on tensors; it does not convert `assert` and `in`. It "
        "converts functions only through explicit calls: not properties, operators, `__getitem__`, `__enter__`, constructors, "
        "functions passed to `map`, `filter`, `sorted` or `functools.reduce`, methods that Keras 3 calls (`call` through "
        "`layer(x)`, `train_step`, losses), code under `do_not_convert` or `autograph=False`, nor anything that these call."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    assert tf.reduce_all(x > 0.0)  # TR304
    return x


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    tf.debugging.assert_positive(x)
    return x


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    assert x.shape[0] == 3
    if tf.reduce_all(x > 0.0) and not tf.reduce_any(x > 5.0):
        return x * 2.0
    return x


step(tf.ones([3]))
""",
    ),
    cure="Use `tf.debugging.assert_*`, `tf.reduce_any(tf.equal(...))`, or a condition that AutoGraph converts.",
    check=check,
    cured_by_shim=True,
)
