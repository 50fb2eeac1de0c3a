"""Python's own functions on constants, on values of known type, and on what could go wrong."""

from __future__ import annotations

import math
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from terra_refactor.domain.dim import add, symbol
from terra_refactor.domain.dtype import FLOAT32
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    UNKNOWN_FLOAT,
    UNKNOWN_INT,
    UNKNOWN_STR,
    Constant,
    FrozenList,
    PythonType,
    RangeValue,
    Scalar,
    ShapeValue,
    SliceValue,
    TensorValue,
    TupleValue,
    Value,
    as_symbolic,
)
from terra_refactor.tf_model.catalogue import value_of
from terra_refactor.tf_model.python_api import RULES
from terra_refactor.tf_model.registry import lookup
from terra_refactor.tf_model.spec import BoundCall, ParameterPassing


def call(name: str, *arguments: Value, receiver: Value | None = None, **keywords: Value) -> Value:
    """The result of a rule for a call that is bound as the interpreter does it."""
    entity = lookup(name)
    assert entity is not None and entity.rule is RULES[name]
    names = [
        parameter.name
        for parameter in entity.parameters or ()
        if parameter.passing in (ParameterPassing.POSITIONAL, ParameterPassing.POSITIONAL_ONLY)
    ]
    bound = dict(zip(names, arguments, strict=False))
    bound.update(keywords)
    for parameter in entity.parameters or ():
        if parameter.name not in bound and parameter.default is not None:
            bound[parameter.name] = parameter.default
    return RULES[name](BoundCall(name, bound, arguments[len(names) :], receiver=receiver))


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("builtins.len", ("abc",), 3),
        ("builtins.len", ((1, 2),), 2),
        ("builtins.int", (2.9,), 2),
        ("builtins.int", ("12", 8), 10),
        ("builtins.float", ("1.5",), 1.5),
        ("builtins.bool", ("",), False),
        ("builtins.str", (1.5,), "1.5"),
        ("builtins.abs", (-3,), 3),
        ("builtins.round", (2.567, 1), 2.6),
        ("builtins.round", (2.5,), 2),
        ("builtins.max", (1, 5, 3), 5),
        ("builtins.min", ((4, 2),), 2),
        ("builtins.pow", (2, 10), 1024),
        ("builtins.divmod", (7, 2), (3, 1)),
        ("math.ceil", (1.2,), 2),
        ("math.sqrt", (16,), 4.0),
        ("math.log", (8, 2), 3.0),
        ("math.gcd", (12, 18), 6),
        ("math.prod", ((2, 3, 4),), 24),
        ("math.factorial", (5,), 120),
        ("operator.mul", (3, 4), 12),
        ("os.path.join", ("a", "b", "c"), "a/b/c"),
    ],
)
def test_constants_are_computed(name: str, arguments: tuple[Any, ...], result: object) -> None:
    values = [value_of(argument) for argument in arguments]
    assert call(name, *(value for value in values if value is not None)) == value_of(result)


def test_methods_of_texts_are_computed() -> None:
    assert call("builtins.str.upper", receiver=Constant("abc")) == Constant("ABC")
    assert call("builtins.str.split", Constant(","), receiver=Constant("a,b")) == FrozenList(
        (Constant("a"), Constant("b"))
    )
    assert call("builtins.str.join", TupleValue((Constant("a"), Constant("b"))), receiver=Constant("-")) == Constant(
        "a-b"
    )
    assert call("builtins.str.replace", Constant("a"), Constant("b"), receiver=Constant("aa")) == Constant("bb")
    assert call("builtins.str.upper", receiver=UNKNOWN_STR) == UNKNOWN_STR


def test_the_order_in_which_arguments_were_bound_does_not_matter() -> None:
    bound = {"ndigits": Constant(1), "number": Constant(2.567)}
    assert RULES["builtins.round"](BoundCall("builtins.round", bound)) == Constant(2.6)
    close = {"abs_tol": Constant(1.0), "a": Constant(1.0), "b": Constant(1.5), "rel_tol": Constant(0.0)}
    assert RULES["math.isclose"](BoundCall("math.isclose", close)) == Constant(True)


def test_lengths_follow_shapes_and_symbols() -> None:
    n = symbol("n")
    assert call("builtins.len", TensorValue(TensorType(FLOAT32, (n, 3)))) == Scalar(PythonType.INT, n)
    assert call("builtins.len", TensorValue(TensorType(FLOAT32, None))) == UNKNOWN_INT
    assert call("builtins.len", ShapeValue((n, 3))) == Constant(2)
    assert call("builtins.len", FrozenList(None, UNKNOWN)) == UNKNOWN_INT
    assert call("builtins.len", RangeValue(Constant(0), Scalar(PythonType.INT, n), Constant(1))) == Scalar(
        PythonType.INT, n
    )
    assert call("builtins.len", UNKNOWN) == UNKNOWN_INT


def test_what_may_be_negative_does_not_keep_its_size() -> None:
    shorter = Scalar(PythonType.INT, add(symbol("n"), -5))
    assert call("builtins.abs", shorter) == UNKNOWN_INT
    assert call("builtins.len", RangeValue(Constant(0), shorter, Constant(1))) == UNKNOWN_INT
    assert call("builtins.abs", Scalar(PythonType.INT, symbol("n"))) == Scalar(PythonType.INT, symbol("n"))


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool))
def test_the_length_of_a_range(start: int, stop: int, step: int) -> None:
    value = RangeValue(Constant(start), Constant(stop), Constant(step))
    assert call("builtins.len", value) == Constant(len(range(start, stop, step)))


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["sqrt", "log", "exp", "sin", "floor"]))
def test_mathematics_is_pythons_own_or_unknown(number: float, name: str) -> None:
    try:
        expected: Value = Constant(getattr(math, name)(number))
    except (ValueError, OverflowError):
        expected = UNKNOWN_FLOAT
    result = call(f"math.{name}", Constant(number))
    assert result in (expected, UNKNOWN_INT if name == "floor" else UNKNOWN_FLOAT)


@pytest.mark.parametrize(
    ("name", "arguments", "otherwise"),
    [
        ("math.sqrt", (-1,), UNKNOWN_FLOAT),
        ("builtins.int", ("no number",), UNKNOWN_INT),
        ("builtins.pow", (10, 10**9), UNKNOWN),
        ("operator.mul", ("a", 10**9), UNKNOWN),
        ("math.factorial", (10**6,), UNKNOWN_INT),
        ("builtins.max", (1, "a"), UNKNOWN),
        ("builtins.chr", (-1,), UNKNOWN_STR),
    ],
)
def test_what_fails_or_is_large_is_not_computed(name: str, arguments: tuple[Any, ...], otherwise: Value) -> None:
    values = [value_of(argument) for argument in arguments]
    assert call(name, *(value for value in values if value is not None)) == otherwise


def test_text_padding_is_not_computed_when_it_is_large() -> None:
    assert call("builtins.str.center", Constant(10**9), receiver=Constant("a")) == UNKNOWN_STR
    assert call("builtins.str.zfill", Constant(4), receiver=Constant("7")) == Constant("0007")


def test_ranges_and_slices() -> None:
    assert call("builtins.range", Constant(3)) == RangeValue(Constant(0), Constant(3), Constant(1))
    assert call("builtins.slice", Constant(1), Constant(3)) == SliceValue(Constant(1), Constant(3), NONE)


def test_numbers_in_tensors_are_found() -> None:
    known = TensorValue(TensorType(FLOAT32, ()), content=Constant(2.5))
    assert call("builtins.int", known) == as_symbolic(Constant(2))
    assert call("builtins.float", TensorValue(TensorType(FLOAT32, ()))) == as_symbolic(UNKNOWN_FLOAT)


def test_every_rule_is_of_a_known_name_and_survives_unknown_arguments() -> None:
    for name, rule in RULES.items():
        entity = lookup(name)
        assert entity is not None, name
        assert entity.name == name
        unknown = {parameter.name: UNKNOWN for parameter in entity.parameters or ()}
        for arguments in ({}, unknown):
            for incomplete in (False, True):
                rule(BoundCall(name, arguments, receiver=UNKNOWN, incomplete=incomplete))
                rule(BoundCall(name, arguments, extra_arguments=(UNKNOWN, UNKNOWN), incomplete=incomplete))
