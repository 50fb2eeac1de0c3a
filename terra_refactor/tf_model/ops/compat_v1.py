"""Rules for TensorFlow 1 names whose meaning or arguments differ from those of their successors.

Computes: placeholders, variables by name, functional layers, sessions; other names of `tf.compat.v1` use the rule of
the successor, which accepts the old parameter names. Gives: `RULES`. Source: `tf.compat.v1`, TensorFlow 2.21;
`tf.layers` as of TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, Truth
from terra_refactor.domain.dtype import FLOAT32, FLOAT64, INT32, INT64, DType
from terra_refactor.domain.shape import Shape, compatible, element_count, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    NOT_A_TENSOR,
    UNKNOWN,
    Constant,
    FrozenList,
    TensorKind,
    TensorValue,
    Value,
)
from terra_refactor.tf_model.arguments import integer, is_none, map_structure, shape_argument
from terra_refactor.tf_model.ops import array, control, creation, math, nn, random, variables
from terra_refactor.tf_model.ops import linalg as linear_algebra
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.operators import operator_rule
from terra_refactor.tf_model.ops.results import argument, flag, primary, result, table
from terra_refactor.tf_model.ops.variables import variable
from terra_refactor.tf_model.shape_rules.windows import window_output
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule

_SUCCESSORS: Final = {
    **math.RULES,
    **array.RULES,
    **creation.RULES,
    **nn.RULES,
    **linear_algebra.RULES,
    **control.RULES,
    **random.RULES,
}

_SAME: Final[Mapping[str, str]] = {
    "math": "argmax argmin bincount confusion_matrix count_nonzero reduce_all reduce_any reduce_logsumexp reduce_max "
    "reduce_mean reduce_min reduce_prod reduce_sum",
    "debugging": "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near assert_negative "
    "assert_non_negative assert_non_positive assert_none_equal assert_positive assert_rank assert_rank_at_least "
    "assert_rank_in assert_scalar",
    "": "boolean_mask case cond constant convert_to_tensor depth_to_space device executing_eagerly expand_dims gather gather_nd gradients "
    "name_scope norm ones_like pad reverse_sequence shape size squeeze transpose tuple variable_creator_scope where while_loop zeros_like "
    "nn.avg_pool nn.conv1d nn.conv2d nn.conv3d nn.convolution nn.crelu nn.depthwise_conv2d nn.embedding_lookup nn.max_pool nn.moments "
    "nn.nce_loss nn.pool nn.sampled_softmax_loss nn.separable_conv2d nn.softmax_cross_entropy_with_logits "
    "nn.sparse_softmax_cross_entropy_with_logits nn.weighted_moments nn.conv2d_transpose nn.conv3d_transpose summary.image summary.scalar "
    "summary.audio summary.histogram summary.text nn.dropout math.in_top_k math.reduce_max math.reduce_mean math.reduce_min "
    "math.reduce_prod math.reduce_sum nn.weighted_cross_entropy_with_logits",
}


def _inherited() -> dict[str, OperationRule]:
    """The rules of successors under their old names."""
    found: dict[str, OperationRule] = {}
    for module, names in _SAME.items():
        for name in names.split():
            successor = f"tensorflow.{module}.{name}" if module else f"tensorflow.{name}"
            rule = _SUCCESSORS.get(successor)
            if rule is not None:
                found[f"tensorflow.compat.v1.{name}"] = rule
    return found


def _placeholder(call: BoundCall) -> Value:
    shape = call.argument("shape")
    return result(tensor_dtype(call.argument("dtype")), None if is_none(shape) else shape_argument(shape))


def _placeholder_with_default(call: BoundCall) -> Value:
    given = operand(call.argument("input"))
    return result(given.type.dtype, shape_argument(call.argument("shape")))


def _get_variable(call: BoundCall) -> Value:
    wanted, shape_value, initializer = (call.argument(name) for name in ("dtype", "shape", "initializer"))
    dtype = None if is_none(wanted) else tensor_dtype(wanted)
    if isinstance(initializer, TensorValue):
        return variable(dtype or initializer.type.dtype, initializer.type.shape)
    if dtype is None and is_none(wanted):
        dtype = FLOAT32 if is_none(initializer) or not operand(initializer).known else operand(initializer).type.dtype
    if is_none(shape_value):
        part = operand(initializer) if initializer is not None and not is_none(initializer) else None
        return variable(dtype, part.type.shape if part is not None and part.known else None)
    return variable(dtype, shape_argument(shape_value))


def _divide(call: BoundCall) -> Value:
    left, right = call.argument("x"), call.argument("y")
    if left is None or right is None:
        return result(None)
    made = operator_rule("-", left, right)
    return TensorValue(made.type) if isinstance(made, TensorValue) else made


def _to_dtype(dtype: DType) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        data = primary(call)
        kind = data.kind if data.kind in (TensorKind.SPARSE, TensorKind.RAGGED) else TensorKind.TENSOR
        assert kind is not None
        return TensorValue(TensorType(dtype, data.type.shape), kind)

    return rule


def _changed(call: BoundCall) -> Value:
    target = call.argument("ref")
    return UNKNOWN if target is None else target


def _assign(call: BoundCall) -> Value:
    """`tf.assign(ref, value, validate_shape=True)`: a value with the shape of the variable."""
    target = call.argument("ref")
    if target is None:
        return UNKNOWN
    wanted, given = operand(target).type.shape, operand(call.argument("value")).type.shape
    if compatible(wanted, given) is Truth.NO and flag(call.argument("validate_shape"), True):
        assert wanted is not None and given is not None
        raise OperationError(
            ErrorKind.SHAPE if len(wanted) == len(given) else ErrorKind.RANK,
            f"{call.name.rpartition('.')[2]}: the variable has shape {format_shape(wanted)}, the value {format_shape(given)}",
            ("ref", "value"),
        )
    return target


def _to_array(value: Value) -> Value:
    """The result of `Session.run` for a fetched tensor."""
    if isinstance(value, TensorValue):
        kind = TensorKind.NUMPY_SCALAR if value.type.shape == () else TensorKind.NDARRAY
        return TensorValue(value.type, kind)
    return NOT_A_TENSOR


def _run(call: BoundCall) -> Value:
    fetches = argument(call, "fetches")
    return NOT_A_TENSOR if fetches is None else map_structure(_to_array, fetches)


def _linear(call: BoundCall) -> Value:
    """`tf.nn.xw_plus_b` and `relu_layer`."""
    data, weights = operand(call.argument("x")), operand(call.argument("weights"))
    rows, columns = data.type.shape, weights.type.shape
    if rows is None or columns is None or len(rows) != 2 or len(columns) != 2:
        return result(data.type.dtype, (None, None))
    return operator_rule("@", TensorValue(data.type), TensorValue(weights.type))


def _keep(call: BoundCall) -> Value:
    data = primary(call)
    return result(data.type.dtype, data.type.shape)


# --- functional layers ----------------------------------------------------------------------------------------------------------


def _dense(call: BoundCall) -> Value:
    data = operand(argument(call, "inputs"))
    units = integer(argument(call, "units", "num_outputs"))
    shape = data.type.shape
    if shape is not None and len(shape) < 2:
        raise OperationError(
            ErrorKind.RANK, f"layers.dense: inputs of shape {format_shape(shape)} need at least 2 axes", ("inputs",)
        )
    return result(data.type.dtype, None if shape is None else (*shape[:-1], units))


def _flatten(call: BoundCall) -> Value:
    data = operand(argument(call, "inputs"))
    shape = data.type.shape
    if not shape:
        return result(data.type.dtype, (None, None))
    return result(data.type.dtype, (shape[0], element_count(shape[1:])))


def _pair(value: Value | None, rank: int) -> tuple[Dim, ...]:
    single = integer(value)
    if single is not None or is_none(value):
        return (1 if single is None else single,) * rank
    several = shape_argument(value)
    return several if several is not None and len(several) == rank else (None,) * rank


def _layer_window(rank: int, *, pooling: bool) -> OperationRule:
    """`tf.layers.conv2d` and `tf.layers.max_pooling2d`, and those for other ranks."""

    def rule(call: BoundCall) -> Value:
        data = operand(argument(call, "inputs"))
        shape = data.type.shape
        if shape is not None and len(shape) != rank + 2:
            raise OperationError(
                ErrorKind.RANK,
                f"layers: inputs of shape {format_shape(shape)} have rank {len(shape)}, not {rank + 2}",
                ("inputs",),
            )
        known: tuple[Dim, ...] = (None,) * (rank + 2) if shape is None else shape
        layout = call.argument("data_format")
        first = layout == Constant("channels_first")
        if not first and layout is not None and layout != Constant("channels_last"):
            return result(data.type.dtype, (None,) * (rank + 2))
        windows = _pair(argument(call, "pool_size" if pooling else "kernel_size"), rank)
        strides = _pair(argument(call, "strides"), rank)
        dilations = (1,) * rank if pooling else _pair(argument(call, "dilation_rate"), rank)
        padding = call.argument("padding")
        name = padding.value.lower() if isinstance(padding, Constant) and isinstance(padding.value, str) else None
        if padding is None:
            name = "valid"
        axes = range(2, rank + 2) if first else range(1, rank + 1)
        sizes = [
            window_output(known[axis], windows[number], strides[number], name, dilations[number])
            for number, axis in enumerate(axes)
        ]
        channels: Dim = known[1 if first else -1] if pooling else integer(argument(call, "filters"))
        made: Shape = (known[0], channels, *sizes) if first else (known[0], *sizes, channels)
        return result(data.type.dtype, made)

    return rule


def _where(call: BoundCall) -> Value:
    first = call.argument("x")
    if is_none(first):
        return _SUCCESSORS["tensorflow.where"](call)
    left, right = operand(first), operand(call.argument("y"))
    shape = left.type.shape if left.type.shape is not None else right.type.shape
    return result(left.type.dtype or right.type.dtype, shape)


def _inputs(call: BoundCall) -> Value:
    data = operand(argument(call, "inputs"))
    return result(data.type.dtype, data.type.shape)


_GRAPH_OBJECTS: Final = (
    "global_variables_initializer local_variables_initializer initialize_all_variables tables_initializer variables_initializer "
    "get_default_graph "
    "get_default_session variable_scope get_variable_scope "
    "reset_default_graph "
    "disable_v2_behavior enable_v2_behavior enable_eager_execution disable_eager_execution enable_resource_variables "
    "disable_resource_variables add_to_collection get_collection get_collection_ref global_variables trainable_variables local_variables "
    "model_variables moving_average_variables summary.merge_all summary.merge logging.info logging.set_verbosity logging.warn "
    "logging.warning logging.error logging.debug train.start_queue_runners train.summary_iterator is_variable_initialized "
    "report_uninitialized_variables enable_control_flow_v2 disable_control_flow_v2 enable_tensor_equality disable_tensor_equality "
    "wrap_function no_regularizer add_check_numerics_ops"
)
_NONE_RESULTS: Final = frozenset(
    name
    for name in _GRAPH_OBJECTS.split()
    if name.startswith(("disable", "enable", "logging", "reset", "add_to", "app."))
)

_OWN: Final[dict[str, OperationRule]] = {
    "placeholder": _placeholder,
    "placeholder_with_default": _placeholder_with_default,
    "get_variable": _get_variable,
    "get_local_variable": _get_variable,
    "div": _divide,
    "to_float": _to_dtype(FLOAT32),
    "to_double": _to_dtype(FLOAT64),
    "to_int32": _to_dtype(INT32),
    "to_int64": _to_dtype(INT64),
    **dict.fromkeys(("assign", "assign_add", "assign_sub"), _assign),
    **dict.fromkeys(("scatter_update", "scatter_add", "scatter_sub", "scatter_nd_update"), _changed),
    "Variable": variables.RULES["tensorflow.Variable"],
    "nn.softmax_cross_entropy_with_logits_v2": nn.RULES["tensorflow.nn.softmax_cross_entropy_with_logits"],
    "nn.xw_plus_b": _linear,
    "nn.relu_layer": _linear,
    "arg_max": math.RULES["tensorflow.math.argmax"],
    "arg_min": math.RULES["tensorflow.math.argmin"],
    "math.softmax": math.RULES["tensorflow.nn.softmax"],
    "math.log_softmax": math.RULES["tensorflow.nn.log_softmax"],
    "where": _where,
    "space_to_depth": array.RULES["tensorflow.nn.space_to_depth"],
    "verify_tensor_all_finite": _keep,
    "random_poisson": lambda call: result(
        tensor_dtype(call.argument("dtype")) if not is_none(call.argument("dtype")) else FLOAT32
    ),
    "multinomial": random.RULES["tensorflow.random.categorical"],
    "train.get_or_create_global_step": lambda call: variable(INT64, ()),
    "train.get_global_step": lambda call: variable(INT64, ()),
    "train.create_global_step": lambda call: variable(INT64, ()),
    "train.global_step": lambda call: NOT_A_TENSOR,
    "layers.dense": _dense,
    "layers.flatten": _flatten,
    "layers.dropout": _inputs,
    "layers.batch_normalization": _inputs,
    **{f"layers.conv{rank}d": _layer_window(rank, pooling=False) for rank in (1, 2, 3)},
    **{
        f"layers.{kind}_pooling{rank}d": _layer_window(rank, pooling=True)
        for kind in ("max", "average")
        for rank in (1, 2, 3)
    },
}


def _graph_object(name: str) -> OperationRule:
    return (lambda call: NONE) if name in _NONE_RESULTS else control.opaque


RULES: Final[Mapping[str, OperationRule]] = {
    **_inherited(),
    **table(_OWN, prefix="tensorflow.compat.v1."),
    **{f"tensorflow.compat.v1.{name}": _graph_object(name) for name in _GRAPH_OBJECTS.split()},
    "tensorflow.compat.v1.Session.run": _run,
    "tensorflow.compat.v1.InteractiveSession.run": _run,
    "tensorflow.compat.v1.trainable_variables": lambda call: FrozenList(None, variable(None, None)),
    "tensorflow.compat.v1.global_variables": lambda call: FrozenList(None, variable(None, None)),
    "tensorflow.compat.v1.local_variables": lambda call: FrozenList(None, variable(None, None)),
}
