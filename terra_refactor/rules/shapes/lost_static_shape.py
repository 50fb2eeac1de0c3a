"""TR406: an operation that needs the rank of a tensor of unknown rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.roots import HERE
from terra_refactor.domain.value import TensorValue, Value
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.calls_with(Trait.NEEDS_RANK):
        data = view.library_argument(call, name, "images", "image", "inputs", "sequences", "sequence")
        if data is not None and view.all_of(data, _has_no_rank):
            yield LocalHazard(
                call.op,
                f"`{view.written(data)}` has a shape that a graph does not know, not even its rank, since it comes from a Python function "
                "or a decoded file; this operation needs the rank",
            )


def _has_no_rank(value: Value) -> bool:
    """Whether a graph certainly does not know the rank."""
    return isinstance(value, TensorValue) and bool(value.traced.rank & HERE)


RULE: Final = Rule(
    id="TR406",
    name="lost-static-shape",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="An operation needs the rank of a tensor that `py_function`, `numpy_function` or `decode_image` left unknown.",
    explanation=(
        "In a graph the result of `tf.py_function` or `tf.numpy_function` has no static shape, and that of `tf.io.decode_image` has an "
        "unknown rank, because an animation has one axis more. The operation then raises `ValueError: 'images' contains no shape.`, or "
        "`as_list() is not defined on an unknown TensorShape` from a layer. Eagerly it works."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

encoded = tf.io.encode_png(tf.zeros([8, 8, 3], tf.uint8))


@tf.function
def load(data):
    image = tf.io.decode_image(data, channels=3)
    return tf.image.resize(image, [64, 64])  # TR406


image = load(encoded)
""",
        good="""\
import tensorflow as tf

encoded = tf.io.encode_png(tf.zeros([8, 8, 3], tf.uint8))


@tf.function
def load(data):
    image = tf.io.decode_image(data, channels=3, expand_animations=False)
    return tf.image.resize(image, [64, 64])


image = load(encoded)
""",
        near_miss="""\
import tensorflow as tf

pixels = tf.zeros([8, 8, 3])


@tf.function
def load(data):
    image = tf.numpy_function(lambda array: array, [data], tf.float32)
    image.set_shape([None, None, 3])
    return tf.image.resize(image, [64, 64])


image = load(pixels)
""",
    ),
    cure="Declare the shape with `x.set_shape([...])` or `tf.ensure_shape`, and pass `expand_animations=False` to `decode_image`.",
    check=check,
)
