"""Values: constants are told apart by type, joins keep what is sure, and no object that a value names is overlooked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from terra_refactor.domain.dim import OpenDim, Why, symbol
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.lattice import MAX_ALTERNATIVES, MAX_VALUE_DEPTH, join, join_all, references, widen
from terra_refactor.domain.shape import meet_shapes
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    BOTTOM,
    UNBOUND,
    BoundMethod,
    Constant,
    DatasetValue,
    FrozenDict,
    LibraryValue,
    Origin,
    PartialValue,
    PythonType,
    Reference,
    Scalar,
    SequenceValue,
    SpecValue,
    TensorKind,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
    members,
)


def test_constants_of_another_type_are_others() -> None:
    assert len({Constant(1), Constant(True), Constant(1.0), Constant(1)}) == 3
    assert Constant(1) != Constant(True)
    assert Constant(0) != Constant(0.0)
    assert isinstance(join(Constant(1), Constant(True)), UnionValue)


def test_the_origin_of_what_is_unknown_stays_if_it_is_the_same() -> None:
    one, other = Origin("parameter", "x"), Origin("parameter", "y")
    assert join(UnknownValue(True, one), UnknownValue(False, one)) == UnknownValue(True, one)
    assert join(UnknownValue(True, one), UnknownValue(True, other)) == UnknownValue(True)


def test_what_may_be_unset_stays_so_among_too_many_alternatives() -> None:
    many: list[Value] = [LibraryValue(f"example.f{number}") for number in range(MAX_ALTERNATIVES + 2)]
    assert isinstance(join_all(many), UnknownValue)
    assert UNBOUND in members(join_all([*many, UNBOUND]))


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (BoundMethod(Reference(1), Reference(2)), {1, 2}),
        (SequenceValue(Reference(3)), {3}),
        (DatasetValue(Reference(4)), {4}),
        (PartialValue(Reference(5), (Reference(6),), (("a", Reference(7)),)), {5, 6, 7}),
        (UnionValue((Reference(8), BoundMethod(LibraryValue("example.f"), Reference(9)))), {8, 9}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_the_objects_that_a_value_names(value: Value, named: set[int]) -> None:
    assert references(value) == named


def test_the_known_size_of_two_shapes_is_met_with() -> None:
    assert meet_shapes((None, 3), (2, None)) == (2, 3)
    assert meet_shapes((3,), (4,)) == (3,)
    assert meet_shapes((symbol("N"),), (4,)) == meet_shapes((4,), (symbol("N"),)) == (4,)
    assert meet_shapes(None, (4,)) == (4,)


TEXT, NUMBER = Scalar(PythonType.STR), Scalar(PythonType.INT)


@pytest.mark.parametrize(
    ("left", "right", "rest"),
    [
        (None, None, None),
        (TEXT, None, TEXT),
        (None, NUMBER, NUMBER),
        (TEXT, NUMBER, join(TEXT, NUMBER)),
    ],
)
def test_values_under_unknown_keys_are_those_of_both_dicts(
    left: Value | None, right: Value | None, rest: Value | None
) -> None:
    joined = join(FrozenDict(((Constant("a"), TEXT),), left), FrozenDict(((Constant("a"), TEXT),), right))
    assert joined == FrozenDict(((Constant("a"), TEXT),), rest)


def test_specs_of_one_kind_are_joined_and_others_are_alternatives() -> None:
    two, three = (SpecValue(TensorType(DType("float32"), (size, 2))) for size in (2, 3))
    joined = join(two, three)
    assert isinstance(joined, SpecValue)
    assert joined.type.shape is not None and joined.type.shape[1] == 2 and joined.type.shape[0] not in (2, 3)
    assert len(members(join(two, SpecValue(three.type, TensorKind.RAGGED)))) == 2


def test_partial_calls_that_differ_in_marks_only_are_one() -> None:
    closed = PartialValue(LibraryValue("example.f"), (Scalar(PythonType.INT),), ())
    opened = PartialValue(
        LibraryValue("example.f"), (Scalar(PythonType.INT, dim=OpenDim(None, 1, next(iter(Why)))),), ()
    )
    assert join(closed, opened) == opened
    assert len(members(join(closed, PartialValue(LibraryValue("example.g"), (Scalar(PythonType.INT),), ())))) == 2


@pytest.mark.parametrize(
    "wrap",
    [lambda inner: FrozenDict(((Constant("a"), inner),)), lambda inner: TupleValue((inner,))],
    ids=["dict", "tuple"],
)
def test_structures_are_widened_to_unknown_at_one_depth(wrap: Callable[[Value], Value]) -> None:
    def nested(depth: int) -> Value:
        value: Value = Constant(1)
        for _ in range(depth):
            value = wrap(value)
        return value

    def unknown(value: Value) -> bool:
        while isinstance(value, FrozenDict | TupleValue):
            value = value.items[0][1] if isinstance(value, FrozenDict) else value.elements[0]
        return isinstance(value, UnknownValue)

    assert not unknown(widen(BOTTOM, nested(MAX_VALUE_DEPTH)))
    assert unknown(widen(BOTTOM, nested(MAX_VALUE_DEPTH + 1)))
