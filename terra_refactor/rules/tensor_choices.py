"""Values that a graph cannot select by a tensor: objects and functions as results of a branch or variables of a loop.

Computes: nothing. Needs: a `ContextView`. Gives: `no_choice` (why a graph cannot choose a value), `is_opaque`.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import (
    BoundMethod,
    Constant,
    DTypeValue,
    EnumMember,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    PartialValue,
    RangeValue,
    Reference,
    SliceValue,
    Value,
    members,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.class_names import ATTRS
from terra_refactor.tf_model.graph_traits import CLASSES_WITHOUT_HASH
from terra_refactor.tf_model.registry import is_keras_object

_STRUCTURES: Final = frozenset(
    {"ExtensionType", "BatchableExtensionType", "NamedTuple", "TypedDict", "CompositeTensor", "tuple", "list", "dict"}
)
"""Bases whose instances TensorFlow flattens, or that are not objects to it."""
_TAKEN_APART: Final = frozenset({"__tf_flatten__", "__tf_tensor__", "__array__", "__tensor__"})


def no_choice(view: ContextView, value: Value) -> str | None:
    """The kind of a value that certainly cannot leave a branch or pass through a loop on tensors; None for other values."""
    found = [_no_choice(view, member) for member in members(value)]
    return found[0] if found and all(found) else None


def _no_choice(view: ContextView, value: Value) -> str | None:
    match value:
        case FunctionValue() | BoundMethod() | ModuleValue() | PartialValue():
            return "a function or class"
        case LibraryValue(name):
            entity = registry.lookup(name)
            return "a function or class" if entity is not None and entity.parameters is not None else None
        case DTypeValue():
            return "a dtype"
        case SliceValue():
            return "a slice"
        case RangeValue():
            return "a range"
        case Constant(EnumMember()):
            return "a member of an enumeration"
        case Reference(number):
            facts = view.facts.objects[number]
            if facts.kind is ObjectKind.SET:
                return "a set"
            if facts.kind is ObjectKind.CLASS:
                return "a function or class"
            if facts.kind is ObjectKind.INSTANCE and is_opaque(view, facts.name):
                return f"an object ({facts.name})"
            return None
        case _:
            return None


def is_opaque(view: ContextView, name: str) -> bool:
    """Whether all classes of that name create objects in which TensorFlow sees no tensors."""
    outlines = view.codes.classes_named(name)
    if not outlines:
        return is_keras_object(name) or name in CLASSES_WITHOUT_HASH
    for outline in outlines:
        if any(text.startswith(ATTRS) for text in outline.decorators) or outline.defines(*_TAKEN_APART):
            return False
        parent = view.program.function(outline.body).parent
        made = None if parent is None else view.codes.class_made_of(parent, outline.body)
        if parent is None or made is None:
            return False
        if any(name is None or name in _STRUCTURES for name in view.codes.of(parent).names_of_bases(made)):
            return False
    return True
