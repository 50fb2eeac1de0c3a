"""NumPy's arithmetic with an argument that is an array, in TensorFlow: what TR310 reports fails in a graph, or is something else.

A traced function has a tensor in the place of the array. For each operator and dtype, TensorFlow says what a graph makes of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from terra_refactor.rules.graph_failures.conflicting_eager_coercion import OF_ARRAYS, refused_beside_number

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
DTYPES = ("bool", "uint8", "int32", "int64", "float32", "float64")


def outcome(function: Callable[..., Any], *given: Any) -> str | None:
    """The dtype of a result; None if there is none."""
    try:
        return str(getattr(function(*given), "dtype", "python")).replace("<dtype: '", "").replace("'>", "")
    except (TypeError, ValueError):
        return None
    except Exception as error:
        if "tensorflow" not in type(error).__module__:
            raise
        return None


def test_every_operator_is_looked_at() -> None:
    assert set(OPERATORS) == OF_ARRAYS - {"@"}


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("number", [2, 1.5])
def test_a_number_beside_an_array(symbol: str, number: float) -> None:
    import numpy as np  # noqa: PLC0415
    import tensorflow as tf  # noqa: PLC0415

    refused = {str(dtype) for dtype in refused_beside_number(is_float=isinstance(number, float))}
    for dtype in DTYPES:

        def compute(x: Any) -> Any:
            return OPERATORS[symbol](x, number)

        array = np.ones(3, dtype)
        eager, graph = outcome(compute, array), outcome(tf.function(compute, autograph=False), array)
        if eager is None:
            continue
        if dtype in refused:
            assert graph != eager, f"{dtype} {symbol} {number} is fine"
        elif (symbol, dtype) not in {
            ("**", "uint8"),
            ("/", "uint8"),
        }:  # no such kernel; float32 in the place of float64
            assert graph == eager, f"{dtype} {symbol} {number} is not reported"


@pytest.mark.parametrize("symbol", OPERATORS)
def test_two_arrays_of_different_dtypes(symbol: str) -> None:
    import numpy as np  # noqa: PLC0415
    import tensorflow as tf  # noqa: PLC0415

    for first in DTYPES:
        for second in DTYPES:
            given = np.ones(3, first), np.ones(3, second)
            eager = outcome(OPERATORS[symbol], *given)
            if first != second and eager is not None:
                graph = outcome(tf.function(OPERATORS[symbol], autograph=False), *given)
                assert graph != eager, f"{first} {symbol} {second} is fine"


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_tensor_beside_an_array_of_another_dtype(symbol: str, *, is_first: bool) -> None:
    """Eagerly the array becomes what the tensor is, where that loses nothing that is looked at; a graph has two tensors."""
    import numpy as np  # noqa: PLC0415
    import tensorflow as tf  # noqa: PLC0415

    apply = OPERATORS[symbol]
    for first in DTYPES:
        for second in DTYPES:
            if first == second or (symbol, first) == (
                "*",
                "bool",
            ):  # the product of bools is `logical_and`, which converts
                continue

            def compute(x: Any, dtype: str = first) -> Any:
                tensor = tf.ones(3, dtype)
                return apply(tensor, x) if is_first else apply(x, tensor)

            array = np.ones(3, second)
            eager = outcome(compute, array)
            if eager is not None:
                # `tf.ones(3) * flags` is even computed, as `logical_and`
                assert outcome(tf.function(compute, autograph=False), array) != eager, f"{first} {symbol} {second}"
