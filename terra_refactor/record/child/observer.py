"""Observes the calls of a program's own functions: number, time, and types of arguments.

Computes: for each function below the root its calls, its time, and the types and small values of its arguments and results. Needs: the
root. Gives: `Observer`, `Seen`.

How: since Python 3.12 by `sys.monitoring`, which has no cost in library code, and counts every call. Before that by
`sys.setprofile`, which is invoked at every call of every library: so it is disabled when it learns nothing new, and
enabled again for a quarter of a second every few seconds, and when a function with few observations runs. The calls
in between are estimated from those in the preceding quarter of a second, which is a lower bound, since observation
slows the program down. It is enabled again in callbacks of the garbage collector, and at calls of a `tf.function`.

The first calls of a function are recorded in detail, later ones occasionally. Ignores: comprehensions and class
bodies.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, Final

from terra_refactor.record.child.describe import NOT_WRITTEN, Described, describe, is_plain, small

DETAILED_CALLS: Final = 48
"""Number of first calls of a function that are recorded in full."""
EVERY: Final = 64
"""After that, one call out of this many."""
MAX_TYPES: Final = 40
MAX_VALUES: Final = 24
QUIET_SECONDS: Final = 0.25
"""After this time without a function with few observations, observation pauses for a while."""
RESTING_SECONDS: Final = 4.0
LEAST_CALLS: Final = 3
"""Minimum number of calls in a window from which the number of unobserved calls is estimated."""
LOOK_SECONDS: Final = 0.02
MAX_FRAMES: Final = 80
MAX_WAKINGS: Final = 4
_SKIPPED: Final = frozenset({"<module>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})
_GENERATOR: Final = 0x20 | 0x80 | 0x200

Clock = time.perf_counter


class ObservedParameter:
    """The observed arguments of one parameter."""

    __slots__ = ("distinct", "types", "values")

    def __init__(self) -> None:
        self.types: dict[Described, int] = {}
        self.values: dict[Any, Any] = {}
        """Small values, by type and value; strings and large numbers by their hash, which is never written."""
        self.distinct = 0

    def add(self, value: object) -> None:
        described = describe(value)
        if described in self.types:
            self.types[described] += 1
        elif len(self.types) < MAX_TYPES:
            self.types[described] = 1
        if is_plain(value):
            key = (type(value), value if small(value) is not NOT_WRITTEN else hash(value))
            if key not in self.values and len(self.values) < MAX_VALUES * 8:
                self.values[key] = small(value)


class Seen:
    """Observations of one function."""

    __slots__ = (
        "active",
        "before",
        "calls",
        "clean_own",
        "clean_total",
        "code",
        "detailed",
        "estimated",
        "estimated_seconds",
        "graph",
        "names",
        "parameters",
        "path",
        "returns",
        "seconds",
        "staged",
        "window",
    )

    def __init__(self, code: CodeType, path: str) -> None:
        self.code = code
        self.path = path
        self.calls = 0
        self.detailed = 0
        self.staged = 0
        """The number of detailed calls that were made while a graph was traced."""
        self.seconds = 0.0
        self.clean_total = self.clean_own = 0.0
        """Seconds of the calls that were observed from beginning to end."""
        self.estimated = 0.0
        """Estimated unobserved calls, and their time."""
        self.estimated_seconds = 0.0
        self.before = (0, 0.0)
        """Calls and time when the present window began."""
        self.window = (0, 0.0)
        """Calls and time of the last complete window."""
        self.active = 0
        self.names = _parameter_names(code)
        self.parameters: dict[str, ObservedParameter] = {name: ObservedParameter() for name in self.names}
        self.returns: dict[Described, int] = {}
        self.graph: Any = None
        """Its traces, if it is a `tf.function`."""


def _parameter_names(code: CodeType) -> tuple[str, ...]:
    number = code.co_argcount + code.co_kwonlyargcount
    number += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_varnames[:number]


class _Open:
    """A call that has not returned."""

    __slots__ = ("children", "clean", "detailed", "frame", "outermost", "seen", "started")

    def __init__(self, seen: Seen, frame: int, detailed: bool) -> None:
        self.seen = seen
        self.frame = frame
        self.detailed = detailed
        self.outermost = seen.active == 0
        self.children = 0.0
        self.clean = True
        self.started = Clock()


class _Interest(dict[str, "str | None"]):
    """By file name: the path below the root, or None."""

    def __init__(self, root: str, notice_file: Callable[[str, str], None]) -> None:
        super().__init__()
        self.root = os.path.join(os.path.realpath(root), "")
        self.notice_file = notice_file

    def __missing__(self, name: str) -> str | None:
        self[name] = path = self._path(name)
        if path is not None:
            self.notice_file(name, path)
        return path

    def _path(self, name: str) -> str | None:
        if name.startswith("<") or not name.endswith(".py"):
            return None
        real = os.path.realpath(name)
        if not real.startswith(self.root) or "site-packages" in real or "dist-packages" in real:
            return None
        return real[len(self.root) :].replace(os.sep, "/")


class Observer:
    """All observations of one process."""

    def __init__(self, root: str, flush: Callable[[], None]) -> None:
        self.texts: dict[str, tuple[str, bytes]] = {}
        """By path: the file's own name, and its bytes when its code was first observed."""
        self.interest = _Interest(root, self._note_file)
        self.functions: dict[int, Seen | None] = {}
        """By the code's identity: hashing a code object is slow. `codes` keeps them alive."""
        self.codes: list[CodeType] = []
        self.local = threading.local()
        self.flush = flush
        self.next_flush = Clock() + 10.0
        self.news = Clock()
        self.in_graph: Callable[[], bool] = lambda: False
        """Whether a graph is being traced here."""
        self.lost = False
        """The program replaced our profile function by its own."""
        self._windows = sys.version_info < (3, 12)
        self._resting = False
        self._window_began = 0.0
        self._window_seconds = 1.0
        self._changed = Clock()
        self._saved: list[_Open] = []
        self._next_look = 0.0
        self._woken: dict[int, int] = {}
        self._main = threading.get_ident()

    # --- called from outside --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts observing."""
        if sys.version_info >= (3, 12):
            self._monitor()
            return
        self._profile = self._make_profile()
        gc.callbacks.append(self._collecting)
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def stop(self) -> None:
        """Stops observing; running calls are counted up to now."""
        if sys.version_info >= (3, 12):
            if self._tool is not None:
                sys.monitoring.set_events(self._tool, 0)
                sys.monitoring.free_tool_id(self._tool)
                self._tool = None
        else:
            if self._collecting in gc.callbacks:
                gc.callbacks.remove(self._collecting)
            if self._resting:
                self._estimate(Clock())
            else:
                self.lost = sys.getprofile() is not self._profile
                sys.setprofile(None)
            threading.setprofile(None)
        for entry in (*self._stack(), *self._saved):
            if entry.outermost:
                entry.seen.seconds += Clock() - entry.started
        self._stack().clear()
        self._saved = []

    def seen(self) -> list[Seen]:
        """The functions that were called."""
        found = [seen for seen in tuple(self.functions.values()) if seen is not None]
        return [seen for seen in found if seen.calls or seen.graph is not None]

    def open_seconds(self) -> dict[int, float]:
        """By the code's identity: the time so far of the calls that have not returned."""
        now = Clock()
        return {id(each.seen.code): now - each.started for each in (*self._stack(), *self._saved) if each.outermost}

    def restart_after_fork(self) -> None:
        """In a child process: drops the observations of the parent."""
        for seen in self.functions.values():
            if seen is not None:
                seen.__init__(seen.code, seen.path)  # type: ignore[misc]
        self._stack().clear()
        self._saved = []
        self._main = threading.get_ident()

    def look_up(self, code: CodeType) -> Seen | None:
        """The counters of a function; None if it is not recorded."""
        try:
            return self.functions[id(code)]
        except KeyError:
            path = self.interest[code.co_filename]
            wanted = path is not None and code.co_name not in _SKIPPED and code.co_flags & 0x2
            self.codes.append(code)
            found = self.functions[id(code)] = Seen(code, path) if wanted and path is not None else None
            return found

    def _note_file(self, name: str, path: str) -> None:
        try:
            with open(name, "rb") as stream:
                self.texts[path] = (name, stream.read())
        except OSError:
            return

    # --- calls ------------------------------------------------------------------------------------------------------------------------

    def _stack(self) -> list[_Open]:
        try:
            stack: list[_Open] = self.local.stack
        except AttributeError:
            stack = self.local.stack = []
        return stack

    def _enter(self, seen: Seen, frame: FrameType | None, resumed: bool) -> None:
        if not resumed:
            seen.calls += 1
        number = seen.calls
        detailed = not resumed and (number <= DETAILED_CALLS or number % EVERY == 0)
        stack = self._stack()
        if detailed:
            if number <= DETAILED_CALLS:
                self.news = Clock()
            if frame is None:
                frame = sys._getframe(2)
            self._look_at(seen, frame)
            if self.news > self.next_flush:
                self.next_flush = self.news + 10.0
                self.flush()
        entry = _Open(seen, 0 if frame is None else id(frame), detailed)
        seen.active += 1
        stack.append(entry)
        if self._windows and not number % 8 and threading.get_ident() == self._main:
            self._quiet(entry.started)

    def note_arguments(self, seen: Seen, given: Mapping[str, Any]) -> None:
        """Records the arguments of a call that does not run the function's own code."""
        self.local.busy = True
        try:
            seen.detailed += 1
            self.news = Clock() if seen.detailed <= DETAILED_CALLS else self.news
            for name, value in given.items():
                if name in seen.parameters:
                    seen.parameters[name].add(value)
        finally:
            self.local.busy = False

    def _look_at(self, seen: Seen, frame: FrameType) -> None:
        self.local.busy = True
        try:
            seen.detailed += 1
            if self.in_graph():
                seen.staged += 1
                return
            values = frame.f_locals
            for name, parameter in seen.parameters.items():
                if name in values:
                    parameter.add(values[name])
        finally:
            self.local.busy = False

    def _leave(self, seen: Seen, value: object, returned: bool) -> None:
        stack = self._stack()
        now = Clock()
        while stack:
            entry = stack.pop()
            entry.seen.active = max(entry.seen.active - 1, 0)
            if entry.seen is seen:
                break
        else:
            return
        spent = now - entry.started
        if entry.outermost:
            seen.seconds += spent
            if entry.clean:
                seen.clean_total += spent
                seen.clean_own += max(spent - entry.children, 0.0)
        if stack:
            stack[-1].children += spent
        if entry.detailed and returned:
            self.local.busy = True
            try:
                if not self.in_graph():
                    described = describe(value)
                    if described in seen.returns or len(seen.returns) < MAX_TYPES:
                        seen.returns[described] = seen.returns.get(described, 0) + 1
            finally:
                self.local.busy = False

    # --- sys.setprofile ---------------------------------------------------------------------------------------------------------

    def _make_profile(self) -> Callable[[FrameType, str, Any], None]:
        interest, functions, look_up = self.interest, self.functions, self.look_up
        enter, leave, local = self._enter, self._leave, self.local

        def profile(frame: FrameType, event: str, argument: Any) -> None:
            code = frame.f_code
            if interest[code.co_filename] is None:
                return
            if event in ("call", "return"):
                seen = functions[id(code)] if id(code) in functions else look_up(code)
                if seen is None or getattr(local, "busy", False):
                    return
                if event == "call":
                    enter(seen, frame, bool(code.co_flags & _GENERATOR) and _goes_on(frame))
                else:
                    leave(seen, argument, True)

        return profile

    def _collecting(self, phase: str, details: object) -> None:
        """Callback of the garbage collector, in which observation may resume.

        While libraries are imported, no program function runs, and observation continues.
        """
        if phase == "start" and self._resting:
            self.reconsider()

    def reconsider(self, *, new: bool = False) -> None:
        """Starts or pauses observation if it is time; `new`: a function with few observations runs."""
        if not self._windows or threading.get_ident() != self._main or getattr(self.local, "busy", False):
            return
        now = Clock()
        if not self._resting:
            if not new:
                self._quiet(now)
        elif new or now - self._changed > RESTING_SECONDS or (now > self._next_look and self._meets_new_function(now)):
            self._watch(now)

    def _meets_new_function(self, now: float) -> bool:
        """Whether a function with few observations runs, which may be called again. Each function counts only a few times."""
        self._next_look = now + LOOK_SECONDS
        frame: FrameType | None = sys._getframe(1)
        for _ in range(MAX_FRAMES):
            if frame is None:
                return False
            code = frame.f_code
            if self.interest[code.co_filename] is not None:
                seen = self.look_up(code)
                if seen is not None:
                    times = self._woken.get(id(code), 0)
                    self._woken[id(code)] = times + 1
                    return seen.detailed < DETAILED_CALLS and times < MAX_WAKINGS
            frame = frame.f_back
        return False

    def _quiet(self, now: float) -> None:
        """Counts a call without new information; after many of these, observation may pause."""
        if self._window_began <= max(self.news, self._changed):
            self._window_began = now
            for seen in tuple(self.functions.values()):
                if seen is not None:
                    seen.before = (seen.calls, seen.seconds)
        elif now - self._window_began > QUIET_SECONDS:
            self._rest(now)

    def _rest(self, now: float) -> None:
        if sys.getprofile() is not self._profile:
            return
        sys.setprofile(None)
        stack = self._stack()
        self._saved, stack[:] = list(stack), []
        for entry in self._saved:
            entry.clean = False
            entry.seen.active = 0
        for seen in self.functions.values():
            if seen is not None:
                seen.window = (seen.calls - seen.before[0], seen.seconds - seen.before[1])
        self._window_seconds = max(now - self._window_began, 1e-3)
        self._resting, self._changed = True, now

    def _estimate(self, now: float) -> None:
        """Estimates the unobserved calls: as many as in the window before."""
        times = (now - self._changed) / self._window_seconds
        for seen in self.functions.values():
            if seen is not None and seen.window[0] >= LEAST_CALLS:
                seen.estimated += seen.window[0] * times
                seen.estimated_seconds += seen.window[1] * times

    def _watch(self, now: float) -> None:
        self._estimate(now)
        self._resting, self._changed, self.news = False, now, now
        running: set[int] = set()
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            running.add(id(frame))
            frame = frame.f_back
        stack = self._stack()
        for entry in self._saved:
            if entry.frame in running:
                stack.append(entry)
                entry.seen.active += 1
            elif entry.outermost:
                entry.seen.seconds += now - entry.started  # it returned unobserved, at most a few seconds ago
        self._saved = []
        if now > self.next_flush:
            self.next_flush = now + 10.0
            self.flush()
        sys.setprofile(self._profile)

    # --- sys.monitoring ---------------------------------------------------------------------------------------------------------------

    def _monitor(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self._tool: int | None = next((tool for tool in (4, 3, 2, 5) if monitoring.get_tool(tool) is None), None)
        if self._tool is None:
            self.lost = True
            return
        monitoring.use_tool_id(self._tool, "terra-refactor record")
        events, disable = monitoring.events, monitoring.DISABLE
        functions, look_up, local = self.functions, self.look_up, self.local

        def found(code: CodeType) -> Seen | None:
            return functions[id(code)] if id(code) in functions else look_up(code)

        def start(code: CodeType, _offset: int) -> Any:
            seen = found(code)
            if seen is None:
                return disable
            if not getattr(local, "busy", False):
                self._enter(seen, None, False)
            return None

        def resume(code: CodeType, _offset: int) -> Any:
            seen = found(code)
            if seen is None:
                return disable
            self._enter(seen, None, True)
            return None

        def leave(code: CodeType, _offset: int, value: object) -> Any:
            seen = found(code)
            if seen is None:
                return disable
            if not getattr(local, "busy", False):
                self._leave(seen, value, True)
            return None

        def unwind(code: CodeType, _offset: int, _error: object) -> None:
            seen = functions.get(id(code))
            if seen is not None and not getattr(local, "busy", False):
                self._leave(seen, None, False)

        def thrown(code: CodeType, _offset: int, _error: object) -> None:
            seen = functions.get(id(code))
            if seen is not None:
                self._enter(seen, None, True)

        for event, callback in (
            (events.PY_START, start),
            (events.PY_RESUME, resume),
            (events.PY_RETURN, leave),
            (events.PY_YIELD, leave),
            (events.PY_UNWIND, unwind),
            (events.PY_THROW, thrown),
        ):
            monitoring.register_callback(self._tool, event, callback)
        monitoring.set_events(
            self._tool,
            events.PY_START
            | events.PY_RESUME
            | events.PY_RETURN
            | events.PY_YIELD
            | events.PY_UNWIND
            | events.PY_THROW,
        )


def _goes_on(frame: FrameType) -> bool:
    """Whether a generator's frame is resumed here: its last instruction is after the initial one."""
    code = frame.f_code
    first = _first_of.get(id(code))
    if first is None:
        _first_of[id(code)] = frame.f_lasti
        return False
    return frame.f_lasti != first


_first_of: dict[int, int] = {}
