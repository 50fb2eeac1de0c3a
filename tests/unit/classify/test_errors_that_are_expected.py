"""An exception that the code expects is no error; what a decorator has no say in does not go because of it."""

from __future__ import annotations

from analysis_support import analyze_text

from terra_refactor.classify.decision import Action
from terra_refactor.rules.rule import Severity

EXPECTED = """\
import pytest
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 28], tf.float32)])
def shrink(images):
    return images[:, ::2]


@tf.function
def host(x):
    return x.numpy()


@tf.function
def used(x):
    return x.numpy()  # error


try:
    shrink(tf.zeros([2, 3]))
except (ValueError, TypeError) as error:
    print(error)
try:
    shrink(tf.zeros([2, 3]))  # error
except KeyboardInterrupt:
    pass
try:
    shrink(tf.zeros([2, 3]))  # error
except ValueError:
    raise
try:
    pass
except ValueError:
    shrink(tf.zeros([2, 3]))  # error


def test_host():
    with pytest.raises(AttributeError):
        host(tf.ones([2]))
    with pytest.raises(AttributeError):
        used(tf.ones([2]))


used(tf.ones([2]))
"""

PART_OF_A_DATA_SET = """\
import numpy as np
import tensorflow as tf


@tf.function
def jitter(x):
    return x * np.random.uniform()  # error


@tf.function
def alone(x):
    return x * np.random.uniform()  # error


@tf.function
def both(x):
    return x * np.random.uniform()  # error


def load(x):
    return both(jitter(x))


numbers = tf.data.Dataset.from_tensor_slices(tf.zeros([4, 8])).map(load)
print(alone(tf.zeros([4])), both(tf.zeros([4])))
"""


def errors_in(text: str) -> list[int]:
    """The lines of errors."""
    return sorted(found.span.line for found in analyze_text(text).findings if found.severity is Severity.ERROR)


def marked(text: str) -> list[int]:
    """The lines that are marked as errors."""
    return [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# error")]


def test_a_failure_that_a_handler_or_a_test_waits_for_is_a_warning() -> None:
    assert errors_in(EXPECTED) == marked(EXPECTED)


def test_a_decorator_stays_where_a_library_runs_the_function_in_a_graph_anyway() -> None:
    result = analyze_text(PART_OF_A_DATA_SET)
    assert errors_in(PART_OF_A_DATA_SET) == marked(PART_OF_A_DATA_SET)
    assert result.decision("jitter").action is Action.NONE
    assert result.decision("alone").action is Action.REMOVE_TF_FUNCTION
    assert result.decision("both").action is Action.REMOVE_TF_FUNCTION
