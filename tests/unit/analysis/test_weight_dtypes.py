"""Which programs leave the weights of their models in Keras's default type."""

from __future__ import annotations

import pytest
from analysis_support import analyze_files

from terra_refactor.domain.value import TensorValue
from terra_refactor.ir.ids import FunctionId

MODEL = """
import keras
import tensorflow as tf

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.out = keras.layers.Dense(2)

    def call(self, x):
        return self.out(x)

def norm(model):
    return tf.linalg.global_norm(model.trainable_variables)

norm(Net())
"""


def dtype_of_norm(program: str, **others: str) -> str | None:
    result = analyze_files({"m.py": program, **{f"{name}.py": text for name, text in others.items()}})
    (identity,) = (f.id for f in result.program.modules["m"].functions if f.qualname == "norm")
    (context,) = result.facts.contexts_of(FunctionId("m", identity.index))
    assert isinstance(context.returns, TensorValue) and context.returns.type.shape == ()
    return context.returns.type.dtype


@pytest.mark.parametrize(
    "code",
    [
        "",
        "x = tf.zeros([2], dtype=tf.float64)",
        "x = keras.Input((2,), dtype='int32')",
        "layer = keras.layers.Dense(2, dtype='float32')",
        "step = tf.Variable(0, trainable=False)",
        "import numpy as np, os, matplotlib.pyplot as plt",
        "class Own(keras.layers.Layer):\n"
        "    def build(self, shape):\n"
        "        self.w = self.add_weight(shape=(2,), initializer='zeros', name='w')",
    ],
)
def test_weights_are_of_the_default_type(code: str) -> None:
    assert dtype_of_norm(MODEL + code) == "float32"


@pytest.mark.parametrize(
    "code",
    [
        "layer = keras.layers.Dense(2, dtype='float64')",
        "class Own(Net):\n    def __init__(self):\n        super().__init__(dtype=tf.float16)",
        "class Own(keras.layers.Layer):\n"
        "    def build(self, shape):\n"
        "        self.w = self.add_weight(shape=(2,), dtype='float64', name='w')",
        "class Own(keras.layers.Layer):\n    def build(self, shape):\n        self.w = self.add_weight('w', (2,), tf.float64)",
        "class Own(keras.layers.Layer):\n    def build(self, shape):\n        self.w = tf.Variable([1, 2])",
        "options = {'dtype': 'float64'}",
        "options = dict(dtype='float64')",
        "model = keras.models.load_model('there.keras')",
        "import transformers",
        "import somebodys_layers",
        "keras.mixed_precision.set_global_policy('mixed_float16')\nnorm(Net())",
    ],
)
def test_weights_may_be_of_another_type(code: str) -> None:
    first, second, rest = MODEL.partition("norm(Net())")
    assert dtype_of_norm(first + code + "\n" + second + rest) is None


def test_other_modules_count() -> None:
    program = "from layers import make\n" + MODEL
    assert dtype_of_norm(program, layers="def make(): pass\n") == "float32"
    assert (
        dtype_of_norm(program, layers="import keras\ndef make(): return keras.layers.Dense(2, dtype='float64')\n")
        is None
    )
