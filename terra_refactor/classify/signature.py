"""Arguments of `tf.function`: the present and the proposed ones of a function.

Computes: an `input_signature` that matches every known call; the arguments to add or change. Needs: the values that
reach each parameter. Gives: `signature_text`, `proposal_for`, `written_options`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from terra_refactor.analysis.facts import FunctionFacts
from terra_refactor.classify.decision import ParameterDecision, ParameterValueKind
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.tensor import TensorType, join_tensor_types
from terra_refactor.domain.value import (
    Constant,
    FrozenList,
    Reference,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.ir.function import Function, FunctionKind, ParameterKind
from terra_refactor.rules.misuse.deprecated_argument import RULE as DEPRECATED_ARGUMENT
from terra_refactor.rules.retracing.shape_retrace import RULE as SHAPE_RETRACE

_RENAMED = {
    "experimental_relax_shapes": "reduce_retracing",
    "experimental_compile": "jit_compile",
    "experimental_attributes": None,
    "experimental_autograph_options": None,
    "experimental_follow_type_hints": None,
    "experimental_implements": None,
}
"""Former arguments of `tf.function`, and their new names; None if there is no replacement. Source: TensorFlow's release notes."""


_WITH_SHAPES: Final = (ParameterValueKind.TENSOR, ParameterValueKind.NDARRAY, ParameterValueKind.VARIABLE)
FIRST_THAT_SAVES: Final = 3
"""Relaxed shapes save the trace of the third shape: the first one is traced unchanged, the second one relaxed.

A batch and the smaller last batch are two.
"""


@dataclass(frozen=True, slots=True)
class ProposedArguments:
    """The proposed arguments of the decorator."""

    arguments: tuple[tuple[str, str], ...]
    """All arguments, as keyword and source text, including unchanged ones."""
    reason: str
    rule: str = ""
    """Id of the rule in the reason; empty if there is none."""


def written_options(code: Function, options: Mapping[str, Value]) -> tuple[tuple[str, str], ...]:
    """The arguments of a function's `tf.function`, as source text if they are constants."""
    return tuple((name, _source(value)) for name, value in options.items())


def _source(value: Value) -> str:
    match value:
        case Constant(constant):
            return repr(constant)
        case TupleValue() | FrozenList() | Reference():
            return "[...]"
        case _:
            return "..."


def signature_text(code: Function, found: FunctionFacts, parameters: tuple[ParameterDecision, ...]) -> str | None:
    """An `input_signature` that matches every known call, as source text (with `tf` for TensorFlow); None if there is none."""
    specs: list[str] = []
    for position, (parameter, described, facts) in enumerate(
        zip(code.parameters, parameters, found.parameters, strict=True)
    ):
        if position == 0 and code.kind is FunctionKind.METHOD and parameter.name == "self":
            continue
        if parameter.kind not in (ParameterKind.POSITIONAL, ParameterKind.POSITIONAL_ONLY):
            return None
        if (
            described.kind is not ParameterValueKind.TENSOR
            or described.evidence is not Evidence.DATAFLOW
            or facts.supposed
        ):
            return None
        if not all(
            isinstance(member, TensorValue) and member.kind in (TensorKind.TENSOR, TensorKind.NDARRAY)
            for value in facts.values
            for member in members(value)
        ):
            return None
        joined = join_all_types(described.types)
        if joined is None or joined.dtype is None:
            return None
        specs.append(spec_text(joined))
    return f"[{', '.join(specs)}]" if specs else None


def join_all_types(types: tuple[TensorType, ...]) -> TensorType | None:
    """The most precise type that covers all; None for an empty list."""
    if not types:
        return None
    joined = types[0]
    for type_ in types[1:]:
        joined = join_tensor_types(joined, type_)
    return joined


def spec_text(type_: TensorType) -> str:
    """`tf.TensorSpec(shape=[None, 28], dtype=tf.float32)`; symbolic sizes are None."""
    shape = "None"
    if type_.shape is not None:
        shape = "[" + ", ".join(str(dim) if isinstance(dim, int) else "None" for dim in type_.shape) + "]"
    return f"tf.TensorSpec(shape={shape}, dtype=tf.{type_.dtype})"


def _several_shapes(parameter: str | None) -> str:
    return f"`{parameter}` comes in several shapes, each of which is traced ({SHAPE_RETRACE.id})"


def proposal_for(
    found: FunctionFacts,
    parameters: tuple[ParameterDecision, ...],
    options: Mapping[str, Value],
    *,
    relax: bool,
    recorded: tuple[str | None, str] | None = None,
) -> ProposedArguments | None:
    """The proposed arguments of the decorator; None if the present ones are correct.

    `relax`: axes may become unknown. `recorded` is a parameter for which a run has traced each shape separately, with
    the recorded shapes.
    """
    kept = [(name, _source(value)) for name, value in options.items()]
    former = [name for name in options if name in _RENAMED]
    if former:
        renamed = [(_RENAMED.get(name, name), text) for name, text in kept]
        arguments = tuple((name, text) for name, text in renamed if name is not None)
        replaced = ", ".join(f"`{name}`" for name in former)
        return ProposedArguments(
            arguments,
            f"{replaced}: removed from `tf.function`, or renamed ({DEPRECATED_ARGUMENT.id})",
            DEPRECATED_ARGUMENT.id,
        )
    if "input_signature" in options or "reduce_retracing" in options:
        return None
    if not relax:
        return None
    arguments = (*kept, ("reduce_retracing", "True"))
    if recorded is not None and found.hybrid is not None:
        return ProposedArguments(arguments, f"{_several_shapes(recorded[0])}: {recorded[1]}", SHAPE_RETRACE.id)
    varying = _varying_shapes(found, parameters, 2 if found.hybrid is None else FIRST_THAT_SAVES)
    if varying is not None:
        return ProposedArguments(arguments, _several_shapes(varying), SHAPE_RETRACE.id)
    if found.hybrid is None:
        # for an existing graph this alone is no reason for a change: the sizes may be the same in all calls
        unknown = _unknown_sizes(parameters, (*_WITH_SHAPES, ParameterValueKind.CONTAINER))
        if unknown is not None:
            return ProposedArguments(
                arguments, f"`{unknown}` has sizes that are known only at run time: each would be traced"
            )
    return None


def sizes_to_retrace(found: FunctionFacts, parameters: tuple[ParameterDecision, ...], *, relax: bool) -> str | None:
    """A parameter whose new shapes each cause a trace, since shapes cannot be relaxed; None if there is none."""
    if found.hybrid is not None:
        return None
    variables = tuple(each for each in parameters if each.kind is ParameterValueKind.VARIABLE)
    others = () if relax else parameters
    return _varying_shapes(found, others, FIRST_THAT_SAVES) or _unknown_sizes(others) or _unknown_sizes(variables)


def _unknown_sizes(
    parameters: tuple[ParameterDecision, ...], kinds: tuple[ParameterValueKind, ...] = _WITH_SHAPES
) -> str | None:
    """A parameter to which calls pass tensors of unknown sizes: from a Python list, a filter, a slice."""
    for parameter in parameters:
        if parameter.kind not in kinds or parameter.evidence is not Evidence.DATAFLOW:
            continue
        if any(type_.shape is not None and None in type_.shape for type_ in parameter.types):
            return parameter.name
    return None


def _varying_shapes(found: FunctionFacts, parameters: tuple[ParameterDecision, ...], least: int) -> str | None:
    """A parameter with at least this many shapes of one rank and dtype over all calls."""
    for parameter in parameters:
        if parameter.kind is not ParameterValueKind.TENSOR or parameter.evidence is not Evidence.DATAFLOW:
            continue
        known = {type_ for type_ in parameter.types if type_.shape is not None and type_.dtype is not None}
        ranks = {(len(type_.shape), type_.dtype) for type_ in known if type_.shape is not None}
        if len(known) >= least and len(ranks) == 1:
            return parameter.name
    return None
