"""Code that runs as a graph: its lines, and the names in it that hold tensors of the graph.

Computes: ranges of lines, and tokens. Needs: a snapshot. Gives: `graph_lines`, `graph_tokens`, `GraphLines`, `GraphToken`.
Ignores: branches that no trace takes, and inner functions that no trace runs.

A function runs as a graph if some analysed call traces it: it has a `tf.function` decorator, a graph calls it, or it is passed to
`Dataset.map` and similar methods. A modifier marks code that other calls also run eagerly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from terra_refactor.analysis.facts import ContextFacts
from terra_refactor.domain.value import TensorKind, TensorValue, Value, members
from terra_refactor.ide.operations import callers_of
from terra_refactor.ide.snapshot import NAMED, Snapshot, name_span
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.walk import walk
from terra_refactor.syntax.deep_stack import deeply
from terra_refactor.syntax.location import Span

_TENSORS = frozenset(
    {TensorKind.TENSOR, TensorKind.VARIABLE, TensorKind.SPARSE, TensorKind.RAGGED, TensorKind.INDEXED_SLICES}
)


class TokenKind(Enum):
    """Kind of a name in graph code; the values are token types of the protocol."""

    FUNCTION = "function"
    METHOD = "method"
    PARAMETER = "parameter"
    VARIABLE = "variable"
    PROPERTY = "property"


@dataclass(frozen=True, slots=True)
class GraphLines:
    """Lines that run as a graph, counted from 1, both included."""

    first: int
    last: int
    function: str
    """The qualified name of the function."""
    eagerly_too: bool
    """Another call runs them eagerly."""


@dataclass(frozen=True, slots=True)
class GraphToken:
    """The name of a function that runs in a graph, or a name that holds a tensor in each trace, or whose call returns one."""

    span: Span
    kind: TokenKind
    eagerly_too: bool


@deeply
def graph_lines(snapshot: Snapshot, path: str) -> tuple[GraphLines, ...]:
    """The lines of a file that run as a graph, in source order; each line once, for the innermost function."""
    found: list[GraphLines] = []
    inside: dict[FunctionId, list[Function]] = {}
    for function in snapshot.functions(path):
        if function.parent is not None and function.kind is not FunctionKind.LAMBDA:
            inside.setdefault(function.parent, []).append(function)
    for function in snapshot.functions(path):
        traced = _traced(snapshot, function)
        if not traced or function.kind not in NAMED:
            continue
        lines = set(range(function.def_line, function.span.end_line + 1))
        for inner in inside.get(function.id, ()):
            first = min([inner.span.line, *(decorator.span.line for decorator in inner.decorators)])
            lines.difference_update(range(first, inner.span.end_line + 1))
        lines.difference_update(_not_traced(function, traced))
        eagerly = _runs_eagerly(snapshot, function)
        found.extend(GraphLines(first, last, function.qualname, eagerly) for first, last in _runs(lines))
    return tuple(sorted(found, key=lambda each: each.first))


@deeply
def graph_tokens(snapshot: Snapshot, path: str) -> tuple[GraphToken, ...]:
    """The tokens of a file, in source order; none overlap."""
    found: dict[Span, GraphToken] = {}
    for function in snapshot.functions(path):
        traced = _traced(snapshot, function)
        if not traced:
            continue
        eagerly = _runs_eagerly(snapshot, function)
        if function.kind in NAMED:
            place = name_span(snapshot, path, function)
            kind = TokenKind.METHOD if function.kind is FunctionKind.METHOD else TokenKind.FUNCTION
            found[place] = GraphToken(place, kind, eagerly)
        for span, kind in (*_parameters(function, traced), *_names(function, traced)):
            if span.line == span.end_line:
                found.setdefault(span, GraphToken(span, kind, eagerly))
    return tuple(_apart(found[span] for span in sorted(found)))


def _traced(snapshot: Snapshot, function: Function) -> tuple[ContextFacts, ...]:
    """The contexts of a function that are traced."""
    if function.kind in (FunctionKind.MODULE, FunctionKind.CLASS_BODY):
        return ()
    return tuple(context for context in snapshot.contexts(function) if context.in_graph)


def _runs_eagerly(snapshot: Snapshot, function: Function) -> bool:
    return any(not context.in_graph for context in snapshot.contexts(function))


def _not_traced(function: Function, traced: tuple[ContextFacts, ...]) -> Iterator[int]:
    """The lines of the branches that no trace takes."""
    taken: dict[int, tuple[bool, bool]] = {}
    for context in traced:
        for branch in context.branches:
            known = taken.get(branch.op, (False, False))
            taken[branch.op] = (known[0] or branch.taken[0], known[1] or branch.taken[1])
    for op in walk(function.body):
        if isinstance(op, ops.If) and op.id in taken and not op.is_assert:
            for runs, block in zip(taken[op.id], (op.then_block, op.else_block), strict=True):
                spans = [] if runs else [function.span_of(each.id) for each in walk(block)]
                if spans:
                    head = function.span_of(op.test).end_line
                    first, last = min(span.line for span in spans), max(span.end_line for span in spans)
                    yield from range(max(first, head + 1), last + 1)


def _runs(lines: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of consecutive numbers."""
    first = last = None
    for line in sorted(lines):
        if first is None or last is None:
            first = last = line
        elif line == last + 1:
            last = line
        else:
            yield first, last
            first = last = line
    if first is not None and last is not None:
        yield first, last


def _parameters(function: Function, traced: tuple[ContextFacts, ...]) -> Iterator[tuple[Span, TokenKind]]:
    for parameter in function.parameters:
        values = [context.parameters[parameter.name] for context in traced if parameter.name in context.parameters]
        if _are_tensors(values):
            span = parameter.span
            yield Span(span.line, span.column, span.line, span.column + len(parameter.name)), TokenKind.PARAMETER


def _names(function: Function, traced: tuple[ContextFacts, ...]) -> Iterator[tuple[Span, TokenKind]]:
    """The names in a function's body that are tensors, and those whose call returns one."""
    called = callers_of(function)
    own = {parameter.name for parameter in function.parameters}
    for op in walk(function.body):
        match op:
            case ops.StoreName(name=name, value=int() as result) if "%" not in name:
                tensor, kind = result, TokenKind.PARAMETER if name in own else TokenKind.VARIABLE
            case ops.LoadName(name=name):
                tensor, kind = op.id, TokenKind.PARAMETER if name in own else TokenKind.VARIABLE
            case ops.StoreAttribute(name=name, value=int() as result):
                tensor, kind = result, TokenKind.PROPERTY
            case ops.LoadAttribute(name=name):
                tensor, kind = op.id, TokenKind.PROPERTY
            case _:
                continue
        values = [value for context in traced if (value := context.values[tensor]) is not None]
        call = called.get(op.id)
        if call is not None and _are_tensors(
            each for context in traced if (each := context.values[call.id]) is not None
        ):
            kind = TokenKind.METHOD if isinstance(op, ops.LoadAttribute) else TokenKind.FUNCTION
        elif not _are_tensors(values):
            continue
        span = function.span_of(op.id)
        yield Span(span.end_line, span.end_column - len(name), span.end_line, span.end_column), kind


def _are_tensors(values: Iterable[Value]) -> bool:
    """Whether there are values, all of which are tensors or variables."""
    parts = [member for value in values for member in members(value)]
    return bool(parts) and all(isinstance(part, TensorValue) and part.kind in _TENSORS for part in parts)


def _apart(tokens: Iterable[GraphToken]) -> Iterator[GraphToken]:
    """The tokens that do not overlap the previous one."""
    end = (0, 0)
    for token in tokens:
        if (token.span.line, token.span.column) >= end:
            yield token
            end = (token.span.end_line, token.span.end_column)
