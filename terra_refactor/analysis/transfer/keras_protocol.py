"""What Keras does with classes of the program: `__call__` runs `build` once and then `call`; `fit` and its kin run it as a graph.

Computes: the calls that Keras makes into the program. Needs: class look-up. Gives: `KERAS_PROTOCOL`, by method name.

Source: `keras.layers.Layer.__call__`, `keras.Model.fit`, `keras.losses.Loss.__call__`, `keras.metrics.Metric.__call__`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from terra_refactor.analysis.configuration import CONFIGURATION, CONFIGURED
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.interpreter import Interpreter
from terra_refactor.analysis.transfer.containers import iterate
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    UNKNOWN_TENSOR,
    BoundMethod,
    Constant,
    DatasetValue,
    FunctionValue,
    Reference,
    SequenceValue,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model import registry

Protocol: TypeAlias = Callable[[Interpreter, Frame, int, str, CallArguments, Value], "Value | None"]


def _own_method(interpreter: Interpreter, frame: Frame, receiver: Value, name: str) -> Value | None:
    """The method of that name that the program defines for the instance; None if only the library does."""
    if not isinstance(receiver, Reference):
        return None
    method = interpreter.find_method(frame, receiver, name)
    if isinstance(method, BoundMethod) and isinstance(method.function, FunctionValue):
        return method
    return None


def call_instance(
    interpreter: Interpreter, frame: Frame, op: int, name: str, arguments: CallArguments, receiver: Value
) -> Value | None:
    """`layer(x)`: `build` with the shape of the input, the first time, then `call`."""
    method = _own_method(interpreter, frame, receiver, "call")
    if method is None:
        return None
    ensure_built(interpreter, frame, op, receiver, arguments)
    converted = CallArguments(
        tuple(as_tensor(value) for value in arguments.positional),
        arguments.keywords,
        arguments.open_positional,
        arguments.open_keywords,
    )
    return interpreter.call_value(frame, op, method, converted)


def as_tensor(value: Value) -> Value:
    """What a layer's `call` gets for an array that its caller passed: Keras converts arrays to tensors, floats to its own dtype."""
    if isinstance(value, TensorValue) and value.kind in (TensorKind.NDARRAY, TensorKind.VARIABLE):
        return TensorValue(value.type, TensorKind.TENSOR)
    if isinstance(value, TupleValue):
        return TupleValue(tuple(as_tensor(element) for element in value.elements), value.name, value.fields, value.cls)
    return value


def ensure_built(interpreter: Interpreter, frame: Frame, op: int, receiver: Value, arguments: CallArguments) -> None:
    """Runs the program's `build` of a layer on the shape of its first input, once on each path."""
    build = _own_method(interpreter, frame, receiver, "build")
    if build is None or not isinstance(receiver, Reference):
        return
    mark = (receiver.object, "@built")
    if frame.state.get(mark) is not None:
        return
    frame.state.set(mark, receiver)
    first = arguments.positional[0] if arguments.positional else UNKNOWN
    interpreter.call_value(frame, op, build, CallArguments((shape_of(first),)))


def shape_of(value: Value) -> Value:
    """The shape of an input as `build` gets it."""
    shapes: list[Value] = []
    for member in members(value):
        match member:
            case TensorValue():
                shapes.append(ShapeValue(member.type.shape))
            case TupleValue():
                shapes.append(TupleValue(tuple(shape_of(element) for element in member.elements)))
            case _:
                shapes.append(ShapeValue(None))
    return join_all(shapes) if shapes else ShapeValue(None)


def call_loss(
    interpreter: Interpreter, frame: Frame, op: int, name: str, arguments: CallArguments, receiver: Value
) -> Value | None:
    """`loss(y_true, y_pred)` and `metric(y_true, y_pred)` of a class of the program."""
    if registry.is_subclass(name.rpartition(".")[0], "keras.losses.Loss"):
        method = _own_method(interpreter, frame, receiver, "call")
        if method is None:
            return None
        interpreter.call_value(frame, op, method, arguments)
        return UNKNOWN_TENSOR
    if registry.is_subclass(name.rpartition(".")[0], "keras.metrics.Metric"):
        method = _own_method(interpreter, frame, receiver, "update_state")
        if method is None:
            return None
        interpreter.call_value(frame, op, method, arguments)
        result = _own_method(interpreter, frame, receiver, "result")
        return UNKNOWN_TENSOR if result is None else interpreter.call_value(frame, op, result, CallArguments())
    return call_instance(interpreter, frame, op, name, arguments, receiver)


def fit(
    interpreter: Interpreter, frame: Frame, op: int, name: str, arguments: CallArguments, receiver: Value
) -> Value | None:
    """`model.fit(x, y)` and its kin: traces the program's `train_step`, or its `call`, on batches of the data."""
    data = _batch_of(arguments)
    step = {
        "fit": "train_step",
        "train_on_batch": "train_step",
        "evaluate": "test_step",
        "test_on_batch": "test_step",
    }.get(name.rpartition(".")[2], "predict_step")
    method = _own_method(interpreter, frame, receiver, step)
    if method is not None:
        interpreter.call_value(frame, op, method, CallArguments((data,)), graph=True)
        return None
    call = _own_method(interpreter, frame, receiver, "call")
    if call is not None:
        inputs = data.elements[0] if isinstance(data, TupleValue) and data.elements else data
        ensure_built(interpreter, frame, op, receiver, CallArguments((inputs,)))
        interpreter.call_value(frame, op, call, CallArguments((inputs,)), graph=True)
    return None


def _batch_of(arguments: CallArguments) -> Value:
    """One batch of the data that `fit` was given: its first axis is of unknown length."""
    keywords = dict(arguments.keywords)
    given = [*arguments.positional, *(keywords[name] for name in ("x", "y") if name in keywords)]
    if not given:
        return UNKNOWN
    first = given[0]
    if isinstance(first, DatasetValue):
        return first.element
    if isinstance(first, SequenceValue):
        return first.element
    parts: Sequence[Value] = given[:2]
    return TupleValue(tuple(_batched(part) for part in parts)) if len(parts) > 1 else _batched(first)


def _batched(value: Value) -> Value:
    if isinstance(value, TensorValue):
        shape = value.type.shape
        batched = (None, *shape[1:]) if shape else None
        return TensorValue(type(value.type)(value.type.dtype, batched))
    if isinstance(value, UnknownValue):
        return UnknownValue(reason=value.reason)
    return UNKNOWN


def add_layer(
    interpreter: Interpreter, frame: Frame, op: int, name: str, arguments: CallArguments, receiver: Value
) -> Value | None:
    """`model.add(layer)` of a `keras.Sequential`: its layers are part of its configuration."""
    if not isinstance(receiver, Reference) or not registry.is_subclass(name.rpartition(".")[0], "keras.Sequential"):
        return None
    layer = arguments.positional[0] if arguments.positional else UNKNOWN
    names = frame.state.get((receiver.object, CONFIGURED))
    known = names.elements if isinstance(names, TupleValue) else ()
    if Constant("layers") not in known:
        frame.state.set((receiver.object, CONFIGURED), TupleValue((*known, Constant("layers"))))
    layers = frame.state.get((receiver.object, CONFIGURATION + "layers"))
    elements: tuple[Value, ...] | None = ()
    if layers is not None and layers != NONE:
        elements = iterate(interpreter, frame, op, layers).elements
    if elements is None or frame.uncertainty:
        frame.state.set((receiver.object, CONFIGURATION + "layers"), UNKNOWN)
    else:
        frame.state.set((receiver.object, CONFIGURATION + "layers"), TupleValue((*elements, layer)))
    return NONE


KERAS_PROTOCOL: Final[dict[str, Protocol]] = {
    "__call__": call_loss,
    "add": add_layer,
    "fit": fit,
    "evaluate": fit,
    "predict": fit,
    "train_on_batch": fit,
    "test_on_batch": fit,
    "predict_on_batch": fit,
}
