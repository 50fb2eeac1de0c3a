"""TR319: a symbolic tensor where Python, or the making of the graph, needs a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter
from typing import Final

from terra_refactor.domain.dtype import FLOAT32, INT32, INT64, DType
from terra_refactor.domain.value import (
    Constant,
    DatasetValue,
    RangeValue,
    Reference,
    Scalar,
    SequenceValue,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    is_symbolic_number,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, is_tensorflow_tensor
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.spec import ParameterPassing
from terra_refactor.tf_model.static_parameters import static_parameters

_BY_INDEX_OR_EQUALITY: Final = frozenset(
    (
        *(f"builtins.list.{name}" for name in ("pop", "insert", "index", "remove", "count")),
        *(f"builtins.dict.{name}" for name in ("get", "pop", "setdefault")),
        *(f"builtins.set.{name}" for name in ("add", "discard", "remove")),
        "builtins.tuple.index",
        "builtins.tuple.count",
    )
)
"""Methods that use their first argument as an index or key, or compare it with what they hold."""
_HASHING: Final = frozenset({"builtins.set", "builtins.frozenset", "builtins.dict.fromkeys", "collections.Counter"})
"""Functions that hash the elements of what they are given."""

_FIELD: Final = re.compile(r"%(?P<key>\([^)]*\))?[-+ #0-9.]*(?P<kind>[diouxXeEfFgGcrsa%])")
_NUMBERS: Final = frozenset("diouxXeEfFgGc")


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.library_calls():
        yield from _check_call(view, call, name)
        if name == "builtins.len" and _size_of_data_set(view, call):
            written = view.written(call.id)
            assumed = f"that `{written}` is an int64 tensor in a graph makes no difference"
            yield LocalHazard(
                call.id, f"`{written}` is a Python number eagerly, and an int64 tensor in a graph", assumed
            )
    yield from _check_hashes(view)
    for load in view.reached(ops.LoadItem):
        yield from _check_index(view, load.id, load.object, load.index)
    for store in view.stores():
        yield from _check_index(view, store.id, store.object, store.index)
    for binary in view.reached(ops.Binary):
        yield from _check_operator(view, binary)
    for arithmetic in view.code.ops:
        if not isinstance(arithmetic, ops.Binary | ops.Compare):
            continue
        for number, tensor in ((arithmetic.left, arithmetic.right), (arithmetic.right, arithmetic.left)):
            made = _made_of_number(view, number)
            own = _dtype(view, tensor)
            if made is not None and own is not None and own != made:
                yield LocalHazard(
                    arithmetic.id,
                    f"`{view.written(number)}` is a Python number eagerly, which fits any tensor, and a {made} tensor in a graph, which "
                    f"does not fit the {own} of `{view.written(tensor)}`",
                )
                break
    for text in view.reached(ops.FormatString):
        for part in text.parts:
            if isinstance(part, ops.FormatField) and part.spec is not None:
                is_tensor, parameter = view.becomes_tensor(part.value)
                if is_tensor:
                    written = view.written(part.value)
                    message = f"`{written}` is formatted as a number: in a graph it has no value"
                    yield LocalHazard(text.id, message, parameter=parameter)


def _size_of_data_set(view: ContextView, call: ops.Call) -> bool:
    given = members(view.value(call.arguments[0].value)) if len(call.arguments) == 1 else ()
    return bool(given) and all(isinstance(member, DatasetValue) for member in given)


def _made_of_number(view: ContextView, number: OpId) -> DType | None:
    """The dtype of what AutoGraph makes of `int(tensor)`, `float(tensor)` or `len(dataset)`; None for anything else."""
    op = view.op(_behind_name(view, number))
    fact = view.calls.get(op.id)
    if not isinstance(op, ops.Call) or fact is None or len(op.arguments) != 1:
        return None
    given = op.arguments[0].value
    match fact.library:
        case ("builtins.int",) if view.is_symbolic(given):
            return INT32
        case ("builtins.float",) if view.is_symbolic(given):
            return FLOAT32
        case ("builtins.len",):
            return INT64 if _size_of_data_set(view, op) else None
        case _:
            return None


def _behind_name(view: ContextView, number: OpId) -> OpId:
    """The operation that gives a result, as `ContextView.behind_name`, where handlers of exceptions may set the variable, too.

    What `int(tensor)` raises eagerly, a graph, which only casts, does not raise: the handlers never run there.
    """
    load = view.op(number)
    if not isinstance(load, ops.LoadName) or load.scope is not ops.Scope.LOCAL:
        return view.behind_name(number)
    if any(parameter.name == load.name for parameter in view.function.parameters):
        return number
    handled = {op.id for outer in view.code.of_kind(ops.Try) for handler in outer.handlers for op in walk(handler.body)}
    stores = [op for op in view.code.stores.get(load.name, ()) if op.id not in handled]
    value = stores[0].value if len(stores) == 1 and stores[0].id < number else None
    return number if value is None else view.behind_name(value)


def _dtype(view: ContextView, number: OpId) -> DType | None:
    """The dtype of what certainly is a tensor."""
    found = {
        member.type.dtype
        for member in members(view.value(number))
        if isinstance(member, TensorValue) and is_tensorflow_tensor(member)
    }
    return found.pop() if len(found) == len(members(view.value(number))) == 1 else None


def _check_call(view: ContextView, call: ops.Call, name: str) -> Iterator[LocalHazard]:
    if name in _BY_INDEX_OR_EQUALITY:
        first = call.arguments[0].value if call.arguments else None
        is_tensor, parameter = (False, None) if first is None else view.becomes_tensor(first)
        if is_tensor and first is not None:
            message = f"`{view.written(call.id)}` needs the value of `{view.written(first)}`: in a graph this raises"
            yield LocalHazard(call.id, message, parameter=parameter)
        return
    if name in ("builtins.format", "builtins.str.format"):
        for number in _fields_with_format(view, call, name):
            is_tensor, parameter = view.becomes_tensor(number)
            if is_tensor:
                message = f"`{view.written(number)}` is formatted as a number: in a graph it has no value"
                yield LocalHazard(call.id, message, parameter=parameter)
                return
    wanted = static_parameters(name)
    if wanted is not None and not wanted:
        return
    for bound, number in _bound(name, call):
        if wanted is not None and bound not in wanted:
            continue
        what = f"`{view.written(number)}`"
        is_tensor, parameter = view.becomes_tensor(number)
        if is_tensor or view.holds_symbolic(number):
            where = f"`{bound}` of `{view.written(call.function)}`" if bound else f"`{view.written(call.id)}`"
            message = f"{where} needs a value when the graph is traced, and {what} is a tensor"
            if parameter is not None:
                message += f" there, made of the argument `{parameter}`"
            yield LocalHazard(call.id, message, parameter=parameter)
            return
        if wanted is None and view.may_be_symbolic(number):
            yield LocalHazard(
                call.id,
                f"`{view.written(call.id)}` needs a Python number, and {what} may be a tensor",
                f"{what} is no tensor where `{view.written(call.function)}` gets it",
            )
            return


def _bound(name: str, call: ops.Call) -> Iterator[tuple[str, OpId]]:
    """The plain arguments of a call of a library function, with the names of their parameters as far as they are known."""
    entity = registry.lookup(name)
    declared = () if entity is None or entity.parameters is None else entity.parameters
    names = [
        parameter.name
        for parameter in declared
        if parameter.passing in (ParameterPassing.POSITIONAL, ParameterPassing.POSITIONAL_ONLY)
    ]
    for position, argument in enumerate(call.arguments):
        if argument.spread is not ops.Spread.PLAIN:
            return
        yield argument.keyword or (names[position] if position < len(names) else ""), argument.value


def _fields_with_format(view: ContextView, call: ops.Call, name: str) -> Iterator[OpId]:
    """What `"{:.2f}".format(...)` and `format(value, ".2f")` format by a specification."""
    if any(argument.spread is not ops.Spread.PLAIN for argument in call.arguments):
        return
    plain = [argument.value for argument in call.arguments if argument.keyword is None]
    if name == "builtins.format":
        if len(plain) == 2 and view.value(plain[1]) != Constant(""):
            yield plain[0]
        return
    method = view.op(call.function)
    text = view.value(method.object) if isinstance(method, ops.LoadAttribute) else None
    if not isinstance(text, Constant) or not isinstance(text.value, str):
        return
    named = {argument.keyword: argument.value for argument in call.arguments if argument.keyword is not None}
    try:
        fields = [(field, spec) for _, field, spec, _ in Formatter().parse(text.value) if field is not None]
    except ValueError:
        return
    for position, (field, spec) in enumerate(fields):
        place = int(field) if field.isdecimal() else position if field == "" else len(plain)
        number = plain[place] if place < len(plain) else named.get(field)
        if spec and number is not None:
            yield number


def _check_index(view: ContextView, at: OpId, container: OpId, index: OpId) -> Iterator[LocalHazard]:
    operation = view.op(index)
    parts = [index]
    if isinstance(operation, ops.BuildSlice):
        parts = [bound for bound in (operation.lower, operation.upper, operation.step) if bound is not None]
    symbolic = next((part for part in parts if view.becomes_tensor(part)[0]), None)
    if symbolic is None or view.argument_behind(container) is not None:
        return
    alternatives = members(view.value(container))
    if alternatives and all(_is_indexed_by_python(view, member) for member in alternatives):
        yield LocalHazard(
            at,
            f"`{view.written(container)}` is no tensor, and `{view.written(symbolic)}` has no value in a graph: indexing it raises",
            parameter=view.becomes_tensor(symbolic)[1],
        )


def _is_indexed_by_python(view: ContextView, value: Value) -> bool:
    match value:
        case Reference():
            return view.facts.objects[value.object].container_class is not None
        case TupleValue() | SequenceValue() | RangeValue() | ShapeValue() | Constant(str() | bytes()):
            return True
        case TensorValue():
            return value.kind is TensorKind.NDARRAY
        case _:
            return False


def _check_operator(view: ContextView, op: ops.Binary) -> Iterator[LocalHazard]:
    left = view.value(op.left)
    if op.operator == "%" and isinstance(left, Constant) and isinstance(left.value, str):
        for number in _formatted_as_numbers(view, left.value, op.right):
            is_tensor, parameter = view.becomes_tensor(number)
            if is_tensor or view.is_variable(number) or view.holds_symbolic(number):
                message = f"`{view.written(number)}` is formatted as a number: in a graph it has no value"
                yield LocalHazard(op.id, message, parameter=parameter)
                return
    elif op.operator == "*":
        for sequence, count in ((op.left, op.right), (op.right, op.left)):
            if (
                is_symbolic_number(view.value(count))
                and view.is_symbolic(count)
                and _is_repeated(view, view.value(sequence))
            ):
                yield LocalHazard(
                    op.id,
                    f"`{view.written(sequence)}` is repeated `{view.written(count)}` times, which has no value in a graph",
                )


def _formatted_as_numbers(view: ContextView, text: str, given: OpId) -> Iterator[OpId]:
    """What `text % given` formats by `%d`, `%f` and the like."""
    fields = [field for field in _FIELD.finditer(text) if field["kind"] != "%"]
    display = view.op(view.behind_name(given))
    match display:
        case ops.BuildContainer(kind=ops.ContainerKind.TUPLE, elements=elements):
            if len(elements) == len(fields) and not any(element.starred for element in elements):
                pairs = zip(fields, elements, strict=True)
                yield from (element.value for field, element in pairs if field["kind"] in _NUMBERS)
        case ops.BuildDict(items=items):
            numbers = {field["key"][1:-1] for field in fields if field["key"] and field["kind"] in _NUMBERS}
            for item in items:
                key = None if item.key is None else view.value(item.key)
                if isinstance(key, Constant) and key.value in numbers:
                    yield item.value
        case _ if len(fields) == 1 and fields[0]["kind"] in _NUMBERS:
            yield given


def _check_hashes(view: ContextView) -> Iterator[LocalHazard]:
    """Numbers of tensors in sets, and as keys of dicts."""
    hashed: list[tuple[OpId, OpId]] = []
    for op in view.code.ops:
        match op:
            case ops.BuildContainer(kind=ops.ContainerKind.SET, elements=elements):
                hashed += [(op.id, element.value) for element in elements]
            case ops.BuildDict(items=items):
                hashed += [(op.id, item.key) for item in items if item.key is not None]
            case ops.Comprehension(kind=ops.ComprehensionKind.SET | ops.ComprehensionKind.DICT):
                hashed += [(op.id, number) for number in _collected(op)]
    for call, name in view.library_calls():
        if name in _HASHING and call.arguments:
            match view.op(view.behind_name(call.arguments[0].value)):
                case ops.Comprehension() as made:
                    hashed += [(call.id, number) for number in _collected(made)]
                case ops.BuildContainer(elements=elements):
                    hashed += [(call.id, element.value) for element in elements]
    for at, number in hashed:
        # a tensor itself is not hashed eagerly, either
        if all(map(is_symbolic_number, members(view.value(number)))) and view.is_symbolic(number):
            yield LocalHazard(at, f"`{view.written(number)}` is hashed: in a graph it has no value, and this raises")


def _collected(op: ops.Comprehension) -> Iterator[OpId]:
    """What a comprehension collects, of a dict the keys."""
    for inner in walk(op.body):
        if isinstance(inner, ops.CollectElement):
            yield inner.value if inner.key is None else inner.key


def _is_repeated(view: ContextView, value: Value) -> bool:
    alternatives = members(value)
    return bool(alternatives) and all(
        isinstance(member, TupleValue | SequenceValue | Constant | Scalar | Reference)
        and _is_indexed_by_python(view, member)
        for member in alternatives
    )


RULE: Final = Rule(
    id="TR319",
    name="python-value-needed",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A tensor indexes a Python list, or is given to `math`, `tf.constant` or a static argument: a graph has no value for it.",
    explanation=(
        "An eager tensor turns itself into a Python number wherever one is needed; a symbolic one cannot: `TypeError: list indices must "
        "be integers or slices, not SymbolicTensor`, `TypeError: must be real number, not SymbolicTensor`, `TypeError: Expected any "
        "non-tensor type, but got a tensor instead`, `TypeError: Expected int for argument`. `int()` and `float()` do not help: "
        "AutoGraph makes tensors of them. Most axes and sizes of TensorFlow's operations may be tensors; a few decide how the graph "
        "is made and may not (`axis` of `tf.nn.softmax`, `tf.stack`, `tf.argsort`; `num` of `tf.unstack`)."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

RATES = [0.1, 0.2, 0.3]


@tf.function
def step(x):
    best = int(tf.argmax(x))
    return RATES[best] * x  # TR319


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf

RATES = [0.1, 0.2, 0.3]


@tf.function
def step(x):
    return tf.gather(RATES, tf.argmax(x)) * x


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf

RATES = [0.1, 0.2, 0.3]


@tf.function
def step(x):
    return RATES[x.shape[0] - 1] * tf.reshape(x, [int(tf.size(x)), 1])


step(tf.ones([3]))
""",
    ),
    cure="`tf.gather` instead of an item, `tf.math` instead of `math`, `tf.stack` or `tf.convert_to_tensor` instead of `tf.constant`.",
    check=check,
)
