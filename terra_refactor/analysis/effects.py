"""Effects: recording, resolution of their targets, and composition over calls.

Computes: for each effect its target as seen from the function that has it (a parameter, `self`, a global, a captured
variable), and the translation of a callee's effects into the caller's terms. Needs: the frame at its end. Gives:
frozen `Effect`s with the chain of calls. Ignores: effects on objects that the call itself created, and on fields that
have their old value again when it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace

from terra_refactor.analysis.boundary import is_restored
from terra_refactor.analysis.engine import Engine, Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame, Summary
from terra_refactor.domain.effect import ELEMENTS, Effect, EffectKind, EffectSite, RootKind, Target
from terra_refactor.domain.lattice import references
from terra_refactor.domain.state import CELL, CLASS, EXISTS, ITEMS, Naming
from terra_refactor.domain.value import FunctionValue, ObjectId, TensorValue, UnknownValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, ParameterKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Spread

MAX_VIA = 8
"""Chains of calls are kept up to this length."""
_SEARCH_LIMIT = 400
"""Maximum number of fields searched for a path from a root to an object."""

EXTERNAL = Target(RootKind.EXTERNAL, "")


def external_effect(site: Site, kind: EffectKind, detail: str, *, assumed: bool = False) -> None:
    """Records an effect on the world outside the program."""
    site.frame.add_effect(Effect(kind, EXTERNAL, detail, site.place(), assumed=assumed))


def write_effect(
    site: Site,
    number: ObjectId,
    path: str,
    detail: str,
    *,
    keeps_tensor: bool = False,
    kind: EffectKind = EffectKind.STATE_WRITE,
) -> None:
    """Records a write to a field of an object, unless the object was created in this call."""
    frame = site.frame
    frame.note_write(site.op, (number, _heap_name(path)), site.place())
    if number not in frame.allocated:
        target = Target(RootKind.UNKNOWN, "", path, number)
        frame.add_effect(Effect(kind, target, detail, site.place(), keeps_tensor=keeps_tensor))


def _heap_name(path: str) -> str:
    """The heap field of a path's last step."""
    return path if path == ITEMS else path.lstrip(".") or CELL


def unknown_target(value: Value) -> Target:
    """The target of an effect on an unknown value."""
    for member in members(value):
        if isinstance(member, UnknownValue) and member.origin is not None:
            root = {"parameter": RootKind.PARAMETER, "global": RootKind.GLOBAL}.get(
                member.origin.root, RootKind.UNKNOWN
            )
            return Target(root, member.origin.name)
    return Target(RootKind.UNKNOWN, "")


def is_local(frame: Frame, value: Value) -> bool:
    """Whether the value is local to this call."""
    for member in members(value):
        if isinstance(member, UnknownValue):
            if (
                member.may_be_tensor
                and member.origin is not None
                and member.origin.root in ("parameter", "global", "closure")
            ):
                return False
        elif any(number not in frame.allocated for number in references(member)):
            return False
    return True


def only_local(frame: Frame, arguments: CallArguments) -> bool:
    """Whether everything passed to a callee is local to this call.

    An unknown parameter counts as local, since it may be a tensor.
    """
    given = [*arguments.positional, *(value for _, value in arguments.keywords)]
    given += [value for value in (arguments.open_positional, arguments.open_keywords) if value is not None]
    return all(
        is_local(frame, member)
        for value in given
        for member in members(value)
        if not isinstance(member, UnknownValue | TensorValue | FunctionValue)
    )


def resolve_targets(engine: Engine, frame: Frame) -> tuple[Effect, ...]:
    """The effects of a finished context, each with its root; without those on objects created in the call, and restored
    writes.
    """
    kept = [effect for effect in frame.effects.values() if not _is_inside(frame, effect)]
    wanted = {effect.target.object for effect in kept if effect.target.object is not None}
    places: dict[ObjectId, Target] = {}
    if wanted:
        places = _places(engine, frame, wanted, with_globals=False)
    if not wanted <= places.keys():
        places = {**_places(engine, frame, wanted - places.keys(), with_globals=True), **places}
    resolved: list[Effect] = []
    for effect in kept:
        number = effect.target.object
        if number is None:
            resolved.append(effect)
            continue
        place = places.get(number)
        if place is None:
            facts = engine.objects.facts[number]
            if facts.kind in (ObjectKind.MODULE, ObjectKind.CLASS):
                place = Target(RootKind.GLOBAL, "" if facts.kind is ObjectKind.MODULE else facts.name)
            else:
                place = Target(RootKind.UNKNOWN, facts.name)
        name, path = place.name, place.path + effect.target.path
        if place.root is RootKind.GLOBAL and not name:
            name, path = path.lstrip("."), ""
        resolved.append(_with(effect, Target(place.root, name, path, number), effect.via))
    return tuple(resolved)


def _is_inside(frame: Frame, effect: Effect) -> bool:
    """Whether an effect is on an object created in the call, or a restored write."""
    number = effect.target.object
    if number is None:
        return False
    return number in frame.allocated or (
        effect.kind is EffectKind.STATE_WRITE and is_restored(frame, (number, _heap_name(own_field(effect.target))))
    )


def _places(engine: Engine, frame: Frame, wanted: Set[ObjectId], *, with_globals: bool) -> dict[ObjectId, Target]:
    """The shortest path from a root of this function to each wanted object, and to objects on the way."""
    places: dict[ObjectId, Target] = {}
    pending: list[tuple[ObjectId, Target]] = []
    ordered = engine.objects.ordered
    first = frame.function.parameters[0].name if frame.function.parameters else None
    for name, value in frame.parameters.items():
        root = RootKind.SELF if frame.function.takes_self and name == first else RootKind.PARAMETER
        pending.extend((number, Target(root, name)) for number in ordered(references(value)))
    for name, cell in frame.closure.items():
        places.setdefault(cell, Target(RootKind.CLOSURE, name))
        content = frame.root.get((cell, CELL))
        if content is not None:
            pending.extend((number, Target(RootKind.CLOSURE, name)) for number in ordered(references(content)))
    for name, value in engine.loader.globals_of(frame.function.id.module) if with_globals else ():
        pending.extend((number, Target(RootKind.GLOBAL, name)) for number in ordered(references(value)))
    missing = wanted - places.keys()
    known_fields: Mapping[ObjectId, Iterable[str]] | None = None
    looked_at = 0
    position = 0
    while missing and position < len(pending) and looked_at < _SEARCH_LIMIT:
        number, target = pending[position]
        position += 1
        if number in places:
            continue
        places[number] = target
        missing -= {number}
        if known_fields is None:
            known_fields = _field_index(frame)
        for name in known_fields.get(number, ()):
            held = frame.root.get((number, name))
            looked_at += 1
            if held is None or name in (EXISTS, CLASS):
                continue
            step = "[]" if name == ITEMS else "" if name == CELL else f".{name}"
            following = Target(target.root, target.name, target.path + step)
            pending.extend((inner, following) for inner in ordered(references(held)) if inner not in places)
    return places


def _field_index(frame: Frame) -> Mapping[ObjectId, Iterable[str]]:
    """The fields of each object that this call has read or written, in that order."""
    fields: dict[ObjectId, dict[str, None]] = {}
    for number, name in (*(frame.root.reads or ()), *frame.root.heap):
        fields.setdefault(number, {})[name] = None
    return fields


def compose_effects(
    site: Site, summary: Summary, bound: Mapping[str, Value], mapping: Mapping[ObjectId, ObjectId], naming: Naming
) -> Iterator[Effect]:
    """A callee's effects as effects of the caller, each with this call in front of its chain."""
    frame = site.frame
    here = site.place()
    chains: dict[int, tuple[EffectSite, ...]] = {}
    for effect in summary.effects:
        if len(effect.via) >= MAX_VIA:
            continue
        via = chains.get(id(effect.via))
        if via is None:
            via = chains[id(effect.via)] = (here, *effect.via)
        number = effect.target.object
        if number is not None:
            outer = mapping.get(number)
            if outer is None:
                outer = naming.outward_object(number)
            if outer is not None and effect.kind is EffectKind.STATE_WRITE:
                frame.note_write(site.op, (outer, _heap_name(own_field(effect.target))), effect.site)
            if outer is None or outer in frame.allocated:
                # created in this call; or, in a context that several calls share, an effect on the result of another
                # call
                continue
            yield _with(effect, Target(RootKind.UNKNOWN, "", own_field(effect.target), outer), via)
        elif effect.target.root in (RootKind.PARAMETER, RootKind.SELF):
            value = bound.get(effect.target.name)
            argument = None
            if effect.target.path == ELEMENTS and value is not None:
                argument = _argument_of(site, summary.function, effect.target.name, value)
            if argument is not None:
                frame.arrays_changed.append(argument)
                continue
            if value is None:
                yield _with(effect, Target(RootKind.UNKNOWN, effect.target.name), via)
                continue
            numbers = site.engine.objects.ordered(references(value))
            if numbers and all(number in frame.allocated for number in numbers):
                if effect.kind is EffectKind.STATE_WRITE:
                    continue
                yield _with(effect, Target(RootKind.FRESH, effect.target.name), via)
            elif numbers:
                yield _with(effect, Target(RootKind.UNKNOWN, "", effect.target.path, numbers[0]), via)
            else:
                outer_target = unknown_target(value)
                yield _with(effect, replace(outer_target, path=effect.target.path), via)
        else:
            yield _with(effect, effect.target, via)


def _argument_of(site: Site, function: Function, name: str, value: Value) -> OpId | None:
    """The operation that produced a parameter's argument, if the present call passes it directly."""
    call = site.operation(site.op)
    if not isinstance(call, ops.Call) or any(argument.spread is not Spread.PLAIN for argument in call.arguments):
        return None
    positional = [argument.value for argument in call.arguments if argument.keyword is None]
    names = [
        each.name
        for each in function.parameters
        if each.kind in (ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL)
    ]
    bound_before = isinstance(site.operation(call.function), ops.LoadAttribute) and function.takes_self
    given = dict(zip(names[bound_before:], positional, strict=False))
    given.update((argument.keyword, argument.value) for argument in call.arguments if argument.keyword is not None)
    found = given.get(name)
    # a library function may call it with other arguments than its own
    return found if found is not None and site.frame.value(found) == value else None


def _with(effect: Effect, target: Target, via: tuple[EffectSite, ...]) -> Effect:
    """The effect on another target, or with another chain of calls. Written out, since `replace` takes three times as long."""
    return Effect(effect.kind, target, effect.detail, effect.site, via, effect.assumed, effect.keeps_tensor)


def own_field(target: Target) -> str:
    """The last step of a target's path: the field of the object that is acted on."""
    if target.path.endswith("[]"):
        return "[]"
    if "." in target.path:
        return "." + target.path.rpartition(".")[2]
    return f".{target.name}" if target.root is RootKind.GLOBAL and not target.path else target.path
