"""Functions that `model.fit` and similar methods call as a graph on batches of the data: `train_step`, or `call`, losses
and metrics.

Computes: one batch of the data, the model's output for it, and the arguments of losses and metrics. Needs: `keras_protocol`. Gives:
`KERAS_TRAINING`, by method name; a handler returns None to leave the result to the declarations of `tf_model`.

Ignores: sample weights; models with several outputs and one loss for all of them; data of unknown structure.

Source: `keras.Model.compile`, `keras.Model.fit`, `keras.losses.Loss.__call__` (which converts to the loss's dtype),
`keras.src.losses.LossFunctionWrapper` (which also makes the ranks equal), Keras 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from terra_refactor.analysis.configuration import configuration_of
from terra_refactor.analysis.engine import ProgramSettings, Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.transfer.allocation import thaw
from terra_refactor.analysis.transfer.iteration import iterate, length_of
from terra_refactor.analysis.transfer.keras_callbacks import callbacks_of, run_hooks
from terra_refactor.analysis.transfer.keras_protocol import (
    Protocol,
    as_tensor,
    ensure_built,
    own_method,
    parameter_names,
)
from terra_refactor.analysis.transfer.keras_shapes import check_labels, check_numbers
from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import FLOATING, DType
from terra_refactor.domain.lattice import dim_of, join_all
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    FALSE,
    NONE,
    TRUE,
    UNBOUND,
    UNKNOWN,
    UNKNOWN_INT,
    BoundMethod,
    Constant,
    DatasetValue,
    FrozenDict,
    FunctionValue,
    LibraryValue,
    PartialValue,
    PythonType,
    Reference,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model import arguments as read

_OPTIMIZER: Final = "@optimizer"
_LOSS: Final = "@loss"
_METRICS: Final = "@metrics"
_RUN_EAGERLY: Final = "run_eagerly"
"""The attribute in which Keras stores this setting; a program may set it after `compile`."""
_STEPS: Final = {
    "fit": ("train_step", TRUE),
    "train_on_batch": ("train_step", TRUE),
    "evaluate": ("test_step", FALSE),
    "test_on_batch": ("test_step", FALSE),
    "predict": ("predict_step", FALSE),
    "predict_on_batch": ("predict_step", FALSE),
}
_DEFAULT_BATCH: Final = 32


def remember_compiled(site: Site, name: str, arguments: CallArguments, receiver: Value) -> Value | None:
    """`model.compile(optimizer, loss, loss_weights, metrics)`."""
    frame = site.frame
    if not isinstance(receiver, Reference):
        return None
    keywords = dict(arguments.keywords)
    for field, position, parameter in ((_OPTIMIZER, 0, "optimizer"), (_LOSS, 1, "loss"), (_METRICS, 3, "metrics")):
        value = keywords.get(parameter)
        if value is None and position < len(arguments.positional):
            value = arguments.positional[position]
        if value is not None:
            frame.state.set((receiver.object, field), value)
            if field == _LOSS:
                frame.state.set((receiver.object, parameter), value)
    eagerly = arguments.positional[5] if len(arguments.positional) > 5 else keywords.get(_RUN_EAGERLY, FALSE)
    frame.state.set((receiver.object, _RUN_EAGERLY), eagerly)
    return None


def _steps_are_graphs(site: Site, receiver: Value) -> bool:
    """Whether Keras certainly traces the steps: not after `compile(run_eagerly=True)`, nor if its value is unknown."""
    frame = site.frame
    if site.engine.functions_run_eagerly(frame.state):
        return False
    eagerly = frame.state.get((receiver.object, _RUN_EAGERLY)) if isinstance(receiver, Reference) else None
    return eagerly is None or all(member in (FALSE, NONE, UNBOUND) for member in members(eagerly))


def fit(site: Site, name: str, arguments: CallArguments, receiver: Value) -> Value | None:
    """`model.fit(x, y)` and similar methods, with the surrounding callbacks."""
    method = name.rpartition(".")[2]
    callbacks = callbacks_of(site, method, arguments, receiver)
    run_hooks(site, method, callbacks, "begin")
    _run_steps(site, name, arguments, receiver)
    run_hooks(site, method, callbacks, "end")
    return None


def _run_steps(site: Site, name: str, arguments: CallArguments, receiver: Value) -> None:
    """The steps of `fit` and similar methods; `fit` also validates on its validation data."""
    frame = site.frame
    method = name.rpartition(".")[2]
    step, training = _STEPS[method]
    keywords = dict(arguments.keywords)
    given = _given_data(arguments)
    if not given:
        return
    size = keywords.get("batch_size", arguments.positional[2] if len(arguments.positional) > 2 else None)
    split = keywords.get("validation_split")
    held_out = (
        split.value if method == "fit" and isinstance(split, Constant) and isinstance(split.value, float) else 0.0
    )
    whole = "on_batch" in method
    optimizer = frame.state.get((receiver.object, _OPTIMIZER)) if isinstance(receiver, Reference) else None
    if step == "train_step" and optimizer is not None:
        run_schedule(site, name, CallArguments(), optimizer)
    if held_out:
        kept, rest = (_part_of(frame, given, held_out, last=last) for last in (False, True))
        _run_step(site, receiver, step, training, _batch_of(site, kept, size, whole=whole))
        _run_step(site, receiver, "test_step", FALSE, _batch_of(site, rest, size, whole=whole))
        return
    batch = _batch_of(site, given, size, whole=whole)
    if whole and len(given) == 1 and own_method(site, receiver, step) is not None:
        batch = _alone(batch, step)
    _run_step(site, receiver, step, training, batch)
    validation = keywords.get("validation_data", NONE)
    if method == "fit" and validation != NONE:
        content = freeze(frame, validation)
        parts = read.elements(content) or (validation,)
        batch = _batch_of(site, parts[:2], keywords.get("validation_batch_size", size), whole=False)
        _run_step(site, receiver, "test_step", FALSE, batch)


def _given_data(arguments: CallArguments) -> tuple[Value, ...]:
    """The arguments `x` and `y` of a training method, by position or keyword."""
    keywords = dict(arguments.keywords)
    return (*arguments.positional[:2], *(keywords[name] for name in ("x", "y") if name in keywords))


def run_schedule(site: Site, name: str, arguments: CallArguments, receiver: Value) -> Value | None:
    """In a step of an optimizer, calls the program's learning-rate schedule, if there is one."""
    for member in members(receiver):
        rate = configuration_of(site.frame, member).get("learning_rate")
        method = None if rate is None else own_method(site, rate, "__call__")
        if method is not None:
            # a variable of Keras 3, whose operators convert to floats, or an int64 tensor of Keras 2
            site.call(method, CallArguments((TensorValue(TensorType(None, ())),)))
    return None


def _run_step(site: Site, receiver: Value, step: str, training: Value, data: Value) -> None:
    """One step of training, testing or prediction on a batch: the program's own step, or the functions of the program that Keras's
    step calls."""
    engine = site.engine
    graph = _steps_are_graphs(site, receiver)
    method = own_method(site, receiver, step)
    if method is not None:
        site.call(method, CallArguments((data,)), graph=graph)
        return
    parts = data.elements if isinstance(data, TupleValue) and data.elements else (data,)
    call = own_method(site, receiver, "call")
    compiled = site.frame.state.get((receiver.object, _LOSS)) if isinstance(receiver, Reference) else None
    predicted: Value = UNKNOWN
    if call is not None:
        ensure_built(site, receiver, CallArguments(parts[:1]))
        inputs = CallArguments((as_tensor(parts[0], float_type(engine)),))
        accepted = parameter_names(engine, call)
        if accepted is not None and "training" in accepted:
            inputs = CallArguments(inputs.positional, (("training", training),))
        predicted = site.call(call, inputs, graph=graph)
    elif compiled is not None and step != "predict_step":
        predicted = site.call(receiver, CallArguments(parts[:1]))
    if step != "predict_step" and len(parts) > 1 and isinstance(receiver, Reference):
        _run_loss(site, receiver, parts[1], predicted, graph=graph)


def _run_loss(site: Site, model: Reference, targets: Value, predicted: Value, *, graph: bool) -> None:
    """Calls the losses and metrics of the program with which the model was compiled; for several outputs, on each of them."""
    named_labels, named_outputs = _by_name(site, targets), _by_name(site, predicted)
    for field in (_LOSS, _METRICS):
        for key, named in _by_name(site, site.frame.state.get((model.object, field))).items():
            if key not in named_labels or key not in named_outputs:
                continue
            # an output may have several metrics
            several = read.elements(named) if field == _METRICS else None
            for member in (each for value in several or (named,) for each in members(value)):
                _run_one(site, member, named_labels[key], named_outputs[key], is_loss=field == _LOSS, graph=graph)
    labels = _of_outputs(site, targets)
    outputs = _of_outputs(site, predicted)
    if len(outputs) != len(labels):
        outputs = (UNKNOWN,) * len(labels) if len(labels) > 1 else (predicted,)
    pairs = tuple(zip(labels, outputs, strict=True))
    for field in (_LOSS, _METRICS):
        compiled = site.frame.state.get((model.object, field))
        functions = () if compiled is None else _listed(site, compiled)
        for position, function in enumerate(functions):
            is_one_each = field == _LOSS and len(functions) == len(pairs)
            for member in members(function):
                for label, output in pairs[position : position + 1] if is_one_each else pairs:
                    _run_one(site, member, label, output, is_loss=field == _LOSS, graph=graph)


def _by_name(site: Site, value: Value | None) -> dict[Value, Value]:
    """The content of a dict with constant keys; {} for other values."""
    content = None if value is None else freeze(site.frame, value)
    return dict(content.items) if isinstance(content, FrozenDict) else {}


def _of_outputs(site: Site, value: Value) -> tuple[Value, ...]:
    """The labels (or predictions) of each output of a model: a loss never receives a structure."""
    is_list = isinstance(value, Reference) and site.engine.objects.facts[value.object].kind is ObjectKind.LIST
    if isinstance(value, TupleValue) or is_list:
        return iterate(site, value).elements or (UNKNOWN,)
    is_dict = isinstance(value, FrozenDict | Reference)
    return (UNKNOWN,) if is_dict else (value,)


def _listed(site: Site, value: Value) -> tuple[Value, ...]:
    """The losses or metrics of a list; none for a dict, which `_run_loss` assigns by name."""
    if isinstance(value, Reference):
        kind = site.engine.objects.facts[value.object].kind
        if kind is ObjectKind.LIST:
            return iterate(site, value).elements or ()
        return () if kind is ObjectKind.DICT else (value,)
    return value.elements if isinstance(value, TupleValue) else (value,)


def _run_one(site: Site, function: Value, targets: Value, predicted: Value, *, is_loss: bool, graph: bool) -> None:
    engine = site.engine
    if is_loss:
        check_labels(site, function, targets, predicted)
    if isinstance(function, FunctionValue | BoundMethod | PartialValue):
        if isinstance(function, PartialValue | BoundMethod) and isinstance(function.function, LibraryValue):
            return
        pair = (targets, predicted)
        if is_loss:
            pair = _of_one_rank(_cast(engine, targets), _cast(engine, predicted))
        site.call(function, CallArguments(pair), graph=graph)
        return
    loss = own_method(site, function, "call")
    if loss is not None:
        arguments = CallArguments((_cast(engine, targets), _cast(engine, predicted)))
        site.call(loss, arguments, graph=graph)
        return
    update = own_method(site, function, "update_state")
    if update is not None:
        site.call(update, CallArguments((targets, predicted)), graph=graph)
        result = own_method(site, function, "result")
        if result is not None:
            site.call(result, CallArguments(), graph=graph)


def float_type(engine: ProgramSettings) -> DType | None:
    """Keras's default float type; None if unknown."""
    return engine.floats


def _cast(engine: ProgramSettings, value: Value) -> Value:
    """The dtypes to which a loss converts its arguments. Keras 2 leaves labels that are integers as they are."""

    def one(leaf: Value) -> Value:
        if not isinstance(leaf, TensorValue):
            return leaf
        return TensorValue(TensorType(float_type(engine) if leaf.type.dtype in FLOATING else None, leaf.type.shape))

    return read.map_structure(one, value)


def _of_one_rank(targets: Value, predicted: Value) -> tuple[Value, Value]:
    """Adds or removes a last axis of size 1 of the targets to match the predictions."""
    if isinstance(targets, TensorValue) and isinstance(predicted, TensorValue):
        left, right = targets.type.shape, predicted.type.shape
        if left is not None and right is not None and len(left) + 1 == len(right):
            if right[-1] == 1:
                return TensorValue(TensorType(targets.type.dtype, (*left, 1))), predicted
        elif left is not None and right is not None and len(left) == len(right) + 1 and left[-1] == 1:
            return TensorValue(TensorType(targets.type.dtype, left[:-1])), predicted
    return targets, predicted


def _batch_of(site: Site, given: Sequence[Value], size_value: Value | None, *, whole: bool) -> Value:
    """One batch of the data, `(x, y)` or `x`.

    The last one is smaller if the batch size does not divide the number of examples.
    """
    frame = site.frame
    first = freeze(frame, given[0])
    if isinstance(first, DatasetValue):
        return thaw(site, first.element, ("batch", 0))
    item = own_method(site, given[0], "__getitem__")
    if item is not None:
        # a `keras.utils.PyDataset`: each item is a batch
        count = dim_of(length_of(site, given[0]))
        index = Scalar(PythonType.INT, limit=count - 1) if isinstance(count, int) and count > 0 else UNKNOWN_INT
        return _as_tensors(site, site.call(item, CallArguments((index,))))
    size = _DEFAULT_BATCH if size_value is None or size_value == NONE else read.known_integer(size_value)
    if not whole:
        check_numbers(site, given[:2])
    parts: list[Value] = []
    for position, value in enumerate(given[:2]):
        if value == NONE:
            continue
        batch = read.map_structure(
            lambda leaf: _batched(leaf, size, float_type(site.engine), whole=whole), freeze(frame, value)
        )
        if position == 0:
            batch = read.map_structure(_as_layers_get_it, batch)
        parts.append(thaw(site, batch, ("batch", position)))
    return TupleValue(tuple(parts)) if len(parts) > 1 else parts[0] if parts else UNKNOWN


def _alone(batch: Value, step: str) -> Value:
    """What a step of the program gets from `train_on_batch(x)` and similar methods, which pack also a single argument,
    unlike `fit`: Keras 2 into a tuple of one, Keras 3 with None for labels and weights.
    """
    one = TupleValue((batch,))
    return one if step == "predict_step" else join_all((one, TupleValue((batch, NONE, NONE))))


def _as_tensors(site: Site, batch: Value) -> Value:
    """A batch created by the program, as Keras passes it on."""

    def one(leaf: Value) -> Value:
        return TensorValue(leaf.type) if isinstance(leaf, TensorValue) else UNKNOWN

    return thaw(site, read.map_structure(one, freeze(site.frame, batch)), ("batch", 0))


def _part_of(frame: Frame, given: Sequence[Value], fraction: float, *, last: bool) -> tuple[Value, ...]:
    """The training part of arrays if the last fraction is for validation, or (`last`) that fraction."""

    def one(leaf: Value) -> Value:
        if not isinstance(leaf, TensorValue) or not leaf.type.shape:
            return leaf
        number = leaf.type.shape[0]
        size: Dim = None
        if isinstance(number, int):
            size = math.floor(number * (1 - fraction))
            size = number - size if last else size
        return TensorValue(TensorType(leaf.type.dtype, (size, *leaf.type.shape[1:])), leaf.kind)

    return tuple(read.map_structure(one, freeze(frame, value)) for value in given)


def _as_layers_get_it(leaf: Value) -> Value:
    """Keras 2 adds an axis of size 1 to inputs of rank 1, Keras 3 does not, so their shape is unknown."""
    if isinstance(leaf, TensorValue) and leaf.type.shape is not None and len(leaf.type.shape) == 1:
        return TensorValue(TensorType(leaf.type.dtype, None), leaf.kind)
    return leaf


def _batched(value: Value, size: int | None, floats: DType | None, *, whole: bool) -> Value:
    if isinstance(value, UnknownValue):
        return UnknownValue(reason=value.reason)
    if not isinstance(value, TensorValue):
        return UNKNOWN
    shape = value.type.shape
    dtype = floats if value.type.dtype in FLOATING else value.type.dtype
    if not shape:
        return TensorValue(TensorType(dtype, None))
    first: Dim = shape[0]
    if not whole:
        number = first if isinstance(first, int) else None
        first = None
        if size is not None and number is not None:
            first = number if number < size else size if size and number % size == 0 else None
    return TensorValue(TensorType(dtype, (first, *shape[1:])), TensorKind.TENSOR)


KERAS_TRAINING: Final[dict[str, Protocol]] = {
    "compile": remember_compiled,
    **dict.fromkeys(_STEPS, fit),
    "apply_gradients": run_schedule,
}
