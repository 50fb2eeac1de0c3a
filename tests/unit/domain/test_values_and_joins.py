"""Values: constants are told apart by type, joins keep what is sure, and no object that a value names is overlooked."""

from __future__ import annotations

import pytest

from terra_refactor.domain.dim import symbol
from terra_refactor.domain.lattice import MAX_ALTERNATIVES, join, join_all, references
from terra_refactor.domain.shape import meet_shapes
from terra_refactor.domain.value import (
    UNBOUND,
    BoundMethod,
    Constant,
    DatasetValue,
    LibraryValue,
    Origin,
    PartialValue,
    Reference,
    SequenceValue,
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
