"""`isinstance`, and instances known only by their class.

Computes: three-valued instance tests; the value of a parameter annotated with a class. Needs: class lookup and the
registry. Gives: `is_instance`, `value_of_class`.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.classes import class_of_instance, definitely_subclass, find_in_class, resolution_order
from terra_refactor.analysis.engine import Heap, Site
from terra_refactor.analysis.frames import Frame
from terra_refactor.domain.lattice import python_type
from terra_refactor.domain.state import VIRTUAL
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN_BOOL,
    UNKNOWN_FLOAT,
    UNKNOWN_INT,
    UNKNOWN_STR,
    UNKNOWN_TENSOR,
    BoundMethod,
    Constant,
    DTypeValue,
    FunctionValue,
    LibraryValue,
    PartialValue,
    PythonType,
    Reference,
    Scalar,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.numpy_dtypes import scalar_is_instance

_NUMBER_CLASSES: Final = {
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
_SEQUENCE_CLASSES: Final = {
    "collections.abc.Sequence",
    "collections.abc.Iterable",
    "collections.abc.Collection",
    "collections.abc.Sized",
    "typing.Sequence",
    "typing.Iterable",
    "collections.abc.Container",
}
_PLAIN: Final[dict[str, Value | None]] = {
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


def value_of_class(cls: Value) -> Value | None:
    """The value that follows from the library class alone; None if unknown."""
    if isinstance(cls, LibraryValue):
        return _PLAIN.get(cls.name)
    return None


_STRATEGY: Final = "tensorflow.distribute.Strategy"
"""The class of the result of `tf.distribute.get_strategy()`, or its base class."""


def _has_other_instances(frame: Frame, cls: Reference) -> bool:
    """Whether objects of unrelated classes may count as instances of a class: `A.register(B)`, `__instancecheck__`."""
    if frame.state.get((cls.object, VIRTUAL)) is not None or find_in_class(frame, cls, "__subclasshook__") is not None:
        return True
    metaclass = find_in_class(frame, cls, "__metaclass__")
    return (
        metaclass is not None
        and isinstance(metaclass[0], Reference)
        and find_in_class(frame, metaclass[0], "__instancecheck__") is not None
    )


def is_instance(site: Site, value: Value, cls: Value) -> bool | None:
    """`isinstance(value, cls)` for one alternative of the value; None if unknown."""
    frame = site.frame
    if isinstance(cls, TupleValue | UnionValue):
        alternatives = cls.elements if isinstance(cls, TupleValue) else cls.members
        answers = [is_instance(site, value, alternative) for alternative in alternatives]
        if isinstance(cls, TupleValue):
            return True if True in answers else None if None in answers else False
        return answers[0] if len(set(answers)) == 1 else None
    if isinstance(cls, PartialValue):
        if cls.function in (LibraryValue("typing.Union"), LibraryValue("typing.Optional")):
            inner = (*cls.arguments, *([NONE] if cls.function == LibraryValue("typing.Optional") else []))
            return is_instance(site, value, TupleValue(inner))
        return is_instance(site, value, cls.function)
    if isinstance(value, UnknownValue) or isinstance(cls, UnknownValue):
        return None
    if cls == NONE:
        return value == NONE
    kind = python_type(value)
    if kind is not None:
        if isinstance(cls, Reference):
            # the value of an enumeration member is used for the member itself here
            bases = resolution_order(frame, cls)
            return None if any(isinstance(base, LibraryValue) and _is_of_enum(base.name) for base in bases) else False
        name = cls.name if isinstance(cls, LibraryValue) else ""
        if _is_of_enum(name):
            return None
        if name in _NUMBER_CLASSES[kind]:
            return True
        if name == "builtins.object" or (kind is PythonType.STR and name in _SEQUENCE_CLASSES):
            return True
        if name.startswith("builtins.") or registry.lookup(name) is not None:
            return False
        return None
    if value == NONE:
        return cls == LibraryValue("builtins.object") or cls == LibraryValue("types.NoneType")
    own = class_of_instance(frame, value)
    if own is not None:
        answers = [
            None if _may_be_of_subclass(candidate, cls) else definitely_subclass(frame, candidate, cls)
            for candidate in members(own)
        ]
        if isinstance(cls, Reference) and True not in answers and _has_other_instances(frame, cls):
            return None
        return answers[0] if len(set(answers)) == 1 else None
    if isinstance(cls, Reference):
        return (
            False
            if isinstance(value, Constant | Scalar | TensorValue | TupleValue | FunctionValue | BoundMethod)
            else None
        )
    if not isinstance(cls, LibraryValue):
        return None
    if isinstance(value, TensorValue) and value.kind is TensorKind.NUMPY_SCALAR:
        return scalar_is_instance(value.type.dtype, cls.name)
    owner = _library_class(site.engine, value)
    if owner is None:
        if isinstance(value, FunctionValue | BoundMethod):
            return cls.name in (
                "types.FunctionType",
                "types.MethodType",
                "collections.abc.Callable",
                "typing.Callable",
                "builtins.object",
            )
        return None
    if registry.is_library_subclass(owner, cls.name):
        return True
    if cls.name in _SEQUENCE_CLASSES:
        return owner in ("builtins.list", "builtins.tuple", "builtins.str", "builtins.range") or None
    if registry.lookup(owner) is None or registry.lookup(cls.name) is None:
        return None if not owner.startswith("builtins.") or not cls.name.startswith("builtins.") else False
    if _overlapping(owner, cls.name):
        return None
    return False


def _may_be_of_subclass(own: Value, cls: Value) -> bool:
    """Whether a value declared as an instance of a base class may be an instance of this subclass."""
    return own == LibraryValue(_STRATEGY) and (
        not isinstance(cls, LibraryValue) or (cls != own and registry.is_library_subclass(cls.name, _STRATEGY))
    )


def _is_of_enum(name: str) -> bool:
    return name.startswith("enum.")


def _overlapping(owner: str, cls: str) -> bool:
    """Classes of tensors whose instances the analysis does not distinguish (eager, symbolic, variables)."""
    family = ("tensorflow.", "keras.", "numpy.")
    return owner.startswith(family) and cls.startswith(family) and "types.experimental" in cls


def _library_class(engine: Heap, value: Value) -> str | None:
    if isinstance(value, Reference):
        return engine.objects.facts[value.object].container_class
    if isinstance(value, TupleValue):
        return "builtins.tuple"
    return registry.class_of(value)
