"""TR324: objects that cannot be part of a trace key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import (
    NONE,
    UNBOUND,
    UNKNOWN,
    Reference,
    SequenceValue,
    SliceValue,
    Value,
    members,
)
from terra_refactor.facts.codes import ClassOutline
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.object_equality import family_of
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import CLASSES_WITHOUT_HASH

_HASHABLE: Final = ("frozen=True", "eq=False", "unsafe_hash=True")
"""Arguments of `dataclass` that make its objects hashable (frozen ones if their fields are)."""
_NO_STRUCTURES: Final = frozenset({"set", "dict_keys", "dict_items"})
_FROZEN: Final = "frozenset"
"""It is hashable, but TensorFlow compares it by identity."""
_OWN_TYPE: Final = ("__hash__", "__tf_tracing_type__", "__tf_flatten__")


def check(view: ContextView) -> Iterator[LocalHazard]:
    for parameter in view.function.parameters:
        given = members(view.context.parameters.get(parameter.name, UNKNOWN))
        names = {_unhashable(view, member) for member in given if member not in (NONE, UNBOUND)}
        if len(names) != 1 or None in names:
            continue
        # `tf.function` hashes an object, whether the function reads it or not
        is_object = all(view.object_kind(member) is ObjectKind.INSTANCE for member in given)
        unread = view.code.first() if is_object else None
        place = next((read.op for read in view.code.reads_of(parameter.name)), unread)
        if place is not None and names == {_FROZEN}:
            yield LocalHazard(
                place,
                f"`{parameter.name}` is a frozenset: a traced function is retraced for each new one, even if they are equal",
                f"`{parameter.name}` is the same object in most calls: each new one is traced",
                boundary=True,
            )
        elif place is not None:
            yield LocalHazard(
                place,
                f"`{parameter.name}` is a {names.pop()}, which compares by value and has no hash: a traced function does not accept it",
                boundary=True,
            )


def _unhashable(view: ContextView, value: Value) -> str | None:
    """The name of the object's class, if its objects are not TensorFlow structures and are not hashable."""
    if isinstance(value, SliceValue):
        return "slice"  # hashable since Python 3.12
    if isinstance(value, SequenceValue):
        return value.kind if value.kind in _NO_STRUCTURES else None
    if not isinstance(value, Reference):
        return None
    facts = view.facts.objects[value.object]
    if facts.kind is ObjectKind.SET or facts.name == "deque":
        return facts.name
    if facts.kind is not ObjectKind.INSTANCE:
        return None
    classes = view.codes.classes_named(facts.name)
    if not classes:
        return facts.name if facts.name in CLASSES_WITHOUT_HASH else None
    return facts.name if all(_has_no_hash(view, outline) for outline in classes) else None


def _has_no_hash(view: ContextView, outline: ClassOutline) -> bool:
    """Whether the first class of the family that says how objects compare, or what their hash is, gives them none."""
    for each in family_of(view, outline):
        if each.defines(*_OWN_TYPE) or each.binds(*_OWN_TYPE):
            return False
        if each.defines("__eq__") or any(map(_is_of_mutable_data, each.decorators)):
            return True
    return False


def _is_of_mutable_data(decorator: str) -> bool:
    """Whether a decorator makes a dataclass whose objects have no hash."""
    return decorator.partition("(")[0].strip().rpartition(".")[2] == "dataclass" and not any(
        option in decorator.replace(" ", "") for option in _HASHABLE
    )


RULE: Final = Rule(
    id="TR324",
    name="unhashable-argument",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A set, a slice, or an object of a class with `__eq__` and no `__hash__` cannot be given to a traced function.",
    explanation=(
        "A traced function looks up its graphs by its arguments, so every argument that is not a tensor, or a list, tuple or dict of "
        "tensors, must be hashable. Sets, dict views, deques and dataclasses (unless frozen) are not; slices are hashable from Python 3.12 "
        "on. For others it raises `TypeError: Could not generate a generic TraceType for ... Please verify that it is immutable/hashable`. "
        "A method of such an object cannot be traced either: `TypeError: unhashable type`. A frozenset is hashable but compared by "
        "identity: each new one is a retrace."
    ),
    samples=Samples(
        bad="""\
from dataclasses import dataclass

import tensorflow as tf


@dataclass
class Settings:
    scale: float = 2.0


@tf.function
def step(x, settings):
    return x * settings.scale  # TR324


result = step(tf.ones([3]), Settings())
""",
        good="""\
from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class Settings:
    scale: float = 2.0


@tf.function
def step(x, settings):
    return x * settings.scale


result = step(tf.ones([3]), Settings())
""",
        near_miss="""\
from dataclasses import dataclass

import tensorflow as tf


@dataclass
class Settings:
    scale: float = 2.0


settings = Settings()


@tf.function
def step(x):
    return x * settings.scale


result = step(tf.ones([3]))
""",
    ),
    cure="Make the dataclass frozen, or pass its tensors and numbers.",
    check=check,
    inherited=False,
)
