"""A function of the IR: parameters, body, variables, and the places in the source that its operations come from.

Computes: nothing. Gives: `Function`, frozen and picklable. The module body and each class body are functions, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Block
from terra_refactor.syntax.location import Span


class FunctionKind(Enum):
    """What kind of code a `Function` is. The first four are the kinds of the report (CONTRACT.md)."""

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


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. Whether it has a default or an annotation; their values are operands of the `MakeFunction` that makes it."""

    name: str
    kind: ParameterKind
    has_default: bool
    has_annotation: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Decorator:
    """A decorator as written: its text without the `@`, and its place (the whole line of code from `@`)."""

    text: str
    span: Span


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
    spans: tuple[Span, ...]
    """`spans[op.id]` is where an operation comes from."""
    def_line: int
    """The line of `def`, `lambda` or `class` (not of a decorator), from 1."""
    span: Span
    """The whole definition, without its decorators."""

    @property
    def op_count(self) -> int:
        """How many operations the function has, those in nested blocks included."""
        return len(self.spans)

    def span_of(self, op: OpId) -> Span:
        """Where operation `op` stands in the source."""
        return self.spans[op]
