"""TR309: a size that is None while the graph is traced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import Constant, ShapeValue, TensorValue, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import operands, walk
from terra_refactor.rules.declared_signature import declared_signature
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, has_trait
from terra_refactor.tf_model.spec import Trait

_NUMBERS: Final = frozenset({"builtins.int", "builtins.float", "builtins.range", "builtins.abs", "builtins.round"})
_TAKES_NONE: Final = frozenset({"tensorflow.ensure_shape", "tensorflow.TensorSpec", "tensorflow.TensorShape"})
_KEEPS_BATCHES: Final = frozenset({"prefetch", "cache", "repeat", "shuffle", "take", "skip", "with_options"})
_BATCHES: Final = frozenset({"batch", "padded_batch"})


def check(view: ContextView) -> Iterator[LocalHazard]:
    if not view.context.in_graph:
        return
    for op in view.code.ops:
        if not isinstance(op, ops.LoadItem):
            continue
        axis = view.value(op.index)
        tensor = _shape_of(view, op.object)
        if tensor is None or not isinstance(axis, Constant) or type(axis.value) is not int:
            continue
        name = view.parameter_behind(tensor) if isinstance(view.op(tensor), ops.LoadName) else None
        if name is None or not _is_open(view, name, tensor, axis.value) or _asks_for_none(view, op.id):
            continue
        use = next(_uses_as_number(view, op.id), None)
        if use is not None:
            written = view.written(op.id)
            yield LocalHazard(
                op.id,
                f"`{written}` is None while the graph is traced: its size is not fixed, and `{view.written(use)}` needs a number",
                cure=CureHint(CureKind.DYNAMIC_SIZE),
            )


def _shape_of(view: ContextView, number: OpId) -> OpId | None:
    """The tensor of which the result is the static shape."""
    op = view.op(view.behind_name(number))
    if isinstance(op, ops.LoadAttribute) and op.name == "shape":
        if all(isinstance(member, ShapeValue) for member in members(view.value(op.id))):
            return op.object
    return None


def _is_open(view: ContextView, name: str, tensor: OpId, axis: int) -> bool:
    """Whether the size of that axis is certainly not fixed: a signature or a batched data set says so."""
    value = view.value(tensor)
    ranks = {
        len(member.type.shape) if isinstance(member, TensorValue) and member.type.shape is not None else None
        for member in members(value)
    }
    if len(ranks) != 1 or None in ranks:
        return False
    (rank,) = ranks
    assert rank is not None
    axis = axis + rank if axis < 0 else axis
    signature = declared_signature(view, view.function.id)
    if signature is not None:
        entry = signature.of(name)
        return entry is not None and axis in entry.open_axes
    return axis == 0 and _is_batched(view)


def _is_batched(view: ContextView) -> bool:
    """Whether every caller is a `Dataset.map` (or its kin) over batches of which the last may be smaller."""
    if not view.callers:
        return False
    for caller in view.callers:
        context = view.facts.contexts[caller.context]
        body = view.program.function(context.function).body
        table = {op.id: op for op in walk(body)}
        call = table.get(caller.op)
        libraries = next((fact.library for fact in context.calls if fact.op == caller.op), ())
        if not isinstance(call, ops.Call) or "tensorflow.data.Dataset.map" not in libraries:
            return False
        method = table.get(call.function)
        if not isinstance(method, ops.LoadAttribute) or not _gives_batches(body, method.object):
            return False
    return True


def _last_store(body: ops.Block, load: ops.LoadName) -> OpId | None:
    """What a variable was set to last before it is read, in code without branches; None where that is not certain."""
    stores = [op for op in walk(body) if isinstance(op, ops.StoreName) and op.name == load.name and op.id < load.id]
    return stores[-1].value if stores and all(store in body for store in stores) else None


def _gives_batches(body: ops.Block, number: OpId) -> bool:
    """Whether a data set is made of batches of which the last may be smaller."""
    table = {op.id: op for op in walk(body)}
    for _ in range(12):
        op = table.get(number)
        if isinstance(op, ops.LoadName):
            store = _last_store(body, op)
            if store is None:
                return False
            number = store
            continue
        if not isinstance(op, ops.Call):
            return False
        method = table.get(op.function)
        if not isinstance(method, ops.LoadAttribute):
            return False
        if method.name in _BATCHES:
            keywords = {argument.keyword for argument in op.arguments}
            plain = sum(argument.keyword is None for argument in op.arguments)
            return "drop_remainder" not in keywords and plain == 1
        if method.name not in _KEEPS_BATCHES:
            return False
        number = method.object
    return False


def _asks_for_none(view: ContextView, number: OpId) -> bool:
    """Whether the function looks whether the size is known."""
    return any(
        isinstance(op, ops.Compare | ops.ShortCircuit | ops.If | ops.IfExpression)
        and (not isinstance(op, ops.Compare) or op.operator in ("is", "is not", "==", "!="))
        for use in _uses(view, number)
        if (op := use) is not None
    )


def _uses(view: ContextView, number: OpId) -> Iterator[ops.Op]:
    """The operations that read a result, directly or through a local variable that is set once."""
    names = {
        op.name
        for op in view.code.ops
        if isinstance(op, ops.StoreName) and op.value == number and view.stored_once(op.name) == number
    }
    results = {number, *(op.id for op in view.code.ops if isinstance(op, ops.LoadName) and op.name in names)}
    for op in view.code.ops:
        if op is not None and not results.isdisjoint(operands(op)):
            yield op


def _uses_as_number(view: ContextView, number: OpId) -> Iterator[OpId]:
    for use in _uses(view, number):
        match use:
            case ops.Binary() | ops.Unary(operator="-" | "+"):
                yield use.id
            case ops.Compare(operator="<" | "<=" | ">" | ">="):
                yield use.id
            case ops.Call():
                if _needs_numbers(view, use):
                    yield use.id
            case ops.BuildContainer():
                for outer in _uses(view, use.id):
                    if isinstance(outer, ops.Call) and _needs_numbers(view, outer):
                        yield outer.id


def _needs_numbers(view: ContextView, call: ops.Call) -> bool:
    fact = view.calls.get(call.id)
    if fact is None or fact.callees or fact.unknown is not None or not fact.library:
        return False
    return all(
        name in _NUMBERS or (has_trait(name, Trait.TENSOR_OPERATION) and name not in _TAKES_NONE)
        for name in fact.library
    )


RULE: Final = Rule(
    id="TR309",
    name="static-size-needed",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`x.shape[i]` of an axis whose size is not fixed is None while the graph is traced, and is used as a number.",
    explanation=(
        "Eagerly `x.shape[0]` is an int. In a graph it is what is known while tracing: None under an `input_signature` that says None, and "
        "for the batches of a data set without `drop_remainder=True`. Then: `TypeError: unsupported operand type(s) for *: 'NoneType' "
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
