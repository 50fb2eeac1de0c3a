"""Values that depend on few pending operations are computed separately, so that Python need not wait for the rest.

Computes: the pending nodes on which a requested value depends and, if they are few and touch no variable, their
results. Needs: the run and the nodes that it has deferred. Gives: `compute`. Ignores: the pending nodes themselves
(run.py), which run afterwards as usual, asynchronously, and compute these values again.

A program that selects the true boxes of an image, or reads the length of a sentence, needs a value of its data in the
middle of a step. The paths and segments are the same, but the value does not come from the segment that contains the
whole network.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from terra_refactor.runtime import shadow
from terra_refactor.runtime.executor import call_now
from terra_refactor.runtime.interrupts import held
from terra_refactor.runtime.lazy_tensor import LazyTensor
from terra_refactor.runtime.segments import Segment, build_segment
from terra_refactor.runtime.state import thread
from terra_refactor.runtime.tf_internals import pywrap_tfe
from terra_refactor.runtime.trie import InputRef, Node, Role, SlotRef, fill, node_references
from terra_refactor.runtime.values import collect

MOST: Final = 24
"""Maximum number of nodes that run one by one, like eager execution."""
LEAST_LEFT: Final = 8
"""Minimum number of skipped pending nodes; with fewer, separate computation does not pay off."""
COMPILED_AFTER: Final = 2
"""Number of times that nodes run one by one before they are compiled."""
LEAST_COMPILED: Final = 4
"""Minimum number of compiled nodes; fewer run as fast as a function call."""
MOST_COMPILED: Final = 128
"""Maximum number of such functions per program."""
_UNKNOWN: Final = object()


@dataclass(eq=False, slots=True)
class Plan:
    """The nodes that must run for some results, by index among the pending ones, and the function compiled from them."""

    places: tuple[int, ...]
    sights: int = 0
    function: Segment | None = None


def deferred_in(values: Any) -> list[LazyTensor]:
    """The deferred tensors among the values, at any depth of lists and tuples."""
    found: list[LazyTensor] = []
    for value in values:
        kind = type(value)
        if kind is LazyTensor:
            found.append(value)
        elif kind is list or kind is tuple:
            found.extend(deferred_in(value))
    return found


def compute(run: Any, tensors: Sequence[LazyTensor]) -> None:
    """Computes the values of the deferred tensors now, if they depend on few of the pending nodes and no tape records
    these.

    The other results of these nodes get their values, too.
    """
    pending: list[Node] = run.pending
    if (
        len(pending) < LEAST_LEFT or pending[-1].watched_later
    ):  # the tape must watch the very tensors whose use it has recorded
        return
    slots = tuple(sorted({each._slot for each in tensors if each._value is None and each._owner is run.slots}))
    if not slots:
        return
    known = pending[-1].aside  # the nodes before it are always the same
    plan = known.get(slots, _UNKNOWN)
    if plan is _UNKNOWN:
        plan = known[slots] = _plan(pending, slots)
    if plan is None:
        return
    run.depth += 1
    try:
        if not thread.recording() or not _recorded(run, pending, plan.places):
            nodes = [pending[place] for place in plan.places]
            _note(run, nodes, _run_function(run, plan, nodes) or _run(run, nodes))
    finally:
        run.depth -= 1


def _plan(pending: list[Node], slots: Sequence[int]) -> Plan | None:
    """The nodes on which the slots depend; None if there are too many, or if they involve variables or tapes."""
    first_slots = [node.first_slot for node in pending]
    most = min(MOST, len(pending) - LEAST_LEFT)
    found: set[int] = set()
    left = list(slots)
    while left:
        slot = left.pop()
        place = bisect_right(first_slots, slot) - 1  # a node without results has the same first slot as the next one
        node = pending[place]
        if node.specs[slot - node.first_slot].static is not None or place in found:
            continue
        if not node.pure or len(found) == most:
            return None
        found.add(place)
        left.extend(reference.index for reference in node_references(node) if type(reference) is SlotRef)
    touched: set[tuple[Any, int]] = {
        (InputRef, r.index) for place in found for r in node_references(pending[place]) if type(r) is InputRef
    }
    touched |= {(SlotRef, slot) for place in found for slot in _slots_of(pending[place])}
    for node in pending:
        if node.call is not None and node.call.role is Role.WATCH:
            if any((type(reference), reference.index) in touched for reference in node_references(node)):
                return None
    return Plan(tuple(sorted(found)))


def _slots_of(node: Node) -> range:
    return range(node.first_slot, node.first_slot + len(node.specs))


def _recorded(run: Any, pending: list[Node], needed: tuple[int, ...]) -> bool:
    """Whether an active tape watches an operand of the nodes."""
    inputs = {r.index for place in needed for r in node_references(pending[place]) if type(r) is InputRef}
    return bool(pywrap_tfe.TFE_Py_TapeSetShouldRecordBackprop([run.inputs[index] for index in sorted(inputs)]))


def _run_function(run: Any, plan: Plan, nodes: list[Node]) -> dict[int, Any] | None:
    """The results of the nodes, by slot, from one compiled function; None if there is none."""
    plan.sights += 1
    if plan.function is None:
        program = run.program
        if plan.sights != COMPILED_AFTER + 1 or len(nodes) < LEAST_COMPILED or program.asides_built == MOST_COMPILED:
            return None
        plan.function = _compile(run, nodes)
        if plan.function is None:
            return None
    function = plan.function
    slots = run.slots
    values = {s.index: slots[s.index]._value for s in function.sources if type(s) is SlotRef}
    results = call_now(function.name, function.arguments(values, run.inputs), function.attrs, function.outputs)
    made = dict(zip(function.live, results, strict=True))
    return _compared(run, plan, nodes, made) if run.program.shadow and plan.sights == COMPILED_AFTER + 1 else made


def _compared(run: Any, plan: Plan, nodes: list[Node], made: dict[int, Any]) -> dict[int, Any] | None:
    """`made`, or the results of eager execution where they differ: then the function is not used again."""
    program = run.program
    program.shadow_checks += 1
    eager = _run(run, nodes)
    if eager is None:
        return None
    state = shadow.Snapshot(())
    difference = shadow.compare(list(made.values()), [eager[slot] for slot in made], state, state)
    if difference is None:
        return made
    program.shadow_differences.append(f"values of the data alone, needed at {nodes[-1].where}: {difference}")
    plan.function = None
    return eager


def _compile(run: Any, nodes: list[Node]) -> Segment | None:
    program, slots = run.program, run.slots
    made = {slot for node in nodes for slot in _slots_of(node)}
    references = [reference for node in nodes for reference in node_references(node)]
    sources = tuple(dict.fromkeys(r for r in references if type(r) is InputRef or r.index not in made))
    values = {source.index: slots[source.index]._value for source in sources if type(source) is SlotRef}
    live = tuple(slot for slot in sorted(made) if slots[slot]._value is None)
    started = time.perf_counter()
    try:
        with held():
            function = build_segment(program, nodes, values, run.inputs, live, sources, xla=False)
    except Exception as error:  # nodes that cannot be built run one by one
        program.build_failures[f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"] += 1
        return None
    finally:
        program.build_seconds += time.perf_counter() - started
    program.asides_built += 1
    return function


def _run(run: Any, nodes: list[Node]) -> dict[int, Any] | None:
    """The results of the nodes, by slot, run one by one; None if the structure of one differs from before."""
    slots = run.slots
    values: dict[int, Any] = {}
    template_values: Any = values
    for node in nodes:
        call = node.call
        assert call is not None
        for reference in node_references(node):
            if type(reference) is SlotRef and reference.index not in values:
                values[reference.index] = slots[reference.index]._value
        args = [fill(template, template_values, run.inputs, ()) for template in node.args]
        kwargs = {name: fill(template, template_values, run.inputs, ()) for name, template in node.kwargs.items()}
        result = call.eager(*args, **kwargs)
        found: list[Any] = []
        if not collect(node.result, result, node.first_slot, found) or len(found) != len(node.specs):
            return None  # its result is still correct when all pending nodes run
        values.update(zip(_slots_of(node), found, strict=True))
    return values


def _note(run: Any, nodes: list[Node], values: dict[int, Any] | None) -> None:
    if values is None:
        return
    slots = run.slots
    run.program.asides += 1
    for node in nodes:
        for slot in _slots_of(node):
            lazy = slots[slot]
            if lazy._value is None:
                lazy._value = values[slot]
                run.computed_aside.add(slot)
