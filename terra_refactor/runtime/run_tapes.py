"""Gradient tapes as events of the trace: entering, leaving, watching, computing gradients.

Computes: whether a tape's event is deferred with the operations around it or really happens now.
Needs: the run, and the original methods of GradientTape. Gives: `TapeState`, `push`, `pop`, `watch`, `gradient`.
Ignores: how a segment differentiates (segments.py for tapes inside it, tape_segments.py for real ones around it).

A tape that is entered, used and queried for its gradient within one segment never exists at run time: the segment's
graph contains its gradient. A tape that is open at a cut becomes real at that cut, and stays real.
"""

from __future__ import annotations

import gc
import itertools
import weakref
from dataclasses import dataclass
from typing import Any

from terra_refactor.runtime.encoding import Unencodable
from terra_refactor.runtime.interrupts import held
from terra_refactor.runtime.lazy_tensor import real_of
from terra_refactor.runtime.observe import Observation
from terra_refactor.runtime.state import hooks, thread
from terra_refactor.runtime.tf_internals import GradientTape, IndexedSlices, pywrap_tfe
from terra_refactor.runtime.trie import Call, Kind, Node, Role, SlotRef, SlotSpec, TapeRef, fill, node_references
from terra_refactor.runtime.values import collect, real_value, real_values

original_push = GradientTape._push_tape
original_pop = GradientTape._pop_tape
original_watch = GradientTape.watch
original_gradient = GradientTape.gradient
_remove = pywrap_tfe.TFE_Py_TapeSetRemove


class VirtualTape:
    """The value of `GradientTape._tape` while the tape is only an event of the trace."""


@dataclass(eq=False, slots=True)
class TapeState:
    """A tape first entered in the current segment. `consumed`: it has computed its only gradient."""

    tape: Any
    consumed: bool = False


def real_push(tape: Any) -> None:
    """Enters a tape now."""
    tape._recording = False  # first: `with` ignores a tape that does not record, and cannot leave one that is missing
    if type(tape._tape) is VirtualTape:
        tape._tape = None
    if thread.generation != hooks.generation and pywrap_tfe.TFE_Py_TapeSetIsEmpty():
        know_tapes()
    try:
        thread.tapes.append(tape)  # before it is entered, so that an interruption leaves no unknown tape
        original_push(tape)
    except BaseException:
        drop(tape)
        raise


def know_tapes() -> None:
    """Resets the list of tapes; none records on this thread."""
    thread.tapes.clear()
    thread.generation = hooks.generation


def drop(tape: Any) -> None:
    """Stops a tape that an interruption left behind, in any state.

    A tape that does not record is not in TensorFlow's list: removing it again would release it twice, and crash the
    process.
    """
    if tape._recording and tape._tape is not None and type(tape._tape) is not VirtualTape:
        tape._recording, _ = False, _remove(tape._tape._tape)  # on one line, so that nothing interrupts between the two
    tape._recording = False
    thread.tapes[:] = [other for other in thread.tapes if other is not tape]


def real_pop(tape: Any) -> None:
    """Leaves a tape now."""
    if type(tape._tape) is VirtualTape:  # entered in a segment that an interruption has ended
        tape._tape, tape._recording = None, False
        return
    try:
        original_pop(tape)
    except BaseException:
        drop(tape)
        raise
    thread.tapes[:] = [other for other in thread.tapes if other is not tape]


def real_gradient(tape: Any, *args: Any, **kwargs: Any) -> Any:
    """Computes gradients now. A tape that still records and is not persistent stops first."""
    with held():  # TensorFlow calls Python from C++, where an exception of a handler is lost
        result = original_gradient(tape, *args, **kwargs)
    if not tape._recording:
        thread.tapes[:] = [other for other in thread.tapes if other is not tape]
    return result


def _graph_tape(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("tape events are replayed by segments.py")


PUSH = Call("GradientTape.__enter__", real_push, real_push, _graph_tape, role=Role.PUSH)
POP = Call("GradientTape.__exit__", real_pop, real_pop, _graph_tape, role=Role.POP)
WATCH = Call("GradientTape.watch", original_watch, original_watch, _graph_tape, role=Role.WATCH, trusted=True)
GRADIENT = Call("GradientTape.gradient", real_gradient, real_gradient, _graph_tape, role=Role.GRADIENT, trusted=True)


def _immediate(run: Any, call: Call, tape: Any, args: Any, kwargs: Any) -> Any:
    run.cut()
    run.depth += 1
    try:
        result = call.eager(tape, *real_values(args), **{name: real_value(value) for name, value in kwargs.items()})
    finally:
        run.depth -= 1
    if call is WATCH and run.used:
        _note_late_watch(run, args)
    if call is GRADIENT:
        for gradient in result if isinstance(result, (list, tuple)) else [result]:
            if type(gradient) is IndexedSlices and gradient.dense_shape is not None:
                shape = gradient.dense_shape
                run.learn(shape, SlotSpec(shape.dtype, shape.shape, static=shape))
                rows = int(shape._numpy_internal()[0])
                run.learn(gradient.indices, SlotSpec(shape.dtype, gradient.indices.shape, bound=rows))
    return result


def note_use(run: Any, last: Node, values: Any) -> None:
    """Records the operands of a segment that ended at `last` under a real tape."""
    if last.operands is None:
        found: set[int] = set()
        node: Node | None = last
        while node is not None:
            found.update(r.index for r in node_references(node) if type(r) is SlotRef)
            node = node.parent
        last.operands = tuple(found)
    used = run.used
    there = (
        slot for slot in last.operands if slot < len(values)
    )  # an interruption may have occurred between a node and its slots
    computed = (values[slot] if values[slot] is not None else run.slots[slot]._value for slot in there)
    for tensor in itertools.chain(run.inputs, computed):
        if tensor is not None:
            known = used.get(id(tensor))
            if known is None or known[0]() is not tensor:
                used[id(tensor)] = (weakref.ref(tensor), [last])
            elif known[1][-1] is not last:
                known[1].append(last)


def _note_late_watch(run: Any, tensors: Any) -> None:
    """Handles a real tape that begins to watch tensors: next time, the operations of segments that used them run one by
    one (see `flush`).
    """
    for tensor in tensors:
        if isinstance(tensor, (list, tuple)):
            _note_late_watch(run, tensor)
            continue
        for each in (tensor, getattr(tensor, "_value", None)):
            known = run.used.get(id(each))
            if known is not None and known[0]() is each:
                for node in known[1]:
                    node.watched_later = True


def push(run: Any, tape: Any) -> None:
    """`with tape:` begins."""
    if tape._recording:
        original_push(tape)  # raises what TensorFlow raises
        return
    index = run.tape_ids.get(id(tape))
    if index is None:
        if tape._tape is not None or type(tape) is not GradientTape:
            _immediate(run, PUSH, tape, (), {})
            return
        index = len(run.tapes)
        run.tapes.append(TapeState(tape))
        run.tape_ids[id(tape)] = index
    elif tape._tape is None:  # reset, or entered again after its gradient: a new tape in an old object
        _immediate(run, PUSH, tape, (), {})
        return
    _event(run, PUSH, tape, index, (tape._persistent, tape._watch_accessed_variables), (), {})


def pop(run: Any, tape: Any) -> None:
    """`with tape:` ends."""
    if not tape._recording:
        original_pop(tape)
        return
    index = run.tape_ids.get(id(tape))
    if index is None:
        _immediate(run, POP, tape, (), {})
    else:
        _event(run, POP, tape, index, (), (), {})


def watch(run: Any, tape: Any, tensor: Any) -> None:
    """`tape.watch(tensor)`."""
    index = run.tape_ids.get(id(tape))
    if index is None or not tape._recording or not _has_gradients(tensor):
        _immediate(run, WATCH, tape, (tensor,), {})
    else:
        _event(run, WATCH, tape, index, (), (tensor,), {})


def _has_gradients(tensors: Any) -> bool:
    """Whether all tensors have a gradient. About others, TensorFlow logs a warning in each of the first calls."""
    if isinstance(tensors, (list, tuple)):
        return all(map(_has_gradients, tensors))
    dtype = getattr(tensors, "dtype", None)
    return isinstance(dtype, str) or dtype is None or dtype.is_floating or dtype.is_complex


def gradient(run: Any, tape: Any, args: Any, kwargs: Any) -> Any:
    """`tape.gradient(…)`."""
    index = run.tape_ids.get(id(tape))
    if index is None or tape._tape is None:
        return _immediate(run, GRADIENT, tape, args, kwargs)
    if tape._recording and not tape._persistent:
        pop(run, tape)
        if id(tape) not in run.tape_ids:
            return _immediate(run, GRADIENT, tape, args, kwargs)
    return _event(run, GRADIENT, tape, index, (tape._persistent,), args, kwargs)


def _event(run: Any, call: Call, tape: Any, index: int, facts: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
    collects = gc.isenabled()
    try:
        if collects:
            gc.disable()
        return _deferrable_event(run, call, tape, index, facts, args, kwargs)
    except BaseException as error:
        run.left_by(error)
        raise
    finally:
        if collects:
            gc.enable()


def _deferrable_event(
    run: Any, call: Call, tape: Any, index: int, facts: tuple[Any, ...], args: Any, kwargs: Any
) -> Any:
    mark = len(run.inputs)
    key: list[Any] = [call, index, facts]
    try:
        run.key(args, key, False)
        if kwargs:
            key.append(tuple(kwargs))
            run.key(kwargs.values(), key, False)
    except Unencodable:
        run.rollback(mark)
        return _immediate(run, call, tape, args, kwargs)
    whole = tuple(key)
    child = run.node.children.get(whole)
    if child is not None and child.kind is not Kind.DEFER:
        run.rollback(mark)
        return _immediate(run, call, tape, args, kwargs)
    if child is None:
        return _record(run, call, tape, index, whole, args, kwargs, mark)
    if run.real:
        log = Observation(True)
        result = _really(run, child, tape, log)
        found: list[Any] = []
        if collect(child.result, result, child.first_slot, found) and len(found) == len(child.specs):
            run.bind(child, found)
        else:
            run.start_segment()
        return result
    run.node = child
    run.pending.append(child)
    return _deferred(run, call, tape, index, child)


def _deferred(run: Any, call: Call, tape: Any, index: int, child: Node) -> Any:
    """Defers an event; the tape object looks as if it had happened."""
    if call is PUSH:
        if tape._tape is None:
            tape._tape = VirtualTape()
        tape._recording = True
        return None
    if call is POP:
        tape._recording = False
        return None
    if call is WATCH:
        return None
    if not tape._persistent:
        tape._watched_variables = child.extra
        tape._tape = None
        run.tapes[index].consumed = True
    return run.defer_result(child)


def _record(run: Any, call: Call, tape: Any, index: int, key: Any, args: Any, kwargs: Any, mark: int) -> Any:
    child = Node(parent=run.node, call=call, first_slot=len(run.slots), tape=index)
    child.args = (TapeRef(index), *(run.template(value, [], False) for value in args))
    child.kwargs = {name: run.template(value, [], False) for name, value in kwargs.items()}
    if not run.begin_recording(child):
        return _immediate(run, call, tape, args, kwargs)
    log = Observation(True)
    result = _really(run, child, tape, log)
    if call is PUSH:
        child.extra = (tape._persistent, tape._watch_accessed_variables)
    if call is GRADIENT:
        child.extra = tape._watched_variables
        run.tapes[index].consumed = not tape._persistent
    return run.add_node(child, key, log, result, mark)


def _really(run: Any, node: Node, tape: Any, log: Observation) -> Any:
    slots = [real_of(slot) for slot in run.slots]
    tapes = [state.tape for state in run.tapes]
    args = [fill(template, slots, run.inputs, tapes) for template in node.args]
    kwargs = {name: fill(template, slots, run.inputs, tapes) for name, template in node.kwargs.items()}
    outer, run.log = run.log, log
    run.depth += 1
    try:
        assert node.call is not None
        return node.call.eager(*args, **kwargs)
    finally:
        run.depth -= 1
        run.log = outer
