"""Sequential models: a hint behind each layer, and the table at `model.summary`."""

from __future__ import annotations

from pathlib import Path

import pytest
from ide_support import MARK, at_mark, project, shown

from terra_refactor.ide.hover import hover
from terra_refactor.ide.inlay_hints import HintKind, inlay_hints

HEAD = "import tensorflow as tf\nfrom tensorflow.keras import Sequential, layers\n"


def outputs(folder: Path, text: str) -> list[str]:
    """The hints behind layers."""
    snapshot = project(folder, {"m.py": HEAD + text}).snapshot(shown(folder, "m.py"))
    return [hint.label for hint in inlay_hints(snapshot, shown(folder, "m.py"), 1, 99, [HintKind.LAYER])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "m = Sequential([tf.keras.Input((28, 28, 1)), layers.Conv2D(32, 3), layers.Flatten(), layers.Dense(10)])\n",
            ["float32 (N, 28, 28, 1)", "float32 (N, 26, 26, 32)", "float32 (N, 21632)", "float32 (N, 10)"],
        ),
        (
            "m = Sequential([layers.Dense(8, input_shape=(4,)), layers.Dense(2)])\n",
            ["float32 (N, 8)", "float32 (N, 2)"],
        ),
        ("m = Sequential([layers.Dense(8, input_dim=4), layers.Dense(2)])\n", ["float32 (N, 8)", "float32 (N, 2)"]),
        # the input is known from a call only
        ("m = Sequential([layers.Dense(8)], name='m')\nm(tf.zeros([3, 4]))\n", ["float32 (3, 8)"]),
        # added afterwards; behind a loop that adds layers nothing is known
        (
            "def make(units):\n"
            "    net = Sequential(name='net')\n"
            "    net.add(layers.InputLayer(input_shape=[9]))\n"
            "    net.add(layers.Dense(units))\n"
            "    for _ in range(2):\n"
            "        net.add(layers.Dense(units))\n"
            "    net.add(layers.Dense(3))\n"
            "    return net\n"
            "make(5)\n",
            ["float32 (N, 5)"],
        ),
        # an unknown layer ends it, and so does a layer of unknown output
        (
            "from somewhere import made\n"
            "m = Sequential([tf.keras.Input((4,)), made(), layers.Dense(2), layers.Flatten()])\n",
            ["float32 (N, 4)"],
        ),
        ("m = Sequential([layers.Dense(8)])\n", []),
    ],
)
def test_the_outputs_of_layers(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert outputs(tmp_path, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "m = Sequential([tf.keras.Input((4,)), layers.Dense(2)])\n",
        "m = Sequential()\nm.add(tf.keras.Input((4,)))\nm.add(layers.Dense(2))\n",
        "i = tf.keras.Input((4,))\nm = tf.keras.Model(i, layers.Dense(2)(i))\n",
    ],
)
def test_a_summary_shows_the_layers(tmp_path: Path, text: str) -> None:
    found = hover(*at_mark(tmp_path, f"{HEAD}{text}m.{MARK}summary()\n"))
    assert found is not None
    assert "Dense  float32 (N, 2)  10\nknown parameters: 10" in found.text
    assert "keras.Model.summary(" in found.text
