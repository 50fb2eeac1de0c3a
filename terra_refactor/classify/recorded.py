"""Evidence from recorded runs for decisions: the sentences, the calls, the time that a change would save, the reasons for traces.

Computes: an assumption from recorded types; the number of calls from eager code; the gain of a change; findings about
frequently retraced functions. Needs: `Program.recorded`. Gives: `assumption_of`, `recorded_types`, `recorded_calls`,
`gain_of`, `shape_traces`, `traces_in_words`, `varying_value`. A record is evidence of one run. It makes a function a
candidate at `speculative`, and shows whether a change pays off; it never causes an error or a `safe` decision. Few
recorded calls are no reason against a change, because the run may have been short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from terra_refactor.classify.benefit import Count
from terra_refactor.classify.calls import GraphCost
from terra_refactor.classify.decision import ExpectedGain
from terra_refactor.domain.dtype import dtype_named
from terra_refactor.domain.tensor import TensorType
from terra_refactor.record.record_file import Described, FunctionSeen, ParameterSeen, TraceCause
from terra_refactor.rules.registry import rules_by_retrace
from terra_refactor.rules.retracing.python_scalar_retrace import RULE as PYTHON_SCALAR

LEAST_RETRACES: Final = 3
"""Fewer traces for one reason may be the two values of a flag, or a batch and the smaller last batch."""
MANY_VALUES: Final = 8
"""Number of distinct values from which a Python number or string does not count as a mode."""
_SHOWN: Final = 6
_MOST_TYPES: Final = 8
_LARGEST_SHARE: Final = 0.9
"""Maximum fraction of a call's time that can be saved."""
_PLURALS: Final = {"tensor": "a tensor", "variable": "a variable", "ndarray": "a NumPy array"}


def assumption_of(seen: FunctionSeen, name: str) -> str:
    """The assumption if only a recorded run shows the type of a parameter."""
    parameter = _parameter(seen, name)
    kinds = dict.fromkeys(_in_words(each.type) for each in parameter.types) if parameter is not None else {}
    what = " or ".join(kinds) or "of the same kind"
    number = sum(each.calls for each in parameter.types) if parameter is not None else 0
    return f"`{name}` is {what} in every call, as in the {number} that were recorded"


def _in_words(described: Described) -> str:
    match described:
        case ("tensor" | "variable" | "ndarray" as kind, *_):
            return _PLURALS[kind]
        case ("primitive", "NoneType"):
            return "None"
        case ("primitive", str(name)):
            return f"{'an' if name == 'int' else 'a'} {name}"
        case ("container", str(name), *_):
            return f"a {name}"
        case _:
            return "an object"


def _parameter(seen: FunctionSeen, name: str) -> ParameterSeen | None:
    return next((each for each in seen.parameters if each.name == name), None)


def recorded_types(seen: FunctionSeen, name: str) -> tuple[TensorType, ...]:
    """The types of the tensors and arrays that a parameter was or contained, in order of occurrence; () if there were
    too many.
    """
    parameter = _parameter(seen, name)
    found: dict[TensorType, None] = {}
    for each in parameter.types if parameter is not None else ():
        _collect(each.type, found)
    return tuple(found) if len(found) <= _MOST_TYPES else ()


def _collect(described: Any, found: dict[TensorType, None]) -> None:
    match described:
        case ("tensor" | "variable" | "ndarray", str(dtype), shape):
            sizes = shape if shape is None or all(size is None or isinstance(size, int) for size in shape) else None
            found[TensorType(dtype_named(dtype), sizes)] = None
        case ("container", str(), *rest):
            for part in rest:
                for member in part if isinstance(part, tuple) else ():
                    _collect(member, found)


def varying_value(seen: FunctionSeen | None) -> str | None:
    """The reason why many recorded Python values would each cause a trace; None if there were not many."""
    for parameter in seen.parameters if seen is not None else ():
        if parameter.distinct >= MANY_VALUES and all(each.type[0] == "primitive" for each in parameter.types):
            return (
                f"`{parameter.name}` had {parameter.distinct} Python values in the recorded calls: each would be traced"
            )
    return None


def recorded_calls(seen: FunctionSeen | None) -> int | None:
    """The number of calls of a function from eager code in the runs; None if it was not recorded."""
    if seen is None:
        return None
    return seen.eager_calls + (0 if seen.graph is None else seen.graph.calls)


def gain_of(seen: FunctionSeen | None, calls: int | None, count: Count, cost: GraphCost) -> ExpectedGain | None:
    """The gain of a graph: for a recorded function in the run, otherwise in the known calls of the program."""
    each = (count.executed * cost.saved_microseconds - cost.call_microseconds) / 1e6
    source = "estimate"
    if seen is not None and seen.eager_calls:
        calls, source = seen.eager_calls, "record"
        each = min(each, _LARGEST_SHARE * seen.seconds / max(seen.calls, 1))
    if calls is None:
        return None
    trace = (cost.trace_milliseconds + count.traced * cost.trace_milliseconds_for_each) / 1e3
    return ExpectedGain(calls, round(max(calls * each - trace, 0.0), 3), source)


def gain_without_retraces(seen: FunctionSeen | None) -> ExpectedGain | None:
    """The gain of a `tf.function` if it is traced once instead of on each recorded trace."""
    graph = None if seen is None else seen.graph
    if graph is None or not graph.traces or not graph.calls:
        return None
    once = graph.tracing_seconds / graph.traces
    return ExpectedGain(graph.calls, round(max(graph.tracing_seconds - 2 * once, 0.0), 3), "record")


def retraces(seen: FunctionSeen | None) -> tuple[TraceCause, ...]:
    """The reasons why a `tf.function` was retraced, the most frequent first."""
    graph = None if seen is None else seen.graph
    if graph is None:
        return ()
    assert seen is not None
    found = [each for each in graph.causes if each.cause in rules_by_retrace() and _varies(seen, each)]
    return tuple(sorted(found, key=lambda each: -each.traces))


def _varies(seen: FunctionSeen, cause: TraceCause) -> bool:
    """Whether there are more different arguments than a flag or a last batch explains.

    A method is traced separately for each object.
    """
    if cause.traces < LEAST_RETRACES:
        return False
    if cause.cause == "value" and cause.parameter is not None:
        parameter = _parameter(seen, cause.parameter)
        return max(len(cause.examples), 0 if parameter is None else parameter.distinct) >= LEAST_RETRACES
    return cause.cause != "shape" or len(cause.examples) >= LEAST_RETRACES


def shape_traces(seen: FunctionSeen | None) -> TraceCause | None:
    """The parameter whose shapes were traced separately; None if there is none."""
    return next((each for each in retraces(seen) if each.cause == "shape" and each.parameter is not None), None)


def traces_in_words(seen: FunctionSeen, cause: TraceCause) -> str:
    """`traced 40 times in 400 recorded calls, 2.6 s: `n` was 0, 1, 2, 3, 4, 5, ...`"""
    graph = seen.graph
    assert graph is not None
    words = f"traced {graph.traces} times in {graph.calls} recorded calls, {graph.tracing_seconds:.1f} s"
    shown = [text for example in cause.examples if (text := _example(example)) is not None]
    if cause.parameter is None or not shown:
        return words
    more = ", ..." if len(shown) > _SHOWN or cause.traces >= len(shown) else ""
    return f"{words}: `{cause.parameter}` was {', '.join(shown[:_SHOWN])}{more}"


def _example(example: Mapping[str, Any]) -> str | None:
    if "value" in example:
        return repr(example["value"])
    match example["type"]:
        case ("tensor" | "variable" | "ndarray", str(dtype), tuple(shape)):
            return f"{dtype}[{', '.join('?' if size is None else str(size) for size in shape)}]"
        case (_, str(name), *_):
            return f"a {name}"
        case _:
            return None


def advice(causes: Iterable[TraceCause]) -> str:
    """The cure for a reason of retracing."""
    cause = next(iter(causes))
    rule = rules_by_retrace()[cause.cause]
    assert rule.retraces is not None
    if rule is PYTHON_SCALAR and any(isinstance(example.get("value"), int | float) for example in cause.examples):
        return "pass a tensor (`tf.constant`) where the function computes with it"
    return rule.retraces.advice
