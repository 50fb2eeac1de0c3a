"""Operators and indexing of tensors against TensorFlow, and of arrays against NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from harness import Call, Row, broadcastable, check_row, row_id, shapes, specs
from hypothesis import strategies as st

from terra_refactor.domain.value import Value
from terra_refactor.tf_model.ops.operators import compare_rule, index_rule, operator_rule, unary_rule
from terra_refactor.tf_model.spec import BoundCall, OperationRule

pytestmark = pytest.mark.tensorflow

TENSORS = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int8",
    "int32",
    "int64",
    "uint8",
    "bool",
    "string",
    "complex64",
)
ARRAYS = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32", "bool", "complex64")
PYTHON: list[Any] = [1, -3, 2.5, True, 1j, "a", [1, 2], [1.5], [[1.0], [2.0]]]
COERCED = "eager code and graphs coerce arrays and Python values of another kind differently"

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@st.composite
def tensor_operands(draw: st.DrawFn) -> Call:
    left, right = draw(broadcastable())
    dtype = draw(st.sampled_from(TENSORS))
    first: Any = draw(specs(left, dtype))
    second: Any = draw(specs(right, dtype if draw(st.integers(0, 5)) else draw(st.sampled_from(TENSORS))))
    mode = draw(st.integers(0, 5))
    if mode == 0:
        second = draw(st.sampled_from(PYTHON))
    elif mode == 1:
        first = draw(st.sampled_from(PYTHON))
    elif mode == 2:
        second = np.ones(right, draw(st.sampled_from(ARRAYS)))
    elif mode == 3 and draw(st.booleans()):
        first = np.ones(left, draw(st.sampled_from(ARRAYS)))
    return Call({"left": first, "right": second})


@st.composite
def array_operands(draw: st.DrawFn) -> Call:
    left, right = draw(broadcastable(max_rank=3))
    first: Any = np.ones(left, draw(st.sampled_from(ARRAYS)))
    second: Any = np.ones(right, draw(st.sampled_from(ARRAYS)))
    mode = draw(st.integers(0, 3))
    if mode == 0:
        second = draw(st.sampled_from([1, 2.5, True, 1j, [1, 2], [1.5]]))
    elif mode == 1:
        first = draw(st.sampled_from([1, 2.5, True, 1j]))
    return Call({"left": first, "right": second})


@st.composite
def matrix_operands(draw: st.DrawFn, array: bool) -> Call:
    rows, inner, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    left_batch, right_batch = draw(broadcastable(max_rank=1))
    left, right = (*left_batch, rows, inner), (*right_batch, inner, columns)
    if draw(st.integers(0, 3)) == 0:
        right = draw(shapes(max_rank=3))
    if array and draw(st.booleans()):
        left = (inner,)
    if array:
        return Call({"left": np.ones(left, "float32"), "right": np.ones(right, "float64")})
    return Call({"left": draw(specs(left, "float32")), "right": draw(specs(right, "float32"))})


bounds = st.one_of(st.none(), st.integers(-5, 5))
steps = st.sampled_from([None, None, 1, 2, -1, -2])


@st.composite
def indices(draw: st.DrawFn, array: bool) -> Call:
    data = draw(specs(shapes(zero=True), "float32"))
    basic = st.one_of(
        st.integers(-2, 2), st.builds(slice, bounds, bounds, steps), st.just(None), st.builds(slice, st.none())
    )
    parts: list[Any] = draw(st.lists(basic, max_size=len(data.shape) + (draw(st.integers(0, 5)) == 0)))
    if draw(st.integers(0, 2)) == 0:
        parts.insert(draw(st.integers(0, len(parts))), ...)
    index: Any = parts[0] if len(parts) == 1 else tuple(parts)
    if array:
        if draw(st.booleans()) and parts:
            parts[draw(st.integers(0, len(parts) - 1))] = draw(
                st.sampled_from([[0], np.zeros([2, 1], "int64"), [0, 0, 0]])
            )
            index = tuple(parts)
        return Call({"value": np.ones(data.shape, "float32"), "index": index})
    mode = draw(st.integers(0, 9))
    if mode == 0 and data.shape:
        index = draw(specs(data.shape[:1], "bool"))
    elif mode == 1:
        index = draw(specs((), "int32"))
    return Call({"value": data, "index": index})


def binary(rule: Callable[[str, Value, Value], Value], symbol: str) -> OperationRule:
    return lambda call: rule(symbol, call.arguments["left"], call.arguments["right"])


def indexed(call: BoundCall) -> Value:
    return index_rule(call.arguments["value"], call.arguments["index"])


ROWS = [
    *[
        Row(
            f"operator {symbol}",
            tensor_operands(),
            function=function,
            rule=binary(operator_rule, symbol),
            misses_errors=COERCED,
        )
        for symbol, function in ARITHMETIC.items()
    ],
    *[
        Row(
            f"operator {symbol}",
            tensor_operands(),
            function=function,
            rule=binary(compare_rule, symbol),
            misses_errors=COERCED,
        )
        for symbol, function in COMPARISONS.items()
    ],
    *[
        Row(
            f"array {symbol}",
            array_operands(),
            function=function,
            rule=binary(operator_rule, symbol),
            misses_errors="",
            imprecise="rare pairs of dtypes",
        )
        for symbol, function in ARITHMETIC.items()
        if symbol in ("+", "*", "/")
    ],
    *[
        Row(f"array {symbol}", array_operands(), function=function, rule=binary(compare_rule, symbol))
        for symbol, function in COMPARISONS.items()
        if symbol in ("<", "==")
    ],
    Row("operator @", matrix_operands(False), function=operator.matmul, rule=binary(operator_rule, "@")),
    Row("array @", matrix_operands(True), function=operator.matmul, rule=binary(operator_rule, "@")),
    Row(
        "index",
        indices(False),
        function=operator.getitem,
        rule=indexed,
        imprecise="masks of unknown rank",
        misses_errors="bounds of masks",
    ),
    Row(
        "array index", indices(True), function=operator.getitem, rule=indexed, misses_errors="contents of index arrays"
    ),
    Row(
        "operator -x",
        specs(shapes(), TENSORS).map(lambda spec: Call({"value": spec})),
        function=operator.neg,
        rule=lambda call: unary_rule("-", call.arguments["value"]),
    ),
    Row(
        "operator ~x",
        specs(shapes(), TENSORS).map(lambda spec: Call({"value": spec})),
        function=operator.invert,
        rule=lambda call: unary_rule("~", call.arguments["value"]),
    ),
    Row(
        "abs",
        specs(shapes(), ("float32", "int32", "complex64")).map(lambda spec: Call({"value": spec})),
        function=abs,
        rule=lambda call: unary_rule("abs", call.arguments["value"]),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_agrees_with_tensorflow(row: Row) -> None:
    check_row(row)
