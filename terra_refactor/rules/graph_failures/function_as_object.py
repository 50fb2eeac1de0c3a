"""TR336: code that needs a plain Python function, to which a traced function is passed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from terra_refactor.analysis.facts import ObjectFacts, ObjectKind, ProgramFacts
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
from terra_refactor.facts.codes import Codes, naming_of
from terra_refactor.facts.records import AttributeRead, AttributeWrite, Call, Display, Fact, Literal
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.exported_methods import exported_method
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.class_names import REGISTER
from terra_refactor.tf_model.graph_traits import (
    COPIES_DEEPLY,
    EXAMINES_FUNCTION,
    FUNCTION_CLASSES,
    ISINSTANCE,
    ONLY_OF_FUNCTIONS,
    SAVES_MODEL,
    SENDS_TO_PROCESS,
    STARTS_PROCESSES,
)
from terra_refactor.tf_model.registry import has_trait, names_with
from terra_refactor.tf_model.spec import Trait

_MAX_DEPTH: Final = 4
_ONLY_WEIGHTS: Final = "save_weights_only"
_LIBRARY: Final = frozenset(f"{EXAMINES_FUNCTION} {COPIES_DEEPLY}".split())
_NAMES: Final = (*naming_of((*_LIBRARY, *FUNCTION_CLASSES, REGISTER)), *sorted(ONLY_OF_FUNCTIONS))
_SAVING: Final = naming_of(SAVES_MODEL.split())
_PROCESSES: Final = naming_of(STARTS_PROCESSES.split())
_SENDING: Final = naming_of(SENDS_TO_PROCESS.split())


def check(view: ContextView) -> Iterator[LocalHazard]:
    place = view.code.first()
    text = view.codes.answered(_reason, view.facts, view.function.id)
    if place is not None and text is not None:
        yield LocalHazard(place, text, boundary=True, in_use="that code expects a plain function")
    yield from exported_method(view)


def _reason(codes: Codes, facts: ProgramFacts, function: FunctionId) -> str | None:
    """What happens to a function, if the program examines, copies or saves it as a Python object."""
    return dict(codes.answered(_examined, facts)).get(function)


def _examined(codes: Codes, facts: ProgramFacts) -> tuple[tuple[FunctionId, str], ...]:
    return tuple(dict(_find(codes, facts)).items())


def _find(codes: Codes, facts: ProgramFacts) -> Iterator[tuple[FunctionId, str]]:
    """Looks only at functions that name an attribute such as `inspect.isfunction`, so that other edits cause no new checks."""
    for found, written in _found(codes, facts):
        yield found, f"`{written}` needs a plain Python function, and a traced one is an object of another class"
    for found, written in _sent(codes, facts):
        yield found, f"`{written}` sends this function to another process, and pickle cannot store a traced one"
    saving = next(_saving(codes, facts), None)
    for inner in _contexts(codes, facts, _configured()) if saving is not None else ():
        for call, _ in inner.calls_with(Trait.IN_CONFIGURATION):
            values = (inner.value(given.value) for given in call.arguments)
            for found in (each for value in values for each in _functions_in(inner, value, in_containers=True)):
                yield (
                    found,
                    f"`{inner.written(call.op)}` makes this function part of a model, and `{saving}` needs the model's configuration: "
                    "Keras cannot read that of a traced function",
                )


@cache
def _configured() -> tuple[str, ...]:
    """The names under which code calls what keeps its arguments in the configuration of a model."""
    return naming_of(names_with(Trait.IN_CONFIGURATION))


def _contexts(codes: Codes, facts: ProgramFacts, names: Iterable[str]) -> Iterator[ContextView]:
    """The contexts of the functions that name an attribute, keyword or import."""
    for reader in dict.fromkeys(each for name in names for each in codes.naming(name)):
        for context in facts.contexts_of(reader):
            yield ContextView(codes, facts, context)


def _sent(codes: Codes, facts: ProgramFacts) -> Iterator[tuple[FunctionId, str]]:
    """The functions that are passed to other processes, each with the call."""
    if any(codes.naming(name) for name in _PROCESSES):
        for inner in _contexts(codes, facts, _SENDING):
            for call, _ in inner.calls_with(Trait.SENDS_TO_PROCESS):
                values = (inner.value(given.value) for given in call.arguments)
                for found in (each for value in values for each in _functions_in(inner, value, in_containers=True)):
                    yield found, inner.written(call.op)


def _saving(codes: Codes, facts: ProgramFacts) -> Iterator[str]:
    """The calls that write or read the configuration of a model."""
    for inner in _contexts(codes, facts, _SAVING):
        for call, _ in inner.calls_with(Trait.SAVES_MODEL):
            weights = next((each.value for each in call.arguments if each.keyword == _ONLY_WEIGHTS), None)
            if weights is None or not (isinstance(given := inner.made(weights), Literal) and given.value is True):
                yield inner.written(call.op)


def _found(codes: Codes, facts: ProgramFacts) -> Iterator[tuple[FunctionId, str]]:
    for inner in _contexts(codes, facts, _NAMES):
        for read in inner.reached(AttributeRead):
            if read.name in ONLY_OF_FUNCTIONS:
                yield from ((found, inner.written(read.op)) for found in _functions_in(inner, inner.value(read.owner)))
        for call, called in inner.library_calls():
            if call.first is not None:
                yield from ((found, inner.written(call.op)) for found in _examined_by(inner, call, called))


def _examined_by(view: ContextView, call: Call, called: str) -> Iterator[FunctionId]:
    given = BOTTOM if call.first is None else view.value(call.first)
    if called == ISINSTANCE:
        if len(call.positional) == 2 and _names_function_class(view, call.positional[1]):
            yield from _functions_in(view, given)
    elif called == REGISTER or has_trait(called, Trait.EXAMINES_FUNCTION):
        yield from _functions_in(view, given)
    elif has_trait(called, Trait.COPIES_DEEPLY):
        yield from _functions_in(view, given, in_containers=True)
        for member in members(given):
            if isinstance(member, Reference):
                yield from _given_to_constructor(view, view.facts.objects[member.object])


def _given_to_constructor(view: ContextView, made: ObjectFacts) -> Iterator[FunctionId]:
    """The functions that the constructor of an object received or stored: the object may hold them."""
    if made.kind is not ObjectKind.INSTANCE:
        return
    for maker, call in _makers(view, made):
        if isinstance(call, Call):
            for argument in call.arguments:
                yield from _functions_in(maker, maker.value(argument.value))
            found = maker.calls.get(call.op)
            for constructor in () if found is None else map(view.of, found.callees):
                for write in constructor.reached(AttributeWrite):
                    yield from _functions_in(constructor, constructor.value(write.value))


def _makers(view: ContextView, made: ObjectFacts) -> Iterator[tuple[ContextView, Fact | None]]:
    """The operation that made an object, in each context."""
    if made.function is not None and made.op is not None:
        for context in view.facts.contexts_of(made.function):
            maker = view.of(context.id)
            yield maker, maker.made(made.op)


def _functions_in(
    view: ContextView, value: Value, depth: int = 0, *, in_containers: bool = False
) -> Iterator[FunctionId]:
    """The functions of the program that a value is or holds; with `in_containers` also in the displays of lists, dicts and sets."""
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
            case Reference(made) if in_containers:
                makers = _makers(view, view.facts.objects[made])
                parts = tuple(
                    maker.value(item.value)
                    for maker, display in makers
                    if isinstance(display, Display)
                    for item in display.items
                )
        for part in parts if depth < _MAX_DEPTH else ():
            yield from _functions_in(view, part, depth + 1, in_containers=in_containers)


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
    summary="A traced function is no plain Python function: code that examines, copies, pickles or saves it fails or differs.",
    explanation=(
        "`@tf.function` replaces the function by an object of TensorFlow. It can be called and has a `__name__`, but it has no "
        "`__code__`, `__defaults__` or `__annotations__` (and no `__self__` or `__func__`, as a method): AttributeError. "
        "`inspect.isfunction` and `isinstance(f, types.FunctionType)` are False. Once it has a graph, `pickle` and `copy.deepcopy` raise "
        "for it, and for an object that holds it; no other process can receive it. `tf.saved_model.save` exports a traced method and "
        "fails if it uses a variable outside of its object. A Keras model with such an activation, initializer, loss or metric can be "
        "saved, but not loaded or cloned: Keras cannot read its configuration."
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
