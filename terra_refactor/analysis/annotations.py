"""Types of values from their annotations.

Computes: the value of a parameter or result from its evaluated annotation: classes, generics of `typing`, arrays with shapes as jaxtyping
writes them. Needs: the annotation as a value. Gives: `annotated_value`, `shape_named`.

Source: https://docs.kidger.site/jaxtyping/api/array/ for the language of shapes. Sizes computed from other sizes are unknown here.
"""

from __future__ import annotations

import re
from typing import Final

from terra_refactor.analysis.engine import Engine
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.instances import value_of_class
from terra_refactor.analysis.written_annotations import annotation_in_text, library_named
from terra_refactor.domain.dim import Dim, symbol
from terra_refactor.domain.dtype import BOOL, DType, dtype_named
from terra_refactor.domain.lattice import join, join_all
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    UNKNOWN_TENSOR,
    Constant,
    DTypeValue,
    FunctionValue,
    LibraryValue,
    PartialValue,
    Reference,
    SequenceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir.function import Function
from terra_refactor.tf_model.class_names import OPTIONAL_TYPE, UNION, builtin
from terra_refactor.tf_model.python_classes import (
    ARRAY_ALIASES,
    CALLABLE_TYPE,
    GENERIC_SEQUENCES,
    NUMPY_ARRAY,
    NUMPY_CLASS,
    QUALIFIERS,
    TUPLES,
)

ABSTRACT: Final = "abstract method"
"""The reason of an unknown result that a subclass determines."""
_SHAPED: Final = frozenset(["Shaped", "Num", "Inexact", "Float", "Complex", "Integer", "UInt", "Int", "Real"])
"""jaxtyping's element types that stand for several dtypes; the others have TensorFlow's names, up to case."""
_SIZE_NAME: Final = re.compile(r"[^\W\d]\w*")
_NAMED_NUMBER: Final = re.compile(r"(?:[^\W\d]\w*=)?(\d+)")


def annotated_value(engine: Engine, annotation: Value | None, module: str = "") -> Value | None:
    """The value that an annotation declares; None if it is not supported.

    `module` is that of the annotated function: strings in an annotation are resolved there, as `typing` does.
    """
    if annotation is None:
        return None
    results: list[Value] = []
    for member in members(annotation):
        found = _annotated_member(engine, member, module)
        if found is None:
            return None
        results.append(found)
    return join_all(results)


def _annotated_member(engine: Engine, annotation: Value, module: str) -> Value | None:
    match annotation:
        case Constant(None):
            return NONE
        case LibraryValue(name) if name in ARRAY_ALIASES:
            return UNKNOWN_TENSOR
        case LibraryValue(name) if name == NUMPY_ARRAY:
            return TensorValue(TensorType(), TensorKind.NDARRAY)
        case LibraryValue():
            return value_of_class(annotation)
        case Reference(number) if engine.objects.facts[number].kind is ObjectKind.CLASS:
            return engine.instance_for_entry(annotation)
        case PartialValue(LibraryValue(name), arguments):
            return _generic(engine, name, arguments, module)
        case Constant(str(text)) if module:
            known = dict(engine.loader.globals_of(module))
            meant = annotation_in_text(text, lambda name: known.get(name) or library_named(builtin(name)))
            return None if isinstance(meant, Constant) and meant.value is not None else annotated_value(engine, meant)
        case _:
            return None


def _generic(engine: Engine, name: str, arguments: tuple[Value, ...], module: str) -> Value | None:
    package, _, short = name.rpartition(".")
    if package == "jaxtyping":
        return _shaped_array(engine, short, arguments)
    if name == NUMPY_ARRAY:
        return TensorValue(TensorType(_dtype_of(arguments[0]) if arguments else None), TensorKind.NDARRAY)
    if name == NUMPY_CLASS:
        # `np.ndarray[shape, dtype]`
        element = arguments[1] if len(arguments) == 2 else None
        dtype = element.arguments[0] if isinstance(element, PartialValue) and element.arguments else None
        return TensorValue(TensorType(None if dtype is None else _dtype_of(dtype)), TensorKind.NDARRAY)
    inner = [annotated_value(engine, argument, module) for argument in arguments]
    if name in (OPTIONAL_TYPE.name, UNION.name):
        if any(value is None for value in inner):
            return None
        found = join_all(value for value in inner if value is not None)
        return join(found, NONE) if name == OPTIONAL_TYPE.name else found
    if name in QUALIFIERS:
        return inner[0] if inner else None
    if name in TUPLES:
        if len(arguments) == 2 and arguments[1] == Constant(...):
            return SequenceValue(inner[0] if inner[0] is not None else UNKNOWN)
        return TupleValue(tuple(value if value is not None else UNKNOWN for value in inner))
    if name in GENERIC_SEQUENCES and inner:
        return SequenceValue(inner[0] if inner[0] is not None else UNKNOWN)
    if name == CALLABLE_TYPE:
        return UnknownValue(may_be_tensor=False)
    return None


def as_declared(engine: Engine, code: Function, function: FunctionValue, returned: Value) -> Value:
    """The result of a call; if it is unknown, the type from a model or stub, or from the annotation of a method that
    subclasses define.
    """
    if type(returned) is not UnknownValue:
        return returned
    declared = engine.declarations.get(f"{code.id.module}.{code.qualname}")
    annotation = None if declared is None else declared.returns
    if annotation is None and returned.reason == ABSTRACT:
        annotation = dict(function.annotations).get("return")
    value = annotated_value(engine, annotation, code.id.module)
    return returned if value is None else value


def _dtype_of(annotation: Value) -> DType | None:
    """The element type of `NDArray[...]`."""
    match annotation:
        case DTypeValue(dtype):
            return dtype
        case LibraryValue(name):
            return dtype_named(name.rpartition(".")[2])
        case _:
            return None


def _shaped_array(engine: Engine, name: str, arguments: tuple[Value, ...]) -> Value | None:
    """`Float32[tf.Tensor, "batch 28 28"]`: the array type with an element type and a shape."""
    match arguments:
        case (array, Constant(str() as sizes)):
            known = annotated_value(engine, array)
        case _:
            return None
    if known is None:
        return None
    dtype = None if name in _SHAPED else BOOL if name == "Bool" else dtype_named(name.lower())
    if dtype is None and name not in _SHAPED:
        return None
    shape = shape_named(sizes)
    return join_all(
        TensorValue(TensorType(dtype, shape), member.kind) if isinstance(member, TensorValue) else member
        for member in members(known)
    )


def shape_named(text: str) -> Shape:
    """The shape in jaxtyping's notation: `batch 28 28`, `*batch h w`, `n+1`. None if the rank is open."""
    sizes: list[Dim] = []
    for word in text.split():
        if word == "..." or word.startswith("*"):
            return None
        number = _NAMED_NUMBER.fullmatch(word)
        if number is not None:
            sizes.append(int(number[1]))
        elif _SIZE_NAME.fullmatch(word) and not word.startswith("_"):
            sizes.append(symbol(word))
        else:
            # anonymous, broadcastable, or computed from other sizes
            sizes.append(None)
    return tuple(sizes)
