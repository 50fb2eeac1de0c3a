"""TR321: a tensor in the cache of `functools.lru_cache`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import (
    FrozenDict,
    FrozenList,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.facts.records import AttributeWrite, Call, Display, Return
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity

_CACHING: Final = re.compile(r"(?:^|\.)(?:lru_cache|cache|cached_property)\b")


def check(view: ContextView) -> Iterator[LocalHazard]:
    if not any(_CACHING.search(decorator.text.partition("(")[0]) for decorator in view.function.decorators):
        return
    for place in view.code.of_kind(Return):
        if place.value is not None and (
            (view.holds_symbolic(place.value) and not _is_variable(view.value(place.value)))
            or _holds_made(view, place.value)
            or _is_object_with_tensor(view)
        ):
            yield LocalHazard(
                place.op,
                f"`{view.function.name}` is cached: the tensor of the first trace is given to later ones, where it has no value",
            )
            return


def _is_variable(value: Value) -> bool:
    """Whether it is a variable, which also has a value in later traces."""
    return all(isinstance(member, TensorValue) and member.kind is TensorKind.VARIABLE for member in members(value))


def _holds_made(view: ContextView, number: OpId) -> bool:
    """Whether a list or dict created by the function contains a tensor."""
    return isinstance(view.origin(number), Display) and all(map(_has_tensor, members(view.context.returns)))


def _is_object_with_tensor(view: ContextView) -> bool:
    """Whether the function returns an object into which it, or a constructor that it calls, puts a tensor."""
    returned = members(view.context.returns)
    if not returned or any(view.object_kind(member) is not ObjectKind.INSTANCE for member in returned):
        return False
    classes = {view.class_of(member) for member in returned}

    def is_of_class(inner: ContextView, number: OpId) -> bool:
        return any(view.class_of(each) in classes for each in members(inner.value(number)))

    for context in view.called_from((view.context.id,)):
        inner = ContextView(view.codes, view.facts, context)
        for write in inner.code.of_kind(AttributeWrite):
            if is_of_class(inner, write.owner) and inner.holds_symbolic(write.value):
                return True
        for call in inner.code.of_kind(Call):
            # the fields of a dataclass
            if is_of_class(inner, call.op) and any(inner.holds_symbolic(each.value) for each in call.arguments):
                return True
    return False


def _has_tensor(value: Value) -> bool:
    match value:
        case TensorValue():
            return is_tensorflow_tensor(value) and value.kind is not TensorKind.VARIABLE
        case FrozenList(elements=elements) if elements is not None:
            return any(_has_tensor(element) for element in elements)
        case FrozenList(element=element):
            return element is not None and _has_tensor(element)
        case FrozenDict(items=items):
            return any(_has_tensor(item) for _, item in items)
        case TupleValue(elements=elements):
            return any(_has_tensor(element) for element in elements)
        case _:
            return False


RULE: Final = Rule(
    id="TR321",
    name="cached-tensor",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`functools.lru_cache` (or `cached_property`) keeps the symbolic tensor of the trace that called the function first.",
    explanation=(
        "Inside a graph the function returns a tensor of that graph, and the cache returns it to every later caller: to eager code, and to "
        "the next trace. Both raise `TypeError: <tf.Tensor ...> is out of scope and cannot be used here` or `cannot be accessed from here, "
        "because it was defined in FuncGraph`. Cached Python numbers and arrays are fine."
    ),
    samples=Samples(
        bad="""\
import functools

import tensorflow as tf


@functools.lru_cache(maxsize=None)
def positions(count):
    return tf.range(count, dtype=tf.float32)  # TR321


@tf.function
def step(x):
    return x + positions(3)


result = step(tf.ones([3])) + positions(3)
""",
        good="""\
import functools

import numpy as np
import tensorflow as tf


@functools.lru_cache(maxsize=None)
def positions(count):
    return np.arange(count, dtype=np.float32)


@tf.function
def step(x):
    return x + positions(3)


result = step(tf.ones([3])) + positions(3)
""",
        near_miss="""\
import functools

import tensorflow as tf


@functools.lru_cache(maxsize=None)
def size(name):
    return len(name)


@tf.function
def step(x):
    return x + tf.range(size("abc"), dtype=tf.float32)


result = step(tf.ones([3])) + float(size("abc"))
""",
    ),
    cure="Cache an array, or make the tensor outside of every graph (`with tf.init_scope():`).",
    check=check,
    silent=True,
)
