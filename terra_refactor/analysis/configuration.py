"""Constructor arguments of library objects.

Computes: nothing. Gives: the heap fields that hold them, and `configuration_of`, which reads them for the rules of
`tf_model`.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.frames import Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.domain.dtype import FLOAT32, DType
from terra_refactor.domain.value import NONE, UNKNOWN, Constant, Reference, TupleValue, Value

CONFIGURATION: Final = "@configuration:"
"""Prefix of the fields that hold the arguments, by parameter name."""
CONFIGURED: Final = "@configured"
"""Field that holds the names of these parameters, as a tuple."""
WRITTEN: Final = "@written"
"""Field of a `tf.TensorArray`: the shape of the written elements; its rules read it as the setting `written`."""
WITHIN: Final = "@within"
"""Field of a `tf.TensorArray`: whether it holds no more elements than its initial size; its rules read it as the
setting `within`.
"""


def with_floats(configuration: dict[str, Value], floats: DType | None) -> dict[str, Value]:
    """A layer's configuration if Keras computes in `floats` by default (None: unknown)."""
    if floats == FLOAT32 or configuration.get("dtype", NONE) != NONE:
        return configuration
    return {**configuration, "dtype": UNKNOWN if floats is None else Constant(floats)}


def configuration_of(frame: Frame, receiver: Value) -> dict[str, Value]:
    """Known constructor arguments of a library object, by parameter name."""
    if not isinstance(receiver, Reference):
        return {}
    configuration: dict[str, Value] = {}
    for parameter in _configured(frame, receiver) or ():
        value = frame.state.get((receiver.object, CONFIGURATION + parameter))
        if value is not None:
            configuration[parameter] = freeze(frame, value)
    for field in (WRITTEN, WITHIN):
        noted = frame.state.get((receiver.object, field))
        if noted is not None:
            configuration[field.removeprefix("@")] = noted
    return configuration


def is_configuration_known(frame: Frame, receiver: Value) -> bool:
    """Whether the constructor arguments are known; an object that represents several may have been created with
    different ones.
    """
    return not isinstance(receiver, Reference) or _configured(frame, receiver) is not None


def _configured(frame: Frame, receiver: Reference) -> tuple[str, ...] | None:
    """The names of the parameters passed to the constructor; None if unknown."""
    names = frame.state.get((receiver.object, CONFIGURED))
    if names is None:
        return ()
    if not isinstance(names, TupleValue):
        return None
    known = tuple(name.value for name in names.elements if isinstance(name, Constant) and isinstance(name.value, str))
    return known if len(known) == len(names.elements) else None
