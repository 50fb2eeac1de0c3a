"""Functions on values reach every part of them: names of objects, marks, sizes, releases, and the number of parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from terra_refactor.domain.chosen import chosen_in_graph
from terra_refactor.domain.dim import OpenDim, Why, eager
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.file_marks import FileMark, FilePart, mark_of, object_with, text_with
from terra_refactor.domain.lattice import MAX_VALUE_DEPTH, join_all, join_tensors, references, rename, widen
from terra_refactor.domain.roots import EVERYWHERE
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import (
    content_roots,
    content_with_marks,
    is_marked,
    open_number,
    with_content_open,
    with_marks_of,
)
from terra_refactor.domain.value import (
    BOTTOM,
    Constant,
    DatasetValue,
    FrozenDict,
    FrozenList,
    PartialValue,
    PythonType,
    Reference,
    Scalar,
    SequenceValue,
    TensorKind,
    TensorValue,
    Traced,
    TupleValue,
    UnionValue,
    Value,
    members,
    of_release,
)
from terra_refactor.domain.weight import MAX_WEIGHT, TOO_HEAVY, bounded

ONE, TWO, THREE, FOUR = (Reference(number) for number in (1, 2, 3, 4))
FLOAT32 = DType("float32")
OPEN = OpenDim(None, 1, next(iter(Why)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (FrozenList((ONE, TWO), THREE), {1, 2, 3}),
        (FrozenList(None, ONE), {1}),
        (FrozenDict(((ONE, TWO),), THREE), {1, 2, 3}),
        (TupleValue((ONE, SequenceValue(TWO))), {1, 2}),
        (DatasetValue(ONE, last=TWO, lead=(THREE, 5)), {1, 2, 3}),
        (PartialValue(ONE, (TWO,), (("by", THREE),)), {1, 2, 3}),
        (TensorValue(TensorType(FLOAT32, (2,)), TensorKind.VARIABLE, variable=4), {4}),
        (TupleValue((TensorValue(TensorType(FLOAT32, ()), TensorKind.VARIABLE, variable=2), ONE)), {1, 2}),
    ],
)
def test_references_of_every_part_are_found_and_renamed(value: Value, expected: set[int]) -> None:
    assert references(value) == expected
    moved = rename(value, {number: number + 10 for number in expected})
    assert references(moved) == {number + 10 for number in expected}
    assert rename(moved, {number + 10: number for number in expected}) == value


def test_a_dataset_without_a_last_batch_gets_none_by_renaming() -> None:
    assert rename(DatasetValue(ONE), {1: 4}) == DatasetValue(FOUR)


def test_a_value_of_many_parts_is_unknown_and_a_smaller_one_stays() -> None:
    small = TupleValue((Constant(1), Constant(2)))
    assert bounded(small) is small
    assert bounded(TupleValue(tuple(Constant(number) for number in range(MAX_WEIGHT + 1)))) == TOO_HEAVY


def test_eager_code_sees_the_size_of_an_open_dim() -> None:
    closed = TensorType(FLOAT32, (2, 3))
    assert closed.seen_eagerly() is closed
    opened = TensorType(FLOAT32, (OpenDim(2, 1, OPEN.why), 3))
    assert opened.seen_eagerly() == closed
    assert eager(OPEN) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda number: number,
        lambda number: TupleValue((number, Constant(1))),
        SequenceValue,
        lambda number: FrozenList((number, Constant("a"))),
        lambda number: FrozenList(None, number),
    ],
)
def test_numbers_of_a_release_are_so_in_every_container(make: object) -> None:
    assert callable(make)
    assert of_release(make(Scalar("int"))) == make(Scalar("int", release=True))


def test_marks_reach_the_elements_of_a_list_by_its_common_element() -> None:
    number, marked = Scalar("int"), Scalar("int", dim=OPEN)
    both = FrozenList((number, number))
    assert with_marks_of(both, FrozenList((marked, number))) == FrozenList((marked, number))
    assert with_marks_of(both, FrozenList(None, marked)) == FrozenList((marked, marked))
    assert with_marks_of(FrozenList(None, number), FrozenList(None, marked)) == FrozenList(None, marked)
    assert with_marks_of(both, FrozenList(None, None)) == both
    assert with_marks_of(FrozenList(None, number), FrozenList((marked,), None)) == FrozenList(None, number)
    assert with_marks_of(DatasetValue(number), DatasetValue(marked)) == DatasetValue(marked)


def test_marks_of_every_tensor_are_in_their_join() -> None:
    first, second = Traced(content=EVERYWHERE), Traced(first=EVERYWHERE)
    tensors = [TensorValue(TensorType(FLOAT32, (2, 3)), traced=traced) for traced in (first, second)]
    assert join_tensors(tensors) == join_tensors(tensors[::-1])
    assert join_tensors(tensors).traced == first | second
    assert join_tensors(tensors[:1]) == tensors[0]


def test_a_choice_between_tensors_of_one_rank_opens_the_axes_that_differ() -> None:
    few, many, flat = (TensorValue(TensorType(FLOAT32, shape)) for shape in ((2, 3), (4, 3), (3,)))
    chosen = chosen_in_graph(UnionValue((few, many)))
    shapes = [member.type.shape for member in members(chosen) if isinstance(member, TensorValue)]
    assert shapes and all(isinstance(shape[0], OpenDim) and shape[1] == 3 for shape in shapes if shape)
    assert chosen_in_graph(UnionValue((few, flat))) == join_all((few, flat))
    assert chosen_in_graph(few) == few


def test_contents_are_opened_for_more_graphs_and_never_closed() -> None:
    tensor = TensorValue(TensorType(FLOAT32, (2,)))
    for before in range(4):
        for roots in range(1, 4):
            opened = with_content_open(replace(tensor, traced=Traced(content=before)), roots)
            assert isinstance(opened, TensorValue)
            assert opened.traced == Traced(content=before | roots)
    known = replace(tensor, content=Constant(1))
    assert with_content_open(TupleValue((tensor, known)), 3, of_known=1) == TupleValue(
        (replace(tensor, traced=Traced(content=3)), replace(known, traced=Traced(content=1)))
    )
    variable = TensorValue(TensorType(FLOAT32, (2,)), TensorKind.VARIABLE)
    assert with_content_open(variable, 1) == variable, "it is captured, and no placeholder"
    for one_of_many in (FrozenList(None, tensor), FrozenDict((), tensor), FrozenDict(((Constant("a"), tensor),), None)):
        opened = with_content_open(one_of_many, 1)
        assert content_roots(opened) == 1 and content_roots(one_of_many) == 0
    empty = FrozenList(None, None)
    assert with_content_open(empty, 1) == empty


def test_a_content_without_roots_stays_as_it_is() -> None:
    size = Scalar("int")
    for content in (None, Constant(2), size, TupleValue((Constant(2), size))):
        assert content_with_marks(content, 0) == content
    marked = content_with_marks(Constant(2), 1)
    assert isinstance(marked, Scalar) and isinstance(marked.dim, OpenDim)


def test_marks_that_equal_none_are_none() -> None:
    value = TensorValue(TensorType(FLOAT32, (2,)), traced=Traced())
    assert not is_marked(value)
    assert is_marked(replace(value, traced=Traced(content=EVERYWHERE)))


def test_the_open_number_of_a_list() -> None:
    numbers = FrozenList((Constant(3), Scalar(PythonType.INT, OPEN)))
    assert open_number(numbers) == OPEN
    assert open_number(FrozenList((Constant(3), Scalar(PythonType.INT, OPEN, symbolic=True)))) is None
    assert open_number(FrozenList((Constant(3),))) is None


def test_marks_of_a_tensor_of_another_rank_are_dropped() -> None:
    value, marked = (TensorValue(TensorType(FLOAT32, shape)) for shape in ((2, 3), (OPEN,)))
    assert with_marks_of(value, marked) == value
    same_rank = TensorValue(TensorType(FLOAT32, (OPEN, 3)))
    assert with_marks_of(value, same_rank) != value


@pytest.mark.parametrize("made", [text_with, object_with])
def test_a_value_that_stands_for_a_part_of_a_file_says_which(made: Callable[[FileMark], Value]) -> None:
    mark = FileMark(next(iter(FilePart)), "data/a b.npz", "images")
    assert mark_of(made(mark)) == mark
    assert mark_of(Constant("data/a b.npz")) is None


@pytest.mark.parametrize(
    "around",
    [
        lambda value: PartialValue(ONE, (value,), ()),
        lambda value: PartialValue(ONE, (), (("rate", value),)),
        lambda value: TupleValue((value,)),
    ],
    ids=["argument", "keyword", "element"],
)
def test_each_level_of_a_value_counts_once_towards_the_limit_of_widening(around: Callable[[Value], Value]) -> None:
    value: Value = Constant(1)
    for _ in range(MAX_VALUE_DEPTH):
        value = around(value)
    assert widen(BOTTOM, value) == value
    assert widen(BOTTOM, around(value)) != around(value)
