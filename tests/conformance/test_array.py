"""Rules for reshaping, gathering and creation of tensors against TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow as tf
from harness import Call, Row, Spec, broadcastable, calls, check_row, row_id, shapes, sizes, specs
from hypothesis import strategies as st

pytestmark = pytest.mark.tensorflow

ANY = ("float32", "int32", "int64", "bool", "string")
RUN_TIME = "checked when it runs, not when it is traced"


@st.composite
def reshapes(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes(zero=True), ANY))
    total = int(np.prod(data.shape))
    wanted: list[int] = []
    rest = total
    for _ in range(draw(st.integers(0, 3))):
        divisors = [size for size in range(1, rest + 1) if rest and rest % size == 0] or [0, 1]
        wanted.append(draw(st.sampled_from(divisors)))
        rest = rest // wanted[-1] if wanted[-1] else 0
    wanted.append(rest)
    if draw(st.booleans()):
        wanted[draw(st.integers(0, len(wanted) - 1))] = -1
    if draw(st.integers(0, 5)) == 0:
        wanted.append(draw(st.integers(-1, 3)))
    form: Any = draw(st.sampled_from([list, tuple]))
    return Call({"tensor": data, "shape": form(wanted)})


@st.composite
def rows_of(draw: st.DrawFn, parameter: str = "values", vary: bool = True) -> Call:
    shape = list(draw(shapes(min_rank=0 if draw(st.integers(0, 5)) == 0 else 1, max_rank=3)))
    rank = len(shape)
    axis = draw(st.integers(-rank, rank - 1)) if rank and draw(st.integers(0, 6)) else draw(st.integers(-3, 3))
    items = []
    for _ in range(draw(st.integers(1, 3))):
        part = list(shape)
        if vary and -rank <= axis < rank:
            part[axis] = draw(sizes)
        if draw(st.integers(0, 8)) == 0:
            part = list(draw(shapes(max_rank=3)))
        items.append(draw(specs(tuple(part), "float32" if draw(st.integers(0, 9)) else "int32")))
    return Call({parameter: items, "axis": axis})


@st.composite
def with_axis(draw: st.DrawFn, parameter: str, new: int = 0, **others: Any) -> Call:
    data = draw(specs(shapes(min_rank=0), ANY))
    rank = len(data.shape) + new
    return Call({parameter: data, "axis": draw(st.integers(-rank - 1, rank)), **others})


@st.composite
def squeezes(draw: st.DrawFn) -> Call:
    shape = tuple(draw(st.lists(st.sampled_from([1, 1, 3]), max_size=4)))
    axis = draw(
        st.one_of(st.none(), st.integers(-len(shape), max(len(shape) - 1, 0)), st.lists(st.integers(0, 2), max_size=2))
    )
    return Call({"input": draw(specs(shape)), "axis": axis})


@st.composite
def splits(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes(min_rank=1)))
    axis = draw(st.integers(-len(data.shape), len(data.shape) - 1))
    size = data.shape[axis]
    parts: Any = draw(st.integers(1, 4))
    if draw(st.booleans()):
        cut = draw(st.integers(0, size))
        parts = [cut, draw(st.sampled_from([size - cut, -1, size]))]
    return Call({"value": data, "num_or_size_splits": parts, "axis": axis})


@st.composite
def transposes(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes()))
    perm = draw(st.one_of(st.none(), st.permutations(range(len(data.shape)))))
    if perm is not None and draw(st.integers(0, 6)) == 0:
        perm = [*perm, 0]
    return Call({"a": data, "perm": None if perm is None else list(perm)})


@st.composite
def tiles(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes()))
    count = len(data.shape) + (draw(st.integers(0, 6)) == 0)
    return Call({"input": data, "multiples": [draw(sizes) for _ in range(count)]})


@st.composite
def pads(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes(min_rank=1)))
    count = len(data.shape) + (draw(st.integers(0, 6)) == 0)
    return Call(
        {"tensor": data, "paddings": [[draw(st.integers(0, 2)), draw(st.integers(0, 2))] for _ in range(count)]}
    )


@st.composite
def gathers(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes(min_rank=1)))
    batch = draw(st.integers(0, 1))
    rank = len(data.shape)
    axis = draw(st.one_of(st.none(), st.integers(-rank, rank - 1)))
    indices = draw(shapes(max_rank=2)) if not batch else (data.shape[0], *draw(shapes(max_rank=1)))
    if batch and axis is not None and axis % rank < 1:
        axis = None
    return Call({"params": data, "indices": draw(specs(indices, "int32")), "axis": axis, "batch_dims": batch})


@st.composite
def gather_nds(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes(min_rank=1)))
    indices = (*draw(shapes(max_rank=2)), draw(st.integers(1, len(data.shape) + (draw(st.integers(0, 6)) == 0))))
    return Call({"params": data, "indices": draw(specs(indices, "int32"))})


@st.composite
def slices(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes(min_rank=1)))
    begin = [draw(st.integers(0, size)) for size in data.shape]
    size = [draw(st.sampled_from([-1, whole - start, 0])) for whole, start in zip(data.shape, begin, strict=True)]
    if draw(st.integers(0, 5)) == 0:
        size[0] += 2
    return Call({"input_": data, "begin": begin, "size": size})


@st.composite
def masks(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes(min_rank=1)))
    mask = data.shape[: draw(st.integers(1, len(data.shape)))]
    if draw(st.integers(0, 5)) == 0:
        mask = draw(shapes())
    return Call({"tensor": data, "mask": draw(specs(mask, "bool"))})


@st.composite
def choices(draw: st.DrawFn) -> Call:
    condition, left, right = draw(broadcastable(3, 3))
    first: Any = draw(specs(left, "float32"))
    second: Any = draw(specs(right, "float32" if draw(st.integers(0, 6)) else "int32"))
    if draw(st.integers(0, 3)) == 0:
        second = draw(st.sampled_from([0.0, 1, "a"]))
    return Call({"condition": draw(specs(condition, "bool")), "x": first, "y": second})


@st.composite
def scatters(draw: st.DrawFn, shaped: bool) -> Call:
    shape = draw(shapes(min_rank=1, max_rank=3))
    depth = draw(st.integers(1, len(shape)))
    count = draw(sizes)
    updates = (count, *shape[depth:])
    if draw(st.integers(0, 5)) == 0:
        updates = draw(shapes())
    arguments: dict[str, Any] = {
        "indices": draw(specs((count, depth), "int32")),
        "updates": draw(specs(updates, "float32")),
    }
    if shaped:
        return Call({**arguments, "shape": list(shape)})
    return Call({"tensor": draw(specs(shape, "float32")), **arguments})


@st.composite
def broadcasts(draw: st.DrawFn) -> Call:
    source, target = draw(broadcastable())
    return Call({"input": draw(specs(source)), "shape": list(np.broadcast_shapes(target, target))})


numbers = st.one_of(st.integers(-3, 9), st.sampled_from([0.5, 2.0]))


@st.composite
def nested(draw: st.DrawFn) -> Any:
    kind = draw(st.integers(0, 9))
    leaf = draw(
        st.sampled_from(
            [st.integers(-3, 9), st.floats(-1, 1), st.booleans(), st.text(max_size=2), st.integers(2**33, 2**34)]
        )
    )
    if kind == 0:
        return draw(leaf)
    if kind == 1:
        return draw(
            st.sampled_from(
                [np.ones([2, 3]), np.ones([2], "int64"), np.float64(1), np.int8(2), np.zeros([0, 2], "float32")]
            )
        )
    shape = draw(shapes(max_rank=3, zero=True))

    def build(rest: tuple[int, ...]) -> Any:
        if not rest:
            return draw(leaf)
        return [build(rest[1:]) for _ in range(rest[0])]

    made = build(shape)
    if kind == 2 and isinstance(made, list):
        made.append(1.5)
    if kind == 3:
        return [Spec("float32", (2,), (2,)), Spec("float32", (2,), (None,)), [1.0, 2.0]]
    if kind == 4:
        return [Spec("int32", (), ()), 1, 2]
    return made


@st.composite
def constants(draw: st.DrawFn) -> Call:
    value = draw(
        nested().filter(lambda made: not (isinstance(made, list) and any(isinstance(item, Spec) for item in made)))
    )
    return Call(
        {"value": value, "dtype": draw(st.sampled_from([None, None, tf.float32, tf.int64, "float64", tf.string]))}
    )


@st.composite
def conversions(draw: st.DrawFn) -> Call:
    return Call({"value": draw(nested())})


any_tensor = specs(shapes(zero=True), ANY)
a_shape = shapes().flatmap(lambda shape: st.sampled_from([list(shape), tuple(shape), tf.TensorShape(shape)]))
dtypes = st.sampled_from([tf.float32, tf.int32, tf.bool, "float64"])
MIXED = "lists of mixed types that eager code and graphs convert differently"

ROWS = [
    Row("tensorflow.reshape", reshapes()),
    Row("tensorflow.concat", rows_of()),
    Row("tensorflow.stack", rows_of(vary=False)),
    Row("tensorflow.unstack", with_axis("value")),
    Row("tensorflow.expand_dims", with_axis("input", 1)),
    Row("tensorflow.squeeze", squeezes()),
    Row("tensorflow.split", splits()),
    Row("tensorflow.transpose", transposes()),
    Row("tensorflow.tile", tiles()),
    Row("tensorflow.pad", pads()),
    Row("tensorflow.gather", gathers(), misses_errors=RUN_TIME),
    Row("tensorflow.gather_nd", gather_nds()),
    Row("tensorflow.slice", slices()),
    Row("tensorflow.boolean_mask", masks(), misses_errors=RUN_TIME),
    Row("tensorflow.where", choices(), misses_errors="graphs convert the first argument first"),
    Row("tensorflow.where", calls(condition=specs(shapes(), "bool")), label="where[one]"),
    Row("tensorflow.scatter_nd", scatters(True), misses_errors="several ranks of indices"),
    Row("tensorflow.tensor_scatter_nd_update", scatters(False)),
    Row("tensorflow.tensor_scatter_nd_add", scatters(False)),
    Row("tensorflow.broadcast_to", broadcasts()),
    Row("tensorflow.shape", calls(input=any_tensor, out_type=st.sampled_from([None, tf.int64]))),
    Row("tensorflow.size", calls(input=any_tensor)),
    Row("tensorflow.rank", calls(input=any_tensor)),
    Row("tensorflow.identity", calls(input=any_tensor)),
    Row("tensorflow.stop_gradient", calls(input=any_tensor)),
    Row("tensorflow.cast", calls(x=specs(shapes(), ("float32", "int32", "bool")), dtype=dtypes)),
    Row("tensorflow.ensure_shape", calls(x=specs((2, 3)), shape=st.sampled_from([[2, 3], [None, 3], [2, 4], [6]]))),
    Row("tensorflow.reverse", calls(tensor=specs((2, 3, 4)), axis=st.sampled_from([[0], [1, 2], [-1]]))),
    Row("tensorflow.roll", calls(input=specs((2, 3)), shift=1, axis=1)),
    Row(
        "tensorflow.repeat",
        calls(input=specs((2, 3)), repeats=st.sampled_from([2, [2]]), axis=st.sampled_from([None, 0, 1])),
    ),
    Row("tensorflow.repeat", calls(input=specs((2, 3)), repeats=[1, 4], axis=0), label="repeat[each]"),
    Row("tensorflow.sort", with_axis("values"), misses_errors=RUN_TIME),
    Row("tensorflow.argsort", with_axis("values"), misses_errors=RUN_TIME),
    Row("tensorflow.unique", calls(x=specs(shapes(max_rank=2), ANY))),
    Row("tensorflow.unique_with_counts", calls(x=specs((3,), ANY))),
    Row(
        "tensorflow.sequence_mask", calls(lengths=specs(shapes(max_rank=2), "int32"), maxlen=st.sampled_from([None, 5]))
    ),
    Row("tensorflow.searchsorted", calls(sorted_sequence=specs((2, 5), "float32"), values=specs((2, 3), "float32"))),
    Row("tensorflow.dynamic_partition", calls(data=specs((4, 3)), partitions=specs((4,), "int32"), num_partitions=2)),
    Row("tensorflow.zeros", calls(shape=a_shape, dtype=dtypes)),
    Row("tensorflow.ones", calls(shape=a_shape)),
    Row(
        "tensorflow.fill",
        calls(dims=a_shape, value=st.sampled_from([1, 1.5, True, "a", Spec("float64", (), ()), [1.0]])),
    ),
    Row(
        "tensorflow.zeros_like", calls(input=specs(shapes(), ("float32", "int32")), dtype=st.one_of(st.none(), dtypes))
    ),
    Row("tensorflow.ones_like", calls(input=specs(shapes(), ("float32", "int32")))),
    Row(
        "tensorflow.range",
        calls(start=numbers, limit=numbers, delta=st.sampled_from([1, 2, 0.5])),
        imprecise="lengths of float ranges",
    ),
    Row("tensorflow.range", calls(start=st.integers(0, 5)), label="range[limit]"),
    Row(
        "tensorflow.linspace",
        calls(start=st.sampled_from([0.0, 1, [0.0, 1.0]]), stop=5.0, num=st.integers(0, 5)),
        misses_errors=RUN_TIME,
    ),
    Row(
        "tensorflow.one_hot",
        calls(indices=specs(shapes(max_rank=3), "int32"), depth=sizes, axis=st.sampled_from([None, -1, 0, 1])),
    ),
    Row(
        "tensorflow.eye",
        calls(
            num_rows=sizes, num_columns=st.one_of(st.none(), sizes), batch_shape=st.sampled_from([None, [2], [2, 3]])
        ),
    ),
    Row("tensorflow.convert_to_tensor", conversions(), imprecise=MIXED, misses_errors=MIXED),
    Row("tensorflow.constant", constants(), imprecise=MIXED, misses_errors=MIXED),
    Row(
        "tensorflow.nn.space_to_depth",
        calls(input=specs(shapes(min_rank=4, max_rank=4)), block_size=st.sampled_from([2, 3])),
    ),
    Row(
        "tensorflow.nn.depth_to_space",
        calls(input=specs(shapes(min_rank=4, max_rank=4)), block_size=st.sampled_from([2, 3])),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_agrees_with_tensorflow(row: Row) -> None:
    check_row(row)
