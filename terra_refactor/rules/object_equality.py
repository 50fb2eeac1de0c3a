"""Attributes that `==` ignores when it compares objects of a class.

Computes: attributes that may differ between equal objects. Needs: the code of the class. Gives: `ignored_attributes`,
`is_number_class`, `is_enumeration`, `family_of`. Approximates: base classes by their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.facts.codes import ClassOutline
from terra_refactor.facts.records import AttributeRead, AttributeWrite, Call
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import FunctionId

_VALUES: Final = frozenset({"int", "float", "complex", "str", "bytes"})
"""Built-in classes whose objects compare by content."""
_ENUMERATIONS: Final = frozenset({"IntEnum", "IntFlag"})
_EVERYTHING: Final = frozenset({"__dict__", "astuple", "asdict", "__slots__", "__getstate__"})


def is_number_class(view: ContextView, name: str) -> bool:
    """Whether objects of a class of that name may be equal to plain numbers or strings, or to those of another such class."""
    return any(_bases(view, outline) & (_VALUES | _ENUMERATIONS) for outline in view.codes.classes_named(name))


def is_enumeration(view: ContextView, name: str) -> bool:
    """Whether members of a class of that name are numbers, and equal to those of other such classes."""
    return any(_bases(view, outline) & _ENUMERATIONS for outline in view.codes.classes_named(name))


def ignored_attributes(view: ContextView, name: str) -> frozenset[str]:
    """The attributes that `==` does not compare for objects of the classes of that name."""
    return view.codes.once_with_looks(
        (ignored_attributes, name),
        lambda: frozenset[str]().union(*(_ignored(view, outline) for outline in view.codes.classes_named(name))),
    )


def _ignored(view: ContextView, outline: ClassOutline) -> frozenset[str]:
    family = family_of(view, outline)
    comparing = next((each for each in family if each.defines("__eq__")), None)
    if comparing is not None:
        if not any(each.defines("__hash__") for each in family[: family.index(comparing) + 1]):
            return frozenset()  # a traced function rejects it: TR324
        methods = tuple(method for each in family for method in _methods(view, each))
        compared = _read_by(view, methods, "__eq__")
        return frozenset() if compared & _EVERYTHING else _written(view, methods) - compared
    if _bases(view, outline) & _VALUES:
        return _written(view, tuple(_methods(view, outline)))
    return view.codes.not_compared(outline.body)


def family_of(view: ContextView, outline: ClassOutline) -> tuple[ClassOutline, ...]:
    """A class and the classes of the program that it inherits from, as far as their names tell, itself first."""
    found = [outline]
    for each in found:
        found += [
            base for name in sorted(_bases(view, each)) for base in view.codes.classes_named(name) if base not in found
        ]
    return tuple(found)


def _bases(view: ContextView, outline: ClassOutline) -> frozenset[str]:
    parent = view.program.function(outline.body).parent
    made = None if parent is None else view.codes.class_made_of(parent, outline.body)
    if parent is None or made is None:
        return frozenset()
    return frozenset(filter(None, view.codes.of(parent).names_of_bases(made)))


def _methods(view: ContextView, outline: ClassOutline) -> Iterator[FunctionId]:
    for function in view.program.modules[outline.body.module].functions:
        if function.parent == outline.body:
            yield function.id


def _written(view: ContextView, methods: tuple[FunctionId, ...]) -> frozenset[str]:
    return frozenset(write.name for method in methods for write in view.codes.of(method).of_kind(AttributeWrite))


def _read_by(view: ContextView, methods: tuple[FunctionId, ...], name: str) -> frozenset[str]:
    """The attributes read by a method, and by further methods that it names."""
    by_name: dict[str, list[FunctionId]] = {}
    for method in methods:
        by_name.setdefault(view.program.function(method).name, []).append(method)
    pending, seen = [name], {name}
    while pending:
        for method in by_name.get(pending.pop(), ()):
            code = view.codes.of(method)
            names = {read.name for read in code.of_kind(AttributeRead)}
            names |= {call.called_name for call in code.of_kind(Call) if call.called_name in _EVERYTHING}
            pending += sorted(names - seen)
            seen |= names
    return frozenset(seen)
