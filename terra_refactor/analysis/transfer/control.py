"""Control flow: branches, loops, comprehensions, match, generators.

Computes: the states on the ways through a structured operation, and their merge; loops run to a fixpoint, those over a few known elements
are unrolled. Needs: truth and refinement of conditions. Gives: `HANDLERS`, and a `BranchFact` for every branch and loop.
Ways out of blocks are in `exceptions`.

Approximates: generators run to their end where they are called; a list that a loop changes while it iterates over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.classes import class_of_instance, find_in_class, resolution_order
from terra_refactor.analysis.effects import external_effect
from terra_refactor.analysis.engine import TERMINATED, Handler, Site, Terminated
from terra_refactor.analysis.facts import BranchFact, BranchKind, ObjectKind
from terra_refactor.analysis.frames import Collector, Frame, LoopFrame
from terra_refactor.analysis.freezing import freeze_in
from terra_refactor.analysis.instances import is_instance
from terra_refactor.analysis.refine import refine
from terra_refactor.analysis.transfer import exceptions
from terra_refactor.analysis.transfer.containers import ITERATORS, Iteration, iterate, length_of, new_list, new_set
from terra_refactor.analysis.transfer.filled_lists import lists_filled
from terra_refactor.analysis.transfer.mappings import new_dict
from terra_refactor.analysis.truth import Answer, asked, truth_of
from terra_refactor.domain.dim import Why, add, definitely_different
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.lattice import join, join_all, list_element
from terra_refactor.domain.roots import EVERYWHERE
from terra_refactor.domain.shape import open_axis
from terra_refactor.domain.state import ITEMS, State
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import with_content_open
from terra_refactor.domain.value import (
    BOTTOM,
    NONE,
    UNBOUND,
    UNKNOWN,
    UNKNOWN_BOOL,
    Constant,
    FrozenDict,
    FrozenList,
    LibraryValue,
    ObjectId,
    Reference,
    SequenceValue,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    as_symbolic,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Block, Op
from terra_refactor.ir.walk import walk
from terra_refactor.tf_model.environment import TYPE_CHECKING

MAX_UNROLLED: Final = 12
"""Loops over at most so many known elements are unrolled."""
MAX_UNROLLED_OBJECTS: Final = 32
"""Of objects, such as the layers of a model, more: what is one of many cannot be told apart."""
MAX_UNROLL_DEPTH: Final = 2
MAX_ITERATIONS: Final = 8
"""A loop whose state still changes after so many iterations has its changing variables set to unknown."""
WIDEN_AFTER: Final = 1
MAX_CHANGES: Final = 64
"""So many changes of variables are kept of a branch that runs several times, the first ones."""


# --- branches ------------------------------------------------------------------------------------------------------------------


def branch(site: Site, op: Op) -> Terminated | None:
    assert isinstance(op, ops.If)
    test = site.frame.value(op.test)
    if isinstance(test, LibraryValue) and test.name in TYPE_CHECKING:
        _bind_for_annotations(site, op.then_block)
    answer = asked(site, test)
    return _two_ways(
        site,
        op,
        answer,
        (op.then_block, lambda: refine(site, op.test, True)),
        (op.else_block, lambda: refine(site, op.test, False)),
    )


def _bind_for_annotations(site: Site, block: Block) -> None:
    """Binds what `if TYPE_CHECKING:` binds, unless the name is bound already.

    The block never runs. Annotations speak of its names, and nothing else can: a read of them would raise.
    """
    frame = site.frame
    saved = dict(frame.effects), dict(frame.failures), dict(frame.calls)
    reads, writes = dict(frame.state_reads), dict(frame.writes_at)
    end = site.engine.run_branch(frame, block)
    frame.effects, frame.failures, frame.calls = saved
    frame.state_reads, frame.writes_at = reads, writes
    if end is None:
        return
    for name, value in end.locals.items():
        frame.state.locals.setdefault(name, value)
    for key, value in end.heap.items():
        if frame.state.get(key) is None:
            frame.state.set(key, value)


def _two_ways(
    site: Site,
    op: ops.If,
    answer: Answer,
    first: tuple[Block, Callable[[], bool]],
    second: tuple[Block, Callable[[], bool]],
) -> Terminated | None:
    engine, frame = site.engine, site.frame
    outer = frame.state
    if answer.value is None:
        frame.uncertainty += 1
        frame.doubt += 1
    # which way a tensor's value decides has nothing to do with shapes; code for another release may fail with this one
    selects = (
        answer.value is None
        and answer.kind is not BranchKind.TENSOR
        and (answer.release or engine.code.is_about_parameters(frame.function, op.test))
    )
    frame.conditions += selects
    exits = frame.exits
    taken = answer.value is not False, answer.value is not True
    ends: list[State | None] = [None, None]
    refined: list[bool] = [False, False]
    for position, (block, prepare) in enumerate((first, second)):
        if taken[position]:

            def prepared(prepare: Callable[[], bool] = prepare, position: int = position) -> bool:
                refined[position] = prepare()
                return refined[position]

            ends[position] = engine.run_branch(frame, block, prepared)
    if answer.value is None:
        frame.uncertainty -= 1
        frame.doubt -= 1
    if selects and (None not in ends or frame.exits == exits):
        # after a `return` on one side what follows is the other side
        frame.conditions -= 1
    changed: tuple[tuple[str, Value, Value], ...] = ()
    main, other = ends
    if answer.kind is BranchKind.TENSOR and main is not None and other is not None:
        changed = tuple(
            (name, freeze_in(main, one), freeze_in(other, another))
            for name, one, another in changed_variables(main.locals, other.locals)
        )
    fact = BranchFact(
        op.id,
        answer.kind,
        (taken[0] and refined[0], taken[1] and refined[1]),
        (ends[0] is not None, ends[1] is not None),
        changed,
    )
    note_branch(frame, fact)
    reached = [end for end in ends if end is not None]
    staged = answer.kind is BranchKind.TENSOR
    if staged and len(reached) < 2 and frame.loops:
        frame.loops[-1].staged = True
    if not reached:
        return TERMINATED
    if len(reached) > 1 and not engine.steps.merged(frame, reached):
        frame.problem = "budget"
        return TERMINATED
    outer.merge(reached)
    if staged and len(reached) == 2:
        _make_symbolic(outer, _stored((*op.then_block, *op.else_block)))
        _merge_in_graph(outer, changed)
    return None


def _stored(block: Block) -> set[str]:
    """The variables that a block sets."""
    return {inner.name for inner in walk(block) if isinstance(inner, ops.StoreName)}


def _differing(ends: Sequence[State]) -> set[str]:
    """The variables that differ between the ways to the end of an iteration."""
    return {name for end in ends[1:] for name, _, _ in changed_variables(ends[0].locals, end.locals)}


def _make_symbolic(state: State, names: Iterable[str]) -> None:
    """Python values that a condition or loop on a tensor has set: in a graph AutoGraph makes tensors of them."""
    for name in names:
        value = state.locals.get(name)
        if value is not None:
            merged = join_all(as_symbolic(member) for member in members(value))
            state.locals[name] = with_content_open(merged, EVERYWHERE)


def _merge_in_graph(state: State, changed: Iterable[tuple[str, Value, Value]]) -> None:
    """Tensors that a condition on a tensor chooses: no constant, and of no static size where the two have different ones."""
    for name, first, second in changed:
        value = state.locals.get(name)
        if value is not None and UNBOUND not in (first, second):
            state.locals[name] = chosen_in_graph(value)


def _grow_in_graph(state: State, changed: Iterable[tuple[str, Value, Value]]) -> None:
    """Tensors that an iteration of the graph gives other sizes: behind the loop these are not static."""
    for name, first, before in changed:
        value, sizes = (
            state.locals.get(name),
            [each.type.shape for each in (first, before) if isinstance(each, TensorValue)],
        )
        if value is None or len(sizes) < 2 or sizes[0] is None or sizes[1] is None or len(sizes[0]) != len(sizes[1]):
            continue
        grown = [axis for axis, pair in enumerate(zip(*sizes, strict=True)) if definitely_different(*pair)]
        for axis in grown:
            value = join_all(
                _with_axis_open(member, axis) if isinstance(member, TensorValue) else member
                for member in members(value)
            )
        state.locals[name] = value


def chosen_in_graph(value: Value) -> Value:
    """One of several values, chosen by a tensor."""
    alternatives = members(value)
    shapes = [member.type.shape for member in alternatives if isinstance(member, TensorValue) and member.type.shape]
    if len(shapes) == len(alternatives) and len({len(shape) for shape in shapes}) == 1:
        for axis, sizes in enumerate(zip(*shapes, strict=True)):
            if any(definitely_different(sizes[0], size) for size in sizes[1:]):
                alternatives = tuple(_with_axis_open(member, axis) for member in alternatives)
    return join_all(alternatives)


def _with_axis_open(value: Value, axis: int) -> Value:
    assert isinstance(value, TensorValue)
    shape = open_axis(value.type.shape, axis, EVERYWHERE, Why.CONTENT)
    return replace(value, type=TensorType(value.type.dtype, shape))


def note_branch(frame: Frame, fact: BranchFact) -> None:
    """Keeps what is known of a branch, over all times it runs."""
    known = frame.branches.get(fact.op)
    if known is not None:
        strongest = known.kind if known.kind in (BranchKind.TENSOR, BranchKind.DATASET) else fact.kind
        fact = BranchFact(
            fact.op,
            strongest,
            (known.taken[0] or fact.taken[0], known.taken[1] or fact.taken[1]),
            (known.falls_through[0] or fact.falls_through[0], known.falls_through[1] or fact.falls_through[1]),
            tuple(dict.fromkeys((*known.changed, *fact.changed)))[:MAX_CHANGES],
        )
    frame.branches[fact.op] = fact


def changed_variables(first: dict[str, Value], second: dict[str, Value]) -> tuple[tuple[str, Value, Value], ...]:
    """The local variables that differ between two states."""
    names = dict.fromkeys([*first, *second])
    return tuple(
        (name, first.get(name, UNBOUND), second.get(name, UNBOUND))
        for name in names
        if first.get(name, UNBOUND) != second.get(name, UNBOUND)
    )


def if_expression(site: Site, op: Op) -> Value | Terminated:
    assert isinstance(op, ops.IfExpression)
    frame = site.frame
    answer = asked(site, frame.value(op.test))
    values: list[Value] = []
    taken = answer.value is not False, answer.value is not True
    states: list[State] = []
    frame.conditions += answer.release
    for truth, block, number in ((True, op.then_block, op.then_value), (False, op.else_block, op.else_value)):
        if taken[0 if truth else 1]:
            end = site.engine.run_branch(frame, block, lambda truth=truth: refine(site, op.test, truth))  # type: ignore[misc]
            if end is not None:
                states.append(end)
                values.append(frame.value(number))
    frame.conditions -= answer.release
    note_branch(frame, BranchFact(op.id, answer.kind, taken, taken))
    if not states:
        return TERMINATED
    frame.state.merge(states)
    return join_all(values)


def short_circuit(site: Site, op: Op) -> Value | Terminated:
    assert isinstance(op, ops.ShortCircuit)
    frame = site.frame
    left = frame.value(op.left)
    answer = asked(site, left)
    wanted = op.operator == "and"
    note_branch(frame, BranchFact(op.id, answer.kind, (answer.value is not (not wanted), True), (True, True)))
    if answer.value is (not wanted):
        return left
    if answer.value is None:
        frame.uncertainty += 1
    frame.conditions += answer.release
    end = site.engine.run_branch(frame, op.block, lambda: refine(site, op.left, wanted))
    frame.conditions -= answer.release
    if answer.value is None:
        frame.uncertainty -= 1
    if end is None:
        return TERMINATED if answer.value is wanted else _kept_left(site, left, wanted)
    right = frame.value(op.value)
    if answer.value is wanted:
        frame.state.adopt(end)
        return right
    untouched = frame.state.fork()
    frame.state.merge([end, untouched])
    return join(_kept_left(site, left, wanted), right)


def _kept_left(site: Site, left: Value, wanted: bool) -> Value:
    """The alternatives of the left side for which the right side is not evaluated."""
    kept = [member for member in members(left) if truth_of(site, member).value is not wanted]
    return join_all(kept) if kept else UNKNOWN_BOOL


# --- loops ---------------------------------------------------------------------------------------------------------------------


def for_loop(site: Site, op: Op) -> Terminated | None:
    assert isinstance(op, ops.For)
    frame = site.frame
    found = _in_graph(iterate(site, frame.value(op.iterable)))
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
    if found.kind in (BranchKind.TENSOR, BranchKind.DATASET):
        _make_symbolic(frame.state, (name for name, _, _ in changed_variables(frame.state.locals, before)))
        changed = _changed_by_iteration(frame, op.id, before)
        _grow_in_graph(frame.state, changed)
    skipped = not (isinstance(found.length, int) and found.length > 0)
    note_branch(frame, BranchFact(op.id, found.kind, (found.element != BOTTOM, skipped), (True, True), changed))
    return outcome


def _in_graph(found: Iteration) -> Iteration:
    """What a loop hands to its body: of a content that only the run tells where the graph has the loop."""
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
            # the shorter batch that certainly comes, for what certainly fails on it; its state is that of any element
            frame.values[body[0].id] = last
            engine.run_branch(frame, body)
        frame.values[body[0].id] = found.element
        return engine.run_block(frame, body)

    return _fixpoint(site, run_body, lambda: True, lambda: True, else_block, op=op.id, staged=lambda: staged, body=body)


def _note_advanced(site: Site, loop: ops.For | ops.Comprehension) -> None:
    """Records that a loop reads an iterator that an attribute or a global variable keeps for the next call, or not to its end."""
    frame = site.frame
    source = site.operation(loop.iterable)
    kept = isinstance(source, ops.LoadAttribute) or (
        isinstance(source, ops.LoadName) and source.scope is ops.Scope.GLOBAL
    )
    alternatives = members(frame.value(loop.iterable))
    if not any(isinstance(member, SequenceValue) and member.kind in ITERATORS for member in alternatives):
        return
    if kept:
        external_effect(site.at(loop.id), EffectKind.ITERATE, "the loop")
    named = isinstance(source, ops.LoadName | ops.LoadAttribute)
    if named and any(isinstance(inner, ops.Break | ops.Return) for inner in walk(loop.body)):
        frame.advanced = True


def _worth_unrolling(frame: Frame, elements: Sequence[Value], body: Block) -> bool:
    if not elements or len(frame.iteration) >= MAX_UNROLL_DEPTH:
        return False
    objects = all(isinstance(element, Reference) for element in elements)
    return len(elements) <= (MAX_UNROLLED_OBJECTS if objects else MAX_UNROLLED)


def _list_of(site: Site, op: Op) -> ObjectId | None:
    """The list that a `for` iterates over: it may change on the way."""
    source = site.frame.value(op.iterable) if isinstance(op, ops.For) else None
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
    """Runs the body once for each element. Elements that the body adds to the list that it iterates over (`source`) come, too."""
    engine, frame = site.engine, site.frame
    outer, doubt = frame.state, frame.doubt
    exits: list[State] = []
    current: State | None = outer.fork()
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
            _note_first(frame, op, ends)
        current.merge(ends)
        if staged or loop.staged:
            _make_symbolic(current, _stored(body) if staged else _differing(ends))
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
    """The iterations that are left when a list has grown beyond what is known one by one."""
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

    `enter` runs the test and refines by it; False if the body is certainly not entered. `leave` does so for the way out. `staged` says,
    after an iteration, whether the loop is one of the graph.
    """
    frame = site.frame
    outer = frame.state
    frame.uncertainty += 1
    current = outer.fork()
    breaks: list[State] = []
    stored = _stored(body)
    try:
        for round_number in range(MAX_ITERATIONS + 1):
            loop = LoopFrame(current)
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
            differing = _differing(ends) if loop.staged else set()
            if round_number == 0:
                _note_first(frame, op, ends)
            following.merge([unchanged, *ends], widening=round_number >= WIDEN_AFTER)
            if loop.staged or staged():
                _make_symbolic(following, stored if staged() else differing)
            if following.locals == current.locals and following.heap == current.heap:
                break
            if round_number >= MAX_ITERATIONS - 1:
                _give_up_on_changes(current, following)
            current = following
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


def _note_first(frame: Frame, op: OpId, ends: Sequence[State]) -> None:
    """Keeps what the variables are after the first iteration: AutoGraph compares that with what they were before."""
    names = dict.fromkeys(name for end in ends for name in end.locals)
    frame.first_ends[op] = {name: join_all(end.locals.get(name, UNBOUND) for end in ends) for name in names}


def _changed_by_iteration(frame: Frame, op: OpId, before: dict[str, Value]) -> tuple[tuple[str, Value, Value], ...]:
    """The variables that one iteration changes: what they are after the first, and before the loop."""
    return changed_variables(frame.first_ends.pop(op, before), before)


def _give_up_on_changes(old: State, new: State) -> None:
    """Sets what still changes to unknown, so that the next iteration is the last."""
    for name, value in new.locals.items():
        if old.locals.get(name) != value:
            new.locals[name] = UnknownValue(reason="loop")
    for key, value in new.heap.items():
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
    if kind is BranchKind.TENSOR:
        _make_symbolic(frame.state, (name for name, _, _ in changed_variables(frame.state.locals, before)))
        changed = _changed_by_iteration(frame, op.id, before)
        _grow_in_graph(frame.state, changed)
    note_branch(frame, BranchFact(op.id, kind, (True, True), (True, True), changed))
    return outcome


def next_item(site: Site, op: Op) -> None:
    """Nothing: the operation around it has set the value."""
    return


# --- comprehensions --------------------------------------------------------------------------------------------------------------


def comprehension(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.Comprehension)
    frame = site.frame
    collector = Collector(frame.uncertainty)
    frame.collectors.append(collector)
    found = iterate(site, frame.value(op.iterable))
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
    # one element for each of the source's, unless a condition or another loop is around it
    length = found.length if any(isinstance(inner, ops.CollectElement) for inner in op.body) else None
    if op.kind is ops.ComprehensionKind.LIST:
        content = FrozenList(values) if collector.exact else FrozenList(None, join_all(values), length)
        return new_list(site, content)
    if op.kind is ops.ComprehensionKind.SET:
        return new_set(site, join_all(values))
    if collector.exact:
        return TupleValue(values)
    return SequenceValue(join_all(values), "generator", length)


def collect_element(site: Site, op: Op) -> None:
    assert isinstance(op, ops.CollectElement)
    frame = site.frame
    collector = frame.collectors[-1]
    if frame.uncertainty > collector.depth:
        collector.exact = False
    key = None if op.key is None else frame.value(op.key)
    collector.elements.append((key, frame.value(op.value)))


# --- match -----------------------------------------------------------------------------------------------------------------------


def pattern_test(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.PatternTest)
    answers = {_pattern_answer(site, op, member) for member in members(site.frame.value(op.subject))}
    answer = answers.pop() if len(answers) == 1 else None
    return UNKNOWN_BOOL if answer is None else Constant(answer)


def _pattern_answer(site: Site, op: ops.PatternTest, subject: Value) -> bool | None:
    match op.kind:
        case ops.PatternKind.SEQUENCE:
            if isinstance(subject, Reference) and _is_no_sequence(site, subject):
                return False
            length = length_of(site, subject) if isinstance(subject, TupleValue | Reference) else None
            if isinstance(length, Constant) and isinstance(length.value, int):
                return length.value >= op.length if op.at_least else length.value == op.length
            return False if isinstance(subject, Constant) else None
        case ops.PatternKind.CLASS:
            return is_instance(site, subject, site.frame.value(op.operands[0]))
        case _:
            return False if isinstance(subject, Constant) else None


def _is_no_sequence(site: Site, subject: Reference) -> bool:
    """Whether a sequence pattern certainly does not match: a dict, a set, an instance of a class without bases from libraries."""
    frame = site.frame
    kind = site.engine.objects.facts[subject.object].kind
    if kind is ObjectKind.INSTANCE:
        cls = class_of_instance(frame, subject)
        return cls is not None and all(
            isinstance(base, Reference) or base == LibraryValue("builtins.object")
            for candidate in members(cls)
            for base in resolution_order(frame, candidate)
        )
    return kind in (ObjectKind.DICT, ObjectKind.SET)


def pattern_attribute(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.PatternAttribute)
    frame = site.frame
    cls, subject = frame.value(op.cls), frame.value(op.subject)
    if isinstance(cls, LibraryValue):
        return subject if op.position == 0 else UNKNOWN
    found = find_in_class(frame, cls, "__match_args__")
    if found is not None and isinstance(found[0], TupleValue) and op.position < len(found[0].elements):
        name = found[0].elements[op.position]
        if isinstance(name, Constant) and isinstance(name.value, str):
            return join_all(site.attribute(member, name.value) for member in members(subject))
    return UNKNOWN


# --- generators ---------------------------------------------------------------------------------------------------------------------


def yield_value(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.Yield)
    frame = site.frame
    frame.yields = join(frame.yields, NONE if op.value is None else frame.value(op.value))
    return UNKNOWN


def yield_from(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.YieldFrom)
    frame = site.frame
    frame.yields = join(frame.yields, iterate(site, frame.value(op.value)).element)
    return UNKNOWN


def await_value(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.Await)
    return site.frame.value(op.value)


HANDLERS: dict[type[Op], Handler] = {
    **exceptions.HANDLERS,
    ops.If: branch,
    ops.IfExpression: if_expression,
    ops.ShortCircuit: short_circuit,
    ops.For: for_loop,
    ops.While: while_loop,
    ops.NextItem: next_item,
    ops.Comprehension: comprehension,
    ops.CollectElement: collect_element,
    ops.PatternTest: pattern_test,
    ops.PatternAttribute: pattern_attribute,
    ops.Yield: yield_value,
    ops.YieldFrom: yield_from,
    ops.Await: await_value,
}
