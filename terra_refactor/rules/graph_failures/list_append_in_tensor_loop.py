"""TR308: a Python list that is filled in a loop over tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ObjectKind
from terra_refactor.domain.value import Reference, TensorValue, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, is_tensorflow_tensor


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _longer_lists(view)
    for call, name in view.library_calls():
        if name not in ("builtins.list.append", "builtins.list.extend", "builtins.list.insert"):
            continue
        for outer in view.enclosing(call.id):
            fact = view.branches.get(outer.id)
            if (
                isinstance(outer, ops.For | ops.While)
                and fact is not None
                and fact.kind in (BranchKind.TENSOR, BranchKind.DATASET)
            ):
                if not _made_inside(view, call, outer):
                    yield LocalHazard(
                        call.id,
                        f"`{view.written(call.id)}` in a loop over tensors: in a graph its elements cannot leave the loop",
                        cure=_cure(view, call, name),
                    )
                break


def _longer_lists(view: ContextView) -> Iterator[LocalHazard]:
    """`xs = xs + [x]` and `xs += [x]` in a loop over tensors, of a list from before the loop."""
    for loop in (*view.code.of_kind(ops.For), *view.code.of_kind(ops.While)):
        fact = view.branches.get(loop.id)
        if fact is None or fact.kind not in (BranchKind.TENSOR, BranchKind.DATASET):
            continue
        inner = list(walk((loop,)))
        stores = [op for op in inner if isinstance(op, ops.StoreName) and op.value is not None]
        for op in stores:
            total = view.op(op.value) if op.value is not None else op
            same = [other for other in stores if other.name == op.name]
            if not isinstance(total, ops.Binary) or total.operator != "+" or len(same) > 1:
                continue
            first = view.op(total.left)
            if isinstance(first, ops.LoadName) and first.name == op.name and _is_list(view, total.left):
                yield LocalHazard(
                    total.id,
                    f"the list `{op.name}` gets longer in a loop over tensors: a loop in a graph keeps its length",
                )


def _is_list(view: ContextView, number: OpId) -> bool:
    alternatives = members(view.value(number))
    return bool(alternatives) and all(
        isinstance(member, Reference) and view.facts.objects[member.object].kind is ObjectKind.LIST
        for member in alternatives
    )


def _cure(view: ContextView, call: ops.Call, name: str) -> CureHint | None:
    """A `TensorArray` takes its place if what is appended are tensors of one known dtype."""
    if name != "builtins.list.append" or len(call.arguments) != 1:
        return None
    added = members(view.value(call.arguments[0].value))
    dtypes = {
        member.type.dtype if isinstance(member, TensorValue) and is_tensorflow_tensor(member) else None
        for member in added
    }
    if len(dtypes) != 1 or None in dtypes:
        return None
    return CureHint(CureKind.TENSOR_ARRAY, (("dtype", str(dtypes.pop())),))


def _made_inside(view: ContextView, call: ops.Call, loop: ops.Op) -> bool:
    """Whether the list is made anew in each iteration."""
    function = view.op(call.function)
    if not isinstance(function, ops.LoadAttribute):
        return False
    target = view.op(function.object)
    if not isinstance(target, ops.LoadName):
        return False
    return any(isinstance(op, ops.StoreName) and op.name == target.name for op in walk((loop,)))


RULE: Final = Rule(
    id="TR308",
    name="list-append-in-tensor-loop",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A Python list that is filled in a loop over a tensor or dataset raises when it is used in a graph.",
    explanation=(
        "AutoGraph makes a `tf.while_loop` of the loop; what its body appends belongs to the loop's own graph: "
        "`InaccessibleTensorError: ... is out of scope and cannot be used here`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    rows = []
    for row in x:
        rows.append(row * 2.0)  # TR308
    return tf.stack(rows)


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(tf.shape(x)[0]):
        rows = rows.write(i, x[i] * 2.0)
    return rows.stack()


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    rows = []
    for scale in (1.0, 2.0):
        rows.append(x * scale)
    return tf.stack(rows)


step(tf.ones([3]))
""",
    ),
    cure="Use a `tf.TensorArray`, or work on the whole tensor.",
    check=check,
)
