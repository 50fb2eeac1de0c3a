"""Lowering again after an edit inside one function.

Computes: the IR of the edited file. Needs: the IR and the text from before, and the new text. Gives: `relower`, whose result is equal to
that of `lower_module`, or None if the whole file must be lowered: an edit of a header, of several functions, of code at the module's
level, or one that adds or removes a nested function.

How: the body of a function at the module's level, or of a method, is independent of the rest of the file. Its lines are lowered as a
small module of their own, below stand-ins for the enclosing classes, and replace the earlier operations; positions after the edit move.

    class A:                      class A:
        def f(self): ...    ->        def g(self):       (lowered alone)
        def g(self):                      return 2
            return 1
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import libcst as cst

from terra_refactor.errors import SourceError
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.program import ModuleIR
from terra_refactor.syntax.edit import split_lines
from terra_refactor.syntax.layout import LogicalLines
from terra_refactor.syntax.lines import line_count
from terra_refactor.syntax.location import Span, Spans
from terra_refactor.syntax.parse import ParsedModule, parse_module
from terra_refactor.syntax.source import Source

_FUTURE: Final = "from __future__ import annotations"
_FUTURE_IMPORT = re.compile(r"^from[ \t]+__future__[ \t]+import\b[^\r\n]*\bannotations\b", re.MULTILINE)
_CODE = re.compile(r"[ \t]*[^\s#]")


def relower(before: ModuleIR, old_text: str, source: Source) -> ModuleIR | None:
    """The lowered form of `source`, derived from that of `old_text`; None if the whole file must be lowered."""
    if source.notebook is not None or "\f" in source.text or "\r" in source.text.replace("\r\n", ""):
        return None
    old, new = split_lines(old_text), split_lines(source.text)
    first, old_end, new_end = _changed_lines(old, new)
    chunk = _chunk_around(before, old, first + 1, old_end)
    if chunk is None:
        return None
    moved = (new_end - first) - (old_end - first)
    try:
        lowered = _lower_chunk(chunk, before, new[chunk.first - 1 : chunk.last + moved], source)
    except SourceError:
        return None  # the whole file is parsed, and its errors are reported
    if lowered is None:
        return None
    return _spliced(before, old, new, chunk, lowered, moved, source)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A function whose body holds the whole edit. Lines count from 1, in the old text."""

    index: int
    classes: tuple[Function, ...]
    """The enclosing classes, outermost first."""
    first: int
    """The line of `def`."""
    header: int
    """The last line of its header, which the edit does not touch."""
    last: int
    """The last line that belongs to it, including the blank lines and comments after it."""


def _changed_lines(old: Sequence[str], new: Sequence[str]) -> tuple[int, int, int]:
    """Where the texts differ: `old[first:old_end]` became `new[first:new_end]`."""
    first = 0
    shortest = min(len(old), len(new))
    while first < shortest and old[first] == new[first]:
        first += 1
    tail = 0
    while tail < shortest - first and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return first, len(old) - tail, len(new) - tail


def _chunk_around(module: ModuleIR, lines: Sequence[str], first: int, last: int) -> _Chunk | None:
    """The function whose body contains the lines `first` to `last` (`last` is before `first` for an insertion)."""
    for index in range(len(module.functions) - 1, 0, -1):
        function = module.functions[index]
        if function.def_line >= first or function.kind not in (FunctionKind.FUNCTION, FunctionKind.METHOD):
            continue
        classes = _classes_around(module, function)
        if classes is None:
            continue
        end = _end_of_body(lines, function)
        if first > end + 1 or last > end:
            return None
        header = _end_of_header(lines, function.def_line)
        if header is None or first <= header or header >= end or (first > end and not lines[end - 1].endswith("\n")):
            return None
        return _Chunk(index, classes, function.def_line, header, end)
    return None


def _classes_around(module: ModuleIR, function: Function) -> tuple[Function, ...] | None:
    """The enclosing classes of a function, outermost first; None if it is in a function, or in a block at the module's level."""
    classes: list[Function] = []
    parent = function.parent
    while parent is not None and parent.index != 0:
        outer = module.by_index[parent.index]
        if outer.kind is not FunctionKind.CLASS_BODY:
            return None
        classes.insert(0, outer)
        parent = outer.parent
    outermost = classes[0] if classes else function
    return tuple(classes) if outermost.span.column == 1 else None


def _end_of_header(lines: Sequence[str], line: int) -> int | None:
    """The last line of the logical line that begins at `line`."""
    scan = LogicalLines()
    for number in range(line, len(lines) + 1):
        scan.feed(lines[number - 1].rstrip("\r\n"))
        if scan.at_start:
            return number
    return None


def _end_of_body(lines: Sequence[str], function: Function) -> int:
    """The last line before the next code after a function."""
    end = function.span.end_line
    while end < len(lines) and not _CODE.match(lines[end]):
        end += 1
    return end


def _lower_chunk(chunk: _Chunk, before: ModuleIR, lines: Sequence[str], source: Source) -> tuple[Function, ...] | None:
    """The function and its nested definitions, with the identities and positions that they have in the whole file."""
    if lines[-1].rstrip("\r\n").endswith("\\"):
        return None
    head: list[str] = [f"{_FUTURE}\n"] if "__future__" in source.text and _FUTURE_IMPORT.search(source.text) else []
    for around in chunk.classes:
        head.append(f"{' ' * (around.span.column - 1)}class {around.name}:\n")
    parsed = parse_module(replace(source, text="".join([*head, *lines])))
    if not _is_one_definition(parsed, len(head) - len(chunk.classes), len(chunk.classes)):
        return None
    module = lower_module(parsed, before.name, is_package=before.is_package)
    shift = chunk.first - len(head) - 1
    own = next(function for function in module.functions[1:] if function.def_line == len(head) + 1)
    inner = [function for function in module.functions if own.span.encloses(function.span)]
    old_own = before.functions[chunk.index]
    old_inner = [function for function in before.functions[chunk.index :] if old_own.span.encloses(function.span)]
    if [(each.kind, each.qualname) for each in inner] != [(each.kind, each.qualname) for each in old_inner]:
        return None
    if own.frees != old_own.frees:
        return None  # whether the enclosing class provides `__class__` may have changed
    indices = {id(function.id): old.id.index for function, old in zip(inner, old_inner, strict=True)}
    parents = {id(around.id): old.id.index for around, old in zip(_outer(module, own), chunk.classes, strict=True)}
    for function in (*inner, *_outer(module, own)):
        # the identities are shared by everything that refers to them, and are not published yet
        object.__setattr__(function.id, "index", {**indices, **parents}[id(function.id)])
    return tuple(
        replace(function.down(shift), decorators=old.decorators) if function is own else function.down(shift)
        for function, old in zip(inner, old_inner, strict=True)
    )


def _outer(module: ModuleIR, function: Function) -> tuple[Function, ...]:
    return tuple(
        other
        for other in module.functions[1:]
        if other.kind is FunctionKind.CLASS_BODY and other is not function and other.span.encloses(function.span)
    )


def _is_one_definition(parsed: ParsedModule, skipped: int, depth: int) -> bool:
    """Whether the text is a chain of classes around one function, and nothing else."""
    body: Sequence[cst.CSTNode] = parsed.module.body[skipped:]
    for _ in range(depth):
        if len(body) != 1 or not isinstance(body[0], cst.ClassDef):
            return False
        body = body[0].body.body
    return len(body) == 1 and isinstance(body[0], cst.FunctionDef)


class _UnmovedError(Exception):
    """A position inside the edited function belongs to another function."""


def _spliced(
    before: ModuleIR,
    old: Sequence[str],
    new: Sequence[str],
    chunk: _Chunk,
    lowered: tuple[Function, ...],
    moved: int,
    source: Source,
) -> ModuleIR | None:
    old_own, new_own = before.functions[chunk.index], lowered[0]
    old_place = (old_own.span.end_line, old_own.span.end_column)
    new_place = (new_own.span.end_line, new_own.span.end_column)
    old_end, new_end = _text_end(old), _text_end(new)
    unchanged = moved == 0 and old_place == new_place and old_end == new_end

    def place(line: int, column: int) -> tuple[int, int]:
        if line <= chunk.header:
            return line, column
        if (line, column) == old_place:
            return new_place
        if (line, column) == old_end:
            return new_end
        if line <= chunk.last:
            raise _UnmovedError
        return line + moved, column

    def shifted(span: Span) -> Span:
        if span.end_line < chunk.first:
            return span
        return Span(*place(span.line, span.column), *place(span.end_line, span.end_column))

    functions: list[Function] = []
    try:
        for index, function in enumerate(before.functions):
            if chunk.index <= index < chunk.index + len(lowered):
                functions.append(lowered[index - chunk.index])
            elif unchanged or function.span.end_line < chunk.first:
                functions.append(function)
            elif _begin(function) > chunk.last and (function.span.end_line, function.span.end_column) != old_end:
                functions.append(function.down(moved) if moved else function)
            else:
                functions.append(_moved(function, shifted, function.spans.placed(place, chunk.first)))
    except _UnmovedError:
        return None
    return ModuleIR(
        name=before.name,
        path=before.path,
        is_package=before.is_package,
        functions=tuple(functions),
        digest=source.digest,
        line_count=line_count(source.text),
    )


def _text_end(lines: Sequence[str]) -> tuple[int, int]:
    """Line and column of the end of a text."""
    if lines and lines[-1].endswith(("\n", "\r")):
        return len(lines) + 1, 1
    return max(1, len(lines)), (len(lines[-1]) if lines else 0) + 1


def _begin(function: Function) -> int:
    """The first line that belongs to a function."""
    return min((function.span.line, *(decorator.span.line for decorator in function.decorators)))


def _moved(function: Function, shifted: Callable[[Span], Span], spans: Spans) -> Function:
    """The function with its position replaced, and those of its operations replaced by `spans`."""
    return replace(
        function,
        parameters=tuple(replace(parameter, span=shifted(parameter.span)) for parameter in function.parameters),
        decorators=tuple(replace(decorator, span=shifted(decorator.span)) for decorator in function.decorators),
        spans=spans,
        def_line=shifted(Span(function.def_line, 1, function.def_line, 1)).line,
        span=shifted(function.span),
    )
