"""Classes of Python, NumPy and TensorFlow: their instances, and the special methods that functions call.

Computes: nothing. Gives: tables by canonical name, and queries about them.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN_BOOL,
    UNKNOWN_FLOAT,
    UNKNOWN_INT,
    UNKNOWN_STR,
    UNKNOWN_TENSOR,
    DTypeValue,
    PythonType,
    Scalar,
    ShapeValue,
    TensorKind,
    TensorValue,
    Value,
)

CLASSES_OF_TYPES: Final = {
    PythonType.INT: {
        "builtins.int",
        "numbers.Number",
        "numbers.Integral",
        "numbers.Real",
        "numbers.Rational",
        "numbers.Complex",
    },
    PythonType.BOOL: {"builtins.bool", "builtins.int", "numbers.Number", "numbers.Integral", "numbers.Real"},
    PythonType.FLOAT: {"builtins.float", "numbers.Number", "numbers.Real", "numbers.Complex"},
    PythonType.COMPLEX: {"builtins.complex", "numbers.Number", "numbers.Complex"},
    PythonType.STR: {"builtins.str"},
    PythonType.BYTES: {"builtins.bytes"},
}
CLASSES_OF_SEQUENCES: Final = {
    "collections.abc.Sequence",
    "collections.abc.Iterable",
    "collections.abc.Collection",
    "collections.abc.Sized",
    "typing.Sequence",
    "typing.Iterable",
    "collections.abc.Container",
}
VALUES_OF_CLASSES: Final[dict[str, Value | None]] = {
    "builtins.int": UNKNOWN_INT,
    "builtins.float": UNKNOWN_FLOAT,
    "builtins.bool": UNKNOWN_BOOL,
    "builtins.str": UNKNOWN_STR,
    "builtins.bytes": Scalar(PythonType.BYTES),
    "builtins.complex": Scalar(PythonType.COMPLEX),
    "types.NoneType": NONE,
    "numpy.ndarray": TensorValue(TensorType(), TensorKind.NDARRAY),
    "tensorflow.Tensor": UNKNOWN_TENSOR,
    "tensorflow.types.experimental.Tensor": UNKNOWN_TENSOR,
    "tensorflow.Variable": TensorValue(TensorType(), TensorKind.VARIABLE),
    "tensorflow.sparse.SparseTensor": TensorValue(TensorType(), TensorKind.SPARSE),
    "tensorflow.RaggedTensor": TensorValue(TensorType(), TensorKind.RAGGED),
    "keras.KerasTensor": TensorValue(TensorType(), TensorKind.KERAS),
    "tensorflow.TensorShape": ShapeValue(None),
    "tensorflow.dtypes.DType": DTypeValue(None),
    "typing.Any": None,
    "builtins.object": None,
}
"""The values that follow from a class alone; None for classes of all objects."""
CLASSES_OF_FUNCTIONS: Final = frozenset(
    {"types.FunctionType", "types.MethodType", "collections.abc.Callable", "typing.Callable", "builtins.object"}
)
TUPLE: Final = "builtins.tuple"
SEQUENCES: Final = frozenset({"builtins.list", TUPLE, "builtins.str", "builtins.range"})
TENSOR_CLASSES_OF_TESTS: Final = frozenset({"tensorflow.Tensor", "tensorflow.types.experimental.Tensor"})
"""The classes that `isinstance` tests for to find tensors."""
VALUES_OF_CONVERTERS: Final[dict[str, Value]] = {
    "builtins.int": UNKNOWN_INT,
    "builtins.float": UNKNOWN_FLOAT,
    "builtins.str": UNKNOWN_STR,
    "builtins.bool": UNKNOWN_BOOL,
}
"""The values of an option with such a `type`."""
ARRAY_ALIASES: Final = frozenset({"tensorflow.types.experimental.TensorLike", "numpy.typing.ArrayLike"})
NUMPY_ARRAY: Final = "numpy.typing.NDArray"
NUMPY_CLASS: Final = "numpy.ndarray"
QUALIFIERS: Final = frozenset({"typing.Annotated", "typing.Final", "typing.ClassVar"})
"""Generics that declare their first argument."""
TUPLES: Final = frozenset({"typing.Tuple", TUPLE})
GENERIC_SEQUENCES: Final = frozenset(
    {
        *("typing.List", "typing.Sequence", "typing.Iterable", "typing.Collection"),
        *("collections.abc.Sequence", "collections.abc.Iterable", "builtins.list"),
    }
)
CALLABLE_TYPE: Final = "typing.Callable"


def are_indistinct(owner: str, cls: str) -> bool:
    """Classes of tensors whose instances the analysis does not distinguish (eager, symbolic, variables)."""
    family = ("tensorflow.", "keras.", "numpy.")
    return owner.startswith(family) and cls.startswith(family) and "types.experimental" in cls


SPECIAL_METHODS: Final = {
    "builtins.int": ("__int__", "__index__", "__trunc__"),
    "builtins.float": ("__float__", "__index__"),
    "builtins.complex": ("__complex__", "__float__", "__index__"),
    "builtins.bool": ("__bool__", "__len__"),
    "builtins.str": ("__str__", "__repr__"),
    "builtins.repr": ("__repr__",),
    "builtins.ascii": ("__repr__",),
    "builtins.print": ("__str__", "__repr__"),
    "builtins.format": ("__format__", "__str__", "__repr__"),
    "builtins.bytes": ("__bytes__",),
    "builtins.abs": ("__abs__",),
    "builtins.round": ("__round__",),
    "builtins.hash": ("__hash__",),
    "builtins.dir": ("__dir__",),
    "builtins.divmod": ("__divmod__",),
    "builtins.pow": ("__pow__",),
    "builtins.reversed": ("__reversed__",),
    "builtins.hex": ("__index__",),
    "builtins.bin": ("__index__",),
    "builtins.chr": ("__index__",),
    "copy.copy": ("__copy__",),
    "copy.deepcopy": ("__deepcopy__",),
    "math.trunc": ("__trunc__",),
    "math.floor": ("__floor__",),
    "math.ceil": ("__ceil__",),
    "operator.index": ("__index__",),
    "operator.abs": ("__abs__",),
    "operator.neg": ("__neg__",),
    "operator.length_hint": ("__length_hint__",),
    "os.fspath": ("__fspath__",),
}
"""The special methods that a function looks up on its first argument, in this order."""
FORMATTING: Final = SPECIAL_METHODS["builtins.format"]
