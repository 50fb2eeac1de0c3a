"""TR309: a size that is None while the graph is traced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from terra_refactor.analysis.facts import CallFact
from terra_refactor.domain.dtype import FLOATING
from terra_refactor.domain.value import (
    Constant,
    FunctionValue,
    PythonType,
    Scalar,
    TensorValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import operands
from terra_refactor.rules.declared_signature import Signature, declared_signature
from terra_refactor.rules.open_batches import OpenBatches, gives_batches
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, has_trait
from terra_refactor.tf_model.spec import Trait

_NUMBERS: Final = frozenset({"builtins.int", "builtins.float", "builtins.range", "builtins.abs", "builtins.round"})
_TAKES_NONE: Final = frozenset({"tensorflow.ensure_shape", "tensorflow.TensorSpec", "tensorflow.TensorShape"})
MAX_CALLS: Final = 3
"""How many calls deep a batch is followed."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    given = frozenset(_open_parameters(view)) if view.context.in_graph else frozenset()
    batches = OpenBatches(view, given)
    if batches.any():
        for use in _uses_as_numbers(view, batches, MAX_CALLS):
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
        if name is None or not _is_open(view, signature, name, tensor, axis.value) or _asks_for_none(view, op.id):
            continue
        uses = [*_numbers_made_of(view, op.id)]
        if uses:
            cure = CureHint(CureKind.DYNAMIC_SIZE) if _may_be_tensor(view, uses) else None
            yield LocalHazard(op.id, _none(view, op.id, uses[0]), cure=cure)


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


def _none(view: ContextView, size: OpId, use: OpId) -> str:
    return f"{_unknown(view, size)}, and `{view.written(use)}` needs a number"


def _unknown(view: ContextView, size: OpId) -> str:
    op = view.op(size)
    tensor = view.tensor_of_shape(op.source) if isinstance(op, ops.UnpackElement) else None
    what = f"`{view.written(size)}`" if tensor is None else f"a size of `{view.written(tensor)}`"
    return f"{what} is None while the graph is traced: it is not fixed"


@dataclass(frozen=True, slots=True)
class _Use:
    """Where a size that is None is used as a number."""

    op: OpId
    message: str
    is_curable: bool = False


def _uses_as_numbers(view: ContextView, batches: OpenBatches, calls: int) -> Iterator[_Use]:
    """Where the size of a batch axis is used as a number, here or in functions that are called with a batch."""
    for op in view.code.ops:
        match op:
            case ops.LoadItem(object=shape, index=index):
                axis = view.value(index)
                if isinstance(axis, Constant) and type(axis.value) is int:
                    yield from _uses_of_size(view, batches, op.id, shape, axis.value)
            case ops.UnpackElement(source=shape, position=position, star=None):
                yield from _uses_of_size(view, batches, op.id, shape, position)
            case ops.Call() if (fact := view.calls.get(op.id)) is not None:
                if fact.callees and calls:
                    yield from _uses_in_callees(view, batches, op, fact, calls)
                elif fact.library == ("builtins.len",):
                    yield from _uses_of_length(view, batches, op)
                elif _needs_numbers(view, op):
                    yield from _whole_shapes(view, batches, op)
            case _:
                pass


def _uses_of_size(view: ContextView, batches: OpenBatches, size: OpId, shape: OpId, position: int) -> Iterator[_Use]:
    tensor = view.tensor_of_shape(shape)
    if tensor is None or not batches.is_open(tensor, position):
        return
    uses = [*_numbers_made_of(view, size)]
    if uses and not _asks_for_none(view, size):
        is_curable = isinstance(view.op(size), ops.LoadItem) and _may_be_tensor(view, uses)
        yield _Use(size, _none(view, size, uses[0]), is_curable)
    elif not batches.parameters:
        # who declares a signature may mean the comparison to be false
        for use in _uses(view, size):
            if isinstance(use, ops.Compare) and use.operator in ("==", "!="):
                if any(_is_integer(view.value(side)) for side in (use.left, use.right)):
                    always = f"and `{view.written(use.id)}` is always {use.operator == '!='}"
                    yield _Use(use.id, f"{_unknown(view, size)}, {always}")


def _uses_of_length(view: ContextView, batches: OpenBatches, call: ops.Call) -> Iterator[_Use]:
    """Where the length of a batch, a tensor in a graph, meets a float."""
    if len(call.arguments) == 1 and batches.is_open(call.arguments[0].value, 0):
        use = next(_uses_with_floats(view, call.id, set()), None)
        if use is not None:
            written = f"`{view.written(call.id)}` is a tensor of int32 while the graph is traced: the size is not fixed"
            yield _Use(call.id, f"{written}, and `{view.written(use)}` has a float on the other side")


def _whole_shapes(view: ContextView, batches: OpenBatches, call: ops.Call) -> Iterator[_Use]:
    for argument in call.arguments:
        tensor = view.tensor_of_shape(argument.value)
        if tensor is not None and batches.is_open(tensor):
            unknown = f"`{view.written(argument.value)}` has a None while the graph is traced: a size is not fixed"
            yield _Use(call.id, f"{unknown}, and `{view.written(call.id)}` needs numbers")


def _uses_in_callees(
    view: ContextView, batches: OpenBatches, call: ops.Call, fact: CallFact, calls: int
) -> Iterator[_Use]:
    # a method that is called as a function of its class gets `self` as an argument
    is_plain = all(isinstance(member, FunctionValue) for member in members(view.value(call.function)))
    for context in fact.callees:
        callee = view.of(context)
        is_bound = callee.function.kind is FunctionKind.METHOD and not is_plain
        parameters = frozenset(_parameters_given(callee, is_bound, call, batches))
        if parameters:
            for use in _uses_as_numbers(callee, OpenBatches(callee, parameters), calls - 1):
                where = f"in `{callee.function.qualname}`, line {callee.function.span_of(use.op).line}"
                yield _Use(call.id, f"{use.message} ({where})")
                return


def _parameters_given(callee: ContextView, is_bound: bool, call: ops.Call, batches: OpenBatches) -> Iterator[str]:
    """The parameters of a function that a call gives such batches."""
    if any(argument.spread is not ops.Spread.PLAIN for argument in call.arguments):
        return
    names = [parameter.name for parameter in callee.function.parameters]
    if is_bound:
        del names[:1]
    position = 0
    for argument in call.arguments:
        name = argument.keyword
        if name is None:
            name = names[position] if position < len(names) else None
            position += 1
        if name is not None and name in names and batches.is_open(argument.value, 0):
            yield name


def _uses_with_floats(view: ContextView, number: OpId, seen: set[OpId]) -> Iterator[OpId]:
    """The operators that combine an integer, directly or after others of its kind, with a float."""
    if number in seen:
        return
    seen.add(number)
    for use in _uses(view, number, everywhere=True):
        if isinstance(use, ops.Binary):
            other = use.right if use.left == number else use.left
            if _is_float(view.value(other)):
                yield use.id
            elif use.operator != "/" and _is_integer(view.value(other)):
                yield from _uses_with_floats(view, use.id, seen)


def _is_integer(value: Value) -> bool:
    alternatives = members(value)
    return bool(alternatives) and all(
        (isinstance(member, Constant) and type(member.value) is int)
        or (isinstance(member, Scalar) and member.type is PythonType.INT)
        for member in alternatives
    )


def _is_float(value: Value) -> bool:
    """Whether a value is certainly a float, or a tensor of floats."""
    alternatives = members(value)
    return bool(alternatives) and all(
        (isinstance(member, Constant) and type(member.value) is float)
        or (isinstance(member, Scalar) and member.type is PythonType.FLOAT)
        or (isinstance(member, TensorValue) and member.type.dtype in FLOATING)
        for member in alternatives
    )


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


def _asks_for_none(view: ContextView, number: OpId) -> bool:
    """Whether the function looks whether the size is known."""
    return any(
        isinstance(op, ops.Compare | ops.ShortCircuit | ops.If | ops.IfExpression)
        and (not isinstance(op, ops.Compare) or op.operator in ("is", "is not", "==", "!="))
        for use in _uses(view, number)
        if (op := use) is not None
    )


def _uses(view: ContextView, number: OpId, *, everywhere: bool = False) -> Iterator[ops.Op]:
    """The operations that read a result, directly or through a local variable that is set once (or to other things, too: `everywhere`)."""
    names = {
        op.name
        for op in view.code.of_kind(ops.StoreName)
        if op.value == number and (everywhere or view.stored_once(op.name) == number)
    }
    results = {number, *(op.id for op in view.code.ops if isinstance(op, ops.LoadName) and op.name in names)}
    for op in view.code.ops:
        if op is not None and not results.isdisjoint(operands(op)):
            yield op


def _numbers_made_of(view: ContextView, number: OpId) -> Iterator[OpId]:
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


def _may_be_tensor(view: ContextView, uses: Sequence[OpId]) -> bool:
    """Whether a tensor of int32 will do wherever the number is used: in shapes, and together with integers."""

    def accepts(op: ops.Op) -> bool:
        if isinstance(op, ops.Binary):
            return (
                op.operator != "/"
                and not op.in_place
                and _is_integer(view.value(op.left))
                and _is_integer(view.value(op.right))
            )
        return isinstance(op, ops.Call | ops.Unary | ops.Compare)

    return all(accepts(view.op(use)) for use in uses)


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
