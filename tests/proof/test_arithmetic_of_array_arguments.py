"""NumPy's arithmetic with an argument that is an array, in TensorFlow: what TR310 reports fails in a graph, or is something else.

A traced function has a tensor in the place of the array. For each operator and dtype, TensorFlow says what a graph makes of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from terra_refactor.domain.dtype import DType
from terra_refactor.rules.graph_failures.conflicting_eager_coercion import (
    ABS,
    DIVIDED_AS_FLOAT32,
    REFUSED_ALONE,
    refused_beside_number,
    refused_together,
)
from terra_refactor.rules.meetings import OF_ARRAYS, OF_BITS, SHIFTS
from terra_refactor.tf_model.numpy_dtypes import numpy_promotion

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
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
DTYPES = ("bool", "uint8", "int32", "int64", "float32", "float64")
ALL_DTYPES = (*DTYPES, "int8", "int16", "uint16", "uint32", "uint64", "float16")


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
    assert set(OPERATORS) == (OF_ARRAYS | SHIFTS | OF_BITS) - {"@"}


def refused_by_tensorflow(compute: Callable[[Any], Any]) -> set[str]:
    """The dtypes of arrays whose result is another in a graph, which gets a tensor."""
    import numpy as np  # noqa: PLC0415
    import tensorflow as tf  # noqa: PLC0415

    found = set()
    for dtype in ALL_DTYPES:
        eager = outcome(compute, np.ones(3, dtype))
        if eager is not None and outcome(tf.function(compute, autograph=False), np.ones(3, dtype)) != eager:
            found.add(dtype)
    return found


def possible(compute: Callable[[Any], Any]) -> set[str]:
    """The dtypes of arrays for which NumPy computes it."""
    import numpy as np  # noqa: PLC0415

    return {dtype for dtype in ALL_DTYPES if outcome(compute, np.ones(3, dtype)) is not None}


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("number", [2, 1.5])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_number_beside_an_array(symbol: str, number: float, *, is_first: bool) -> None:
    def compute(x: Any) -> Any:
        return OPERATORS[symbol](*((x, number) if is_first else (number, x)))

    is_float = isinstance(number, float)
    refused = set(map(str, refused_beside_number(symbol, is_float=is_float)))
    if symbol == "/" and not is_float:
        refused |= set(map(str, DIVIDED_AS_FLOAT32))
    assert refused & possible(compute) == refused_by_tensorflow(compute)


@pytest.mark.parametrize("symbol", OPERATORS)
def test_two_arrays_of_the_same_dtype(symbol: str) -> None:
    def compute(x: Any) -> Any:
        return OPERATORS[symbol](x, x)

    refused = set(map(str, refused_together(symbol) | (DIVIDED_AS_FLOAT32 if symbol == "/" else frozenset())))
    assert refused & possible(compute) == refused_by_tensorflow(compute)


@pytest.mark.parametrize(
    ("symbol", "apply"), [("-", operator.neg), ("+", operator.pos), ("~", operator.inv), (ABS, abs)]
)
def test_one_array(symbol: str, apply: Callable[[Any], Any]) -> None:
    refused = set(map(str, REFUSED_ALONE.get(symbol, ())))
    assert refused & possible(apply) == refused_by_tensorflow(apply)


@pytest.mark.parametrize("symbol", ["+", "*", "<"])
def test_an_array_of_the_function_beside_an_argument(symbol: str) -> None:
    """It becomes a tensor of the argument's dtype, so the result is NumPy's only if that is the common dtype."""
    import numpy as np  # noqa: PLC0415
    import tensorflow as tf  # noqa: PLC0415

    for first in DTYPES[1:]:
        for second in DTYPES[1:]:

            def compute(x: Any, own: str = second) -> Any:
                return OPERATORS[symbol](x, np.full(3, 1.5).astype(own))

            array = np.ones(3, first)
            eager, graph = compute(array), tf.function(compute, autograph=False)(array)
            same = str(eager.dtype) == graph.dtype.name and np.array_equal(eager, np.asarray(graph))
            if numpy_promotion(DType(first), DType(second)) == DType(first):
                assert same, (first, second)
            elif symbol != "<":
                assert not same, (first, second)


@pytest.mark.parametrize("symbol", sorted(OF_ARRAYS - {"@"}))
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


@pytest.mark.parametrize("symbol", sorted(OF_ARRAYS - {"@"}))
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
