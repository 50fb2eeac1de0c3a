"""The common part of layer rules: the settings of the layer, its inputs, and the steps of `Layer.__call__` before
`call`.

Computes: nothing. Gives: `Settings`, `layer_inputs`, `input_types`, `single_input` and the checks of ranks and sizes
that layers share. Assumes: the default dtype policy, `float32`, unless the layer has its own: a rule does not see
global policies.

Source: Keras's `Layer.__call__` (floating-point inputs are cast to the compute dtype, others are unchanged) and
`InputSpec`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import FLOAT32, FLOATING, DType
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import FrozenList, TensorKind, TensorValue, TupleValue, Value
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.releases import KERAS, Behaviour
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


@dataclass(frozen=True, slots=True)
class Settings:
    """The arguments of a layer's constructor."""

    values: Mapping[str, Value]

    def get(self, name: str) -> Value | None:
        """The value of one constructor argument; None if it was not passed and has no plain default."""
        return self.values.get(name)

    def integer(self, name: str) -> Dim:
        """An int setting; None if unknown."""
        return read.size(self.values.get(name))

    def truth(self, name: str, default: bool | None = None) -> bool | None:
        """A bool setting; `default` if the constructor's signature has no default."""
        return read.truth(self.values[name]) if name in self.values else default

    def text(self, name: str, default: str | None = None) -> str | None:
        """A string setting in lower case; `default` if it is absent or None."""
        value = self.values.get(name)
        if read.is_none(value):
            return default
        known = read.text(value)
        return None if known is None else known.lower()

    def sizes(self, name: str, rank: int, default: Dim = None) -> tuple[Dim, ...]:
        """A setting that is one int or an int for each spatial axis; `default` for each if it is absent or None."""
        value = self.values.get(name)
        if read.is_none(value):
            return (default,) * rank
        return read.size_tuple(value, rank)

    def channels_first(self) -> bool | None:
        """Whether `data_format` is `channels_first`; the default is `channels_last`."""
        layout = self.text("data_format", "channels_last")
        return None if layout is None else layout == "channels_first"

    def has_layout(self) -> bool:
        """Whether `data_format` is given; otherwise Keras's configuration decides."""
        return not read.is_none(self.values.get("data_format"))

    def compute_dtype(self) -> DType | None:
        """The dtype in which a layer computes."""
        value = self.values.get("dtype")
        if read.is_none(value):
            return FLOAT32
        name = read.text(value)
        if name in ("mixed_float16", "mixed_bfloat16"):
            return DType(name.removeprefix("mixed_"))
        return read.dtype_argument(value)

    def variable_dtype(self) -> DType | None:
        """The dtype of a layer's weights."""
        if read.text(self.values.get("dtype")) in ("mixed_float16", "mixed_bfloat16"):
            return FLOAT32
        return self.compute_dtype()


ShapeRule: TypeAlias = Callable[[Settings, Shape], Shape]
"""From a layer's settings and the shape of its input to the shape of its output."""


class ResultDType(Enum):
    """The dtype of a layer's output as a function of its input's dtype."""

    COMPUTE = "compute"
    """The compute dtype, regardless of the input."""
    INPUT = "input"
    """The dtype of the input, after the cast of floating-point inputs."""
    FLOATING = "floating"
    """The compute dtype for floating-point inputs, unknown for others."""


INPUT_NAMES: Final = ("inputs", "x", "input", "sequences", "sequence", "images", "data", "input_tensor", "query")


def layer_inputs(call: BoundCall) -> Value | None:
    """The first argument of a layer call, under any name."""
    return read.first_of(call, *INPUT_NAMES)


def call_argument(call: BoundCall, name: str, position: int) -> Value | None:
    """An argument of a layer's `call` by name or by its position after `self`."""
    return read.method_argument(call, name, position)


def is_dense_input(value: Value | None) -> bool:
    """False for values that a layer treats specially: sparse and ragged tensors."""
    return not (isinstance(value, TensorValue) and value.kind in (TensorKind.SPARSE, TensorKind.RAGGED))


def cast_input(settings: Settings, value: Value | None) -> TensorType:
    """The type of an input after `Layer.__call__` converted it: floating-point inputs get the compute dtype."""
    tensor_type = read.converted_type(value)
    if tensor_type.dtype in FLOATING and settings.truth("autocast", True):
        return TensorType(settings.compute_dtype(), tensor_type.shape)
    if tensor_type.dtype in FLOATING:
        return TensorType(None, tensor_type.shape)
    return tensor_type


def output_kind(value: Value | None) -> TensorKind:
    """The kind of the output: symbolic for symbolic inputs."""
    flat = read.leaves(value) if value is not None else None
    symbolic = any(isinstance(leaf, TensorValue) and leaf.kind is TensorKind.KERAS for leaf in flat or ())
    return TensorKind.KERAS if symbolic else TensorKind.TENSOR


def input_list(value: Value | None) -> tuple[Value, ...] | None:
    """The inputs of a layer that takes several: a list or tuple of known length."""
    return value.elements if isinstance(value, TupleValue | FrozenList) else None


def layer_name(call: BoundCall) -> str:
    """The name of a layer's class, or of the function, for messages: `Dense`."""
    return call.name.removesuffix(".__call__").rpartition(".")[2]


_CONVOLUTIONS: Final = ("Conv1D", "Conv2D", "Conv3D")
_TAKES_MORE: Final = Behaviour(KERAS, "3", "Keras 2 merges the leading axes into the batch")


def require_rank(call: BoundCall, shape: Shape, *, exactly: int | None = None, at_least: int | None = None) -> None:
    """Raises OperationError if the input's rank certainly differs from the one that the layer accepts (`InputSpec`)."""
    if shape is None:
        return
    if exactly is not None and len(shape) != exactly:
        raise OperationError(
            ErrorKind.RANK,
            f"{layer_name(call)} takes an input of rank {exactly}, but got rank {len(shape)}: {format_shape(shape)}",
            ("inputs",),
            _TAKES_MORE if len(shape) > exactly and layer_name(call) in _CONVOLUTIONS else None,
        )
    if at_least is not None and len(shape) < at_least:
        raise OperationError(
            ErrorKind.RANK,
            f"{layer_name(call)} takes an input of rank {at_least} or more, but got rank {len(shape)}: {format_shape(shape)}",
            ("inputs",),
        )


def result_dtype(settings: Settings, input_type: TensorType, kind: ResultDType) -> DType | None:
    """The dtype of a layer's output."""
    if kind is ResultDType.COMPUTE:
        return settings.compute_dtype()
    if kind is ResultDType.INPUT or input_type.dtype in FLOATING:
        return input_type.dtype
    return None


def single_input(
    shape_rule: ShapeRule,
    *,
    dtype: ResultDType = ResultDType.FLOATING,
    rank: int | None = None,
    min_rank: int | None = None,
) -> OperationRule:
    """The rule of a layer with one input tensor.

    Args:
        shape_rule: computes the output shape; raises OperationError if the layer certainly fails.
        dtype: how the output's dtype is determined.
        rank: the only rank that the layer accepts.
        min_rank: the minimum rank that the layer accepts.
    """

    def rule(call: BoundCall) -> Value:
        settings = Settings(call.configuration)
        value = layer_inputs(call)
        if not is_dense_input(value):
            return read.tensor(None, None)
        # the conversion of a list differs between Keras versions: converted, unwrapped or rejected
        listed = read.is_sequence(value)
        input_type = TensorType() if listed else cast_input(settings, value)
        require_rank(call, input_type.shape, exactly=rank, at_least=min_rank)
        shape = shape_rule(settings, input_type.shape)
        return read.tensor(result_dtype(settings, input_type, dtype), None if listed else shape, output_kind(value))

    return rule


def same_shape(settings: Settings, shape: Shape) -> Shape:
    """The shape rule of element-wise layers."""
    return shape
