"""The operations of the IR: a small closed set in a flat class tree.

Conventions:

- Every operation is final and frozen, subclasses `Op` directly and carries `id`, its number within its function, in source order of
  evaluation. A later operation names an earlier one's result by that number (`OpId`). An operation that holds blocks is numbered
  before their operations: a pre-order walk meets 0, 1, 2, ...
- The IR is *structured*: control flow is an operation that holds blocks (`If`, `For`, `Try`, ...), not a graph of basic blocks
  (docs/adr/0001-structured-ir.md). A block is a tuple of operations that run in order.
- A result is assigned once. Where two paths meet (`IfExpression`, `ShortCircuit`), the operation names the result of each.
- Names are loaded and stored by operations of their own (`LoadName`, `StoreName`): evaluation order is explicit.
- Code that Python evaluates conditionally (right side of `and`, branches of a conditional expression, comprehension bodies) is in a
block. Code that it evaluates later or never (an annotation in a function) is in the block of a `Lazy`.
- `assert`, `match`, chained comparison, augmented assignment and decorators are lowered to these operations by `ir.build`.

`ir.walk` gives the temporaries an operation reads and its nested blocks. A visitor that matches on `OpKind` and ends in `assert_never` is
checked for completeness by the type checker.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import EllipsisType
from typing import TypeAlias

from terra_refactor.ir.ids import FunctionId, OpId


class Scope(Enum):
    """The scope of a variable, by Python's scoping rules."""

    LOCAL = "local"
    CELL = "cell"
    """A local variable of this function that a nested function captures."""
    FREE = "free"
    """A variable of an enclosing function."""
    GLOBAL = "global"
    """A variable of the module, or a built-in where the module has none."""
    CLASS = "class"
    """A name that a class body binds: looked up there first, then as a global, never in an enclosing function."""
    BUILTIN = "builtin"
    """A built-in function that a statement calls without naming it: `isinstance` for the class pattern of a `case`."""


@dataclass(frozen=True, slots=True)
class Op:
    """Base of all operations."""

    id: OpId


Block: TypeAlias = tuple["Op", ...]

LiteralValue: TypeAlias = "int | float | complex | str | bytes | bool | EllipsisType | None"


# --- values -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Op):
    """A constant: int, float, complex, str, bytes, bool, None or Ellipsis. 1, 1.0 and True differ; so do 0.0 and -0.0."""

    value: LiteralValue

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal) or self.id != other.id or type(self.value) is not type(other.value):
            return False
        if isinstance(self.value, float | complex):
            return repr(self.value) == repr(other.value)
        return self.value == other.value

    def __hash__(self) -> int:
        return hash((self.id, type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class FormatField:
    """`{value!conversion:spec}` of an f-string."""

    value: OpId
    conversion: str | None = None
    """`r`, `s` or `a`. `{x=}` has the text `x=` before it and, with no `spec`, the conversion `r`."""
    spec: OpId | None = None
    """The result of a `Literal` (a str), or of a `FormatString` where the format itself has fields."""


@dataclass(frozen=True, slots=True)
class FormatString(Op):
    """An f-string. `parts` are literal texts and the fields between them; two texts never follow each other."""

    parts: tuple[str | FormatField, ...]


class ContainerKind(Enum):
    TUPLE = "tuple"
    LIST = "list"
    SET = "set"


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a display: a value, or an iterable that is spread (`*xs`)."""

    value: OpId
    starred: bool = False


@dataclass(frozen=True, slots=True)
class BuildContainer(Op):
    """A tuple, list or set display; also several indices in one subscript."""

    kind: ContainerKind
    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class DictItem:
    """`key: value`, or `**value` where `key` is None."""

    key: OpId | None
    value: OpId


@dataclass(frozen=True, slots=True)
class BuildDict(Op):
    """A dict display."""

    items: tuple[DictItem, ...]


@dataclass(frozen=True, slots=True)
class BuildSlice(Op):
    """`lower:upper:step` inside a subscript; each may be absent."""

    lower: OpId | None
    upper: OpId | None
    step: OpId | None


# --- names, attributes, items ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoadName(Op):
    """Reads a variable."""

    name: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class StoreName(Op):
    """Binds a variable. `annotation` is the temporary of `name: annotation = value`; `value` is None for a bare annotation.

    Python evaluates the annotation after the store, the IR before it: they differ where an annotation raises or reads the variable.
    """

    name: str
    scope: Scope
    value: OpId | None
    annotation: OpId | None = None
    is_expression: bool = False
    """Whether it is written `:=`."""


@dataclass(frozen=True, slots=True)
class DeleteName(Op):
    """`del name`."""

    name: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class LoadAttribute(Op):
    """`object.name`."""

    object: OpId
    name: str


@dataclass(frozen=True, slots=True)
class StoreAttribute(Op):
    """`object.name = value`; `value` is None for a bare annotation."""

    object: OpId
    name: str
    value: OpId | None
    annotation: OpId | None = None


@dataclass(frozen=True, slots=True)
class DeleteAttribute(Op):
    """`del object.name`."""

    object: OpId
    name: str


@dataclass(frozen=True, slots=True)
class LoadItem(Op):
    """`object[index]`; several indices are a tuple."""

    object: OpId
    index: OpId


@dataclass(frozen=True, slots=True)
class StoreItem(Op):
    """`object[index] = value`."""

    object: OpId
    index: OpId
    value: OpId


@dataclass(frozen=True, slots=True)
class DeleteItem(Op):
    """`del object[index]`."""

    object: OpId
    index: OpId


@dataclass(frozen=True, slots=True)
class UnpackElement(Op):
    """One element of the unpacking `a, *b, c = source`.

    `position` counts the targets from the left. `star` is the position of the starred target, or None; `total` the number of targets.
    The result of the starred one is a new list.
    """

    source: OpId
    position: int
    total: int
    star: int | None


# --- operators -----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unary(Op):
    """`operator` is one of `-`, `+`, `~`, `not`."""

    operator: str
    operand: OpId


@dataclass(frozen=True, slots=True)
class Binary(Op):
    """`operator` is one of `+ - * / // % ** @ << >> & | ^`; `in_place` for an augmented assignment."""

    operator: str
    left: OpId
    right: OpId
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class Compare(Op):
    """`operator` is one of `< <= > >= == != is`, `is not`, `in`, `not in`."""

    operator: str
    left: OpId
    right: OpId


@dataclass(frozen=True, slots=True)
class ShortCircuit(Op):
    """`left and right` or `left or right` (`operator`); `right` is evaluated in `block`, and is the `value` of the block."""

    operator: str
    left: OpId
    block: Block
    value: OpId


@dataclass(frozen=True, slots=True)
class IfExpression(Op):
    """`then_value if test else else_value`."""

    test: OpId
    then_block: Block
    then_value: OpId
    else_block: Block
    else_value: OpId


@dataclass(frozen=True, slots=True)
class Lazy(Op):
    """An expression that is evaluated later, when its value is requested, or never.

    An annotation in a function or under `from __future__ import annotations`, the value of a `type` statement, the bound or default of a
    type parameter. The result represents the value of `block`; no effect of `block` happens here.
    """

    block: Block
    value: OpId


# --- calls and definitions ------------------------------------------------------------------------------------------------------


class Spread(Enum):
    """The way an argument is passed."""

    PLAIN = ""
    STAR = "*"
    DOUBLE_STAR = "**"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call; `keyword` only with `Spread.PLAIN`."""

    value: OpId
    keyword: str | None = None
    spread: Spread = Spread.PLAIN


@dataclass(frozen=True, slots=True)
class Call(Op):
    """`function(arguments)`. `decorates` marks the call that applies a decorator to the definition it names."""

    function: OpId
    arguments: tuple[Argument, ...]
    decorates: OpId | None = None
    """The `MakeFunction` or `MakeClass` that is decorated, where this call is a decorator's application."""


@dataclass(frozen=True, slots=True)
class MakeFunction(Op):
    """`def` or `lambda`: a function object. Defaults and annotations were evaluated before, in this scope."""

    function: FunctionId
    defaults: tuple[tuple[str, OpId], ...]
    """Parameter name and the temporary of its default."""
    annotations: tuple[tuple[str, OpId], ...]
    """Parameter name (or `return`) and the temporary of its annotation."""


@dataclass(frozen=True, slots=True)
class MakeClass(Op):
    """A `class` statement: runs the body and creates the class object; it also fills the body's cell `__class__` if there is one."""

    name: str
    body: FunctionId
    bases: tuple[Element, ...]
    keywords: tuple[tuple[str, OpId], ...]
    """`metaclass=` and other class keywords; a `**` argument has the name `**`."""


@dataclass(frozen=True, slots=True)
class Import(Op):
    """`import a.b` (gives `a`) or `import a.b as c` (gives `a.b`, `whole` is True)."""

    module: str
    whole: bool


@dataclass(frozen=True, slots=True)
class ImportFrom(Op):
    """`from module import name`; `level` counts the leading dots."""

    module: str
    level: int
    name: str


@dataclass(frozen=True, slots=True)
class ImportStar(Op):
    """`from module import *`."""

    module: str
    level: int


@dataclass(frozen=True, slots=True)
class Await(Op):
    """`await value`."""

    value: OpId


@dataclass(frozen=True, slots=True)
class Yield(Op):
    """`yield value`; the result is the value sent in."""

    value: OpId | None


@dataclass(frozen=True, slots=True)
class YieldFrom(Op):
    """`yield from value`; the result is the inner generator's return value."""

    value: OpId


class PatternKind(Enum):
    """The tests of `match` that no other operation expresses."""

    SEQUENCE = "sequence"
    """The subject is a sequence (not str or bytes) of `length` elements, or of at least that many where `at_least`."""
    MAPPING = "mapping"
    """The subject is a mapping that has the keys in `operands`."""
    CLASS = "class"
    """The subject, an instance of the class in `operands[0]`, has all `attributes`; `length` is the number of positional sub-patterns."""


@dataclass(frozen=True, slots=True)
class PatternTest(Op):
    """A test on the subject of `match`; the result is a bool."""

    kind: PatternKind
    subject: OpId
    operands: tuple[OpId, ...] = ()
    length: int = 0
    at_least: bool = False
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PatternAttribute(Op):
    """Positional sub-pattern `position` of a class pattern: the attribute that `__match_args__` of `cls` names.

    For the built-in classes that have no `__match_args__` (`int`, `str`, `list`, ...), position 0 is the subject itself.
    """

    subject: OpId
    cls: OpId
    position: int


# --- statements ------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class If(Op):
    """`if`/`elif`/`else`. From `assert` when `is_assert`: the else branch raises. From a `case` of `match` when `is_case`."""

    test: OpId
    then_block: Block
    else_block: Block
    is_assert: bool = False
    is_case: bool = False


@dataclass(frozen=True, slots=True)
class While(Op):
    """`while`: `test_block` runs before each test of `test`."""

    test_block: Block
    test: OpId
    body: Block
    else_block: Block


@dataclass(frozen=True, slots=True)
class NextItem(Op):
    """The value that a `For`, a `Comprehension`, a `With` or a `Handler` passes to its target; the first operation of its body."""


@dataclass(frozen=True, slots=True)
class For(Op):
    """`for`: `body` starts with `NextItem` and the stores to the target."""

    iterable: OpId
    body: Block
    else_block: Block
    is_async: bool = False


class ComprehensionKind(Enum):
    LIST = "list"
    SET = "set"
    DICT = "dict"
    GENERATOR = "generator"


@dataclass(frozen=True, slots=True)
class Comprehension(Op):
    """A comprehension or generator expression.

    `body` is made of the clauses after the first, as nested `For` and `If` operations, and ends in one `CollectElement`. It runs once
    for each element of `iterable` and starts with `NextItem`. Its variables are locals under fresh names (`x%1`) that nothing else
    reads, except that a lambda inside it may capture them. `is_async`: the first clause is `async for`.
    """

    kind: ComprehensionKind
    iterable: OpId
    body: Block
    is_async: bool = False


@dataclass(frozen=True, slots=True)
class CollectElement(Op):
    """Adds an element to the innermost enclosing comprehension; `key` only for a dict."""

    value: OpId
    key: OpId | None = None


@dataclass(frozen=True, slots=True)
class Handler:
    """`except type_block/type as name: body`; `type` is None for a bare `except`. `body` starts with `NextItem`, the exception."""

    type_block: Block
    type: OpId | None
    body: Block
    is_group: bool = False


@dataclass(frozen=True, slots=True)
class Try(Op):
    """`try`. A handler's body starts with `NextItem` (the exception) and, for `as name`, its store, and ends by deleting the name.

    Python unbinds the name however the body ends, even if it is already unbound; the IR represents only the normal end.
    """

    body: Block
    handlers: tuple[Handler, ...]
    else_block: Block
    final_block: Block


@dataclass(frozen=True, slots=True)
class With(Op):
    """One `with` item: `body` starts with `NextItem` (the result of `__enter__`) and, for `as target`, the stores. Several items nest."""

    manager: OpId
    body: Block
    is_async: bool = False


@dataclass(frozen=True, slots=True)
class Return(Op):
    """`return value`."""

    value: OpId | None


@dataclass(frozen=True, slots=True)
class Raise(Op):
    """`raise exception from cause`."""

    exception: OpId | None
    cause: OpId | None


@dataclass(frozen=True, slots=True)
class Break(Op):
    """`break`."""


@dataclass(frozen=True, slots=True)
class Continue(Op):
    """`continue`."""


OpKind: TypeAlias = (
    Literal
    | FormatString
    | BuildContainer
    | BuildDict
    | BuildSlice
    | LoadName
    | StoreName
    | DeleteName
    | LoadAttribute
    | StoreAttribute
    | DeleteAttribute
    | LoadItem
    | StoreItem
    | DeleteItem
    | UnpackElement
    | Unary
    | Binary
    | Compare
    | ShortCircuit
    | IfExpression
    | Lazy
    | Call
    | MakeFunction
    | MakeClass
    | Import
    | ImportFrom
    | ImportStar
    | Await
    | Yield
    | YieldFrom
    | PatternTest
    | PatternAttribute
    | If
    | While
    | NextItem
    | For
    | Comprehension
    | CollectElement
    | Try
    | With
    | Return
    | Raise
    | Break
    | Continue
)
"""The closed union of all operations, for exhaustive matching."""
