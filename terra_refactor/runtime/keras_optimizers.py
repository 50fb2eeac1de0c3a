"""Keras optimizers as single nodes: the whole update, or, if the program computes the learning rate, its two parts.

Computes: for each optimizer, whether its update may be one node, and the Calls for it. Needs: Keras 3 on TensorFlow.
Gives: `hooks`. Ignores: optimizer classes of the program: their Python must run, so their calls are decomposed.

A learning rate that is a function or schedule class of the program is called as often, and in the same order, as by
Keras: once for each variable with weight decay, and once for the update. Keras's operations in between are one node.
"""

from __future__ import annotations

import functools
from typing import Any

from terra_refactor.runtime.keras_hooks import from_library, library_class, method_call, per_object, plain_attributes
from terra_refactor.runtime.state import thread
from terra_refactor.runtime.tf_internals import EagerTensor, KerasOptimizer, keras
from terra_refactor.runtime.trie import Call

# Where Keras for TensorFlow has the two parts; releases that have neither there run them operation by operation.
_TF_OPTIMIZER: Any = next(
    (owner for owner in keras.optimizers.Optimizer.__mro__ if owner.__name__ == "TFOptimizer"), None
)
_update: Any = vars(_TF_OPTIMIZER).get("_backend_update_step") if _TF_OPTIMIZER is not None else None
_decay: Any = vars(_TF_OPTIMIZER).get("_apply_weight_decay") if _TF_OPTIMIZER is not None else None
_RATE = "_learning_rate"


def _holds_optimizers(optimizer: Any) -> bool:
    """Whether it delegates to other optimizers (LossScaleOptimizer, MultiOptimizer), which are examined in turn."""
    for value in vars(optimizer).values():
        items = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else (value,)
        if any(isinstance(item, KerasOptimizer) for item in items):
            return True
    return False


def _from_library(optimizer: Any) -> bool:
    """Whether all of the optimizer except its learning rate is Keras's own Python."""
    if not library_class(type(optimizer)) or _holds_optimizers(optimizer):
        return False
    if not optimizer.built or not plain_attributes(optimizer, except_for=_RATE):
        return False
    return all(variable.constraint is None for variable in optimizer._trainable_variables)


def _rate_is_the_program_s(optimizer: Any) -> bool:
    rate = vars(optimizer).get(_RATE)
    return callable(rate) and not from_library(rate)


def _apply_call(optimizer: Any, original: Any) -> Call | None:
    """The whole update, if Keras computes the learning rate."""
    if not _from_library(optimizer) or _rate_is_the_program_s(optimizer):
        return None
    return method_call(optimizer, f"keras {type(optimizer).__name__}.apply", original, trusted=True)


def _update_call(optimizer: Any, original: Any) -> Call | None:
    """The update with a given learning rate."""
    if not _from_library(optimizer):
        return None
    return method_call(optimizer, f"keras {type(optimizer).__name__} update", original, trusted=True)


def _decay_one(optimizer: Any, variable: Any, rate: Any) -> None:
    """Keras's weight decay of one variable, with a learning rate computed by the program."""
    stand_in = object.__new__(type(optimizer))  # the optimizer itself keeps its learning rate
    vars(stand_in).update(vars(optimizer), **{_RATE: lambda: rate})
    _decay(stand_in, [variable])


def _decay_call(optimizer: Any, original: Any) -> Call:
    return method_call(optimizer, f"keras {type(optimizer).__name__} weight decay", original, trusted=True)


def _apply_hook() -> Any:
    original = KerasOptimizer.apply
    hooked = per_object(original, _apply_call)

    @functools.wraps(original)
    def apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        run = thread.run
        if run is None or run.depth:
            return original(self, grads, trainable_variables)
        grads = list(grads)
        if not self.built or any(gradient is None for gradient in grads):  # Keras builds, or warns
            return original(self, grads, trainable_variables)
        if trainable_variables is None:
            return hooked(self, grads)
        return hooked(self, grads, list(trainable_variables))

    return apply


def _update_hook() -> Any:
    assert _update is not None
    hooked = per_object(_update, _update_call)

    @functools.wraps(_update)
    def update(self: Any, grads: Any, trainable_variables: Any, learning_rate: Any) -> Any:
        # A Python number as rate is another constant at each step: operation by operation it becomes an input.
        if isinstance(learning_rate, EagerTensor) and all(gradient is not None for gradient in grads):
            return hooked(self, grads, trainable_variables, learning_rate)
        return _update(self, grads, trainable_variables, learning_rate)

    return update


def _decay_hook() -> Any:
    assert _decay is not None
    hooked = per_object(_decay_one, _decay_call)

    @functools.wraps(_decay)
    def decay(self: Any, variables: Any) -> Any:
        run = thread.run
        if run is None or run.depth or self.weight_decay is None:
            return _decay(self, variables)
        if not _rate_is_the_program_s(self) or not _from_library(self):
            return _decay(self, variables)
        for variable in variables:
            if self._use_weight_decay(variable):
                rate = self.learning_rate
                (hooked if isinstance(rate, EagerTensor) else _decay_one)(self, variable, rate)
        return None

    return decay


def hooks() -> list[tuple[Any, str, Any]]:
    """(owner, attribute, replacement) of every hook on optimizers."""
    found = [(KerasOptimizer, "apply", _apply_hook())]
    if _update is not None:
        found.append((_TF_OPTIMIZER, "_backend_update_step", _update_hook()))
    if _decay is not None:
        found.append((_TF_OPTIMIZER, "_apply_weight_decay", _decay_hook()))
    return found
