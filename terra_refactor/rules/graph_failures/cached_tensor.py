"""TR321: a tensor in the cache of `functools.lru_cache`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import (
    FrozenDict,
    FrozenList,
    Reference,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, is_tensorflow_tensor

_CACHING: Final = re.compile(r"(?:^|\.)(?:lru_cache|cache|cached_property)\b")


def check(view: ContextView) -> Iterator[LocalHazard]:
    if not any(_CACHING.search(decorator.text.partition("(")[0]) for decorator in view.function.decorators):
        return
    for op in view.code.ops:
        if (
            isinstance(op, ops.Return)
            and op.value is not None
            and (view.holds_symbolic(op.value) or _holds_made(view, op.value) or _is_object_with_tensor(view))
        ):
            yield LocalHazard(
                op.id,
                f"`{view.function.name}` is cached: the tensor of the first trace is given to later ones, where it has no value",
            )
            return


def _holds_made(view: ContextView, number: OpId) -> bool:
    """Whether a list or dict that the function has made, wherever it stands, has a tensor in it."""
    made = view.op(view.behind_name(number))
    if not isinstance(made, ops.BuildContainer | ops.BuildDict | ops.Comprehension):
        return False
    return all(_has_tensor(member) for member in members(view.context.returns))


def _is_object_with_tensor(view: ContextView) -> bool:
    """Whether the function gives an object that it, or a constructor that it calls, puts a tensor into."""
    returned = members(view.context.returns)
    if not returned or not all(_is_instance(view, member) for member in returned):
        return False
    classes = {view.facts.objects[member.object].name for member in returned if isinstance(member, Reference)}
    pending, seen = [view.context.id], {view.context.id}
    while pending:
        inner = ContextView(view.codes, view.facts, view.facts.contexts[pending.pop()])
        for store in inner.code.of_kind(ops.StoreAttribute):
            owner = members(inner.value(store.object))
            of_class = any(_is_instance(view, each) and _class_of(view, each) in classes for each in owner)
            if store.value is not None and of_class and inner.holds_symbolic(store.value):
                return True
        for call in inner.code.of_kind(ops.Call):
            # the fields of a data class
            made = members(inner.value(call.id))
            if any(_is_instance(view, each) and _class_of(view, each) in classes for each in made) and any(
                inner.holds_symbolic(argument.value) for argument in call.arguments
            ):
                return True
        for fact in inner.context.calls:
            pending.extend(callee for callee in fact.callees if callee not in seen)
            seen.update(fact.callees)
    return False


def _is_instance(view: ContextView, value: Value) -> bool:
    return isinstance(value, Reference) and view.facts.objects[value.object].kind is ObjectKind.INSTANCE


def _class_of(view: ContextView, value: Value) -> str | None:
    return view.facts.objects[value.object].name if isinstance(value, Reference) else None


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
        "Inside a graph the function gives a tensor of that graph, and the cache hands it to every later caller: to eager code, and to the "
        "next trace. Both fail: `TypeError: <tf.Tensor ...> is out of scope and cannot be used here` or `cannot be accessed from here, "
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
)
