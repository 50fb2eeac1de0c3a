"""Attributes by computed names: `setattr`, and the attributes as a dict (`object.__dict__`, `vars(object)`,
`globals()`).

Computes: reads and writes of such attributes of an instance or a module. Needs: attribute access. Gives: functions
for the handlers of `setattr`, of items and of the methods of dicts. Ignores: the order and the length of such a dict,
and that removed items are unbound. Approximates: a name that a module's body computes is assumed to be one that the
module does not bind otherwise.
"""

from __future__ import annotations

from terra_refactor.analysis.effects import unknown_target, write_effect
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.attributes import attribute_of, set_attribute
from terra_refactor.analysis.transfer.loaded_numbers import each_item, note_changed, set_from_loaded
from terra_refactor.analysis.transfer.mappings import dict_content
from terra_refactor.domain.effect import Effect, EffectKind
from terra_refactor.domain.lattice import join, without_unbound
from terra_refactor.domain.state import ANY_NAME, may_be_named
from terra_refactor.domain.value import UNBOUND, UNKNOWN, Constant, ModuleValue, ObjectId, Reference, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId


def set_named(site: Site, target: Value, name: Value, value: Value, written: str, named_by: OpId | None = None) -> None:
    """Sets the attribute `name`, which may be one of several names, or any name with the known prefix of the operation
    `named_by`.

    If the value may be unbound, the attribute may keep its old value.
    """
    frame = site.frame
    names = members(name)
    given = without_unbound(value)
    doubtful = len(names) > 1 or given != value
    for member in names:
        if isinstance(member, Constant) and isinstance(member.value, str):
            held = given
            for owner in members(target) if doubtful else ():
                known = frame.state.get((owner.object, member.value)) if isinstance(owner, Reference) else None
                held = join(UNBOUND if known is None else known, held)
            set_attribute(site, target, member.value, held)
            continue
        for owner in members(target):
            number = owner.object if isinstance(owner, Reference) else _module_object(site, owner)
            if number is not None:
                beginning = "" if named_by is None else _beginning(site, named_by)
                if isinstance(owner, Reference) or frame.function.kind is not FunctionKind.MODULE:
                    _write_any(site, number, beginning, given)
                write_effect(site, number, f".{beginning}{ANY_NAME}", written)
            else:
                note_changed(site, owner, None)
                place = unknown_target(owner)
                frame.add_effect(Effect(EffectKind.STATE_WRITE, place, written, site.place(), assumed=True))


def _module_object(site: Site, owner: Value) -> ObjectId | None:
    return site.engine.loader.object_of(owner.name) if isinstance(owner, ModuleValue) else None


def _write_any(site: Site, owner: ObjectId, beginning: str, value: Value) -> None:
    """Writes an attribute whose name is known only by a prefix; items of a loaded mapping are set under their own names."""
    engine, frame = site.engine, site.frame
    before = engine.fields_here(frame, owner)
    engine.write_any_name(frame, owner, beginning, value)
    for name, held in before.items():
        known = set_from_loaded(site, value, name, held) if may_be_named(name, beginning) else None
        if known is not None:
            frame.state.set((owner, name), known)


def _beginning(site: Site, number: OpId) -> str:
    """The known prefix of a string, from the operation that creates it; empty if unknown."""
    known = site.frame.value(number)
    if isinstance(known, Constant):
        return known.value if isinstance(known.value, str) else ""
    match site.operation(number):
        case ops.FormatString(parts=parts):
            first = parts[0] if parts else ""
            if isinstance(first, str):
                return first
            return "" if first.conversion is not None or first.spec is not None else _beginning(site, first.value)
        case ops.Binary(operator="+", left=left):
            return _beginning(site, left)
        case ops.Binary(operator="%", left=left):
            return _beginning(site, left).partition("%")[0]
        case ops.Call(function=function):
            method = site.operation(function)
            if isinstance(method, ops.LoadAttribute) and method.name == "format":
                return _beginning(site, method.object).partition("{")[0]
    return ""


def item_of_attributes(site: Site, owner: Reference | ModuleValue, index: Value) -> Value:
    """`owner.__dict__[index]`."""
    if isinstance(index, Constant) and isinstance(index.value, str):
        return attribute_of(site, owner, index.value)
    return UNKNOWN


def change_attributes(site: Site, owner: Reference | ModuleValue, arguments: CallArguments) -> Value:
    """A method of the dict that changes it: keyword arguments set those attributes; otherwise any attribute may change."""
    written = site.written(site.op)
    for argument in arguments.positional:
        item = each_item(argument)
        if item is not None:
            set_named(site, owner, UNKNOWN, item, written)
            continue
        content = dict_content(site, argument)
        for key, value in content.items:
            set_named(site, owner, key, value, written)
        if content.rest is not None:
            set_named(site, owner, UNKNOWN, content.rest, written)
    for name, value in arguments.keywords:
        set_named(site, owner, Constant(name), value, written)
    if arguments.open_keywords is not None or not (arguments.positional or arguments.keywords):
        set_named(site, owner, UNKNOWN, UNKNOWN, written)
    return UNKNOWN
