"""Rules of `tf.linalg`, `tf.einsum` and `tf.tensordot` against TensorFlow."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tensorflow")

from harness import Call, Row, broadcastable, calls, check_row, row_id, shapes, sizes, specs
from hypothesis import strategies as st

pytestmark = pytest.mark.tensorflow


@st.composite
def products(draw: st.DrawFn) -> Call:
    rows, inner, columns = draw(sizes), draw(sizes), draw(sizes)
    left_batch, right_batch = draw(broadcastable(max_rank=2))
    flip_left, flip_right = draw(st.booleans()), draw(st.booleans())
    left = (*left_batch, inner, rows) if flip_left else (*left_batch, rows, inner)
    right = (*right_batch, columns, inner) if flip_right else (*right_batch, inner, columns)
    if draw(st.integers(0, 4)) == 0:
        right = draw(shapes())
    other = "float32" if draw(st.integers(0, 6)) else "float64"
    return Call(
        {
            "a": draw(specs(left, "float32")),
            "b": draw(specs(right, other)),
            "transpose_a": flip_left,
            "transpose_b": flip_right,
        }
    )


@st.composite
def matrix_vectors(draw: st.DrawFn) -> Call:
    rows, inner = draw(sizes), draw(sizes)
    batch, other = draw(broadcastable(max_rank=2))
    vector = (*other, inner) if draw(st.integers(0, 4)) else draw(shapes())
    return Call({"a": draw(specs((*batch, rows, inner), "float32")), "b": draw(specs(vector, "float32"))})


@st.composite
def einsums(draw: st.DrawFn) -> Call:
    equation = draw(
        st.sampled_from(
            [
                "ij,jk->ik",
                "bij,bjk->bik",
                "ij->ji",
                "ij,ij->",
                "...ij,...jk->...ik",
                "ij,jk",
                "bhqd,bhkd->bhqk",
                "abc->cb",
                "i,j->ij",
                "ii->i",
                "i...->...",
            ]
        )
    )
    lengths = {letter: draw(sizes) for letter in "abcdefghijklmnopqrstuvwxyz"}
    extra: Any = []
    for term in equation.split("->")[0].split(","):
        shape: list[int] = []
        head, dots, tail = term.partition("...")
        shape.extend(lengths[letter] for letter in head)
        if dots:
            shape.extend([2, 3][draw(st.integers(0, 2)) :])
        shape.extend(lengths[letter] for letter in tail)
        if draw(st.integers(0, 9)) == 0:
            shape = list(draw(shapes()))
        extra.append(draw(specs(tuple(shape), "float32")))
    return Call({"equation": equation}, extra=tuple(extra))


@st.composite
def tensordots(draw: st.DrawFn) -> Call:
    left = draw(shapes(min_rank=2, max_rank=3))
    count = draw(st.integers(0, 2))
    right = (*left[len(left) - count :], *draw(shapes(max_rank=2)))
    axes: Any = count
    if draw(st.booleans()):
        axes = [list(range(len(left) - count, len(left))), list(range(count))]
        if count == 1 and draw(st.booleans()):
            axes = [axes[0][0], 0]
    if draw(st.integers(0, 6)) == 0:
        right = draw(shapes(min_rank=2))
    return Call({"a": draw(specs(left, "float32")), "b": draw(specs(right, "float32")), "axes": axes})


@st.composite
def matrices(draw: st.DrawFn, parameter: str = "input", square: bool = True, **others: Any) -> Call:
    size = draw(sizes)
    shape = (*draw(shapes(max_rank=2)), size, size if square and draw(st.integers(0, 6)) else draw(sizes))
    if draw(st.integers(0, 7)) == 0:
        shape = draw(shapes())
    return Call(
        {parameter: draw(specs(shape, ("float32", "float64"))), **{name: draw(value) for name, value in others.items()}}
    )


@st.composite
def systems(draw: st.DrawFn, first: str = "matrix") -> Call:
    size = draw(sizes)
    batch = draw(shapes(max_rank=1))
    right = (*batch, size if draw(st.integers(0, 5)) else draw(sizes), draw(sizes))
    if draw(st.integers(0, 8)) == 0:
        right = draw(shapes())
    return Call({first: draw(specs((*batch, size, size), "float32")), "rhs": draw(specs(right, "float32"))})


@st.composite
def norms(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes(min_rank=1)))
    rank = len(data.shape)
    axis = draw(st.one_of(st.none(), st.integers(-rank, rank - 1)))
    return Call({"tensor": data, "axis": axis, "keepdims": draw(st.sampled_from([None, True, False]))})


@st.composite
def set_diags(draw: st.DrawFn) -> Call:
    shape = draw(shapes(min_rank=2, max_rank=3))
    diagonal = (*shape[:-2], min(shape[-2:]))
    if draw(st.integers(0, 5)) == 0:
        diagonal = draw(shapes())
    return Call({"input": draw(specs(shape, "float32")), "diagonal": draw(specs(diagonal, "float32"))})


flags = st.booleans()
RUN_TIME = "checked when it runs"

ROWS = [
    Row("tensorflow.linalg.matmul", products()),
    Row("tensorflow.linalg.matvec", matrix_vectors()),
    Row("tensorflow.einsum", einsums(), imprecise="equations without '->' under unknown ranks"),
    Row("tensorflow.tensordot", tensordots(), imprecise="ranks that are not known"),
    *[Row(f"tensorflow.linalg.{name}", matrices()) for name in ("cholesky", "inv", "det", "slogdet")],
    *[Row(f"tensorflow.linalg.{name}", matrices("matrix"), misses_errors=RUN_TIME) for name in ("logdet",)],
    *[Row(f"tensorflow.linalg.{name}", matrices("tensor")) for name in ("eigh", "eigvalsh", "eig", "eigvals")],
    Row(
        "tensorflow.linalg.svd",
        matrices("tensor", False, full_matrices=flags, compute_uv=flags),
        misses_errors=RUN_TIME,
    ),
    Row("tensorflow.linalg.qr", matrices("input", False, full_matrices=flags)),
    Row(
        "tensorflow.linalg.matrix_transpose",
        matrices("a", False),
        misses_errors=RUN_TIME,
        imprecise="symbolic transposes",
    ),
    Row("tensorflow.linalg.adjoint", matrices("matrix", False), misses_errors=RUN_TIME),
    Row("tensorflow.linalg.trace", matrices("x", False)),
    Row("tensorflow.linalg.diag_part", matrices("input", False)),
    Row(
        "tensorflow.linalg.band_part",
        matrices("input", False, num_lower=st.just(0), num_upper=st.just(-1)),
        misses_errors=RUN_TIME,
    ),
    Row("tensorflow.linalg.diag", calls(diagonal=specs(shapes(max_rank=3)))),
    Row("tensorflow.linalg.set_diag", set_diags(), imprecise="sizes that only the diagonal knows"),
    Row("tensorflow.linalg.solve", systems()),
    Row("tensorflow.linalg.triangular_solve", systems(), imprecise="ranks that are not known"),
    Row(
        "tensorflow.linalg.cholesky_solve",
        systems("chol"),
        imprecise="ranks that are not known",
        misses_errors=RUN_TIME,
    ),
    Row("tensorflow.norm", norms(), imprecise="the rank of a tensor of unknown rank with keepdims"),
    Row(
        "tensorflow.linalg.pinv", matrices("a", False), imprecise="composed of many operations", misses_errors=RUN_TIME
    ),
    Row("tensorflow.linalg.tensor_diag", calls(diagonal=specs(shapes(min_rank=1, max_rank=2)))),
    Row("tensorflow.linalg.cross", calls(a=specs((2, 3), "float32"), b=specs((2, 3), "float32"))),
]


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_agrees_with_tensorflow(row: Row) -> None:
    check_row(row)
