"""Calls of Keras layers, losses and metrics, in Keras and by our rules, and their comparison.

Gives: `layer_outcomes` (the rule's answer and Keras's own, symbolic and eager), `compare`. The rule may be less
precise, never different.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from terra_refactor.domain.dim import SymbolicDim
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import FrozenList, TensorKind, TensorValue, TupleValue, Value
from terra_refactor.tf_model.catalogue import value_of
from terra_refactor.tf_model.keras import RULES
from terra_refactor.tf_model.spec import BoundCall, OperationError

Spec = tuple[tuple[int | None, ...], str]
"""Shape and dtype of an input."""


def configuration(constructor: Any, settings: Mapping[str, Any]) -> dict[str, Value]:
    """The arguments that the interpreter passes to a rule: the constructor's arguments, including plain defaults."""
    signature = inspect.signature(constructor)
    values: dict[str, Value] = {}
    for name, parameter in signature.parameters.items():
        given = settings.get(name, parameter.default)
        known = value_of(given) if given is not inspect.Parameter.empty else None
        if known is not None:
            values[name] = known
    for name, given in settings.items():
        known = value_of(given)
        if known is not None:
            values[name] = known
    return values


def abstract(spec: Spec, kind: TensorKind = TensorKind.TENSOR) -> TensorValue:
    """The abstract tensor of a spec."""
    return TensorValue(TensorType(DType(spec[1]), spec[0]), kind)


def concrete(spec: Spec) -> Any:
    """A real tensor of a spec; every size must be known."""
    shape, dtype = spec
    if dtype == "string":
        return tf.fill(shape, "a b")
    if dtype == "bool":
        return tf.zeros(shape, tf.bool)
    return tf.cast(tf.ones(shape), dtype)


def symbolic(spec: Spec) -> Any:
    """A Keras tensor of a spec."""
    return keras.KerasTensor(spec[0], dtype=spec[1])


def _structure(outcome: Any) -> Any:
    if isinstance(outcome, list | tuple):
        return [_structure(item) for item in outcome]
    shape = tuple(outcome.shape)
    dtype = outcome.dtype if isinstance(outcome.dtype, str) else tf.as_dtype(outcome.dtype).name
    return (shape, dtype)


def _is_refusal(error: Exception) -> bool:
    refusals = (
        ValueError,
        TypeError,
        IndexError,
        RuntimeError,
        NotImplementedError,
        ZeroDivisionError,
        tf.errors.OpError,
    )
    return isinstance(error, refusals)


def real_outcome(function: Any) -> Any:
    """The structure of shapes and dtypes that a call returns, or the exception that it raises."""
    try:
        return _structure(function())
    except Exception as error:
        if not _is_refusal(error):
            raise
        return error


def rule_outcome(name: str, call: BoundCall) -> Value | OperationError:
    """The answer of our rule."""
    try:
        return RULES[name](call)
    except OperationError as error:
        return error


def differences(ours: Value | OperationError, real: Any, *, misses_errors: bool) -> str | None:
    """A sentence if our answer contradicts the real one, else None."""
    if isinstance(real, Exception):
        if isinstance(ours, OperationError) or misses_errors:
            return None
        return f"Keras refuses ({type(real).__name__}: {str(real)[:200]}), the rule says {ours}"
    if isinstance(ours, OperationError):
        return f"Keras gives {real}, the rule refuses: {ours.message}"
    return _compare(ours, real)


def _compare(ours: Value, real: Any) -> str | None:
    if isinstance(real, list):
        items = ours.elements if isinstance(ours, TupleValue | FrozenList) else None
        if items is None:
            return None if not isinstance(ours, TensorValue) else f"Keras gives {real}, the rule a tensor {ours.type}"
        if len(items) != len(real):
            return f"Keras gives {len(real)} values, the rule {len(items)}"
        for item, part in zip(items, real, strict=True):
            found = _compare(item, part)
            if found:
                return found
        return None
    if isinstance(ours, TupleValue | FrozenList):
        return f"Keras gives {real}, the rule a sequence"
    if not isinstance(ours, TensorValue):
        return None
    shape, dtype = real
    if ours.type.dtype is not None and ours.type.dtype != dtype:
        return f"dtype {dtype}, the rule says {ours.type}"
    if ours.type.shape is None:
        return None
    if len(ours.type.shape) != len(shape):
        return f"shape {shape}, the rule says {ours.type}"
    for size, dim in zip(shape, ours.type.shape, strict=True):
        if isinstance(dim, int) and size is not None and dim != size:
            return f"shape {shape}, the rule says {ours.type}"
    return None


def is_exact(ours: Value | OperationError, real: Any) -> bool:
    """Whether the rule knows everything that Keras knows."""
    if isinstance(real, Exception) or isinstance(ours, OperationError):
        return isinstance(real, Exception) == isinstance(ours, OperationError)
    if isinstance(real, list):
        items = ours.elements if isinstance(ours, TupleValue | FrozenList) else None
        return items is not None and all(is_exact(item, part) for item, part in zip(items, real, strict=True))
    if not isinstance(ours, TensorValue) or ours.type.shape is None:
        return False
    return ours.type.dtype == real[1] and all(
        isinstance(dim, int | SymbolicDim) or size is None for dim, size in zip(ours.type.shape, real[0], strict=True)
    )


def layer_outcomes(
    class_name: str,
    settings: Mapping[str, Any],
    inputs: Spec | Sequence[Spec],
    keywords: Mapping[str, Any] | None = None,
    *,
    run_symbolic: bool = True,
    run_eager: bool = True,
    positional: bool = False,
) -> list[tuple[Value | OperationError, Any]]:
    """The rule's answer and Keras's for one layer: symbolic, and eager if every size is known.

    Args:
        class_name: a class of `keras.layers`.
        settings: its constructor's arguments.
        inputs: one spec, or a list of them for layers that take a list.
        keywords: further arguments of the call.
        run_symbolic: False for layers without symbolic outputs.
        run_eager: False for layers that crash the process on some inputs.
        positional: several inputs are passed one by one, not as a list.
    """
    constructor = getattr(keras.layers, class_name)
    given = configuration(constructor, settings)
    many = isinstance(inputs, list)
    specs: list[Spec] = list(inputs) if many else [inputs]  # type: ignore[list-item]
    extra = {
        name: value for name, value in ((name, value_of(item)) for name, item in (keywords or {}).items()) if value
    }
    found: list[tuple[Value | OperationError, Any]] = []

    def call(make: Any, kind: TensorKind) -> None:
        values = [abstract(spec, kind) for spec in specs]
        if many and not positional:
            arguments: tuple[Value, ...] = (FrozenList(tuple(values)),)
        else:
            arguments = tuple(values)
        name = f"keras.layers.{class_name}.__call__"
        bound = BoundCall(name, {}, extra_arguments=arguments, extra_keywords=extra, configuration=given)

        def run() -> Any:
            layer = constructor(**settings)
            tensors = [make(spec) for spec in specs]
            if positional:
                return layer(*tensors, **(keywords or {}))
            return layer(tensors if many else tensors[0], **(keywords or {}))

        found.append((rule_outcome(name, bound), real_outcome(run)))

    if run_symbolic:
        call(symbolic, TensorKind.KERAS)
    if run_eager and all(size is not None for spec in specs for size in spec[0]):
        call(concrete, TensorKind.TENSOR)
    return found


def ndarray(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    """Ones of a shape."""
    return np.ones(shape, dtype)
