"""Inlay hints: dtype and shape after bound names, and the outputs of the layers of sequential models.

Computes: hints of a file or a part of it. Needs: a snapshot. Gives: `inlay_hints`, `hint_details`, `Hint`, `HintKind`.
Ignores: other values, and tensors of unknown dtype and shape.

    h = tf.matmul(x, w)      is shown as     h: float32 (n, 8) = tf.matmul(x, w)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum

from terra_refactor.analysis.facts import EntryKind
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.value import Value
from terra_refactor.ide.layers import sequential_outputs
from terra_refactor.ide.size_names import named_values
from terra_refactor.ide.snapshot import Snapshot, line_text, tensorflow_name
from terra_refactor.ide.unchanged import unchanged_functions
from terra_refactor.ide.unparsed import last_parsed
from terra_refactor.ide.values import hint_text, is_plain_tensor, tensor_text
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.walk import walk
from terra_refactor.syntax.deep_stack import deeply
from terra_refactor.syntax.location import Span

_MOST_PLACES = 5
_END = 10**9
"""After the last line of any file."""


class HintKind(Enum):
    """The kind of binding that a hint follows. Each kind can be disabled."""

    PARAMETER = "parameters"
    BINDING = "bindings"
    ATTRIBUTE = "attributes"
    LAYER = "layers"
    """A layer of a sequential model: its output."""


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint, shown just after `span`."""

    span: Span
    """The name, including its annotation if there is one."""
    label: str
    kind: HintKind
    function: FunctionId
    name: str
    annotation: str | None = None
    """The annotation that can be inserted after the name."""
    annotated: bool = False
    """There is an annotation before the hint."""


@deeply
def inlay_hints(
    snapshot: Snapshot,
    path: str,
    first_line: int,
    last_line: int,
    kinds: Iterable[HintKind] = tuple(HintKind),
    *,
    unknown_sizes: bool = False,
) -> tuple[Hint, ...]:
    """The hints of some lines (counted from 1, both included), in source order; with `unknown_sizes`, also those
    without any known size.
    """
    wanted = frozenset(kinds)
    parsed = last_parsed(snapshot, path)
    if parsed is not None:
        old = inlay_hints(parsed.snapshot, path, 1, _END, wanted, unknown_sizes=unknown_sizes)
        moved_hints = [replace(hint, span=span) for hint in old if (span := parsed.span(hint.span)) is not None]
        return tuple(hint for hint in moved_hints if first_line <= hint.span.line <= last_line)
    unchanged = unchanged_functions(snapshot, path)
    hints = _hints(snapshot, path, first_line, last_line, wanted, unknown_sizes)
    if unchanged is None:
        return hints
    moved = unchanged.moved
    most, least = max(moved.values(), default=0), min(moved.values(), default=0)
    kept = [
        replace(hint, span=hint.span.down(moved[hint.function]))
        for hint in _hints(unchanged.before, path, first_line - most, last_line - least, wanted, unknown_sizes)
        if hint.function in moved
    ]
    new = [hint for hint in hints if hint.function not in moved]
    return tuple(sorted((*new, *(hint for hint in kept if first_line <= hint.span.line <= last_line)), key=_place))


def _place(hint: Hint) -> Span:
    return hint.span


def _hints(
    snapshot: Snapshot,
    path: str,
    first_line: int,
    last_line: int,
    wanted: AbstractSet[HintKind],
    unknown_sizes: bool,
) -> tuple[Hint, ...]:
    found: dict[Span, Hint] = {}
    tf = tensorflow_name(snapshot, path)
    lines = snapshot.sources[path].text.splitlines()
    tensor = None if tf is None else f"{tf}.Tensor"
    for function in snapshot.functions(path):
        if function.span.end_line < first_line or function.span.line > last_line:
            continue
        contexts = snapshot.contexts(function)
        if function.kind is FunctionKind.CLASS_BODY or not contexts:
            continue
        if HintKind.LAYER in wanted:
            for op, output in sequential_outputs(snapshot, function):
                span = function.spans[op]
                text = hint_text(snapshot, output, unknown_sizes=unknown_sizes)
                if text is not None and first_line <= span.end_line <= last_line:
                    found.setdefault(span, Hint(span, text, HintKind.LAYER, function.id, ""))
        parameters, named = named_values(snapshot, function)
        for span, kind, name, result in _bindings(function):
            if kind not in wanted or name == "_" or not first_line <= span.line <= last_line:
                continue
            values = [value for context in contexts if (value := context.values[result]) is not None]
            written = "\n".join(lines[span.line - 1 : max(span.line, function.spans[result].end_line)])
            text = _text(snapshot, named.get(result), values, written, unknown_sizes)
            if text is not None:
                found.setdefault(span, Hint(span, text, kind, function.id, name))
        if HintKind.PARAMETER in wanted:
            for hint in _parameters(snapshot, path, function, tensor, parameters, unknown_sizes):
                if first_line <= hint.span.line <= last_line:
                    found.setdefault(hint.span, hint)
    return tuple(found[span] for span in sorted(found))


@deeply
def hint_details(snapshot: Snapshot, path: str, hint_function: int, name: str, line: int) -> str:
    """The evidence for the type of a hint, as Markdown: for a parameter its evidence and callers, otherwise the type in
    each context.

    `hint_function` is the number of the function in its file.
    """
    function = next((each for each in snapshot.functions(path) if each.id.index == hint_function), None)
    if function is None:
        return ""
    facts = snapshot.facts.functions.get(function.id)
    if facts is None:
        return ""
    rows: list[str] = []
    for parameter in facts.parameters:
        if parameter.name == name and any(p.name == name and p.span.line == line for p in function.parameters):
            types = dict.fromkeys(text for value in parameter.values if (text := tensor_text(snapshot, [value])))
            rows.append(f"`{name}` by {parameter.evidence.value}: " + " | ".join(f"`{text}`" for text in types))
            rows.extend(_callers(snapshot, function))
            return "\n\n".join(rows)
    rows = [f"`{name}` in {function.qualname}" if function.kind is not FunctionKind.MODULE else f"`{name}`"]
    for context in snapshot.contexts(function):
        for span, _, bound, result in _bindings(function):
            value = context.values[result]
            if bound == name and span.line == line and value is not None:
                text = tensor_text(snapshot, [value])
                how = "in a graph" if context.in_graph else _entry_text(context.entry)
                if text is not None:
                    rows.append(f"- `{text}` ({how})")
    return "\n".join(list(dict.fromkeys(rows))[: _MOST_PLACES + 1])


def _entry_text(entry: EntryKind) -> str:
    match entry:
        case EntryKind.MODULE:
            return "as the module runs"
        case EntryKind.CALLED:
            return "as it is called"
        case EntryKind.FRAMEWORK:
            return "as Keras or tf.data calls it"
        case EntryKind.UNCALLED:
            return "no call in the project"


def _callers(snapshot: Snapshot, function: Function) -> Iterator[str]:
    places: dict[str, None] = {}
    for caller in snapshot.facts.functions[function.id].callers:
        context = snapshot.facts.contexts[caller.context]
        code = snapshot.program.function(context.function)
        module = snapshot.program.modules[context.function.module]
        places[f"- called at {module.path}:{code.span_of(caller.op).line}"] = None
    yield "\n".join(list(places)[:_MOST_PLACES])


def _bindings(function: Function) -> Iterator[tuple[Span, HintKind, str, int]]:
    """The names that a function binds: position, kind, name, and the operation whose value they get."""
    for op in walk(function.body):
        if isinstance(op, ops.StoreName) and op.value is not None and op.annotation is None and "%" not in op.name:
            yield function.spans[op.id], HintKind.BINDING, op.name, op.value
        elif isinstance(op, ops.StoreAttribute) and op.value is not None and op.annotation is None:
            yield function.spans[op.id], HintKind.ATTRIBUTE, op.name, op.value


def _text(
    snapshot: Snapshot, named: Value | None, values: Sequence[Value], written: str, unknown_sizes: bool
) -> str | None:
    """The label for a value, with names from the source for its sizes."""
    return hint_text(snapshot, join_all(values), named, written, unknown_sizes=unknown_sizes) if values else None


def _parameters(
    snapshot: Snapshot,
    path: str,
    function: Function,
    tensor: str | None,
    named: Mapping[str, Value],
    unknown_sizes: bool,
) -> Iterator[Hint]:
    facts = snapshot.facts.functions.get(function.id)
    if facts is None:
        return
    by_name = {parameter.name: parameter for parameter in facts.parameters}
    for parameter in function.parameters:
        known = by_name.get(parameter.name)
        if known is None or not known.values:
            continue
        values: tuple[Value, ...] = known.values
        text = _text(snapshot, named.get(parameter.name), values, "", unknown_sizes)
        if text is not None:
            plain = tensor is not None and is_plain_tensor(values) and function.kind is not FunctionKind.LAMBDA
            annotation = f": {tensor}" if plain and not parameter.has_annotation else None
            span = parameter.span
            if parameter.has_annotation:
                span = _with_annotation(snapshot.sources[path].text, span)
            yield Hint(
                span, text, HintKind.PARAMETER, function.id, parameter.name, annotation, parameter.has_annotation
            )


def _with_annotation(text: str, name: Span) -> Span:
    """The span of a parameter's name and its annotation, if both are on the same line."""
    line = line_text(text, name.end_line)
    depth, quote, end = 0, "", len(line.rstrip())
    for at in range(line.find(":", name.end_column - 1) + 1, len(line)):
        character = line[at]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif depth and character in ")]}":
            depth -= 1
        elif not depth and character in ",)=#":
            end = len(line[:at].rstrip())
            break
    return Span(name.line, name.column, name.end_line, end + 1)
