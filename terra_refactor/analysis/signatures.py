"""Parameter types from the `input_signature` of a traced function.

Computes: the tensors that a function receives; sizes that its signature leaves open are open. Needs: the arguments of
`tf.function`. Gives: `as_signed`. Ignores: nested structures in a signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.freezing import freeze_in
from terra_refactor.domain.dim import OpenDim, opened
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.state import State
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import NONE, SpecValue, TensorKind, TensorValue, Value, members
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.tf_model import arguments as read

_DEPTH: Final = 2


def as_signed(
    state: State, code: Function, options: tuple[tuple[str, Value], ...] | None, parameters: Mapping[str, Value]
) -> dict[str, Value]:
    """The arguments as a trace sees them: a signature may leave their sizes open or fix them."""
    signature = dict(options or ()).get("input_signature", NONE)
    specs = None if signature == NONE else read.elements(freeze_in(state, signature, _DEPTH))
    result = dict(parameters)
    if specs is None:
        return result
    names = [parameter.name for parameter in code.parameters]
    if code.kind is FunctionKind.METHOD and names and names[0] in ("self", "cls"):
        del names[0]
    for name, spec in zip(names, specs, strict=False):
        if isinstance(spec, SpecValue) and name in result:
            result[name] = join_all(_signed(member, spec) for member in members(result[name]))
    return result


def _signed(value: Value, spec: SpecValue) -> Value:
    declared = spec.type.shape
    if not isinstance(value, TensorValue) or value.kind is not TensorKind.TENSOR or declared is None:
        return value
    shape = value.type.shape
    if shape is None:
        return replace(value, type=TensorType(value.type.dtype, declared))
    if len(shape) != len(declared):
        return value
    sizes = tuple(
        opened(size, wanted.roots, wanted.why) if isinstance(wanted, OpenDim) else size
        for size, wanted in zip(shape, declared, strict=True)
    )
    return replace(value, type=TensorType(value.type.dtype, sizes))
