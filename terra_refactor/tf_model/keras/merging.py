"""Layers that merge several tensors, and attention.

Computes: output types of layer calls and of their functional forms (`keras.layers.concatenate`). Gives: `RULES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from terra_refactor.domain.dim import definitely_different
from terra_refactor.domain.dtype import FLOATING, DType
from terra_refactor.domain.shape import BroadcastError, Shape, broadcast, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import TensorKind, TensorValue, TupleValue, Value
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.keras.layer_call import (
    Settings,
    call_argument,
    cast_input,
    input_list,
    layer_inputs,
    layer_name,
    output_kind,
)
from terra_refactor.tf_model.numpy_api import shapes
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _dtype_of(types: Sequence[TensorType]) -> DType | None:
    """The common dtype; layers cast floating-point inputs to one dtype, so that only others can be mixed."""
    distinct = {item.dtype for item in types}
    return types[0].dtype if len(distinct) == 1 else None


def _kind(items: Sequence[Value]) -> TensorKind:
    return output_kind(TupleValue(tuple(items)))


def _element_wise(call: BoundCall, items: tuple[Value, ...], settings: Settings) -> Value:
    types = [cast_input(settings, item) for item in items]
    shape = types[0].shape
    for other in types[1:]:
        shape = _merged_shape(layer_name(call), shape, other.shape)
    dtype = _dtype_of(types)
    return read.tensor(dtype if dtype in FLOATING else None, shape, _kind(items))


def _merged_shape(name: str, left: Shape, right: Shape) -> Shape:
    """Keras broadcasts the axes after the batch axis; for unequal ranks it inserts axes, which is not modelled."""
    if left is None or right is None or len(left) != len(right):
        return None
    try:
        return broadcast(left, right)
    except BroadcastError as error:
        raise OperationError(
            ErrorKind.SHAPE,
            f"{name}: {format_shape(left)} and {format_shape(right)} do not fit: {error}",
            ("inputs",),
        ) from error


def _concatenate(call: BoundCall, items: tuple[Value, ...], settings: Settings) -> Value:
    types = [cast_input(settings, item) for item in items]
    axis = -1 if settings.get("axis") is None else read.known_integer(settings.get("axis"))
    return read.tensor(
        _dtype_of(types), shapes.concatenated_arrays("Concatenate", [item.shape for item in types], axis), _kind(items)
    )


def _dot(call: BoundCall, items: tuple[Value, ...], settings: Settings) -> Value:
    types = [cast_input(settings, item) for item in items]
    dtype = _dtype_of(types)
    unknown = read.tensor(dtype if dtype in FLOATING else None, None, _kind(items))
    if len(types) != 2:
        return unknown
    left, right = types[0].shape, types[1].shape
    given = settings.get("axes")
    axes = read.integers(given) or (read.integer(given),) * 2
    if left is None or right is None or len(axes) != 2:
        return unknown
    first, second = axes
    if not isinstance(first, int) or not isinstance(second, int):
        return unknown
    first = first % len(left) if left and first < 0 else first
    second = second % len(right) if right and second < 0 else second
    if not 0 < first < len(left) or not 0 < second < len(right):
        return unknown
    if definitely_different(left[first], right[second]):
        raise OperationError(
            ErrorKind.SHAPE,
            f"Dot: axis {first} of {format_shape(left)} and axis {second} of {format_shape(right)} differ",
            ("inputs",),
        )
    rest = [size for axis, size in enumerate(left) if axis != first]
    rest += [size for axis, size in enumerate(right) if axis not in (0, second)]
    return read.tensor(unknown.type.dtype, (*rest, 1) if len(rest) == 1 else tuple(rest), _kind(items))


def _merge(name: str) -> OperationRule:
    """The rule of a merging layer from its class's name."""
    compute = {"Concatenate": _concatenate, "Dot": _dot}.get(name, _element_wise)

    def rule(call: BoundCall) -> Value:
        items = input_list(layer_inputs(call))
        if not items or any(
            isinstance(item, TensorValue) and item.kind in (TensorKind.RAGGED, TensorKind.SPARSE) for item in items
        ):
            return read.tensor(None, None)
        return compute(call, items, Settings({**call.configuration, **_function_settings(call)}))

    return rule


def _function_settings(call: BoundCall) -> Mapping[str, Value]:
    """The settings of `keras.layers.concatenate(inputs, axis=-1)`, which are arguments."""
    return {name: value for name, value in call.arguments.items() if name in ("axis", "axes", "dtype")}


def _attention(call: BoundCall) -> Value:
    """`Attention`, `AdditiveAttention`: query (N, T, d), value (N, S, v), key (N, S, d) give (N, T, v)."""
    settings = Settings(call.configuration)
    items = input_list(layer_inputs(call))
    if items is None or not 2 <= len(items) <= 3:
        return read.tensor(settings.compute_dtype(), None)
    types = [cast_input(settings, item) for item in items]
    query, value = types[0].shape, types[1].shape
    key = types[2].shape if len(types) == 3 else value
    dtype = _dtype_of(types)
    result = read.tensor(
        dtype if dtype in FLOATING else None,
        None if query is None or value is None else (*query[:-1], value[-1]),
        _kind(items),
    )
    scores = read.truth(call_argument(call, "return_attention_scores", 2))
    if call_argument(call, "return_attention_scores", 2) is None or scores is False:
        return result
    if scores is None:
        return read.argument_or_unknown(None)
    shape = None if query is None or key is None or len(key) < 2 else (*query[:-1], key[-2])
    return TupleValue((result, read.tensor(result.type.dtype, shape, result.kind)))


def _check_attended(query: Shape, key: Shape, value: Shape) -> None:
    """Raises OperationError if batch sizes certainly differ, or the numbers of keys and values."""
    for what, one, other, axis in (("query", query, value, 0), ("key", key, value, 1)):
        if one is None or other is None or len(one) != 3 or len(other) != 3:
            continue
        if definitely_different(one[axis], other[axis]) and 1 not in (one[axis], other[axis]):
            raise OperationError(
                ErrorKind.SHAPE,
                f"MultiHeadAttention: {what} of shape {format_shape(one)} and value of shape {format_shape(other)} differ in axis {axis}",
                (what, "value"),
            )


def _multi_head_attention(call: BoundCall) -> Value:
    """Query (N, T, d) gives (N, T, d), or `output_shape` instead of d; scores are (N, heads, T, S)."""
    settings = Settings(call.configuration)
    query_value = call_argument(call, "query", 0)
    value_value = call_argument(call, "value", 1)
    key_value = call_argument(call, "key", 2)
    if query_value is None:
        return read.argument_or_unknown(None)
    query = cast_input(settings, query_value).shape
    value = None if value_value is None else cast_input(settings, value_value).shape
    key = value if read.is_none(key_value) else cast_input(settings, key_value).shape
    _check_attended(query, key, value)
    dtype = settings.compute_dtype()
    kind = _kind([item for item in (query_value, value_value) if item is not None])
    shape = query
    given = settings.get("output_shape")
    if not read.is_none(given) and query is not None:
        sizes = read.integers(given)
        if sizes is None:
            single = read.integer(given)
            sizes = None if single is None else (single,)
        shape = None if sizes is None else (*query[:-1], *sizes)
    result = read.tensor(dtype, shape, kind)
    wanted = call.arguments.get("return_attention_scores", call.extra_keywords.get("return_attention_scores"))
    if wanted is None or read.truth(wanted) is False:
        return result
    if read.truth(wanted) is None:
        return read.argument_or_unknown(None)
    if (
        query is None
        or key is None
        or len(query) != 3
        or len(key) != 3
        or not read.is_none(settings.get("attention_axes"))
    ):
        scores: Shape = None
    else:
        # Keras's symbolic result has the query's length on both axes
        scores = (query[0], settings.integer("num_heads"), query[1], None if kind is TensorKind.KERAS else key[1])
    return TupleValue((result, read.tensor(dtype, scores, kind)))


_MERGERS: Final = ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot")

RULES: Final[Mapping[str, OperationRule]] = {
    **{f"keras.layers.{name}.__call__": _merge(name) for name in _MERGERS},
    **{f"keras.layers.{name.lower()}": _merge(name) for name in _MERGERS},
    "keras.layers.Attention.__call__": _attention,
    "keras.layers.AdditiveAttention.__call__": _attention,
    "keras.layers.MultiHeadAttention.__call__": _multi_head_attention,
}
