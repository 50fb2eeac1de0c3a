"""A call of one of several layers: that one of them does not take an input which may be another one's proves nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

PROGRAM = """
import numpy as np
import pytest
import tensorflow as tf

@pytest.mark.parametrize("layer, shape", [(tf.keras.layers.Conv1D, (2, 8, 3)), (tf.keras.layers.Conv2D, SHAPE)])
def test_layers(layer, shape):
    layer(filters=2, kernel_size=3)(np.zeros(shape))
"""


@pytest.mark.parametrize(("shape", "lines"), [("(2, 8, 8, 3)", ()), ("(4, 3)", ())])
def test_one_of_several_layers_is_not_enough(shape: str, lines: tuple[int, ...]) -> None:
    assert analyze_text(PROGRAM.replace("SHAPE", shape)).lines("TR402") == lines


def test_all_layers_are_enough() -> None:
    program = PROGRAM.replace("(2, 8, 3)", "(5, 3)").replace("SHAPE", "(4, 3)")
    assert analyze_text(program).lines("TR402") == (8,)
