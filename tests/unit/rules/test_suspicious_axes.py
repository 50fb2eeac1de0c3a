"""Axes that exist and are not meant: TR407, and reshapes in the place of a transpose (TR405)."""

from __future__ import annotations

import pytest

from tests.analysis_support import analyze_text

HEAD = """\
import json
import tensorflow as tf
g = json.loads("3")
dense = tf.keras.layers.Dense(10)
ids = tf.constant([[1, 2, 0], [3, 0, 0]])
x = tf.random.normal([2, 3, 4])
h = tf.random.normal([2, 4, 3, 8])
"""

WRONG_AXIS = {
    "attention over the heads": "y = tf.matmul(tf.nn.softmax(tf.matmul(h, h, transpose_b=True), axis=1), h)",
    "weights in a variable": "w = tf.nn.softmax(h @ tf.transpose(h, [0, 1, 3, 2]), axis=-2)\ny = w @ h",
    "transposed weights": "y = tf.matmul(tf.nn.softmax(h @ tf.transpose(h, [0, 1, 3, 2]), axis=-1), h, transpose_a=True)",
    "cosines": "a = tf.math.l2_normalize(x[0], axis=0)\ny = tf.matmul(a, a, transpose_b=True)",
    "softmax over the batch": "y = tf.nn.softmax(dense(x[0]), axis=0)",
    "argmax without an axis": "y = tf.argmax(dense(x[0]))",
    "argmax of a parameter": "def f(p):\n    return tf.argmax(p, 0)\ny = f(dense(x[0]))",
    "classes": (
        "p = tf.nn.softmax(x[0] * 2.0, axis=0)\n"
        "y = tf.keras.losses.sparse_categorical_crossentropy(tf.constant([0, 1, 2]), p)"
    ),
    "a cross entropy of two axes": "y = tf.reduce_sum(tf.nn.softmax(x[0], axis=0) * tf.nn.log_softmax(x[1]), axis=-1)",
    "probabilities of another function": (
        "def f(p, axis=0):\n    return tf.nn.softmax(p / 2.0, axis=axis)\n"
        "def g(p, q):\n    t = f(p)\n    log = tf.nn.log_softmax(q)\n    return -tf.reduce_sum(t * log, axis=-1)\ny = g(x[0], x[1])"
    ),
    "mean of padding": "m = tf.cast(ids != 0, tf.float32)\ny = tf.reduce_mean(x * m[:, :, None], axis=1)",
    "mean of what was masked before": (
        "def f(p, t):\n    p = p * tf.expand_dims(tf.cast(tf.not_equal(t, 0), p.dtype), -1)\n    return tf.reduce_mean(p, axis=1)\n"
        "y = f(x, ids)"
    ),
    "cosines that another function normalises": (
        "def unit(z):\n    return tf.math.l2_normalize(z, axis=0)\n"
        "def f(a, b):\n    a, b = unit(a), unit(b)\n    return tf.matmul(a, b, transpose_b=True)\ny = f(x[0], x[1])"
    ),
    "argmax of a product with a variable": (
        "w = tf.Variable(tf.zeros([4, 5]))\ndef net(p):\n    p = p @ w + 1.0\n    return p\n"
        "def best(p):\n    return tf.argmax(p)\ny = best(net(x[0]))"
    ),
    "losses of examples that are summed": (
        "def f(p, q):\n    return tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(p, q), axis=0)\n"
        "y = tf.reduce_mean(f(x[0], x[1]))"
    ),
    "cosines by a division": (
        "def unit(z):\n    return z / tf.norm(z, axis=0, keepdims=True)\n"
        "def f(a, b):\n    return tf.matmul(unit(a), unit(b), transpose_b=True)\ny = f(x[0], x[1])"
    ),
    "attention over the heads in an einsum": (
        "w = tf.nn.softmax(tf.einsum('bhqd,bhkd->bhqk', h, h), axis=1)\ny = tf.einsum('bhqk,bhkd->bhqd', w, h)"
    ),
    "a divergence of examples": (
        "def kl(m, s):\n    return -0.5 * tf.reduce_sum(1 + s - tf.square(m) - tf.exp(s), axis=0)\n"
        "m, s = tf.split(dense(x[0]), 2, axis=1)\ny = tf.reduce_mean(kl(m, s))"
    ),
    "a divergence of examples by variances": (
        "m, v = x[0], tf.exp(x[1])\n"
        "y = tf.reduce_mean(0.5 * tf.reduce_sum(tf.add(m * m, v) - tf.math.log(v) - 1.0, axis=0))"
    ),
    "an entropy of examples": "log = tf.nn.log_softmax(x[0])\ny = -tf.reduce_sum(tf.exp(log) * log, axis=0)",
    "an entropy of examples with a small number": (
        "def entropy(p):\n    return -tf.reduce_sum(p * tf.math.log(p + 1e-8), axis=-1)\ny = entropy(tf.nn.softmax(x[0], axis=0))"
    ),
    "a mixture of examples": "def f(w, l):\n    return tf.reduce_logsumexp(w + l, axis=0)\ny = f(tf.nn.log_softmax(x[0]), x[1])",
    "reversals that cancel": (
        "def f(r):\n    b = tf.reverse(r, axis=[1])\n    s = tf.scan(lambda t, e: e + 0.9 * t, b)\n    return tf.reverse(s, axis=[1])\n"
        "y = f(x[0])"
    ),
    "a running sum along another axis": "y = tf.reverse(tf.cumsum(tf.reverse(x, [0]), axis=1), [0])",
    "a Gram matrix of positions": "a = h[0, 0]\ny = tf.matmul(a, a, transpose_b=True) / 3.0",
    "a covariance of examples": (
        "def f(c):\n    n = tf.cast(tf.shape(c)[0], c.dtype)\n    return tf.matmul(c, c, transpose_b=True) / (n - 1.0)\ny = f(x[0])"
    ),
    "mean by a sequence mask": "y = tf.reduce_mean(tf.sequence_mask([1, 2], 3, tf.float32) * x[:, :, 0], axis=1)",
}

RIGHT_AXIS = {
    "attention over the keys": "y = tf.matmul(tf.nn.softmax(tf.matmul(h, h, transpose_b=True), axis=-1), h)",
    "transposed weights": "w = tf.nn.softmax(h @ tf.transpose(h, [0, 1, 3, 2]), axis=2)\ny = tf.matmul(w, h, transpose_a=True)",
    "a matrix of columns": "w = tf.nn.softmax(x[0], axis=0)\ny = tf.matmul(w, tf.ones([4, 2]))",
    "normalised columns of weights": "y = tf.math.l2_normalize(x[0], axis=1) @ tf.math.l2_normalize(tf.ones([4, 5]), axis=0)",
    "additive attention": "w = tf.nn.softmax(dense(x), axis=1)\ny = tf.reduce_sum(w[..., :4] * x, axis=1)",
    "softmax over the classes": "y = tf.nn.softmax(dense(x[0]), axis=1)",
    "the best example of a batch": "y = tf.argmax(x[0], axis=0)",
    "one row": "y = tf.argmax(dense(x[:1, 0]), axis=0)",
    "a parameter with other arguments": "def f(p):\n    return tf.argmax(p, 0)\ny = f(dense(x[0])), f(x[0])",
    "sum over the sum": (
        "m = tf.cast(ids != 0, tf.float32)\ny = tf.reduce_sum(x * m[:, :, None], axis=1) / tf.reduce_sum(m, axis=1, keepdims=True)"
    ),
    "a cross entropy": "y = tf.reduce_sum(tf.nn.softmax(x[0], axis=1) * tf.nn.log_softmax(x[1]), axis=-1)",
    "a cross entropy of columns": "y = tf.reduce_sum(tf.nn.softmax(x[0], axis=0) * tf.nn.log_softmax(x[1], axis=0), axis=0)",
    "weights along the first axis": "y = tf.reduce_sum(tf.nn.softmax(x[0], axis=0) * x[1], axis=0)",
    "cosines of rows of another function": (
        "def unit(z):\n    return tf.math.l2_normalize(z, axis=1)\n"
        "def f(a, b):\n    a, b = unit(a), unit(b)\n    return tf.matmul(a, b, transpose_b=True)\ny = f(x[0], x[1])"
    ),
    "argmax of rows": "w = tf.Variable(tf.zeros([4, 5]))\ny = tf.argmax(x[0] @ w, axis=1)",
    "losses of an example that are summed": (
        "y = tf.reduce_mean(tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(x[0], x[1]), axis=1))"
    ),
    "attention in an einsum": (
        "w = tf.nn.softmax(tf.einsum('bhqd,bhkd->bhqk', h, h), axis=-1)\ny = tf.einsum('bhqk,bhkd->bhqd', w, h)"
    ),
    "examples that are assigned to clusters": "w = tf.nn.softmax(x, axis=-1)\ny = tf.einsum('bnk,bnd->bkd', w, x)",
    "a weighted sum of experts": "w = tf.nn.softmax(x, axis=1)\ny = tf.einsum('bek,bek->bk', w, x)",
    "weights that are multiplied": "w = tf.nn.softmax(x, axis=1)\ny = tf.einsum('bek,bek->bek', w, x)",
    "a divergence": (
        "def kl(m, s):\n    return -0.5 * tf.reduce_sum(1 + s - tf.square(m) - tf.exp(s), axis=1)\ny = tf.reduce_mean(kl(x[0], x[1]))"
    ),
    "a divergence of all": "s = x[1]\ny = tf.reduce_sum(tf.reduce_sum(1 + s - x[0] ** 2 - tf.exp(s), axis=0))",
    "squares and exponentials": "s = x[1]\ny = tf.reduce_mean(tf.reduce_sum(s + tf.exp(s) + x[0] ** 2, axis=0))",
    "losses of a class": "y = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(x[0], x[1]), axis=0)",
    "returns": "y = tf.reverse(tf.cumsum(tf.reverse(x, [1]), axis=1), [1])",
    "an entropy": "p = tf.nn.softmax(x[0])\ny = -tf.reduce_sum(p * tf.math.log(p), axis=-1)",
    "an entropy with a small number": "p = tf.nn.softmax(x[0])\ny = -tf.reduce_sum(p * tf.math.log(1e-8 + p), axis=-1)",
    "a softmax with a large number": "p = tf.nn.softmax(x[0])\ny = -tf.reduce_sum(p * tf.math.log(p + 1.0), axis=0)",
    "a mixture": "y = tf.reduce_logsumexp(tf.nn.log_softmax(x[0]) + x[1], axis=1)",
    "rows by a division": (
        "def unit(z):\n    return z / tf.norm(z, axis=1, keepdims=True)\n"
        "def f(a, b):\n    return tf.matmul(unit(a), unit(b), transpose_b=True)\ny = f(x[0], x[1])"
    ),
    "a reversal alone": "y = tf.cumsum(tf.reverse(x, [0]), axis=1)",
    "a Gram matrix of channels": "a = h[0, 0]\ny = tf.matmul(a, a, transpose_a=True) / 3.0",
    "a kernel": "a = h[0, 0]\ny = tf.matmul(a, a, transpose_b=True) / 8.0",
    "a Gram matrix by another number": "a = h[0, 0]\ny = tf.matmul(a, a, transpose_b=True) / tf.reduce_sum(x)",
    "a product of two": "y = tf.matmul(x[0], x[1], transpose_b=True) / 3.0",
    "a gate": "y = tf.reduce_mean(x * tf.cast(x > 0.0, tf.float32), axis=1)",
    "labels that are not 0": "y = tf.reduce_mean(tf.cast(ids != 0, tf.float32), axis=1)",
}


WRONG_MASKS = [
    "y = tf.keras.layers.Embedding(9, 3)(ids) * tf.cast(ids != 0, tf.float32)",
    "def mask(t):\n    return tf.cast(tf.not_equal(t, 0), tf.float32)\ntable = tf.zeros([9, 3])\n"
    "def f(t):\n    m = mask(t)\n    e = tf.nn.embedding_lookup(table, t)\n    return tf.reduce_sum(e * m, axis=1)\ny = f(ids)",
]
RIGHT_MASKS = [
    "y = tf.keras.layers.Embedding(9, 3)(ids) * tf.cast(ids != 0, tf.float32)[..., None]",
    "other = tf.constant([[0, 1, 2], [2, 1, 0], [1, 0, 2]])\ny = tf.keras.layers.Embedding(9, 3)(ids[:, :, None][:, :, 0]) * "
    "tf.cast(other != 0, tf.float32)",
]


@pytest.mark.parametrize("text", WRONG_MASKS)
def test_a_mask_that_meets_what_is_looked_up(text: str) -> None:
    assert len(analyze_text(HEAD + text + "\n").lines("TR407")) == 1


@pytest.mark.parametrize("text", RIGHT_MASKS)
def test_a_mask_that_meets_the_ids(text: str) -> None:
    assert analyze_text(HEAD + text + "\n").lines("TR407") == ()


@pytest.mark.parametrize("text", WRONG_AXIS.values(), ids=WRONG_AXIS)
def test_an_axis_that_is_not_meant(text: str) -> None:
    assert len(analyze_text(HEAD + text + "\n").lines("TR407")) == 1


@pytest.mark.parametrize("text", RIGHT_AXIS.values(), ids=RIGHT_AXIS)
def test_an_axis_that_is_meant(text: str) -> None:
    assert analyze_text(HEAD + text + "\n").lines("TR407") == ()


HEAD_OF_ARRAYS = "import numpy as np\nimport os\nimport tensorflow as tf\nn = int(os.environ['N'])\n"
MOVED = (
    "def f(t):\n    a, b, c = t.shape\n    return tf.reshape(t, [a, c, b])\ny = f(tf.zeros([g, 3, 4]))",
    "def f(t):\n    return tf.reshape(t, [2, 4, 3])\ny = f(x)",
    "def f(t):\n    b, n = tf.shape(t)[0], tf.shape(t)[1]\n    return tf.reshape(t, [b, 2, n, 2])\ny = f(x)",
    "def f(t):\n    return tf.reshape(t, (t.shape[0], 2, t.shape[1], -1))\ny = f(x)",
    "y = tf.reshape(tf.zeros([2, 8, 6, 3]), [2, 3, 8, 6])",
    "y = tf.reshape(tf.stack([x[:, t] for t in range(3)]), [2, 3, -1])",
    "def f(outputs, frames):\n    return tf.reshape(outputs, (frames.shape[0], frames.shape[1], -1))\n"
    "y = f(tf.stack(tf.unstack(x, axis=1)), x)",
    "def f(t):\n    s = tf.shape(t)\n    return tf.reshape(t, [s[0], s[2], 32])\ny = f(h)",
    "y = tf.reshape(tf.stack([x[:, 0, 0], x[:, 1, 0], x[:, 2, 0]]), [2, 3])",
    "def f(t):\n    return tf.reshape(tf.reshape(t, [-1, 8, 6, 3]), [-1, 24, 6])\n"
    "import os\nn = int(os.environ['N'])\ny = f(tf.zeros([n, 48, 3]))",
)
MOVED_ARRAYS = (
    "a = np.zeros([5, 3072]).reshape(-1, 3, 32, 32)\ny = a.reshape(-1, 32, 32, 3)",
    "def f(t):\n    return np.reshape(t, (t.shape[0], 4, 9, 8))\ny = f(np.zeros([2, 9, 8, 4]))",
    "import os\nn = int(os.environ['N'])\ny = np.zeros([n, 3, 9, 8]).reshape(n, 9, 8, 3)",
    "y = tf.reshape(tf.zeros([n, 3, 9, 8]), [-1, 9, 8, 3])",
)
KEPT_ARRAYS = (
    "y = np.zeros([5, 28, 28, 1]).reshape(-1, 1, 28, 28)",
    "y = np.arange(24).reshape(2, 3, 4).reshape(2, 4, 3)",
    "y = np.zeros([5, 6, 4, 4]).reshape(-1, 4, 4, 2, 3)",
    "y = np.zeros([5, 8, 8, 3]).reshape(-1, 8, 8, 3)",
    "y = np.zeros([1, 8, 6, 3]).reshape(1, 3, 8, 6)",
    "y = np.zeros([5, 8, 8, 3]).transpose(0, 3, 1, 2)",
)
KEPT = (
    "def f(t):\n    a, b, c = t.shape\n    return tf.reshape(t, [a, c, b])\ny = f(tf.zeros([g, 3, 1]))",
    "def f(t):\n    a, b, c = t.shape\n    return tf.reshape(t, [a, b, c])\ny = f(tf.zeros([g, 3, 4]))",
    "def f(t):\n    a, b = t.shape\n    return tf.reshape(t, [b, a])\ny = f(tf.zeros([g, 3]))",
    "def f(t):\n    b, n = tf.shape(t)[0], tf.shape(t)[1]\n    return tf.reshape(t, [b, n, 2, 2])\ny = f(x)",
    "def f(t):\n    return tf.reshape(t, (t.shape[0], 1, t.shape[1], -1))\ny = f(x)",
    "def f(t):\n    return tf.reshape(t, (t.shape[0], -1, t.shape[1]))\ny = f(x)",
    "def f(t):\n    b, n = tf.shape(t)[0], tf.shape(t)[1]\n    return tf.reshape(t, [b * n, 4])\ny = f(x)",
    "y = tf.reshape(tf.zeros([2, 1, 6, 3]), [2, 6, 1, 3])",
    "y = tf.reshape(tf.zeros([2, 8, 8, 4]), [2, 64, 4])",
    "y = tf.reshape(x, [3, 2, 4])",
    "y = tf.reshape(tf.stack([x[0], x[1]]), [2, 3, -1])",
    "y = tf.reshape(tf.stack([x[0], x[1], x[0]]), [3, 3, -1])",
    "y = tf.reshape(tf.zeros([2, 6, 4]), [2, 3, 8])",
    "def f(t):\n    s = tf.shape(t)\n    return tf.reshape(t, [s[0], s[2], 3])\ny = f(tf.zeros([2, 1, 6, 3]))",
    "def f(t):\n    s = tf.shape(t)\n    return tf.reshape(t, [s[0], s[1], -1])\ny = f(h)",
    "def f(t):\n    s = tf.shape(t)\n    return tf.reshape(t, [s[0] * s[1], s[2], s[3]])\ny = f(h)",
    "def f(t):\n    return tf.reshape(t, [t.shape[1], -1])\ny = f(x)",
    "y = tf.reshape(tf.stack([x[0, 0], x[0, 1]]), [2, 4])",
    "y = tf.reshape(tf.stack([x[0, 0], x[0, 1]]), [-1, 1])",
)


@pytest.mark.parametrize("text", MOVED)
def test_a_reshape_in_the_place_of_a_transpose(text: str) -> None:
    assert len(analyze_text(HEAD + text + "\n").lines("TR405")) == 1


@pytest.mark.parametrize("text", MOVED_ARRAYS)
def test_a_reshape_of_an_array_in_the_place_of_a_transpose(text: str) -> None:
    assert len(analyze_text(HEAD_OF_ARRAYS + text + "\n").lines("TR405")) == 1


@pytest.mark.parametrize("text", KEPT_ARRAYS)
def test_a_reshape_of_an_array_that_keeps_the_order(text: str) -> None:
    assert analyze_text(HEAD_OF_ARRAYS + text + "\n").lines("TR405") == ()


@pytest.mark.parametrize("text", ["tf.nn.softmax(column(x[0]), axis=0)", "tf.argmax(column(x[0]), 0)"])
def test_a_column_of_scores_may_go_over_its_rows(text: str) -> None:
    head = HEAD + "column = tf.keras.layers.Dense(1)\n"
    assert analyze_text(f"{head}y = {text}\n").lines("TR407") == ()


SQUEEZED = "layer = tf.keras.layers.Dense(1)\nscores = {squeeze}\ny = tf.nn.softmax(scores, axis={axis})"


@pytest.mark.parametrize(
    ("squeeze", "axis", "found"),
    [
        ("tf.squeeze(layer(x), -1)", 0, 1),
        ("tf.squeeze(layer(x), axis=2)", 0, 1),
        ("tf.squeeze(layer(x), -1)", 1, 0),
        ("tf.squeeze(layer(x[:1]), 0)", 0, 0),
        ("tf.squeeze(layer(x[:1]), -3)", 0, 0),
    ],
)
def test_a_softmax_over_the_batch_of_squeezed_scores(squeeze: str, axis: int, found: int) -> None:
    assert len(analyze_text(HEAD + SQUEEZED.format(squeeze=squeeze, axis=axis) + "\n").lines("TR407")) == found


@pytest.mark.parametrize("text", KEPT)
def test_a_reshape_that_splits_and_merges(text: str) -> None:
    assert analyze_text(HEAD + text + "\n").lines("TR405") == ()


GATHERED = (
    "y = tf.gather(x, tf.math.top_k(x[:, :, 0], 2)[1], axis=1)",
    "def f(q, a):\n    return tf.gather(q, a, axis=1)\n"
    "import os\nn = int(os.environ['N'])\ny = f(tf.zeros([n, 3]), tf.zeros([n], tf.int32))",
    "y = tf.gather(x, tf.zeros([2, 5], tf.int32), axis=1, batch_dims=0)",
    "y = tf.gather(tf.zeros([8, 3]), tf.zeros([8], tf.int32), axis=1)",
)
PICKED = (
    "y = tf.gather(x, tf.math.top_k(x[:, :, 0], 2)[1], axis=1, batch_dims=1)",
    "y = tf.gather(x, [0, 1], axis=1)",
    "y = tf.gather(tf.zeros([3, 8]), tf.zeros([3], tf.int32), axis=1)",
    "y = tf.gather(x, tf.zeros([2, 5], tf.int32), axis=0)",
    "y = tf.gather(x[:1], tf.zeros([1, 5], tf.int32), axis=1)",
    "m = tf.zeros([3, 3])\ny = tf.gather(m, tf.argsort(m[0]), axis=1)",
    "y = tf.gather(x, tf.zeros([3, 5], tf.int32), axis=1)",
)


@pytest.mark.parametrize("text", GATHERED)
def test_a_gather_that_looks_up_all_in_all(text: str) -> None:
    assert len(analyze_text(HEAD + text + "\n").lines("TR404")) == 1


@pytest.mark.parametrize("text", PICKED)
def test_a_gather_that_is_meant(text: str) -> None:
    assert analyze_text(HEAD + text + "\n").lines("TR404") == ()


ONE_UNIT = {
    "the score of each step": ("score = tf.keras.layers.Dense(1)\ny = tf.nn.softmax(score(x), axis=-1)", 1),
    "along the steps": ("score = tf.keras.layers.Dense(1)\ny = tf.nn.softmax(score(x), axis=1)", 0),
    "one key so far": ("y = tf.nn.softmax(tf.matmul(h, h[:, :, :1], transpose_b=True))", 0),
}


@pytest.mark.parametrize(("text", "count"), ONE_UNIT.values(), ids=ONE_UNIT)
def test_a_softmax_of_one_unit(text: str, count: int) -> None:
    assert len(analyze_text(HEAD + text + "\n").lines("TR404")) == count


ROWS = {
    "row_lengths": ([[2, 3], [5], [0, 5, 0]], [[2, 2], [-1, 6], []]),
    "row_splits": ([[0, 2, 5], [0, 5]], [[0, 2], [1, 5], [0, 3, 2, 5], [], [0]]),
    "row_starts": ([[0, 2], [0, 5]], [[0, 6], [1, 2], [0, 3, 2]]),
    "row_limits": ([[2, 5], [5]], [[4], [3, 2, 5]]),
    "value_rowids": ([[0, 0, 1, 1, 2], [1, 1, 2, 2, 3]], [[0, 0, 1], [1, 0, 0, 0, 0]]),
}


@pytest.mark.parametrize("form", ROWS)
def test_a_partition_into_rows(form: str) -> None:
    # as TensorFlow 2.21 answers for five values
    for numbers in ROWS[form][0]:
        assert analyze_text(f"{HEAD}y = tf.RaggedTensor.from_{form}(tf.range(5), {numbers})\n").lines("TR401") == ()
    for numbers in ROWS[form][1]:
        assert len(analyze_text(f"{HEAD}y = tf.RaggedTensor.from_{form}(tf.range(5), {numbers})\n").lines("TR401")) == 1
        if form != "value_rowids":
            text = f"{HEAD}y = tf.RaggedTensor.from_{form}(tf.range(5), {numbers}, validate=False)\n"
            assert analyze_text(text).lines("TR401") == ()
