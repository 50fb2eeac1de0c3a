"""Facts about the code of one function: its reads, writes, calls, computations, conditions and loops.

Computes: nothing. Gives: the records of `CodeFacts`. A record has the number of its operation (`op`) and the numbers
of the results that it uses, by role. Equivalent constructs of Python share a record: displays and comprehensions,
`and`, `or` and conditional expressions, operators and comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import takewhile

from terra_refactor.ir.function import Function, ParameterKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import LiteralValue, Scope


@dataclass(frozen=True, slots=True)
class Fact:
    """Base of all records."""

    op: OpId


# --- values ---------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal(Fact):
    """A constant."""

    value: LiteralValue


class _Variable:
    """Common fields of reads and writes of a variable."""

    __slots__ = ()

    scope: Scope

    @property
    def is_own(self) -> bool:
        """Whether it is a variable of this function that no other function captures."""
        return self.scope is Scope.LOCAL

    @property
    def is_captured(self) -> bool:
        """Whether it is a variable of an enclosing function."""
        return self.scope is Scope.FREE

    @property
    def outlives_call(self) -> bool:
        """Whether it is a variable of the module or of an enclosing function."""
        return self.scope in (Scope.GLOBAL, Scope.FREE)


@dataclass(frozen=True, slots=True)
class NameRead(_Variable, Fact):
    """A read of a variable."""

    name: str
    scope: Scope

    @property
    def is_local(self) -> bool:
        """Whether it is a variable of this function, captured or not."""
        return self.scope in (Scope.LOCAL, Scope.CELL)


@dataclass(frozen=True, slots=True)
class AttributeRead(Fact):
    """`owner.name`."""

    owner: OpId
    name: str


@dataclass(frozen=True, slots=True)
class ItemRead(Fact):
    """`owner[index]`."""

    owner: OpId
    index: OpId


@dataclass(frozen=True, slots=True)
class Slice(Fact):
    """`lower:upper:step` of a subscript: the parts that are present."""

    bounds: tuple[OpId, ...]


@dataclass(frozen=True, slots=True)
class Unpacked(Fact):
    """One of the targets of an unpacking of `source`, counted from the left."""

    source: OpId
    position: int
    count: int | None
    """The number of targets; None if one is starred."""


@dataclass(frozen=True, slots=True)
class NextItem(Fact):
    """The value that a loop, a comprehension or a `with` passes to its target, and its source; None for the exception
    of a handler.
    """

    source: OpId | None
    is_element: bool
    """Whether it is an element of its source; false for the result of a `with`."""


@dataclass(frozen=True, slots=True)
class Operation(Fact):
    """An operator: arithmetic, a comparison, or, with only `left`, a unary operator."""

    symbol: str
    left: OpId
    right: OpId | None
    is_comparison: bool = False
    in_place: bool = False

    @property
    def sides(self) -> tuple[OpId, ...]:
        """The operands."""
        return (self.left,) if self.right is None else (self.left, self.right)

    @property
    def pairs(self) -> tuple[tuple[OpId, OpId], ...]:
        """Both operands, each with the other one; () for a unary operator."""
        return () if self.right is None else ((self.left, self.right), (self.right, self.left))

    @property
    def is_arithmetic(self) -> bool:
        """Whether it is arithmetic on two operands."""
        return self.right is not None and not self.is_comparison


@dataclass(frozen=True, slots=True)
class Choice(Fact):
    """`a if test else b`, `a and b`, `a or b`: one of two results, chosen by `test`."""

    symbol: str
    test: OpId
    results: tuple[OpId, OpId]

    @property
    def is_connective(self) -> bool:
        """Whether it is `and` or `or`."""
        return self.symbol != "if"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call; `spread` is `*`, `**` or empty."""

    value: OpId
    keyword: str | None
    spread: str


@dataclass(frozen=True, slots=True)
class Call(Fact):
    """A call, with its arguments."""

    function: OpId
    owner: OpId | None
    """The object of `object.method(...)`; None for another call."""
    method: str
    """The name of that method; otherwise that of the called variable, or empty."""
    arguments: tuple[Argument, ...]
    decorates: OpId | None
    """The decorated definition, if the call applies a decorator."""

    @property
    def is_plain(self) -> bool:
        """Whether no argument is spread."""
        return not any(argument.spread for argument in self.arguments)

    @property
    def positional(self) -> tuple[OpId, ...]:
        """The arguments without a keyword, in order."""
        return tuple(argument.value for argument in self.arguments if argument.keyword is None)

    @property
    def first(self) -> OpId | None:
        """The first argument."""
        return self.arguments[0].value if self.arguments else None

    @property
    def called_name(self) -> str:
        """The name of the called variable; empty for a method."""
        return "" if self.owner is not None else self.method

    def keyword(self, name: str) -> OpId | None:
        """The argument with that keyword."""
        return next((argument.value for argument in self.arguments if argument.keyword == name), None)

    def argument(self, position: int, name: str) -> OpId | None:
        """The argument at a position or with a keyword."""
        named, given = self.keyword(name), self.positional
        return named if named is not None else given[position] if position < len(given) else None

    def given_for(self, code: Function, name: str, *, is_bound: bool) -> OpId | None:
        """The argument that it passes for a parameter of a function; None if it is left to its default, or unknown."""
        named = self.keyword(name)
        if named is not None:
            return named
        by_position = (ParameterKind.POSITIONAL, ParameterKind.POSITIONAL_ONLY)
        places = [parameter.name for parameter in code.parameters if parameter.kind in by_position]
        position = places.index(name) - int(is_bound) if name in places else -1
        # the positions behind `*values` are unknown
        given = [each.value for each in takewhile(lambda each: not each.spread, self.arguments) if each.keyword is None]
        return given[position] if 0 <= position < len(given) else None


class Container(Enum):
    """The container that a display or a comprehension creates."""

    TUPLE = "tuple"
    LIST = "list"
    SET = "set"
    DICT = "dict"
    GENERATOR = "generator"


@dataclass(frozen=True, slots=True)
class Item:
    """An element of a display: a value, with its key in a dict, or an unpacked value."""

    value: OpId
    key: OpId | None = None
    starred: bool = False


@dataclass(frozen=True, slots=True)
class Display(Fact):
    """A display: a container with its elements, or a comprehension."""

    kind: Container
    items: tuple[Item, ...]
    """The elements; for a comprehension the collected value."""
    iterable: OpId | None = None
    """The iterable of a comprehension."""

    @property
    def is_comprehension(self) -> bool:
        """Whether it is a comprehension or a generator expression."""
        return self.iterable is not None

    @property
    def is_sequence(self) -> bool:
        """Whether it is a tuple, list or set with its elements."""
        return self.iterable is None and self.kind is not Container.DICT

    @property
    def hashed(self) -> tuple[OpId, ...]:
        """Hashed values: elements of a set, keys of a dict."""
        match self.kind:
            case Container.SET:
                return tuple(item.value for item in self.items)
            case Container.DICT:
                return tuple(item.key for item in self.items if item.key is not None)
            case _:
                return ()


@dataclass(frozen=True, slots=True)
class Text(Fact):
    """An f-string: the values in it, and whether each has a format."""

    fields: tuple[tuple[OpId, bool], ...]


@dataclass(frozen=True, slots=True)
class FunctionMade(Fact):
    """A `def` or `lambda`, with the defaults of its parameters."""

    function: FunctionId
    defaults: tuple[tuple[str, OpId], ...]


@dataclass(frozen=True, slots=True)
class ClassMade(Fact):
    """A `class` statement."""

    name: str
    body: FunctionId
    bases: tuple[OpId, ...]


@dataclass(frozen=True, slots=True)
class Imported(Fact):
    """`import module`, or `from module import name`; `level` counts the leading dots."""

    module: str
    name: str | None
    """None for the module itself, `*` for all of its names."""
    level: int


@dataclass(frozen=True, slots=True)
class Suspension(Fact):
    """`yield`, `yield from` or `await`."""


# --- changes, and exits from the call -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Write(Fact):
    """Base of the records that bind a variable or set an attribute or item."""

    value: OpId


@dataclass(frozen=True, slots=True)
class NameWrite(_Variable, Write):
    """A binding of a variable."""

    name: str
    scope: Scope
    is_expression: bool
    """Whether it is written `:=`."""

    @property
    def is_shared(self) -> bool:
        """Whether it is a variable of this function that nested functions capture."""
        return self.scope is Scope.CELL


@dataclass(frozen=True, slots=True)
class AttributeWrite(Write):
    """`owner.name = value`."""

    owner: OpId
    name: str


@dataclass(frozen=True, slots=True)
class ItemWrite(Write):
    """`owner[index] = value`."""

    owner: OpId
    index: OpId


@dataclass(frozen=True, slots=True)
class ItemDeletion(Fact):
    """`del owner[index]`."""

    owner: OpId
    index: OpId


@dataclass(frozen=True, slots=True)
class Return(Fact):
    """`return value`."""

    value: OpId | None


@dataclass(frozen=True, slots=True)
class Raise(Fact):
    """`raise`."""

    exception: OpId | None


# --- control flow ---------------------------------------------------------------------------------------------------------------------


class RegionKind(Enum):
    """A region that contains other operations."""

    IF = "if"
    CHOICE = "conditional expression"
    CONNECTIVE = "and, or"
    WHILE = "while"
    FOR = "for"
    COMPREHENSION = "comprehension"
    TRY = "try"
    WITH = "with"
    LAZY = "not run where it stands"


LOOPS = frozenset({RegionKind.FOR, RegionKind.WHILE, RegionKind.COMPREHENSION})
DECISIONS = frozenset({RegionKind.IF, RegionKind.CHOICE, RegionKind.CONNECTIVE, RegionKind.WHILE})


class Arm(Enum):
    """A part of a region."""

    FIRST = "first"
    """The body; for an `if` the side where its test is true; for `and` and `or` the right operand."""
    ELSE = "else"
    TEST = "test"
    HANDLER = "handler"
    FINAL = "finally"


@dataclass(frozen=True, slots=True)
class Part:
    """The operations of one arm, from `start` to `end` (exclusive)."""

    arm: Arm
    start: OpId
    end: OpId


@dataclass(frozen=True, slots=True)
class Handler:
    """A handler of a `try`: the classes that it catches, and whether it always raises."""

    caught: OpId | None
    raises: bool


@dataclass(frozen=True, slots=True)
class Region(Fact):
    """A statement or expression that contains other operations, which are numbered consecutively after it."""

    kind: RegionKind
    parts: tuple[Part, ...]
    subject: OpId | None
    """Its test, iterable or context manager."""
    is_assert: bool = False
    is_case: bool = False
    handlers: tuple[Handler, ...] = ()

    @property
    def is_loop(self) -> bool:
        """Whether it repeats its body."""
        return self.kind in LOOPS

    @property
    def iterated(self) -> OpId | None:
        """The iterable of a `for` or a comprehension; None otherwise."""
        return self.subject if self.kind in (RegionKind.FOR, RegionKind.COMPREHENSION) else None

    @property
    def has_else(self) -> bool:
        """Whether it has an `else` block."""
        return any(part.arm is Arm.ELSE and part.end > part.start for part in self.parts)

    def holds(self, number: OpId, *arms: Arm) -> bool:
        """Whether it, or one of these arms of it, contains an operation."""
        return any(part.start <= number < part.end and (not arms or part.arm in arms) for part in self.parts)

    def repeats(self, number: OpId) -> bool:
        """Whether an operation runs in each iteration."""
        return self.kind in LOOPS and self.holds(number, Arm.FIRST, Arm.TEST)
