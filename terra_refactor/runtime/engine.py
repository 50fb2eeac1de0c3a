"""One call of a co-executed function, from entry to its real results.

Computes: whether the shim can handle this call; runs it; converts its results to real tensors. Needs: TensorFlow
(this is the first module that imports it). Gives: `execute`, `Block`. Ignores: how operations are deferred (run.py).
"""

from __future__ import annotations

import gc
import inspect
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import terra_refactor.runtime.tf_internals  # noqa: F401 - first of all: it says what to install where TensorFlow is missing

# isort: split
import numpy as np

from terra_refactor.runtime import api_hooks, foreign, private_names, replaced, run_tapes, self_test
from terra_refactor.runtime.costs import Way
from terra_refactor.runtime.executor import restore_executor, wait_for_other_threads, wait_for_segments
from terra_refactor.runtime.lazy_tensor import LazyTensor
from terra_refactor.runtime.program import CoExecutionWarning, Program
from terra_refactor.runtime.report import programs as registered_programs
from terra_refactor.runtime.run import Run
from terra_refactor.runtime.state import forked, hooks, thread
from terra_refactor.runtime.tf_internals import EagerTensor, context, keras, pywrap_tfe, tf

LOOK_AGAIN = 256  # calls of a resting function while hooks are installed
IN_USE = 1.0  # seconds since the last call for which a function counts as in use


def obstacle(function: Callable[..., Any] | None) -> str | None:
    """The reason why a function can never be handled; None if it can."""
    if function is not None:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            return "a generator function: its body runs after the call has returned"
        if inspect.iscoroutinefunction(function):
            return "a coroutine function: its body runs after the call has returned"
    return None


def _obstacle_now() -> str | None:
    """The reason why this call cannot be handled; None if it can."""
    if forked:
        return "in a forked process, which has none of TensorFlow's threads"
    if not tf.executing_eagerly():
        return "called while a graph is built"
    if tf.distribute.has_strategy():
        return "inside a distribution strategy"
    if context.context().device_name or context.context().execution_mode != context.SYNC:
        return "inside a device scope, or with asynchronous eager execution"
    if context.context().op_callbacks:
        return "operations have callbacks (check_numerics, a debugger)"
    if keras.config.dtype_policy().name.startswith("mixed"):
        return "a mixed-precision policy"
    if keras.backend.backend() != "tensorflow":
        return "Keras runs on another backend"
    if thread.accumulators:
        return "under a forward accumulator"
    if replaced.any_replaced():
        return replaced.REASON
    if not pywrap_tfe.TFE_Py_TapeSetIsEmpty() and (not thread.recording() or thread.generation != hooks.generation):
        return (
            "under a gradient tape or accumulator that was entered before the shim was first used, or while it rested"
        )
    return None


_tested: list[bool] = []
_untrusted: list[str] = []
_testing = threading.Lock()


def _test_once() -> None:
    """Runs the self-test at the first call outside of graphs.

    Other threads with a first call meanwhile wait for its result.
    """
    if _tested or not tf.executing_eagerly() or not pywrap_tfe.TFE_Py_TapeSetIsEmpty() or _obstacle_now() is not None:
        return
    with _testing:
        if not _tested:
            try:
                _test()
            finally:
                _tested.append(True)


def _test() -> None:
    problem = private_names.lost_name() or self_test.changed_interface() or self_test.lost_attribute()
    if problem is None:
        api_hooks.install()
        problem = self_test.changed_behaviour(execute)
    if problem is not None:
        api_hooks.remove()
        _untrusted.append(
            f"TensorFlow {tf.__version__} with Keras {keras.__version__} differs from what the shim expects: {problem}"
        )
        warnings.warn(f"nothing is co-executed: {_untrusted[0]}", CoExecutionWarning, stacklevel=5)


def enter(program: Program) -> Run | None:
    """Begins a run on this thread; None if this call must be eager."""
    if thread.run is not None or program.eager_reason is not None:
        return None
    if not program.alone:
        _test_once()
    if _untrusted:
        program.fell_back(_untrusted[0])
        return None
    if not api_hooks.are_standing():  # they count accumulators
        api_hooks.install()
    reason = _obstacle_now()
    if reason is not None:
        program.fell_back(reason)
        if tf.executing_eagerly():
            program.obstructed()
        return None
    program.unobstructed()
    api_hooks.install()
    if pywrap_tfe.TFE_Py_TapeSetIsEmpty():
        run_tapes.know_tapes()
    if foreign.conflict(program):
        program.fell_back("a call on another thread uses the same variables")
        return None  # its first operation makes the other run execute what it has deferred
    wait_for_other_threads()
    run = Run(program)
    with api_hooks.switching:
        api_hooks.install()
        thread.run = run
        if not program.alone:
            foreign.register(run)
    return run


def _active() -> Run | None:
    run: Run | None = thread.run
    return run


def _interrupts(failure: BaseException | None) -> bool:
    return failure is not None and not isinstance(failure, Exception)


def _clean_up(outer_tapes: list[Any]) -> None:
    """After an interruption, restore synchronous execution and stop tapes that this call entered."""
    restore_executor()
    for tape in [tape for tape in thread.tapes if all(tape is not other for other in outer_tapes)]:
        run_tapes.drop(tape)


def leave(run: Run, started: float, failure: BaseException | None, way: Way = Way.FREE) -> None:
    """Ends a run: executes pending operations and leaves nothing deferred."""
    try:
        if not run.passive:
            run.depth = 0
            try:
                run.cut()
                while run.pending and not run.passive:  # operations of finalizers
                    run.cut()
            except BaseException as error:
                if not _interrupts(failure):
                    if _interrupts(error):
                        _clean_up(run.outer_tapes)
                    raise
                # an interruption may have left the run in an inconsistent state; the caller must see the interruption
        if _interrupts(failure):
            _clean_up(run.outer_tapes)
            if run.collects:
                gc.enable()
    finally:
        try:
            run.hand_over_kept()
        finally:
            thread.run = None
            foreign.unregister()
        if way is Way.TIMED and not _interrupts(failure):
            wait_for_segments()
        seconds = time.perf_counter() - started
        run.program.end_call(run.missed, seconds, run.graph_seconds)
        if not _interrupts(failure):
            run.program.costs.ran(
                way,
                seconds,
                run.program.operations() - run.operations_before,
                run.missed or run.program.learned() != run.learned_before,
                run.missed,
                failed=failure is not None,
            )
            _rest_with(run.program)


def at_rest(program: Program, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls a resting function while other functions need the hooks."""
    if program.costs.resting % LOOK_AGAIN == 0:
        _rest_with(program)
    return _eagerly(function, args, kwargs)


def _eagerly(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls `function` eagerly. After an interruption in a hook, stops the tapes that it left recording."""
    outer = list(thread.recording())
    try:
        return function(*args, **kwargs)
    except BaseException as failure:
        if _interrupts(failure) and thread.run is None:
            _clean_up(outer)
        raise


def _execute_eagerly(program: Program, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls `function` eagerly and measures the time, for comparison."""
    wait_for_segments()
    _without_hooks(program)
    started = time.perf_counter()
    try:
        result = _eagerly(function, args, kwargs)
    except Exception:
        program.costs.ran(Way.EAGER, time.perf_counter() - started, 0, False, failed=True)
        _rest_with(program)
        raise
    program.costs.ran(Way.EAGER, time.perf_counter() - started, 0, False)
    _rest_with(program)
    return result


def _rest_with(program: Program) -> None:
    """Removes the hooks, which have a cost per operation, if every function in use rests."""
    if not program.needs_hooks():
        _without_hooks(program)


def _fall_back_without_hooks(program: Program) -> None:
    """Before an eager call: removes the hooks if the calls before fell back, too."""
    if not program.needs_hooks() and (hooks.installed or program.obstructions % LOOK_AGAIN == 0):
        _without_hooks(program)


def _without_hooks(program: Program) -> None:
    """Without the hooks that are removed while `program` rests."""
    started = time.perf_counter()
    since = time.monotonic() - IN_USE
    for other in registered_programs():
        if other is not program and other.last_call > since and other.needs_hooks():
            return
    api_hooks.rest()
    program.costs.spent += time.perf_counter() - started


def _ready_to_be_timed(program: Program) -> None:
    wait_for_segments()
    started = time.perf_counter()
    api_hooks.install()
    program.costs.spent += time.perf_counter() - started


def execute(program: Program, function: Callable[..., Any], args: Any, kwargs: Any, way: Way = Way.FREE) -> Any:
    """Calls `function`; its operations run as segments if possible.

    Raises:
        whatever `function` raises, and what its operations raise.
    """
    if thread.run is not None:
        return function(*args, **kwargs)
    if way is Way.EAGER:
        return _execute_eagerly(program, function, args, kwargs)
    if way is Way.TIMED:
        _ready_to_be_timed(program)
    started = time.perf_counter()
    try:
        run = enter(program)
        if run is None:
            _fall_back_without_hooks(program)
            return _eagerly(function, args, kwargs)
        result = function(*args, **kwargs)
        leave(run, started, None, way)  # inside: an interruption may occur right before it
    except BaseException as failure:
        begun = _active()  # an interruption may come before the name `run` is bound
        if begun is not None:
            leave(begun, started, failure, way)
            _make_real_in(failure)
        raise
    return _real(result, {})


_LEAVES = frozenset((float, int, bool, str, bytes, type(None), complex, EagerTensor, np.ndarray))


def _real(value: Any, seen: dict[int, Any]) -> Any:
    """The result for a caller: the program's own object, with real tensors in place of deferred ones.

    Lists and dictionaries are changed in place; a tuple is replaced only if it contained a deferred tensor. `seen`:
    the results for containers visited before, by identity, so that shared and cyclic objects are preserved.
    """
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind is LazyTensor:
        real = value._force()
        if value.__dict__:
            hung, seen[id(real)] = dict(value.__dict__), real
            value.__dict__.clear()  # from now on they are those of the real tensor
            for name, item in hung.items():
                setattr(real, name, _real(item, seen))
        return real
    if not isinstance(value, (list, tuple, dict)):
        return value
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = value
    if isinstance(value, list):
        if kind.__setitem__ is list.__setitem__ and not _LEAVES.issuperset(set(map(type, value))):
            for index, item in enumerate(value):
                real = _real(item, seen)
                if real is not item:
                    value[index] = real
    elif isinstance(value, dict):
        if kind.__setitem__ in (dict.__setitem__, OrderedDict.__setitem__):
            for name, item in value.items():
                real = _real(item, seen)
                if real is not item:
                    value[name] = real
    elif kind is tuple or hasattr(kind, "_make"):
        items = [_real(item, seen) for item in value]
        if any(item is not old for item, old in zip(items, value, strict=True)):
            seen[id(value)] = value = tuple(items) if kind is tuple else kind._make(items)
    return value


def _make_real_in(failure: BaseException) -> None:
    """Makes the tensors in an exception that leaves the function real."""
    if not _interrupts(failure):
        args = _real(failure.args, {})
        if args is not failure.args:
            failure.args = args
        _real(vars(failure), {})


class Block:
    """The same for the statements of a `with` block."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.run: Run | None = None
        self.way = Way.FREE
        self.started = 0.0

    def __enter__(self) -> None:
        self.way = self.program.costs.way() if thread.run is None else Way.FREE
        if self.way is Way.TIMED:
            _ready_to_be_timed(self.program)
        elif self.way is Way.EAGER:
            wait_for_segments()
            _without_hooks(self.program)
        if self.way in (Way.FREE, Way.TIMED):
            self.run = enter(self.program)
            if self.run is None and thread.run is None:
                _fall_back_without_hooks(self.program)
        self.started = time.perf_counter()

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if self.run is not None:
            run, self.run = self.run, None
            leave(run, self.started, value, self.way)
        elif self.way is Way.EAGER and not _interrupts(value):
            seconds = time.perf_counter() - self.started
            self.program.costs.ran(self.way, seconds, 0, False, failed=value is not None)
            _rest_with(self.program)
