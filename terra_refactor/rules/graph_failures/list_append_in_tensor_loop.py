"""TR308: a Python list that is filled in a loop over tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import TensorValue, members
from terra_refactor.facts.records import Call, NameRead, NameWrite, Operation
from terra_refactor.facts.staging import is_made_within
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import APPEND
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _longer_lists(view)
    for call, name in view.calls_with(Trait.FILLS_LIST):
        loop = next((region for region in view.staged_around(call.op) if region.is_loop), None)
        if loop is not None and not (call.owner is not None and is_made_within(view, call.owner, loop)):
            yield LocalHazard(
                call.op,
                f"`{view.written(call.op)}` in a loop over tensors: in a graph its elements cannot leave the loop",
                cure=_cure(view, call, name),
            )


def _longer_lists(view: ContextView) -> Iterator[LocalHazard]:
    """`xs = xs + [x]` and `xs += [x]` in a loop over tensors, for a list from before the loop."""
    for write in view.code.of_kind(NameWrite):
        total = view.made(write.value)
        first = view.made(total.left) if isinstance(total, Operation) and total.symbol == "+" else None
        if not isinstance(first, NameRead) or first.name != write.name:
            continue
        loops = [region for region in view.staged_around(write.op) if region.is_loop]
        if any(len(view.code.set_in(loop, write.name)) == 1 for loop in loops):
            if view.is_object(first.op, ObjectKind.LIST):
                yield LocalHazard(
                    write.value,
                    f"the list `{write.name}` gets longer in a loop over tensors: a loop in a graph keeps its length",
                )


def _cure(view: ContextView, call: Call, name: str) -> CureHint | None:
    """A `TensorArray` can replace it if the appended values are tensors of one known dtype."""
    if name != APPEND or len(call.arguments) != 1:
        return None
    dtypes = {
        member.type.dtype if isinstance(member, TensorValue) and is_tensorflow_tensor(member) else None
        for member in members(view.value(call.arguments[0].value))
    }
    if len(dtypes) != 1 or None in dtypes:
        return None
    return CureHint(CureKind.TENSOR_ARRAY, (("dtype", str(dtypes.pop())),))


RULE: Final = Rule(
    id="TR308",
    name="list-append-in-tensor-loop",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A Python list that is filled in a loop over a tensor or dataset raises when it is used in a graph.",
    explanation=(
        "AutoGraph turns the loop into a `tf.while_loop`, and the tensors that its body appends belong to the graph of that loop. Using "
        "them outside raises `InaccessibleTensorError: ... is out of scope and cannot be used here`."
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
    cured_by_shim=True,
)
