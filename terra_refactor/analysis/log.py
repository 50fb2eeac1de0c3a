"""Log of the queries and notifications of one context, with which the next run checks whether its summary is valid.

Computes: nothing. Gives: `Log` and its events, which `reuse` replays; `ContextKey`, by which contexts are looked up.
An event is data: a query or notification is a function of the engine with its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from terra_refactor.analysis.facts import EntryKind
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.state import HeapKey
from terra_refactor.domain.value import ObjectId, Value
from terra_refactor.ir.ids import FunctionId

Closure: TypeAlias = "tuple[tuple[str, ObjectId], ...]"
ContextKey: TypeAlias = "tuple[FunctionId, tuple[Value, ...], Closure, bool]"
"""A function, its arguments, the cells of its closure, and whether it runs in a graph."""
Flags: TypeAlias = "tuple[bool, bool, DType | None, bool, bool]"
"""The circumstances, besides the arguments, that decide which failures are recorded; the last one: whether the
arguments are joined from several calls.
"""


@dataclass(frozen=True, slots=True)
class Told:
    """A notification, repeated when the summary is reused."""

    note: Callable[..., object]
    """Takes the engine and the arguments."""
    arguments: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query: the summary is reused only if the answer is the same."""

    question: Callable[..., object]
    """Takes the engine and the arguments."""
    arguments: tuple[object, ...]
    answer: object


@dataclass(frozen=True, slots=True)
class Joined:
    """A call that was joined with others, because there are too many contexts."""

    key: ContextKey
    parameters: Mapping[str, Value]
    known: tuple[int, ...]
    """The contexts with that key, none of which is valid in the state of the call."""


@dataclass(frozen=True, slots=True)
class Called:
    """A call that found or created the summary of that identity."""

    function: FunctionId
    """The caller."""
    identity: int
    entry: EntryKind
    flags: Flags
    joined: Joined | None = None


Epoch: TypeAlias = "tuple[HeapKey, ...] | None"
"""The part of a run: None while the modules run; then the settled fields that functions have written so far. Other epochs
record reads of other fields.
"""

Event: TypeAlias = "ObjectId | Told | Asked | Called"


class Log:
    """The queries and notifications of one context, in order; objects are numbered in order of appearance."""

    __slots__ = (
        "bodies",
        "codes",
        "epoch",
        "events",
        "fixed",
        "flags",
        "functions",
        "height",
        "key",
        "reads",
        "recursive",
        "spoiled",
        "steps",
        "told",
        "within",
    )

    def __init__(self, key: ContextKey, flags: Flags, epoch: Epoch) -> None:
        function = key[0]
        self.key = key
        self.flags = flags
        self.epoch = epoch
        self.events: list[Event] = []
        self.told: set[object] = set()
        """Elements of `events`, to avoid duplicates."""
        self.functions: set[FunctionId] = {function}
        """The function and everything that it reaches by calls."""
        self.bodies: set[FunctionId] = {function}
        """The code that it runs itself: its function's, and that of class bodies in it."""
        self.codes: set[FunctionId] = {function}
        """The functions whose parameters or free variables it has read."""
        self.recursive: set[FunctionId] = set()
        """The functions of which it, or a callee, called a running context."""
        self.height = 0
        """The depth of nested calls in it."""
        self.steps = 0
        self.spoiled = False
        """It depends on something that is not logged."""
        self.reads: Mapping[HeapKey, Value | None] = {}
        self.fixed: frozenset[HeapKey] = frozenset()
        """The settled fields that it read itself."""
        self.within: Log | None = None
        """The outermost context of its recursion; None if it is not recursive."""

    def tells_the_same_as(self, other: Log | None) -> bool:
        """Whether replaying one has the same effects and queries as replaying the other."""
        return other is not None and (
            self.events == other.events
            and self.functions == other.functions
            and self.recursive == other.recursive
            and self.height == other.height
            and self.flags == other.flags
        )

    def tell(self, note: Callable[..., object], *arguments: object) -> None:
        """Records a notification."""
        self.events.append(Told(note, arguments))

    def tell_once(self, note: Callable[..., object], *arguments: object) -> None:
        """Records a notification that has no further effect when repeated."""
        mark = (note, arguments)
        if mark not in self.told:
            self.told.add(mark)
            self.events.append(Told(note, arguments))

    def ask(self, answer: object, question: Callable[..., object], *arguments: object) -> None:
        """Records a query and its answer."""
        self.events.append(Asked(question, arguments, answer))

    def ask_once(self, answer: object, question: Callable[..., object], *arguments: object) -> None:
        """Records a query that need not be repeated while its answer is the same."""
        mark = (question, arguments, answer)
        if mark not in self.told:
            self.told.add(mark)
            self.events.append(Asked(question, arguments, answer))

    def call(self, event: Called) -> None:
        """Records a call, once for each callee unless its arguments were joined with others."""
        if event.joined is None:
            mark = (event.identity, event.entry, event.flags)
            if mark in self.told:
                return
            self.told.add(mark)
        self.events.append(event)

    def reached(self, inner: Log) -> None:
        """Adds the contexts that a call reached."""
        self.functions |= inner.functions
        self.height = max(self.height, inner.height + 1)
