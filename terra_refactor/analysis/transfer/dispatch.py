"""`functools.singledispatch` and `singledispatchmethod`: the class of an argument selects the implementation.

Computes: the registered implementations, and those that a call may run; all of them are analysed. Needs: calls.
Gives: `REGISTRATIONS`, by canonical name, `register_of` (the attribute), `dispatched`. Approximates: the choice of
the most specific of several matching classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.instances import is_instance
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    BoundMethod,
    FunctionValue,
    LibraryValue,
    PartialValue,
    TensorKind,
    TensorValue,
    Value,
    members,
)
from terra_refactor.ir.ids import FunctionId
from terra_refactor.tf_model.class_names import REGISTER, SINGLE_DISPATCH, SINGLE_DISPATCH_METHOD
from terra_refactor.tf_model.graph_traits import TYPE, is_class_of_a_mode

_REGISTER_CLASS: Final = LibraryValue(f"{REGISTER}()")
_ARRAYS: Final = (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR)


def is_dispatcher(value: FunctionValue) -> bool:
    """Whether a function has implementations registered for classes."""
    return SINGLE_DISPATCH in value.wrappers or SINGLE_DISPATCH_METHOD in value.wrappers


def register_of(value: FunctionValue) -> Value:
    """`f.register` of a `functools.singledispatch` function."""
    return BoundMethod(LibraryValue(REGISTER), value)


def _register(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`@f.register`, with the class in an annotation; `@f.register(cls)` and `f.register(cls, function)`."""
    if not isinstance(receiver, FunctionValue) or not arguments.positional:
        return UNKNOWN
    first, *rest = arguments.positional
    if rest:
        return _registered(site, receiver, first, rest[0])
    if not isinstance(first, FunctionValue):
        return PartialValue(_REGISTER_CLASS, (receiver, first), ())
    names = [parameter.name for parameter in site.engine.program.function(FunctionId(*first.function)).parameters]
    position = int(SINGLE_DISPATCH_METHOD in receiver.wrappers)
    cls = dict(first.annotations).get(names[position]) if position < len(names) else None
    return _registered(site, receiver, UNKNOWN if cls is None else cls, first)


def _register_class(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) != 3 or not isinstance(arguments.positional[0], FunctionValue):
        return UNKNOWN
    return _registered(site, *arguments.positional)


def _registered(site: Site, dispatcher: Value, cls: Value, implementation: Value) -> Value:
    assert isinstance(dispatcher, FunctionValue)
    site.engine.note_registered(FunctionId(*dispatcher.function), cls, implementation)
    if not isinstance(implementation, FunctionValue):
        return implementation
    wrapped = replace(implementation, wrappers=(*implementation.wrappers, REGISTER))
    site.engine.note_wrapped(wrapped)
    return wrapped


def _dispatching_method(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`@singledispatchmethod`: the method, selected by the class of the argument after the object."""
    function = arguments.positional[0] if arguments.positional else UNKNOWN
    if not isinstance(function, FunctionValue):
        return UNKNOWN
    wrapped = replace(function, wrappers=(*function.wrappers, SINGLE_DISPATCH_METHOD))
    site.engine.note_wrapped(wrapped)
    return wrapped


def dispatched(site: Site, callee: FunctionValue, arguments: CallArguments, *, graph: bool) -> Value | None:
    """Calls all implementations that the class of the argument may select; None if nothing is registered."""
    registered = site.engine.registered_with(FunctionId(*callee.function))
    if not registered:
        return None
    position = int(SINGLE_DISPATCH_METHOD in callee.wrappers)
    given = arguments.positional
    subject = given[position] if position < len(given) else UNKNOWN
    base = replace(
        callee,
        wrappers=tuple(name for name in callee.wrappers if name not in (SINGLE_DISPATCH, SINGLE_DISPATCH_METHOD)),
    )
    chosen = _chosen(site, members(subject), registered, base)
    in_graph = [_as_in_graph(member) for member in members(subject)]
    if in_graph != list(members(subject)) and _chosen(site, in_graph, registered, base) != chosen:
        # rules see that the class of an array is tested
        site.frame.call_record(site.op).library[SINGLE_DISPATCH] = None
    if any(isinstance(cls, LibraryValue) and is_class_of_a_mode(cls.name) for cls, _ in registered):
        site.frame.call_record(site.op).library[TYPE] = None
    return site.call(join_all(chosen), arguments, graph=graph)


def _as_in_graph(value: Value) -> Value:
    """The value that a traced function gets for an argument: a tensor for an array."""
    is_array = isinstance(value, TensorValue) and value.kind in _ARRAYS
    return TensorValue(TensorType()) if is_array else value


def _chosen(
    site: Site, subjects: Iterable[Value], registered: tuple[tuple[Value, Value], ...], base: FunctionValue
) -> list[Value]:
    """The implementations for some values: those whose class may match, and the default unless another certainly matches."""
    found: dict[Value, None] = {}
    for subject in subjects:
        answers = [(is_instance(site, subject, cls), implementation) for cls, implementation in registered]
        found.update((implementation, None) for answer, implementation in answers if answer is not False)
        if not any(answer for answer, _ in answers):
            found[base] = None
    return list(found)


REGISTRATIONS: Final[dict[str, Callable[[Site, CallArguments, Value | None], Value | None]]] = {
    SINGLE_DISPATCH_METHOD: _dispatching_method,
    REGISTER: _register,
    _REGISTER_CLASS.name: _register_class,
}
