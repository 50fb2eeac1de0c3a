"""A verified `tf.function`: on its first calls, and on each new trace, it also runs eagerly and is compared.

Computes: whether results, variables, printed text, raised errors and mutated Python arguments agree.
Needs: a function that may be run twice on the same inputs and state. Gives: `Speculation`.
Ignores: effects outside the process, files and network: they happen twice in a compared call.

In a compared call the graph runs first, after which its variables, global random state and mutable arguments are
restored; then the eager function runs, whose results and effects are used. After a difference, or if the graph cannot
be built, execution stays eager, with one warning.
"""

from __future__ import annotations

import contextlib
import copy
import io
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from terra_refactor.runtime.shadow import differ
from terra_refactor.runtime.tf_internals import KerasVariable, Variable, context, stateful_random_ops, tf


class SpeculationWarning(UserWarning):
    """A function differs as a graph and stays eager."""


class Speculation:
    """One speculative function.

    Attributes:
        calls: the number of compared calls for each new trace.
        reason: why it stays eager, or None.
    """

    def __init__(
        self, function: Callable[..., Any], calls: int, jit_compile: bool | None, reduce_retracing: bool
    ) -> None:
        if calls < 1:
            raise ValueError(f"at least one call is compared, not {calls}")
        self.function = function
        self.name = getattr(function, "__qualname__", repr(function))
        self.calls = calls
        self.graph = tf.function(function, jit_compile=jit_compile, reduce_retracing=reduce_retracing)
        self.reason: str | None = None
        self.compared = 0
        self.trusted_calls = 0
        self._left: dict[int, int] = {}  # number of traces -> remaining calls to compare
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.reason is not None or not tf.executing_eagerly():
            return self.function(*args, **kwargs)
        with self._lock:
            traces = self._traces()
            if traces and self._left.get(traces, self.calls) <= 0 and not self._would_trace(args, kwargs):
                self.trusted_calls += 1
                return self.graph(*args, **kwargs)
            return self._compare(args, kwargs)

    def _traces(self) -> int:
        return int(self.graph.experimental_get_tracing_count())

    def _would_trace(self, args: Any, kwargs: Any) -> bool:
        """Whether these arguments lead to a trace that was not compared; determined by tracing, which runs no operation."""
        before = self._traces()
        with _quiet():
            self.graph.get_concrete_function(*args, **kwargs)
        return self._traces() != before

    def _compare(self, args: Any, kwargs: Any) -> Any:
        state = _State(self.function, args, kwargs)
        try:
            with _captured_output() as printed:
                result = self.graph(*state.copied_args, **state.copied_kwargs)
            graph_error = None
        except Exception as error:
            result, graph_error = None, error
        graph_text = printed.getvalue()
        graph_values = state.variables_now()
        state.restore()
        eager_printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(_Tee(sys.stdout, eager_printed)):
                expected = self.function(*args, **kwargs)
        except Exception as error:
            if graph_error is None or type(graph_error) is not type(error):
                self._give_up(f"eager execution raises {type(error).__name__}, and the graph does not")
            raise
        if graph_error is not None:
            first = str(graph_error).strip().splitlines()
            self._give_up(f"as a graph it raises {type(graph_error).__name__}: {first[0] if first else ''}")
            return expected
        difference = (
            first_difference("result", expected, result)
            or first_difference("variable", state.variables_now(), graph_values)
            or first_difference("argument", [list(args), kwargs], [list(state.copied_args), state.copied_kwargs])
            or (None if eager_printed.getvalue() == graph_text else "the printed text differs")
        )
        self.compared += 1
        if difference is not None:
            self._give_up(difference)
        else:
            traces = self._traces()
            self._left[traces] = self._left.get(traces, self.calls) - 1
        return expected

    def _give_up(self, reason: str) -> None:
        self.reason = reason
        warnings.warn(
            f"{self.name} is not the same as a graph, and stays eager: {reason}", SpeculationWarning, stacklevel=4
        )

    def describe(self) -> str:
        """A line for the report."""
        state = "a graph" if self.reason is None else f"eager: {self.reason}"
        return f"{self.name} (speculative): {state}; {self.compared} calls compared, {self.trusted_calls} trusted"


class _State:
    """Everything that a call may change and that can be restored."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.variables = _variables_of(function, args, kwargs)
        self.values = self._read()
        self.copied_args = tuple(_copy_host(value) for value in args)
        self.copied_kwargs = {name: _copy_host(value) for name, value in kwargs.items()}
        self.python = random.getstate()
        self.numpy = np.random.get_state()
        ctx = context.context()
        self.rng = copy.copy(getattr(ctx, "_rng", None))
        self.generator = tf.random.get_global_generator() if _has_global_generator() else None
        self.generator_state = None if self.generator is None else np.array(self.generator.state.numpy())

    def _read(self) -> list[Any]:
        return [np.array(variable.numpy()) for variable in self.variables]

    def variables_now(self) -> list[Any]:
        return self._read()

    def restore(self) -> None:
        for variable, value in zip(self.variables, self.values, strict=True):
            variable.assign(value)
        random.setstate(self.python)
        np.random.set_state(self.numpy)
        if self.rng is not None:
            context.context()._rng = self.rng
        if self.generator is not None:
            self.generator.state.assign(self.generator_state)


def _has_global_generator() -> bool:
    return stateful_random_ops.global_generator is not None


def _variables_of(function: Callable[..., Any], args: Any, kwargs: Any) -> list[Any]:
    """Every variable reachable from the arguments, the closure and the globals that the function names."""
    found: dict[int, Any] = {}
    seen: set[int] = set()
    code = getattr(function, "__code__", None)
    roots: list[Any] = [args, kwargs, getattr(function, "__self__", None)]
    if code is not None:
        names = getattr(function, "__globals__", {})
        roots.extend(names[name] for name in code.co_names if name in names)
        for cell in getattr(function, "__closure__", None) or ():
            with contextlib.suppress(ValueError):
                roots.append(cell.cell_contents)
    pending = list(roots)
    while pending and len(seen) < 20_000:
        value = pending.pop()
        if id(value) in seen or isinstance(
            value, (str, bytes, int, float, bool, type(None), np.ndarray, tf.Tensor, type)
        ):
            continue
        seen.add(id(value))
        if isinstance(value, KerasVariable):
            pending.append(value.value)
        elif isinstance(value, Variable):
            found.setdefault(id(value.handle), value)
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, (list, tuple, set)):
            pending.extend(value)
        elif callable(value) and hasattr(value, "__closure__"):
            pending.extend(_variables_of(value, (), {}) if len(seen) < 2_000 else [])
        elif hasattr(value, "__dict__") and not isinstance(value, type(sys)):
            pending.extend(vars(value).values())
    return list(found.values())


def _copy_host(value: Any) -> Any:
    """A copy of mutable arguments; tensors, variables and opaque objects are not copied."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) is list:
        return [_copy_host(item) for item in value]
    if type(value) is tuple:
        return tuple(_copy_host(item) for item in value)
    if type(value) is dict:
        return {name: _copy_host(item) for name, item in value.items()}
    return value


def first_difference(what: str, one: Any, other: Any) -> str | None:
    """The first difference between the results of two executions, in words, or None. Floats may differ by rounding."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            return f"{what}: {len(one)} against {len(other)} elements"
        pairs: Sequence[tuple[Any, Any]] = list(zip(one, other, strict=True))
        return next(filter(None, (first_difference(f"{what}[{i}]", a, b) for i, (a, b) in enumerate(pairs))), None)
    if isinstance(one, dict) and isinstance(other, dict):
        if list(one) != list(other):
            return f"{what}: other keys"
        return next(filter(None, (first_difference(f"{what}.{key}", one[key], other[key]) for key in one)), None)
    if isinstance(one, tf.IndexedSlices):
        one, other = tf.convert_to_tensor(one), tf.convert_to_tensor(other)
    if hasattr(one, "numpy") and hasattr(other, "numpy"):
        found = differ(np.asarray(one.numpy()), np.asarray(other.numpy()))
        return f"{what} {found}" if found else None
    if isinstance(one, (np.ndarray, np.generic)) and isinstance(other, (np.ndarray, np.generic)):
        found = differ(np.asarray(one), np.asarray(other))
        return f"{what} {found}" if found else None
    if hasattr(one, "numpy") != hasattr(other, "numpy"):
        plain = np.asarray(one.numpy() if hasattr(one, "numpy") else one)
        if (
            plain.dtype == object
            or isinstance(one, (str, bytes, type(None)))
            or isinstance(other, (str, bytes, type(None)))
        ):
            return f"{what}: {type(one).__name__} against {type(other).__name__}"
        return f"{what}: a Python value in eager execution, a tensor as a graph"
    if one is other:
        return None
    if type(one) is not type(other):
        return f"{what}: {type(one).__name__} against {type(other).__name__}"
    try:
        equal = bool(one == other)
    except (TypeError, ValueError):
        equal = True  # objects that cannot be compared are assumed to be unchanged
    known = isinstance(one, (str, bytes, int, float, bool, type(None)))
    return f"{what}: {one!r} against {other!r}" if known and not equal else None


class _Tee(io.TextIOBase):
    """Writes to two texts."""

    def __init__(self, *targets: Any) -> None:
        self.targets = targets

    def write(self, text: str) -> int:
        for target in self.targets:
            target.write(text)
        return len(text)

    def flush(self) -> None:
        for target in self.targets:
            target.flush()


@contextlib.contextmanager
def _captured_output() -> Iterator[io.StringIO]:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        yield text


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()):
        yield
