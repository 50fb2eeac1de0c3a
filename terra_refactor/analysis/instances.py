"""`isinstance`, and instances known only by their class.

Computes: three-valued instance tests; the value of a parameter annotated with a class. Needs: class lookup and the
registry. Gives: `is_instance`, `value_of_class`.
"""

from __future__ import annotations

from terra_refactor.analysis.classes import class_of_instance, definitely_subclass, find_in_class, resolution_order
from terra_refactor.analysis.engine import Heap, Site
from terra_refactor.analysis.frames import Frame
from terra_refactor.domain.lattice import python_type
from terra_refactor.domain.state import VIRTUAL
from terra_refactor.domain.value import (
    NONE,
    BoundMethod,
    Constant,
    FunctionValue,
    LibraryValue,
    PartialValue,
    PythonType,
    Reference,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.class_names import (
    NONE_TYPE,
    OBJECT,
    OPTIONAL_TYPE,
    REPLICATING,
    UNION,
    is_builtin,
    is_of_enum,
)
from terra_refactor.tf_model.numpy_dtypes import scalar_is_instance
from terra_refactor.tf_model.python_classes import (
    CLASSES_OF_FUNCTIONS,
    CLASSES_OF_SEQUENCES,
    CLASSES_OF_TYPES,
    SEQUENCES,
    TUPLE,
    VALUES_OF_CLASSES,
    are_indistinct,
)


def value_of_class(cls: Value) -> Value | None:
    """The value that follows from the library class alone; None if unknown."""
    if isinstance(cls, LibraryValue):
        return VALUES_OF_CLASSES.get(cls.name)
    return None


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
        if cls.function in (UNION, OPTIONAL_TYPE):
            inner = (*cls.arguments, *([NONE] if cls.function == OPTIONAL_TYPE else []))
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
            return None if any(isinstance(base, LibraryValue) and is_of_enum(base.name) for base in bases) else False
        name = cls.name if isinstance(cls, LibraryValue) else ""
        if is_of_enum(name):
            return None
        if name in CLASSES_OF_TYPES[kind]:
            return True
        if name == OBJECT.name or (kind is PythonType.STR and name in CLASSES_OF_SEQUENCES):
            return True
        if is_builtin(name) or registry.lookup(name) is not None:
            return False
        return None
    if value == NONE:
        return cls in (OBJECT, NONE_TYPE)
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
            return cls.name in CLASSES_OF_FUNCTIONS
        return None
    if registry.is_library_subclass(owner, cls.name):
        return True
    if cls.name in CLASSES_OF_SEQUENCES:
        return owner in SEQUENCES or None
    if registry.lookup(owner) is None or registry.lookup(cls.name) is None:
        return None if not is_builtin(owner) or not is_builtin(cls.name) else False
    if are_indistinct(owner, cls.name):
        return None
    return False


def _may_be_of_subclass(own: Value, cls: Value) -> bool:
    """Whether a value declared as an instance of a base class may be an instance of this subclass."""
    return own == LibraryValue(REPLICATING) and (
        not isinstance(cls, LibraryValue) or (cls != own and registry.is_library_subclass(cls.name, REPLICATING))
    )


def _library_class(engine: Heap, value: Value) -> str | None:
    if isinstance(value, Reference):
        return engine.objects.facts[value.object].container_class
    if isinstance(value, TupleValue):
        return TUPLE
    return registry.class_of(value)
