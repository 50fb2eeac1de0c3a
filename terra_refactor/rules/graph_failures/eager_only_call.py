"""TR301: calls that only work eagerly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import Constant
from terra_refactor.ir import ops
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, has_trait
from terra_refactor.tf_model.spec import Trait

_TENSOR_METHODS: Final = ("tensorflow.Tensor.", "tensorflow.Variable.")


def check(view: ContextView) -> Iterator[LocalHazard]:
    for op, name in view.library_calls():
        if name == "builtins.hasattr" and _asks_for_eager_method(view, op):
            yield LocalHazard(
                op.id, f"`{view.written(op.id)}` is True of eager tensors only: a graph takes the other way"
            )
        if name == "tensorflow.executing_eagerly":
            other = f"what happens where `{view.written(op.id)}` is False means the same"
            yield LocalHazard(op.id, "it asks whether it runs eagerly: in a graph it takes the other way", other)
        if not has_trait(name, Trait.EAGER_ONLY):
            continue
        function = view.op(op.function)
        if (
            isinstance(function, ops.LoadAttribute)
            and name.startswith(_TENSOR_METHODS)
            and view.is_captured(function.object)
            and not view.is_variable(function.object)
        ):
            # a tensor that was made before the trace is still an eager one; a variable's value is read in the graph
            continue
        yield LocalHazard(op.id, f"`{view.written(op.id)}` works on eager tensors only: in a graph it raises")


def _asks_for_eager_method(view: ContextView, call: ops.Call) -> bool:
    """`hasattr(tensor, "numpy")`, or another method that symbolic tensors do not have."""
    if len(call.arguments) != 2:
        return False
    tensor, attribute = call.arguments[0].value, view.value(call.arguments[1].value)
    if not isinstance(attribute, Constant) or not isinstance(attribute.value, str) or not view.is_symbolic(tensor):
        return False
    return has_trait(f"tensorflow.Tensor.{attribute.value}", Trait.EAGER_ONLY)


RULE: Final = Rule(
    id="TR301",
    name="eager-only-call",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`.numpy()`, `.item()`, `.tolist()`, Keras `fit`/`predict`/`evaluate` and saving need eager tensors.",
    explanation=(
        "In a graph a tensor is symbolic: `.numpy()` raises `AttributeError: 'SymbolicTensor' object has no attribute 'numpy'`, "
        "Keras's loops raise or refuse to run."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    return tf.reduce_sum(x).numpy()  # TR301


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    return tf.reduce_sum(x)


step(tf.ones([3])).numpy()
""",
        near_miss="""\
import tensorflow as tf

table = tf.constant([1.0, 2.0])


@tf.function
def step(x):
    return x * float(table.numpy()[0])


step(tf.ones([3]))
""",
    ),
    cure="Return the tensor and convert it outside of the function.",
    check=check,
)
