"""Compares a compiled segment with eager execution of the same operations from the same state.

Computes: the first difference between two lists of tensors, their gradients, and two states of variables.
Needs: the resource handles that the segment touches. Gives: `Snapshot`, `compare`, `differentiated`,
`compare_gradients`, `tolerance`.
Ignores: state outside variables: operations with such state are never in a segment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from terra_refactor.runtime.segments import without_real_tapes
from terra_refactor.runtime.tf_internals import GradientTape, IndexedSlices, tf

_RELATIVE = {np.dtype("float64"): 1e-9, np.dtype("complex128"): 1e-9, np.dtype("float32"): 2e-3}


class Snapshot:
    """The values of the variables behind some handles, at one moment."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self.values: list[tuple[Any, Any]] = []
        for handle in handles:
            data = getattr(handle, "_handle_data", None)
            if handle.dtype == tf.resource and data is not None and data.is_set and len(data.shape_and_type) == 1:
                dtype = tf.as_dtype(data.shape_and_type[0].dtype)
                value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)
                self.values.append((handle, tf.constant(value.numpy(), dtype)))  # a copy: updates may be in place

    def restore(self) -> None:
        """Restores the values."""
        for handle, value in self.values:
            tf.raw_ops.AssignVariableOp(resource=handle, value=value)


@dataclass(frozen=True, slots=True)
class Derivatives:
    """The results of a computation, and the gradient of their sum with certain weights for each source: a tensor, an
    `IndexedSlices`, or None.
    """

    results: list[Any]
    gradients: list[Any]

    @property
    def tensors(self) -> list[Any]:
        """The results, then the gradients that exist, dense."""
        return [*self.results, *(tf.convert_to_tensor(gradient) for gradient in self.gradients if gradient is not None)]


def differentiated(compute: Callable[[], None], results: Callable[[], list[Any]], sources: list[Any]) -> Derivatives:
    """Runs `compute` under a tape of its own that watches `sources`, and differentiates its results."""
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(sources)
        compute()
    found = results()
    targets = [tensor for tensor in found if tensor.dtype.is_floating or tensor.dtype.is_complex]
    with without_real_tapes():
        gradients = tape.gradient(targets, sources, output_gradients=[_weights(target) for target in targets])
    return Derivatives(found, gradients)


def _weights(target: Any) -> Any:
    """Weights that differ, so that no error of a gradient cancels."""
    size = int(np.prod(target.shape.as_list()))
    return tf.cast(tf.reshape(tf.constant(np.linspace(0.5, 1.5, size)), target.shape), target.dtype)


def compare_gradients(ones: Derivatives, others: Derivatives) -> str | None:
    """The first gradient that only one of two computations has, or has in rows."""
    for index, (one, other) in enumerate(zip(ones.gradients, others.gradients, strict=True)):
        kinds = [
            "none" if each is None else "rows" if type(each) is IndexedSlices else "dense" for each in (one, other)
        ]
        if kinds[0] != kinds[1]:
            return f"gradient {index}: {kinds[0]} and {kinds[1]}"
    return None


def tolerance(dtype: np.dtype[Any]) -> float:
    """The relative difference (to the largest element) that rounding in another order may cause."""
    return _RELATIVE.get(dtype, 5e-2)


def differ(one: Any, other: Any, noise: float = 0.0) -> str | None:
    """How two arrays differ, or None: integers, booleans and strings exactly, floats up to rounding.

    noise: the magnitude of the inputs of the computation; differences that are small relative to it are rounding.
    """
    if one.shape != other.shape or one.dtype != other.dtype:
        return f"{one.dtype}{list(one.shape)} and {other.dtype}{list(other.shape)}"
    if one.size == 0 or np.array_equal(one, other):
        return None
    if one.dtype.kind not in "fcV":
        return "values differ"
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    first, second = one.astype(wide), other.astype(wide)
    finite = np.isfinite(first)
    if not np.array_equal(finite, np.isfinite(second)) or not np.array_equal(
        first[~finite], second[~finite], equal_nan=True
    ):
        return "infinities or NaNs differ"
    if not finite.any():
        return None
    scale = max(float(np.max(np.abs(first[finite]))), float(np.max(np.abs(second[finite]))))
    gap = float(np.max(np.abs(first[finite] - second[finite])))
    limit = tolerance(one.dtype) * scale
    if one.dtype.kind in "fc":
        limit = max(limit, 4.0 * float(np.finfo(one.dtype).eps) * noise)
    return f"differ by {gap:.3g} at scale {scale:.3g}" if gap > limit + 1e-300 else None


def compare(ones: Sequence[Any], others: Sequence[Any], state: Snapshot, other_state: Snapshot) -> str | None:
    """The first difference between results and variables, in words, or None.

    A gradient that is zero up to rounding (such as that of an attention key's bias) has no reproducible digits.
    """
    pairs = [(f"result {index}", one, other) for index, (one, other) in enumerate(zip(ones, others, strict=True))]
    variables = zip(state.values, other_state.values, strict=True)
    pairs.extend((f"variable {index}", one, other) for index, ((_, one), (_, other)) in enumerate(variables))
    arrays = [(name, np.asarray(one.numpy()), np.asarray(other.numpy())) for name, one, other in pairs]
    noise = max((_magnitude(array) for _, *both in arrays for array in both), default=0.0)
    for name, first, second in arrays:
        found = differ(first, second, noise)
        if found is not None:
            return f"{name}: {found}"
    return None


def _magnitude(array: Any) -> float:
    """The largest finite magnitude in an array of floats; 0.0 for anything else."""
    if array.dtype.kind not in "fc":
        return 0.0
    return float(np.max(np.abs(array[np.isfinite(array)]), initial=0.0))
