"""Recursion over deeply nested source, on a larger stack.

Computes: the result of a function, called again on a large stack when the ordinary one is too small. Needs: a
function without side effects before it returns, since it may be called twice. Gives: `call_with_deep_stack`,
`deeply`, `has_deep_stack`, `working_thread`. Ignores: endless recursion, which ends in RecursionError anyway.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_T = TypeVar("_T")
_P = ParamSpec("_P")

_STACK_BYTES = 512 * 1024 * 1024
"""Address space, not memory: pages are only taken when touched.

The deepest source that `parse.py` accepts needs about a tenth.
"""

_RECURSION_LIMIT = 60_000
"""In frames: our deepest visitors need about 15 frames for each of 3,000 levels of the syntax tree."""

_FRAME_SLOTS = 1 << 20
"""Of the first frame of the large stack: its block has 8 MB left for those above it. Address space, too."""

_lock = threading.RLock()
_deeper: dict[int, int] = {}
"""By thread: the large-stack thread that it waits for."""
_here = threading.local()
"""Whether the present thread has the large stack."""


def call_with_deep_stack(function: Callable[[], _T], *, at_once: bool = False) -> _T:
    """Call the function; if it raises RecursionError, call it again in a thread with a large stack and a high recursion limit.

    `at_once` goes to the thread directly, for native code that would overflow the stack instead of raising.
    """
    if has_deep_stack():
        return function()
    if not at_once:
        try:
            return function()
        except RecursionError:
            pass
    return _in_thread(function)


def deeply(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorator for a function that may recurse as deeply as the source nests; it must have no side effects before it returns."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return call_with_deep_stack(lambda: function(*args, **kwargs))

    return call


def has_deep_stack() -> bool:
    """Whether this thread has the large stack, so that a RecursionError is final and a retry is pointless."""
    return getattr(_here, "is_deep", False)


def working_thread(thread: int) -> int:
    """The thread that does the work of this one: the large-stack thread that it waits for, or itself."""
    return _deeper.get(thread, thread)


def _in_one_block(function: Callable[[], _T]) -> _T:
    """Calls the function where all its frames, and those of its callees, fit into one block of memory.

    CPython keeps frames in blocks of 16 kB, and returns each to the system as soon as it is empty: where a loop calls
    functions at the end of a block, each call takes a new one. That was a sixth of the time of an analysis.
    """
    return function()


if sys.version_info >= (3, 11) and sys.implementation.name == "cpython":
    _in_one_block.__code__ = _in_one_block.__code__.replace(co_stacksize=_FRAME_SLOTS)


def _in_thread(function: Callable[[], _T]) -> _T:
    results: list[_T] = []
    failures: list[BaseException] = []

    caller = threading.get_ident()

    def run() -> None:
        _here.is_deep = True
        _deeper[caller] = threading.get_ident()
        try:
            results.append(_in_one_block(function))
        except BaseException as error:
            failures.append(error)

    with _lock:  # both settings are global to the process
        limit = sys.getrecursionlimit()
        stack = threading.stack_size(_STACK_BYTES)
        sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
        try:
            thread = threading.Thread(target=run, name="terra-deep-stack")
            thread.start()
            thread.join()
        finally:
            _deeper.pop(caller, None)
            threading.stack_size(stack)
            sys.setrecursionlimit(limit)
    if failures:
        raise failures[0]
    return results[0]
