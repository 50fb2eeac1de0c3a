"""TR323: the size of a tensor that only its content tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import Constant
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import operands
from terra_refactor.rules.open_axes import OpenAxes
from terra_refactor.rules.open_contents import Origin
from terra_refactor.rules.open_sizes import uses_of_open_sizes
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView


def check(view: ContextView) -> Iterator[LocalHazard]:
    if view.function.kind is FunctionKind.MODULE:
        return  # no graph
    axes = OpenAxes(view)
    found: dict[OpId, LocalHazard] = {}
    for op in view.code.ops:
        match op:
            case ops.LoadItem(object=shape, index=index):
                axis = view.value(index)
                position = axis.value if isinstance(axis, Constant) and type(axis.value) is int else None
            case ops.UnpackElement(source=shape, position=position):
                pass
            case ops.Call() if _is_unstacked(view, op):
                if axes.origin(op.arguments[0].value, 0) is Origin.CONTENT:
                    written = view.written(op.id)
                    found[op.id] = LocalHazard(
                        op.id, f"how many parts `{written}` has only a run tells: in a graph this raises"
                    )
                continue
            case _:
                continue
        tensor = view.tensor_of_shape(shape)
        if tensor is None or position is None or axes.origin(tensor, position) is not Origin.CONTENT:
            continue
        if _is_used(view, op.id):
            what = f"`{view.written(op.id)}`" if isinstance(op, ops.LoadItem) else f"a size of `{view.written(tensor)}`"
            cure = CureHint(CureKind.DYNAMIC_SIZE) if isinstance(op, ops.LoadItem) else None
            found[op.id] = LocalHazard(
                op.id, f"{what} is None while a graph is traced: only the content of the tensor tells it", cure=cure
            )
    for use in uses_of_open_sizes(view, axes, Origin.CONTENT):
        found.setdefault(use.op, LocalHazard(use.op, use.message))
    yield from found.values()


def _is_unstacked(view: ContextView, call: ops.Call) -> bool:
    fact = view.calls.get(call.id)
    return fact is not None and fact.library == ("tensorflow.unstack",) and len(call.arguments) == 1


def _is_used(view: ContextView, number: OpId) -> bool:
    """Whether anything but `is None` is done with the size."""
    names = {op.name for op in view.code.ops if isinstance(op, ops.StoreName) and op.value == number}
    reads = {number} | {op.id for op in view.code.ops if isinstance(op, ops.LoadName) and op.name in names}
    for op in view.code.ops:
        if op is None or isinstance(op, ops.StoreName) or reads.isdisjoint(operands(op)):
            continue
        if not (isinstance(op, ops.Compare) and op.operator in ("is", "is not")):
            return True
    return False


RULE: Final = Rule(
    id="TR323",
    name="size-by-content",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`y.shape[0]` of what `tf.where`, `tf.boolean_mask`, `x[mask]` or `tf.unique` gave is None in a graph.",
    explanation=(
        "How long the result of these operations is only their run tells, and so of `tf.range(n)`, `tf.zeros([n, 3])`, `x[:n]` and "
        "`tf.tile(x, [n, 1])` with a tensor `n`, of `tf.py_function`, of decoded pictures and of ragged rows. What follows from `tf.shape` "
        "and constants alone is known. Eagerly `y.shape[0]` is a number; while a graph is traced it is None: `TypeError: float() "
        "argument must be a string or a real number, not 'NoneType'`, `ValueError: None values not supported`, `TypeError: 'NoneType' "
        "object cannot be interpreted as an integer`. A comparison such as `y.shape[0] == 0` is silently false."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def mean_of_positive(x):
    positive = x[x > 0.0]
    return tf.reduce_sum(positive) / float(positive.shape[0])  # TR323


result = mean_of_positive(tf.constant([1.0, -2.0, 3.0]))
""",
        good="""\
import tensorflow as tf


@tf.function
def mean_of_positive(x):
    positive = x[x > 0.0]
    return tf.reduce_sum(positive) / tf.cast(tf.shape(positive)[0], tf.float32)


result = mean_of_positive(tf.constant([1.0, -2.0, 3.0]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def places(x):
    found = tf.where(x > 0.0)
    return found * found.shape[1] + x.shape[0]


result = places(tf.constant([1.0, -2.0, 3.0]))
""",
    ),
    cure="`tf.shape(y)[0]`, or `len(y)`.",
    check=check,
)
