"""Functions of Keras and `tf.experimental.numpy` that need the value of a tensor: each works eagerly, and raises in a graph."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tensorflow")

import keras
import tensorflow as tf

from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait
from terra_refactor.tf_model.static_parameters import static_parameters

pytestmark = pytest.mark.tensorflow

MATRIX, VECTOR, TEXTS = tf.constant([[1.0, 2.0], [3.0, 5.0]]), tf.constant([1, 2]), tf.constant(["a", "b"])
STATIC: dict[tuple[str, str], tuple[Any, dict[str, Any]]] = {
    ("keras.ops.bartlett", "x"): (tf.constant(4.0), {}),
    ("keras.ops.corrcoef", "x"): (MATRIX, {}),
    ("keras.ops.digitize", "bins"): (tf.constant([1.0, 2.0]), {"x": MATRIX}),
    ("keras.ops.isin", "x1"): (MATRIX, {"x2": MATRIX}),
    ("keras.ops.isin", "x2"): (MATRIX, {"x1": MATRIX}),
    ("keras.ops.kron", "x1"): (MATRIX, {"x2": MATRIX}),
    ("keras.ops.kron", "x2"): (MATRIX, {"x1": MATRIX}),
    ("keras.ops.tile", "repeats"): (VECTOR, {"x": MATRIX}),
    ("keras.ops.tri", "N"): (tf.constant(2), {}),
    ("keras.ops.tri", "M"): (tf.constant(2), {"N": 2}),
}
ITERATING = {
    "keras.ops.stack": MATRIX,
    "keras.ops.hstack": MATRIX,
    "keras.ops.vstack": MATRIX,
    "keras.ops.dstack": MATRIX,
    "tensorflow.experimental.numpy.hstack": MATRIX,
    "tensorflow.experimental.numpy.vstack": MATRIX,
    "tensorflow.experimental.numpy.dstack": MATRIX,
    "tensorflow.math.add_n": MATRIX,
    "tensorflow.identity_n": MATRIX,
    "tensorflow.shape_n": MATRIX,
    "tensorflow.tuple": MATRIX,
    "tensorflow.strings.join": TEXTS,
}


def _named(name: str) -> Any:
    found: Any = {"keras": keras, "tensorflow": tf}[name.partition(".")[0]]
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize(("name", "parameter"), STATIC)
def test_a_parameter_needs_a_value(name: str, parameter: str) -> None:
    given, others = STATIC[name, parameter]
    function = _named(name)
    function(**others, **{parameter: given})
    with pytest.raises((TypeError, ValueError)):
        tf.function(lambda tensor: function(**others, **{parameter: tensor}))(given)
    assert parameter in (static_parameters(name) or ())


@pytest.mark.parametrize("name", ITERATING)
def test_a_function_iterates(name: str) -> None:
    function, given = _named(name), ITERATING[name]
    function(given)
    tf.function(lambda tensor: function([tensor, tensor]))(given)
    with pytest.raises(TypeError):
        tf.function(function)(given)
    assert has_trait(name, Trait.ITERATES)
