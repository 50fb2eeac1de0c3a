"""`set_weights` of a layer of Keras that has its weights; as Keras 3.15 answers."""

from __future__ import annotations

import pytest

from tests.analysis_support import analyze_text

HEAD = "import numpy as np\nimport tensorflow as tf\nlayer = tf.keras.layers.Dense(4)\n"
BUILT = ("layer(tf.zeros([2, 5]))", "layer.build((None, 5))", "layer.build([None, 5])")


@pytest.mark.parametrize("built", BUILT)
def test_weights_of_another_shape(built: str) -> None:
    for given in (
        "[np.zeros((5, 3)), np.zeros(3)]",
        "[np.zeros((5, 4)), np.zeros(3)]",
        "[np.zeros((4, 5)), np.zeros(4)]",
    ):
        assert len(analyze_text(f"{HEAD}{built}\nlayer.set_weights({given})\n").lines("TR401")) == 1


@pytest.mark.parametrize("built", BUILT)
def test_weights_that_fit(built: str) -> None:
    assert analyze_text(f"{HEAD}{built}\nlayer.set_weights([np.zeros((5, 4)), np.zeros(4)])\n").lines("TR401") == ()


def test_a_layer_without_weights_yet_says_nothing() -> None:
    assert analyze_text(HEAD + "layer.set_weights([np.zeros((5, 3)), np.zeros(3)])\n").lines("TR401") == ()
