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


MODELS = [
    "model = tf.keras.Sequential([tf.keras.Input((7,)), tf.keras.layers.Embedding(9, 4, name='words'), layer])\n",
    "model = tf.keras.Sequential()\nmodel.add(tf.keras.layers.Embedding(9, 4, name='words'))\nmodel.add(layer)\n",
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("asked", ["'words'", "index=0", "name='words'"])
def test_weights_of_a_layer_of_a_model(model: str, asked: str) -> None:
    text = f"{HEAD}{model}model.get_layer({asked}).set_weights([np.zeros((9, WIDTH))])\n"
    assert analyze_text(text.replace("WIDTH", "4")).lines("TR401") == ()
    assert len(analyze_text(text.replace("WIDTH", "5")).lines("TR401")) == 1


def test_an_unknown_layer_of_a_model_says_nothing() -> None:
    text = f"{HEAD}{MODELS[0]}model.get_layer('other').set_weights([np.zeros((9, 5))])\n"
    assert analyze_text(text).lines("TR401") == ()


def test_a_layer_without_weights_yet() -> None:
    """Keras refuses any list then, which is not said for one that would fit."""
    text = HEAD + "layer.set_weights([np.zeros((5, UNITS)), np.zeros(UNITS)])\n"
    assert len(analyze_text(text.replace("UNITS", "3")).lines("TR401")) == 1
    assert analyze_text(text.replace("UNITS", "4")).lines("TR401") == ()
