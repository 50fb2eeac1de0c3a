"""Methods that are only called of unknown objects: they are entered with an instance of their class as well."""

from __future__ import annotations

from analysis_support import analyze_text

from terra_refactor.domain.value import Reference, UnknownValue

WRAPPED = """
import functools
import tensorflow as tf

def checked(function):
    @functools.wraps(function)
    def inner(self, x):
        tf.debugging.assert_rank(x, 2)
        return function(self, x)
    return inner

class Loss:
    def __init__(self):
        self.scale = tf.ones([3])

    @checked
    def call(self, x):
        return self.scaled(x)

    def scaled(self, x):
        return tf.reduce_sum(x * self.scale)
"""


def test_a_method_that_only_a_wrapper_calls_has_an_object_of_its_class() -> None:
    found = analyze_text(WRAPPED)
    receivers = [context.parameters["self"] for context in found.contexts("Loss.call")]
    assert any(isinstance(each, UnknownValue) for each in receivers)
    assert any(isinstance(each, Reference) for each in receivers)
