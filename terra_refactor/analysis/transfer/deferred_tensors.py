"""Objects that libraries convert to tensors: `tfp.util.DeferredTensor`, `tfp.util.TransformedVariable`, and subclasses.

Computes: the fields that their constructors set, and the field `AS_TENSOR`, the tensor to which the object is
converted. Needs: the heap. Gives: `DEFERRED_TENSORS`, by canonical name of the constructor as subclasses call it;
`defer`, for an instance of the classes themselves; `note_array_conversion`.

Ignores: the result of a transformation by a function: it must have the shape and dtype given to the constructor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.analysis.binding import bind_library_arguments
from terra_refactor.analysis.configuration import CONFIGURATION
from terra_refactor.analysis.effects import EXTERNAL
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.effect import Effect, EffectKind
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.state import AS_TENSOR, CLASS
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    UNKNOWN_STR,
    Constant,
    DTypeValue,
    FrozenList,
    LibraryValue,
    Reference,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.probability import BIJECTORS, DEFERRED, ELEMENTWISE, TRANSFORMED

_MAX_DEPTH: Final = 4


def defer(site: Site, instance: Reference, given: Mapping[str, Value]) -> None:
    """Sets the fields of an instance constructed with these arguments, given by parameter name."""
    frame = site.frame
    transformation = given.get("transform_fn", given.get("bijector", UNKNOWN))
    if "bijector" in given or "initial_value" in given:
        own = _of_initial_value(frame, given)
        behind = _variable_behind(site, own, transformation, given)
        frame.state.set((instance.object, "_bijector"), transformation)
    else:
        behind = given.get("pretransformed_input", UNKNOWN)
        own = _of_input(frame, behind, transformation, given)
    for name, value in (
        ("_pretransformed_input", behind),
        ("_transform_fn", transformation),
        ("_dtype", DTypeValue(own.dtype)),
        ("_shape", ShapeValue(own.shape)),
        ("_also_track", given.get("also_track", NONE)),
        ("_name", UNKNOWN_STR),
        (AS_TENSOR, TensorValue(_as_converted(own, given))),
    ):
        frame.state.set((instance.object, name), value)


def _of_initial_value(frame: Frame, given: Mapping[str, Value]) -> TensorType:
    initial = read.converted_type(freeze(frame, given.get("initial_value", UNKNOWN)))
    return TensorType(_told_dtype(given, initial.dtype), initial.shape)


def _of_input(frame: Frame, behind: Value, transformation: Value, given: Mapping[str, Value]) -> TensorType:
    source = read.converted_type(freeze(frame, behind))
    told = given.get("shape", Constant("None"))
    shape: Shape = None
    if told != Constant("None"):
        shape = read.shape_argument(freeze(frame, told))
    elif not _is_bijector(frame, transformation) or _keeps_shape(frame, transformation):
        shape = source.shape
    return TensorType(_told_dtype(given, source.dtype), shape)


def _told_dtype(given: Mapping[str, Value], otherwise: DType | None) -> DType | None:
    told = given.get("dtype", NONE)
    return otherwise if told == NONE else tensor_dtype(told)


def _variable_behind(site: Site, own: TensorType, bijector: Value, given: Mapping[str, Value]) -> Value:
    """The variable that holds the bijector's inverse of the initial value."""
    frame = site.frame
    behind = given.get("pretransformed_input", NONE)
    if behind != NONE:
        return behind
    told = given.get("shape", NONE)
    shape = own.shape if _keeps_shape(frame, bijector) else None
    number = site.allocate(ObjectKind.VARIABLE, TRANSFORMED)
    frame.add_effect(Effect(EffectKind.VARIABLE_CREATION, EXTERNAL, "tfp.util.TransformedVariable(...)", site.place()))
    declared = shape if told == NONE else read.shape_argument(freeze(frame, told))
    return TensorValue(TensorType(own.dtype, declared), TensorKind.VARIABLE, variable=number)


def _as_converted(own: TensorType, given: Mapping[str, Value]) -> TensorType:
    """The result of a conversion: a variable of a declared shape may hold values of other shapes than its first one."""
    if "initial_value" in given and given.get("shape", NONE) != NONE:
        return TensorType(own.dtype)
    return own


def _is_bijector(frame: Frame, value: Value) -> bool:
    return any(_library_class(frame, member) is not None for member in members(value))


def _keeps_shape(frame: Frame, bijector: Value, depth: int = 0) -> bool:
    """Whether the bijector certainly preserves the shape."""
    alternatives = members(bijector)
    if not alternatives or depth > _MAX_DEPTH:
        return False
    for member in alternatives:
        name = _library_class(frame, member)
        if name in ("Chain", "Invert"):
            assert isinstance(member, Reference)
            parameter = "bijectors" if name == "Chain" else "bijector"
            inner = frame.state.get((member.object, CONFIGURATION + parameter))
            content = NONE if inner is None else freeze(frame, inner)
            parts = content.elements if isinstance(content, FrozenList | TupleValue) else (content,)
            if parts is None or not all(_keeps_shape(frame, part, depth + 1) for part in parts):
                return False
        elif name not in ELEMENTWISE:
            return False
    return True


def _library_class(frame: Frame, value: Value) -> str | None:
    """The name of the bijector's class in TensorFlow Probability; None for other values."""
    cls = frame.state.get((value.object, CLASS)) if isinstance(value, Reference) else None
    if not isinstance(cls, LibraryValue) or not cls.name.startswith(BIJECTORS):
        return None
    return cls.name.removeprefix(BIJECTORS)


def initialize(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`super().__init__(...)` of a subclass."""
    name = next(iter(site.frame.call_record(site.op).library), f"{DEFERRED}.__init__").removesuffix(".__init__")
    entity = registry.lookup(name)
    if isinstance(receiver, Reference) and entity is not None:
        bound, _, keywords, _ = bind_library_arguments(entity, arguments)
        defer(site, receiver, {**bound, **keywords})
    return NONE


def note_array_conversion(site: Site, arguments: CallArguments) -> None:
    """Records that a NumPy function converts such an object by its own method, which works only in eager code."""
    frame = site.frame
    for value in (*arguments.positional, *(value for _, value in arguments.keywords)):
        for member in members(value):
            if isinstance(member, Reference) and frame.state.get((member.object, AS_TENSOR)) is not None:
                frame.call_record(site.op).library[f"{DEFERRED}.__array__"] = None


DEFERRED_TENSORS: Final = {f"{DEFERRED}.__init__": initialize, f"{TRANSFORMED}.__init__": initialize}
"""Constructors as subclasses call them."""
