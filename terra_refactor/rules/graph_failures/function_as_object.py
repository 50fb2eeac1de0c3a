"""TR336: code that needs a plain Python function, to which a traced function is passed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectFacts, ObjectKind
from terra_refactor.domain.value import (
    BOTTOM,
    BoundMethod,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    PartialValue,
    Reference,
    TupleValue,
    Value,
    members,
)
from terra_refactor.facts.records import AttributeRead, AttributeWrite, Call
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import (
    COPIES_DEEPLY,
    EXAMINES_FUNCTION,
    FUNCTION_CLASSES,
    ISINSTANCE,
    ONLY_OF_FUNCTIONS,
)
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_MAX_DEPTH: Final = 4
_LIBRARY: Final = frozenset(f"{EXAMINES_FUNCTION} {COPIES_DEEPLY}".split())
_NAMES: Final = tuple(sorted({name.rpartition(".")[2] for name in _LIBRARY | FUNCTION_CLASSES} | ONLY_OF_FUNCTIONS))


def check(view: ContextView) -> Iterator[LocalHazard]:
    place = view.code.first()
    written = _examined(view).get(view.function.id)
    if place is not None and written is not None:
        yield LocalHazard(
            place,
            f"`{written}` needs a plain Python function, and a traced one is an object of another class",
            boundary=True,
            in_use="that code expects a plain function",
        )


def _examined(view: ContextView) -> dict[FunctionId, str]:
    """The functions that the program examines as Python objects, with a place that does."""
    return view.codes.once_with_looks((_examined,), lambda: dict(_find(view)))


def _find(view: ContextView) -> Iterator[tuple[FunctionId, str]]:
    """Looks only at functions that name an attribute such as `inspect.isfunction`, so that other edits cause no new checks."""
    for reader in dict.fromkeys(each for name in _NAMES for each in view.codes.naming(name)):
        for context in view.facts.contexts_of(reader):
            inner = view.of(context.id)
            for read in inner.reached(AttributeRead):
                if read.name in ONLY_OF_FUNCTIONS:
                    yield from ((found, inner.written(read.op)) for found in _functions_in(inner.value(read.owner), 0))
            for call, called in inner.library_calls():
                if call.first is not None:
                    yield from ((found, inner.written(call.op)) for found in _examined_by(inner, call, called))


def _examined_by(view: ContextView, call: Call, called: str) -> Iterator[FunctionId]:
    given = BOTTOM if call.first is None else view.value(call.first)
    if called == ISINSTANCE:
        if len(call.positional) == 2 and _names_function_class(view, call.positional[1]):
            yield from _functions_in(given, 0)
    elif has_trait(called, Trait.EXAMINES_FUNCTION):
        yield from _functions_in(given, 0)
    elif has_trait(called, Trait.COPIES_DEEPLY):
        yield from _functions_in(given, 0)
        for member in members(given):
            if isinstance(member, Reference):
                yield from _given_to_constructor(view, view.facts.objects[member.object])


def _given_to_constructor(view: ContextView, made: ObjectFacts) -> Iterator[FunctionId]:
    """The functions that the constructor of an object received or stored: the object may hold them."""
    if made.kind is not ObjectKind.INSTANCE or made.function is None or made.op is None:
        return
    for context in view.facts.contexts_of(made.function):
        maker = view.of(context.id)
        call = maker.made(made.op)
        if isinstance(call, Call):
            for argument in call.arguments:
                yield from _functions_in(maker.value(argument.value), 0)
            found = maker.calls.get(made.op)
            for constructor in () if found is None else map(view.of, found.callees):
                for write in constructor.reached(AttributeWrite):
                    yield from _functions_in(constructor.value(write.value), 0)


def _functions_in(value: Value, depth: int) -> Iterator[FunctionId]:
    """The functions of the program that a value is or holds."""
    for member in members(value):
        parts: tuple[Value, ...] = ()
        match member:
            case FunctionValue(function=function) | BoundMethod(function=FunctionValue(function=function)):
                yield FunctionId(*function)
            case TupleValue(elements):
                parts = elements
            case FrozenList(elements, element):
                parts = (*(elements or ()), *(() if element is None else (element,)))
            case FrozenDict(items, rest):
                parts = (*(item for _, item in items), *(() if rest is None else (rest,)))
            case PartialValue(function=inner):
                parts = (inner,)
        for part in parts if depth < _MAX_DEPTH else ():
            yield from _functions_in(part, depth + 1)


def _names_function_class(view: ContextView, number: OpId) -> bool:
    value = view.value(number)
    classes = [
        part for member in members(value) for part in (member.elements if isinstance(member, TupleValue) else (member,))
    ]
    return any(isinstance(each, LibraryValue) and each.name in FUNCTION_CLASSES for each in classes)


RULE: Final = Rule(
    id="TR336",
    name="function-as-object",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A traced function is no plain Python function: code that examines, copies or pickles it fails or differs.",
    explanation=(
        "`@tf.function` replaces the function by an object of TensorFlow. It can be called and has a `__name__`, but it has no "
        "`__code__`, `__defaults__` or `__annotations__` (and no `__self__` or `__func__`, as a method): AttributeError. "
        "`inspect.isfunction` and `isinstance(f, types.FunctionType)` are False. Once it has a graph, `pickle` and `copy.deepcopy` raise "
        "for it, and for an object that holds it."
    ),
    samples=Samples(
        bad="""\
import inspect

import tensorflow as tf


@tf.function
def double(x):
    return x * 2.0  # TR336


result = double(tf.ones([3])) if inspect.isfunction(double) else None
""",
        good="""\
import tensorflow as tf


@tf.function
def double(x):
    return x * 2.0


result = double(tf.ones([3])) if callable(double) else None
""",
        near_miss="""\
import inspect

import tensorflow as tf


@tf.function
def double(x):
    return x * 2.0


result = double(tf.ones([3])) if inspect.signature(double).parameters else None
""",
    ),
    cure="Test `callable(f)`, use `inspect.signature`, or pass the plain function (`f.python_function`).",
    check=check,
)
