"""Runs pending nodes: as compiled segments on known paths, one by one on others.

Computes: which results are still needed, where tapes split the path, and the matching segment. Needs: the run, and
the nodes that it deferred. Gives: `run_pending`, `replay`, `guards_hold`. Ignores: how segments are built
(segments.py, tape_segments.py).
"""

from __future__ import annotations

import sys
import time
import weakref
from typing import Any

import numpy as np

from terra_refactor.runtime import run_tapes, shadow, tape_segments
from terra_refactor.runtime.executor import wait_for_segments
from terra_refactor.runtime.interrupts import held
from terra_refactor.runtime.lazy_tensor import LazyTensor
from terra_refactor.runtime.segments import BuildError, Segment, build_segment, define_function
from terra_refactor.runtime.state import thread
from terra_refactor.runtime.trie import Node, Role, SlotRef, fill, node_references
from terra_refactor.runtime.values import collect

_TAPE_ROLES = (Role.PUSH, Role.POP, Role.WATCH, Role.GRADIENT)


def guards_hold(run: Any, node: Node) -> bool:
    """Whether the call's indices are in range; otherwise it must fail at its own line."""
    for guard in node.guards:
        elements = run.inputs[guard.index]._numpy_internal()
        if np.size(elements) and not (np.min(elements) >= 0 and np.max(elements) < guard.bound):  # NaN is out of range
            return False
    return True


def _drop_what_hangs_on_the_dead(slots: list[Any]) -> None:
    """Deletes attributes that are tensors, of tensors that are no longer referenced, unless the program refers to their
    `__dict__`. Other attributes may have finalizers, so they are kept until the segment has ended.
    """
    count = sys.getrefcount
    dropped = True
    while dropped:
        dropped = False
        for lazy in slots:
            if count(lazy) <= _BASE_COUNT and lazy.__dict__ and count(lazy.__dict__) <= _DICTIONARY_COUNT:
                for name in [name for name, item in lazy.__dict__.items() if type(item) is LazyTensor]:
                    del lazy.__dict__[name]
                    dropped = True


def _wanted(slots: list[Any], static_too: bool) -> list[int]:
    """The slots that are still referenced outside the run."""
    found = []
    position = 0
    count = sys.getrefcount
    for lazy in slots:
        if count(lazy) > _BASE_COUNT and (lazy._value is None or (static_too and lazy._lazy_dtype.is_floating)):
            found.append(position)
        position += 1  # noqa: SIM113  (enumerate's tuple would hold a reference)
    return found


def _base_count() -> int:
    slots = [object()]
    for lazy in slots:
        return sys.getrefcount(lazy)
    return 0


class _Thing:
    pass


_BASE_COUNT = _base_count()
_DICTIONARY_COUNT = sys.getrefcount(_Thing().__dict__) + 1  # and the object itself


_NO_TAPES: frozenset[int] = frozenset()


def _open_tapes(run: Any) -> frozenset[int]:
    """The tapes entered in this segment that are still referenced."""
    return frozenset(
        [index for index, state in enumerate(run.tapes) if not state.consumed and sys.getrefcount(state.tape) > 2]
    )


def run_pending(run: Any, nodes: list[Node]) -> None:
    """Runs the deferred nodes of a run. Its live LazyTensors have values afterwards."""
    run.program.deferred += len(nodes)
    opened = _open_tapes(run) if run.tapes else _NO_TAPES
    tapes = bool(opened) or bool(thread.recording())
    if run.hung:
        _drop_what_hangs_on_the_dead(run.slots)
    wanted = [slot for slot in _wanted(run.slots, tapes) if slot not in run.computed_aside]
    values: list[Any] = [None] * len(run.slots)
    last = nodes[-1]
    known = last.divided.get(opened)
    if known is None:  # the nodes before the last one are always the same
        pieces = _split(nodes, opened)
        late = bool(tapes and _watched_after_use(nodes, opened))
        known = last.divided[opened] = pieces, late, () if pieces is None else _needed_later(nodes, pieces)
    pieces, late, needed_later = known
    if pieces is None or (tapes and (last.watched_later or late)):
        wait_for_segments()
        run.program.fell_back(
            "a tape that stays open overlaps one that ends"
            if pieces is None
            else "a tape watches a tensor that was used before"
        )
        _replay_nodes(run, nodes, values)
    else:
        for is_event, start, stop in pieces:
            if is_event:
                _event(run, nodes[start], values)
            else:
                live = sorted(
                    {s for s in wanted if nodes[start].first_slot <= s < _end_slot(nodes[stop - 1])}
                    | {s for s in needed_later if nodes[start].first_slot <= s < _end_slot(nodes[stop - 1])}
                )
                _run_piece(run, nodes[start:stop], values, tuple(live), nodes[stop - 1], start)
    slots = run.slots
    for slot in wanted:
        slots[slot]._value = values[slot]
    if thread.recording():
        run_tapes.note_use(run, last, values)


def release(slots: list[Any]) -> list[weakref.ref[LazyTensor]]:
    """Detaches tensors from an ended segment. Returns those that are still referenced outside of the run."""
    found = []
    count = sys.getrefcount
    for lazy in slots:
        if type(lazy) is LazyTensor:
            if lazy._value is not None:
                lazy._release()
            if count(lazy) > _BASE_COUNT:
                found.append(weakref.ref(lazy))
    slots.clear()  # its tensors refer to the list: otherwise only the garbage collector would free it, with its contents
    return found


def _end_slot(node: Node) -> int:
    return node.first_slot + len(node.specs)


def _split(nodes: list[Node], opened: frozenset[int]) -> list[tuple[bool, int, int]] | None:
    """The parts between events of tapes that stay open; None if a closed tape contains only one end of such a tape."""
    if not opened:
        return [(False, 0, len(nodes))]
    pieces: list[tuple[bool, int, int]] = []
    start = 0
    homes: dict[int, int] = {}
    for index, node in enumerate(nodes):
        role = node.call.role if node.call is not None else Role.OPERATION
        if role not in _TAPE_ROLES:
            continue
        if node.tape in opened:
            if index > start:
                pieces.append((False, start, index))
            pieces.append((True, index, index + 1))
            start = index + 1
        elif homes.setdefault(node.tape, len(pieces)) != len(pieces):
            return None
    if start < len(nodes):
        pieces.append((False, start, len(nodes)))
    # a closed tape must lie in one part: the same number of parts precedes its first and last event
    return pieces


def _watched_after_use(nodes: list[Node], opened: frozenset[int]) -> bool:
    """Whether an open tape begins to watch a tensor whose use it has recorded.

    The recorded operations, which had another watched operand, then lead to this tensor, too. The entries of compiled
    segments do not: they lead to the tensors watched when they ran.
    """
    used: dict[int, set[Any]] = {}  # for each tape, the tensors used since it was entered
    for node in nodes:
        role = node.call.role if node.call is not None else Role.OPERATION
        if role is Role.PUSH:
            used.setdefault(node.tape, set())
        elif role is Role.WATCH:
            if node.tape in opened and not used.get(node.tape, set()).isdisjoint(node_references(node)):
                return True
        elif role is Role.OPERATION and used:
            references = node_references(node)
            for each in used.values():
                each.update(references)
    return False


def _needed_later(nodes: list[Node], pieces: list[tuple[bool, int, int]]) -> set[int]:
    """The slots that a later part reads."""
    found: set[int] = set()
    for _, start, stop in pieces[1:]:
        first = nodes[start].first_slot
        for node in nodes[start:stop]:
            found.update(r.index for r in node_references(node) if type(r) is SlotRef and r.index < first)
    return found


def _event(run: Any, node: Node, values: list[Any]) -> None:
    """Executes an event of a tape that stays open."""
    _replay_nodes(run, [node], values)


def _replay_nodes(run: Any, nodes: list[Node], values: list[Any]) -> None:
    """Runs nodes one by one, like eager execution. After a failure no tape that the program has left still records."""
    recording = [bool(state.tape._recording) for state in run.tapes]
    try:
        _replay_one_by_one(run, nodes, values)
    except BaseException:
        for state, still in zip(run.tapes, recording, strict=True):
            if state.tape._recording and not still:
                run_tapes.real_pop(state.tape)
            elif still and type(state.tape._tape) is run_tapes.VirtualTape:
                state.tape._tape, state.tape._recording = None, False
        raise


def _replay_one_by_one(run: Any, nodes: list[Node], values: list[Any]) -> None:
    tapes = [state.tape for state in run.tapes]
    for node in nodes:
        call = node.call
        assert call is not None
        if call.role is Role.PUSH:
            state = run.tapes[node.tape]
            run_tapes.real_push(state.tape)
            continue
        args = [fill(template, values, run.inputs, tapes) for template in node.args]
        kwargs = {name: fill(template, values, run.inputs, tapes) for name, template in node.kwargs.items()}
        if call.role is Role.POP:
            if args[0]._recording:
                run_tapes.real_pop(args[0])
            continue
        result = call.eager(*args, **kwargs)
        found: list[Any] = []
        if not collect(node.result, result, node.first_slot, found) or len(found) != len(node.specs):
            raise RuntimeError(f"{call.name} gave another structure than before")
        values[node.first_slot : node.first_slot + len(found)] = found


def replay(run: Any, nodes: list[Node]) -> None:
    """Runs all nodes of the segment eagerly, and makes its tensors real."""
    values: list[Any] = [None] * len(run.slots)
    try:
        _replay_nodes(run, nodes, values)
    finally:
        # an interruption may have occurred between a node and its slots: then there are fewer slots
        for slot, (lazy, value) in enumerate(zip(run.slots, values, strict=False)):
            if value is not None:
                lazy._value = value
                run.ids[id(value)] = slot


def _run_piece(run: Any, nodes: list[Node], values: list[Any], live: tuple[int, ...], last: Node, start: int) -> None:
    program = run.program
    recording = thread.recording()
    several = len(recording) > 1 or (bool(recording) and recording[0]._persistent)
    if all(node.call is not None and node.call.role in (Role.PUSH, Role.POP) for node in nodes):
        return
    under_tape = bool(recording)
    place = (start, under_tape, several)
    found = last.segments.get(place)
    if found is None or (found != "failed" and not found.live_set.issuperset(live)):
        last.seen += 1
        wanted = set(live) if found is None else found.live_set.union(live)
        if last.seen <= program.sights_before_building():
            wait_for_segments()
            program.replays += 1
            _replay_nodes(run, nodes, values)
            return
        found = _build(run, nodes, values, tuple(sorted(wanted)), under_tape)
        last.segments[place] = found
    if found == "failed":
        wait_for_segments()
        _replay_nodes(run, nodes, values)
        return
    program.segments_run += 1
    if under_tape:
        try:
            if program.shadow:
                _run_and_compare(run, nodes, values, found, last, place)
            else:
                found.run(values, run.inputs, several)
        except BuildError as error:
            program.build_failures[str(error).splitlines()[0]] += 1
            last.segments[place] = "failed"
            wait_for_segments()
            _replay_nodes(run, nodes, values)
    elif found.runs == 0 and (program.shadow or found.xla):
        _first_run(run, nodes, values, found, last, place)
    else:
        found.run(values, run.inputs)


def _build(run: Any, nodes: list[Node], values: list[Any], live: tuple[int, ...], under_tape: bool) -> Any:
    program = run.program
    started = time.perf_counter()
    build = tape_segments.build_tape_segment if under_tape else build_segment
    try:
        with held():
            segment = build(program, nodes, values, run.inputs, live)
    except Exception as error:  # whatever cannot be built runs eagerly, and never fails the program
        program.build_failures[f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"] += 1
        return "failed"
    finally:
        program.build_seconds += time.perf_counter() - started
    program.segments_built += 1
    return segment


def _run_and_compare(run: Any, nodes: list[Node], values: list[Any], segment: Any, last: Node, place: Any) -> None:
    """Runs a segment under a tape. The first run with these watched tensors is compared with eager execution, gradients
    included.

    Raises:
        BuildError: the gradient cannot be built; nothing has run.
    """
    program = run.program
    several = place[2]
    arguments = segment.arguments(values, run.inputs)
    watched = segment.watched(arguments)
    if (watched, several) in segment.variants:
        segment.run(values, run.inputs, several)
        return
    wait_for_segments()
    snapshot = shadow.Snapshot(segment.captures)
    before = list(values)
    sources = [arguments[position] for position in watched]

    def results() -> list[Any]:
        return [values[slot] for slot in segment.live]

    compiled = shadow.differentiated(lambda: segment.run(values, run.inputs, several), results, sources)
    after = shadow.Snapshot(segment.captures)
    computed = list(values)
    snapshot.restore()
    values[:] = before
    eager = shadow.differentiated(lambda: _replay_nodes(run, nodes, values), results, sources)
    eager_after = shadow.Snapshot(segment.captures)
    program.shadow_checks += 1
    difference = shadow.compare_gradients(compiled, eager) or shadow.compare(
        compiled.tensors, eager.tensors, after, eager_after
    )
    if difference is None:
        values[:] = computed
    else:  # the tape has recorded both
        program.shadow_differences.append(f"segment ending at {last.where}: {difference}")
        last.segments[place] = "failed"


def _first_run(run: Any, nodes: list[Node], values: list[Any], segment: Segment, last: Node, place: Any) -> None:
    """The first run of a segment is compared with eager execution (shadow), or may fail to compile (XLA)."""
    program = run.program
    wait_for_segments()
    snapshot = shadow.Snapshot(segment.captures)
    before = list(values)
    try:
        segment.run(values, run.inputs)
    except Exception as error:
        if not segment.xla:
            raise
        program.build_failures[f"XLA: {str(error).splitlines()[0][:160]}"] += 1
        snapshot.restore()
        plain = Segment(**{**{name: getattr(segment, name) for name in segment.__slots__}, "xla": False, "runs": 0})
        plain.name = segment.name + "_plain"
        with held():
            plain.function = define_function(plain.name, segment.graph, False)
        last.segments[place] = plain
        values[:] = before
        _first_run(run, nodes, values, plain, last, place)
        return
    if not program.shadow:
        return
    compiled = [values[slot] for slot in segment.live]
    after = shadow.Snapshot(segment.captures)
    snapshot.restore()
    values[:] = before
    _replay_nodes(run, nodes, values)
    eager_after = shadow.Snapshot(segment.captures)
    program.shadow_checks += 1
    difference = shadow.compare(compiled, [values[slot] for slot in segment.live], after, eager_after)
    if difference is not None:
        program.shadow_differences.append(f"segment ending at {last.where}: {difference}")
        last.segments[place] = "failed"
