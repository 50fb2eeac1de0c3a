"""TR601: an `input_signature` that the function or a call of it contradicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from typing_extensions import assert_never

from terra_refactor.domain.value import NONE, Constant, SpecValue, TensorKind, TensorValue, Value, members
from terra_refactor.facts.declared_signature import Signature, SignatureEntry, declared_signature, traced_definition
from terra_refactor.facts.records import Call
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind, ParameterKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity

_PLAIN: Final = (ParameterKind.POSITIONAL, ParameterKind.POSITIONAL_ONLY)


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call in view.reached(Call):
        made = traced_definition(view, call)
        if made is not None:
            yield from _definition(view, call, made)
        callees = view.traced_callees(call.op)
        signature = declared_signature(view, callees[0].function) if len(callees) == 1 else None
        if signature is not None:
            problem = _contradiction(view, call, callees[0].function, signature)
            if problem is not None:
                yield LocalHazard(call.op, problem)


def _definition(view: ContextView, call: Call, made: FunctionId) -> Iterator[LocalHazard]:
    """A decorator whose signature does not match the function."""
    code = view.program.function(made)
    signature = declared_signature(view, made)
    if signature is None or any(parameter.kind not in _PLAIN for parameter in code.parameters):
        return
    if any(entry.is_none for entry in signature.entries):
        yield LocalHazard(call.op, "an `input_signature` holds tensor specs only, and this one has a None")
    elif len(signature.entries) > len(signature.parameters):
        extra = len(signature.entries) - len(signature.parameters)
        yield LocalHazard(call.op, f"the `input_signature` has {extra} more than {code.name} has parameters")
    elif len(signature.entries) < signature.required:
        missing = signature.parameters[len(signature.entries)]
        yield LocalHazard(call.op, f"the `input_signature` does not cover `{missing}`, which has no default")


def _contradiction(view: ContextView, call: Call, identity: FunctionId, signature: Signature) -> str | None:
    """The arguments of a call that the signature rejects."""
    code = view.program.function(identity)
    if not call.is_plain or (code.kind is FunctionKind.METHOD and not view.is_bound(call, code)):
        return None
    for position, argument in enumerate(call.arguments):
        if argument.keyword is None and position >= len(signature.parameters):
            return None
        name = argument.keyword or signature.parameters[position]
        value = view.value(argument.value)
        entry = signature.of(name)
        if entry is None:
            default = _default(view, identity, name)
            given = members(value)
            if default is not None and given and default not in given and all(isinstance(g, Constant) for g in given):
                return (
                    f"`{name}` is not in the `input_signature`, which fixes it to {default.value!r}: "
                    f"`{view.written(argument.value)}` is rejected"
                )
        else:
            problems = [_mismatch(member, entry) for member in members(value)]
            if problems and all(problem is not None for problem in problems):
                return f"`{name}` {problems[0]}"
    return None


def _default(view: ContextView, identity: FunctionId, name: str) -> Constant | None:
    parent = view.program.function(identity).parent
    made = None if parent is None else view.codes.of(parent).maker_of(identity)
    number = None if made is None else dict(made.defaults).get(name)
    contexts = () if parent is None else view.facts.contexts_of(parent)
    value = contexts[0].value(number) if contexts and number is not None else None
    return value if isinstance(value, Constant) else None


def _mismatch(value: Value, entry: SignatureEntry) -> str | None:
    """The reason why the spec does not accept a value; None if it does, or if that is not certain."""
    spec = entry.spec
    if spec is None:
        return None
    if value == NONE:
        return "is None where the `input_signature` requires a tensor"
    if not isinstance(value, TensorValue):
        return None
    match value.kind:
        case TensorKind.TENSOR | TensorKind.VARIABLE:
            convertible = False
        case TensorKind.NDARRAY | TensorKind.NUMPY_SCALAR:
            convertible = True
        case TensorKind.KERAS | TensorKind.SPARSE | TensorKind.RAGGED | TensorKind.INDEXED_SLICES:
            return None
        case _:
            assert_never(value.kind)
    return _type_mismatch(value, spec, convertible=convertible)


def _type_mismatch(value: TensorValue, spec: SpecValue, *, convertible: bool) -> str | None:
    given, wanted = value.type, spec.type
    if not convertible and None not in (given.dtype, wanted.dtype) and given.dtype != wanted.dtype:
        return f"is {given.dtype} where the `input_signature` says {wanted.dtype}: `TypeError: Can not cast`"
    if given.shape is None or wanted.shape is None:
        return None
    if len(given.shape) != len(wanted.shape):
        return f"has rank {len(given.shape)} where the `input_signature` says {len(wanted.shape)}"
    for axis, (own, other) in enumerate(zip(given.shape, wanted.shape, strict=True)):
        if isinstance(own, int) and isinstance(other, int) and own != other:
            return f"has size {own} at axis {axis} where the `input_signature` says {other}"
    return None


RULE: Final = Rule(
    id="TR601",
    name="signature-mismatch",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.ERROR,
    summary="An `input_signature` that does not fit the function's parameters, or a call that does not fit the signature, raises.",
    explanation=(
        "The signature needs a `tf.TensorSpec` for every parameter without a default; a parameter that it omits keeps its default in every "
        "call. Calls and signatures that do not match raise `TypeError: Binding inputs to tf.function failed due to Can not cast "
        "TensorSpec(shape=(3,), dtype=tf.int32, ...) to TensorSpec(shape=(None,), dtype=tf.float32, ...)`, `Can not cast 3.0 to "
        "Literal[2.0]`, `input_signature missing type constraint for y`, `input_signature contains 1 extra type constraints`, "
        "`input_signature must be a possibly nested sequence of TensorSpec objects`. Arrays and Python numbers are converted."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def step(x):
    return tf.reduce_sum(x * x)


step(tf.ones([3]))  # TR601
""",
        good="""\
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def step(x):
    return tf.reduce_sum(x * x)


step(tf.ones([2, 3]))
""",
        near_miss="""\
import numpy as np
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def step(x, scale=2.0):
    return tf.reduce_sum(x * x) * scale


step(np.ones([2, 3]))
""",
    ),
    cure="Let the signature cover the passed arguments, or leave it out.",
    check=check,
)
