"""Rules for strings, images, signals, files, ragged tensors and TensorFlow 1 names against TensorFlow."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow as tf
from harness import Call, Row, calls, check_row, row_id, shapes, sizes, specs
from hypothesis import strategies as st

pytestmark = pytest.mark.tensorflow

RUN_TIME = "checked when it runs"
COMPOSED = "composed of operations that lose sizes in one order or the other"

texts = specs(shapes(), "string")
texts_or_numbers = specs(shapes(), ("string", "string", "float32"))
length = st.integers(1, 9)


@st.composite
def images(draw: st.DrawFn, parameter: str = "image", batched: bool | None = None, **others: Any) -> Call:
    with_batch = draw(st.booleans()) if batched is None else batched
    shape = (*((draw(sizes),) if with_batch else ()), draw(length), draw(length), 3)
    if draw(st.integers(0, 8)) == 0:
        shape = draw(shapes(max_rank=2))
    data = draw(specs(shape, ("float32", "uint8")))
    return Call({parameter: data, **{name: draw(value) for name, value in others.items()}})


@st.composite
def frames(draw: st.DrawFn) -> Call:
    data = draw(specs((*draw(shapes(max_rank=1)), draw(st.integers(4, 12))), "float32"))
    return Call(
        {
            "signal": data,
            "frame_length": draw(st.integers(1, 4)),
            "frame_step": draw(st.integers(1, 3)),
            "pad_end": draw(st.booleans()),
        }
    )


@st.composite
def transforms(draw: st.DrawFn, parameter: str, dtypes: tuple[str, ...]) -> Call:
    return Call({parameter: draw(specs(shapes(min_rank=1), dtypes))})


@st.composite
def reductions(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes(min_rank=1), ("float32",)))
    axis = draw(st.one_of(st.none(), st.integers(-len(data.shape), len(data.shape) - 1)))
    return Call({"input_tensor": data, "axis": axis, "keepdims": draw(st.booleans())})


ROWS = [
    *[
        Row(f"tensorflow.strings.{name}", calls(input=texts_or_numbers))
        for name in ("lower", "upper", "strip", "length")
    ],
    Row("tensorflow.strings.regex_replace", calls(input=texts, pattern="a", rewrite="b")),
    Row("tensorflow.strings.regex_full_match", calls(input=texts, pattern="a")),
    Row("tensorflow.strings.as_string", calls(input=specs(shapes(), ("float32", "int32", "bool")))),
    Row("tensorflow.strings.to_number", calls(input=texts, out_type=st.sampled_from([tf.float32, tf.int32]))),
    Row("tensorflow.strings.to_hash_bucket_fast", calls(input=texts, num_buckets=7)),
    Row("tensorflow.strings.substr", calls(input=texts, pos=0, len=2), imprecise="positions of a higher rank"),
    Row(
        "tensorflow.strings.join",
        calls(inputs=st.lists(specs((2, 3), "string"), min_size=1, max_size=3)),
        imprecise=COMPOSED,
    ),
    Row(
        "tensorflow.image.resize",
        images("images", size=st.sampled_from([(4, 5), [6, 2]])),
        misses_errors=RUN_TIME,
        imprecise=COMPOSED,
    ),
    Row("tensorflow.image.flip_left_right", images(), imprecise=COMPOSED),
    Row("tensorflow.image.random_flip_left_right", images(), imprecise=COMPOSED),
    Row("tensorflow.image.rgb_to_grayscale", images("images"), misses_errors=RUN_TIME, imprecise=COMPOSED),
    Row("tensorflow.image.convert_image_dtype", images(dtype=st.just(tf.float32))),
    Row(
        "tensorflow.image.resize_with_crop_or_pad",
        images(target_height=length, target_width=length),
        misses_errors=RUN_TIME,
        imprecise=COMPOSED,
    ),
    Row(
        "tensorflow.image.random_crop",
        calls(
            value=specs(st.sampled_from([(8, 9, 3), (2, 8, 9, 3), (8,)]), "float32"),
            size=st.sampled_from([(4, 5, 3), (2, 4, 5, 3), (4,), (9, 5, 3)]),
        ),
        misses_errors=RUN_TIME,
        imprecise=COMPOSED,
    ),
    Row("tensorflow.image.rot90", images(k=st.integers(0, 4)), misses_errors=RUN_TIME, imprecise=COMPOSED),
    Row("tensorflow.image.transpose", images(), misses_errors=RUN_TIME, imprecise=COMPOSED),
    Row("tensorflow.image.adjust_brightness", images(delta=st.just(0.1)), misses_errors=RUN_TIME),
    Row("tensorflow.image.per_image_standardization", images(), misses_errors=RUN_TIME, imprecise=COMPOSED),
    Row(
        "tensorflow.image.central_crop",
        images(central_fraction=st.just(0.5)),
        misses_errors=RUN_TIME,
        imprecise="sizes after a fraction",
    ),
    Row("tensorflow.signal.fft", transforms("input", ("complex64", "float32")), misses_errors=RUN_TIME),
    Row(
        "tensorflow.signal.rfft",
        transforms("input_tensor", ("float32", "float64")),
        misses_errors=RUN_TIME,
        imprecise=COMPOSED,
    ),
    Row(
        "tensorflow.signal.irfft",
        transforms("input_tensor", ("complex64",)),
        misses_errors=RUN_TIME,
        imprecise=COMPOSED,
    ),
    Row("tensorflow.signal.frame", frames(), imprecise=COMPOSED),
    Row("tensorflow.signal.hann_window", calls(window_length=sizes)),
    Row("tensorflow.io.decode_png", calls(contents=specs((), "string"), channels=st.sampled_from([0, 1, 3]))),
    Row("tensorflow.io.decode_image", calls(contents=specs((), "string"), channels=3, expand_animations=st.booleans())),
    Row("tensorflow.io.decode_raw", calls(input_bytes=texts, out_type=tf.int32)),
    Row("tensorflow.io.read_file", calls(filename=specs((), "string"))),
    Row("tensorflow.io.parse_tensor", calls(serialized=specs((), "string"), out_type=tf.float32)),
    Row("tensorflow.compat.v1.placeholder", calls(dtype=tf.float32, shape=st.sampled_from([None, [None, 3], (2,)]))),
    Row("tensorflow.compat.v1.reduce_sum", reductions()),
    Row("tensorflow.compat.v1.expand_dims", calls(input=specs((2, 3)), axis=st.integers(-3, 2))),
    Row("tensorflow.compat.v1.to_float", calls(x=specs(shapes(), ("int32", "float64")))),
    Row(
        "tensorflow.compat.v1.div",
        calls(x=specs((2, 3), ("int32", "float32")), y=specs((3,), ("int32", "float32"))),
        misses_errors=RUN_TIME,
    ),
    Row(
        "tensorflow.compat.v1.nn.xw_plus_b",
        calls(x=specs((2, 3), "float32"), weights=specs((3, 4), "float32"), biases=specs((4,), "float32")),
        imprecise=COMPOSED,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_agrees_with_tensorflow(row: Row) -> None:
    check_row(row)
