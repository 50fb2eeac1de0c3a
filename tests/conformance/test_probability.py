"""The model of TensorFlow Probability, compared with the installed one."""

from __future__ import annotations

import warnings

import pytest

from terra_refactor.tf_model.probability import ELEMENTWISE

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
tfp = pytest.importorskip("tensorflow_probability")

PARAMETERS = {
    "Power": {"power": 3.0},
    "Scale": {"scale": 2.0},
    "Shift": {"shift": 2.0},
    "SoftClip": {"low": 0.0, "high": 4.0},
    "Softfloor": {"temperature": 0.5},
}


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_elementwise_bijectors_keep_every_shape(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bijector = getattr(tfp.bijectors, name)(**PARAMETERS.get(name, {}))
    for shape in ([], [1], [3], [2, 3], [6, 6], [2, 1, 4]):
        given = tf.fill(shape, 0.4)
        assert bijector.forward(given).shape == shape
        assert bijector.inverse(given).shape == shape
        assert bijector.forward_event_shape(tf.TensorShape(shape)) == shape
        assert bijector.inverse_event_shape(tf.TensorShape(shape)) == shape
