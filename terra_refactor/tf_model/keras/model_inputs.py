"""Input conversions of functional and sequential models, before their layers.

Computes: the ranks that Keras adjusts, and the checks against the declared inputs. Gives: `adjusted_input`,
`check_input`. Source: Keras 3, `keras.Functional` (`_adjust_input_rank`, `input_spec`).
"""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.dim import definitely_different, format_dim
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import TensorKind, TensorValue, Value
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.releases import KERAS, TENSORFLOW, Behaviour
from terra_refactor.tf_model.spec import ErrorKind, OperationError

_COMPARES: Final = Behaviour(TENSORFLOW, "2.4", "a model takes what its layers take", assumed=True)
_REFUSES_SCALARS: Final = Behaviour(KERAS, "3", "Keras 2 compares the axes that are there, and a scalar has none")


def adjusted_input(declared: Shape, given: Value, model: str) -> Value:
    """An input with the rank that the model declares: a last axis of size 1 is dropped or added.

    Raises OperationError if the rank certainly cannot be adjusted to the declared one.
    """
    found = read.converted_type(given)
    shape = found.shape
    if declared is None or shape is None or len(shape) == len(declared):
        return given
    kind = given.kind if isinstance(given, TensorValue) else TensorKind.TENSOR
    if len(shape) == len(declared) + 1 and not definitely_different(shape[-1], 1):
        return TensorValue(TensorType(found.dtype, shape[:-1] if shape[-1] == 1 else None), kind)
    if len(shape) == len(declared) - 1 and not definitely_different(declared[-1], 1):
        return TensorValue(TensorType(found.dtype, (*shape, 1) if declared[-1] == 1 else None), kind)
    raise OperationError(
        ErrorKind.RANK,
        f"{model}: an input of shape {format_shape(shape)} for a model that takes {format_shape(declared)}: rank {len(shape)} instead of "
        f"{len(declared)} (the first axis is the batch)",
        ("inputs",),
        _COMPARES if shape else _REFUSES_SCALARS,
    )


def check_input(declared: Shape, given: Value, model: str) -> None:
    """Raises OperationError if an input, with its rank adjusted, certainly does not match the declared input of a
    functional model.
    """
    shape = read.converted_type(given).shape
    if declared is None or shape is None or len(shape) != len(declared):
        return
    for axis, (wanted, size) in enumerate(zip(declared, shape, strict=True)):
        if axis and isinstance(wanted, int) and definitely_different(wanted, size):
            raise OperationError(
                ErrorKind.SHAPE,
                f"{model}: an input of shape {format_shape(shape)} for a model that takes {format_shape(declared)}: axis {axis} is "
                f"{format_dim(size)} instead of {wanted}",
                ("inputs",),
                _COMPARES,
            )
