"""Tensors of a graph whose rank TensorFlow itself does not know.

Computes: which results are such (`py_function`, `decode_image`), and what keeps them so. Gives: `LOSES_RANK`, `KEEPS_RANK`;
`with_lost_shape`, which marks them, and `concrete`, which takes the mark off where a graph's result becomes an eager tensor. The mark is
`LOST_SHAPE` in the place of the content; every operation that is not named here drops it, so that what is marked is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from terra_refactor.domain.value import LOST_SHAPE, TensorKind, TensorValue, TupleValue, Value
from terra_refactor.tf_model.arguments import map_structure

LOSES_RANK: Final = frozenset(
    {
        "tensorflow.compat.v1.py_func",
        "tensorflow.io.decode_image",
        "tensorflow.io.parse_tensor",
        "tensorflow.numpy_function",
        "tensorflow.py_function",
    }
)
KEEPS_RANK: Final = frozenset(
    {"tensorflow.cast", "tensorflow.compat.v1.to_float", "tensorflow.identity", "tensorflow.image.convert_image_dtype"}
)


def with_lost_shape(name: str, arguments: Sequence[tuple[Value, ...]], result: Value) -> Value:
    """The result of a library function in a graph, marked if TensorFlow does not know its rank."""
    lost = name in LOSES_RANK or (
        name in KEEPS_RANK
        and bool(arguments)
        and all(isinstance(value, TensorValue) and value.content == LOST_SHAPE for value in arguments[0])
    )
    if not lost:
        return result

    def marked(leaf: Value) -> Value:
        if isinstance(leaf, TensorValue) and leaf.kind is TensorKind.TENSOR and leaf.type.shape is None:
            return TensorValue(leaf.type, leaf.kind, LOST_SHAPE)
        return leaf

    return map_structure(marked, result)


def concrete(value: Value) -> Value:
    """A graph's result as eager code gets it: with a shape, known or not."""
    match value:
        case TensorValue(content=content) if content == LOST_SHAPE:
            return TensorValue(value.type, value.kind, None, value.variable)
        case TupleValue(elements):
            return TupleValue(tuple(concrete(element) for element in elements), value.name, value.fields, value.cls)
        case _:
            return value
