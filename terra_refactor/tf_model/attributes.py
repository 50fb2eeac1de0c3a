"""Attributes of instances of TensorFlow, Keras and Python classes whose values follow from the receiver's type.

Computes: the abstract value of an attribute from the receiver alone. Gives: `ATTRIBUTES` (those of layers, optimizers and metrics are in
`keras`, of arrays in `numpy_api`, of shapes, dtypes and specs in `ops.creation`), and `SETTING_ATTRIBUTES`: attributes that return a
constructor argument. Source: the documentation of `tf.Tensor`, `tf.Variable`, `tf.Module`, and the behaviour of eager tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, Why, add, loaded, opened
from terra_refactor.domain.dtype import INT64, STRING
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import content_roots, with_first_open
from terra_refactor.domain.value import (
    NOT_A_TENSOR,
    UNKNOWN,
    UNKNOWN_BOOL,
    UNKNOWN_FLOAT,
    UNKNOWN_INT,
    UNKNOWN_STR,
    Constant,
    DTypeValue,
    FrozenList,
    PythonType,
    Scalar,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.ops.conversion import size_content
from terra_refactor.tf_model.ops.ragged import flat_values_of, inner_values_of

STRATEGY: Final = "tensorflow.distribute"
"""Source of the sizes that a program's distribution strategy determines."""
REPLICAS: Final = loaded(STRATEGY, "replicas")
"""The number of replicas of a program's distribution strategy."""
_VARIABLES: Final = FrozenList(None, TensorValue(TensorType(), TensorKind.VARIABLE))


def _always(value: Value) -> Callable[[Value], Value]:
    return lambda receiver: value


def _shape(receiver: Value) -> Value:
    return ShapeValue(receiver.type.shape, receiver.traced) if isinstance(receiver, TensorValue) else UNKNOWN


def _keras_shape(receiver: Value) -> Value:
    """The shape of Keras variables and symbolic tensors: a tuple, with None for unknown sizes."""
    if not isinstance(receiver, TensorValue) or receiver.type.shape is None:
        return NOT_A_TENSOR
    sizes = receiver.type.shape
    if any(size is not None and not isinstance(size, int) for size in sizes):
        return NOT_A_TENSOR
    return TupleValue(tuple(Constant(size if isinstance(size, int) else None) for size in sizes))


def _dtype(receiver: Value) -> Value:
    return DTypeValue(receiver.type.dtype) if isinstance(receiver, TensorValue) else DTypeValue(None)


def _dtype_name(receiver: Value) -> Value:
    """Keras returns dtypes as strings."""
    if isinstance(receiver, TensorValue) and receiver.type.dtype is not None and receiver.type.dtype != STRING:
        return Constant(str(receiver.type.dtype))
    return UNKNOWN_STR


def _rank(receiver: Value) -> Value:
    if isinstance(receiver, TensorValue) and receiver.type.shape is not None:
        return Constant(len(receiver.type.shape))
    return UNKNOWN_INT


def _type(receiver: Value) -> TensorType:
    return receiver.type if isinstance(receiver, TensorValue) else TensorType()


def _flat_values(receiver: Value) -> Value:
    """All values of a ragged tensor, concatenated."""
    if not isinstance(receiver, TensorValue):
        return TensorValue(TensorType())
    return with_first_open(flat_values_of(receiver), content_roots(receiver), Why.CONTENT)


def _count(receiver: Value) -> Dim:
    """The number of values of a sparse or ragged tensor."""
    return opened(None, content_roots(receiver), Why.CONTENT)


def _values(receiver: Value) -> Value:
    """The values without the outermost partition, ragged or dense."""
    found = inner_values_of(receiver) if isinstance(receiver, TensorValue) else None
    return UNKNOWN if found is None else with_first_open(found, content_roots(receiver), Why.CONTENT)


_TENSOR_ATTRIBUTES: Final[Mapping[str, Callable[[Value], Value]]] = {
    "shape": _shape,
    "dtype": _dtype,
    "ndim": _rank,
    "device": _always(UNKNOWN_STR),
    "name": _always(UNKNOWN_STR),
    "op": _always(NOT_A_TENSOR),
}

ATTRIBUTES: Final[Mapping[str, Callable[[Value], Value]]] = {
    **{
        f"{owner}.{name}": rule
        for owner in ("tensorflow.Tensor", "tensorflow.Variable", "tensorflow.RaggedTensor", "tensorflow.IndexedSlices")
        for name, rule in _TENSOR_ATTRIBUTES.items()
    },
    "tensorflow.RaggedTensor.flat_values": _flat_values,
    "tensorflow.RaggedTensor.values": _values,
    "tensorflow.RaggedTensor.row_splits": lambda receiver: TensorValue(
        TensorType(INT64, (add(shape[0], 1) if (shape := _type(receiver).shape) else None,))
    ),
    "tensorflow.RaggedTensor.ragged_rank": _always(UNKNOWN_INT),
    "tensorflow.sparse.SparseTensor.values": lambda receiver: TensorValue(
        TensorType(_type(receiver).dtype, (_count(receiver),))
    ),
    "tensorflow.sparse.SparseTensor.indices": lambda receiver: TensorValue(
        TensorType(INT64, (_count(receiver), None if (shape := _type(receiver).shape) is None else len(shape)))
    ),
    "tensorflow.sparse.SparseTensor.dense_shape": lambda receiver: TensorValue(
        TensorType(INT64, (None if (shape := _type(receiver).shape) is None else len(shape),)),
        content=None if shape is None else size_content(shape),
    ),
    "tensorflow.sparse.SparseTensor.shape": _shape,
    "tensorflow.sparse.SparseTensor.dtype": _dtype,
    "tensorflow.Variable.trainable": _always(UNKNOWN_BOOL),
    "keras.Variable.shape": _keras_shape,
    "keras.Variable.dtype": _dtype_name,
    "keras.Variable.ndim": _rank,
    "keras.Variable.name": _always(UNKNOWN_STR),
    "keras.Variable.path": _always(UNKNOWN_STR),
    "keras.Variable.trainable": _always(UNKNOWN_BOOL),
    "keras.Variable.value": lambda receiver: (
        TensorValue(receiver.type, TensorKind.VARIABLE, receiver.content, receiver.variable)
        if isinstance(receiver, TensorValue)
        else UNKNOWN
    ),
    "keras.KerasTensor.shape": _keras_shape,
    "keras.KerasTensor.dtype": _dtype_name,
    "keras.KerasTensor.ndim": _rank,
    "keras.KerasTensor.name": _always(UNKNOWN_STR),
    **{
        f"numpy.finfo.{name}": _always(TensorValue(TensorType(None, ()), TensorKind.NUMPY_SCALAR, UNKNOWN_FLOAT))
        for name in ("eps", "epsneg", "max", "min", "tiny", "resolution", "smallest_normal", "smallest_subnormal")
    },
    **{f"numpy.iinfo.{name}": _always(UNKNOWN_INT) for name in ("max", "min", "bits")},
    "tensorflow.Module.name": _always(UNKNOWN_STR),
    "tensorflow.Module.variables": _always(_VARIABLES),
    "tensorflow.Module.trainable_variables": _always(_VARIABLES),
    "tensorflow.Module.non_trainable_variables": _always(_VARIABLES),
    "tensorflow.Module.submodules": _always(NOT_A_TENSOR),
    "tensorflow.distribute.Strategy.num_replicas_in_sync": _always(Scalar(PythonType.INT, REPLICAS)),
    "tensorflow.distribute.ReplicaContext.num_replicas_in_sync": _always(Scalar(PythonType.INT, REPLICAS)),
    "tensorflow.train.CheckpointManager.latest_checkpoint": _always(NOT_A_TENSOR),
    "tensorflow.train.CheckpointManager.checkpoints": _always(FrozenList(None, UNKNOWN_STR)),
    "tensorflow.train.Checkpoint.save_counter": _always(
        TensorValue(TensorType(None, ()), TensorKind.VARIABLE),
    ),
    "keras.callbacks.History.history": _always(NOT_A_TENSOR),
    "keras.callbacks.History.epoch": _always(FrozenList(None, UNKNOWN_INT)),
    "datetime.datetime.year": _always(UNKNOWN_INT),
    "datetime.timedelta.seconds": _always(UNKNOWN_INT),
    "pathlib.PurePath.name": _always(UNKNOWN_STR),
    "pathlib.PurePath.stem": _always(UNKNOWN_STR),
    "pathlib.PurePath.suffix": _always(UNKNOWN_STR),
    "builtins.int.real": lambda receiver: receiver,
    "builtins.int.imag": _always(Constant(0)),
    "builtins.float.real": lambda receiver: receiver,
    "builtins.float.imag": _always(Constant(0.0)),
    "builtins.complex.real": _always(UNKNOWN_FLOAT),
    "builtins.complex.imag": _always(UNKNOWN_FLOAT),
}
"""By canonical name of class and attribute."""


SETTING_ATTRIBUTES: Final = words(
    "units filters rate use_bias return_sequences return_state go_backwards stateful unroll input_dim output_dim "
    "mask_zero num_heads key_dim epsilon center scale momentum groups beta_1 beta_2 amsgrad n stddev"
)
"""Attributes of Keras layers and optimizers that hold the constructor's argument of the same name unchanged."""


def setting_attribute(name: str, configuration: Mapping[str, Value]) -> Value | None:
    """The value of an attribute of a Keras layer or optimizer that keeps a constructor argument; None for other
    attributes, or if unknown.
    """
    value = configuration.get(name) if name in SETTING_ATTRIBUTES else None
    return value if isinstance(value, Constant | Scalar) else None
