"""Operations that raise eagerly for what their arguments hold: a graph does not run them where their results are not used.

Each operation with the trait is called with what it refuses, once eagerly and once as the only operation of a graph besides its result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow as tf

from terra_refactor.tf_model.graph_traits import GRAPH_TRAITS
from terra_refactor.tf_model.spec import Trait

pytestmark = pytest.mark.tensorflow

NUMBERS = [1.0, 2.0]
FEATURES = {"a": tf.io.FixedLenFeature([], tf.float32)}
JUNK = b"%"


def _array() -> Any:
    return tf.TensorArray(tf.float32, size=2, element_shape=[], clear_after_read=False)


def _sparse(indices: Any) -> Any:
    return tf.SparseTensor(tf.cast(indices, tf.int64), NUMBERS, [2])


CALLS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "tensorflow.dynamic_partition": (lambda x: tf.dynamic_partition(NUMBERS, x, 2), [0, 9]),
    "tensorflow.dynamic_stitch": (lambda x: tf.dynamic_stitch([x], [NUMBERS]), [0, -3]),
    "tensorflow.ensure_shape": (lambda x: tf.ensure_shape(tf.boolean_mask(x, x > 1.0), [2]), NUMBERS),
    "tensorflow.gather": (lambda x: tf.gather(NUMBERS, x), [7]),
    "tensorflow.gather_nd": (lambda x: tf.gather_nd(NUMBERS, x), [[7]]),
    "tensorflow.reshape": (lambda x: tf.reshape(NUMBERS, x), [3]),
    "tensorflow.reverse_sequence": (lambda x: tf.reverse_sequence([NUMBERS], x, seq_axis=1), [9]),
    "tensorflow.scatter_nd": (lambda x: tf.scatter_nd(x, [1.0], [2]), [[9]]),
    "tensorflow.slice": (lambda x: tf.slice(NUMBERS, x, [1]), [9]),
    "tensorflow.split": (lambda x: tf.split(NUMBERS, x), [1, 5]),
    "tensorflow.unravel_index": (lambda x: tf.unravel_index(x, [2, 2]), [9]),
    **{
        f"tensorflow.tensor_scatter_nd_{name}": (
            lambda x, name=name: getattr(tf, f"tensor_scatter_nd_{name}")(tf.constant(NUMBERS), x, [1.0]),
            [[9]],
        )
        for name in ("add", "max", "min", "sub", "update")
    },
    "tensorflow.TensorArray.gather": (lambda x: _array().unstack(NUMBERS).gather(x), [9]),
    "tensorflow.TensorArray.read": (lambda x: _array().unstack(NUMBERS).read(x), 9),
    "tensorflow.TensorArray.scatter": (lambda x: _array().scatter(x, [1.0]), [9]),
    "tensorflow.TensorArray.split": (
        lambda x: tf.TensorArray(tf.float32, size=2, infer_shape=False).split(NUMBERS, x),
        [1, 5],
    ),
    "tensorflow.TensorArray.unstack": (lambda x: _array().unstack(tf.boolean_mask([1.0, 2.0, 3.0], x)), [True] * 3),
    "tensorflow.TensorArray.write": (lambda x: _array().write(x, 1.0), 9),
    "tensorflow.audio.decode_wav": (tf.audio.decode_wav, JUNK),
    "tensorflow.image.crop_and_resize": (
        lambda x: tf.image.crop_and_resize(tf.ones([1, 2, 2, 1]), tf.zeros([1, 4]), x, [2, 2]),
        [9],
    ),
    "tensorflow.io.decode_and_crop_jpeg": (lambda x: tf.io.decode_and_crop_jpeg(x, [0, 0, 1, 1]), JUNK),
    "tensorflow.io.decode_base64": (tf.io.decode_base64, JUNK),
    "tensorflow.io.decode_bmp": (tf.io.decode_bmp, JUNK),
    "tensorflow.io.decode_csv": (lambda x: tf.io.decode_csv(x, [[1.0]]), [b"a"]),
    "tensorflow.io.decode_gif": (tf.io.decode_gif, JUNK),
    "tensorflow.io.decode_image": (tf.io.decode_image, JUNK),
    "tensorflow.io.decode_jpeg": (tf.io.decode_jpeg, JUNK),
    "tensorflow.io.decode_json_example": (tf.io.decode_json_example, [JUNK]),
    "tensorflow.io.decode_png": (tf.io.decode_png, JUNK),
    "tensorflow.io.decode_raw": (lambda x: tf.io.decode_raw(x, tf.float32), [b"abc"]),
    "tensorflow.io.extract_jpeg_shape": (tf.io.extract_jpeg_shape, JUNK),
    "tensorflow.io.parse_example": (lambda x: tf.io.parse_example(x, FEATURES), [JUNK]),
    "tensorflow.io.parse_sequence_example": (lambda x: tf.io.parse_sequence_example(x, FEATURES), [JUNK]),
    "tensorflow.io.parse_single_example": (lambda x: tf.io.parse_single_example(x, FEATURES), JUNK),
    "tensorflow.io.parse_single_sequence_example": (lambda x: tf.io.parse_single_sequence_example(x, FEATURES), JUNK),
    "tensorflow.io.parse_tensor": (lambda x: tf.io.parse_tensor(x, tf.float32), JUNK),
    "tensorflow.io.read_file": (tf.io.read_file, "no such file"),
    "tensorflow.linalg.inv": (tf.linalg.inv, [[0.0]]),
    "tensorflow.linalg.lu": (tf.linalg.lu, [[0.0]]),
    "tensorflow.linalg.solve": (lambda x: tf.linalg.solve(x, [[1.0]]), [[0.0]]),
    "tensorflow.math.bincount": (tf.math.bincount, [-1]),
    "tensorflow.math.floordiv": (lambda x: tf.math.floordiv([1], x), [0]),
    "tensorflow.math.floormod": (lambda x: tf.math.floormod([1], x), [0]),
    "tensorflow.math.invert_permutation": (tf.math.invert_permutation, [5, 5]),
    **{
        f"tensorflow.math.segment_{name}": (
            lambda x, name=name: getattr(tf.math, f"segment_{name}")(NUMBERS, x),
            [1, 0],
        )
        for name in ("max", "mean", "min", "prod", "sum")
    },
    "tensorflow.math.top_k": (lambda x: tf.math.top_k(NUMBERS, x), 5),
    **{
        f"tensorflow.math.unsorted_segment_{name}": (
            lambda x, name=name: getattr(tf.math, f"unsorted_segment_{name}")(NUMBERS, x, 2),
            [0, 9],
        )
        for name in ("max", "mean", "min", "prod", "sum")
    },
    "tensorflow.nn.embedding_lookup": (lambda x: tf.nn.embedding_lookup(tf.ones([2, 2]), x), [9]),
    "tensorflow.nn.sparse_softmax_cross_entropy_with_logits": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(x, [NUMBERS]),
        [9],
    ),
    "tensorflow.sparse.reshape": (lambda x: tf.sparse.reshape(_sparse([[0], [1]]), tf.cast(x, tf.int64)), [3]),
    "tensorflow.sparse.to_dense": (lambda x: tf.sparse.to_dense(_sparse(x)), [[1], [0]]),
    "tensorflow.strings.regex_full_match": (lambda x: tf.strings.regex_full_match(["a"], x), "["),
    "tensorflow.strings.regex_replace": (lambda x: tf.strings.regex_replace(["a"], x, ""), "["),
    "tensorflow.strings.substr": (lambda x: tf.strings.substr(["ab"], x, [1]), [9]),
    "tensorflow.strings.to_number": (tf.strings.to_number, ["a"]),
    "tensorflow.strings.unicode_decode": (
        lambda x: tf.strings.unicode_decode(x, "UTF-8", errors="strict"),
        [b"\xff"],
    ),
    "tensorflow.strings.unicode_transcode": (
        lambda x: tf.strings.unicode_transcode(x, "UTF-8", "UTF-8", errors="strict"),
        [b"\xff"],
    ),
}
ACCEPTED = frozenset({"tensorflow.TensorArray.scatter", "tensorflow.TensorArray.unstack", "tensorflow.reshape"})
"""What a graph takes even where the result is used: its arrays grow, and the optimizer takes a reshape of a constant away."""
EAGERLY = (tf.errors.OpError, ValueError, IndexError)


def test_each_operation_with_the_trait_is_tried() -> None:
    assert set(CALLS) == set(GRAPH_TRAITS[Trait.FAILS_ON_VALUES].split())


@pytest.mark.parametrize("name", sorted(CALLS))
def test_only_eager_code_runs_an_operation_whose_result_is_not_used(name: str) -> None:
    call, refused = CALLS[name]
    argument = tf.constant(refused)
    with pytest.raises(EAGERLY):
        call(argument)

    @tf.function
    def dropped(x: Any) -> Any:
        call(x)
        return tf.constant(1)

    @tf.function
    def used(x: Any) -> Any:
        result = call(x)
        return result.flow if isinstance(result, tf.TensorArray) else result

    assert int(dropped(argument)) == 1
    if name in ACCEPTED:
        used(argument)
    else:
        with pytest.raises(EAGERLY):
            used(argument)


def test_a_graph_runs_checks_of_tensorflow_whose_results_are_not_used() -> None:
    @tf.function
    def checked(x: Any) -> Any:
        tf.debugging.check_numerics(x, "x")
        return tf.constant(1)

    with pytest.raises(tf.errors.InvalidArgumentError):
        checked(tf.constant([float("nan")]))
