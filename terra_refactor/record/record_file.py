"""The file of a recorded run: `record/1`, see docs/record.md.

Computes: one record from those of several processes; a checked record from JSON, and JSON from a record. Needs: nothing.
Gives: `Record` and its parts, `read_record`, `parse_record`, `merged_records`, `record_to_json`.

A record is untrusted, like all files of a repository: a malformed one is a UsageError, and its strings are used only
as names.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, TypeVar

from terra_refactor.errors import UsageError

RECORD_SCHEMA: Final = "terra-refactor/record/1"
MAX_RECORD_BYTES: Final = 64 << 20
"""Maximum size of a record that is read, in bytes."""
_DEEPEST: Final = 12

Described: TypeAlias = tuple[Any, ...]
"""A type in the form of `child/describe.py`: `(kind, ...)`."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TypeSeen:
    """A type, and the number of detailed calls with it."""

    type: Described
    calls: int


@dataclass(frozen=True, slots=True)
class ParameterSeen:
    """The observed arguments of one parameter."""

    name: str
    types: tuple[TypeSeen, ...] = ()
    values: tuple[Any, ...] = ()
    """Small Python values, in order of first occurrence, at most 24, and never strings."""
    distinct: int = 0
    """The number of distinct observed Python values, including those not written."""


@dataclass(frozen=True, slots=True)
class TraceCause:
    """Why a `tf.function` was traced: `first`, `variables`, `new function`, `context`, or the kind of argument that differed: `value`,
    `shape`, `variable`, `structure`, `object`."""

    cause: str
    parameter: str | None
    traces: int
    examples: tuple[Any, ...] = ()
    """Values or types of arguments: `{"value": 3}` or `{"type": ["tensor", "float32", [16, 32]]}`."""


@dataclass(frozen=True, slots=True)
class GraphSeen:
    """Traces of a `tf.function`."""

    calls: int
    inner_calls: int
    seconds: float
    traces: int
    tracing_seconds: float
    objects: int
    causes: tuple[TraceCause, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionSeen:
    """Observations of one function."""

    path: str
    """Below the record's root."""
    qualname: str
    line: int
    """The line of its `def`, when it ran."""
    digest: str
    """Digest of the text from its `def` to its end."""
    calls: int
    """From Python, counted individually; those of a `tf.function` are in `graph`."""
    estimated: bool
    """Not all of them were counted (before Python 3.12)."""
    seconds: float
    own_seconds: float | None
    """Without the time of other functions of the program."""
    detailed_calls: int
    """Number of calls that were recorded in full."""
    traced_calls: int
    """Number of these made while a graph was traced."""
    parameters: tuple[ParameterSeen, ...] = ()
    returns: tuple[TypeSeen, ...] = ()
    graph: GraphSeen | None = None

    @property
    def eager_calls(self) -> int:
        """Estimated number of its calls that ran eagerly."""
        if not self.detailed_calls:
            return 0 if self.traced_calls else self.calls
        return round(self.calls * (1 - self.traced_calls / self.detailed_calls))

    @property
    def looked_at(self) -> int:
        """The number of eager calls whose types were recorded."""
        return self.detailed_calls - self.traced_calls


@dataclass(frozen=True, slots=True)
class Record:
    """One run of a program, in all its processes."""

    root: str
    """From the folder of the record file to the root of its paths."""
    python: str
    tensorflow: str | None
    seconds: float
    exit_code: int | None
    complete: bool
    """Each process ended normally."""
    processes: int
    notices: tuple[str, ...]
    files: Mapping[str, str]
    """Digests by path."""
    functions: tuple[FunctionSeen, ...] = field(repr=False)
    tool_version: str = ""


def record_to_json(record: Record) -> str:
    """The text of the file; one line for each function."""
    plain = dataclasses.asdict(record)
    functions = plain.pop("functions")
    tool = {"name": "terra-refactor", "version": plain.pop("tool_version")}
    files = [{"path": path, "digest": digest} for path, digest in sorted(plain.pop("files").items())]
    head = json.dumps({"schema": RECORD_SCHEMA, "tool": tool, **plain, "files": files}, indent=1, ensure_ascii=True)
    body = ",\n  ".join(json.dumps(function, ensure_ascii=True) for function in functions)
    return (
        f'{head[:-2]},\n "functions": [\n  {body}\n ]\n}}\n' if functions else f'{head[:-2]},\n "functions": []\n}}\n'
    )


def read_record(file: str) -> Record:
    """The record in a file.

    Raises:
        UsageError: it cannot be read, or is not a record.
    """
    try:
        if os.path.getsize(file) > MAX_RECORD_BYTES:
            raise UsageError(f"{file}: is larger than {MAX_RECORD_BYTES >> 20} MB")
        with open(file, encoding="utf-8") as stream:
            return parse_record(stream.read(), file)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: is not UTF-8") from error


def parse_record(text: str, file: str) -> Record:
    """The record in a text; its root becomes an absolute path, relative to the folder of `file`.

    Raises:
        UsageError: it is not a record.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: is not a record: it does not parse as JSON") from error
    if not isinstance(data, dict) or data.get("schema") != RECORD_SCHEMA:
        schema = data.get("schema") if isinstance(data, dict) else None
        newer = isinstance(schema, str) and schema.startswith("terra-refactor/record/")
        raise UsageError(
            f"{file}: is a record of another version of terra-refactor; record again"
            if newer
            else f"{file}: is not a record of `terra-refactor record`"
        )
    try:
        root = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(file)), _text(data["root"])))
        return Record(
            root=root,
            python=_text(data["python"]),
            tensorflow=None if data["tensorflow"] is None else _text(data["tensorflow"]),
            seconds=_number(data["seconds"]),
            exit_code=None if data["exit_code"] is None else _integer(data["exit_code"]),
            complete=data["complete"] is True,
            processes=_count(data["processes"]),
            notices=tuple(_text(each) for each in data["notices"]),
            files={_text(each["path"]): _text(each["digest"]) for each in data["files"]},
            functions=tuple(_function(each) for each in data["functions"]),
            tool_version=_text(data["tool"]["version"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UsageError(f"{file}: is not a complete record ({type(error).__name__}: {error})") from error


def from_process(data: Mapping[str, Any]) -> Record:
    """The observations of one process."""
    return Record(
        root=".",
        python=_text(data["python"]),
        tensorflow=data["tensorflow"],
        seconds=_number(data["seconds"]),
        exit_code=None,
        complete=data["complete"] is True,
        processes=1,
        notices=tuple(data["notices"]),
        files={each["path"]: each["digest"] for each in data["files"]},
        functions=tuple(_function(each) for each in data["functions"]),
    )


def merged_records(records: Iterable[Record]) -> Record:
    """One record of several processes of one run; the first is that of the program itself."""
    first, *rest = records
    functions: dict[tuple[str, str, int, str], FunctionSeen] = {_key(each): each for each in first.functions}
    files, notices = dict(first.files), dict.fromkeys(first.notices)
    for record in rest:
        files.update(record.files)
        notices.update(dict.fromkeys(record.notices))
        for function in record.functions:
            known = functions.get(_key(function))
            functions[_key(function)] = function if known is None else _both(known, function)
    return replace(
        first,
        tensorflow=next((each.tensorflow for each in (first, *rest) if each.tensorflow is not None), None),
        seconds=max(each.seconds for each in (first, *rest)),
        complete=all(each.complete for each in (first, *rest)),
        processes=1 + len(rest),
        notices=tuple(notices),
        files=files,
        functions=tuple(sorted(functions.values(), key=_key)),
    )


def _key(function: FunctionSeen) -> tuple[str, str, int, str]:
    return function.path, function.qualname, function.line, function.digest


def both(one: FunctionSeen, other: FunctionSeen) -> FunctionSeen:
    """The merged observations of two runs, or two processes, about one function."""
    return _both(one, other)


def _both(one: FunctionSeen, other: FunctionSeen) -> FunctionSeen:
    parameters = {each.name: each for each in one.parameters}
    for each in other.parameters:
        known = parameters.get(each.name)
        parameters[each.name] = each if known is None else _parameters(known, each)
    own = [each for each in (one.own_seconds, other.own_seconds) if each is not None]
    graphs = [each for each in (one.graph, other.graph) if each is not None]
    return replace(
        one,
        calls=one.calls + other.calls,
        estimated=one.estimated or other.estimated,
        seconds=one.seconds + other.seconds,
        own_seconds=sum(own) if own else None,
        detailed_calls=one.detailed_calls + other.detailed_calls,
        traced_calls=one.traced_calls + other.traced_calls,
        parameters=tuple(parameters.values()),
        returns=_types(one.returns, other.returns),
        graph=None if not graphs else graphs[0] if len(graphs) == 1 else _graphs(graphs[0], graphs[1]),
    )


def _parameters(one: ParameterSeen, other: ParameterSeen) -> ParameterSeen:
    values = list(one.values)
    values += [each for each in other.values if not any(each is known or _same(each, known) for known in values)]
    # the number of strings common to both is unknown
    unwritten = max(one.distinct - len(one.values), other.distinct - len(other.values))
    return ParameterSeen(
        one.name, _types(one.types, other.types), tuple(values[:24]), max(len(values) + unwritten, one.distinct)
    )


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _types(one: tuple[TypeSeen, ...], other: tuple[TypeSeen, ...]) -> tuple[TypeSeen, ...]:
    calls: dict[Described, int] = {}
    for each in (*one, *other):
        calls[each.type] = calls.get(each.type, 0) + each.calls
    return tuple(TypeSeen(described, count) for described, count in calls.items())


def _graphs(one: GraphSeen, other: GraphSeen) -> GraphSeen:
    causes: dict[tuple[str, str | None], TraceCause] = {}
    for each in (*one.causes, *other.causes):
        known = causes.get((each.cause, each.parameter))
        if known is not None:
            examples = (*known.examples, *(example for example in each.examples if example not in known.examples))
            each = replace(each, traces=known.traces + each.traces, examples=examples[:24])  # noqa: PLW2901
        causes[each.cause, each.parameter] = each
    return GraphSeen(
        one.calls + other.calls,
        one.inner_calls + other.inner_calls,
        one.seconds + other.seconds,
        one.traces + other.traces,
        one.tracing_seconds + other.tracing_seconds,
        one.objects + other.objects,
        tuple(causes.values()),
    )


# --- reading ------------------------------------------------------------------------------------------------------------------------


def _function(data: Mapping[str, Any]) -> FunctionSeen:
    graph = data["graph"]
    return FunctionSeen(
        path=_text(data["path"]),
        qualname=_text(data["qualname"]),
        line=_count(data["line"]),
        digest=_text(data["digest"]),
        calls=_count(data["calls"]),
        estimated=data["estimated"] is True,
        seconds=_number(data["seconds"]),
        own_seconds=None if data["own_seconds"] is None else _number(data["own_seconds"]),
        detailed_calls=_count(data["detailed_calls"]),
        traced_calls=_count(data["traced_calls"]),
        parameters=_all(_parameter, data["parameters"]),
        returns=_all(_type_seen, data["returns"]),
        graph=None if graph is None else _graph(graph),
    )


def _parameter(data: Mapping[str, Any]) -> ParameterSeen:
    values = tuple(_small(each) for each in data["values"])
    return ParameterSeen(_text(data["name"]), _all(_type_seen, data["types"]), values, _count(data["distinct"]))


def _type_seen(data: Mapping[str, Any]) -> TypeSeen:
    return TypeSeen(_described(data["type"], 0), _count(data["calls"]))


def _graph(data: Mapping[str, Any]) -> GraphSeen:
    return GraphSeen(
        _count(data["calls"]),
        _count(data["inner_calls"]),
        _number(data["seconds"]),
        _count(data["traces"]),
        _number(data["tracing_seconds"]),
        _count(data["objects"]),
        _all(_cause, data["causes"]),
    )


def _cause(data: Mapping[str, Any]) -> TraceCause:
    parameter = data["parameter"]
    examples = tuple(
        {"value": _small(each["value"])} if "value" in each else {"type": _described(each["type"], 0)}
        for each in data["examples"]
    )
    return TraceCause(
        _text(data["cause"]), None if parameter is None else _text(parameter), _count(data["traces"]), examples
    )


def _all(read: Callable[[Mapping[str, Any]], _T], items: Iterable[Mapping[str, Any]]) -> tuple[_T, ...]:
    return tuple(read(item) for item in items)


def _described(data: Any, depth: int) -> Any:
    if isinstance(data, list | tuple):
        if depth > _DEEPEST:
            raise ValueError("a type is nested too deep")
        return tuple(_described(each, depth + 1) for each in data)
    if data is None or isinstance(data, bool | int):
        return data
    if depth == 0:
        raise ValueError("a type is a list")
    return _text(data)


def _small(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) < 8):
        return value
    raise ValueError("a value must be a short string, a number, a bool or null")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"{value!r} is not a string")


def _integer(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(f"{value!r} is not a whole number")


def _count(value: Any) -> int:
    number = _integer(value)
    if number < 0:
        raise ValueError(f"{value!r} is below 0")
    return number


def _number(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value < 1e15:
        return float(value)
    raise TypeError(f"{value!r} is not a number of seconds")
