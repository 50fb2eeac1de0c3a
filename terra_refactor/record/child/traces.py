"""Observes `tf.function`: calls, time, traces, and the argument that caused each trace.

Computes: calls, time and traces of each `tf.function` of the program; for each trace the arguments in which it differs from the
nearest earlier one. Needs: the observer. Gives: `Traces`, whose `install` waits until TensorFlow is imported.

How: the method `__call__` of TensorFlow's class is wrapped; a call traced if `experimental_get_tracing_count` differs before and
after. If TensorFlow has no such class or methods, a notice says so, and everything else is recorded.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import inspect
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType
from typing import Any, Final

from terra_refactor.record.child.describe import NOT_WRITTEN, describe, is_plain, small
from terra_refactor.record.child.observer import DETAILED_CALLS, EVERY, Observer

MODULE: Final = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
MAX_TRACES: Final = 200
"""Maximum number of traces of a function that are compared."""
MAX_EXAMPLES: Final = 24

Key = tuple[Any, ...]
"""Trace key of one argument: its type, and the value if it is a Python value."""


class GraphSeen:
    """Traces of one `tf.function`."""

    __slots__ = ("calls", "causes", "inner_calls", "objects", "seconds", "traces", "tracing_seconds")

    def __init__(self) -> None:
        self.calls = 0
        """Calls from outside of graphs."""
        self.inner_calls = 0
        """Calls while a graph was traced."""
        self.seconds = 0.0
        """Time of the calls from outside that did not trace."""
        self.traces = 0
        self.tracing_seconds = 0.0
        """Time of the calls from outside that traced."""
        self.objects: list[_Object] = []
        self.causes: dict[tuple[str, str], _Cause] = {}
        """By kind of cause and parameter."""


class _Object:
    """One `tf.function` object: a method has one for each instance."""

    __slots__ = ("reference", "traces")

    def __init__(self, function: Any) -> None:
        self.reference = weakref.ref(function)
        self.traces: list[dict[str, tuple[Key, Any]]] = []


class _Cause:
    """Traces for one reason."""

    __slots__ = ("examples", "traces")

    def __init__(self) -> None:
        self.traces = 0
        self.examples: list[Any] = []

    def add(self, *examples: Any) -> None:
        self.traces += 1
        for example in examples:
            if len(self.examples) < MAX_EXAMPLES and example not in self.examples:
                self.examples.append(example)


class Traces:
    """The wrapper of TensorFlow's `tf.function`."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.notices: list[str] = []
        self.installed = False
        self._signatures: dict[int, tuple[CodeType | None, bool, list[tuple[str, int]]]] = {}

    def install(self) -> None:
        """Installs the wrapper as soon as TensorFlow is imported."""
        sys.meta_path.insert(0, _AfterImport(MODULE, self._wrap))

    def check(self) -> None:
        """Reports at the end if TensorFlow was imported but its `tf.function` was not found."""
        if not self.installed and not self.notices and "tensorflow" in sys.modules:
            self.notices.append(f"TensorFlow has no module {MODULE}: traces were not recorded")

    def _wrap(self, module: ModuleType) -> None:
        cls = getattr(module, "Function", None)
        missing = [
            name
            for name in ("__call__", "experimental_get_tracing_count", "python_function")
            if cls is None or not hasattr(cls, name)
        ]
        if cls is None or missing:
            self.notices.append(f"TensorFlow's `tf.function` has no {', '.join(missing)}: traces were not recorded")
            return
        original, entered = cls.__call__, self._entered
        clock = time.perf_counter
        executing: Callable[[], bool] = getattr(getattr(module, "context", None), "executing_eagerly", lambda: True)
        self.observer.in_graph = lambda: not executing()

        def watched(function: Any, *arguments: Any, **keywords: Any) -> Any:
            try:
                before = function.experimental_get_tracing_count()
            except Exception:
                return original(function, *arguments, **keywords)
            started = clock()
            try:
                return original(function, *arguments, **keywords)
            finally:
                entered(function, arguments, keywords, before, clock() - started, executing())

        # TensorFlow calls its own functions without converting them
        watched.__module__ = original.__module__
        watched.__doc__ = original.__doc__
        watched.autograph_info__ = {}  # type: ignore[attr-defined]
        cls.__call__ = watched
        self.installed = True

    def _entered(
        self,
        function: Any,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        before: int,
        seconds: float,
        eager: bool,
    ) -> None:
        try:
            code, bound, names = self._signature(function)
            seen = None if code is None else self.observer.look_up(code)
            if seen is None:
                return
            if seen.graph is None:
                seen.graph = GraphSeen()
            graph = seen.graph
            traced = function.experimental_get_tracing_count() - before
            if eager:
                graph.calls += 1
                self.observer.reconsider(new=graph.calls <= DETAILED_CALLS or traced > 0)
                if graph.calls <= DETAILED_CALLS or graph.calls % EVERY == 0 or traced:
                    self.observer.note_arguments(seen, _bind(names, bound, arguments, keywords))
                if traced:
                    graph.tracing_seconds += seconds
                else:
                    graph.seconds += seconds
            else:
                graph.inner_calls += 1
            if traced > 0:
                graph.traces += traced
                self._explain(graph, function, _bind(names, bound, arguments, keywords), traced)
        except Exception as error:  # the observed program continues
            if len(self.notices) < 5:
                self.notices.append(f"a trace could not be recorded: {type(error).__name__}")

    def _signature(self, function: Any) -> tuple[CodeType | None, bool, list[tuple[str, int]]]:
        known = self._signatures.get(id(function))
        if known is not None and known[0] is not None:
            return known
        inner, bound = function.python_function, False
        for _ in range(12):
            if inspect.ismethod(inner):
                inner, bound = inner.__func__, True
            elif hasattr(inner, "__wrapped__"):
                inner = inner.__wrapped__
            elif hasattr(inner, "python_function"):
                inner = inner.python_function
            elif hasattr(inner, "func") and not hasattr(inner, "__code__"):
                inner = inner.func  # functools.partial
            else:
                break
        code = getattr(inner, "__code__", None)
        names: list[tuple[str, int]] = []
        if code is not None:
            parameters = inspect.signature(inner).parameters.values()
            names = [(parameter.name, int(parameter.kind)) for parameter in parameters]
        found = (code, bound, names)
        identity = id(function)
        self._signatures[identity] = found
        weakref.finalize(function, self._signatures.pop, identity, None)
        return found

    def _explain(self, graph: GraphSeen, function: Any, given: dict[str, Any], traced: int) -> None:
        now = {name: (_key(value), _example(value)) for name, value in given.items()}
        known = next((each for each in graph.objects if each.reference() is function), None)
        first = known is None
        if known is None:
            known = _Object(function)
            if graph.objects:
                graph.causes.setdefault(("new function", ""), _Cause()).add()
                traced -= 1
            else:
                graph.causes.setdefault(("first", ""), _Cause()).add()
                traced -= 1
            if len(graph.objects) < MAX_TRACES:
                graph.objects.append(known)
        else:
            differing = [
                [name for name in now if name not in earlier or earlier[name][0] != now[name][0]]
                for earlier in known.traces
            ]
            nearest = min(differing, key=len, default=[])
            if not nearest:
                graph.causes.setdefault(("context", ""), _Cause()).add()
            for name in nearest[:4]:
                cause = graph.causes.setdefault((now[name][0][0], name), _Cause())
                earlier_examples = [each[name][1] for each in known.traces if name in each]
                cause.add(*(earlier_examples if not cause.examples else ()), now[name][1])
            traced -= 1
        if traced > 0:
            # the trace that creates variables is repeated, now that they exist
            kind = "variables" if first else "context"
            for _ in range(traced):
                graph.causes.setdefault((kind, ""), _Cause()).add()
        if len(known.traces) < MAX_TRACES:
            known.traces.append(now)


def _bind(
    names: list[tuple[str, int]], bound: bool, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any]:
    """The arguments by parameter name."""
    places = [name for name, kind in names if kind in (0, 1)][int(bound) :]
    given = dict(zip(places, arguments, strict=False))
    rest = next((name for name, kind in names if kind == 2), None)
    if rest is not None and len(arguments) > len(places):
        given[rest] = arguments[len(places) :]
    given.update(keywords)
    return given


def _key(value: Any) -> Key:
    """`(kind, ...)`: equal for arguments that share a graph."""
    if is_plain(value):
        return ("value", type(value).__name__, value if small(value) is not NOT_WRITTEN else hash(value))
    described = describe(value)
    if described[0] in ("tensor", "symbolic", "ndarray", "variable"):
        if described[0] == "variable":
            return ("variable", id(value), *described[1:])
        return ("shape", *described[1:])
    if described[0] == "container":
        return ("structure", described, _leaves(value, 0))
    return ("object", described[1], id(value))


def _leaves(value: Any, depth: int) -> tuple[Key, ...]:
    """The Python values in a container, each of which is part of the trace key."""
    members = list(value.values()) if hasattr(value, "values") else list(value)
    found: list[Key] = []
    for member in members[:32]:
        if is_plain(member):
            found.append(_key(member))
        elif isinstance(member, (tuple, list, dict)) and depth < 3:
            found.extend(_leaves(member, depth + 1))
    return tuple(found)


def _example(value: Any) -> Any:
    """Printable form: a small value, otherwise its type."""
    if is_plain(value):
        shown = small(value)
        return {"value": shown} if shown is not NOT_WRITTEN else {"type": ["primitive", type(value).__name__]}
    return {"type": describe(value)}


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function with a module after its import; finds no modules itself."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for finder in tuple(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = None if find is None else find(fullname, path, target)
            if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
                spec.loader.exec_module = functools.partial(self._execute, spec.loader.exec_module)
                return spec  # type: ignore[no-any-return]
            if spec is not None:
                return spec  # type: ignore[no-any-return]
        return None

    def _execute(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        self.then(module)
