"""Rules for `tf.nn`: convolutions, pooling, normalisation, losses, embeddings, dropout.

Computes: output sizes of windows exactly, for SAME, VALID and explicit padding, both layouts. Gives: `RULES`.
Activations and softmax are in `math`.
Source: `tf.nn`, TensorFlow 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from terra_refactor.domain.dim import Dim, add, definitely_different, format_dim, multiply
from terra_refactor.domain.dtype import INT64
from terra_refactor.domain.shape import Shape, element_count, format_shape, meet_shapes
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import Constant, FrozenList, TensorKind, TensorValue, TupleValue, Value
from terra_refactor.tf_model.arguments import MAX_REPEATED, elements, integer, integers, is_none, text
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.math import agreed_dtype
from terra_refactor.tf_model.ops.ragged import by_ragged_numbers
from terra_refactor.tf_model.ops.results import argument, axes_of, call_name, flag, primary, result, table
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.shape_rules.reduction import reduced_shape
from terra_refactor.tf_model.shape_rules.windows import check_positive, effective_window, window_output
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _settings(value: Value | None, rank: int, channels_first: bool) -> tuple[Dim, ...]:
    """Strides, dilations or windows of the spatial axes, given as one int, one for each of them, or one for each axis."""
    single = integer(value)
    if single is not None:
        return (single,) * rank
    if is_none(value):
        return (1,) * rank
    several = integers(value)
    if several is None:
        return (None,) * rank
    if len(several) == 1:
        return several * rank
    if len(several) == rank:
        return several
    if len(several) == rank + 2:
        return several[2:] if channels_first else several[1:-1]
    return (None,) * rank


def _layout(call: BoundCall, rank: int) -> bool | None:
    """Whether channels are first; None if unknown."""
    value = call.argument("data_format")
    if is_none(value):
        return False
    layout = text(value)
    return None if layout is None else layout.startswith("NC")


def _padding(call: BoundCall, rank: int, channels_first: bool) -> str | tuple[tuple[Dim, Dim], ...] | None:
    """`same`, `valid`, or explicit padding of the spatial axes; None if unknown."""
    value = call.argument("padding")
    name = text(value)
    if name is not None:
        return name.lower()
    rows = elements(value)
    if rows is None or len(rows) != rank + 2:
        return None
    pairs = []
    for row in rows[2:] if channels_first else rows[1:-1]:
        pair = integers(row)
        pairs.append((None, None) if pair is None or len(pair) != 2 else (pair[0], pair[1]))
    return tuple(pairs)


def _windowed(
    call: BoundCall,
    shape: tuple[Dim, ...],
    spatial: Sequence[int],
    windows: Sequence[Dim],
    strides: Sequence[Dim],
    dilations: Sequence[Dim],
    padding: str | tuple[tuple[Dim, Dim], ...] | None,
) -> list[Dim]:
    """The output sizes of the spatial axes. Raises OperationError if a window certainly does not fit."""
    if padding is None:
        return [None] * len(spatial)
    sizes: list[Dim] = []
    for number, axis in enumerate(spatial):
        size, window = shape[axis], windows[number]
        if isinstance(padding, tuple):
            size = add(size, add(padding[number][0], padding[number][1]))
            length = window_output(size, window, strides[number], "valid", dilations[number])
        else:
            length = window_output(size, window, strides[number], padding, dilations[number])
        if padding != "same":
            extent = effective_window(window, dilations[number])
            if isinstance(size, int) and isinstance(extent, int) and extent > size:
                check_positive(call_name(call), 0, shape, axis, extent)
        sizes.append(length)
    return sizes


def _check_rank(call: BoundCall, shape: Shape, rank: int, name: str) -> None:
    if shape is not None and len(shape) != rank:
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: {name} has shape {format_shape(shape)} of rank {len(shape)}, not {rank}",
            (name,),
        )


def _convolution(rank: int | None, *, depthwise: bool = False) -> OperationRule:
    """A convolution over `rank` spatial axes (determined by the filters if None)."""

    def rule(call: BoundCall) -> Value:
        data = operand(argument(call, "input", "value"))
        kernel = operand(argument(call, "filters", "filter"))
        dtype = agreed_dtype(call, data, kernel, alone=False, names=("input", "filters"))
        shape, filters = data.type.shape, kernel.type.shape
        count = rank
        if count is None:
            count = len(filters) - 2 if filters is not None else len(shape) - 2 if shape is not None else None
        if count is None:
            return result(dtype)
        _check_rank(call, filters, count + 2, "filters")
        if rank is not None and shape is not None and len(shape) < count + 2:
            raise OperationError(
                ErrorKind.RANK,
                f"{call_name(call)}: input has shape {format_shape(shape)} of rank {len(shape)}, at least {count + 2} axes are needed",
                ("input",),
            )
        first = _layout(call, count)
        if first is None or (shape is not None and len(shape) != count + 2):
            return result(dtype)
        known: tuple[Dim, ...] = (None,) * (count + 2) if shape is None else shape
        kernel_shape: tuple[Dim, ...] = (None,) * (count + 2) if filters is None else filters
        channel_axis = 1 if first else count + 1
        channels, taken = known[channel_axis], kernel_shape[-2]
        multiple = isinstance(channels, int) and isinstance(taken, int) and (taken == 0 or channels % taken != 0)
        if multiple if not depthwise else definitely_different(channels, taken):
            raise OperationError(
                ErrorKind.SHAPE,
                f"{call_name(call)}: input of shape {format_shape(known)} has {format_dim(channels)} channels (axis {channel_axis}), "
                f"filters of shape {format_shape(kernel_shape)} take {format_dim(taken)} (axis -2)",
                ("input", "filters"),
            )
        produced = kernel_shape[-1]
        if not depthwise and isinstance(channels, int) and isinstance(taken, int) and isinstance(produced, int):
            groups = channels // taken
            if groups and produced % groups:
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"{call_name(call)}: input of shape {format_shape(known)} and filters of shape {format_shape(kernel_shape)} make "
                    f"{groups} groups of channels, which do not divide the {produced} output channels (axis -1)",
                    ("input", "filters"),
                )
        spatial = range(2, count + 2) if first else range(1, count + 1)
        strides = _settings(argument(call, "strides", "stride"), count, first)
        dilations = _settings(argument(call, "dilations", "rate"), count, first)
        sizes = _windowed(call, known, spatial, kernel_shape[:count], strides, dilations, _padding(call, count, first))
        outputs = (
            multiply(kernel_shape[-2] if channels is None else channels, kernel_shape[-1])
            if depthwise
            else kernel_shape[-1]
        )
        return result(dtype, (known[0], outputs, *sizes) if first else (known[0], *sizes, outputs))

    return rule


def _separable(call: BoundCall) -> Value:
    data, depthwise, pointwise = (
        operand(call.argument(name)) for name in ("input", "depthwise_filter", "pointwise_filter")
    )
    inner = BoundCall(call.name, {**call.arguments, "filters": call.arguments.get("depthwise_filter", Constant(None))})
    middle = _convolution(2, depthwise=True)(inner)
    first = _layout(call, 2)
    if not isinstance(middle, TensorValue) or middle.type.shape is None or first is None:
        return result(data.type.dtype or depthwise.type.dtype)
    outputs = None if pointwise.type.shape is None else pointwise.type.shape[-1]
    shape = middle.type.shape
    return result(middle.type.dtype, (shape[0], outputs, *shape[2:]) if first else (*shape[:-1], outputs))


def _transposed_convolution(rank: int) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        data, kernel = operand(argument(call, "input", "value")), operand(argument(call, "filters", "filter"))
        dtype = agreed_dtype(call, data, kernel, alone=False, names=("input", "filters"))
        _check_rank(call, data.type.shape, rank + 2, "input")
        _check_rank(call, kernel.type.shape, rank + 2, "filters")
        sizes = integers(call.argument("output_shape"))
        if sizes is None:
            return result(dtype, (None,) * (rank + 2))
        if len(sizes) != rank + 2:
            return result(dtype)
        _check_transposed(call, rank, data.type.shape, kernel.type.shape, sizes)
        return result(dtype, sizes)

    return rule


def _check_transposed(call: BoundCall, rank: int, shape: Shape, kernel: Shape, wanted: tuple[Dim, ...]) -> None:
    """Raises OperationError unless a convolution of the requested output could give the input."""
    first = _layout(call, rank)
    if first is None:
        return
    channels = 1 if first else rank + 1
    pairs: list[tuple[str, Dim, Dim]] = []
    if shape is not None:
        pairs.append(("batch of output_shape and of the input", wanted[0], shape[0]))
    if kernel is not None:
        pairs.append(("channels of output_shape and axis -2 of the filters", wanted[channels], kernel[-2]))
        if shape is not None:
            pairs.append(("channels of the input and axis -1 of the filters", shape[channels], kernel[-1]))
            strides, dilations = (_settings(call.argument(name), rank, first) for name in ("strides", "dilations"))
            for number in range(rank):
                axis = number + (2 if first else 1)
                back = window_output(
                    wanted[axis], kernel[number], strides[number], _known_padding(call), dilations[number]
                )
                pairs.append((f"axis {axis} of the input and of a convolution of output_shape", shape[axis], back))
    for what, one, other in pairs:
        if definitely_different(one, other):
            raise OperationError(
                ErrorKind.SHAPE,
                f"{call_name(call)}: input of shape {format_shape(shape)}, filters of shape {format_shape(kernel)} and output_shape "
                f"{format_shape(wanted)}: the {what} are {format_dim(one)} and {format_dim(other)}",
                ("input", "filters"),
            )


def _known_padding(call: BoundCall) -> str | None:
    written = text(call.argument("padding"))
    return written.lower() if written is not None and written.lower() in ("same", "valid") else None


def _pooling(rank: int | None) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        data = operand(argument(call, "input", "value"))
        shape = data.type.shape
        count = rank if rank is not None else None if shape is None else len(shape) - 2
        if count is None:
            return result(data.type.dtype)
        if rank is not None:
            _check_rank(call, shape, rank + 2, "input")
        first = _layout(call, count)
        if first is None or count < 1:
            return result(data.type.dtype, (None,) * (count + 2) if rank is not None else None)
        known: tuple[Dim, ...] = (None,) * (count + 2) if shape is None else shape
        spatial = range(2, count + 2) if first else range(1, count + 1)
        window_value = argument(call, "ksize", "window_shape")
        windows = _settings(window_value, count, first)
        strides = _settings(call.argument("strides"), count, first)
        dilations = _settings(call.argument("dilations"), count, first)
        for value in (window_value, call.argument("strides")):
            several = integers(value)
            if (
                several is not None
                and len(several) == count + 2
                and (several[0] != 1 or several[1 if first else -1] != 1)
            ):
                # windows over channels or batch are rare
                return result(data.type.dtype, (None,) * (count + 2))
        sizes = _windowed(call, known, spatial, windows, strides, dilations, _padding(call, count, first))
        return result(data.type.dtype, (known[0], known[1], *sizes) if first else (known[0], *sizes, known[-1]))

    return rule


def _bias_add(call: BoundCall) -> Value:
    data, bias = operand(call.argument("value")), operand(call.argument("bias"))
    dtype = agreed_dtype(call, data, bias, alone=False, names=("value", "bias"))
    shape, given = data.type.shape, bias.type.shape
    _check_rank(call, given, 1, "bias")
    layout = text(call.argument("data_format"))
    if shape is not None and len(shape) < 2:
        raise OperationError(
            ErrorKind.RANK, f"nn.bias_add: value has shape {format_shape(shape)}; it needs at least 2 axes", ("value",)
        )
    if shape is not None and given is not None and (layout is None or layout.startswith("NC") or layout[-1] == "C"):
        axis = 1 if layout is not None and layout.startswith("NC") else len(shape) - 1
        if definitely_different(shape[axis], given[0]):
            raise OperationError(
                ErrorKind.SHAPE,
                f"nn.bias_add: value of shape {format_shape(shape)} has {format_dim(shape[axis])} channels (axis {axis}), bias has shape "
                f"{format_shape(given)}",
                ("value", "bias"),
            )
        if shape[axis] is None:
            shape = (*shape[:axis], given[0], *shape[axis + 1 :])
    return result(dtype, shape)


def _moments(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    keepdims = flag(argument(call, "keepdims", "keep_dims"), False)
    axes = None if shape is None else axes_of(call, call.argument("axes"), shape, "axes")
    each = result(data.type.dtype, reduced_shape(shape, axes, keepdims))
    return TupleValue((each, each))


def _dropout(call: BoundCall) -> Value:
    data = primary(call)
    return result(data.type.dtype if data.is_tensor else None, data.type.shape)


def _batch_normalization(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    for name in ("mean", "variance", "offset", "scale"):
        part = call.argument(name)
        if not is_none(part) and shape is not None:
            given = operand(part)
            shape = (
                broadcast_shapes(shape, given.type.shape, "nn.batch_normalization", ("x", name))
                if given.known
                else None
            )
    return result(data.type.dtype, shape)


def _embedding_lookup(call: BoundCall) -> Value:
    table_value, ids = call.argument("params"), operand(call.argument("ids"))
    items = elements(table_value)
    if items is not None and len(items) == 1:
        table_value = items[0]
    elif items is not None:
        return result(operand(items[0]).type.dtype if items else None)
    rows = operand(table_value)
    if rows.type.shape is None or ids.type.shape is None:
        return result(rows.type.dtype)
    if not rows.type.shape:
        raise OperationError(ErrorKind.RANK, "nn.embedding_lookup: params is a number (shape ())", ("params",))
    return result(rows.type.dtype, (*ids.type.shape, *rows.type.shape[1:]))


def _softmax_loss(call: BoundCall) -> Value:
    labels, logits = operand(call.argument("labels")), operand(call.argument("logits"))
    shape, given = logits.type.shape, labels.type.shape
    if shape == () or given == ():
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: labels of shape {format_shape(given)}, logits of shape {format_shape(shape)}: a scalar has no class axis",
            ("labels", "logits"),
        )
    asked = [value for name in ("axis", "dim") if not is_none(value := call.argument(name))]
    axis = integer(asked[0]) if asked else -1
    both = meet_shapes(shape, given) if shape is not None and given is not None and len(shape) == len(given) else shape
    if both is None or not isinstance(axis, int) or not -len(both) <= axis < len(both):
        return result(logits.type.dtype)
    if shape is not None and given is not None and len(shape) == len(given):
        for position, (a, b) in enumerate(zip(given, shape, strict=True)):
            if definitely_different(a, b) and 1 not in (a, b):
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"{call_name(call)}: labels of shape {format_shape(given)} and logits of shape {format_shape(shape)} differ in axis "
                    f"{position}: {format_dim(a)} and {format_dim(b)}",
                    ("labels", "logits"),
                )
    if shape is not None and given is not None and len(shape) != len(given) and axis % len(both) == len(shape) - 1:
        _check_rows(call, given, shape)
    if (
        shape is None
        or given is None
        or len(shape) != len(given)
        or any(1 in (a, b) and a != b for a, b in zip(shape, given, strict=True))
    ):
        return result(logits.type.dtype, None)
    position = axis % len(both)
    return result(logits.type.dtype, (*both[:position], *both[position + 1 :]))


def sparse_softmax_loss_shape(name: str, labels: Shape, logits: Shape) -> Shape:
    """The shape of the cross entropy with class indices. Raises OperationError if the shapes are certainly incompatible."""
    if logits == ():
        raise OperationError(ErrorKind.RANK, f"{name}: logits are a number (shape ())", ("logits",))
    if logits is None or labels is None:
        return labels if labels is not None else None if logits is None else logits[:-1]
    if len(labels) != len(logits) - 1:
        raise OperationError(
            ErrorKind.RANK,
            f"{name}: labels of shape {format_shape(labels)} have rank {len(labels)}; logits of shape {format_shape(logits)} need rank "
            f"{len(logits) - 1}",
            ("labels", "logits"),
        )
    for axis, (a, b) in enumerate(zip(labels, logits, strict=False)):
        if definitely_different(a, b):
            raise OperationError(
                ErrorKind.SHAPE,
                f"{name}: labels of shape {format_shape(labels)} and logits of shape {format_shape(logits)} differ in axis {axis}: "
                f"{format_dim(a)} and {format_dim(b)}",
                ("labels", "logits"),
            )
    return meet_shapes(labels, logits[:-1])


def _sparse_softmax_loss(call: BoundCall) -> Value:
    labels, logits = operand(call.argument("labels")), operand(call.argument("logits"))
    return result(logits.type.dtype, sparse_softmax_loss_shape(call_name(call), labels.type.shape, logits.type.shape))


def _sigmoid_loss(call: BoundCall) -> Value:
    labels, logits = operand(call.argument("labels")), operand(call.argument("logits"))
    dtype = agreed_dtype(call, logits, labels, alone=False, names=("logits", "labels"))
    shape, given = logits.type.shape, labels.type.shape
    if shape is not None and given is not None:
        if len(shape) != len(given) or any(definitely_different(a, b) for a, b in zip(shape, given, strict=True)):
            raise OperationError(
                ErrorKind.SHAPE,
                f"{call_name(call)}: labels of shape {format_shape(given)} and logits of shape {format_shape(shape)} must be the same",
                ("labels", "logits"),
            )
    return result(dtype, meet_shapes(shape, given) if shape is not None and given is not None else None)


def _l2_loss(call: BoundCall) -> Value:
    return result(operand(call.argument("t")).type.dtype, ())


def _same(call: BoundCall) -> Value:
    data = primary(call)
    return result(data.type.dtype, data.type.shape)


def _average_loss(call: BoundCall) -> Value:
    return result(operand(call.argument("per_example_loss")).type.dtype, ())


def _regularization_loss(call: BoundCall) -> Value:
    return result(operand(call.argument("regularization_loss")).type.dtype, ())


def _poisson_loss(call: BoundCall) -> Value:
    data, targets = operand(call.argument("log_input")), operand(call.argument("targets"))
    return result(data.type.dtype, meet_shapes(data.type.shape, targets.type.shape))


def _check_rows(call: BoundCall, labels: tuple[Dim, ...], logits: tuple[Dim, ...]) -> None:
    """Raises OperationError if labels of another rank than the logits cannot be broadcast to them, both as matrices of
    classes.
    """
    rows = [(element_count(shape[:-1]), shape[-1]) for shape in (labels, logits)]
    for what, a, b in zip(("rows", "classes"), *rows, strict=True):
        if definitely_different(a, b) and 1 not in (a, b):
            raise OperationError(
                ErrorKind.RANK,
                f"{call_name(call)}: labels of shape {format_shape(labels)} have rank {len(labels)}, logits of shape "
                f"{format_shape(logits)} rank {len(logits)}: these are {format_dim(a)} and {format_dim(b)} {what}",
                ("labels", "logits"),
            )


def _sampled_loss(call: BoundCall) -> Value:
    """`tf.nn.nce_loss` and `sampled_softmax_loss`: inputs (batch, width), labels (batch, true classes), weights (classes, width)."""
    inputs = operand(call.argument("inputs")).type.shape
    _check_rank(call, inputs, 2, "inputs")
    batch, width = (None, None) if inputs is None else inputs
    sampled_here = is_none(call.argument("sampled_values"))
    for name, axis, size in (("labels", 0, batch), ("weights", 1, width)):
        given = call.argument(name)
        other = given.type.shape if isinstance(given, TensorValue) else None
        if name == "weights" or sampled_here:
            _check_rank(call, other, 2, name)
        if other is not None and len(other) == 2 and definitely_different(other[axis], size):
            raise OperationError(
                ErrorKind.SHAPE,
                f"{call_name(call)}: inputs of shape {format_shape(inputs)} and {name} of shape {format_shape(other)} differ in axis "
                f"{axis}: {format_dim(size)} and {format_dim(other[axis])}",
                ("inputs", name),
            )
    return result(operand(call.argument("inputs")).type.dtype, (batch,))


def _ctc_loss(call: BoundCall) -> Value:
    logits = operand(call.argument("logits"))
    shape = logits.type.shape
    major = flag(call.argument("logits_time_major"), True)
    batch = None if shape is None or len(shape) != 3 or major is None else shape[1 if major else 0]
    return result(logits.type.dtype, (batch,))


def _ctc_decoder(call: BoundCall) -> Value:
    """`ctc_greedy_decoder` and `ctc_beam_search_decoder`: sparse labels of each path, and the scores of the paths for
    each sequence.
    """
    inputs = operand(call.argument("inputs"))
    shape, lengths = inputs.type.shape, operand(call.argument("sequence_length")).type.shape
    batch = shape[1] if shape is not None and len(shape) == 3 else None
    if batch is None and lengths is not None and len(lengths) == 1:
        batch = lengths[0]
    given = argument(call, "top_paths")
    paths = 1 if given is None else integer(given)
    decoded = TensorValue(TensorType(INT64, (batch, None)), TensorKind.SPARSE)
    several = (
        FrozenList((decoded,) * paths)
        if isinstance(paths, int) and 0 <= paths <= MAX_REPEATED
        else FrozenList(None, decoded)
    )
    return TupleValue((several, result(inputs.type.dtype, (batch, paths))))


RULES: Final[Mapping[str, OperationRule]] = {
    "tensorflow.nn.embedding_lookup": by_ragged_numbers(_embedding_lookup, "params", "ids")
} | table(
    {
        "nn.conv1d": _convolution(1),
        "nn.conv2d": _convolution(2),
        "nn.conv3d": _convolution(3),
        "nn.convolution": _convolution(None),
        "nn.depthwise_conv2d": _convolution(2, depthwise=True),
        "nn.separable_conv2d": _separable,
        "nn.conv1d_transpose": _transposed_convolution(1),
        "nn.conv2d_transpose": _transposed_convolution(2),
        "nn.conv3d_transpose": _transposed_convolution(3),
        **{f"nn.{kind}_pool{rank}d": _pooling(rank) for kind in ("max", "avg") for rank in (1, 2, 3)},
        "nn.max_pool": _pooling(None),
        "nn.avg_pool": _pooling(None),
        "nn.pool": _pooling(None),
        "nn.bias_add": _bias_add,
        "nn.moments": _moments,
        "nn.weighted_moments": _moments,
        "nn.dropout": _dropout,
        "nn.batch_normalization": _batch_normalization,
        "nn.softmax_cross_entropy_with_logits": _softmax_loss,
        "nn.sparse_softmax_cross_entropy_with_logits": _sparse_softmax_loss,
        "nn.sigmoid_cross_entropy_with_logits": _sigmoid_loss,
        "nn.weighted_cross_entropy_with_logits": _sigmoid_loss,
        "nn.l2_loss": _l2_loss,
        "nn.local_response_normalization": _same,
        "nn.compute_average_loss": _average_loss,
        "nn.scale_regularization_loss": _regularization_loss,
        "nn.log_poisson_loss": _poisson_loss,
        "nn.nce_loss": _sampled_loss,
        "nn.sampled_softmax_loss": _sampled_loss,
        "nn.ctc_loss": _ctc_loss,
        "nn.ctc_greedy_decoder": _ctc_decoder,
        "nn.ctc_beam_search_decoder": _ctc_decoder,
    }
)
