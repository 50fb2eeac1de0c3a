"""A function of the IR: parameters, body, variables, and the source positions of its operations.

Computes: nothing. Gives: `Function`, frozen and picklable. The module body and each class body are functions, too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.syntax.location import Span, Spans

if TYPE_CHECKING:
    from terra_refactor.ir.ops import Block


class FunctionKind(Enum):
    """The kind of code of a `Function`. The first four are the kinds of the report (CONTRACT.md)."""

    FUNCTION = "function"
    METHOD = "method"
    NESTED = "nested"
    LAMBDA = "lambda"
    CLASS_BODY = "class body"
    MODULE = "module"


class ParameterKind(Enum):
    POSITIONAL_ONLY = "positional only"
    POSITIONAL = "positional or keyword"
    VAR_POSITIONAL = "*args"
    KEYWORD_ONLY = "keyword only"
    VAR_KEYWORD = "**kwargs"


_BY_POSITION: Final = (ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL)
_BY_KEYWORD: Final = (ParameterKind.POSITIONAL, ParameterKind.KEYWORD_ONLY)
_NAMED: Final = (ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL, ParameterKind.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter, and whether it has a default or an annotation; their values are operands of the `MakeFunction`
    that creates the function.
    """

    name: str
    kind: ParameterKind
    has_default: bool
    has_annotation: bool
    span: Span

    def down(self, lines: int) -> Parameter:
        """The parameter with its position moved down by `lines` lines."""
        return Parameter(self.name, self.kind, self.has_default, self.has_annotation, self.span.down(lines))


@dataclass(frozen=True, slots=True)
class Decorator:
    """A decorator as written: its text without the `@`, and its position (the whole line of code from `@`)."""

    text: str
    span: Span

    def down(self, lines: int) -> Decorator:
        """The decorator with its position moved down by `lines` lines."""
        return Decorator(self.text, self.span.down(lines))


@dataclass(frozen=True, slots=True)
class Function:
    """One `def`, `lambda`, class body or module body, lowered."""

    id: FunctionId
    name: str
    """`<lambda>` for a lambda, `<module>` for a module body."""
    qualname: str
    """Python's own `__qualname__`, `<locals>` included."""
    kind: FunctionKind
    parent: FunctionId | None
    """The function in whose body this one is written (a class body for a method); None for a module body."""
    parameters: tuple[Parameter, ...]
    body: Block
    locals: tuple[str, ...]
    """Names local to this function that no nested function captures, parameters included, sorted."""
    cells: tuple[str, ...]
    """Local names that a nested function captures, sorted."""
    frees: tuple[str, ...]
    """Names of enclosing functions that this one (or one nested in it) uses, sorted."""
    decorators: tuple[Decorator, ...]
    is_generator: bool
    is_async: bool
    docstring: str | None
    spans: Spans
    """`spans[op.id]` is the source range of an operation."""
    def_line: int
    """The line of `def`, `lambda` or `class` (not of a decorator), from 1."""
    span: Span
    """The whole definition, without its decorators."""

    @property
    def op_count(self) -> int:
        """Number of operations of the function, those in nested blocks included."""
        return len(self.spans)

    @property
    def takes_self(self) -> bool:
        """Whether its first parameter is the object, or the class, on which it is called."""
        is_static = any(decorator.text.rpartition(".")[2] == "staticmethod" for decorator in self.decorators)
        return self.kind is FunctionKind.METHOD and bool(self.parameters) and not is_static

    def accepts(self, positional: int, keywords: Collection[str]) -> bool:
        """Whether a call binds that passes this number of positional arguments (`self` included) and these keywords, by Python's
        rules. Another call raises TypeError before the body runs.
        """
        places = [each for each in self.parameters if each.kind in _BY_POSITION]
        kinds = {each.kind for each in self.parameters}
        if positional > len(places) and ParameterKind.VAR_POSITIONAL not in kinds:
            return False
        by_keyword = [each for each in self.parameters if each.kind in _BY_KEYWORD]
        named = {each.name for each in by_keyword}
        given = {each.name for each in places[:positional]}
        if any(name in given & named for name in keywords):
            return False  # given twice
        if ParameterKind.VAR_KEYWORD not in kinds and not named.issuperset(keywords):
            return False
        given |= named.intersection(keywords)
        needed = (each.name for each in self.parameters if each.kind in _NAMED and not each.has_default)
        return given.issuperset(needed)

    def down(self, lines: int) -> Function:
        """The function with its positions moved down by `lines` lines; an inserted line moves most of a file."""
        return Function(  # four times as fast as `replace`
            self.id,
            self.name,
            self.qualname,
            self.kind,
            self.parent,
            tuple([parameter.down(lines) for parameter in self.parameters]),
            self.body,
            self.locals,
            self.cells,
            self.frees,
            tuple([decorator.down(lines) for decorator in self.decorators]),
            self.is_generator,
            self.is_async,
            self.docstring,
            self.spans.down(lines),
            self.def_line + lines,
            self.span.down(lines),
        )

    def looks_the_same_as(self, other: Function) -> bool:
        """Whether both look the same to callers and to the code that defines them; positions are ignored."""
        return self is other or (
            self.name == other.name
            and self.qualname == other.qualname
            and self.kind is other.kind
            and self.parent == other.parent
            and self.frees == other.frees
            and self.cells == other.cells
            and self.is_generator is other.is_generator
            and self.is_async is other.is_async
            and len(self.parameters) == len(other.parameters)
            and all(
                (one.name, one.kind, one.has_default, one.has_annotation)
                == (two.name, two.kind, two.has_default, two.has_annotation)
                for one, two in zip(self.parameters, other.parameters, strict=True)
            )
            and [decorator.text for decorator in self.decorators] == [decorator.text for decorator in other.decorators]
        )

    def does_the_same_as(self, other: Function) -> bool:
        """Whether both also have the same operations."""
        return self is other or (self.looks_the_same_as(other) and (self.body is other.body or self.body == other.body))

    def span_of(self, op: OpId) -> Span:
        """The source position of operation `op`."""
        return self.spans[op]
