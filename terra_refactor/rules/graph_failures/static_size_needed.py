"""TR309: a size that is None while the graph is traced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import Constant, TensorValue, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.declared_signature import Signature, declared_signature
from terra_refactor.rules.open_axes import OpenAxes, gives_batches
from terra_refactor.rules.open_contents import Origin
from terra_refactor.rules.open_sizes import (
    asks_for_none,
    may_be_tensor,
    needs_number,
    numbers_made_of,
    uses_of_open_sizes,
)
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_GIVEN: Final = {0: Origin.BATCH}


def check(view: ContextView) -> Iterator[LocalHazard]:
    given = dict.fromkeys(_open_parameters(view), _GIVEN) if view.context.in_graph else {}
    for use in uses_of_open_sizes(view, OpenAxes(view, given), Origin.BATCH):
        yield LocalHazard(use.op, use.message, cure=CureHint(CureKind.DYNAMIC_SIZE) if use.is_curable else None)
    if view.context.in_graph:
        yield from _check_other_axes(view)


def _open_parameters(view: ContextView) -> Iterator[str]:
    """The parameters whose first size is left open: by a signature, or by a data set whose batches the function is mapped over."""
    signature = declared_signature(view, view.function.id)
    batched = signature is None and _is_batched(view)
    for parameter in view.function.parameters:
        entry = None if signature is None else signature.of(parameter.name)
        if batched or (entry is not None and 0 in entry.open_axes):
            yield parameter.name


def _check_other_axes(view: ContextView) -> Iterator[LocalHazard]:
    """Other sizes of parameters that a signature leaves open."""
    signature = declared_signature(view, view.function.id)
    for op in view.code.of_kind(ops.LoadItem) if signature is not None else ():
        axis = view.value(op.index)
        tensor = view.tensor_of_shape(op.object)
        if tensor is None or not isinstance(axis, Constant) or type(axis.value) is not int:
            continue
        name = view.parameter_behind(tensor) if isinstance(view.op(tensor), ops.LoadName) else None
        if name is None or not _is_open(view, signature, name, tensor, axis.value) or asks_for_none(view, op.id):
            continue
        uses = [*numbers_made_of(view, op.id)]
        if uses:
            cure = CureHint(CureKind.DYNAMIC_SIZE) if may_be_tensor(view, uses) else None
            yield LocalHazard(op.id, needs_number(view, op.id, uses[0], Origin.BATCH), cure=cure)


def _is_open(view: ContextView, signature: Signature | None, name: str, tensor: OpId, axis: int) -> bool:
    """Whether a signature leaves the size of an axis, not the first, open."""
    entry = None if signature is None else signature.of(name)
    shapes = [member.type.shape for member in members(view.value(tensor)) if isinstance(member, TensorValue)]
    ranks = {None if shape is None else len(shape) for shape in shapes}
    if entry is None or len(ranks) != 1 or None in ranks:
        return False
    (rank,) = ranks
    axis = axis + rank if axis < 0 and rank is not None else axis
    return axis != 0 and axis in entry.open_axes


def _is_batched(view: ContextView) -> bool:
    """Whether every caller is a `Dataset.map` (or its kin) over batches of which the last may be smaller."""
    if not view.callers:
        return False
    for caller in view.callers:
        calling = view.of(caller.context)
        call, fact = calling.op(caller.op), calling.calls.get(caller.op)
        if not isinstance(call, ops.Call) or fact is None or "tensorflow.data.Dataset.map" not in fact.library:
            return False
        method = calling.op(call.function)
        if not isinstance(method, ops.LoadAttribute) or not gives_batches(calling.value(method.object)):
            return False
    return True


RULE: Final = Rule(
    id="TR309",
    name="static-size-needed",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`x.shape[i]` of an axis whose size is not fixed is None while the graph is traced, and is used as a number.",
    explanation=(
        "Eagerly `x.shape[0]` is an int. In a graph it is what is known while tracing: None under an `input_signature` that says None, and "
        "for the batches that a loop in the graph takes from a data set without `drop_remainder=True`, even if all of them are whole; so "
        "in what is called with such a batch. (A batch that eager code hands to a graph has its sizes.) A comparison such as "
        "`x.shape[0] != 32` is then always true, and `len(x)` is a tensor. Else: `TypeError: unsupported operand type(s) for *: 'NoneType' "
        "and 'int'`, `ValueError: None values not supported`, `Failed to convert elements of [None, 3] to Tensor`, `'NoneType' object "
        "cannot be interpreted as an integer`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def flatten(x):
    rows = x.shape[0]  # TR309
    return tf.reshape(x, [rows * 3])


result = flatten(tf.ones([2, 3]))
""",
        good="""\
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def flatten(x):
    rows = tf.shape(x)[0]
    return tf.reshape(x, [rows * 3])


result = flatten(tf.ones([2, 3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def flatten(x):
    columns = x.shape[1]
    return tf.reshape(x, [-1, columns * 1]) * tf.ones([columns])


result = flatten(tf.ones([2, 3]))
""",
    ),
    cure="Use `tf.shape(x)[i]`, which is the size at run time.",
    check=check,
)
