"""The layers of Keras that accept no symbolic `training`: each is called in a graph with a tensor for it."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow as tf

from terra_refactor.tf_model.static_parameters import TESTS_TRAINING

pytestmark = pytest.mark.tensorflow

SHAPES = [2, 3], [2, 3, 4], [2, 4, 4, 3], [2, 3, 4, 4, 3]
ARGUMENTS: tuple[tuple[Any, ...], ...] = (), (2,), (0.5,), (2, 2), (tf.keras.layers.Dense(2),)


def _working(kind: Any) -> tuple[Any, Any] | None:
    """A layer of a class and an input that it accepts; None if there is none among those tried."""
    for arguments, shape in itertools.product(ARGUMENTS, SHAPES):
        try:
            layer = kind(*arguments)
            layer(tf.ones(shape), training=True)
        except Exception:
            continue
        return layer, tf.ones(shape)
    return None


def test_the_listed_layers_and_no_others_refuse_a_tensor() -> None:
    refused, asked = set(), set()
    for name, kind in vars(tf.keras.layers).items():
        is_layer = inspect.isclass(kind) and issubclass(kind, tf.keras.layers.Layer)
        working = _working(kind) if is_layer and "training" in inspect.signature(kind.call).parameters else None
        if working is None:
            continue
        asked.add(name)
        layer, given = working
        try:
            tf.function(lambda training, layer=layer, given=given: layer(given, training=training))(tf.constant(True))
        except tf.errors.OperatorNotAllowedInGraphError:
            refused.add(name)
    assert refused == TESTS_TRAINING & asked
    assert asked >= TESTS_TRAINING
