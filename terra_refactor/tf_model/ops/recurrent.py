"""Rules for the recurrent networks of TensorFlow 1: cells of `tf.nn.rnn_cell`, and the functions that run them over time.

Computes: outputs and states. Gives: `RULES`. A cell defined in the program declares its sizes.

Source: `tf.compat.v1.nn.dynamic_rnn` and its relatives (`tensorflow/python/ops/rnn.py`), `legacy_cells.py` of tf_keras 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, add, definitely_different, format_dim
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.shape import format_shape
from terra_refactor.domain.value import (
    UNKNOWN,
    BoundMethod,
    Constant,
    FrozenList,
    FunctionValue,
    LibraryValue,
    Scalar,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.arguments import elements, integer, integers, is_none, is_structure, leaves
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import argument, call_name, flag, result
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule

CELLS: Final = "tensorflow.compat.v1.nn.rnn_cell."
"""Prefix of the names of cells."""
_SIMPLE: Final = ("BasicRNNCell", "GRUCell")
_LSTM: Final = ("BasicLSTMCell", "LSTMCell")
_WRAPPERS: Final = ("DeviceWrapper", "DropoutWrapper", "ResidualWrapper")


def _attribute(call: BoundCall, cell: Value, name: str) -> Value:
    return call.invoke(LibraryValue("builtins.getattr"), [cell, Constant(name)])


def _given(call: BoundCall, cell: Value, name: str) -> Value:
    """An argument of a cell's constructor."""
    return _attribute(call, cell, f"_{name}")


def _sizes(call: BoundCall, cell: Value | None) -> tuple[Dim, Value] | None:
    """The width of a cell's output, and its state for an unknown batch; None for an unknown cell."""
    if cell is None:
        return None
    cls = call.invoke(LibraryValue("builtins.type"), [cell])
    kind = cls.name.removeprefix(CELLS) if isinstance(cls, LibraryValue) else ""
    if kind in _WRAPPERS:
        return _sizes(call, _given(call, cell, "cell"))
    if kind == "MultiRNNCell":
        cells = elements(_given(call, cell, "cells"))
        parts = [_sizes(call, part) for part in cells or ()]
        known = [part for part in parts if part is not None]
        if not known or len(known) != len(parts) or _given(call, cell, "state_is_tuple") != Constant(True):
            return None
        return known[-1][0], TupleValue(tuple(state for _, state in known))
    if kind not in (*_SIMPLE, *_LSTM):
        return _declared_sizes(call, cell)
    units = integer(_given(call, cell, "num_units"))
    if kind in _SIMPLE:
        return units, result(None, (None, units))
    projected = _given(call, cell, "num_proj") if kind == "LSTMCell" else Constant(None)
    width = units if is_none(projected) else integer(projected)
    match _given(call, cell, "state_is_tuple"):
        case Constant(value=True):
            state = (result(None, (None, units)), result(None, (None, width)))
            return width, TupleValue(state, "LSTMStateTuple", ("c", "h"))
        case Constant(value=False):
            return width, result(None, (None, add(units, width)))
        case _:
            return None


def _declared_sizes(call: BoundCall, cell: Value) -> tuple[Dim, Value] | None:
    """The sizes of a cell of the program's own, which says them; None if its output may be a structure, or have more axes."""
    size, states = _attribute(call, cell, "output_size"), _attribute(call, cell, "state_size")
    if not isinstance(size, Constant | Scalar):
        return None
    width = integer(size)
    single, several = integer(states), integers(states)
    if single is not None:
        return width, result(None, (None, single))
    return None if several is None else (width, TupleValue(tuple(result(None, (None, size)) for size in several)))


def _with_batch(state: Value, dtype: DType | None, batch: Dim) -> Value:
    """A state as in `_sizes`, with the given dtype and batch size."""
    match state:
        case TensorValue(type=made) if made.shape is not None:
            return result(dtype, (batch, *made.shape[1:]))
        case TupleValue(elements=parts, name=name, fields=fields):
            return TupleValue(tuple(_with_batch(part, dtype, batch) for part in parts), name, fields)
        case _:
            return UNKNOWN


def _check_state(call: BoundCall, given: Value | None, wanted: Value, batch: Dim) -> None:
    """Raises OperationError if a state certainly does not match the cell and the batch."""
    states, expected = leaves(given) if given is not None else None, leaves(wanted)
    if states is None or expected is None or len(states) != len(expected):
        return
    for state, part in zip(states, expected, strict=True):
        if not isinstance(state, TensorValue) or not isinstance(part, TensorValue) or part.type.shape is None:
            continue
        shape = state.type.shape
        if shape is None or len(shape) != 2:
            continue
        for axis, size in enumerate((batch, part.type.shape[1])):
            if definitely_different(shape[axis], size):
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"{call_name(call)}: a state of shape {format_shape(shape)} for a cell of {format_dim(part.type.shape[1])} units and "
                    f"a batch of {format_dim(batch)}: axis {axis} is {format_dim(shape[axis])} instead of {format_dim(size)}",
                    ("state",),
                )


def _over_time(call: BoundCall, cell: Value | None, suffix: str = "") -> tuple[Value, Value]:
    """Outputs and last state of a cell over the steps of `inputs`: (batch, time, features), with `time_major` (time, batch, features)."""
    given = argument(call, "inputs")
    if given is not None and is_structure(given):
        # each of its tensors has a time axis; the cell receives one step of all of them
        return UNKNOWN, UNKNOWN
    inputs = operand(given)
    shape = inputs.type.shape
    if shape is not None and len(shape) < 3:
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: inputs of shape {format_shape(shape)} have rank {len(shape)}, at least 3 axes are needed",
            ("inputs",),
        )
    major = flag(call.argument("time_major"), False)
    dtype = _dtype(call, inputs.type.dtype)
    found = _sizes(call, cell)
    if found is None:
        return UNKNOWN, UNKNOWN
    width, state = found
    batch, time = (None, None) if shape is None or major is None else (shape[1], shape[0]) if major else shape[:2]
    if shape is not None and len(shape) == 3:
        _check_state(call, argument(call, f"initial_state{suffix}"), state, batch)
        _run_cell(call, cell, result(dtype, (batch, shape[2])), _with_batch(state, dtype, batch))
    sizes = None if major is None else (time, batch, width) if major else (batch, time, width)
    return result(dtype, sizes), _with_batch(state, dtype, batch)


def _run_cell(call: BoundCall, cell: Value | None, step: Value, state: Value) -> None:
    """Calls a cell of the program on one step."""
    if cell is None or isinstance(call.invoke(LibraryValue("builtins.type"), [cell]), LibraryValue):
        return
    for name in ("call", "__call__"):
        method = _attribute(call, cell, name)
        if isinstance(method, BoundMethod) and isinstance(method.function, FunctionValue):
            call.invoke(method, [step, state], graph=True)
            return


def _dtype(call: BoundCall, inputs: DType | None) -> DType | None:
    return inputs if inputs is not None or argument(call, "dtype") is None else tensor_dtype(call.argument("dtype"))


def _dynamic(call: BoundCall) -> Value:
    return TupleValue(_over_time(call, argument(call, "cell")))


def _bidirectional(call: BoundCall) -> Value:
    forward = _over_time(call, argument(call, "cell_fw"), "_fw")
    backward = _over_time(call, argument(call, "cell_bw"), "_bw")
    return TupleValue((TupleValue((forward[0], backward[0])), TupleValue((forward[1], backward[1]))))


def _steps(call: BoundCall) -> tuple[int | None, DType | None, Dim]:
    """For a list of inputs, one per step: their number, dtype and batch size."""
    steps = elements(argument(call, "inputs"))
    first = operand(steps[0]) if steps else None
    shape = None if first is None else first.type.shape
    return (
        None if steps is None else len(steps),
        _dtype(call, None if first is None else first.type.dtype),
        shape[0] if shape else None,
    )


def _static(call: BoundCall) -> Value:
    count, dtype, batch = _steps(call)
    found = _sizes(call, argument(call, "cell"))
    if found is None or count is None:
        return UNKNOWN
    _check_state(call, argument(call, "initial_state"), found[1], batch)
    outputs = FrozenList((result(dtype, (batch, found[0])),) * count)
    return TupleValue((outputs, _with_batch(found[1], dtype, batch)))


def _static_bidirectional(call: BoundCall) -> Value:
    count, dtype, batch = _steps(call)
    both = [_sizes(call, argument(call, name)) for name in ("cell_fw", "cell_bw")]
    forward, backward = both
    if forward is None or backward is None or count is None:
        return UNKNOWN
    outputs = FrozenList((result(dtype, (batch, add(forward[0], backward[0]))),) * count)
    return TupleValue((outputs, *(_with_batch(state, dtype, batch) for _, state in (forward, backward))))


def _step(call: BoundCall) -> Value:
    """`cell(inputs, state)`: the output of one step, and the next state."""
    inputs, found = operand(argument(call, "inputs")), _sizes(call, call.receiver)
    if found is None:
        return UNKNOWN
    shape = inputs.type.shape
    batch = shape[0] if shape else None
    if shape is None or len(shape) == 2:
        _check_state(call, argument(call, "state"), found[1], batch)
    return TupleValue((result(inputs.type.dtype, (batch, found[0])), _with_batch(found[1], inputs.type.dtype, batch)))


def _zero_state(call: BoundCall) -> Value:
    found = _sizes(call, call.receiver)
    if found is None:
        return UNKNOWN
    return _with_batch(found[1], tensor_dtype(call.argument("dtype")), integer(call.argument("batch_size")))


_METHODS: Final[Mapping[str, OperationRule]] = {"__call__": _step, "zero_state": _zero_state}

RULES: Final[Mapping[str, OperationRule]] = {
    "tensorflow.compat.v1.nn.dynamic_rnn": _dynamic,
    "tensorflow.compat.v1.nn.bidirectional_dynamic_rnn": _bidirectional,
    "tensorflow.compat.v1.nn.static_rnn": _static,
    "tensorflow.compat.v1.nn.static_bidirectional_rnn": _static_bidirectional,
    **{
        f"{CELLS}{cell}.{method}": rule
        for cell in (*_SIMPLE, *_LSTM, *_WRAPPERS, "MultiRNNCell")
        for method, rule in _METHODS.items()
    },
}
