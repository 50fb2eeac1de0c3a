"""Findings of `lint` about functions that share their code: the closures that a decorator of the project makes."""

from __future__ import annotations

from analysis_support import analyze_files

_DECORATOR = """
import functools
import tensorflow as tf

def check(*specs):
    def decorate(f):
        @functools.wraps(f)
        def wrapped(*args, **kwargs):
            return f(*args, **kwargs)
        return wrapped
    return decorate

class Points(tf.Module):
    @check("Z")
    def __init__(self, Z):
        super().__init__()
        self.Z = Z

    @check("x")
    def predict(self, x):
        return tf.matmul(x, self.Z)

    @check("x")
    def remember(self, x):
        self.last = x
        return x * 2.0

class Mean:
    @check("c")
    def __init__(self, c):
        self.c = c

    @check("x")
    def __call__(self, x):
        return x + self.c

"""


def _errors(rest: str) -> list[tuple[str, str]]:
    result = analyze_files({"m.py": _DECORATOR + rest})
    return [(found.rule, found.message) for found in result.findings if found.severity.value == "error"]


def test_what_a_constructor_writes_is_no_error_where_a_method_is_traced() -> None:
    assert not _errors(
        "points = Points(tf.ones([2, 2]))\n"
        "tf.function(points.predict)(tf.ones([2, 2]))\n"
        "Mean(tf.ones([2]))(tf.ones([2]))\n"
    )


def test_an_object_that_is_made_in_a_graph_is_its_own() -> None:
    assert not _errors(
        "@tf.function\ndef run(x):\n    return Points(x).predict(x) + Mean(x)(x)\nrun(tf.ones([2, 2]))\n"
        "points = Points(tf.ones([2, 2]))\ntf.function(points.predict)(tf.ones([2, 2]))\n"
    )


def test_what_a_traced_method_leaves_in_its_object_is_an_error() -> None:
    found = _errors(
        "points = Points(tf.ones([2, 2]))\ntf.function(points.remember)(tf.ones([2, 2]))\nprint(points.last)\n"
    )
    assert [rule for rule, _ in found] == ["TR104"]


def test_what_a_graph_calls_behind_the_decorator_is_an_error() -> None:
    found = _errors(
        "points = Points(tf.ones([2, 2]))\n@tf.function\ndef run(x):\n    return points.remember(x)\n"
        "run(tf.ones([2, 2]))\nprint(points.last)\n"
    )
    assert [rule for rule, _ in found] == ["TR104"]
