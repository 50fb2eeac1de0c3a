"""The facts of all functions of a program, each computed on first use.

Computes: lookups over all functions: who reads or writes an attribute, which classes and functions have a name.
Needs: the program. Gives: `Codes`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from terra_refactor.analysis.facts import BranchFact, CallFact, ContextFacts, ContextId, ProgramFacts
from terra_refactor.facts.budget import LookBudget
from terra_refactor.facts.class_families import ClassFamilies
from terra_refactor.facts.code import CodeFacts, code_facts
from terra_refactor.facts.records import (
    AttributeRead,
    AttributeWrite,
    Call,
    Choice,
    ClassMade,
    Imported,
    ItemDeletion,
    ItemRead,
    ItemWrite,
    Literal,
    NameRead,
    NameWrite,
    Operation,
)
from terra_refactor.ir.control import Flow, flow_of
from terra_refactor.ir.dataflow import NameSet, live_names
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import StoreName
from terra_refactor.ir.program import Program
from terra_refactor.ir.walk import walk

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class StaticFlow:
    """The control flow of a function as AutoGraph converts it, with the live names at each node."""

    function: Function
    nested: tuple[tuple[FunctionKind, str, tuple[str, ...]], ...]
    """The kinds and names of its nested functions, and the variables of this function that they read."""
    flow: Flow
    live: tuple[NameSet, ...]


@dataclass(slots=True, eq=False)
class ContextTables:
    """Indexes of a context's facts by operation, shared by all its views: each query for the callers of a function may
    create a view.
    """

    source: tuple[CallFact, ...]
    calls: dict[OpId, CallFact]
    branches: dict[OpId, BranchFact]
    library_calls: tuple[tuple[Call, str], ...]
    """The calls that reach library functions, with the canonical name of each."""


def _tables(code: CodeFacts, context: ContextFacts) -> ContextTables:
    called = ((code.facts[call.op], call.library) for call in context.calls if call.library)
    return ContextTables(
        context.calls,
        {call.op: call for call in context.calls},
        {branch.op: branch for branch in context.branches},
        tuple((call, name) for call, names in called if isinstance(call, Call) for name in names),
    )


@dataclass(frozen=True, slots=True)
class _Classes:
    """The operations that create classes in one function, by the body of the class."""

    code: CodeFacts
    by_body: Mapping[FunctionId, ClassMade]


@dataclass(frozen=True, slots=True)
class ClassOutline:
    """Source facts about a class, except its operations."""

    body: FunctionId
    decorators: tuple[str, ...]
    """As written in the source."""
    methods: frozenset[str]
    """The functions defined in its body, including classes and lambdas. `defines` asks for some of them."""
    fields: frozenset[str] = frozenset()
    """The names that its body binds. `binds` asks for some of them."""

    def defines(self, *names: str) -> bool:
        """Whether its body defines a function of one of these names."""
        return not self.methods.isdisjoint(names)

    def binds(self, *names: str) -> bool:
        """Whether its body binds one of these names."""
        return not self.fields.isdisjoint(names)

    @property
    def compares_fields(self) -> bool:
        """Whether it is a dataclass whose objects are equal if their fields are."""
        return not self.defines("__eq__") and any(
            decorator.partition("(")[0].strip().rpartition(".")[2] == "dataclass"
            and "eq=False" not in decorator.replace(" ", "")
            for decorator in self.decorators
        )


def _reads(nested: Iterable[Function]) -> tuple[tuple[FunctionKind, str, tuple[str, ...]], ...]:
    return tuple((each.kind, each.name, each.frees) for each in nested)


_ANY_ATTRIBUTE = "*"
ITEM = "[]"
"""Suffix of the name of a variable or attribute in `Codes.writers_of`: an item of its content."""
TEMPORARY = "()"
"""Suffix of the name of an attribute in `Codes.naming`: read of an object that perhaps nothing else holds (`Scaler().step`), or a
method that is kept (`f = scaler.step`).
"""
IMPORTED = "from "
"""Prefix of a name in `Codes.naming`: read of a variable that holds that name of another module (`from copy import deepcopy`)."""


def naming_of(library: Iterable[str]) -> tuple[str, ...]:
    """The names in `Codes.naming` for library functions and classes, by the last part of each: as an attribute, and imported."""
    leaves = {name.rpartition(".")[2] for name in library}
    return tuple(sorted(f"{by}{leaf}" for leaf in leaves for by in ("", IMPORTED)))


_GET_ITEM = "__getitem__"
_BY_NAME = ("getattr", "hasattr", "vars")


def _attributes_read(code: CodeFacts, made_on_read: frozenset[str], imported: Mapping[str, str]) -> Iterator[str]:
    """`imported` has the names that the module imports from others, by the variables that hold them."""
    yield from (
        f"{IMPORTED}{imported[name]}" for name in {read.name for read in code.of_kind(NameRead)} if name in imported
    )
    yield from (f"{IMPORTED}{name} as {variable}" for variable, name in _imports(code))
    for read in code.of_kind(AttributeRead):
        yield _ANY_ATTRIBUTE if read.name == "__dict__" else read.name
        if _may_be_of_temporary(code, read, made_on_read):
            yield f"{read.name}{TEMPORARY}"
    for call in code.of_kind(Call):
        if call.called_name in _BY_NAME and call.first is not None:
            asked = code.facts[call.arguments[1].value] if len(call.arguments) > 1 else None
            owner = code.facts[call.first]
            if isinstance(asked, Literal) and isinstance(asked.value, str):
                yield asked.value
            elif isinstance(owner, NameRead) and owner.name == "self":
                yield _ANY_ATTRIBUTE


def _imports(code: CodeFacts) -> Iterator[tuple[str, str]]:
    """The variables that `from module import name` binds, with the name."""
    for write in code.of_kind(NameWrite) if code.of_kind(Imported) else ():
        made = code.facts[write.value]
        if isinstance(made, Imported) and made.name is not None:
            yield write.name, made.name


def _may_be_of_temporary(code: CodeFacts, read: AttributeRead, made_on_read: frozenset[str]) -> bool:
    """Whether the object may be made in the expression, as far as its form tells."""
    owner = code.facts[read.owner]
    if isinstance(owner, NameRead):
        users = (code.facts[each] for each in code.readers(read.op))
        return owner.name in code.writes and any(
            not isinstance(user, Call) or user.function != read.op for user in users
        )
    while isinstance(owner, AttributeRead) and owner.name not in made_on_read:
        owner = code.facts[owner.owner]
    return isinstance(owner, AttributeRead | Call | Choice | Operation) or (
        isinstance(owner, ItemRead) and _GET_ITEM in made_on_read
    )


def _made_on_read(program: Program) -> frozenset[str]:
    """The names of properties of the program, whose reads may make an object, and `__getitem__` if it defines one."""
    return frozenset(
        function.name
        for module in program.modules.values()
        for function in module.functions
        if function.name == _GET_ITEM or any(decorator.text == "property" for decorator in function.decorators)
    )


def _attributes_written(code: CodeFacts) -> Iterator[str]:
    for write in code.of_kind(AttributeWrite):
        yield write.name
    items: list[ItemWrite | ItemDeletion] = [*code.of_kind(ItemWrite), *code.of_kind(ItemDeletion)]
    for item in items:
        held = code.facts[item.owner]
        if isinstance(held, AttributeRead | NameRead):
            yield f"{held.name}{ITEM}"


@dataclass(frozen=True, slots=True)
class _Before:
    """Indexes of an earlier state of a program with the same functions."""

    changed: tuple[CodeFacts, ...]
    """The earlier facts of the functions whose body changed."""
    made_on_read: frozenset[str]
    readers: dict[str, tuple[FunctionId, ...]] | None
    writers: dict[str, tuple[FunctionId, ...]] | None

    @staticmethod
    def of(earlier: Codes, program: Program) -> _Before | None:
        """None if the program now consists of other functions, or has them in another order."""
        if tuple(earlier.program.modules) != tuple(program.modules):
            return None
        changed: list[CodeFacts] = []
        for name, module in program.modules.items():
            old = earlier.program.modules[name]
            if old is module:
                continue
            if len(old.functions) != len(module.functions):
                return None
            for known, function in zip(old.functions, module.functions, strict=True):
                if known.id != function.id:
                    return None
                if known.body is not function.body:
                    changed.append(earlier.of(known.id))
        return _Before(tuple(changed), earlier._made_on_read, earlier._readers, earlier._writers)


class Codes:
    """The facts of the functions of a program, each computed on first use.

    Facts in `earlier` about functions with an unchanged body are reused.
    """

    def __init__(self, program: Program, earlier: Codes | None = None) -> None:
        self.program = program
        self._earlier = {} if earlier is None else earlier._indexes
        self._indexes: dict[FunctionId, CodeFacts] = {}
        self._classes: dict[FunctionId, _Classes] = {}
        self._tables: dict[ContextId, ContextTables] = {}
        self._once: dict[Hashable, object] = {}
        self._flows: dict[FunctionId, StaticFlow] = {}
        self._outlines: dict[str, tuple[ClassOutline, ...]] | None = None
        self.budget = LookBudget()
        self._readers: dict[str, tuple[FunctionId, ...]] | None = None
        self._writers: dict[str, tuple[FunctionId, ...]] | None = None
        self._readers_of: dict[tuple[str, bool], tuple[FunctionId, ...]] = {}
        self._named: dict[str, tuple[FunctionId, ...]] | None = None
        self._made_on_read = frozenset[str]()
        self._names_imported: dict[str, dict[str, str]] = {}
        self._before = None if earlier is None else _Before.of(earlier, program)
        self._families = ClassFamilies(program, self.of)

    def readers_of(self, attribute: str, *, by_name: bool = False) -> tuple[FunctionId, ...]:
        """The functions that read an attribute of that name on any object, or read one under a computed name.

        With `by_name`, only methods count among the latter, since they usually read their own object.
        """
        found = self._readers_of.get((attribute, by_name))
        if found is None:
            readers = self._all_readers()
            of_any = readers.get(_ANY_ATTRIBUTE, ())
            found = self._readers_of[attribute, by_name] = (
                *readers.get(attribute, ()),
                *(each for each in of_any if self._families.may_read(each, attribute, by_name=by_name)),
            )
        return found

    def naming(self, attribute: str) -> tuple[FunctionId, ...]:
        """The functions whose code names an attribute where it reads one; with `TEMPORARY`, of an object that may be temporary;
        with `IMPORTED`, a variable that holds an imported name.
        """
        return self._all_readers().get(attribute, ())

    def is_read(self, attribute: str) -> bool:
        """Whether the attribute has any `readers_of`. This differs from an earlier state only if there were none."""
        return bool(self.readers_of(attribute))

    def writers_of(self, attribute: str) -> tuple[FunctionId, ...]:
        """The functions that assign to an attribute of that name on any object; for `name[]`, to an item of one."""
        if self._writers is None:
            self._writers = self._by_name(_attributes_written, None if self._before is None else self._before.writers)
        return self._writers.get(attribute, ())

    def are_related(self, one: str, other: str) -> bool:
        """Whether an instance of a class with one of these names may also be one of the other."""
        return self._families.are_related(one, other)

    def _all_readers(self) -> dict[str, tuple[FunctionId, ...]]:
        if self._readers is None:
            before, self._made_on_read = self._before, _made_on_read(self.program)
            is_same = before is not None and before.made_on_read == self._made_on_read
            self._readers = self._by_name(
                lambda code: _attributes_read(code, self._made_on_read, self._imported(code.function.id.module)),
                before.readers if before is not None and is_same else None,
            )
        return self._readers

    def _by_name(
        self, names: Callable[[CodeFacts], Iterator[str]], before: dict[str, tuple[FunctionId, ...]] | None
    ) -> dict[str, tuple[FunctionId, ...]]:
        """The program's functions by the names that occur in their code; the earlier index if these have not changed."""
        if before is not None and self._before is not None:
            if all({*names(old)} == {*names(self.of(old.function.id))} for old in self._before.changed):
                return before
        found: dict[str, dict[FunctionId, None]] = {}
        for module in self.program.modules.values():
            for function in module.functions:
                for name in names(self.of(function.id)):
                    found.setdefault(name, {})[function.id] = None
        return {name: tuple(functions) for name, functions in found.items()}

    def _imported(self, module: str) -> Mapping[str, str]:
        """The names that a module imports from others, by the variables that hold them, in whichever function."""
        found = self._names_imported.get(module)
        if found is None:
            codes = (self.of(function.id) for function in self.program.modules[module].functions)
            found = self._names_imported[module] = {name: made for code in codes for name, made in _imports(code)}
        return found

    def functions_named(self, name: str) -> tuple[FunctionId, ...]:
        """The functions and methods of the program that have that name."""
        if self._named is None:
            found: dict[str, list[FunctionId]] = {}
            for module in self.program.modules.values():
                for function in module.functions:
                    found.setdefault(function.name, []).append(function.id)
            self._named = {each: tuple(functions) for each, functions in found.items()}
        return self._named.get(name, ())

    def classes_named(self, name: str) -> tuple[ClassOutline, ...]:
        """The classes of the program that have that name."""
        if self._outlines is None:
            self._outlines = _outlines(self.program)
        return self._outlines.get(name, ())

    def outline_of(self, body: FunctionId) -> ClassOutline | None:
        """The outline of the class with that body; None if there is none."""
        if body.module not in self.program.modules or body.index not in self.program.modules[body.module].by_index:
            return None
        named = self.classes_named(self.program.function(body).name)
        return next((outline for outline in named if outline.body == body), None)

    def not_compared(self, body: FunctionId) -> frozenset[str]:
        """The fields that the body of a dataclass or attrs class declares as not compared."""
        code = self.of(body)
        return frozenset(
            write.name
            for write in code.of_kind(NameWrite)
            if isinstance(made := code.facts[write.value], Call)
            and any(
                argument.keyword in ("compare", "eq", "cmp")
                and isinstance(literal := code.facts[argument.value], Literal)
                and literal.value is False
                for argument in made.arguments
            )
        )

    def classes_with(self, methods: frozenset[str]) -> tuple[str, ...]:
        """The names of the classes of the program that define one of these methods."""
        self.classes_named("")
        return tuple(
            name
            for name, outlines in (self._outlines or {}).items()
            if any(outline.defines(*methods) for outline in outlines)
        )

    def class_made_of(self, parent: FunctionId, body: FunctionId) -> ClassMade | None:
        """The operation with which `parent` creates the class with that body; None if there is none."""
        code = self.of(parent)
        known = self._classes.get(parent)
        if known is None or known.code is not code:
            known = _Classes(code, {made.body: made for made in code.of_kind(ClassMade)})
            self._classes[parent] = known
        return known.by_body.get(body)

    def flow(self, identity: FunctionId) -> StaticFlow:
        """The control flow of a function, and liveness in it. Computed on first use."""
        code = self.of(identity)
        known = self._flows.get(identity)
        nested = self._nested(code.function)
        if known is None or known.function.body is not code.function.body or known.nested != _reads(nested):
            flow = flow_of(code.function, nested)
            known = self._flows[identity] = StaticFlow(code.function, _reads(nested), flow, live_names(flow))
        return known

    def _nested(self, function: Function) -> tuple[Function, ...]:
        """The nested functions that read a function's variables; not searched if no variable is read so."""
        if not function.cells:
            return ()
        others = self.program.modules[function.id.module].functions
        return tuple(each for each in others if each.parent == function.id and each.frees)

    def of(self, identity: FunctionId) -> CodeFacts:
        """The facts of the function with that identity."""
        index = self._indexes.get(identity)
        if index is None:
            function = self.program.function(identity)
            known = self._earlier.get(identity)
            if known is not None and known.function.body is function.body:
                index = known if known.function is function else replace(known, function=function)
            else:
                index = code_facts(function)
            self._indexes[identity] = index
        return index

    def tables(self, code: CodeFacts, context: ContextFacts) -> ContextTables:
        """The facts of a context by operation. Computed on first use."""
        known = self._tables.get(context.id)
        if known is None or known.source is not context.calls:
            known = self._tables[context.id] = _tables(code, context)
        return known

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """A value computed from facts that the caller has read: once in this state of the program, for all contexts
        of a function.
        """
        if key not in self._once:
            self._once[key] = make()
        return cast(_T, self._once[key])

    def once_with_looks(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """A value computed from facts: once in this state of the program, with its looks recorded for each user.

        If many contexts use it, or if it looks at many, it belongs into `answered`.
        """
        return self.once(key, make)

    def answered(self, question: Callable[..., _T], facts: ProgramFacts, *about: Hashable) -> _T:
        """The answer to a question about the whole program, `question(codes, facts, *about)`: found once in this state
        of the program, and one dependency of each user, who stays valid where the answer is the same.

        The question is a function of a module, its answer immutable.
        """
        return self.once((question, about), lambda: self._within_budget(question, facts, about))

    def _within_budget(self, question: Callable[..., _T], facts: ProgramFacts, about: tuple[Hashable, ...]) -> _T:
        """An answer, with a budget of its own: it does not depend on which check asks first."""
        outer = self.budget.begin()
        try:
            return question(self, facts, *about)
        finally:
            self.budget.left = outer

    def forget_tables(self) -> None:
        """Drops the indexes of contexts, and the values computed once."""
        self._tables, self._once = {}, {}

    def forget_earlier(self) -> None:
        """Drops the earlier indexes."""
        self._earlier, self._before = {}, None


def _outlines(program: Program) -> dict[str, tuple[ClassOutline, ...]]:
    """The outlines of all classes by name."""
    found: dict[str, list[ClassOutline]] = {}
    for module in program.modules.values():
        methods: dict[FunctionId | None, set[str]] = {}
        for code in module.functions:
            methods.setdefault(code.parent, set()).add(code.name)
        for code in module.functions:
            if code.kind is FunctionKind.CLASS_BODY:
                decorators = tuple(decorator.text for decorator in code.decorators)
                fields = frozenset(op.name for op in walk(code.body) if isinstance(op, StoreName))
                outline = ClassOutline(code.id, decorators, frozenset(methods.get(code.id, ())), fields)
                found.setdefault(code.name, []).append(outline)
    return {name: tuple(outlines) for name, outlines in found.items()}
