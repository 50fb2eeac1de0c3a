"""Records calls of the chosen functions: one line of JSON for each event, written immediately.

Computes: for a call its arguments, result or exception, reachable state, captured output, seconds, and number of
traces so far. Needs: the folder of the run. Gives: `Recorder`. Ignores: calls inside a recorded call, and calls while
a graph is traced, which are part of a recorded call.

The first calls of a function, then the 16th, 32nd, ... are recorded in full; for all others only the time.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from terra_refactor.verify.child.encoding import Encoder, Node, Store
from terra_refactor.verify.child.state import roots_of_function, state_of

FULL_CALLS: Final = 6
"""Number of first calls that are recorded in full."""
MAX_TIMES: Final = 100_000
FLUSH_SECONDS: Final = 2.0


class Recorder:
    """Writes `events.jsonl` and `numbers.bin` into a folder; reads the printed output from `stdout` and `stderr` there."""

    def __init__(self, folder: str, *, full: bool = True, shaken: bool = False) -> None:
        self.folder = folder
        self.shaken = shaken
        self.full = full
        self.encoder = Encoder(Store(open(os.path.join(folder, "numbers.bin"), "ab")))  # noqa: SIM115 - open to the end
        self._events = open(os.path.join(folder, "events.jsonl"), "a", encoding="utf-8")  # noqa: SIM115 - as above
        self._owner = os.getpid()
        self._inside = threading.local()
        self._calls: dict[str, int] = {}
        self._times: dict[str, list[float]] = {}
        self._traces: dict[str, int] = {}
        self._tracing: dict[str, float] = {}
        self._flushed = time.monotonic()
        self._lock = threading.Lock()

    def write(self, event: str, **fields: object) -> None:
        """Writes one event."""
        if os.getpid() != self._owner:  # a fork of user code
            return
        with self._lock:
            self._events.write(json.dumps({"event": event, **fields}) + "\n")
            self._events.flush()

    def passes(self) -> bool:
        """Whether a call is not recorded."""
        if getattr(self._inside, "active", False) or os.getpid() != self._owner:
            return True
        tf = sys.modules.get("tensorflow")
        return tf is not None and hasattr(tf, "executing_eagerly") and not tf.executing_eagerly()

    def call(
        self,
        key: str,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        *,
        bound: bool = False,
    ) -> Any:
        """Calls the function and records the call. `bound`: its first argument is the method's object."""
        number = self._calls[key] = self._calls.get(key, 0) + 1
        kept = self.full and (number <= FULL_CALLS or (number >= 16 and number & (number - 1) == 0))
        given: Node | None = None
        self._inside.active = True
        try:
            if kept:
                given = self.encoder.encode([list(arguments), keywords])
                printed = self._printed()
            target, rest = bind(function, bound, arguments)
            if self.shaken:
                rest, keywords = shake((rest, keywords), number)
            traces = count_traces(target)
            raised: BaseException | None = None
            result: Any = None
            started = time.perf_counter()
            try:
                result = target(*rest, **keywords)
            except BaseException as error:
                raised = error
            seconds = time.perf_counter() - started
            self._count(key, target, traces, None if raised is not None else seconds)
            if kept:
                roots = [(f"argument {i}", value) for i, value in enumerate(arguments)] + sorted(keywords.items())
                roots += roots_of_function(python_function(function))
                self.write(
                    "call",
                    function=key,
                    call=number,
                    arguments=given,
                    result=None if raised is not None else self.encoder.encode(result),
                    raised=None if raised is None else describe_exception(raised),
                    state=[[path, self.encoder.encode(value)] for path, value in state_of(roots)],
                    printed=[after[len(before) :] for before, after in zip(printed, self._printed(), strict=True)],
                    seconds=seconds,
                    traces=count_traces(target),
                )
            if raised is not None:
                raise raised
            return result
        finally:
            self._inside.active = False
            if time.monotonic() - self._flushed > FLUSH_SECONDS:
                self.flush()

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Disables recording inside."""
        self._inside.active = True
        try:
            yield
        finally:
            self._inside.active = False

    def _count(self, key: str, function: Callable[..., Any], traces: int | None, seconds: float | None) -> None:
        """Adds a call to the totals. One that raised has no time."""
        now = count_traces(function)
        if now is not None and now > (traces or 0):
            self._tracing[key] = self._tracing.get(key, 0.0) + (seconds or 0.0)
        elif seconds is not None:
            times = self._times.setdefault(key, [])
            if len(times) < MAX_TIMES:
                times.append(seconds)
        if now is not None:
            self._traces[key] = max(now, self._traces.get(key, 0))

    def flush(self) -> None:
        """Writes the totals so far; later totals replace them."""
        self._flushed = time.monotonic()
        for key, calls in self._calls.items():
            self.write(
                "total",
                function=key,
                calls=calls,
                seconds=[round(value, 7) for value in self._times.get(key, ())],
                tracing=self._tracing.get(key, 0.0),
                traces=self._traces.get(key),
            )

    def _printed(self) -> list[str]:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        texts = []
        for name in ("stdout", "stderr"):
            try:
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as stream:
                    texts.append(stream.read())
            except OSError:
                texts.append("")
        return texts


for _method in (Recorder.passes, Recorder.call):  # AutoGraph does not convert functions with this attribute
    setattr(_method, "autograph_info__", {})  # noqa: B010 - functions have no such attribute for a type checker


def bind(function: Any, bound: bool, arguments: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """A `tf.function` on a method, bound to its object as by an attribute access."""
    if bound and arguments and hasattr(function, "__get__"):
        return function.__get__(arguments[0], type(arguments[0])), arguments[1:]
    return function, arguments


def shake(arguments: Any, number: int) -> Any:
    """Float tensors of the arguments, with every number changed by at most the last bit: resulting differences are rounding."""
    tf = sys.modules["tensorflow"]
    import numpy as np  # noqa: PLC0415 - loaded with TensorFlow

    generator = np.random.RandomState(number)

    def moved(value: Any) -> Any:
        if not isinstance(value, tf.Tensor) or not hasattr(value, "numpy") or not value.dtype.is_floating:
            return value
        array = value.numpy()
        bits = np.finfo(array.dtype).eps * generator.randint(-1, 2, array.shape).astype(array.dtype)
        return tf.constant(array * (1 + bits), dtype=value.dtype)

    try:
        return tf.nest.map_structure(moved, arguments)
    except (TypeError, ValueError):  # a structure or number type of neither TensorFlow nor NumPy
        return arguments


def count_traces(function: Any) -> int | None:
    """The number of traces of a `tf.function` so far; None if it is not a `tf.function`."""
    counter = getattr(function, "experimental_get_tracing_count", None)
    if counter is None:
        return None
    try:
        return int(counter())
    except Exception:
        return None


def python_function(function: Any) -> Any:
    """The Python function inside a `tf.function`, a bound method, or decorators that set `__wrapped__`."""
    for _ in range(10):
        if hasattr(function, "python_function"):
            function = function.python_function
        elif hasattr(function, "__func__"):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            break
    return function


def describe_exception(error: BaseException) -> dict[str, str]:
    """The type of an exception and the most informative line of its message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and lines[0] == "in user code:":  # the text that AutoGraph adds around the message
        lines = lines[-1:]
    return {"type": type(error).__name__, "message": (lines[0] if lines else "")[:500]}
