"""Functions that Keras calls on weights: initializers, regularizers and constraints that the program defines.

Computes: these calls, where the weight is created. Needs: class lookup. Gives: `call_weight_functions`.

Source: `keras.Variable` (an initializer gets the shape as a tuple, and the name of the dtype), `keras.Layer.losses` (a regularizer gets the
variable) and `keras.optimizers.Optimizer.apply` (so does a constraint).

Approximates: when they run. Regularizers and constraints run later, and not at all without training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.transfer.iteration import static_size_value
from terra_refactor.analysis.transfer.keras_protocol import own_method
from terra_refactor.domain.effect import Effect
from terra_refactor.domain.value import UNKNOWN, Constant, FunctionValue, TensorValue, TupleValue, Value, members

ROLES: Final = ("initializer", "regularizer", "constraint")


def call_weight_functions(site: Site, weight: Value, functions: Mapping[str, Value | None]) -> None:
    """Calls the functions of the program with which a weight was created, by role (`ROLES`)."""
    if not isinstance(weight, TensorValue):
        return
    for role in ROLES:
        given = functions.get(role)
        for member in members(given) if given is not None else ():
            if isinstance(member, FunctionValue) or own_method(site, member, "__call__") is not None:
                passed = _for_initializer(weight) if role == "initializer" else CallArguments((weight,))
                known = dict(site.frame.effects)
                site.call(member, passed)
                if role != "initializer":
                    _suppose(site.frame, known)


def _suppose(frame: Frame, known: Mapping[tuple[object, ...], Effect]) -> None:
    """Marks the new effects as assumed: Keras runs regularizers and constraints during training, or never."""
    for key, effect in frame.effects.items():
        before = known.get(key)
        if before is None or before.assumed:
            frame.effects[key] = replace(effect, assumed=True)


def _for_initializer(weight: TensorValue) -> CallArguments:
    shape, dtype = weight.type.shape, weight.type.dtype
    sizes = UNKNOWN if shape is None else TupleValue(tuple(static_size_value(size) for size in shape))
    return CallArguments((sizes,), (("dtype", UNKNOWN if dtype is None else Constant(str(dtype))),))
