"""Runs compiled functions on TensorFlow's own asynchronous executor, and waits for it if necessary.

Computes: nothing. Needs: the names of functions in the context's library. Gives: `call_function`, `wait_for_segments`, `settle_after`,
`note_shape`, `shape_of`.
Ignores: what the functions do.

Segments run on one asynchronous executor per thread; everything else on the thread's own executor, so that an
immediate operation does not queue behind segments. Data flows through tensor handles, which wait implicitly;
variables do not, so an access to a variable outside of a segment waits first.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from terra_refactor.runtime.tf_internals import context, executor, ops, pywrap_tfe

# Python may run ahead of the computation by this many segments; without a bound their inputs would pile up in memory.
MAX_AHEAD = 64


class _Executors(threading.local):
    """The executor of a thread's segments. `ahead`: segments submitted since the last wait on this thread.

    `before`: the thread's own executor, while a segment is submitted. It may be a temporary one (`next` of an
    iterator installs one), so it is read each time.
    """

    def __init__(self) -> None:
        self.segments: Any = None
        self.before: Any = None
        self.ahead = 0

    def ensure(self) -> None:
        if self.segments is None:
            context.context().ensure_initialized()
            self.segments = executor.new_executor(enable_async=True)


_executors = _Executors()


_shapes: dict[int, tuple[Any, tuple[int, ...]]] = {}


def note_shape(tensor: Any, shape: tuple[int, ...]) -> None:
    """Records the shape of a segment's result, because querying the tensor would wait for the segment."""
    key = id(tensor)
    _shapes[key] = (weakref.ref(tensor, lambda _: _shapes.pop(key, None)), shape)


def shape_of(tensor: Any) -> tuple[int, ...]:
    """The shape of an eager tensor, without waiting if it is recorded."""
    known = _shapes.get(id(tensor))
    if known is not None and known[0]() is tensor:
        return known[1]
    shape: tuple[int, ...] = tensor._shape_tuple()
    return shape


class Outstanding:
    """Segments submitted and not waited for, in all threads.

    An executor stays in `busy` until a wait for it has ended: another thread must also wait meanwhile.
    """

    def __init__(self) -> None:
        self.numbers = itertools.count()
        self.busy: dict[Any, int] = {}  # executor -> number of the last segment submitted to it


outstanding = Outstanding()


def call_function(name: Any, inputs: list[Any], attrs: Any, outputs: int, wait: bool) -> Any:
    """Runs a library function. With `wait`, waits until it has finished, and raises its errors.

    Raises:
        tf.errors.OpError: what the function raised.
    """
    ctx = context.context()
    if wait:
        wait_for_segments()
        return _execute(ctx, name, inputs, attrs, outputs)
    _executors.ensure()
    queue = _executors.segments
    if queue not in outstanding.busy:
        _executors.ahead = 0
    elif _executors.ahead >= MAX_AHEAD:
        wait_for_segments()
        _executors.ahead = 0
    _executors.ahead += 1
    return _submit(ctx._handle, queue, lambda: _execute(ctx, name, inputs, attrs, outputs))


def call_now(name: Any, inputs: list[Any], attrs: Any, outputs: int) -> Any:
    """Runs a library function of plain values on the thread's own executor, without waiting for running segments.

    Raises:
        tf.errors.OpError: what the function raised.
    """
    return _execute(context.context(), name, inputs, attrs, outputs)


def sum_later(add: Callable[[], Any], tensors: Any) -> Any:
    """The sum of tensors, computed by `add`, without waiting for them; None if they are not results of running
    segments.

    When TensorFlow's tape computes gradients, it sums the contributions of several segments to one tensor.
    """
    queue = _executors.segments
    if queue not in outstanding.busy or type(tensors) not in (list, tuple) or not tensors:
        return None
    known = [_shapes.get(id(tensor)) for tensor in tensors]
    first = known[0]
    for tensor, each in zip(tensors, known, strict=True):  # adding tensors of equal type cannot fail
        if each is None or first is None or each[0]() is not tensor or each[1] != first[1]:
            return None
        if tensor._datatype_enum() != tensors[0]._datatype_enum():
            return None
    result = _submit(context.context()._handle, queue, add)
    assert first is not None
    note_shape(result, first[1])
    return result


def _submit(handle: Any, queue: Any, run: Callable[[], Any]) -> Any:
    """The result of `run` on the executor `queue`."""
    outer, before = _executors.before, pywrap_tfe.TFE_ContextGetExecutorForThread(handle)
    _executors.before = before
    pywrap_tfe.TFE_ContextSetExecutorForThread(handle, queue.handle())
    try:
        outstanding.busy[queue] = next(outstanding.numbers)
        return run()
    finally:
        # Another thread's wait may have found the executor still empty, and may have ended before the segment was
        # submitted.
        outstanding.busy[queue] = next(outstanding.numbers)
        pywrap_tfe.TFE_ContextSetExecutorForThread(handle, before)
        _executors.before = outer
        pywrap_tfe.TFE_DeleteExecutor(before)  # what was requested, not what it represents


_kept_from_before_a_fork: list[Any] = []


def forget_executors() -> None:
    """Drops the executors in a forked process without waiting, since their threads do not exist there."""
    _kept_from_before_a_fork.extend((_executors.segments, dict(outstanding.busy)))
    outstanding.busy = {}


def restore_executor() -> None:
    """Restores the thread's own executor, which an interruption may have prevented."""
    if _executors.before is None:
        return
    handle = context.context()._handle
    now = pywrap_tfe.TFE_ContextGetExecutorForThread(handle)
    if pywrap_tfe.TFE_ExecutorIsAsync(now):  # that of segments: no run begins on another one
        pywrap_tfe.TFE_ContextSetExecutorForThread(handle, _executors.before)
    pywrap_tfe.TFE_DeleteExecutor(now)
    _executors.before = None


def _execute(ctx: Any, name: Any, inputs: list[Any], attrs: Any, outputs: int) -> Any:
    try:
        return original_execute(ctx._handle, None, name, inputs, attrs, outputs)
    except ops.core._NotOkStatusException as error:
        raise ops.core._status_to_exception(error) from None


original_execute = pywrap_tfe.TFE_Py_Execute


def wait_for_other_threads() -> None:
    """Waits for segments of other threads, since variables are shared."""
    busy = outstanding.busy
    if busy and (len(busy) > 1 or _executors.segments not in busy):
        wait_for_segments()


def settle_after(error: Exception) -> None:
    """Clears the failed segment that raised `error`, so that the error is not raised twice.

    Raises:
        tf.errors.OpError: a segment failed with another error.
    """
    try:
        wait_for_segments()
    except type(error):
        pass


def wait_for_segments() -> None:
    """Waits for all submitted segments of all threads.

    Raises:
        tf.errors.OpError: the first error of a segment; the executor is clean again afterwards.
    """
    if not outstanding.busy:
        return
    failure = None
    for queue, last in list(outstanding.busy.items()):
        try:
            queue.wait()
        except Exception as error:
            queue.clear_error()
            failure = failure or error
        if outstanding.busy.get(queue) == last:  # otherwise its thread has submitted another segment meanwhile
            outstanding.busy.pop(queue, None)  # without a lock, which an interruption could leave acquired
    if isinstance(failure, ops.core._NotOkStatusException):
        raise ops.core._status_to_exception(failure) from None
    if failure is not None:
        raise failure
