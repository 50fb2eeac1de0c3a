"""Laws of the lattice of abstract values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from concretization import covers
from hypothesis import given, settings
from hypothesis import strategies as st

from terra_refactor.domain.dim import OpenDim, Why
from terra_refactor.domain.dtype import FLOAT32, INT32
from terra_refactor.domain.lattice import (
    MAX_ALTERNATIVES,
    filter_members,
    join,
    join_all,
    references,
    rename,
    widen,
    without_unbound,
)
from terra_refactor.domain.roots import KNOWN, Traced
from terra_refactor.domain.state import State
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import as_given, content_roots, is_marked, seen_inside, seen_outside, without_marks
from terra_refactor.domain.value import (
    BOTTOM,
    UNBOUND,
    UNKNOWN,
    BoundMethod,
    Constant,
    DatasetValue,
    DTypeValue,
    FrozenDict,
    FrozenList,
    LibraryValue,
    PythonType,
    RangeValue,
    Reference,
    Scalar,
    SequenceValue,
    ShapeValue,
    SliceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
    members,
)

Pair: TypeAlias = tuple[Value, Any]
"""An abstract value and a concrete one that it allows."""

laws = settings(max_examples=40, deadline=None)

sizes = st.sampled_from([None, 1, 2, 3, OpenDim(None, 15, Why.CONTENT), OpenDim(2, 1, Why.BATCH)])
shapes = st.none() | st.lists(sizes, max_size=3).map(tuple)
tensors = st.builds(
    TensorValue,
    st.builds(TensorType, st.sampled_from([None, FLOAT32, INT32]), shapes),
    st.sampled_from([TensorKind.TENSOR, TensorKind.NDARRAY]),
    st.none() | st.just(Constant(1)),
    st.none() | st.integers(0, 3),
    st.sampled_from([KNOWN, Traced(content=1), Traced(rank=15), Traced(first=6)]),
)
constants = st.builds(
    Constant,
    st.integers(-3, 9) | st.booleans() | st.sampled_from([0.0, -0.0, 1.5, float("nan"), "a", "b", b"a", None, ..., 1j]),
)
leaves = (
    constants
    | st.builds(Scalar, st.sampled_from(PythonType), st.none(), st.booleans())
    | st.just(Scalar(PythonType.INT, OpenDim(None, 15, Why.CONTENT, is_tensor=True), symbolic=True))
    | st.just(Scalar(PythonType.INT, OpenDim(3, 3, Why.BATCH)))
    | tensors
    | st.builds(Reference, st.integers(0, 4))
    | st.builds(LibraryValue, st.sampled_from(["a.f", "a.g"]))
    | st.builds(ShapeValue, shapes)
    | st.builds(DTypeValue, st.sampled_from([None, FLOAT32]))
    | st.builds(UnknownValue, st.booleans())
    | st.just(UNBOUND)
    | st.just(BOTTOM)
)


def _nested(inner: st.SearchStrategy[Value]) -> list[st.SearchStrategy[Value]]:
    elements = st.lists(inner, max_size=3).map(tuple)
    items = st.lists(st.tuples(constants, inner), max_size=3, unique_by=lambda item: item[0]).map(tuple)
    return [
        st.builds(TupleValue, elements),
        st.builds(SequenceValue, inner, st.sampled_from(["tuple", "zip"])),
        st.builds(FrozenList, elements),
        inner.map(lambda element: FrozenList(None, element)),
        st.builds(FrozenDict, items, st.none() | inner),
        st.builds(DatasetValue, inner, st.sampled_from([None, 3])),
        st.builds(RangeValue, inner, inner, inner),
        st.builds(SliceValue, inner, inner, inner),
        st.builds(BoundMethod, st.just(LibraryValue("a.f")), inner),
        st.builds(join, inner, inner),
    ]


@st.composite
def some_values(draw: st.DrawFn, depth: int = 2) -> Value:
    """Any value; written by hand, since what `st.recursive` prints of itself grows with every kind."""
    if depth == 0 or draw(st.booleans()):
        return draw(leaves)
    return draw(draw(st.sampled_from(_nested(some_values(depth - 1)))))


values = some_values()

plain_pairs: st.SearchStrategy[Pair] = (
    st.integers(-3, 9).map(lambda n: (Constant(n), n))
    | st.sampled_from([True, False, None, "a", "b", 1.5]).map(lambda value: (Constant(value), value))
    | st.integers(0, 99).map(lambda n: (Scalar(PythonType.INT), n))
)
_PAIRS: st.SearchStrategy[Pair] = st.recursive(
    plain_pairs,
    lambda inner: (
        st.lists(inner, max_size=3).map(
            lambda parts: (TupleValue(tuple(a for a, _ in parts)), tuple(c for _, c in parts))
        )
        | st.lists(inner, min_size=1, max_size=3).map(
            lambda parts: (SequenceValue(join_all(a for a, _ in parts)), tuple(c for _, c in parts))
        )
    ),
    max_leaves=6,
)


@st.composite
def some_pairs(draw: st.DrawFn) -> Pair:
    """Any abstract value of plain Python, with a concrete one that it allows."""
    return draw(_PAIRS)


pairs = some_pairs()


def normal(value: Value) -> object:
    """The value without the order of alternatives."""
    match value:
        case UnionValue(alternatives):
            return frozenset(normal(member) for member in alternatives)
        case TupleValue(elements, name):
            return ("tuple", name, tuple(normal(element) for element in elements))
        case SequenceValue(element, kind):
            return ("sequence", kind, normal(element))
        case FrozenList(elements, element):
            inner = None if elements is None else tuple(normal(each) for each in elements)
            return ("list", inner, None if element is None else normal(element))
        case FrozenDict(items, rest):
            known = frozenset((key, normal(item)) for key, item in items)
            return ("dict", known, None if rest is None else normal(rest))
        case DatasetValue(element, cardinality, iterator):
            return ("dataset", normal(element), cardinality, iterator)
        case RangeValue(start, stop, step) | SliceValue(start, stop, step):
            return (type(value).__name__, normal(start), normal(stop), normal(step))
        case BoundMethod(function, receiver):
            return ("method", normal(function), normal(receiver))
        case UnknownValue(may_be_tensor):
            return ("unknown", may_be_tensor)
        case _:
            return value


@laws
@given(values)
def test_join_is_idempotent(value: Value) -> None:
    assert join(value, value) == value


@laws
@given(values)
def test_bottom_is_neutral(value: Value) -> None:
    assert join(BOTTOM, value) == value
    assert join(value, BOTTOM) == value


@laws
@given(values, values)
def test_join_is_commutative_up_to_order(left: Value, right: Value) -> None:
    assert normal(join(left, right)) == normal(join(right, left))


@laws
@given(values, values)
def test_join_is_an_upper_bound(left: Value, right: Value) -> None:
    joined = join(left, right)
    assert normal(join(joined, left)) == normal(joined)
    assert normal(join(joined, right)) == normal(joined)


@laws
@given(pairs, values)
def test_join_loses_no_concrete_value(pair: Pair, other: Value) -> None:
    abstract, concrete = pair
    assert covers(abstract, concrete)
    assert covers(join(abstract, other), concrete)
    assert covers(join(other, abstract), concrete)


@laws
@given(pairs, values)
def test_widening_loses_no_concrete_value(pair: Pair, other: Value) -> None:
    abstract, concrete = pair
    assert covers(widen(abstract, other), concrete)
    assert covers(widen(other, abstract), concrete)


@laws
@given(values, st.lists(values, max_size=12))
def test_unions_stay_small(value: Value, others: Sequence[Value]) -> None:
    joined = join_all([value, *others])
    alternatives = members(joined)
    assert len(alternatives) <= MAX_ALTERNATIVES
    assert len(set(alternatives)) == len(alternatives)
    assert not any(isinstance(member, UnionValue) for member in alternatives)


@laws
@given(values, st.lists(values, min_size=1, max_size=4))
def test_widening_ends(start: Value, steps: Sequence[Value]) -> None:
    """A loop whose body adds the same things again and again, each time around what is there already, comes to rest."""
    value = start
    for turn in range(200):
        wider = value
        for step in steps:
            wider = widen(wider, step)
            wider = widen(wider, TupleValue((value, step)))
            wider = widen(wider, Constant(turn))
        if wider == value:
            return
        value = wider
    raise AssertionError(f"still changing: {value}")


@laws
@given(values)
def test_without_unbound_keeps_the_rest(value: Value) -> None:
    rest = without_unbound(value)
    assert UNBOUND not in members(rest)
    assert set(members(rest)) == set(members(value)) - {UNBOUND}


@laws
@given(values)
def test_filtering_keeps_what_is_asked_for(value: Value) -> None:
    assert filter_members(value, lambda member: True) == value
    nothing = filter_members(value, lambda member: False)
    assert all(isinstance(member, UnknownValue) for member in members(nothing))


@laws
@given(values, st.dictionaries(st.integers(0, 4), st.integers(5, 9)))
def test_renaming_renames_all(value: Value, mapping: dict[int, int]) -> None:
    renamed = rename(value, mapping)
    assert references(renamed) <= {mapping.get(number, number) for number in references(value)}
    assert references(renamed).isdisjoint(mapping)
    assert rename(value, {}) == value


names = st.sampled_from(["x", "y"])
writes = st.dictionaries(st.tuples(st.integers(0, 2), st.sampled_from(["n", "m"])), values, max_size=3)


@laws
@given(writes, st.lists(st.tuples(st.dictionaries(names, values), writes), min_size=1, max_size=3))
def test_a_merged_state_covers_its_branches(
    before: dict[tuple[int, str], Value], branches: list[tuple[dict[str, Value], dict[tuple[int, str], Value]]]
) -> None:
    state = State(None, {"x": UNKNOWN}, None)
    for number in range(3):
        state.set((number, "@"), Constant(True))
    for key, value in before.items():
        state.set(key, value)
    forks = []
    for variables, heap in branches:
        fork = state.fork()
        fork.locals.update(variables)
        for key, value in heap.items():
            fork.set(key, value)
        forks.append(fork)
    expected = [
        (dict(fork.locals), {key: fork.get(key) for key in heap})
        for fork, (_, heap) in zip(forks, branches, strict=True)
    ]
    state.merge(forks)
    for variables, heap in expected:
        for name, value in variables.items():
            assert normal(join(state.locals[name], value)) == normal(state.locals[name])
        for key, held in heap.items():
            merged = state.get(key)
            assert merged is not None and held is not None
            assert normal(join(merged, held)) == normal(merged)


@laws
@given(values)
def test_marks_are_shifted_at_the_boundary_of_a_call_and_taken_off(value: Value) -> None:
    inside = seen_inside(value)
    assert is_marked(inside) == is_marked(value)
    assert not is_marked(without_marks(value))
    assert without_marks(inside) == without_marks(value)
    assert seen_inside(without_marks(value)) == without_marks(value)
    assert content_roots(seen_outside(inside)) & content_roots(value) == content_roots(value)


@laws
@given(values, values)
def test_a_join_has_the_marks_of_both_sides(left: Value, right: Value) -> None:
    if all(isinstance(value, TensorValue) for value in (left, right)):
        roots = content_roots(left) | content_roots(right)
        assert content_roots(join(left, right)) & roots == roots
        assert content_roots(as_given({"x": left})["x"]) & content_roots(left) == content_roots(left)
