"""Objects of the program that Python's library keeps and hands on, by weak references, namespaces, bound methods and
context managers; functions that it calls.

Computes: the object itself, so that its attributes and methods are known. Needs: the heap. Gives: `HANDED_ON`, by canonical name,
`entered_object`, `closing_method`, `run_given_functions`. Ignores: that the object of a weak reference may be deleted (a rule
reports that).
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.classes import find_method, is_library_function
from terra_refactor.analysis.configuration import CONFIGURATION
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.transfer.loaded_numbers import same_items
from terra_refactor.domain.lattice import join
from terra_refactor.domain.state import CLASS, ITEMS
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    BoundMethod,
    FrozenList,
    FunctionValue,
    LibraryValue,
    PartialValue,
    Reference,
    TupleValue,
    Value,
    members,
)
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.class_names import CLOSING, ENTERED, TENSOR_METHOD, VECTORIZED
from terra_refactor.tf_model.interpreted import Interpreted, by_name
from terra_refactor.tf_model.spec import Trait


def run_given_functions(site: Site, name: str, arguments: CallArguments, receiver: Value | None) -> None:
    """Runs the functions of the program that a library function gets and calls, with unknown arguments, for their side effects."""
    given = [*arguments.positional, *(value for _, value in arguments.keywords)]
    if name == VECTORIZED and isinstance(receiver, Reference):
        given = [site.frame.state.get((receiver.object, CONFIGURATION + "pyfunc")) or NONE]
    elif not registry.has_trait(name, Trait.CALLS_AT_ONCE):
        return
    for value in given:
        for member in members(value):
            content = site.frame.state.get((member.object, ITEMS)) if isinstance(member, Reference) else member
            parts = content.elements if isinstance(content, TupleValue | FrozenList) else (member,)
            for part in parts or ():
                if isinstance(part, FunctionValue | PartialValue) or (
                    isinstance(part, BoundMethod) and isinstance(part.function, FunctionValue)
                ):
                    site.call(part, CallArguments(open_positional=UNKNOWN))


def entered_object(frame: Frame, manager: Reference) -> Value | None:
    """The object that a `with` of a library's context manager binds; None for managers that bind themselves."""
    cls = frame.state.get((manager.object, CLASS))
    parameter = ENTERED.get(cls.name) if isinstance(cls, LibraryValue) else None
    return None if parameter is None else frame.state.get((manager.object, CONFIGURATION + parameter)) or NONE


def closing_method(site: Site, manager: Reference) -> Value | None:
    """The method that `contextlib.closing` calls at the end of its block; None for other managers and objects of libraries."""
    cls = site.frame.state.get((manager.object, CLASS))
    if not isinstance(cls, LibraryValue) or cls.name != CLOSING:
        return None
    thing = entered_object(site.frame, manager)
    method = find_method(site, thing, "close") if isinstance(thing, Reference) else None
    return None if method is None or is_library_function(method) else method


def _namespace(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`types.SimpleNamespace(name=value)`: an object with these attributes; None if some of them are unknown."""
    loaded = same_items(site, arguments, receiver)
    if loaded is not None:
        return loaded
    if arguments.positional or arguments.open_positional is not None or arguments.open_keywords is not None:
        return None
    number = site.allocate(ObjectKind.INSTANCE, "SimpleNamespace")
    site.frame.state.set((number, CLASS), LibraryValue(Interpreted.NAMESPACE.name_of_function))
    for name, value in arguments.keywords:
        site.frame.state.set((number, name), value)
    return Reference(number)


def _first(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return arguments.positional[0] if arguments.positional else None


def _referent(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    place = (receiver.object, CONFIGURATION + "*") if isinstance(receiver, Reference) else None
    kept = None if place is None else site.frame.state.get(place)
    return None if kept is None else join(kept, NONE)


def _bound(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    match arguments.positional:
        case (FunctionValue() as function, owner):
            return BoundMethod(function, owner)
    return None


def _register(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`tf.register_tensor_conversion_function(base_type, function)`: as if the class defined the method."""
    match arguments.positional:
        case (Reference(cls), FunctionValue() as function, *_):
            site.frame.state.set((cls, TENSOR_METHOD), function)
    return None


def _with_fields(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`dataclasses.replace(object, rate=0.5)`: a new object, made by its constructor, of which the other fields are unknown."""
    match arguments.positional:
        case (Reference(number),):
            cls = site.frame.state.get((number, CLASS))
            if isinstance(cls, Reference):
                return site.call(cls, CallArguments((), arguments.keywords, None, UNKNOWN))
    return None


HANDED_ON: Final = by_name(
    {
        Interpreted.REPLACE_FIELDS: _with_fields,
        Interpreted.PROXY: _first,
        Interpreted.REFERENT: _referent,
        Interpreted.BOUND_METHOD: _bound,
        Interpreted.NAMESPACE: _namespace,
        Interpreted.TENSOR_CONVERSION: _register,
    }
)
