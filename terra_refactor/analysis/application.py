"""Application of a summary at a call: translation of names and values into the callee, and of effects and writes back.

Computes: the callee's stand-ins for its arguments, the caller's names of the result, the effects and writes of a call. Needs: the summary
of the callee. Gives: functions for the interpreter; summaries are not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from terra_refactor.analysis.boundary import less_known
from terra_refactor.analysis.effects import MAX_VIA, compose_effects
from terra_refactor.analysis.engine import Heap, Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import Frame, Summary
from terra_refactor.analysis.freezing import MAX_FREEZE_DEPTH
from terra_refactor.domain.effect import EffectSite
from terra_refactor.domain.lattice import join, references, rename, widen
from terra_refactor.domain.state import ANY_NAME, CLASS, EXISTS, HeapKey, Naming, written_to_any
from terra_refactor.domain.traced import seen_outside
from terra_refactor.domain.value import FALSE, ObjectId, UnknownValue, Value
from terra_refactor.ir.ids import FunctionId, OpId

MAX_ARRIVALS: Final = 24
"""Maximum number of distinct values kept per argument, function and caller."""
DEPTH_OF_ARRIVALS: Final = MAX_FREEZE_DEPTH - 3
"""The contents of containers that are passed are kept for the facts three levels deep."""


def stand_ins(engine: Heap, bound: Mapping[str, Value]) -> dict[ObjectId, ObjectId]:
    """The callee's names of the objects that it receives. Classes and modules keep their names."""
    inward: dict[ObjectId, ObjectId] = {}
    for value in bound.values():
        for number in engine.objects.ordered(references(value)):
            if number not in inward and engine.objects.facts[number].kind not in (
                ObjectKind.CLASS,
                ObjectKind.MODULE,
            ):
                is_open = number in engine.open_instances
                inner = engine.objects.stand_in(len(inward), number, open_instance=is_open)
                inward[number] = inner
                if is_open:
                    engine.note_open_instance(inner)
    return inward


def entry_naming(engine: Heap, callee: FunctionId) -> Naming:
    """The naming for an entry (a function without callers): outer names, except for objects that an earlier call of
    itself created.
    """
    return Naming({}, engine.objects.level_names, callee)


def writes_of_entry(engine: Heap, summary: Summary) -> Iterator[tuple[HeapKey, Value]]:
    """The writes of an entry, in the names of the program's state. Objects keep their names, since each is created by
    one entry.
    """
    naming = entry_naming(engine, summary.function.id)

    def outside(number: ObjectId) -> ObjectId:
        outer = naming.outward_object(number)
        return number if outer is None else outer

    for (number, name), value in summary.writes.items():
        mapping = {inner: outside(inner) for inner in references(value)}
        yield (outside(number), name), rename(value, mapping)


def outward(value: Value, naming: Naming, mapping: Mapping[ObjectId, ObjectId]) -> Value:
    """A callee's value in the caller's names; unknown if it contains objects of another call."""
    value = seen_outside(value)
    found = references(value)
    if not found:
        return value
    renamed: dict[ObjectId, ObjectId] = {}
    for number in found:
        outer = mapping.get(number)
        if outer is None:
            outer = naming.outward_object(number)
        if outer is None:
            return UnknownValue(reason="an object that another call gave")
        renamed[number] = outer
    return rename(value, renamed)


def _is_up_to_iteration(frame: Frame) -> bool:
    """Whether the code runs under an undecided condition in a loop, so that other arguments may take another branch."""
    outside = frame.loops[-1].doubt if frame.loops else 0
    return bool(frame.iteration and frame.doubt) or (bool(frame.loops) and frame.doubt > outside)


def apply_summary(site: Site, summary: Summary, bound: Mapping[str, Value], naming: Naming) -> Value:
    """Applies a summary's effects and writes to the caller; returns its result, with new objects named by this call."""
    engine, frame = site.engine, site.frame
    if summary.identity >= 0 and not frame.provoked:
        record = frame.call_record(site.op)
        record.callees[summary.identity] = None
        if not (frame.conditions or engine.expecting_errors or engine.one_of_several):
            is_choice = frame.alternatives or _is_up_to_iteration(frame)
            (record.chosen if is_choice else record.certain).add(summary.identity)
    mapping: dict[ObjectId, ObjectId] = {}
    if summary.allocated:
        call = (frame.function.id, site.op, frame.iteration)
        surviving = {key[0] for key in summary.writes if key[0] in summary.allocated}
        surviving |= references(summary.returns) & summary.allocated
        for inner in engine.objects.ordered(surviving):
            outer = engine.objects.derive(call, inner)
            mapping[inner] = outer
            if engine.objects.stands_for_several(outer):
                _add_to_several(engine, frame, outer)
            else:
                engine.make_room(frame, outer)
                frame.note_made(site.op, outer)
    for number, value in [(number, value) for (number, name), value in summary.writes.items() if name == ANY_NAME]:
        # the callee has changed objects that it saw: these are further writes
        given = naming.outward_object(number)
        if number not in mapping and given is not None:
            for beginning, written in written_to_any(outward(value, naming, mapping)):
                engine.write_any_name(frame, given, beginning, written)
    for (number, name), value in summary.writes.items():
        target = mapping.get(number)
        if target is None:
            target = naming.outward_object(number)
        if target is None:
            # a context that several calls share: the effect is on the result of another call
            continue
        key = (target, name)
        # a recursive call happens in a state other than that of the summary
        recursive = summary.identity < 0 and name not in (EXISTS, CLASS)
        renamed = outward(less_known(value) if recursive else value, naming, mapping)
        if number in mapping and engine.objects.stands_for_several(target):
            if name == EXISTS:
                continue
            # other objects of that name keep their content
            known = frame.state.get(key)
            renamed = renamed if known is None else join(known, renamed)
        traced = summary.staged.get((number, name))
        if traced is not None:
            traced = outward(traced, naming, mapping)
            if target not in frame.allocated:
                frame.staged_fields[key] = renamed, traced
            renamed = traced
        frame.state.set(key, renamed)
    # if the callee unpacks it, the parts are used as tensors
    operands = engine.operands_of(summary.function.id)
    for name in engine.usage_of(summary.function.id) - engine.code.iterated_parameters(summary.function):
        if name in bound:
            engine.note_usage(bound[name], frame, beside_tensor=name in operands)
    for effect in compose_effects(site, summary, bound, mapping, naming):
        frame.add_effect(effect)
    if summary.state_reads:
        _note_reads(frame, site.op, summary, naming)
    return outward(summary.returns, naming, mapping)


def _add_to_several(engine: Heap, frame: Frame, number: ObjectId) -> None:
    """Merges an object into those that share a name: it belongs to this call unless the name came from outside."""
    exists = (number, EXISTS)
    if frame.state.get(exists) is None:
        frame.state.set(exists, FALSE)
        frame.allocated.add(number)


def _note_reads(frame: Frame, op: OpId, summary: Summary, naming: Naming) -> None:
    """Adds the callee's reads of state that outlives the call to those of the caller."""
    frame.reading_calls.append((op, summary, naming))
    here, state_reads = frame.site(op), frame.state_reads
    chains: dict[int, tuple[EffectSite, ...]] = {}
    for read, (site, via) in summary.state_reads.items():
        number = read[0]
        if number in summary.allocated or len(via) >= MAX_VIA:
            continue
        actual = naming.outward_object(number)
        if actual is None or actual in frame.allocated:
            continue
        key = read if actual == number else (actual, read[1])
        if key not in state_reads:
            chain = chains.get(id(via))
            if chain is None:
                chain = chains[id(via)] = (here, *via)
            state_reads[key] = (site, chain)


def note_arrival(seen: dict[Value, None], value: Value) -> None:
    """Records an argument value of a call; beyond a maximum, further values are joined."""
    if len(seen) >= MAX_ARRIVALS and value not in seen:
        last, _ = seen.popitem()
        value = widen(last, value)
    seen[value] = None
