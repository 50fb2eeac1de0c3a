"""Rules for `tf.random`: draws by shape and dtype, stateless and by generators. Gives: `RULES`. Source: `tf.random`, TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dtype import FLOAT32, INT32, INT64
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.value import NONE, NOT_A_TENSOR, Constant, Scalar, Value
from terra_refactor.tf_model.arguments import integer, is_none, shape_argument
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import argument, call_name, result, table
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _draw(*parameters: str) -> OperationRule:
    """A draw of `shape`, to which the distribution parameters must broadcast."""

    def rule(call: BoundCall) -> Value:
        wanted = call.argument("dtype")
        dtype = FLOAT32 if is_none(wanted) else tensor_dtype(wanted)
        shape = _drawn_shape(call)
        if call.name.endswith("uniform") and call.name.startswith("tensorflow.random.Generator") and is_none(wanted):
            dtype = None if not is_none(call.argument("maxval")) else FLOAT32
        for name in parameters:
            given = call.argument(name)
            if is_none(given) or shape is None:
                continue
            part = operand(given)
            shape = broadcast_shapes(shape, part.type.shape, call_name(call), ("shape", name)) if part.known else None
        return result(dtype, shape)

    return rule


def _drawn_shape(call: BoundCall) -> Shape:
    """The shape to draw. Raises OperationError for a number, which other functions accept as a shape of one axis."""
    given = call.argument("shape")
    if isinstance(given, Constant | Scalar) and not is_none(given):
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: the shape is a number, and must be a list, a tuple or a vector",
            ("shape",),
        )
    return shape_argument(given)


def _appended(*parameters: str) -> OperationRule:
    """A draw of `shape` for each parameter of the distribution (`tf.random.gamma`): `shape` and then the parameters' shape."""

    def rule(call: BoundCall) -> Value:
        shape = _drawn_shape(call)
        each: Shape = ()
        dtype = None
        for name in parameters:
            given = call.argument(name)
            if is_none(given):
                continue
            part = operand(given)
            each = broadcast_shapes(each, part.type.shape, call_name(call), parameters) if part.known else None
            dtype = dtype or (part.type.dtype if part.is_tensor else None)
        wanted = call.argument("dtype")
        dtype = FLOAT32 if is_none(wanted) else tensor_dtype(wanted)
        return result(dtype, None if shape is None or each is None else (*shape, *each))

    return rule


def _stateless_parameterized(call: BoundCall) -> Value:
    wanted = argument(call, "dtype", "output_dtype")
    return result(None if wanted is None else tensor_dtype(wanted), shape_argument(call.argument("shape")))


def _categorical(call: BoundCall) -> Value:
    logits = operand(call.argument("logits"))
    wanted = argument(call, "dtype", "output_dtype")
    dtype = INT64 if wanted is None else tensor_dtype(wanted)
    shape = logits.type.shape
    if shape is not None and len(shape) != 2:
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: logits have shape {format_shape(shape)}, not 2 axes",
            ("logits",),
        )
    return result(dtype, (None if shape is None else shape[0], integer(call.argument("num_samples"))))


def _shuffle(call: BoundCall) -> Value:
    data = operand(call.argument("value"))
    return result(data.type.dtype, data.type.shape)


def _split(call: BoundCall) -> Value:
    seed = operand(call.argument("seed"))
    return result(seed.type.dtype if seed.is_tensor else INT32, (integer(call.argument("num")), 2))


def _fold_in(call: BoundCall) -> Value:
    seed = operand(call.argument("seed"))
    return result(seed.type.dtype if seed.is_tensor else INT32, (2,))


RULES: Final[Mapping[str, OperationRule]] = {
    **table(
        {
            "random.uniform": _draw("minval", "maxval"),
            "random.normal": _draw("mean", "stddev"),
            "random.truncated_normal": _draw("mean", "stddev"),
            "random.stateless_uniform": _draw("minval", "maxval"),
            "random.stateless_normal": _draw("mean", "stddev"),
            "random.stateless_truncated_normal": _draw("mean", "stddev"),
            "random.Generator.make_seeds": lambda call: result(INT64, (2, integer(call.argument("count")))),
            "random.Generator.uniform": _draw("minval", "maxval"),
            "random.Generator.normal": _draw("mean", "stddev"),
            "random.Generator.truncated_normal": _draw("mean", "stddev"),
            "random.gamma": _appended("alpha", "beta"),
            "random.poisson": _appended("lam"),
            "random.stateless_gamma": _stateless_parameterized,
            "random.stateless_poisson": _stateless_parameterized,
            "random.stateless_binomial": _stateless_parameterized,
            "random.stateless_parameterized_truncated_normal": _stateless_parameterized,
            "random.categorical": _categorical,
            "random.stateless_categorical": _categorical,
            "random.shuffle": _shuffle,
            "random.experimental.stateless_shuffle": _shuffle,
            "random.split": _split,
            "random.fold_in": _fold_in,
        }
    ),
    "tensorflow.random.set_seed": lambda call: NONE,
    "tensorflow.compat.v1.set_random_seed": lambda call: NONE,
    "tensorflow.random.get_global_generator": lambda call: NOT_A_TENSOR,
}
