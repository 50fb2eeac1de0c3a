"""Datasets that never end, of which each batch is full; sizes of sparse tensors, histograms and padded sequences."""

from __future__ import annotations

import pytest

from tests.analysis_support import analyze_text

HEAD = """\
import tensorflow as tf

data = tf.data.TextLineDataset("lines.txt").map(tf.strings.length)
"""
FULL = (
    "data.repeat().batch(4)",
    "data.repeat(-1).shuffle(8).batch(4).prefetch(1)",
    "data.cache().repeat().map(lambda n: n + 1).batch(4).take(3)",
    "tf.data.Dataset.range(10).repeat().map(lambda n: tf.cast(n, tf.int32)).batch(4)",
)
OPEN = (
    "data.batch(4).repeat()",
    "data.repeat(2).batch(4)",
    "data.repeat(2).shuffle(3).batch(4)",
    "data.repeat().take_while(lambda n: n < 3).batch(4)",
    "data.repeat().filter(lambda n: n < 3).take(tf.random.uniform([], 1, 9, tf.int64)).batch(4)",
)


def failures(dataset: str) -> int:
    text = f"{HEAD}for n in {dataset}:\n    print(n + tf.zeros([3], tf.int32))\n"
    return len(analyze_text(text).lines("TR401"))


@pytest.mark.parametrize("dataset", FULL)
def test_each_batch_is_full(dataset: str) -> None:
    assert failures(dataset) == 1


@pytest.mark.parametrize("dataset", OPEN)
def test_the_last_batch_may_be_smaller(dataset: str) -> None:
    assert failures(dataset) == 0


def test_sizes_of_a_sparse_tensor_and_of_a_histogram() -> None:
    text = """\
import tensorflow as tf

a = tf.sparse.from_dense(tf.eye(5))
b = tf.SparseTensor(a.indices, a.values * 2.0, a.dense_shape)
tf.sparse.to_dense(b) + tf.zeros([4, 5])
tf.histogram_fixed_width(tf.zeros([9]), [0.0, 1.0], nbins=16) + tf.zeros([15], tf.int32)
tf.histogram_fixed_width(tf.zeros([9]), [0.0, 1.0]) + tf.zeros([100], tf.int32)
"""
    assert analyze_text(text).lines("TR401") == (5, 6)


@pytest.mark.parametrize(
    ("sequences", "lines"),
    [("[[1, 2], [1, 2, 3]]", (3,)), ("[[1] * n for n in (1, 3)]", (3,)), ("[[1, 2], list(open('words.txt'))]", ())],
)
def test_sequences_are_padded_to_the_longest(sequences: str, lines: tuple[int, ...]) -> None:
    text = f"import tensorflow as tf\na = tf.keras.utils.pad_sequences({sequences})\ntf.constant(a) + tf.zeros([2, 4], tf.int32)\n"
    assert analyze_text(text).lines("TR401") == lines
