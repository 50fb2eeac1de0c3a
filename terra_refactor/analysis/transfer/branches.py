"""Branches: `if`, conditional expressions, `and` and `or`.

Computes: the states of both paths, and their merge. Needs: truth and refinement of conditions. Gives: handlers, and a
`BranchFact` for every branch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from terra_refactor.analysis.engine import TERMINATED, Site, Terminated
from terra_refactor.analysis.facts import BranchFact, BranchKind, ChangedParts, ObjectKind
from terra_refactor.analysis.freezing import freeze_in
from terra_refactor.analysis.refine import refine
from terra_refactor.analysis.transfer.staged import (
    changed_parts,
    changed_variables,
    make_fields_symbolic,
    make_symbolic,
    merge_in_graph,
    note_branch,
    variables_set,
)
from terra_refactor.analysis.truth import Answer, asked, truth_of
from terra_refactor.domain.chosen import chosen_in_graph, symbolic
from terra_refactor.domain.lattice import join, join_all
from terra_refactor.domain.state import State
from terra_refactor.domain.value import (
    UNKNOWN_BOOL,
    LibraryValue,
    Reference,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Block, Op
from terra_refactor.tf_model.environment import TYPE_CHECKING


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
    """Binds the names of `if TYPE_CHECKING:`, unless a name is bound already.

    The block never runs. Only annotations refer to its names: a read of them would raise.
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
    # a condition on a tensor's value does not test shapes; code for another release may fail with this one
    selects = answer.value is None and answer.kind is not BranchKind.TENSOR
    selects = selects and (answer.release or _is_about_parameters(site, answer, op.test))
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
        # after a `return` on one side, the following code belongs to the other side
        frame.conditions -= 1
    changed: tuple[tuple[str, Value, Value], ...] = ()
    parts: ChangedParts = ()
    main, other = ends
    if answer.kind is BranchKind.TENSOR and main is not None and other is not None:
        changed = tuple(
            (name, _frozen(site, main, one), _frozen(site, other, another))
            for name, one, another in changed_variables(main.locals, other.locals)
        )
        parts = changed_parts(frame, (*op.then_block, *op.else_block), main, other)
    fact = BranchFact(
        op.id,
        answer.kind,
        (taken[0] and refined[0], taken[1] and refined[1]),
        (ends[0] is not None, ends[1] is not None),
        changed,
        parts,
    )
    note_branch(frame, fact)
    reached = [end for end in ends if end is not None]
    staged = answer.kind is BranchKind.TENSOR
    if staged and len(reached) < 2 and frame.loops and frame.loops[-1].staged is None:
        frame.loops[-1].staged = op.id
    if not reached:
        return TERMINATED
    if len(reached) > 1 and not engine.steps.merged(frame, reached):
        frame.problem = "budget"
        return TERMINATED
    outer.merge(reached)
    if staged and len(reached) == 2:
        make_symbolic(frame, outer, variables_set((*op.then_block, *op.else_block)))
        make_fields_symbolic(frame, outer, (*op.then_block, *op.else_block))
        merge_in_graph(outer, changed)
    return None


def _frozen(site: Site, state: State, value: Value) -> Value:
    """The contents of lists and dicts in place of references; sets stay objects, which a branch of a graph cannot return."""
    facts = site.engine.objects.facts
    if isinstance(value, Reference) and facts[value.object].kind is ObjectKind.SET:
        return value
    return freeze_in(state, value)


def _is_about_parameters(site: Site, answer: Answer, test: OpId) -> bool:
    """Whether a condition has an unknown truth that depends on the arguments, not on a tensor's content."""
    if answer.value is not None or answer.kind is BranchKind.TENSOR:
        return False
    return site.engine.code.is_about_parameters(site.frame.function, test)


def if_expression(site: Site, op: Op) -> Value | Terminated:
    assert isinstance(op, ops.IfExpression)
    frame = site.frame
    answer = asked(site, frame.value(op.test))
    values: list[Value] = []
    taken = answer.value is not False, answer.value is not True
    states: list[State] = []
    selects = answer.release or _is_about_parameters(site, answer, op.test)
    frame.conditions += selects
    frame.doubt += answer.value is None
    for truth, block, number in ((True, op.then_block, op.then_value), (False, op.else_block, op.else_value)):
        if taken[0 if truth else 1]:
            end = site.engine.run_branch(frame, block, partial(refine, site, op.test, truth))
            if end is not None:
                states.append(end)
                values.append(frame.value(number))
    frame.conditions -= selects
    frame.doubt -= answer.value is None
    note_branch(frame, BranchFact(op.id, answer.kind, taken, taken))
    if not states:
        return TERMINATED
    frame.state.merge(states)
    result = join_all(values)
    return chosen_in_graph(symbolic(result)) if answer.kind is BranchKind.TENSOR and len(values) == 2 else result


def short_circuit(site: Site, op: Op) -> Value | Terminated:
    assert isinstance(op, ops.ShortCircuit)
    frame = site.frame
    left = frame.value(op.left)
    answer = asked(site, left)
    wanted = op.operator == "and"
    note_branch(frame, BranchFact(op.id, answer.kind, (answer.value is not (not wanted), True), (True, True)))
    if answer.value is (not wanted):
        return left
    selects = answer.release or _is_about_parameters(site, answer, op.left)
    frame.conditions += selects
    if answer.value is None:
        frame.uncertainty += 1
        frame.doubt += 1
    end = site.engine.run_branch(frame, op.block, lambda: refine(site, op.left, wanted))
    frame.conditions -= selects
    if answer.value is None:
        frame.uncertainty -= 1
        frame.doubt -= 1
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
