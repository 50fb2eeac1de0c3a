"""Members of the program's enumerations.

Computes: the members that a class body defines, and which of them `Mode(value)` and `Mode["NAME"]` are. Needs: the
heap, class lookup. Gives: `define_members`, `members_in`, `member_of_value`, `is_named`, `member_attribute`.

Approximates: members of enumerations of numbers or strings (`IntEnum`, `Flag`, `class Color(str, Enum)`) are
represented by their values, and so are those of a class with its own comparison.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.classes import (
    bind,
    find_in_class,
    is_property,
    resolution_order,
)
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.domain.effect import Effect, EffectKind, RootKind, Target
from terra_refactor.domain.lattice import filter_members, join_all, references
from terra_refactor.domain.value import (
    BOTTOM,
    NO_ATTRIBUTE,
    UNBOUND,
    UNKNOWN,
    BoundMethod,
    Constant,
    EnumMember,
    FunctionValue,
    LibraryValue,
    PartialValue,
    Reference,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model.class_names import PLAIN_BASES, PLAIN_ENUM, is_member_type

_MEMBERS: Final = "_member_map_"
"""Field of a class object: its members, as a tuple in the order of the class body; not an attribute that programs read."""
_OWN_COMPARISON: Final = ("__eq__", "__new__", "__getattribute__")


def define_members(site: Site, cls: Reference, names: tuple[str, ...]) -> None:
    """Creates the members of a plain enumeration from the values that its body binds to `names`, in order; does nothing
    for other classes.
    """
    frame = site.frame
    if not _is_plain(frame, cls):
        return
    known: dict[Value, Constant] = {}
    defined: dict[Constant, None] = {}
    for name in names:
        held = frame.state.get((cls.object, name))
        value = BOTTOM if held is None else filter_members(held, lambda member: member != UNBOUND)
        if value == BOTTOM or value != held or not _is_of_member(site, name, value):
            continue
        content = UNKNOWN if references(value) else value
        member = known.get(value, Constant(EnumMember(cls.object, name, content)))
        if isinstance(value, Constant):
            known[value] = member  # a second name for the same value is an alias
        defined[member] = None
        frame.state.set((cls.object, name), member)
    frame.state.set((cls.object, _MEMBERS), TupleValue(tuple(defined)))


def _is_plain(frame: Frame, cls: Reference) -> bool:
    order = resolution_order(frame, cls)
    libraries = {each.name for each in order if isinstance(each, LibraryValue)}
    if PLAIN_ENUM not in libraries or not libraries <= PLAIN_BASES:
        return False
    if any(not isinstance(each, LibraryValue | Reference) for each in order):
        return False
    return all(
        frame.state.get((each.object, name)) is None
        for each in order
        if isinstance(each, Reference)
        for name in _OWN_COMPARISON
    )


def _is_of_member(site: Site, name: str, value: Value) -> bool:
    """Whether such a binding in a class body defines a member: not a private name, function, descriptor or class."""
    if name.startswith("_"):
        return False
    for each in members(value):
        match each:
            case FunctionValue() | BoundMethod():
                return False
            case Reference(number):
                if site.engine.objects.facts[number].kind is ObjectKind.CLASS:
                    return False
            case PartialValue(function=LibraryValue(function)) if is_member_type(function):
                return False
            case _:
                continue
    return True


def members_in(frame: Frame, cls: Reference) -> tuple[Constant, ...] | None:
    """The members of an enumeration in order, without aliases; None for any other class."""
    defined = frame.state.get((cls.object, _MEMBERS))
    if not isinstance(defined, TupleValue):
        return None
    return tuple(each for each in defined.elements if isinstance(each, Constant))


def member_of_value(frame: Frame, cls: Reference, value: Value) -> Value | None:
    """`cls(value)` for any class; None if it is not an enumeration with known members."""
    found = members_in(frame, cls)
    if found is None:
        return None
    if isinstance(value, Constant) and value in found:
        return value
    contents = [(each, each.value.value) for each in found if isinstance(each.value, EnumMember)]
    if isinstance(value, Constant) and all(isinstance(content, Constant) for _, content in contents):
        return join_all(member for member, content in contents if content == value)
    return join_all(found)


def is_named(member: Constant, name: Value) -> bool:
    """Whether `cls[name]` may be that member."""
    return not isinstance(name, Constant) or (isinstance(member.value, EnumMember) and member.value.name == name.value)


def member_attribute(site: Site, member: EnumMember, receiver: Constant, name: str) -> Value:
    """`member.name` by Python's lookup: on the member, then on its class."""
    cls = Reference(member.cls)
    found = find_in_class(site.frame, cls, name)
    if found is not None and not isinstance(found[1], LibraryValue):
        if is_property(found[0]):
            assert isinstance(found[0], PartialValue)
            return site.call(found[0].arguments[0], CallArguments((receiver,)))
        return bind(site, found[0], receiver, cls)
    if name in ("name", "_name_"):
        return Constant(member.name)
    if name in ("value", "_value_"):
        return member.value
    if name == "__class__":
        return cls
    if find_in_class(site.frame, cls, "__init__") is None:
        # only an assignment from outside can give the member such an attribute, at any time
        target = Target(RootKind.GLOBAL, f"{member.name}.{name}")
        site.frame.add_effect(Effect(EffectKind.STATE_READ, target, f"reads {target}", site.place(), assumed=True))
    return UnknownValue(reason=NO_ATTRIBUTE)
