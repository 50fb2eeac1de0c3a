"""TR602: an `input_signature` that is wider or narrower than the types of the calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.value import TensorKind, TensorValue, members
from terra_refactor.facts.declared_signature import SignatureEntry, declared_signature, traced_definition
from terra_refactor.facts.records import Call
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call in view.reached(Call):
        made = traced_definition(view, call)
        signature = None if made is None else declared_signature(view, made)
        facts = None if made is None else view.facts.functions.get(made)
        if signature is None or facts is None:
            continue
        for parameter in facts.parameters:
            entry = signature.of(parameter.name)
            if entry is None or parameter.evidence is not Evidence.DATAFLOW:
                continue
            values = [member for value in parameter.values for member in members(value)]
            tensors = [value for value in values if isinstance(value, TensorValue) and value.kind is TensorKind.TENSOR]
            if tensors and len(tensors) == len(values):
                problem = _difference(entry, tensors)
                if problem is not None:
                    yield LocalHazard(call.op, f"`{parameter.name}`: {problem}")


def _difference(entry: SignatureEntry, tensors: list[TensorValue]) -> str | None:
    if entry.spec is None:
        return None
    wanted = entry.spec.type.shape
    shapes = [tensor.type.shape for tensor in tensors]
    ranks = {None if shape is None else len(shape) for shape in shapes}
    if wanted is None:
        if len(ranks) != 1 or None in ranks:
            return None
        (rank,) = ranks
        return (
            f"the `input_signature` leaves the rank open, and every call passes rank {rank}: shapes inside are unknown"
        )
    for shape in shapes:
        if shape is None or len(shape) != len(wanted):
            continue
        for axis, (own, other) in enumerate(zip(shape, wanted, strict=True)):
            if own is None and isinstance(other, int):
                return f"the `input_signature` fixes axis {axis} to {other}, and a call passes a size that is not fixed"
    return None


RULE: Final = Rule(
    id="TR602",
    name="signature-too-wide-or-narrow",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="An `input_signature` is wider than its calls (any rank), or fixes a size that varies between calls.",
    explanation=(
        "`tf.TensorSpec(None, ...)` accepts any rank: the shape is unknown inside the graph, and layers that need a rank raise "
        "(`ValueError: as_list() is not defined on an unknown TensorShape`). A fixed size refuses the smaller last batch of a "
        "dataset: `TypeError: Binding inputs to tf.function failed due to ... Can not "
        "cast TensorSpec(shape=(1, 2), ...) to TensorSpec(shape=(3, 2), ...)`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

data = tf.data.Dataset.from_tensor_slices(tf.ones([7, 2])).batch(3)


@tf.function(input_signature=[tf.TensorSpec([3, 2], tf.float32)])  # TR602
def step(x):
    return tf.reduce_sum(x * x)


for batch in data:
    step(batch)
""",
        good="""\
import tensorflow as tf

data = tf.data.Dataset.from_tensor_slices(tf.ones([7, 2])).batch(3)


@tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
def step(x):
    return tf.reduce_sum(x * x)


for batch in data:
    step(batch)
""",
        near_miss="""\
import tensorflow as tf

data = tf.data.Dataset.from_tensor_slices(tf.ones([6, 2])).batch(3, drop_remainder=True)


@tf.function(input_signature=[tf.TensorSpec([3, 2], tf.float32)])
def step(x):
    return tf.reduce_sum(x * x)


for batch in data:
    step(batch)
""",
    ),
    cure="Write None for the axes that vary, and only for those.",
    check=check,
)
