"""Types of ready models, of ragged rows of unknown length, and of labels of a directory."""

from __future__ import annotations

import pytest

from terra_refactor.domain.shape import Shape
from terra_refactor.domain.value import TensorValue
from tests.analysis_support import analyze_text

HEAD = "import numpy as np\nimport tensorflow as tf\napps = tf.keras.applications\nx = tf.zeros([4, 64, 32, 3])\n"
ROW = "np.random.randint(0, 3, size=np.random.randint(0, 5)).tolist()"

KNOWN = {
    "features": ("apps.MobileNetV2(include_top=False, weights=None, alpha=0.5, pooling='avg')(x)", (4, 1280)),
    "a map of features": ("apps.ResNet50(include_top=False, input_shape=(64, 32, 3))(x)", (4, 2, 1, 2048)),
    "classes": ("apps.VGG16(classes=7)(tf.zeros([4, 224, 224, 3]))", (4, 7)),
    "an input of the program": (
        "apps.Xception(include_top=False, input_tensor=tf.keras.Input((64, 32, 3)), pooling='max')(x)",
        (4, 2048),
    ),
    "rows": (f"tf.ragged.constant([{ROW} for _ in range(40)])", (40, None)),
    "rows that are listed": (f"tf.ragged.constant([{ROW}, {ROW}], dtype=tf.int64)", (2, None)),
    "numbers": (f"tf.ragged.constant({ROW})", (None,)),
    "rows that may be missing": (f"tf.ragged.constant([{ROW} for _ in range(np.random.randint(0, 9))])", None),
    "images of a directory": (
        "next(iter(tf.keras.utils.image_dataset_from_directory('d', label_mode='binary', batch_size=5)))[1]",
        (None, 1),
    ),
    "classes of a directory": (
        "next(iter(tf.keras.utils.image_dataset_from_directory('d', label_mode='categorical')))[1]",
        (None, None),
    ),
}


def returned(text: str) -> Shape:
    result = analyze_text(f"{HEAD}def f(a):\n    return a\nf({text})\n")
    (context,) = result.contexts("f")
    assert isinstance(context.returns, TensorValue)
    return context.returns.type.shape


@pytest.mark.parametrize(("text", "shape"), KNOWN.values(), ids=KNOWN)
def test_sources(text: str, shape: Shape) -> None:
    assert returned(text) == shape


SAMPLE = """\
import argparse, random
import numpy as np
parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=16)
size = parser.parse_args().batch
rows = []
while len(rows) < 500:
    rows.append((np.zeros(8, np.float32), 1.0 if len(rows) % 2 else -0.5))
def f(a):
    return a
"""


@pytest.mark.parametrize(
    ("text", "shape"),
    {
        "states, gains = zip(*random.sample(rows, size))\nf(np.array(states))": ("batch", "8"),
        "states, gains = zip(*random.sample(rows, 2 * size))\nf(np.array(gains))": ("2*batch",),
        "states, gains = zip(*random.sample(rows, size), rows[0])\nf(np.array(gains))": ("None",),
    }.items(),
)
def test_columns_of_rows_that_are_drawn(text: str, shape: tuple[str, ...]) -> None:
    (context,) = analyze_text(f"{SAMPLE}{text}\n").contexts("f")
    assert isinstance(context.returns, TensorValue)
    assert tuple(map(str, context.returns.type.shape or ())) == shape
