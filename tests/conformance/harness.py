"""Compares a rule with TensorFlow itself on generated arguments.

A `Row` names a rule and draws the arguments of one call: tensors as `Spec` (the true shape, and its part visible to
the analysis), everything else as plain Python values. `check_row` binds the call like the interpreter, applies the
rule, and traces the same call in TensorFlow twice: with placeholders that have only the visible shapes, and with
placeholders of the true shapes.

- The rule's dtypes, ranks and sizes may never contradict the true ones, and must be at least as precise as
  TensorFlow's own inference on the same partial shapes (unless the row is marked `imprecise`).
- The rule's result with one argument, or one part of one, unknown may not contradict the truth either.
- If the rule raises, TensorFlow must raise on the true shapes; if TensorFlow raises on the true shapes, a rule that
  saw them all must raise, too (unless the row is marked `misses_errors`).
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import EllipsisType
from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_answers import Harness
from tensorflow.python.framework import func_graph

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    DTypeValue,
    FrozenDict,
    FrozenList,
    ShapeValue,
    SliceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model.registry import lookup
from terra_refactor.tf_model.spec import BoundCall, OperationError, OperationRule

EXAMPLES = int(os.environ.get("TERRA_CONFORMANCE_EXAMPLES", "12"))
"""Generated calls per rule."""

FAILURES = (ValueError, TypeError, IndexError, NotImplementedError, AttributeError, tf.errors.OpError)
"""The exceptions with which TensorFlow and NumPy reject a call."""

NOT_FORESEEN = frozenset({"operator ==", "operator !="})
"""Operators for which TensorFlow's own inference on partial shapes may differ from the truth."""


TRACES = Harness("conformance", (Path(__file__),))
"""The dtypes and shapes that TensorFlow infers for a call, or that it fails."""


@dataclass(frozen=True)
class Spec:
    """A tensor argument: its true type, and the visible shape."""

    dtype: str
    shape: tuple[int, ...]
    visible: tuple[int | None, ...] | None


@dataclass(frozen=True)
class Call:
    """The arguments of one generated call; `receiver` for a method."""

    arguments: Mapping[str, Any]
    receiver: Any = None
    extra: tuple[Any, ...] = ()
    """Arguments bound to `*args`; the arguments are then passed by position."""


@dataclass(frozen=True)
class Row:
    """One rule and how to call it."""

    name: str
    """Canonical name."""
    calls: st.SearchStrategy[Call]
    imprecise: str = ""
    """Why the rule may be less precise than TensorFlow, if it may."""
    misses_errors: str = ""
    """Why the rule may overlook a failure, if it may."""
    function: Callable[..., Any] | None = None
    """The function to call in TensorFlow; by default the one with that name."""
    rule: OperationRule | None = None
    """By default that of the registry."""
    label: str = ""


@dataclass
class Outcome:
    """Observations of one row."""

    agreed: int = 0
    less_precise: int = 0
    both_failed: int = 0
    overlooked: int = 0
    note: str = ""
    """The known imprecision, from the row's table."""


OUTCOMES: dict[str, Outcome] = {}
"""Observations of the rows that ran in this process, by row."""


# --- strategies -----------------------------------------------------------------------------------------------------------------

FLOATS = ("float32", "float32", "float64")
NUMBERS = ("float32", "float32", "float64", "int32", "int64")

sizes = st.integers(min_value=1, max_value=4)


@st.composite
def shapes(draw: st.DrawFn, min_rank: int = 0, max_rank: int = 4, zero: bool = False) -> tuple[int, ...]:
    """A shape of small sizes."""
    low = 0 if zero else 1
    return tuple(draw(st.lists(st.integers(low, 4), min_size=min_rank, max_size=max_rank)))


@st.composite
def specs(
    draw: st.DrawFn,
    shape: st.SearchStrategy[tuple[int, ...]] | tuple[int, ...] | None = None,
    dtypes: tuple[str, ...] | str = FLOATS,
    hide: bool = True,
) -> Spec:
    """A tensor; some of its sizes, or its rank, are hidden if `hide`."""
    true = shape if isinstance(shape, tuple) else draw(shapes() if shape is None else shape)
    dtype = dtypes if isinstance(dtypes, str) else draw(st.sampled_from(dtypes))
    visible: tuple[int | None, ...] | None = true
    if hide:
        mode = draw(st.sampled_from(("all", "all", "some", "some", "rank")))
        if mode == "some":
            visible = tuple(None if draw(st.booleans()) else size for size in true)
        elif mode == "rank" and draw(st.booleans()):
            visible = None
    return Spec(dtype, true, visible)


@st.composite
def broadcastable(draw: st.DrawFn, count: int = 2, max_rank: int = 4) -> list[tuple[int, ...]]:
    """Shapes that usually broadcast against each other."""
    whole = draw(shapes(max_rank=max_rank))
    found = []
    for _ in range(count):
        part = whole[draw(st.integers(0, len(whole))) :]
        found.append(tuple(1 if draw(st.integers(0, 3)) == 0 else size for size in part))
    if draw(st.integers(0, 5)) == 0:
        found[-1] = draw(shapes(max_rank=max_rank))
    return found


def calls(**arguments: Any) -> st.SearchStrategy[Call]:
    """Calls whose arguments are drawn independently; arguments that are not strategies are constants."""
    drawn = {
        name: value if isinstance(value, st.SearchStrategy) else st.just(value) for name, value in arguments.items()
    }
    return st.fixed_dictionaries(drawn).map(Call)


# --- from Python to abstract values ---------------------------------------------------------------------------------------------


def to_value(argument: Any, *, visible: bool = True) -> Value:
    """The abstract value of a generated argument."""
    match argument:
        case Spec(dtype, shape, seen):
            return TensorValue(TensorType(DType(dtype), seen if visible else shape))
        case None | bool() | int() | float() | complex() | str() | bytes():
            return Constant(argument)
        case tf.DType():
            return DTypeValue(DType(argument.name))
        case tf.TensorShape():
            return ShapeValue(None if argument.rank is None else tuple(argument.as_list()))
        case np.ndarray():
            return TensorValue(TensorType(DType(argument.dtype.name), argument.shape), TensorKind.NDARRAY)
        case np.generic():
            return TensorValue(TensorType(DType(argument.dtype.name), ()), TensorKind.NUMPY_SCALAR)
        case slice():
            return SliceValue(to_value(argument.start), to_value(argument.stop), to_value(argument.step))
        case EllipsisType():
            return Constant(argument)
        case tuple():
            return TupleValue(tuple(to_value(item, visible=visible) for item in argument))
        case list():
            return FrozenList(tuple(to_value(item, visible=visible) for item in argument))
        case dict():
            return FrozenDict(tuple((to_value(key), to_value(item, visible=visible)) for key, item in argument.items()))
        case _:
            return UnknownValue()


def _to_placeholder(argument: Any, *, visible: bool) -> Any:
    match argument:
        case Spec(dtype, shape, seen):
            return tf.compat.v1.placeholder(dtype, seen if visible else shape)
        case tuple() if type(argument) is tuple:
            return tuple(_to_placeholder(item, visible=visible) for item in argument)
        case list():
            return [_to_placeholder(item, visible=visible) for item in argument]
        case dict():
            return {key: _to_placeholder(item, visible=visible) for key, item in argument.items()}
        case _:
            return argument


# --- the comparison -------------------------------------------------------------------------------------------------------------


def _bound(row: Row, call: Call, *, visible: bool) -> BoundCall:
    arguments: dict[str, Value] = {}
    entity = lookup(row.name)
    if entity is not None and entity.parameters is not None:
        for parameter in entity.parameters:
            if parameter.default is not None and parameter.name not in call.arguments:
                arguments[parameter.name] = parameter.default
    for name, argument in call.arguments.items():
        arguments[name] = to_value(argument, visible=visible)
    receiver = None if call.receiver is None else to_value(call.receiver, visible=visible)
    extra = tuple(to_value(argument, visible=visible) for argument in call.extra)
    return BoundCall(row.name, arguments, extra, receiver=receiver)


def rule_of(row: Row) -> OperationRule:
    """The rule of a row."""
    if row.rule is not None:
        return row.rule
    entity = lookup(row.name)
    assert entity is not None and entity.rule is not None, f"no rule for {row.name}"
    return entity.rule


def _function_of(row: Row) -> Callable[..., Any]:
    if row.function is not None:
        return row.function
    found: Any = tf
    for part in row.name.split(".")[1:]:
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _trace(row: Row, call: Call, *, visible: bool) -> Any:
    """TensorFlow's inference, stored if the call can be represented as text; an exception instance if it fails."""
    question = _question(row, call)
    if question is None:
        return _traced(row, call, visible=visible)
    answer = TRACES.answer(f"{question} {visible}", lambda: _in_words(_traced(row, call, visible=visible)))
    return RuntimeError(answer) if answer.startswith("!") else ast.literal_eval(answer)


def _question(row: Row, call: Call) -> str | None:
    """The call as a text; None if it cannot represent everything: functions of these tests, objects, long arrays."""
    function = row.name
    if row.function is not None:
        module, name = getattr(row.function, "__module__", "") or "", getattr(row.function, "__qualname__", "<")
        if module.partition(".")[0] not in ("_operator", "builtins", "keras", "tensorflow") or "<" in name:
            return None
        function = f"{row.name} {module}.{name}"
    text = f"{function} {call!r} {row.rule is not None}"
    return None if " at 0x" in text or "..." in text else text


def _in_words(found: Any) -> str:
    return f"!{type(found).__name__}" if isinstance(found, Exception) else repr(found)


def _traced(row: Row, call: Call, *, visible: bool) -> Any:
    with func_graph.FuncGraph("conformance").as_default():
        try:
            return _described(_apply(row, call, lambda argument: _to_placeholder(argument, visible=visible)))
        except FAILURES as error:
            return error


def _apply(row: Row, call: Call, convert: Callable[[Any], Any]) -> Any:
    function = _function_of(row)
    given = {name: convert(argument) for name, argument in call.arguments.items()}
    with warnings.catch_warnings():
        # casts and divisions by zero of generated values are expected
        warnings.simplefilter("ignore")
        if call.receiver is not None:
            return function(convert(call.receiver), **given)
        if call.extra or row.rule is not None:
            return function(*given.values(), *(convert(argument) for argument in call.extra))
        return function(**given)


def _fails_when_run(row: Row, call: Call) -> bool:
    """Whether the call fails in eager code on tensors of ones (shape inference of graphs leaves some checks to the kernels)."""
    try:
        _apply(row, call, _to_tensor)
    except FAILURES:
        return True
    return False


def _to_tensor(argument: Any) -> Any:
    match argument:
        case Spec("string", shape):
            return tf.fill(shape, "a")
        case Spec(dtype, shape):
            return tf.cast(tf.ones(shape), dtype)
        case tuple() if type(argument) is tuple:
            return tuple(_to_tensor(item) for item in argument)
        case list():
            return [_to_tensor(item) for item in argument]
        case dict():
            return {key: _to_tensor(item) for key, item in argument.items()}
        case _:
            return argument


def _described(found: Any) -> Any:
    """The result as nested tuples of (dtype, shape), with None for other values."""
    if isinstance(found, tuple | list):
        return tuple(_described(item) for item in found)
    if isinstance(found, dict):
        return {key: _described(item) for key, item in found.items()}
    if isinstance(found, tf.Tensor | tf.Variable):
        return (found.dtype.base_dtype.name, None if found.shape.rank is None else tuple(found.shape.as_list()))
    if isinstance(found, np.ndarray | np.generic):
        return (found.dtype.name, found.shape)
    return None


def _is_leaf(expected: Any) -> bool:
    return isinstance(expected, tuple) and len(expected) == 2 and isinstance(expected[0], str)


def _contradiction(got: Value, expected: Any, path: str = "") -> str | None:
    """Where the rule's result contradicts the true one."""
    if expected is None or isinstance(got, UnknownValue):
        return None
    if _is_leaf(expected):
        if not isinstance(got, TensorValue):
            return f"{path}: {got} is no tensor, TensorFlow gives {expected}"
        dtype, shape = expected
        if got.type.dtype is not None and got.type.dtype != dtype:
            return f"{path}: dtype {got.type.dtype}, TensorFlow gives {dtype}"
        return _shape_contradiction(got.type.shape, shape, path)
    children = _children(got)
    if children is None:
        return None if isinstance(got, FrozenList) else f"{path}: {got} is no structure, TensorFlow gives {expected}"
    wanted = list(expected.values()) if isinstance(expected, dict) else list(expected)
    if len(children) != len(wanted):
        return f"{path}: {len(children)} elements, TensorFlow gives {len(wanted)}"
    for number, (child, part) in enumerate(zip(children, wanted, strict=True)):
        problem = _contradiction(child, part, f"{path}[{number}]")
        if problem is not None:
            return problem
    return None


def _children(value: Value) -> tuple[Value, ...] | None:
    match value:
        case TupleValue(elements):
            return elements
        case FrozenList(elements):
            return elements
        case FrozenDict(items):
            return tuple(item for _, item in items)
        case _:
            return None


def _shape_contradiction(got: Shape, shape: tuple[int | None, ...] | None, path: str) -> str | None:
    if got is None or shape is None:
        return None
    if len(got) != len(shape):
        return f"{path}: shape {got}, TensorFlow gives {shape}"
    for ours, theirs in zip(got, shape, strict=True):
        if isinstance(ours, int) and theirs is not None and ours != theirs:
            return f"{path}: shape {got}, TensorFlow gives {shape}"
    return None


def _less_precise(got: Value, expected: Any, path: str = "") -> str | None:
    """Where TensorFlow's own inference is more precise than the rule."""
    if expected is None:
        return None
    if _is_leaf(expected):
        dtype, shape = expected
        if not isinstance(got, TensorValue) or got.type.dtype is None:
            return f"{path}: {got}, TensorFlow knows {dtype}"
        if shape is None:
            return None
        if got.type.shape is None or any(
            _unknown(ours) and theirs is not None for ours, theirs in zip(got.type.shape, shape, strict=True)
        ):
            return f"{path}: shape {got.type.shape}, TensorFlow knows {shape}"
        return None
    children = _children(got)
    if children is None:
        return f"{path}: {got}, TensorFlow knows {expected}"
    wanted = list(expected.values()) if isinstance(expected, dict) else list(expected)
    for number, (child, part) in enumerate(zip(children, wanted, strict=True)):
        problem = _less_precise(child, part, f"{path}[{number}]")
        if problem is not None:
            return problem
    return None


def _unknown(dim: Dim) -> bool:
    return dim is None


def blinded(call: BoundCall) -> Iterator[tuple[str, BoundCall]]:
    """The call with one argument, or one part of one, unknown; each with a description."""
    for name, value in call.arguments.items():
        for path, other in _without(value, name):
            yield path, replace(call, arguments={**call.arguments, name: other})
    for number, value in enumerate(call.extra_arguments):
        for path, other in _without(value, f"*[{number}]"):
            yield (
                path,
                replace(
                    call, extra_arguments=(*call.extra_arguments[:number], other, *call.extra_arguments[number + 1 :])
                ),
            )
    if call.receiver is not None:
        yield "receiver", replace(call, receiver=UNKNOWN)


def _without(value: Value, path: str) -> Iterator[tuple[str, Value]]:
    yield path, UNKNOWN
    match value:
        case TensorValue(type=known):
            yield f"dtype and shape of {path}", replace(value, type=TensorType(None, None))
            yield f"dtype of {path}", replace(value, type=TensorType(None, known.shape))
        case TupleValue(elements) | FrozenList(elements):
            for number, element in enumerate(elements):
                for inner, other in _without(element, f"{path}[{number}]"):
                    yield inner, replace(value, elements=(*elements[:number], other, *elements[number + 1 :]))
        case _:
            pass


def check_unknown(
    rule: OperationRule, call: BoundCall, contradicts: Callable[[Value], str | None], described: str
) -> None:
    """Raises AssertionError if a rule's result is more precise than possible when a part of the call is unknown."""
    for path, other in blinded(call):
        try:
            got = rule(other)
        except OperationError as error:
            raise AssertionError(f"{described}, {path} unknown: the rule fails ({error.message})") from error
        problem = contradicts(got)
        assert problem is None, f"{described}, {path} unknown: {problem}"


def compare(row: Row, call: Call, outcome: Outcome) -> None:
    """Judges one generated call; raises AssertionError where the rule and TensorFlow differ."""
    rule = rule_of(row)
    true = _trace(row, call, visible=False)
    for visible in (True, False):
        described = f"{row.name}{dict(call.arguments)} visible={visible}"
        try:
            got = rule(_bound(row, call, visible=visible))
        except OperationError as error:
            failed = isinstance(true, Exception) or _fails_when_run(row, call)
            assert failed, f"{described}: the rule fails ({error.message}), TensorFlow gives {true}"
            outcome.both_failed += 1
            continue
        if isinstance(true, Exception):
            outcome.overlooked += 1
            if not visible and not row.misses_errors:
                raise AssertionError(f"{described}: the rule gives {got}, TensorFlow fails: {true}")
            continue
        expected = _trace(row, call, visible=True) if visible else true
        problem = _contradiction(got, true)
        if problem is not None and not isinstance(expected, Exception):
            # `==` of tensors that turn out to be incompatible is False, which TensorFlow's inference does not predict
            # either
            problem = _contradiction(got, expected) or (None if visible and row.name in NOT_FORESEEN else problem)
        assert problem is None, f"{described}: {problem}"
        if not visible:
            check_unknown(rule, _bound(row, call, visible=False), lambda found: _contradiction(found, true), described)
        if isinstance(expected, Exception):
            continue
        lost = _less_precise(got, expected)
        if lost is not None:
            outcome.less_precise += 1
            assert row.imprecise, f"{described}: less precise: {lost}"
        else:
            outcome.agreed += 1


def check_row(row: Row) -> Outcome:
    """Runs the generated calls of a row. Raises AssertionError with the smallest call for which the rule is wrong."""
    outcome = OUTCOMES.setdefault(row_id(row), Outcome(note=row.imprecise or row.misses_errors))

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(row.calls)
    def run(call: Call) -> None:
        compare(row, call, outcome)

    run()
    return outcome


def row_id(row: Row) -> str:
    """The name of a row in the test report."""
    return row.label or row.name.removeprefix("tensorflow.")
