"""Loops and comprehensions.

Computes: the state after a loop: loops over a few known elements are unrolled, others run to a fixpoint with
widening. Needs: iteration, truth and refinement of conditions. Gives: handlers, and a `BranchFact` for every loop.
Approximates: a list that a loop changes while it iterates over it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.effects import external_effect
from terra_refactor.analysis.engine import TERMINATED, Site, Terminated
from terra_refactor.analysis.facts import BranchFact, BranchKind, ChangedParts, ObjectKind
from terra_refactor.analysis.frames import Collector, Frame, LoopFrame
from terra_refactor.analysis.refine import refine
from terra_refactor.analysis.transfer.allocation import new_list, new_set
from terra_refactor.analysis.transfer.filled_lists import lists_filled
from terra_refactor.analysis.transfer.iteration import Iteration, iterate
from terra_refactor.analysis.transfer.kept_iterators import ITERATORS, as_object, reading
from terra_refactor.analysis.transfer.mappings import new_dict
from terra_refactor.analysis.transfer.staged import (
    changed_parts,
    changed_variables,
    differing_variables,
    grow_in_graph,
    make_fields_symbolic,
    make_symbolic,
    note_branch,
    variables_set,
)
from terra_refactor.analysis.truth import asked
from terra_refactor.domain.dim import add
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.lattice import join_all, list_element
from terra_refactor.domain.roots import EVERYWHERE
from terra_refactor.domain.state import EXISTS, ITEMS, State
from terra_refactor.domain.traced import with_content_open
from terra_refactor.domain.value import (
    BOTTOM,
    UNBOUND,
    UNKNOWN,
    Constant,
    FrozenDict,
    FrozenList,
    ObjectId,
    Reference,
    SequenceValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Block, Op
from terra_refactor.ir.walk import walk

MAX_UNROLLED: Final = 12
"""Maximum number of known elements for which a loop is unrolled."""
MAX_UNROLLED_OBJECTS: Final = 32
"""The same for objects, such as the layers of a model, which could not be distinguished otherwise."""
MAX_UNROLL_DEPTH: Final = 2
MAX_ITERATIONS: Final = 8
"""Maximum number of iterations; variables that still change then become unknown."""
WIDEN_AFTER: Final = 1


def for_loop(site: Site, op: Op) -> Terminated | None:
    assert isinstance(op, ops.For)
    frame = site.frame
    found = _in_graph(iterate(site, frame.present(op.iterable)))
    if frame.loop_lengths.setdefault(op.id, found.length) != found.length:
        frame.loop_lengths[op.id] = None
    before = dict(frame.state.locals)
    filled = lists_filled(site, op) if found.length is not None else {}
    outcome = _run_loop(site, op, found, op.body, op.else_block)
    for number, length in filled.items():
        content = frame.state.get((number, ITEMS))
        if isinstance(content, FrozenList) and content.elements is None and outcome is None:
            frame.state.set((number, ITEMS), FrozenList(None, content.element, add(length, found.length)))
    changed: tuple[tuple[str, Value, Value], ...] = ()
    parts: ChangedParts = ()
    if found.kind in (BranchKind.TENSOR, BranchKind.DATASET):
        make_symbolic(frame, frame.state, (name for name, _, _ in changed_variables(frame.state.locals, before)))
        changed, parts = _changed_by_iteration(frame, op.id, before)
        grow_in_graph(frame.state, changed)
    skipped = not (isinstance(found.length, int) and found.length > 0)
    note_branch(frame, BranchFact(op.id, found.kind, (found.element != BOTTOM, skipped), (True, True), changed, parts))
    return outcome


def _in_graph(found: Iteration) -> Iteration:
    """The values that a loop passes to its body: if the loop is in the graph, with contents known only at run time."""
    if found.kind not in (BranchKind.TENSOR, BranchKind.DATASET):
        return found
    elements = found.elements
    return replace(
        found,
        elements=None if elements is None else tuple(with_content_open(each, EVERYWHERE) for each in elements),
        element=with_content_open(found.element, EVERYWHERE),
    )


def _run_loop(site: Site, op: Op, found: Iteration, body: Block, else_block: Block) -> Terminated | None:
    engine, frame = site.engine, site.frame
    if isinstance(op, ops.For | ops.Comprehension):
        _note_advanced(site, op)
    staged = isinstance(op, ops.For) and found.kind in (BranchKind.TENSOR, BranchKind.DATASET)
    if found.elements is not None and _worth_unrolling(frame, found.elements, body):
        source = _list_of(site, op)
        return _unrolled(site, found.elements, body, else_block, source, op=op.id, staged=staged)
    if found.element == BOTTOM and found.elements == ():
        return None if engine.run_block(frame, else_block) else TERMINATED

    last = found.last if not any(isinstance(inner, ops.Break | ops.Return) for inner in walk(body)) else None

    def run_body() -> bool:
        if last is not None:
            # the shorter last batch certainly occurs, which matters for failures that are certain with it; its state
            # is that of any element
            frame.values[body[0].id] = last
            engine.run_branch(frame, body)
        frame.values[body[0].id] = found.element
        return engine.run_block(frame, body)

    return _fixpoint(site, run_body, lambda: True, lambda: True, else_block, op=op.id, staged=lambda: staged, body=body)


def _note_advanced(site: Site, loop: ops.For | ops.Comprehension) -> None:
    """Records that a loop advances an iterator that an attribute or global variable keeps for the next call, or that it
    does not exhaust it.
    """
    frame = site.frame
    source = site.operation(loop.iterable)
    kept = isinstance(source, ops.LoadAttribute) or (
        isinstance(source, ops.LoadName) and source.scope is ops.Scope.GLOBAL
    )
    alternatives = members(frame.present(loop.iterable))
    if not any(isinstance(member, SequenceValue) and member.kind in ITERATORS for member in alternatives):
        return
    if kept:
        external_effect(site.at(loop.id), EffectKind.ITERATE, reading(site.at(loop.id)))
    named = isinstance(source, ops.LoadName | ops.LoadAttribute)
    if named and any(isinstance(inner, ops.Break | ops.Return) for inner in walk(loop.body)):
        frame.advanced = True


def _worth_unrolling(frame: Frame, elements: Sequence[Value], body: Block) -> bool:
    if not elements or len(frame.iteration) >= MAX_UNROLL_DEPTH:
        return False
    objects = all(isinstance(element, Reference) for element in elements)
    return len(elements) <= (MAX_UNROLLED_OBJECTS if objects else MAX_UNROLLED)


def _list_of(site: Site, op: Op) -> ObjectId | None:
    """The list that a `for` iterates over: it may change during the loop."""
    source = site.frame.present(op.iterable) if isinstance(op, ops.For) else None
    if isinstance(source, Reference) and site.engine.objects.facts[source.object].kind is ObjectKind.LIST:
        return source.object
    return None


def _unrolled(
    site: Site,
    elements: Sequence[Value],
    body: Block,
    else_block: Block,
    source: ObjectId | None = None,
    *,
    op: OpId,
    staged: bool,
) -> Terminated | None:
    """Runs the body once for each element, also for elements that the body adds to the iterated list (`source`)."""
    engine, frame = site.engine, site.frame
    outer, doubt = frame.state, frame.doubt
    exits: list[State] = []
    start = outer.fork()
    if staged:
        # its variables are tensors from the first iteration
        make_symbolic(frame, start, variables_set(body))
    current: State | None = start
    index = 0
    while index < len(elements):
        assert current is not None
        element = elements[index]
        frame.iteration = (*frame.iteration, index)
        frame.doubt = 0
        loop = LoopFrame(current)
        frame.loops.append(loop)
        frame.state = current
        try:
            frame.keep_earlier(body[0].id, element)
            frame.values[body[0].id] = element
            fork = current.fork()
            frame.state = fork
            falls_through = engine.run_block(frame, body)
        finally:
            frame.loops.pop()
            frame.state = outer
            frame.iteration = frame.iteration[:-1]
            frame.doubt = doubt
        ends = [*([fork] if falls_through else []), *loop.continues]
        exits.extend(state.flattened(outer) for state in loop.breaks)
        if not ends:
            current = None
            break
        if index == 0:
            _note_first(frame, op, body, current, ends)
        current.merge(ends)
        if staged or loop.staged is not None:
            make_symbolic(frame, current, variables_set(body) if staged else differing_variables(ends))
            make_fields_symbolic(frame, current, body, None if staged else loop.staged)
        index += 1
        content = None if source is None else current.get((source, ITEMS))
        if isinstance(content, FrozenList) and content.elements != elements:
            if content.elements is None or len(content.elements) > MAX_UNROLLED:
                assert source is not None
                return _rest_of_loop(site, current, exits, source, body, else_block, op)
            elements = content.elements
    if current is not None:
        frame.state = current
        try:
            reached = engine.run_block(frame, else_block)
        finally:
            frame.state = outer
        if reached:
            exits.append(current)
    if not exits:
        return TERMINATED
    outer.merge(exits)
    return None


def _rest_of_loop(
    site: Site, current: State, exits: list[State], source: ObjectId, body: Block, else_block: Block, op: OpId
) -> Terminated | None:
    """The remaining iterations after a list has grown beyond the known elements."""
    frame = site.frame
    outer, frame.state = frame.state, current

    def run_body() -> bool:
        content = frame.state.get((source, ITEMS))
        frame.values[body[0].id] = list_element(content) if isinstance(content, FrozenList) else UNKNOWN
        return site.engine.run_block(frame, body)

    try:
        outcome = _fixpoint(
            site, run_body, lambda: True, lambda: True, else_block, op=op, staged=lambda: False, body=body
        )
    finally:
        frame.state = outer
    ends = [*exits, *([] if outcome is TERMINATED else [current])]
    if not ends:
        return TERMINATED
    outer.merge(ends)
    return None


def _fixpoint(
    site: Site,
    run_body: Callable[[], bool],
    enter: Callable[[], bool],
    leave: Callable[[], bool],
    else_block: Block,
    *,
    op: OpId,
    staged: Callable[[], bool],
    body: Block,
) -> Terminated | None:
    """Runs a loop until its state no longer changes.

    `enter` evaluates the test and refines by it; returns False if the body is certainly not entered. `leave` does the
    same for the exit. `staged` says, after an iteration, whether the loop is part of the graph.
    """
    frame = site.frame
    outer = frame.state
    frame.uncertainty += 1
    current = outer.fork()
    breaks: list[State] = []
    stored = variables_set(body)
    # those of an earlier iteration of an enclosing loop say nothing about this one
    earlier = set(frame.guarded_failures)
    try:
        for round_number in range(MAX_ITERATIONS + 1):
            loop = LoopFrame(current, frame.doubt)
            known = frame.failures.keys() | (frame.guarded_failures.keys() - earlier)
            frame.loops.append(loop)
            fork = current.fork()
            frame.state = fork
            try:
                entered = enter()
                falls_through = entered and run_body()
            finally:
                frame.loops.pop()
                frame.state = outer
            breaks = [state.flattened(outer) for state in loop.breaks]
            ends = [*([fork] if falls_through else []), *loop.continues]
            if not ends:
                break
            following = outer.fork()
            following.heap = dict(current.heap)
            following.locals = dict(current.locals)
            unchanged = following.fork()
            for end in ends:
                end.parent = following
            differing = set() if loop.staged is None else differing_variables(ends)
            if round_number == 0:
                _note_first(frame, op, body, unchanged, ends)
            following.merge([unchanged, *ends], widening=round_number >= WIDEN_AFTER)
            if loop.staged is not None or staged():
                make_symbolic(frame, following, stored if staged() else differing)
                make_fields_symbolic(frame, following, body, None if staged() else loop.staged)
            if following.locals == current.locals and following.heap == current.heap:
                break
            if round_number >= MAX_ITERATIONS - 1:
                _give_up_on_changes(current, following)
            current = following
            for number in loop.doubtful - known:
                # a condition may exclude the failing case and let others pass
                failure = frame.failures.pop(number, None)
                if failure is not None:
                    frame.guarded_failures.setdefault(number, failure)
        frame.state = current
        reached = leave() and site.engine.run_block(frame, else_block)
    finally:
        frame.uncertainty -= 1
        frame.state = outer
    exits = [*([current] if reached else []), *breaks]
    if not exits:
        return TERMINATED
    outer.merge(exits)
    return None


def _note_first(frame: Frame, op: OpId, body: Block, before: State, ends: Sequence[State]) -> None:
    """Keeps the values of the variables after the first iteration: AutoGraph compares them with those before."""
    names = dict.fromkeys(name for end in ends for name in end.locals)
    frame.first_ends[op] = {name: join_all(end.locals.get(name, UNBOUND) for end in ends) for name in names}
    frame.first_parts[op] = changed_parts(frame, body, ends[0], before) if len(ends) == 1 else ()


def _changed_by_iteration(
    frame: Frame, op: OpId, before: dict[str, Value]
) -> tuple[tuple[tuple[str, Value, Value], ...], ChangedParts]:
    """The variables that one iteration changes, and the attributes and items: their values after the first iteration,
    and before the loop.
    """
    return changed_variables(frame.first_ends.pop(op, before), before), frame.first_parts.pop(op, ())


def _give_up_on_changes(old: State, new: State) -> None:
    """Widens all values that still change to unknown, so that the next iteration is the last."""
    for name, value in new.locals.items():
        if old.locals.get(name) != value:
            new.locals[name] = UnknownValue(reason="loop")
    for key, value in new.heap.items():
        if key[1] == EXISTS:
            continue
        if old.heap.get(key) != value and key[1] != ITEMS:
            new.heap[key] = UnknownValue(reason="loop")
        elif old.heap.get(key) != value:
            new.heap[key] = FrozenDict((), UNKNOWN) if isinstance(value, FrozenDict) else FrozenList(None, UNKNOWN)


def while_loop(site: Site, op: Op) -> Terminated | None:
    assert isinstance(op, ops.While)
    engine, frame = site.engine, site.frame
    kinds: list[BranchKind] = []
    before = dict(frame.state.locals)

    def test(wanted: bool) -> bool:
        if not engine.run_block(frame, op.test_block):
            return False
        answer = asked(site, frame.value(op.test))
        kinds.append(answer.kind)
        return answer.value is not (not wanted) and refine(site, op.test, wanted)

    outcome = _fixpoint(
        site,
        lambda: engine.run_block(frame, op.body),
        lambda: test(True),
        lambda: test(False),
        op.else_block,
        op=op.id,
        staged=lambda: kinds[:1] == [BranchKind.TENSOR],
        body=op.body,
    )
    kind = BranchKind.TENSOR if BranchKind.TENSOR in kinds else kinds[-1] if kinds else BranchKind.UNKNOWN
    changed: tuple[tuple[str, Value, Value], ...] = ()
    parts: ChangedParts = ()
    if kind is BranchKind.TENSOR:
        make_symbolic(frame, frame.state, (name for name, _, _ in changed_variables(frame.state.locals, before)))
        changed, parts = _changed_by_iteration(frame, op.id, before)
        grow_in_graph(frame.state, changed)
    note_branch(frame, BranchFact(op.id, kind, (True, True), (True, True), changed, parts))
    return outcome


def next_item(site: Site, op: Op) -> None:
    """Nothing to do: the enclosing operation has set the value."""
    return


def comprehension(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.Comprehension)
    frame = site.frame
    collector = Collector(frame.uncertainty)
    frame.collectors.append(collector)
    found = iterate(site, frame.present(op.iterable))
    if found.elements is None or not _worth_unrolling(frame, found.elements, op.body):
        collector.exact = found.elements == ()
    try:
        _run_loop(site, op, found, op.body, ())
    finally:
        frame.collectors.pop()
    note_branch(frame, BranchFact(op.id, found.kind, (True, True), (True, True)))
    values = tuple(value for _, value in collector.elements)
    if op.kind is ops.ComprehensionKind.DICT:
        if collector.exact and all(isinstance(key, Constant) for key, _ in collector.elements):
            items = {key: value for key, value in collector.elements if key is not None}
            return new_dict(site, FrozenDict(tuple(items.items())))
        return new_dict(site, FrozenDict((), join_all(values) if values else None))
    # one element for each of the source's, unless it is inside a condition or another loop
    length = found.length if any(isinstance(inner, ops.CollectElement) for inner in op.body) else None
    if op.kind is ops.ComprehensionKind.LIST:
        content = FrozenList(values) if collector.exact else FrozenList(None, join_all(values), length)
        return new_list(site, content)
    if op.kind is ops.ComprehensionKind.SET:
        return new_set(site, join_all(values))
    if collector.exact:
        return as_object(site, TupleValue(values))
    return as_object(site, SequenceValue(join_all(values), "generator", length))


def collect_element(site: Site, op: Op) -> None:
    assert isinstance(op, ops.CollectElement)
    frame = site.frame
    collector = frame.collectors[-1]
    if frame.uncertainty > collector.depth:
        collector.exact = False
    key = None if op.key is None else frame.value(op.key)
    collector.elements.append((key, frame.value(op.value)))
