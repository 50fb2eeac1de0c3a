"""The gradient of a reduction over int64 axes, in TensorFlow: a trace that does not know all sizes has none (TR310)."""

from __future__ import annotations

from typing import Any

import pytest

AXES = {"array": True, "int64": True, "int32": False, "tuple": False, "numbers": False}


def _axes(kind: str) -> Any:
    import numpy as np  # noqa: PLC0415
    import tensorflow as tf  # noqa: PLC0415

    return {
        "array": np.arange(1, 3),
        "int64": tf.constant([1, 2], tf.int64),
        "int32": tf.constant([1, 2]),
        "tuple": (1, 2),
        "numbers": [np.int64(1), np.int64(2)],
    }[kind]


@pytest.mark.parametrize("kind", AXES)
@pytest.mark.parametrize("name", ["reduce_sum", "reduce_mean", "reduce_max", "reduce_prod", "reduce_logsumexp"])
def test_axes(name: str, kind: str) -> None:
    import tensorflow as tf  # noqa: PLC0415

    axes = _axes(kind)

    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = getattr(tf, name)(x, axis=axes)
        return tape.gradient(y, x)

    x = tf.ones([2, 3, 4])
    expected = gradient(x)
    tf.debugging.assert_equal(tf.function(gradient)(x), expected)
    for shape in ([None, 3, 4], None):
        traced = tf.function(gradient, input_signature=[tf.TensorSpec(shape, tf.float32)])
        if AXES[kind]:
            with pytest.raises(TypeError, match="DynamicStitch"):
                traced(x)
        else:
            tf.debugging.assert_equal(traced(x), expected)


@pytest.mark.parametrize("name", ["max", "mean", "min", "prod", "std", "sum", "var"])
def test_axes_of_the_backend(name: str) -> None:
    import tensorflow as tf  # noqa: PLC0415

    def gradient(x: Any, axes: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = getattr(tf.keras.backend, name)(x, axis=axes)
        return tape.gradient(y, x)

    x, array, numbers = tf.reshape(tf.range(24.0), [2, 3, 4]), _axes("array"), _axes("tuple")
    gradient(x, array)
    signature = [tf.TensorSpec([None, 3, 4])]
    tf.function(lambda x: gradient(x, numbers), input_signature=signature)(x)
    with pytest.raises(TypeError, match="DynamicStitch"):
        tf.function(lambda x: gradient(x, array), input_signature=signature)(x)


def test_axis_of_concat() -> None:
    import numpy as np  # noqa: PLC0415
    import tensorflow as tf  # noqa: PLC0415

    def gradient(x: Any, axis: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.concat([x, x], axis=axis)
        return tape.gradient(y, x)

    x = tf.ones([2, 3])
    gradient(x, np.int64(1))
    tf.function(lambda x: gradient(x, 1))(x)
    with pytest.raises(TypeError, match="int64"):
        tf.function(lambda x: gradient(x, np.int64(1)))(x)
