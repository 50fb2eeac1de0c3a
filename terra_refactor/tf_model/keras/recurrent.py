"""Recurrent layers, their cells, and layers that wrap another layer.

Computes: output types of layer calls; wrapped layers are called through `BoundCall.invoke`. Gives: `RULES`, `WEIGHTS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from terra_refactor.domain.dim import Dim, definitely_different, format_dim, multiply
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    BoundMethod,
    Constant,
    FrozenList,
    FunctionValue,
    LibraryValue,
    PythonType,
    Scalar,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.keras.layer_call import (
    Settings,
    call_argument,
    cast_input,
    is_dense_input,
    layer_inputs,
    layer_name,
    output_kind,
    require_rank,
)
from terra_refactor.tf_model.keras.weights import WeightsRule, typed_weights
from terra_refactor.tf_model.shape_rules.windows import spatial_axes, window_output
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule

_STATES: Final = {"keras.layers.LSTMCell": 2, "keras.layers.GRUCell": 1, "keras.layers.SimpleRNNCell": 1}
"""The number of states of Keras's cells."""


def cell_attribute(call: BoundCall, instance: Value, name: str) -> Value:
    """Attribute `name` of an object, from the interpreter; `UNKNOWN` if it does not know it."""
    return call.invoke(LibraryValue("builtins.getattr"), [instance, Constant(name)])


def _outputs(output: Value, states: Sequence[Value], with_states: bool) -> Value:
    """Keras 3 returns a tuple of the output and the states, Keras 2 a list; both unpack in the same way."""
    return TupleValue((output, *states)) if with_states else output


def _of_unknown_input(call: BoundCall) -> Value:
    """A tensor, or with `return_state` a tensor and its states."""
    with_states = Settings(call.configuration).truth("return_state", False)
    return read.tensor(None, None) if with_states is False else UNKNOWN


def _recurrent_input(call: BoundCall, rank: int | None) -> tuple[Settings, TensorType, TensorKind] | None:
    value = layer_inputs(call)
    if not is_dense_input(value):
        return None
    settings = Settings(call.configuration)
    input_type = cast_input(settings, value)
    if isinstance(value, FrozenList | TupleValue):
        input_type = TensorType(input_type.dtype, None)
    require_rank(call, input_type.shape, exactly=rank)
    return settings, input_type, output_kind(value)


def _check_states(call: BoundCall, states: Value | None, units: Dim, batch: Dim) -> None:
    """Raises OperationError if the shape of a state certainly does not match `units` and the batch."""
    items = read.elements(states) if not isinstance(states, TensorValue) else (states,)
    for item in items or ():
        shape = read.converted_type(item).shape
        if shape is None or len(shape) != 2:
            continue
        for axis, (wanted, size) in enumerate(zip((batch, units), shape, strict=True)):
            if size != 1 and wanted != 1 and definitely_different(wanted, size):
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"{layer_name(call)} of {format_dim(units)} units: a state of shape {format_shape(shape)} for a batch of "
                    f"{format_dim(batch)}: axis {axis} is {format_dim(size)} instead of {format_dim(wanted)}",
                    ("states",),
                )


def _time_axes(settings: Settings, shape: Shape) -> tuple[Dim, Dim]:
    """The batch and time sizes of an input."""
    major = settings.truth("time_major", False)
    if shape is None or major is None:
        return None, None
    return (shape[1], shape[0]) if major else (shape[0], shape[1])


def _sequence(settings: Settings, batch: Dim, time: Dim, rest: tuple[Dim, ...]) -> tuple[Dim, ...]:
    return (time, batch, *rest) if settings.truth("time_major", False) else (batch, time, *rest)


def _recurrent(state_count: int) -> OperationRule:
    """`SimpleRNN`, `GRU` (one state) and `LSTM` (two): (N, T, f) gives (N, units) or (N, T, units)."""

    def rule(call: BoundCall) -> Value:
        found = _recurrent_input(call, 3)
        if found is None:
            return _of_unknown_input(call)
        settings, input_type, kind = found
        units = settings.integer("units")
        batch, _ = _time_axes(settings, input_type.shape)
        _check_states(call, call_argument(call, "initial_state", 1), units, batch)
        return _recurrent_result(settings, input_type, kind, units, state_count)

    return rule


def _recurrent_result(
    settings: Settings, input_type: TensorType, kind: TensorKind, units: Dim, state_count: int
) -> Value:
    dtype = settings.compute_dtype()
    sequences = settings.truth("return_sequences", False)
    with_states = settings.truth("return_state", False)
    if with_states is None:
        return UNKNOWN
    batch, time = _time_axes(settings, input_type.shape)
    state = read.tensor(dtype, (batch, units), kind)
    shape: Shape
    if sequences is None or settings.truth("time_major", False) is None:
        shape = None
    elif sequences:
        shape = _sequence(settings, batch, time, (units,))
    else:
        shape = (batch, units)
    return _outputs(read.tensor(dtype, shape, kind), [state] * state_count, with_states)


def _generic_rnn(call: BoundCall) -> Value:
    """`RNN(cell)`: the output of the cell for one step of the input, or the size that the cell declares for it."""
    found = _recurrent_input(call, None)
    if found is None:
        return _of_unknown_input(call)
    settings, input_type, kind = found
    with_states = settings.truth("return_state", False)
    if with_states is None:
        return UNKNOWN
    cell = call.configuration.get("cell")
    several = read.elements(cell)
    cells = several or (() if cell is None else (cell,))
    sequences = settings.truth("return_sequences", False)
    shape, output = input_type.shape, None
    batch, time = _time_axes(settings, shape)
    dtype = settings.compute_dtype()
    examples = read.tensor(dtype, (batch,), kind)
    given = call_argument(call, "initial_state", 1)
    states: tuple[Value, ...] | None = None
    if shape is None or len(shape) == 3:
        output = read.tensor(dtype, (batch, shape[2] if shape else None), kind)
        for each in cells:
            states = _states(call, each, examples, UNKNOWN if several and not read.is_none(given) else given)
            # with several cells, each gets the output of the previous one
            output = _step(call, each, output, None if shape is None else states)
    if output is None or output.type.shape is None or not cells or sequences is None:
        # the states follow, in unknown number
        return UNKNOWN if with_states else read.tensor(None, None, kind)
    rest = output.type.shape[1:]
    result = read.tensor(
        output.type.dtype, _sequence(settings, batch, time, rest) if sequences else (batch, *rest), kind
    )
    if not with_states:
        return result
    return UNKNOWN if states is None or several else _outputs(result, states, True)


def _step(call: BoundCall, cell: Value, step: TensorValue, states: tuple[Value, ...] | None) -> TensorValue:
    """The output of a cell for one step (N, f). A cell of the program is called, as in the layer.

    For symbolic inputs, Keras 3 does not call it, but uses the size that the cell declares. Without `states`, it is
    not called.
    """
    batch = step.type.shape[0] if step.type.shape else None
    dtype, kind = step.type.dtype, step.kind
    cls = call.invoke(LibraryValue("builtins.type"), [cell])
    if isinstance(cls, LibraryValue):
        width = read.integer(cell_attribute(call, cell, "units"))
        return read.tensor(dtype, None if width is None else (batch, width), kind)
    width = read.integer(cell_attribute(call, cell, "output_size"))
    if width is None and kind is TensorKind.KERAS:
        sizes = _state_sizes(cell_attribute(call, cell, "state_size"))
        width = read.integer(sizes[0]) if sizes else None
    declared = None if width is None else (batch, width)
    results = None if states is None else read.elements(call.invoke(cell, [step, TupleValue(states)]))
    result = results[0] if results else UNKNOWN
    if not isinstance(result, TensorValue) or not result.type.shape:
        return read.tensor(dtype, declared, kind)
    called = result.type.shape
    return read.tensor(result.type.dtype, None if kind is TensorKind.KERAS and called != declared else called, kind)


def _states(call: BoundCall, cell: Value, examples: TensorValue, given: Value | None) -> tuple[Value, ...] | None:
    """The states of a cell for examples (N,): `given`, or otherwise (N, size) or unknown states; None if their number
    is unknown.
    """
    batch = examples.type.shape
    assert batch is not None

    def zeros(size: Dim) -> TensorValue:
        return read.tensor(examples.type.dtype, (*batch, size), examples.kind)

    cls = call.invoke(LibraryValue("builtins.type"), [cell])
    count = _STATES.get(cls.name) if isinstance(cls, LibraryValue) else None
    if count is not None:
        return (zeros(read.integer(cell_attribute(call, cell, "units"))),) * count
    sizes = _state_sizes(cell_attribute(call, cell, "state_size"))
    if sizes is None:
        return None
    if not read.is_none(given):
        items = read.elements(given)
        return items if items is not None and len(items) == len(sizes) else (UNKNOWN,) * len(sizes)
    # a cell may create states of any shape itself, and a size may be a shape
    own = isinstance(cell_attribute(call, cell, "get_initial_state"), BoundMethod | FunctionValue)
    return tuple(UNKNOWN if own or not _is_integer(size) else zeros(read.integer(size)) for size in sizes)


def _state_sizes(value: Value) -> tuple[Value, ...] | None:
    """The elements of `state_size`, one for each state; None if their number is unknown.

    A `TensorShape` is the shape of one state.
    """
    if _is_integer(value) or isinstance(value, ShapeValue):
        return (value,)
    return read.elements(value)


def _is_integer(value: Value) -> bool:
    return read.integer(value) is not None or (isinstance(value, Scalar) and value.type is PythonType.INT)


def _cell(state_count: int) -> OperationRule:
    """One step: the output and a list of states, each (N, units)."""

    def rule(call: BoundCall) -> Value:
        settings = Settings(call.configuration)
        value = layer_inputs(call)
        shape = cast_input(settings, value).shape
        step = read.tensor(
            settings.compute_dtype(), (shape[0] if shape else None, settings.integer("units")), output_kind(value)
        )
        states = call_argument(call, "states", 1)
        _check_states(call, states, settings.integer("units"), shape[0] if shape else None)
        if state_count == 1 and isinstance(states, TensorValue):
            return TupleValue((step, step))  # a single state is not wrapped in a list
        return TupleValue((step, FrozenList((step,) * state_count)))

    return rule


def _conv_lstm(rank: int) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        found = _recurrent_input(call, rank + 3)
        if found is None:
            return _of_unknown_input(call)
        settings, input_type, kind = found
        dtype = settings.compute_dtype()
        shape = input_type.shape
        channels_first = settings.channels_first()
        sequences = settings.truth("return_sequences", False)
        with_states = settings.truth("return_state", False)
        if with_states is None:
            return UNKNOWN
        if shape is None or channels_first is None:
            unknown = read.tensor(dtype, None, kind)
            return _outputs(unknown, [unknown, unknown], with_states)
        step = (shape[0], *shape[2:])
        windows = settings.sizes("kernel_size", rank)
        strides = settings.sizes("strides", rank, 1)
        dilations = settings.sizes("dilation_rate", rank, 1)
        spatial = [
            window_output(
                step[axis], windows[index], strides[index], settings.text("padding", "valid"), dilations[index]
            )
            for index, axis in enumerate(spatial_axes(rank + 2, channels_first))
        ]
        filters = settings.integer("filters")
        inner = (filters, *spatial) if channels_first else (*spatial, filters)
        state = read.tensor(dtype, (shape[0], *inner), kind)
        result: Shape = None
        if sequences is not None:
            result = (shape[0], shape[1], *inner) if sequences else (shape[0], *inner)
        return _outputs(read.tensor(dtype, result, kind), [state, state], with_states)

    return rule


def _retyped(value: Value, dtype: DType | None, shape: Shape) -> TensorValue:
    kind = value.kind if isinstance(value, TensorValue) else TensorKind.TENSOR
    return read.tensor(dtype, shape, kind)


def _bidirectional(call: BoundCall) -> Value:
    """Both directions, merged; with `return_state` the states of both follow the output."""
    layer = call.configuration.get("layer")
    value = layer_inputs(call)
    merge = call.configuration.get("merge_mode")
    if layer is None or value is None or not is_dense_input(value):
        return UNKNOWN
    if not read.is_none(call.configuration.get("backward_layer")):
        return UNKNOWN
    outcome = call.invoke(layer, [value])
    states: tuple[Value, ...] = ()
    parts = read.elements(outcome)
    if parts:
        outcome, states = parts[0], parts[1:]
    if not isinstance(outcome, TensorValue):
        return UNKNOWN
    mode = "concat" if merge is None else read.text(merge)
    if mode is None:
        if not isinstance(merge, Constant):
            return UNKNOWN
        merged: tuple[Value, ...] = (outcome, outcome)
        return TupleValue((*merged, *states, *states))
    shape = outcome.type.shape
    if mode == "concat" and shape is not None:
        shape = (*shape[:-1], multiply(shape[-1], 2))
    result = _retyped(outcome, outcome.type.dtype, shape)
    return TupleValue((result, *states, *states)) if states else result


def _time_distributed(call: BoundCall) -> Value:
    """The wrapped layer on every step of axis 1."""
    layer = call.configuration.get("layer")
    value = layer_inputs(call)
    if layer is None or not isinstance(value, TensorValue) or not is_dense_input(value):
        return read.tensor(None, None)
    settings = Settings(call.configuration)
    shape = cast_input(settings, value).shape
    require_rank(call, shape, at_least=3)
    step = TensorValue(TensorType(value.type.dtype, None if shape is None else (shape[0], *shape[2:])), value.kind)
    outcome = call.invoke(layer, [step])
    if not isinstance(outcome, TensorValue):
        return UNKNOWN
    inner = outcome.type.shape
    if inner is None or not inner:
        return _retyped(outcome, outcome.type.dtype, None)
    return _retyped(outcome, outcome.type.dtype, (inner[0], None if shape is None else shape[1], *inner[1:]))


def _wrapper(call: BoundCall) -> Value:
    """Layers that call the wrapped one on their inputs (`SpectralNormalization`)."""
    layer = call.configuration.get("layer")
    value = layer_inputs(call)
    return UNKNOWN if layer is None or value is None else call.invoke(layer, [value])


def _recurrent_weights(gates: int, *, gru: bool = False) -> WeightsRule:
    def rule(settings: Settings, shape: Shape) -> Mapping[str, Shape]:
        units = settings.integer("units")
        wide = multiply(units, gates)
        features = shape[-1] if shape else None
        reset_after = settings.truth("reset_after", True) if gru else False
        bias: Shape = None if reset_after is None else ((2, wide) if reset_after else (wide,))
        return {"kernel": (features, wide), "recurrent_kernel": (units, wide), "bias": bias}

    return typed_weights(rule)


RULES: Final[Mapping[str, OperationRule]] = {
    "keras.layers.SimpleRNN.__call__": _recurrent(1),
    "keras.layers.GRU.__call__": _recurrent(1),
    "keras.layers.LSTM.__call__": _recurrent(2),
    "keras.layers.RNN.__call__": _generic_rnn,
    "keras.layers.SimpleRNNCell.__call__": _cell(1),
    "keras.layers.GRUCell.__call__": _cell(1),
    "keras.layers.LSTMCell.__call__": _cell(2),
    **{f"keras.layers.ConvLSTM{rank}D.__call__": _conv_lstm(rank) for rank in (1, 2, 3)},
    "keras.layers.Bidirectional.__call__": _bidirectional,
    "keras.layers.TimeDistributed.__call__": _time_distributed,
    "keras.layers.SpectralNormalization.__call__": _wrapper,
}

WEIGHTS: Final[Mapping[str, WeightsRule]] = {
    "keras.layers.SimpleRNNCell": _recurrent_weights(1),
    "keras.layers.GRUCell": _recurrent_weights(3, gru=True),
    "keras.layers.LSTMCell": _recurrent_weights(4),
}
