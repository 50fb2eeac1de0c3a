"""TR301: calls that only work eagerly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import Constant, LibraryValue, TensorValue, TupleValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, has_trait
from terra_refactor.tf_model.spec import Trait

_TENSOR_METHODS: Final = ("tensorflow.Tensor.", "tensorflow.Variable.")


_ASKS_FOR_MODE: Final = frozenset(
    {"tensorflow.executing_eagerly", "tensorflow.inside_function", "tensorflow.is_symbolic_tensor"}
)
_FED: Final = frozenset({"tensorflow.compat.v1.placeholder", "tensorflow.compat.v1.sparse_placeholder"})
"""What has a value only in graphs that a session runs; eagerly it raises."""
_OF_SYMBOLIC: Final = frozenset({"op", "graph", "name", "consumers", "value_index"})
"""Attributes that symbolic tensors have and eager ones have not."""
_CLASSES_OF_A_MODE: Final = frozenset({"EagerTensor", "_EagerTensorBase", "SymbolicTensor"})
"""Classes of which a tensor is in one mode only."""
_ASSIGNS: Final = frozenset(f"tensorflow.compat.v1.{name}" for name in ("assign", "assign_add", "assign_sub"))
"""They take variables, and slices of variables: eager tensors that know where they are from."""
_VALUES_OF_KERAS: Final = frozenset({"eval", "get_value"})
"""Functions of `keras.backend` that leave the graph to read a variable; a tensor of the graph they refuse."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    called = {call.function for call in view.reached(ops.Call)}
    for load in view.reached(ops.LoadAttribute):
        of_a_mode = load.name == "__class__" or has_trait(f"tensorflow.Tensor.{load.name}", Trait.EAGER_ONLY)
        if of_a_mode and load.id not in called and view.is_symbolic(load.object):
            yield _asks_for_mode(view, load.id)
        if load.name == "device" and view.is_symbolic(load.object):
            yield LocalHazard(
                load.id,
                f"`{view.written(load.id)}` is known when a tensor is there: in a graph it is empty",
                f"nothing depends on `{view.written(load.id)}`",
            )
    for comparison in view.reached(ops.Compare):
        if comparison.operator in ("is", "is not") and all(
            view.is_symbolic(side) for side in (comparison.left, comparison.right)
        ):
            written = f"{view.written(comparison.left)} {comparison.operator} {view.written(comparison.right)}"
            other = f"`{written}` has the same answer for the tensors that a graph has in their place"
            yield LocalHazard(comparison.id, f"`{written}` asks for the identity of tensors: a graph has others", other)
    for op, name in view.library_calls():
        if name == "builtins.hasattr" and len(op.arguments) == 2 and _asks_for_eager_method(view, op):
            yield LocalHazard(
                op.id, f"`{view.written(op.id)}` has another answer for eager tensors: a graph takes the other way"
            )
        if (
            name in _ASKS_FOR_MODE
            or (name == "builtins.type" and _is_class_of_tensor(view, op))
            or (name == "builtins.isinstance" and _asks_for_class_of_mode(view, op))
            or (name == "builtins.getattr" and len(op.arguments) == 3 and _asks_for_eager_method(view, op))
        ):
            yield _asks_for_mode(view, op.id)
        if name in _FED and not _is_in_other_graph(view, op):
            yield LocalHazard(
                op.id, f"only a session feeds `{view.written(op.id)}`: in a traced function it has no value"
            )
        assigned = op.arguments[0].value if name in _ASSIGNS and op.arguments else None
        owner = None if assigned is None or view.is_variable(assigned) else view.parameter_behind(assigned)
        if owner is not None and _is_tensor(view.value(op.arguments[0].value)):
            yield LocalHazard(
                op.id,
                f"`{view.written(op.id)}` assigns to a slice of a variable: a traced function gets a tensor in its place",
                parameter=owner,
            )
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
        if name.rpartition(".")[2] in _VALUES_OF_KERAS and op.arguments and view.is_variable(op.arguments[0].value):
            yield LocalHazard(
                op.id,
                f"`{view.written(op.id)}` reads the variable once, while the graph is traced",
                f"`{view.written(op.arguments[0].value)}` does not change after the graph is traced",
            )
            continue
        yield LocalHazard(op.id, f"`{view.written(op.id)}` works on eager tensors only: in a graph it raises")


def _is_tensor(value: Value) -> bool:
    alternatives = members(value)
    return bool(alternatives) and all(isinstance(member, TensorValue) for member in alternatives)


def _is_in_other_graph(view: ContextView, call: ops.Call) -> bool:
    """Whether a `with graph.as_default()` around it says for which graph the placeholder is."""
    return any(
        isinstance(outer, ops.With)
        and (made := view.calls.get(outer.manager)) is not None
        and (made.unknown is not None or "tensorflow.Graph.as_default" in made.library)
        for outer in view.enclosing(call.id)
    )


def _asks_for_mode(view: ContextView, number: OpId) -> LocalHazard:
    other = f"what is done with the other answer that `{view.written(number)}` gives in a graph means the same"
    return LocalHazard(number, "it asks whether it runs eagerly: in a graph it takes the other way", other)


def _asks_for_class_of_mode(view: ContextView, call: ops.Call) -> bool:
    """`isinstance(tensor, EagerTensor)`, unless it asks for any other tensor as well."""
    if len(call.arguments) != 2 or not view.may_be_symbolic(call.arguments[0].value):
        return False
    asked = [
        part.name
        for member in members(view.value(call.arguments[1].value))
        for part in (member.elements if isinstance(member, TupleValue) else (member,))
        if isinstance(part, LibraryValue)
    ]
    return "tensorflow.Tensor" not in asked and any(name.rpartition(".")[2] in _CLASSES_OF_A_MODE for name in asked)


def _asks_for_eager_method(view: ContextView, call: ops.Call) -> bool:
    """`hasattr(tensor, "numpy")`, `getattr(tensor, "numpy", None)`, or another method that symbolic tensors do not have."""
    tensor, attribute = call.arguments[0].value, view.value(call.arguments[1].value)
    if not isinstance(attribute, Constant) or not isinstance(attribute.value, str) or not view.is_symbolic(tensor):
        return False
    return attribute.value in _OF_SYMBOLIC or has_trait(f"tensorflow.Tensor.{attribute.value}", Trait.EAGER_ONLY)


def _is_class_of_tensor(view: ContextView, call: ops.Call) -> bool:
    return len(call.arguments) == 1 and view.is_symbolic(call.arguments[0].value)


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
