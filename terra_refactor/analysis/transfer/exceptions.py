"""Exceptions, context managers, and code that runs on every exit from a block: `finally`, `__exit__`.

Computes: the states in which handlers and final blocks are entered, and the states after them. Needs: the running of
blocks. Gives: `HANDLERS`, `leave`.

Approximates: a handler is entered in the state before the body, at its end, at one of its `raise`s, or at a call that
never returns; variables assigned in the body may have any of the assigned values. If a body writes an attribute or
container twice, handlers see the first value only if a `raise` follows it.
"""

from __future__ import annotations

from collections.abc import Callable

from terra_refactor.analysis.classes import class_name, find_method, is_library_function
from terra_refactor.analysis.engine import TERMINATED, OpHandler, Site, Terminated
from terra_refactor.analysis.frames import CallArguments, FinalFrame, Frame
from terra_refactor.analysis.transfer.contents import note_returned
from terra_refactor.analysis.transfer.data_files import entered_stream
from terra_refactor.analysis.transfer.handed_on import closing_method, entered_object
from terra_refactor.analysis.transfer.staged import note_early_returns
from terra_refactor.analysis.truth import truth_of
from terra_refactor.domain.lattice import join, join_all
from terra_refactor.domain.state import CELL, State
from terra_refactor.domain.value import (
    NONE,
    UNBOUND,
    UNKNOWN,
    Reference,
    SequenceValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ops import Block, Op
from terra_refactor.ir.walk import walk
from terra_refactor.tf_model.class_names import NOT_IMPLEMENTED
from terra_refactor.tf_model.expected_errors import IGNORING, OTHER_ERRORS, suppresses
from terra_refactor.tf_model.numpy_api.files import LOADED

# --- ways out ------------------------------------------------------------------------------------------------------------------


def leave(frame: Frame, op: Op, value: Value) -> Terminated:
    """Leaves by `return`, `break` or `continue`, through the innermost final block in between, if any."""
    frame.exits += 1
    final = frame.finals[-1] if frame.finals else None
    if final is not None and (isinstance(op, ops.Return) or final.loops == len(frame.loops)):
        final.leaving.append((op, value, frame.state.flattened(final.base)))
    elif isinstance(op, ops.Return):
        state = frame.state.flattened(frame.root)
        frame.returns.append((value, state))
        note_early_returns(frame, op.id, state)
    elif frame.loops:
        loop = frame.loops[-1]
        states = loop.breaks if isinstance(op, ops.Break) else loop.continues
        states.append(frame.state.flattened(loop.base))
    return TERMINATED


def return_statement(site: Site, op: Op) -> Terminated:
    assert isinstance(op, ops.Return)
    frame = site.frame
    value = NONE if op.value is None else frame.value(op.value)
    note_returned(site, value)
    return leave(frame, op, value)


def leave_loop(site: Site, op: Op) -> Terminated:
    return leave(site.frame, op, NONE)


def raise_statement(site: Site, op: Op) -> Terminated:
    assert isinstance(op, ops.Raise)
    frame = site.frame
    if op.exception is not None and not frame.handlers:
        for member in members(frame.value(op.exception)):
            if member == NOT_IMPLEMENTED or (
                isinstance(member, Reference) and class_name(frame, member) == NOT_IMPLEMENTED.name
            ):
                frame.abstract = True
    _raise_from(frame, frame.state)
    return TERMINATED


def _raise_from(frame: Frame, state: State) -> None:
    """An exception leaves `state`: the innermost enclosing `try` may catch it."""
    if frame.handlers:
        frame.exits += 1
        base, raised = frame.handlers[-1]
        raised.append(state.flattened(base))


def _run_and_finish(
    site: Site,
    run: Callable[[list[State]], State | None],
    finish: Callable[[], bool],
    swallows: Callable[[], bool] = lambda: False,
) -> Terminated | None:
    """Calls `run`, and `finish` on every exit from it; `swallows` says whether that may have caught an exception.

    `run` returns the state in which execution continues (a direct fork of the present one), and appends to its
    argument the states in which an exception leaves.
    """
    frame = site.frame
    outer = frame.state
    final = FinalFrame(outer, len(frame.loops))
    escaping: list[State] = []
    frame.finals.append(final)
    try:
        end = run(escaping)
    finally:
        frame.finals.pop()
        frame.state = outer
    ends: list[State] = []
    runs = 0

    def finished(state: State) -> bool:
        nonlocal runs
        frame.state = state
        again = int(runs > 0)
        runs += 1
        frame.repeated += again
        try:
            return finish()
        finally:
            frame.repeated -= again
            frame.state = outer

    if escaping:
        state = merged(outer, escaping)
        if finished(state):
            if swallows():
                ends.append(_copy(state, outer))
            if frame.handlers:
                _raise_from(frame, state)
    for kind in (ops.Return, ops.Break, ops.Continue):
        ways = [way for way in final.leaving if isinstance(way[0], kind)]
        if ways:
            state = merged(outer, [state for _, _, state in ways])
            if finished(state):
                frame.state = state
                leave(frame, ways[0][0], join_all(value for _, value, _ in ways))
                frame.state = outer
    if end is not None and finished(end):
        ends.append(end)
    if not ends:
        return TERMINATED
    outer.adopt(merged(outer, ends))
    return None


def merged(outer: State, states: list[State]) -> State:
    """A direct fork of `outer` that is the join of `states`, which are direct forks of it, too."""
    if len(states) == 1:
        return states[0]
    base = State(outer, dict(outer.locals), None)
    for state in states:
        state.parent = base
    base.merge(states)
    return base


# --- try -----------------------------------------------------------------------------------------------------------------------


def try_statement(site: Site, op: Op) -> Terminated | None:
    assert isinstance(op, ops.Try)
    frame = site.frame
    if not op.final_block:
        escaping: list[State] = []
        end = _try_and_catch(site, op, escaping)
        for state in escaping:
            _raise_from(frame, state)
        if end is None:
            return TERMINATED
        frame.state.adopt(end)
        return None
    return _run_and_finish(
        site, lambda escaping: _try_and_catch(site, op, escaping), lambda: site.engine.run_block(frame, op.final_block)
    )


def _try_and_catch(site: Site, op: ops.Try, escaping: list[State]) -> State | None:
    """Runs body, `else` and handlers; returns the state in which execution continues.

    States in which an exception leaves are appended to `escaping`.
    """
    frame = site.frame
    outer = frame.state
    body = outer.fork()
    # the handlers may expect a failure here: `try: x[None, :] ... except IndexError`
    catches = any(_may_catch_failure(handler) for handler in op.handlers)
    frame.conditions += catches
    try:
        reached, raised = _run_guarded(site, body, op.body)
    finally:
        frame.conditions -= catches
    starts = [outer.fork(), _copy(body, outer), *raised]
    escaping.extend(_copy(state, outer) for state in starts)
    exits: list[State] = []
    if reached:
        reached, more = _run_guarded(site, body, op.else_block)
        escaping.extend(more)
        if reached:
            exits.append(body)
    frame.uncertainty += 1
    try:
        for handler in op.handlers:
            caught = merged(outer, [_copy(state, outer) for state in starts])
            _forget_order(frame, op.body, caught)
            interpreter_runs = _run_guarded(site, caught, handler.type_block)[0]
            first = handler.body[0] if handler.body else None
            if isinstance(first, ops.NextItem):
                frame.values[first.id] = UnknownValue(may_be_tensor=False, reason="an exception")
            if interpreter_runs:
                reached, more = _run_guarded(site, caught, handler.body)
                escaping.extend(more)
                if reached:
                    exits.append(caught)
    finally:
        frame.uncertainty -= 1
    return merged(outer, exits) if exits else None


def _may_catch_failure(handler: ops.Handler) -> bool:
    """Whether a handler may catch the exception of an operation with incompatible operands, without raising again."""
    if any(isinstance(op, ops.Raise) for op in handler.body):
        return False
    if handler.type is None:
        return True
    made = {op.id: op for op in handler.type_block}
    kind = made.get(handler.type)
    parts = [made.get(part.value) for part in kind.elements] if isinstance(kind, ops.BuildContainer) else [kind]
    return not all(isinstance(part, ops.LoadName | ops.LoadAttribute) and part.name in OTHER_ERRORS for part in parts)


def _run_guarded(site: Site, state: State, block: Block) -> tuple[bool, list[State]]:
    """Runs a block in `state`; returns whether control reaches its end, and the states of its `raise`s."""
    frame = site.frame
    outer = frame.state
    raised: list[State] = []
    frame.handlers.append((outer, raised))
    frame.state = state
    try:
        return site.engine.run_block(frame, block), raised
    finally:
        frame.state = outer
        frame.handlers.pop()


def _copy(state: State, outer: State) -> State:
    """Another direct fork of `outer` in the same state."""
    copy = State(outer, dict(state.locals), None)
    copy.heap = dict(state.heap)
    return copy


def _forget_order(frame: Frame, body: Block, state: State) -> None:
    """An exception may occur between any two operations, so each variable may have any of the values assigned to it."""
    for op in walk(body):
        if not isinstance(op, ops.StoreName) or op.value is None or frame.values[op.value] is None:
            continue
        assigned = join_all((frame.value(op.value), *frame.earlier_values.get(op.value, ())))
        if op.scope is ops.Scope.LOCAL:
            state.locals[op.name] = join(state.locals.get(op.name, UNBOUND), assigned)
        elif op.scope is ops.Scope.CELL or (
            op.scope is ops.Scope.GLOBAL and frame.function.kind is FunctionKind.MODULE
        ):
            key = (frame.cells[op.name], CELL) if op.scope is ops.Scope.CELL else (frame.module_object, op.name)
            known = state.get(key)
            state.set(key, join(UNBOUND if known is None else known, assigned))


# --- with ----------------------------------------------------------------------------------------------------------------------


def with_statement(site: Site, op: Op) -> Terminated | None:
    assert isinstance(op, ops.With)
    engine, frame = site.engine, site.frame
    manager = frame.value(op.manager)
    item = join_all(_entered(site, member) for member in members(manager))
    first = op.body[0] if op.body else None
    if isinstance(first, ops.NextItem):
        frame.values[first.id] = item
    of_exit = CallArguments((UNKNOWN, UNKNOWN, UNKNOWN))
    methods = [
        (method, of_exit)
        for member in members(manager)
        if isinstance(member, Reference)
        and (method := find_method(site, member, "__exit__")) is not None
        and not is_library_function(method)
    ]
    methods += [
        (method, CallArguments())
        for member in members(manager)
        if isinstance(member, Reference) and (method := closing_method(site, member)) is not None
    ]
    ends = _managers(site, op.manager)
    suppressing = any(map(suppresses, ends))
    provokes = suppressing and IGNORING.isdisjoint(ends)
    if not methods and not suppressing:
        # the usual case: no code of the program runs on exit
        return None if engine.run_block(frame, op.body) else TERMINATED
    answers: list[Value] = []

    def run(escaping: list[State]) -> State | None:
        outer = frame.state
        body = outer.fork()
        engine.expecting_errors += suppressing
        frame.provoked += provokes
        try:
            reached, raised = _run_guarded(site, body, op.body)
        finally:
            engine.expecting_errors -= suppressing
            frame.provoked -= provokes
        if suppressing:
            return merged(outer, [outer.fork(), *raised, body])
        escaping.extend([*raised, outer.fork()] if reached else [*raised, outer.fork(), _copy(body, outer)])
        return body if reached else None

    def finish() -> bool:
        answers[:] = [site.call(method, arguments) for method, arguments in methods]
        return True

    def swallows() -> bool:
        exits = [answer for answer, (_, arguments) in zip(answers, methods, strict=True) if arguments is of_exit]
        return any(truth_of(site, member).value is not False for answer in exits for member in members(answer))

    return _run_and_finish(site, run, finish, swallows)


def _managers(site: Site, manager: int) -> tuple[str, ...]:
    """The last components of the names of the library functions that returned a context manager."""
    record = site.frame.calls.get(manager)
    if record is None:
        return ()
    names = record.library if record.unknown is None else (*record.library, record.unknown)
    return tuple(name.rpartition(".")[2] for name in names)


def _entered(site: Site, manager: Value) -> Value:
    if isinstance(manager, SequenceValue) and manager.kind == "generator":
        return manager.element
    if isinstance(manager, Reference):
        method = find_method(site, manager, "__enter__")
        if method is None or is_library_function(method):
            return entered_object(site.frame, manager) or manager
        return site.call(method, CallArguments())
    # it opens an archive of arrays
    if isinstance(manager, UnknownValue) and manager.origin != LOADED:
        return entered_stream(manager) or UNKNOWN
    return manager


HANDLERS: dict[type[Op], OpHandler] = {
    ops.Try: try_statement,
    ops.Raise: raise_statement,
    ops.With: with_statement,
    ops.Return: return_statement,
    ops.Break: leave_loop,
    ops.Continue: leave_loop,
}
