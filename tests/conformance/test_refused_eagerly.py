"""Functions that eager execution refuses: each name with the trait is called eagerly."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow as tf

from terra_refactor.tf_model import registry
from terra_refactor.tf_model.graph_traits import GRAPH_TRAITS
from terra_refactor.tf_model.spec import Trait

pytestmark = pytest.mark.tensorflow

METRICS = "tensorflow.compat.v1.metrics"
GIVEN: dict[str, Any] = {
    "dataset": tf.data.Dataset.range(3),
    "labels": tf.ones([1, 2], tf.int64),
    "limit": 3,
    "predictions_idx": tf.ones([1, 2], tf.int64),
    "string_tensor": ["a"],
    "tensor_list": [tf.ones([2])],
    "tensors": [tf.ones([2])],
}
"""Arguments that are checked before the mode."""


def _names() -> list[str]:
    listed = GRAPH_TRAITS[Trait.REFUSED_EAGERLY].split()
    metrics = [f"{METRICS}.{name}" for name in dir(tf.compat.v1.metrics) if not name.startswith("_")]
    assert [name for name in listed if name.endswith(".?")] == [f"{METRICS}.?"]
    return [name for name in (*listed, *metrics) if name[0] != "!" and name[-1] != "?" and f"!{name}" not in listed]


@pytest.mark.parametrize("name", _names())
def test_refused(name: str) -> None:
    function: Any = tf
    for part in name.split(".")[1:]:
        function = getattr(function, part)
    needed = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is inspect.Parameter.empty and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    with pytest.raises((RuntimeError, ValueError), match=r"(?i)eager"):
        function(**{each: GIVEN.get(each, tf.ones([2])) for each in needed})
    assert registry.has_trait(name, Trait.REFUSED_EAGERLY)
