"""Inputs, members of layers and models other than their call, and the calls of functional and sequential models.

Computes: output types of `Model.__call__`, `predict`, `add_weight` and similar methods. Gives: `RULES`, `ATTRIBUTES`.
Needs: `BoundCall.configuration` with `inputs` and `outputs` of a functional model, `layers` of a sequential one (with those that were
added since).

Source: `keras.Model`, `keras.Sequential`, `keras.layers.Layer`; the positional order of `add_weight` is that of Keras 3 (shape first) or
Keras 2 (name first), distinguished by the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, SymbolicDim, add, multiply, symbol
from terra_refactor.domain.dtype import FLOAT32
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    NOT_A_TENSOR,
    UNKNOWN,
    DatasetValue,
    FrozenDict,
    FrozenList,
    PythonType,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.keras.layer_call import Settings, layer_inputs
from terra_refactor.tf_model.keras.model_inputs import adjusted_input, check_input
from terra_refactor.tf_model.spec import BoundCall, OperationRule

BATCH: Final = symbol("N")
"""The batch size of every input of functional models. A call of the model replaces it by the batch size of the inputs."""


def _input(call: BoundCall) -> Value:
    """`keras.Input(shape, batch_size, dtype, ...)`: a symbolic tensor."""
    given = call.argument("tensor")
    if not read.is_none(given):
        return read.argument_or_unknown(given)
    for name in ("sparse", "ragged"):
        flag = call.argument(name)
        if flag is not None and read.truth(flag) is not False and not read.is_none(flag):
            return read.tensor(None, None)
    dtype_value = call.argument("dtype")
    dtype = FLOAT32 if read.is_none(dtype_value) else read.dtype_argument(dtype_value)
    whole = call.argument("batch_shape")
    if read.is_none(whole):
        whole = call.extra_keywords.get("batch_input_shape")
    if not read.is_none(whole):
        shape = read.shape_argument(whole)
        if shape:
            shape = (BATCH if shape[0] is None and _first_is_none(whole) else shape[0], *shape[1:])
        return read.tensor(dtype, shape, TensorKind.KERAS)
    batch_value = call.argument("batch_size")
    batch: Dim = BATCH if read.is_none(batch_value) else read.size(batch_value)
    shape_value = call.argument("shape")
    if read.is_none(shape_value):
        return read.tensor(dtype, None, TensorKind.KERAS)
    rest = read.shape_argument(shape_value)
    return read.tensor(dtype, None if rest is None else (batch, *rest), TensorKind.KERAS)


def _first_is_none(value: Value | None) -> bool:
    items = read.elements(value)
    return bool(items) and items is not None and read.is_none(items[0])


def substitute(dim: Dim, name: str, size: Dim) -> Dim:
    """A size with the symbol `name` replaced by `size`."""
    if not isinstance(dim, SymbolicDim):
        return dim
    result: Dim = 0
    for monomial, factor in dim.terms:
        product: Dim = factor
        for part in monomial:
            product = multiply(product, size if part == name else symbol(part))
        result = add(result, product)
    return result


def _model_call(call: BoundCall) -> Value:
    """A functional model: its outputs, with the batch size of the inputs."""
    outputs = call.configuration.get("outputs")
    declared = call.configuration.get("inputs")
    given = layer_inputs(call)
    if outputs is None or declared is None or given is None:
        return UNKNOWN
    expected = read.leaves(declared)
    actual = read.leaves(given)
    batch: Dim = None
    symbolic = False
    if expected is None and actual is not None:
        # the inputs are unknown, and all have one batch
        expected = (UNKNOWN,) * len(actual)
    if expected is not None and actual is not None and len(expected) == len(actual):
        if isinstance(declared, TensorValue | TupleValue | FrozenList) and not isinstance(given, FrozenDict):
            for wanted, leaf in zip(expected, actual, strict=True):
                if isinstance(wanted, TensorValue):
                    check_input(wanted.type.shape, adjusted_input(wanted.type.shape, leaf, "Functional"), "Functional")
        sizes = {_batch_of(leaf) for leaf in actual}
        batch = sizes.pop() if len(sizes) == 1 else None
        symbolic = any(isinstance(leaf, TensorValue) and leaf.kind is TensorKind.KERAS for leaf in actual)

    def resolved(leaf: Value) -> Value:
        if not isinstance(leaf, TensorValue):
            return UNKNOWN
        shape = leaf.type.shape
        sizes = None if shape is None else tuple(substitute(dim, "N", batch) for dim in shape)
        return read.tensor(leaf.type.dtype, sizes, TensorKind.KERAS if symbolic else TensorKind.TENSOR)

    only = read.elements(outputs)
    # Keras returns a single output directly, whether or not it is declared in a list
    return read.map_structure(resolved, only[0] if only is not None and len(only) == 1 else outputs)


def _batch_of(value: Value) -> Dim:
    shape = read.converted_type(value).shape
    return shape[0] if shape else None


def _sequential_call(call: BoundCall) -> Value:
    """Applies one layer after the other."""
    layers = read.elements(call.configuration.get("layers"))
    value = layer_inputs(call)
    if layers is None or value is None or call.incomplete:
        return UNKNOWN
    for layer in layers:
        if isinstance(layer, TensorValue):
            continue  # keras.Input(...) as the first element
        value = call.invoke(layer, [value])
        if isinstance(value, UnknownValue):
            return value
    return value


def _predict(call: BoundCall) -> Value:
    """`Model.predict`: the outputs as ndarrays, all batches concatenated."""
    data = read.first_of(call, "x")
    if call.receiver is None or data is None:
        return NOT_A_TENSOR
    whole = True
    if isinstance(data, DatasetValue):
        data = data.element
        whole = False
        if isinstance(data, TupleValue) and data.elements:
            data = data.elements[0]
    batch_leaves = read.leaves(data)
    if batch_leaves is None or not all(isinstance(leaf, TensorValue) for leaf in batch_leaves):
        return NOT_A_TENSOR
    batches = {_batch_of(leaf) for leaf in batch_leaves}
    batch = batches.pop() if len(batches) == 1 else None
    outcome = call.invoke(call.receiver, [data])

    def array(leaf: Value) -> Value:
        if not isinstance(leaf, TensorValue) or leaf.type.shape is None or not leaf.type.shape:
            return read.tensor(leaf.type.dtype if isinstance(leaf, TensorValue) else None, None, TensorKind.NDARRAY)
        first = leaf.type.shape[0]
        size = first if whole and batch is not None and first == batch else None
        return read.tensor(leaf.type.dtype, (size, *leaf.type.shape[1:]), TensorKind.NDARRAY)

    return NOT_A_TENSOR if isinstance(outcome, UnknownValue) else read.map_structure(array, outcome)


def _predict_on_batch(call: BoundCall) -> Value:
    data = read.first_of(call, "x")
    if call.receiver is None or data is None:
        return NOT_A_TENSOR
    outcome = call.invoke(call.receiver, [data])
    if isinstance(outcome, UnknownValue):
        return NOT_A_TENSOR
    return read.map_structure(
        lambda leaf: TensorValue(leaf.type, TensorKind.NDARRAY) if isinstance(leaf, TensorValue) else NOT_A_TENSOR,
        outcome,
    )


def _add_weight(call: BoundCall) -> Value:
    """`add_weight(shape, initializer, dtype, ...)` of Keras 3 and `add_weight(name, shape, dtype, initializer, ...)` of Keras 2."""
    order = ("shape", "initializer", "dtype")
    given = [call.argument(name) for name in order] if not call.extra_arguments else list(call.extra_arguments)
    first = given[0]
    named_first = read.text(first) is not None or (isinstance(first, Scalar) and first.type is PythonType.STR)
    positional = dict(zip(("name", "shape", "dtype") if named_first else order, given, strict=False))

    def argument(name: str) -> Value | None:
        keyword = call.extra_keywords.get(name)
        if keyword is None and (call.extra_arguments or name not in order):
            keyword = call.argument(name)
        return positional.get(name) if read.is_none(keyword) else keyword

    shape_value, dtype_value = argument("shape"), argument("dtype")
    shape = () if read.is_none(shape_value) else read.shape_argument(shape_value)
    dtype = (
        Settings(call.configuration).variable_dtype() if read.is_none(dtype_value) else read.dtype_argument(dtype_value)
    )
    return read.tensor(dtype, shape, TensorKind.VARIABLE)


def _scalar_loss(call: BoundCall) -> Value:
    return read.tensor(FLOAT32, ())


def _constant(value: Value) -> OperationRule:
    return lambda call: value


def _any_dict(call: BoundCall) -> Value:
    return FrozenDict((), UNKNOWN)


def _unpacked(call: BoundCall) -> Value:
    """`keras.utils.unpack_x_y_sample_weight(data)`: always three values."""
    data = read.first_of(call, "data")
    return TupleValue((UNKNOWN, UNKNOWN, UNKNOWN)) if data is None else join_all(map(_three, members(data)))


def _three(data: Value) -> Value:
    match data:
        case TupleValue(items) | FrozenList(items):
            if items is None or not 1 <= len(items) <= 3 or (isinstance(data, FrozenList) and len(items) != 1):
                return TupleValue((UNKNOWN, UNKNOWN, UNKNOWN)) if isinstance(data, FrozenList) else UNKNOWN
            return TupleValue((*items, *(NONE,) * (3 - len(items))))
        case TensorValue() | FrozenDict():
            return TupleValue((data, NONE, NONE))
        case _:
            return TupleValue((UNKNOWN, UNKNOWN, UNKNOWN))


def _packed(call: BoundCall) -> Value:
    """`keras.utils.pack_x_y_sample_weight(x, y=None, sample_weight=None)`."""
    parts = [call.argument(name) for name in ("x", "y", "sample_weight")]
    if parts[0] is None:
        return UNKNOWN
    if read.is_none(parts[1]):
        return UNKNOWN if not isinstance(parts[0], TensorValue) else parts[0]
    kept = [part for part in parts if part is not None and not read.is_none(part)]
    return TupleValue(tuple(kept))


_VARIABLES: Final = FrozenList(None, TensorValue(TensorType(), TensorKind.VARIABLE))
_ARRAYS: Final = FrozenList(None, TensorValue(TensorType(), TensorKind.NDARRAY))
_LOSSES: Final = FrozenList(None, TensorValue(TensorType(None, ())))

_NOTHING: Final = (
    "keras.Model.compile",
    "keras.Model.summary",
    "keras.Model.save",
    "keras.Model.save_weights",
    "keras.Model.load_weights",
    "keras.Model.reset_metrics",
    "keras.Model.reset_states",
    "keras.Model.export",
    "keras.Sequential.add",
    "keras.Sequential.pop",
    "keras.Model.build",
    "keras.layers.Layer.build",
    "keras.layers.Layer.add_loss",
    "keras.layers.Layer.add_metric",
    "keras.layers.Layer.add_update",
    "keras.layers.Layer.set_weights",
    "keras.layers.RNN.reset_states",
    "keras.layers.RNN.reset_state",
    "keras.layers.Normalization.adapt",
    "keras.layers.StringLookup.adapt",
    "keras.layers.IntegerLookup.adapt",
    "keras.layers.Discretization.adapt",
)

RULES: Final[Mapping[str, OperationRule]] = {
    "keras.Input": _input,
    "keras.Model.__call__": _model_call,
    "keras.Functional.__call__": _model_call,
    "keras.Sequential.__call__": _sequential_call,
    "keras.Sequential.call": _sequential_call,
    "keras.Model.predict": _predict,
    "keras.Sequential.predict": _predict,
    "keras.Sequential.predict_on_batch": _predict_on_batch,
    "keras.Model.predict_on_batch": _predict_on_batch,
    "keras.Model.fit": _constant(NOT_A_TENSOR),
    "keras.Model.fit_generator": _constant(NOT_A_TENSOR),
    "keras.Model.evaluate": _constant(NOT_A_TENSOR),
    "keras.Model.train_on_batch": _constant(NOT_A_TENSOR),
    "keras.Model.test_on_batch": _constant(NOT_A_TENSOR),
    "keras.Model.get_layer": _constant(NOT_A_TENSOR),
    "keras.Model.to_json": _constant(Scalar(PythonType.STR)),
    "keras.Model.compute_loss": _scalar_loss,
    "keras.Model.compiled_loss": _scalar_loss,
    "keras.Model.compute_metrics": _any_dict,
    "keras.Model.get_metrics_result": _any_dict,
    "keras.layers.Layer.add_weight": _add_weight,
    "keras.layers.Layer.add_variable": _add_weight,
    "keras.metrics.Metric.add_weight": _add_weight,
    "keras.metrics.Metric.add_variable": _add_weight,
    "keras.layers.Layer.get_weights": _constant(_ARRAYS),
    "keras.layers.Layer.count_params": _constant(Scalar(PythonType.INT)),
    "keras.layers.Layer.get_config": _constant(FrozenDict((), NOT_A_TENSOR)),
    "keras.utils.unpack_x_y_sample_weight": _unpacked,
    "keras.utils.pack_x_y_sample_weight": _packed,
    **{name: _constant(NONE) for name in _NOTHING},
}


def _always(value: Value) -> Callable[[Value], Value]:
    return lambda receiver: value


ATTRIBUTES: Final[Mapping[str, Callable[[Value], Value]]] = {
    **{
        f"keras.layers.Layer.{name}": _always(_VARIABLES)
        for name in (
            "weights",
            "variables",
            "trainable_weights",
            "trainable_variables",
            "non_trainable_weights",
            "non_trainable_variables",
        )
    },
    "keras.layers.Layer.losses": _always(_LOSSES),
    "keras.layers.Layer.metrics": _always(FrozenList(None, NOT_A_TENSOR)),
    "keras.layers.Layer.built": _always(Scalar(PythonType.BOOL)),
    "keras.layers.Layer.trainable": _always(Scalar(PythonType.BOOL)),
    "keras.layers.Layer.name": _always(Scalar(PythonType.STR)),
    "keras.layers.Layer.compute_dtype": _always(Scalar(PythonType.STR)),
    "keras.Model.metrics_names": _always(FrozenList(None, Scalar(PythonType.STR))),
    "keras.Model.layers": _always(FrozenList(None, NOT_A_TENSOR)),
    "keras.Model.stop_training": _always(Scalar(PythonType.BOOL)),
}
