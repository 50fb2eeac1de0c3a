"""Rules of `tf.nn` and `tf.random` against TensorFlow."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow as tf
from harness import Call, Row, calls, check_row, row_id, shapes, sizes, specs
from hypothesis import strategies as st

pytestmark = pytest.mark.tensorflow

RUN_TIME = "checked when it runs"
SAMPLED = "the batch of the labels where that of the inputs is not known"


@st.composite
def convolutions(draw: st.DrawFn, rank: int, stride: str = "strides", depthwise: bool = False) -> Call:
    channels = draw(sizes)
    data = (draw(sizes), *(draw(st.integers(3, 9)) for _ in range(rank)), channels)
    taken = channels if draw(st.integers(0, 5)) else draw(sizes)
    kernel = (*(draw(st.integers(1, 4)) for _ in range(rank)), taken, draw(sizes))
    strides: Any = draw(st.integers(1, 3))
    if depthwise:
        strides = [1, strides, strides, 1]
    return Call(
        {
            "input": draw(specs(data, "float32")),
            "filter" if depthwise else "filters": draw(specs(kernel, "float32")),
            stride: strides,
            "padding": draw(st.sampled_from(["SAME", "VALID"])),
        }
    )


@st.composite
def dilated(draw: st.DrawFn) -> Call:
    call = draw(convolutions(2))
    return Call({**call.arguments, "strides": 1, "dilations": draw(st.integers(1, 2))})


@st.composite
def padded(draw: st.DrawFn) -> Call:
    call = draw(convolutions(2))
    pairs = [[0, 0], [draw(st.integers(0, 2)), 1], [draw(st.integers(0, 2)), 0], [0, 0]]
    return Call({**call.arguments, "padding": pairs})


@st.composite
def pools(draw: st.DrawFn, rank: int) -> Call:
    data = (draw(sizes), *(draw(st.integers(3, 9)) for _ in range(rank)), draw(sizes))
    return Call(
        {
            "input": draw(specs(data, "float32")),
            "ksize": draw(st.integers(1, 4)),
            "strides": draw(st.integers(1, 3)),
            "padding": draw(st.sampled_from(["SAME", "VALID"])),
        }
    )


@st.composite
def biases(draw: st.DrawFn) -> Call:
    data = draw(shapes(min_rank=2 if draw(st.integers(0, 5)) else 1))
    bias = (data[-1] if draw(st.integers(0, 4)) else draw(sizes),)
    return Call({"value": draw(specs(data, "float32")), "bias": draw(specs(bias, "float32"))})


@st.composite
def labelled(draw: st.DrawFn, sparse: bool) -> Call:
    logits = draw(shapes(min_rank=1, max_rank=3))
    labels: tuple[int, ...] = logits[:-1] if sparse else logits
    if draw(st.integers(0, 4)) == 0:
        labels = draw(shapes(max_rank=3))
    return Call(
        {"labels": draw(specs(labels, "int32" if sparse else "float32")), "logits": draw(specs(logits, "float32"))}
    )


@st.composite
def labelled_otherwise(draw: st.DrawFn) -> Call:
    """Labels of one axis less than the logits, or with the outer axes taken together."""
    logits = draw(shapes(min_rank=2, max_rank=3))
    labels = draw(st.sampled_from([logits[:-1], logits[1:], (logits[0] * logits[1], *logits[2:])]))
    return Call({"labels": draw(specs(labels, "float32")), "logits": draw(specs(logits, "float32"))})


@st.composite
def sampled(draw: st.DrawFn) -> Call:
    batch, width = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    labels = draw(st.sampled_from([(batch, 1), (batch, 1), (batch,), (batch + 1, 1)]))
    weights = (9, draw(st.sampled_from([width, width, width + 1])))
    return Call(
        {
            "weights": draw(specs(weights, "float32")),
            "biases": draw(specs((9,), "float32")),
            "labels": draw(specs(labels, "int64")),
            "inputs": draw(specs((batch, width), "float32")),
            "num_sampled": 3,
            "num_classes": 9,
        }
    )


@st.composite
def old_losses(draw: st.DrawFn, labels: str, predictions: str) -> Call:
    made = draw(shapes(min_rank=1, max_rank=3))
    given = draw(st.sampled_from([made, made, made[:-1], (*made, 1), draw(shapes(max_rank=3))]))
    return Call({labels: draw(specs(given, "float32")), predictions: draw(specs(made, "float32"))})


@st.composite
def old_class_numbers(draw: st.DrawFn) -> Call:
    logits = (*draw(shapes(min_rank=1, max_rank=2)), draw(st.integers(2, 4)))
    labels = draw(st.sampled_from([logits[:-1], (*logits[:-1], 1), logits, logits[1:]]))
    return Call({"labels": draw(specs(labels, "int32")), "logits": draw(specs(logits, "float32"))})


@st.composite
def moments(draw: st.DrawFn) -> Call:
    data = draw(specs(shapes(min_rank=2)))
    return Call({"x": data, "axes": draw(st.sampled_from([[0], [0, 1], [-1]])), "keepdims": draw(st.booleans())})


@st.composite
def lookups(draw: st.DrawFn) -> Call:
    return Call(
        {
            "params": draw(specs(shapes(min_rank=1, max_rank=3), "float32")),
            "ids": draw(specs(shapes(max_rank=3), "int32")),
        }
    )


@st.composite
def frames(draw: st.DrawFn, **arguments: Any) -> Call:
    """Logits of some sequences, frame by frame, and how many frames each sequence has."""
    count, batch = draw(sizes), draw(sizes)
    return Call(
        {
            "inputs": draw(specs((count, batch, draw(st.integers(2, 5))), "float32")),
            "sequence_length": draw(specs((batch,), "int32")),
            **{name: draw(strategy) for name, strategy in arguments.items()},
        }
    )


a_shape = shapes().map(list)

ROWS = [
    Row("tensorflow.nn.conv1d", convolutions(1, "stride"), imprecise="one-dimensional convolution of an unknown rank"),
    Row("tensorflow.nn.conv2d", convolutions(2)),
    Row("tensorflow.nn.conv2d", dilated(), label="conv2d[dilated]"),
    Row("tensorflow.nn.conv2d", padded(), label="conv2d[padded]"),
    Row(
        "tensorflow.nn.conv3d",
        calls(
            input=specs((2, 5, 6, 7, 3)),
            filters=specs((2, 3, 2, 3, 4), "float32"),
            strides=[1, 2, 1, 1, 1],
            padding="VALID",
        ),
        imprecise="",
        misses_errors="dtypes",
    ),
    Row("tensorflow.nn.convolution", convolutions(2), misses_errors=RUN_TIME, imprecise="ranks that are not known"),
    Row(
        "tensorflow.nn.depthwise_conv2d",
        convolutions(2, depthwise=True),
        imprecise="channels that only the filters know",
    ),
    *[
        Row(
            f"tensorflow.nn.{kind}_pool{rank}d",
            pools(rank),
            misses_errors=RUN_TIME,
            imprecise="unknown ranks" if rank != 2 else "",
        )
        for kind in ("max", "avg")
        for rank in (1, 2)
    ],
    Row("tensorflow.nn.max_pool", pools(2), misses_errors=RUN_TIME),
    Row("tensorflow.nn.bias_add", biases()),
    Row("tensorflow.nn.moments", moments(), misses_errors=RUN_TIME),
    Row("tensorflow.nn.embedding_lookup", lookups()),
    Row(
        "tensorflow.nn.softmax_cross_entropy_with_logits",
        labelled(False),
        imprecise="broadcasting of labels",
        misses_errors=RUN_TIME,
    ),
    Row(
        "tensorflow.nn.softmax_cross_entropy_with_logits",
        labelled_otherwise(),
        label="softmax_cross_entropy_with_logits[other ranks]",
        imprecise="broadcasting of labels",
        misses_errors=RUN_TIME,
    ),
    Row("tensorflow.nn.sparse_softmax_cross_entropy_with_logits", labelled(True), imprecise="unknown ranks"),
    Row("tensorflow.nn.nce_loss", sampled(), imprecise=SAMPLED, misses_errors=RUN_TIME),
    Row("tensorflow.nn.sampled_softmax_loss", sampled(), imprecise=SAMPLED, misses_errors=RUN_TIME),
    *[
        Row(f"tensorflow.compat.v1.losses.{name}", old_losses("labels", predictions))
        for name, predictions in (
            ("absolute_difference", "predictions"),
            ("huber_loss", "predictions"),
            ("log_loss", "predictions"),
            ("mean_squared_error", "predictions"),
            ("hinge_loss", "logits"),
        )
    ],
    Row("tensorflow.compat.v1.losses.sigmoid_cross_entropy", old_losses("multi_class_labels", "logits")),
    Row("tensorflow.compat.v1.losses.softmax_cross_entropy", old_losses("onehot_labels", "logits")),
    Row("tensorflow.compat.v1.losses.sparse_softmax_cross_entropy", old_class_numbers()),
    Row("tensorflow.nn.sigmoid_cross_entropy_with_logits", labelled(False), imprecise="unknown ranks"),
    Row("tensorflow.nn.ctc_greedy_decoder", frames(), misses_errors=RUN_TIME),
    Row(
        "tensorflow.nn.ctc_beam_search_decoder",
        frames(top_paths=st.integers(1, 3), beam_width=st.just(4)),
        misses_errors=RUN_TIME,
    ),
    Row("tensorflow.nn.l2_loss", calls(t=specs(shapes()))),
    Row("tensorflow.nn.dropout", calls(x=specs(shapes()), rate=0.5)),
    Row("tensorflow.random.uniform", calls(shape=a_shape, dtype=st.sampled_from([tf.float32, tf.float64]))),
    Row("tensorflow.random.normal", calls(shape=a_shape, mean=specs(shapes(max_rank=1), "float32"))),
    Row("tensorflow.random.truncated_normal", calls(shape=a_shape)),
    Row("tensorflow.random.stateless_uniform", calls(shape=a_shape, seed=(1, 2))),
    Row("tensorflow.random.stateless_normal", calls(shape=a_shape, seed=(1, 2))),
    Row("tensorflow.random.gamma", calls(shape=a_shape, alpha=specs(shapes(max_rank=2), "float32"))),
    Row("tensorflow.random.poisson", calls(shape=a_shape, lam=specs(shapes(max_rank=2), "float32"))),
    Row("tensorflow.random.categorical", calls(logits=specs(shapes(max_rank=3), "float32"), num_samples=sizes)),
    Row("tensorflow.random.shuffle", calls(value=specs(shapes(min_rank=1)))),
    Row("tensorflow.random.split", calls(seed=(1, 2), num=sizes)),
]


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_agrees_with_tensorflow(row: Row) -> None:
    check_row(row)
