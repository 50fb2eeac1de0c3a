"""Keras layers and models: their constructor arguments, inputs, outputs and weights; and a model's layers as a table.

Computes: Markdown about a layer or model object. Needs: a snapshot. Gives: `layer_card`, `model_table`, `configuration_sources`.

An object is identified by the call that created it, because each method has its own number for it. Calls of a layer
are searched in the whole component; the layers of a functional model are those called by the operations before its
outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from terra_refactor.analysis.facts import ContextFacts, ObjectFacts, ObjectKind
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    FrozenList,
    Reference,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.ide.names import created_class, creation_call, fenced
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ide.values import tensor_text
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import blocks, operands, walk
from terra_refactor.tf_model import keras
from terra_refactor.tf_model.keras.layer_call import Settings
from terra_refactor.tf_model.registry import is_library_subclass, lookup
from terra_refactor.tf_model.spec import BoundCall, OperationError, ParameterPassing

_MOST_ROWS = 24
_NAMES = (ops.LoadName, ops.LoadAttribute)
_MODELS = ("keras.Sequential", "keras.Model")


@dataclass(frozen=True, slots=True)
class _Row:
    """One layer of a model: its class, its outputs, its weights."""

    name: str
    output: str
    weights: Mapping[str, TensorType]


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
        [row.name, row.output, f"{total:,}" if (total := _count(row.weights)) is not None and row.weights else ""]
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


def _sequential(
    snapshot: Snapshot, function: Function, context: ContextFacts, call: ops.Call, found: ObjectFacts
) -> Iterator[_Row]:
    if not call.arguments:
        return
    display = next((op for op in walk(function.body) if op.id == call.arguments[0].value), None)
    if not isinstance(display, ops.BuildContainer) or any(element.starred for element in display.elements):
        return
    layers = [context.values[element.value] for element in display.elements]
    given = next(
        (given for given, _ in _calls_of(snapshot, found) if isinstance(given, TensorValue)),
        None,
    )
    value: Value = UNKNOWN if given is None else given
    for layer in layers:
        if isinstance(layer, TensorValue):  # keras.Input as the first element
            value = layer
            yield _Row("Input", _text(snapshot, layer), {})
            continue
        if not isinstance(layer, Reference):
            yield _Row("?", "?", {})
            value = UNKNOWN
            continue
        made = snapshot.facts.objects[layer.object]
        cls = created_class(snapshot, made)
        if cls == "keras.layers.InputLayer":
            continue
        weights = {} if cls is None else _weights(snapshot, made, cls, value)
        value = UNKNOWN if cls is None else _applied(snapshot, made, cls, value)
        yield _Row(made.name, _text(snapshot, value), weights)


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
            yield _Row(made.name, _text(snapshot, value), weights)
        else:
            yield _Row(_written(snapshot, function, op.function), _text(snapshot, value), {})


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
