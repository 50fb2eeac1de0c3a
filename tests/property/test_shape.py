"""Laws of shapes: joins, meets and broadcasting, and of TensorFlow's reshape on sizes that are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from terra_refactor.domain.dim import (
    Dim,
    OpenDim,
    Truth,
    Why,
    add,
    chosen,
    eager,
    floor_divide,
    multiply,
    roots_of,
    symbol,
)
from terra_refactor.domain.roots import EVERYWHERE, inward, root_in_caller
from terra_refactor.domain.shape import (
    BroadcastError,
    Shape,
    broadcast,
    compatible,
    element_count,
    join_shapes,
    meet_shapes,
)
from terra_refactor.tf_model.keras.models import substitute
from terra_refactor.tf_model.shape_rules.indexing import slice_size
from terra_refactor.tf_model.shape_rules.reshaping import reshaped
from terra_refactor.tf_model.spec import OperationError

plain: st.SearchStrategy[int | None] = st.one_of(st.integers(0, 4), st.none())
roots = st.integers(1, EVERYWHERE)
open_sizes = st.builds(OpenDim, plain, roots, st.sampled_from(list(Why)), st.booleans())
sizes: st.SearchStrategy[Dim] = st.one_of(
    st.integers(0, 4), st.none(), st.sampled_from([symbol("n"), symbol("m")]), open_sizes
)
shapes: st.SearchStrategy[Shape] = st.one_of(st.none(), st.lists(sizes, max_size=4).map(tuple))
known = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@given(shapes, shapes, shapes)
def test_join_is_commutative_associative_and_idempotent(a: Shape, b: Shape, c: Shape) -> None:
    assert join_shapes(a, b) == join_shapes(b, a)
    assert join_shapes(join_shapes(a, b), c) == join_shapes(a, join_shapes(b, c))
    assert join_shapes(a, a) == a


@given(shapes, shapes)
def test_join_is_an_upper_bound(a: Shape, b: Shape) -> None:
    joined = join_shapes(a, b)
    assert join_shapes(joined, a) == joined
    assert join_shapes(joined, b) == joined


@given(shapes, shapes)
def test_a_join_is_open_where_a_side_is(a: Shape, b: Shape) -> None:
    joined = join_shapes(a, b)
    for size, first, second in zip(joined or (), a or (), b or (), strict=False):
        assert roots_of(size) == roots_of(first) | roots_of(second)


@given(sizes, sizes)
def test_arithmetic_computes_both_views(a: Dim, b: Dim) -> None:
    for function in (add, multiply, floor_divide):
        result = function(a, b)
        assert eager(result) == function(eager(a), eager(b))
        if not (function is multiply and 0 in (a, b)):
            assert roots_of(result) == roots_of(a) | roots_of(b)


@given(sizes, sizes)
def test_what_one_side_of_a_broadcast_fixes_is_fixed(a: Dim, b: Dim) -> None:
    try:
        (size,) = broadcast((a,), (b,)) or (None,)
    except BroadcastError:
        return
    if a != 1 and b != 1:
        assert roots_of(size) == roots_of(a) & roots_of(b)
    else:
        assert size == (b if a == 1 else a)


@given(roots, roots)
def test_roots_are_shifted_at_the_boundary_of_a_call(a: int, b: int) -> None:
    assert root_in_caller(inward(a)) & a == a
    assert inward(a) & 1 == 0
    assert root_in_caller(1) == 0
    assert inward(a | b) == inward(a) | inward(b)
    assert root_in_caller(a | b) == root_in_caller(a) | root_in_caller(b)
    assert inward(EVERYWHERE) | 1 == EVERYWHERE == root_in_caller(EVERYWHERE)


@given(shapes)
def test_meet_with_nothing_known_changes_nothing(a: Shape) -> None:
    assert meet_shapes(a, None) == a
    assert meet_shapes(None, a) == a
    assert meet_shapes(a, a) == a


@given(known, known)
def test_known_shapes_are_compatible_only_if_equal(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    assert (compatible(a, b) is Truth.YES) == (a == b)
    assert (compatible(a, b) is Truth.NO) == (a != b)


@given(known, known)
def test_broadcasting_is_that_of_numpy(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        expected: Shape | None = np.broadcast_shapes(a, b)
    except ValueError:
        expected = None
    try:
        got: Shape = broadcast(a, b)
    except BroadcastError:
        got = None
    assert got == expected


_CHOSEN = (chosen("h"), chosen("d"))
polynomials: st.SearchStrategy[Dim] = st.one_of(
    st.integers(0, 4),
    st.sampled_from(_CHOSEN),
    st.builds(multiply, st.sampled_from(_CHOSEN), st.one_of(st.integers(1, 3), st.sampled_from(_CHOSEN))),
    st.builds(add, st.sampled_from(_CHOSEN), st.one_of(st.integers(-2, 2), st.sampled_from(_CHOSEN))),
)


@given(st.lists(polynomials, max_size=3).map(tuple), st.lists(polynomials, max_size=3).map(tuple))
def test_chosen_sizes_are_refused_only_where_numpy_refuses_all(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> None:
    try:
        broadcast(a, b)
    except BroadcastError:
        for h, d in product(range(2, 6), repeat=2):
            with pytest.raises(ValueError, match="shape"):
                np.broadcast_shapes(*(tuple(_at(size, h, d) for size in shape) for shape in (a, b)))


def _at(size: Dim, h: int, d: int) -> int:
    for symbol_name, number in (("$h", h), ("$d", d)):
        size = substitute(size, symbol_name, number)
    assert isinstance(size, int)
    return max(size, 0)


@given(shapes, shapes)
def test_broadcasting_commutes_in_rank_and_failure(a: Shape, b: Shape) -> None:
    def attempt(left: Shape, right: Shape) -> object:
        try:
            return broadcast(left, right)
        except BroadcastError:
            return "error"

    assert attempt(a, b) == attempt(b, a)


@given(known)
def test_element_counts_multiply(shape: tuple[int, ...]) -> None:
    assert element_count(shape) == int(np.prod(shape))


@given(known, st.lists(st.integers(-1, 6), max_size=4))
def test_reshape_is_that_of_numpy(shape: tuple[int, ...], wanted: list[int]) -> None:
    if wanted.count(-1) > 1 or 0 in shape or 0 in wanted:
        return
    try:
        expected: object = np.zeros(shape).reshape(wanted).shape
    except ValueError:
        expected = "error"
    try:
        got: object = reshaped(shape, tuple(wanted))
    except OperationError:
        got = "error"
    assert got == expected


bounds = st.one_of(st.none(), st.integers(-6, 6))


@given(st.integers(0, 5), bounds, bounds, st.sampled_from([1, 2, 3, -1, -2]))
def test_slices_select_as_many_as_in_python(size: int, start: int | None, stop: int | None, step: int) -> None:
    count = slice_size(size, start, stop, step, has_start=start is not None, has_stop=stop is not None)
    assert count == len(range(size)[slice(start, stop, step)])


@given(st.integers(12, 18), bounds, bounds, st.sampled_from([1, 2, -1]))
def test_slices_of_a_symbolic_axis_are_right_for_every_long_one(
    size: int, start: int | None, stop: int | None, step: int
) -> None:
    count = slice_size(symbol("n"), start, stop, step, has_start=start is not None, has_stop=stop is not None)
    if count is None:
        return
    total = (
        count if isinstance(count, int) else sum(factor * (size if monomial else 1) for monomial, factor in count.terms)
    )
    assert total == len(range(size)[slice(start, stop, step)])
