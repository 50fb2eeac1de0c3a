"""The texts that `TextVectorization` passes to the functions of a program, against Keras."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from terra_refactor.domain.value import TensorValue
from tests.analysis_support import analyze_text

pytestmark = [pytest.mark.tensorflow, pytest.mark.filterwarnings("ignore")]

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import TextVectorization
def standardize(texts):
    seen("standardize", texts)
    return tf.strings.lower(texts)
def split(texts):
    seen("split", texts)
    return tf.strings.split(texts, "_")
def seen(name, texts):
    pass
whole = TextVectorization(standardize=standardize, vocabulary=["a", "b"])
both = TextVectorization(standardize=standardize, split=split, output_sequence_length=3)
"""

CALLS = {
    "a batch": "whole(tf.constant(['a b', 'b']))",
    "a column": "whole(tf.constant([['a b'], ['b']]))",
    "one text": "whole(tf.constant('a b'))",
    "a list": "whole(['a b', 'b', 'c'])",
    "an array": "whole(np.array(['a b', 'b', 'c']))",
    "the learned texts of a list": "both.adapt(['a_b', 'c', 'd_e'])",
    "the learned texts of an array": "both.adapt(np.array([['a_b'], ['c']]))",
    "the learned texts of a dataset": "both.adapt(tf.data.Dataset.from_tensor_slices(['a', 'b', 'c', 'd']).batch(2))",
    "a column that is split": "both.adapt(['x'])\nboth(tf.constant([['a_b'], ['b'], ['c']]))",
    "texts in a map": "list(tf.data.Dataset.from_tensor_slices([['a'], ['b']]).map(lambda text: whole(text)))",
}


def as_recorded(text: str) -> dict[str, set[tuple[str, tuple[int, ...]]]]:
    """The types with which Keras calls the functions."""
    recorded: dict[str, set[tuple[str, tuple[int, ...]]]] = {"standardize": set(), "split": set()}
    program: dict[str, Any] = {}
    exec(HEAD, program)
    program["seen"] = lambda name, texts: recorded[name].add((texts.dtype.name, tuple(texts.shape)))
    exec(text, program)
    return recorded


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_functions_receive_the_texts(text: str) -> None:
    result = analyze_text(f"{HEAD}{textwrap.dedent(text)}\n")
    recorded = as_recorded(text)
    assert recorded["standardize"]
    for name, types in recorded.items():
        values = [dict(context.parameters)["texts"] for context in result.contexts(name)] if types else []
        found = {(value.type.dtype, value.type.shape) for value in values if isinstance(value, TensorValue)}
        assert found == types and len(found) == len(values)
