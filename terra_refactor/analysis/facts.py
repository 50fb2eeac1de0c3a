"""The facts: everything that later rooms read about a program.

Computes: nothing. Needs: the driver, which creates them. Gives: frozen tables keyed by the IR's identities. A
function has a set of *contexts*, one for each distinct tuple of abstract arguments (and state) in which it was
analysed; each context has the value of every operation.

Ignores: contexts of earlier rounds of the fixpoint; only those that the last round reached are included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from terra_refactor.domain.dim import OpenDim
from terra_refactor.domain.effect import Effect
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.value import ObjectId, Value
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.releases import Behaviour
from terra_refactor.tf_model.spec import ErrorKind, Trait

ContextId: TypeAlias = int
"""Number of a context, the key of `ProgramFacts.contexts`. It depends on the function and its earlier contexts, not on other functions."""


class EntryKind(Enum):
    """The reason for the analysis of a context."""

    MODULE = "module"
    """A module or class body."""
    CALLED = "called"
    """Some analysed code calls the function with these arguments."""
    FRAMEWORK = "framework"
    """Not called in the program, but by Keras or tf.data."""
    UNCALLED = "uncalled"
    """Not called: its parameters come from annotations, defaults, usage or names."""


class BranchKind(Enum):
    """The condition of a branch or loop."""

    PYTHON = "python"
    TENSOR = "tensor"
    """A tensor's value: AutoGraph converts it."""
    DATASET = "dataset"
    """A loop over a dataset or its iterator."""
    UNKNOWN = "unknown"


DOES_NOT_FIT: Final = "(its parameters do not fit the call)"
"""The end of the description of a function of the program whose call raises TypeError."""


@dataclass(frozen=True, slots=True)
class CallFact:
    """The callees that one `Call` operation (or an operator, attribute or item that runs code) reached in one context."""

    op: OpId
    callees: tuple[ContextId, ...]
    """Functions of the program."""
    library: tuple[str, ...]
    """Canonical names of library functions."""
    unknown: str | None
    """The unresolved callee as written in the program (`mylib.scale`), or None."""
    certain: tuple[ContextId, ...] = ()
    """The callees that are called under no undecided condition on the function's parameters."""
    open_size: OpenDim | None = None
    """An open size among the numbers of a list or tuple that is passed to a library function."""
    chosen: tuple[ContextId, ...] = ()
    """Callees like those in `certain`, for a call with several possible functions: its arguments may be meant for another one."""

    @property
    def is_refused(self) -> bool:
        """Whether it raises TypeError because its arguments do not match the parameters."""
        return (
            self.unknown is not None and self.unknown.endswith(DOES_NOT_FIT) and not self.callees and not self.library
        )


MAX_CHANGES: Final = 64
"""Maximum number of recorded variable changes for a branch that runs several times (the first ones are kept)."""


ChangedParts: TypeAlias = tuple[tuple[OpId, Value, Value], ...]
"""Attributes and items by the operations that set them, each with two values; `UNBOUND` if it does not exist."""


@dataclass(frozen=True, slots=True)
class BranchFact:
    """The condition of an `If`, `IfExpression`, `While`, `ShortCircuit`, `For` or `Comprehension`, and its outcome."""

    op: OpId
    kind: BranchKind
    taken: tuple[bool, bool]
    """Whether the first block (then, body) and the second (else) can run; for a `For`, the second: whether its body may
    be skipped.
    """
    falls_through: tuple[bool, bool]
    """Whether control can reach the end of each block."""
    changed: tuple[tuple[str, Value, Value], ...] = ()
    """Local variables that differ: name, value at the end of the first block (for a loop: of its first iteration),
    value at the end of the second (or before a loop). A name has several entries if the branch runs several times.
    Only for branches and loops on tensors.
    """
    parts: ChangedParts = ()
    """Attributes and items that differ, likewise."""


@dataclass(frozen=True, slots=True)
class FailureFact:
    """An operation that certainly fails in this context."""

    op: OpId
    kind: ErrorKind
    message: str
    operation: str
    """Canonical name of the function, or the operator."""
    only: Behaviour | None = None
    """The release from which it fails, if earlier releases are known to behave differently; None if it fails everywhere."""
    by_default: bool = False
    """Its sizes are computed from options with defaults: it may fail only in runs with the defaults."""
    in_files: str = ""
    r"""The present contents of files on which the failure depends: `with \`units\` = 64 in options.json`; empty if
    there are none.
    """


@dataclass(frozen=True, slots=True)
class ContextFacts:
    """One function, analysed for one tuple of abstract arguments."""

    id: ContextId
    function: FunctionId
    entry: EntryKind
    in_graph: bool
    """Whether a trace runs this code: it is (called from) a `tf.function`, or a function passed to `Dataset.map` and
    similar methods.
    """
    parameters: Mapping[str, Value]
    values: tuple[Value | None, ...]
    """By operation; None if it is not reached or has no result."""
    returns: Value
    calls: tuple[CallFact, ...]
    branches: tuple[BranchFact, ...]
    effects: tuple[Effect, ...]
    """Composed over calls; without effects on objects created inside the call."""
    failures: tuple[FailureFact, ...]
    guarded_failures: tuple[FailureFact, ...]
    """Operations that certainly fail if they run, under conditions that may exclude them."""
    problem: str | None
    """The reason why the result is incomplete: `budget`, `recursion depth`, or the pass that failed; None if it is complete."""

    overwrites: frozenset[str] = frozenset()
    """The attributes that it writes on all paths before they are read, here or in a callee."""

    def value(self, op: OpId) -> Value | None:
        """The value of operation `op`; None if it is not reached."""
        return self.values[op]


@dataclass(frozen=True, slots=True)
class ParameterFacts:
    """The values of a parameter over all contexts and calls."""

    name: str
    evidence: Evidence
    values: tuple[Value, ...]
    """The distinct values that calls pass (or that the entry assumed), up to a maximum; without the widening of contexts."""
    supposed: tuple[Value, ...] = ()
    """Unknown values that come only from functions without callers, although there are real calls."""
    is_operand: bool = False
    """Whether the only evidence is arithmetic with a tensor, where a Python or NumPy number may be just as well."""


@dataclass(frozen=True, slots=True)
class CallerFact:
    """A place from which a function is called."""

    context: ContextId
    """The calling context."""
    op: OpId


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """One function, over all its contexts."""

    function: FunctionId
    contexts: tuple[ContextId, ...]
    parameters: tuple[ParameterFacts, ...]
    returns: Value
    """Over all contexts, except those whose arguments are only supposed (`ParameterFacts.supposed`)."""
    callers: tuple[CallerFact, ...]
    recursive: bool
    hybrid: tuple[tuple[str, Value], ...] | None
    """Arguments of the `tf.function` that wraps it; None if none does."""
    wrappers: tuple[str, ...]
    """Library decorators that keep the function callable as it is."""
    problem: str | None
    """The reason why the function was not fully analysed (for a crash, the name of the pass); None if it was."""
    open_callers: bool = False
    """An unresolved call in the program may reach it, with other arguments than the known ones."""


class ObjectKind(Enum):
    """The identity of an abstract object."""

    INSTANCE = "instance"
    CLASS = "class"
    LIST = "list"
    DICT = "dict"
    SET = "set"
    ITERATOR = "iterator"
    CELL = "cell"
    MODULE = "module"
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """An abstract object: its kind and its allocation site."""

    id: ObjectId
    kind: ObjectKind
    name: str
    """A class's or module's name; for an instance the class's; for a cell the variable's."""
    function: FunctionId | None
    """The function whose code creates it."""
    op: OpId | None

    @property
    def container_class(self) -> str | None:
        """The canonical name of a container's class; None for other values."""
        if self.kind not in (ObjectKind.LIST, ObjectKind.DICT, ObjectKind.SET):
            return None
        module = "builtins" if self.name == self.kind.value else "collections"
        return f"{module}.{self.name}"


@dataclass(slots=True, eq=False)
class Contexts:
    """The contexts of a program in source order of their functions, by number."""

    by_number: Mapping[ContextId, ContextFacts]
    library: frozenset[str] | None = field(default=None, init=False, repr=False)
    """Cache of `ProgramFacts.library_functions`."""
    called: dict[tuple[Trait, str], bool] = field(default_factory=dict, init=False, repr=False)
    """Cache of `ProgramFacts.is_called`."""
    calling: dict[FunctionId, tuple[FunctionId, ...]] = field(default_factory=dict, init=False, repr=False)
    """Cache of `ProgramFacts.calling`."""
    leading: dict[str | Trait, frozenset[ContextId]] = field(default_factory=dict, init=False, repr=False)
    """Cache of `ProgramFacts.leads_to`: the contexts by the queried library function or trait."""

    def __getitem__(self, number: ContextId) -> ContextFacts:
        """Raises KeyError if there is no context of that number."""
        return self.by_number[number]

    def __contains__(self, number: ContextId) -> bool:
        return number in self.by_number

    def __iter__(self) -> Iterator[ContextFacts]:
        return iter(self.by_number.values())

    def __len__(self) -> int:
        return len(self.by_number)


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """All facts about a program."""

    functions: Mapping[FunctionId, FunctionFacts]
    contexts: Contexts
    objects: Mapping[ObjectId, ObjectFacts]
    missing_rules: Mapping[str, int]
    """Library functions that are called but have no rule, with the number of call operations."""
    rounds: int
    """Number of rounds of the fixpoint over the state of the program."""

    def contexts_of(self, function: FunctionId) -> tuple[ContextFacts, ...]:
        """The contexts of a function; () if it was never reached."""
        facts = self.functions.get(function)
        return () if facts is None else tuple(self.contexts[index] for index in facts.contexts)

    def library_functions(self) -> frozenset[str]:
        """The canonical names of the library functions that are called in any context."""
        found = self.contexts.library
        if found is None:
            found = self.contexts.library = frozenset(
                name for context in self.contexts for call in context.calls for name in call.library
            )
        return found

    def is_called(self, trait: Trait, ending: str = "") -> bool:
        """Whether a library function that has a trait, and whose name ends with `ending`, is called in any context."""
        found = self.contexts.called.get((trait, ending))
        if found is None:
            entities = (registry.lookup(name) for name in self.library_functions() if name.endswith(ending))
            found = any(entity is not None and trait in entity.traits for entity in entities)
            self.contexts.called[trait, ending] = found
        return found

    def calling(self, function: FunctionId) -> tuple[FunctionId, ...]:
        """The functions that call a function in any context, without duplicates."""
        found = self.contexts.calling.get(function)
        if found is None:
            callers = (self.function_of(caller.context) for caller in self.functions[function].callers)
            found = self.contexts.calling[function] = tuple(dict.fromkeys(callers))
        return found

    def leads_to(self, context: ContextId, what: str | Trait) -> bool:
        """Whether a context, or one that it reaches by calls, calls the library function of that canonical name, or one
        with that trait.
        """
        found = self.contexts.leading.get(what)
        if found is None:
            names = (
                (what,)
                if isinstance(what, str)
                else (each for each in self.library_functions() if registry.has_trait(each, what))
            )
            found = self.contexts.leading[what] = self._leading_to(self.library_functions().intersection(names))
        return context in found

    def _leading_to(self, names: frozenset[str]) -> frozenset[ContextId]:
        if not names:
            return frozenset()
        callers: dict[ContextId, list[ContextId]] = {}
        pending: list[ContextId] = []
        for context in self.contexts:
            for call in context.calls:
                if not names.isdisjoint(call.library):
                    pending.append(context.id)
                for callee in call.callees:
                    callers.setdefault(callee, []).append(context.id)
        found: set[ContextId] = set()
        while pending:
            number = pending.pop()
            if number not in found:
                found.add(number)
                pending.extend(callers.get(number, ()))
        return frozenset(found)

    def function_of(self, context: ContextId) -> FunctionId:
        """The function to which a context belongs."""
        return self.contexts[context].function

    def value_in(self, context: ContextId, op: OpId) -> Value | None:
        """The value of an operation in one context; None if it is not reached."""
        return self.contexts[context].values[op]

    def values_of(self, function: FunctionId, op: OpId) -> tuple[Value, ...]:
        """The values of an operation in all contexts that reach it."""
        values = (context.values[op] for context in self.contexts_of(function))
        return tuple(value for value in values if value is not None)
