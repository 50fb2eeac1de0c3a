"""Keras layers and models: their constructor arguments, inputs, outputs and weights; and a model's layers as a table.

Computes: Markdown about a layer or model object. Needs: a snapshot. Gives: `layer_card`, `model_table`,
`sequential_outputs`, `configuration_sources`.

An object is identified by the call that created it, because each method has its own number for it. Calls of a layer
are searched in the whole component; the layers of a functional model are those called by the operations before its
outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from terra_refactor.analysis.facts import ContextFacts, ObjectFacts, ObjectKind
from terra_refactor.domain.dtype import FLOAT32
from terra_refactor.domain.lattice import dim_of
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    FrozenList,
    Reference,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
)
from terra_refactor.ide.names import created_class, creation_call, fenced
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ide.values import tensor_text
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.walk import blocks, operands, walk
from terra_refactor.tf_model import keras
from terra_refactor.tf_model.keras.layer_call import Settings
from terra_refactor.tf_model.keras.models import BATCH
from terra_refactor.tf_model.registry import is_library_subclass, lookup
from terra_refactor.tf_model.spec import BoundCall, OperationError, ParameterPassing

_MOST_ROWS = 24
_NAMES = (ops.LoadName, ops.LoadAttribute)
_MODELS = ("keras.Sequential", "keras.Model")


@dataclass(frozen=True, slots=True)
class _Row:
    """One layer of a model: its class, its outputs, its weights."""

    name: str
    output: Value
    weights: Mapping[str, TensorType]
    op: OpId | None = None
    """For a layer of a sequential model: the expression for it where the model is created."""


def is_layer(cls: str) -> bool:
    """Whether a library class is a layer or a model."""
    return is_library_subclass(cls, "keras.layers.Layer")


def layer_card(snapshot: Snapshot, found: ObjectFacts) -> str | None:
    """A layer: its calls (inputs and outputs), and its weights; a model: its layers. None for other objects."""
    cls = created_class(snapshot, found) if found.kind is ObjectKind.INSTANCE else None
    if cls is None or not is_layer(cls):
        return None
    table = model_table(snapshot, found, cls)
    if table is not None:
        return table
    calls = dict.fromkeys(_calls_of(snapshot, found))
    rows = [f"{found.name}: {_text(snapshot, given)} → {_text(snapshot, result)}" for given, result in calls]
    weights: Mapping[str, TensorType] = {}
    for given, _ in calls:
        weights = _weights(snapshot, found, cls, given)
        if weights:
            break
    rows = list(dict.fromkeys(rows))[:4]
    if weights:
        rows.append("weights: " + ", ".join(f"{name} {tensor}" for name, tensor in weights.items()))
        total = _count(weights)
        if total is not None:
            rows.append(f"parameters: {total:,}")
    return fenced("\n".join(rows)) if rows else None


def _text(snapshot: Snapshot, value: Value) -> str:
    # in a table of layers every tensor is symbolic
    return (tensor_text(snapshot, [value]) or "?").replace("keras tensor ", "")


def _calls_of(snapshot: Snapshot, found: ObjectFacts) -> Iterator[tuple[Value, Value]]:
    """The first argument and the result of each call of an object."""
    same = {
        number
        for number, other in snapshot.facts.objects.items()
        if other.kind is ObjectKind.INSTANCE and (other.function, other.op) == (found.function, found.op)
    }
    for module in snapshot.program.modules.values():
        for function in module.functions:
            contexts = snapshot.contexts(function)
            if not contexts:
                continue
            for op in walk(function.body):
                if not isinstance(op, ops.Call) or not op.arguments:
                    continue
                for context in contexts:
                    callee = context.values[op.function]
                    if isinstance(callee, Reference) and callee.object in same:
                        given, result = context.values[op.arguments[0].value], context.values[op.id]
                        if given is not None and result is not None:
                            yield given, result


def configuration_sources(
    snapshot: Snapshot, found: ObjectFacts
) -> tuple[str, dict[str, Value], dict[str, str]] | None:
    """The class of a library layer, its settings with plain defaults, and the names by which settings are written."""
    cls = created_class(snapshot, found) if found.kind is ObjectKind.INSTANCE else None
    if cls is None or not is_layer(cls):
        return None
    entity, call = lookup(cls), creation_call(snapshot, found)
    if entity is None or entity.parameters is None or call is None or found.function is None:
        return None
    written = {op.id: op.name for op in walk(snapshot.program.function(found.function).body) if isinstance(op, _NAMES)}
    values: dict[str, Value] = {
        parameter.name: parameter.default for parameter in entity.parameters if parameter.default is not None
    }
    texts: dict[str, str] = {}
    positions = [
        parameter
        for parameter in entity.parameters
        if parameter.passing in (ParameterPassing.POSITIONAL, ParameterPassing.POSITIONAL_ONLY)
    ]
    for index, argument in enumerate(call.arguments):
        if argument.spread is not ops.Spread.PLAIN:
            return None
        name = argument.keyword or (positions[index].name if index < len(positions) else None)
        if name is not None:
            given = set(snapshot.facts.values_of(found.function, argument.value))
            values[name] = given.pop() if len(given) == 1 else UNKNOWN
            if argument.value in written:
                texts[name] = written[argument.value]
    return cls, values, texts


def _configuration(snapshot: Snapshot, found: ObjectFacts) -> dict[str, Value]:
    made = configuration_sources(snapshot, found)
    return {} if made is None else made[1]


def _weights(snapshot: Snapshot, found: ObjectFacts, cls: str, given: Value) -> Mapping[str, TensorType]:
    rule = keras.WEIGHTS.get(cls)
    if rule is None or not isinstance(given, TensorValue):
        return {}
    try:
        return rule(Settings(_configuration(snapshot, found)), given.type)
    except OperationError:
        return {}


def _count(weights: Mapping[str, TensorType]) -> int | None:
    total = 0
    for tensor in weights.values():
        product = 1
        for size in tensor.shape or (None,):
            if not isinstance(size, int):
                return None
            product *= size
        total += product
    return total


# --- models ------------------------------------------------------------------------------------------------------------------------


def model_table(snapshot: Snapshot, found: ObjectFacts, cls: str) -> str | None:
    """The layers of a sequential or functional model, one per line, with output shapes and numbers of weights."""
    call = creation_call(snapshot, found)
    if cls not in _MODELS or call is None or found.function is None:
        return None
    function = snapshot.program.function(found.function)
    rows: list[_Row] = []
    for context in snapshot.facts.contexts_of(found.function):
        rows = list(
            _sequential(snapshot, function, context, call, found)
            if cls == "keras.Sequential"
            else _functional(snapshot, function, context, call)
        )
        if rows:
            break
    if not rows:
        return None
    shown = [
        [
            row.name,
            _text(snapshot, row.output),
            f"{total:,}" if (total := _count(row.weights)) is not None and row.weights else "",
        ]
        for row in rows
    ]
    header = ["layer", "output", "parameters"]
    left = len(shown) - _MOST_ROWS
    if left > 0:
        shown = [*shown[: _MOST_ROWS - 1], [f"… and {left + 1} more", "", ""]]
    widths = [max(len(row[column]) for row in (header, *shown)) for column in range(3)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *shown)
    ]
    counts = [_count(row.weights) for row in rows]
    total_line = ""
    if all(count is not None for count in counts) and any(row.weights for row in rows):
        total_line = f"\nknown parameters: {sum(count for count in counts if count is not None):,}"
    return fenced("\n".join(lines) + total_line)


def sequential_outputs(snapshot: Snapshot, function: Function) -> Iterator[tuple[OpId, Value]]:
    """The output of each layer in the sequential models that a function creates: the expression for the layer, and its output."""
    contexts = snapshot.contexts(function)
    for call in [op for op in walk(function.body) if isinstance(op, ops.Call)]:
        for context in contexts:
            made = context.values[call.id]
            found = snapshot.facts.objects[made.object] if isinstance(made, Reference) else None
            if found is None or (found.function, found.op) != (function.id, call.id):
                continue
            if created_class(snapshot, found) == "keras.Sequential":
                for row in _sequential(snapshot, function, context, call, found):
                    if row.op is not None:
                        yield row.op, row.output


def _sequential(
    snapshot: Snapshot, function: Function, context: ContextFacts, call: ops.Call, found: ObjectFacts
) -> Iterator[_Row]:
    layers = _stacked(function, context, call)
    if not layers:
        return
    given = next(
        (given for given, _ in _calls_of(snapshot, found) if isinstance(given, TensorValue)),
        None,
    )
    value: Value = UNKNOWN if given is None else given
    for number, op in enumerate(layers):
        layer = None if op is None else context.values[op]
        if isinstance(layer, TensorValue):  # keras.Input as the first element
            value = layer
            yield _Row("Input", layer, {}, op)
            continue
        if not isinstance(layer, Reference):
            yield _Row("?", UNKNOWN, {})
            value = UNKNOWN
            continue
        made = snapshot.facts.objects[layer.object]
        cls = created_class(snapshot, made)
        shape = _declared_input(snapshot, made) if number == 0 else None
        if cls == "keras.layers.InputLayer":
            value = value if shape is None else shape
            continue
        if isinstance(value, UnknownValue) and shape is not None:
            value = shape
        weights = {} if cls is None else _weights(snapshot, made, cls, value)
        value = UNKNOWN if cls is None else _applied(snapshot, made, cls, value)
        yield _Row(made.name, value, weights, op)


def _stacked(function: Function, context: ContextFacts, call: ops.Call) -> tuple[OpId | None, ...]:
    """The layers of a sequential model: those of the list that it is created with, and those added in the same block.

    None is an unknown number of layers, because they are added elsewhere or in a branch or loop.
    """
    found: list[OpId | None] = []
    by_id = {op.id: op for op in walk(function.body)}
    given = next((each.value for each in call.arguments if each.keyword in (None, "layers")), None)
    if given is not None:
        display = by_id.get(given)
        if not isinstance(display, ops.BuildContainer) or any(element.starred for element in display.elements):
            return ()
        found.extend(element.value for element in display.elements)
    block = next((each for each in _all_blocks(function.body) if any(op.id == call.id for op in each)), ())
    direct = {op.id for op in block}
    made = context.values[call.id]
    for op in by_id.values():
        method = by_id.get(op.function) if isinstance(op, ops.Call) and op.id > call.id else None
        if isinstance(op, ops.Call) and isinstance(method, ops.LoadAttribute) and method.name in ("add", "pop"):
            if context.values[method.object] == made:
                plain = method.name == "add" and op.id in direct and len(op.arguments) == 1
                found.append(op.arguments[0].value if plain else None)
    return tuple(found[: found.index(None) + 1] if None in found else found)


def _all_blocks(block: ops.Block) -> Iterator[ops.Block]:
    yield block
    for op in block:
        for inner in blocks(op):
            yield from _all_blocks(inner)


def _declared_input(snapshot: Snapshot, found: ObjectFacts) -> Value | None:
    """The input that a layer declares by `input_shape` or `input_dim`, without its batch size."""
    call = creation_call(snapshot, found)
    if call is None or found.function is None:
        return None
    function = snapshot.program.function(found.function)
    for argument in call.arguments:
        if argument.keyword not in ("input_shape", "shape", "input_dim"):
            continue
        for value in snapshot.facts.values_of(found.function, argument.value):
            shape = value.elements if isinstance(value, TupleValue) else None
            if shape is None:
                display = next((op for op in walk(function.body) if op.id == argument.value), None)
                shape = (
                    tuple(_only(snapshot, found.function, each.value) for each in display.elements)
                    if isinstance(display, ops.BuildContainer)
                    else (value,)
                )
            sizes = tuple(map(dim_of, shape))
            if all(size is not None for size in sizes):
                return TensorValue(TensorType(FLOAT32, (BATCH, *sizes)), TensorKind.KERAS)
    return None


def _only(snapshot: Snapshot, function: FunctionId, op: OpId) -> Value:
    found = set(snapshot.facts.values_of(function, op))
    return found.pop() if len(found) == 1 else UNKNOWN


def _applied(snapshot: Snapshot, found: ObjectFacts, cls: str, given: Value) -> Value:
    """The output of a library layer for an input."""
    entity = lookup(f"{cls}.__call__")
    if entity is None or entity.rule is None or not isinstance(given, TensorValue):
        return UNKNOWN
    configuration = {name: _frozen(value) for name, value in _configuration(snapshot, found).items()}
    try:
        return entity.rule(
            BoundCall(entity.name, {"inputs": given}, configuration=configuration, invoke=lambda *_, **__: UNKNOWN)
        )
    except OperationError:
        return UNKNOWN


def _frozen(value: Value) -> Value:
    """A reference to a list with unknown content."""
    return FrozenList(None, UNKNOWN) if isinstance(value, Reference) else value


def _functional(snapshot: Snapshot, function: Function, context: ContextFacts, call: ops.Call) -> Iterator[_Row]:
    before = _feeding(function, call)
    for op in walk(function.body):
        value = context.values[op.id] if op.id in before and isinstance(op, ops.Call) else None
        if not isinstance(op, ops.Call) or value is None or not _is_symbolic(value):
            continue
        callee = context.values[op.function]
        given = context.values[op.arguments[0].value] if op.arguments else None
        if isinstance(callee, Reference):
            made = snapshot.facts.objects[callee.object]
            cls = created_class(snapshot, made)
            weights = {} if cls is None or given is None else _weights(snapshot, made, cls, given)
            yield _Row(made.name, value, weights)
        else:
            yield _Row(_written(snapshot, function, op.function), value, {})


def _written(snapshot: Snapshot, function: Function, op: OpId) -> str:
    """The last name of the callee, as in the source."""
    for other in walk(function.body):
        if other.id == op:
            return other.name if isinstance(other, ops.LoadName | ops.LoadAttribute) else "?"
    return "?"


def _is_symbolic(value: Value) -> bool:
    leaves = value.elements if isinstance(value, TupleValue) else (value,)
    return any(isinstance(leaf, TensorValue) and leaf.kind is TensorKind.KERAS for leaf in leaves)


def _feeding(function: Function, call: ops.Call) -> set[OpId]:
    """The operations of a function whose results may reach the arguments of a call."""
    by_id = {op.id: op for op in walk(function.body)}
    stores: dict[str, list[OpId]] = {}
    for op in by_id.values():
        if isinstance(op, ops.StoreName) and op.value is not None:
            stores.setdefault(op.name, []).append(op.value)
    wanted = [argument.value for argument in call.arguments]
    seen: set[OpId] = set()
    while wanted:
        number = wanted.pop()
        if number in seen or number not in by_id:
            continue
        seen.add(number)
        current = by_id[number]
        wanted.extend(operands(current))
        wanted.extend(inner.id for block in blocks(current) for inner in block)
        if isinstance(current, ops.LoadName):
            wanted.extend(value for value in stores.get(current.name, ()) if value < call.id)
    return seen
