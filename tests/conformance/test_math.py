"""Rules of `tf.math` against TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from harness import Call, Row, Spec, broadcastable, calls, check_row, row_id, shapes, specs
from hypothesis import strategies as st

pytestmark = pytest.mark.tensorflow

ALL = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool", "string", "complex64")


def unary(names: str, parameter: str = "x") -> list[Row]:
    return [Row(f"tensorflow.{name}", calls(**{parameter: specs(shapes(zero=True), ALL)})) for name in names.split()]


@st.composite
def pairs(draw: st.DrawFn, names: tuple[str, str], dtypes: tuple[str, ...] = ALL) -> Call:
    left, right = draw(broadcastable())
    dtype = draw(st.sampled_from(dtypes))
    other = dtype if draw(st.integers(0, 7)) else draw(st.sampled_from(dtypes))
    first: object = draw(specs(left, dtype))
    second: object = draw(specs(right, other))
    mode = draw(st.integers(0, 7))
    python = st.sampled_from([1, 2.5, True, "a", [1, 2], [1.5], np.ones([2], "float64"), np.float32(1)])
    if mode == 0:
        second = draw(python)
    elif mode == 1:
        first = draw(python)
    return Call({names[0]: first, names[1]: second})


def binary(
    functions: str,
    first: str = "x",
    second: str = "y",
    dtypes: tuple[str, ...] = ALL,
    misses: str = "eager code takes a Python value first, graphs may not",
) -> list[Row]:
    return [
        Row(f"tensorflow.{name}", pairs((first, second), dtypes), misses_errors=misses) for name in functions.split()
    ]


@st.composite
def reductions(draw: st.DrawFn, dtypes: tuple[str, ...]) -> Call:
    data = draw(specs(shapes(), dtypes))
    rank = len(data.shape)
    axis = draw(
        st.one_of(
            st.none(),
            st.integers(-rank - 1, rank),
            st.lists(st.integers(-rank, max(rank - 1, 0)), max_size=3, unique=True),
        )
    )
    return Call({"input_tensor": data, "axis": axis, "keepdims": draw(st.booleans())})


@st.composite
def axis_calls(draw: st.DrawFn, parameter: str, dtypes: tuple[str, ...]) -> Call:
    data = draw(specs(shapes(min_rank=1), dtypes))
    rank = len(data.shape)
    return Call({parameter: data, "axis": draw(st.integers(-rank - (draw(st.integers(0, 4)) == 0), rank - 1))})


@st.composite
def clips(draw: st.DrawFn) -> Call:
    data, low, high = draw(broadcastable(3, 2))
    dtype = draw(st.sampled_from(("float32", "int32")))
    bound = st.one_of(st.sampled_from([0, 1.5, 2]), specs(low, dtype))
    return Call(
        {"t": draw(specs(data, dtype)), "clip_value_min": draw(bound), "clip_value_max": draw(specs(high, dtype))}
    )


@st.composite
def segments(draw: st.DrawFn, counted: bool) -> Call:
    shape = draw(shapes(min_rank=1))
    ids = shape[:1] if draw(st.integers(0, 4)) else draw(shapes(min_rank=1, max_rank=2))
    arguments: dict[str, object] = {"data": draw(specs(shape)), "segment_ids": draw(specs(ids, "int32"))}
    if counted:
        arguments["num_segments"] = draw(st.integers(1, 5))
    return Call(arguments)


@st.composite
def top_ks(draw: st.DrawFn) -> Call:
    return Call({"input": draw(specs(shapes(min_rank=1))), "k": draw(st.integers(1, 4))})


@st.composite
def lists_of_tensors(draw: st.DrawFn) -> Call:
    shape = draw(shapes(max_rank=3))
    count = draw(st.integers(1, 3))
    items = [draw(specs(shape, "float32")) for _ in range(count)]
    if draw(st.integers(0, 4)) == 0:
        items.append(draw(specs(shapes(max_rank=3), "float32")))
    return Call({"inputs": items})


ROWS = [
    *unary(
        "math.acos math.acosh math.asin math.asinh math.atan math.atanh math.cos math.cosh math.exp math.expm1 math.log math.log1p "
        "math.rsqrt math.sigmoid math.sin math.sinh math.sqrt math.tan math.tanh math.reciprocal_no_nan math.ceil math.digamma "
        "math.erf math.erfc math.erfinv math.erfcinv math.floor math.lgamma math.log_sigmoid math.ndtri math.rint math.bessel_i0 "
        "math.bessel_i0e math.bessel_i1 math.bessel_i1e math.special.dawsn math.special.expint math.special.spence math.square "
        "math.round math.conj math.sign math.reciprocal math.abs math.is_finite math.is_inf math.is_nan math.logical_not "
        "bitwise.invert math.negative"
    ),
    *unary("math.real math.angle math.imag", "input"),
    *unary("math.softplus nn.elu nn.selu nn.gelu nn.relu nn.relu6 nn.leaky_relu nn.silu", "features"),
    *binary(
        "math.add math.subtract math.multiply math.maximum math.minimum math.truediv math.divide_no_nan math.divide"
    ),
    *binary("math.less math.less_equal math.greater math.greater_equal math.equal math.not_equal"),
    *binary(
        "math.floordiv math.floormod math.squared_difference math.xlogy math.xlog1py math.multiply_no_nan math.pow"
    ),
    *binary("math.atan2", "y", "x", dtypes=("float32", "float64")),
    *binary("math.zeta", dtypes=("float32", "float64")),
    *binary("math.igamma math.igammac", "a", "x", dtypes=("float32", "float64")),
    *binary("math.logical_and math.logical_or", dtypes=("bool", "float32")),
    *binary("bitwise.bitwise_and bitwise.bitwise_or", dtypes=("int32", "int64", "float32")),
    *[
        Row(f"tensorflow.math.{name}", reductions(("float32", "int32", "complex64", "bool")))
        for name in (
            *(
                "reduce_sum",
                "reduce_mean",
                "reduce_prod",
                "reduce_max",
                "reduce_min",
                "reduce_euclidean_norm",
                "reduce_std",
            ),
            *("reduce_variance", "reduce_logsumexp", "reduce_any", "reduce_all"),
        )
    ],
    Row("tensorflow.math.argmax", axis_calls("input", ("float32", "int32", "string"))),
    Row("tensorflow.math.argmin", axis_calls("input", ("float32", "int32"))),
    Row(
        "tensorflow.math.cumsum",
        axis_calls("x", ("float32", "int32", "bool")),
        misses_errors="axis is a value: checked when it runs",
    ),
    Row("tensorflow.math.cumprod", axis_calls("x", ("float32", "int32"))),
    Row("tensorflow.nn.softmax", axis_calls("logits", ("float32", "int32"))),
    Row("tensorflow.nn.log_softmax", axis_calls("logits", ("float32", "int32"))),
    Row("tensorflow.math.l2_normalize", axis_calls("x", ("float32",))),
    Row("tensorflow.clip_by_value", clips()),
    *[Row(f"tensorflow.math.segment_{kind}", segments(False)) for kind in ("sum", "mean", "max")],
    *[Row(f"tensorflow.math.unsorted_segment_{kind}", segments(True)) for kind in ("sum", "max")],
    Row("tensorflow.math.top_k", top_ks()),
    Row("tensorflow.math.add_n", lists_of_tensors()),
    Row("tensorflow.math.polyval", calls(coeffs=[2.0, 1.0, 3.0], x=specs(shapes(), "float32"))),
    Row(
        "tensorflow.math.confusion_matrix",
        calls(labels=specs((3,), "int32"), predictions=specs((3,), "int32"), num_classes=4),
    ),
    Row(
        "tensorflow.math.confusion_matrix",
        calls(
            labels=specs(st.sampled_from([(3,), (3, 1), (3, 2), (4,)]), "int32"),
            predictions=specs(st.sampled_from([(3,), (3, 1)]), "int32"),
            num_classes=4,
        ),
        label="confusion_matrix[ranks]",
        imprecise="sizes behind assertions",
        misses_errors="labels of rank 2 with predictions of rank 2",
    ),
    Row("tensorflow.dtypes.complex", calls(real=specs((2, 3), "float32"), imag=specs((3,), "float32"))),
    Row("tensorflow.linalg.global_norm", calls(t_list=[Spec("float32", (2,), (2,)), Spec("float32", (2, 3), (2, 3))])),
]


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_agrees_with_tensorflow(row: Row) -> None:
    check_row(row)
