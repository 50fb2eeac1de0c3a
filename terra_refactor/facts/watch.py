"""Dependency tracking for cached queries.

Computes: the looks whose results have changed. Needs: a program, its facts and the earlier ones. Gives: `Watch`,
which records looks, and `changed_looks`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from typing import Final, Generic, TypeAlias, TypeVar, cast

from terra_refactor.analysis.facts import ContextFacts, ContextId, Contexts, FunctionFacts, ProgramFacts
from terra_refactor.domain.effect import Effect
from terra_refactor.domain.value import Value
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.codes import ClassOutline, Codes
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.program import Program
from terra_refactor.tf_model.spec import Trait

Look: TypeAlias = "tuple[str, object]"
"""Kind of dependency: `context` (without its effects), `effects` (of a context), `function` (one of its facts),
`outline` (of a function: the part visible to its callers), `code`, `module`, `path` (of a module), `object`,
`classes` (of a name, without what their bodies define), `class` (whether it defines or binds one of some names, and
its fields that are not compared), `functions` (of a name), `readers` and `writers` (of an attribute), `read` (whether
an attribute has readers), `library` (the library functions called anywhere), `called` (whether any with a trait is
called), `leads` (whether a context leads to a library function, or to one with a trait), `calling` (the functions
that call a function), `place` (the function of a context) or `value` (of an operation). The second element says
which; None for all.
"""

SELECTIVE: Final = (
    "called",
    "calling",
    "class",
    "classes",
    "functions",
    "leads",
    "library",
    "place",
    "read",
    "readers",
    "value",
    "writers",
)
"""The kinds for which `changed_looks` compares only the given looks."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(slots=True)
class Looks:
    """Recent looks at the program, in order.

    It holds no reference to a program, so an invalidated one is freed at once, without garbage collection.
    """

    looks: dict[Look, object] = field(default_factory=dict)

    def add(self, look: Look) -> None:
        """Records a look."""
        self.looks[look] = None


class Watch:
    """A program and its facts, as seen by checks, recording each look."""

    def __init__(self, codes: Codes, facts: ProgramFacts) -> None:
        notes = self.notes = Looks()
        self.facts: ProgramFacts = _Facts(
            _Functions(facts.functions, "function", notes),
            _Contexts(facts.contexts, notes),
            _Mapping(facts.objects, "object", notes),
            facts.missing_rules,
            facts.rounds,
            inner=facts,
            notes=notes,
        )
        inner = codes.program
        modules = _Mapping(inner.modules, "module", notes)
        given = (inner.imports, inner.stubs, inner.recorded, inner.data, inner.usual)
        program = _Program(modules, *given, inner=inner, notes=notes)
        self.codes = WatchedCodes(program, codes, notes)


class _Mapping(Mapping[_Key, _Value], Generic[_Key, _Value]):
    def __init__(self, inner: Mapping[_Key, _Value], kind: str, notes: Looks) -> None:
        self._inner = inner
        self._kind = kind
        self._notes = notes

    def __getitem__(self, key: _Key) -> _Value:
        self._notes.add((self._kind, key))
        return self._inner[key]

    def __iter__(self) -> Iterator[_Key]:
        self._notes.add((self._kind, None))
        return iter(self._inner)

    def __len__(self) -> int:
        self._notes.add((self._kind, None))
        return len(self._inner)


class _Functions(_Mapping[FunctionId, FunctionFacts]):
    """The facts of functions; each read is recorded, because callers change with every edit of their code."""

    def __init__(self, inner: Mapping[FunctionId, FunctionFacts], kind: str, notes: Looks) -> None:
        super().__init__(inner, kind, notes)
        self._watched: dict[FunctionId, FunctionFacts] = {}

    def __getitem__(self, key: FunctionId) -> FunctionFacts:
        self._notes.add((self._kind, (key, _IDENTITY)))
        watched = self._watched.get(key)
        if watched is None:
            watched = self._watched[key] = object.__new__(_Function)
            object.__setattr__(watched, "_inner", self._inner[key])
            object.__setattr__(watched, "_notes", self._notes)
        return watched


class _Function(FunctionFacts):
    __slots__ = ("_inner", "_notes")
    _inner: FunctionFacts
    _notes: Looks


_IDENTITY: Final = "function"
"""Dependency on the existence of a function with this name."""
_OF_A_FUNCTION: Final = tuple(each.name for each in fields(FunctionFacts))


def _noted(name: str) -> property:
    def read(facts: _Function) -> object:
        inner = facts._inner
        facts._notes.add(("function", (inner.function, name)))
        return getattr(inner, name)

    return property(read)


for _name in _OF_A_FUNCTION:
    setattr(_Function, _name, _noted(_name))


class _Contexts(Contexts):
    def __init__(self, inner: Contexts, notes: Looks) -> None:
        super().__init__(inner.by_number)
        self._inner = inner
        self._notes = notes
        self._watched: dict[ContextId, ContextFacts] = {}

    def __getitem__(self, number: ContextId) -> ContextFacts:
        self._notes.add(("context", number))
        watched = self._watched.get(number)
        if watched is None:
            watched = self._watched[number] = _watched(self._inner[number], self._notes)
        return watched

    def __contains__(self, number: ContextId) -> bool:
        self._notes.add(("context", None))
        return number in self._inner

    def __iter__(self) -> Iterator[ContextFacts]:
        self._notes.add(("context", None))
        return iter(self._inner)

    def __len__(self) -> int:
        self._notes.add(("context", None))
        return len(self._inner)


class _Context(ContextFacts):
    """A context that records reads of its effects separately: they change with each callee, which dependants of other
    facts of the context do not see.
    """

    __slots__ = ("_inner", "_notes")
    _inner: ContextFacts
    _notes: Looks

    @property
    def effects(self) -> tuple[Effect, ...]:
        self._notes.add(("effects", self.id))
        return self._inner.effects


_COPIED: Final = tuple(each.name for each in fields(ContextFacts) if each.name != "effects")


def _watched(context: ContextFacts, notes: Looks) -> ContextFacts:
    watched = object.__new__(_Context)
    object.__setattr__(watched, "_inner", context)
    object.__setattr__(watched, "_notes", notes)
    for name in _COPIED:
        object.__setattr__(watched, name, getattr(context, name))
    return watched


def _differs_in_effects_only(old: ContextFacts, new: ContextFacts) -> bool:
    return all(getattr(old, name) == getattr(new, name) for name in _COPIED)


@dataclass(frozen=True, slots=True)
class _Program(Program):
    inner: Program = field(kw_only=True)
    notes: Looks = field(kw_only=True)

    def function(self, identity: FunctionId) -> Function:
        self.notes.add(("outline", identity))
        return self.inner.function(identity)

    def path_of(self, module: str) -> str:
        self.notes.add(("path", module))
        return self.inner.path_of(module)


@dataclass(frozen=True, slots=True)
class _Facts(ProgramFacts):
    inner: ProgramFacts = field(kw_only=True)
    notes: Looks = field(kw_only=True)

    def library_functions(self) -> frozenset[str]:
        self.notes.add(("library", None))
        return self.inner.library_functions()

    def is_called(self, trait: Trait, ending: str = "") -> bool:
        self.notes.add(("called", (trait, ending)))
        return self.inner.is_called(trait, ending)

    def calling(self, function: FunctionId) -> tuple[FunctionId, ...]:
        self.notes.add(("calling", function))
        return self.inner.calling(function)

    def leads_to(self, context: ContextId, what: str | Trait) -> bool:
        self.notes.add(("leads", (context, what)))
        return self.inner.leads_to(context, what)

    def function_of(self, context: ContextId) -> FunctionId:
        self.notes.add(("place", context))
        return self.inner.function_of(context)

    def value_in(self, context: ContextId, op: OpId) -> Value | None:
        self.notes.add(("value", (context, op)))
        return self.inner.value_in(context, op)

    def values_of(self, function: FunctionId, op: OpId) -> tuple[Value, ...]:
        self.notes.add(("value", (function, op)))
        return self.inner.values_of(function, op)


class WatchedCodes(Codes):
    def __init__(self, program: Program, inner: Codes, notes: Looks) -> None:
        super().__init__(program)
        self._inner = inner
        self._notes = notes
        self._watched: dict[str, tuple[ClassOutline, ...]] = {}
        self.ask: Callable[[tuple[Callable[..., object], tuple[Hashable, ...]]], object] | None = None
        """Keeps each `answer_now` with its dependencies; without it, they are those of each user."""

    def answered(self, question: Callable[..., _Value], facts: ProgramFacts, *about: Hashable) -> _Value:
        if self.ask is None:
            return self.once_with_looks((question, about), lambda: self.answer_now(question, facts, about))
        return cast(_Value, self.ask((question, about)))

    def answer_now(self, question: Callable[..., _Value], facts: ProgramFacts, about: tuple[Hashable, ...]) -> _Value:
        """The answer to a question about the whole program, with its looks."""
        return self._within_budget(question, facts, about)

    def once_with_looks(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        def noted() -> tuple[_Value, dict[Look, object]]:
            outer, self._notes.looks = self._notes.looks, {}
            try:
                return make(), self._notes.looks
            finally:
                self._notes.looks = outer

        value, looks = self.once(key, noted)
        self._notes.looks.update(looks)
        return value

    def of(self, identity: FunctionId) -> CodeFacts:
        self._notes.add(("code", identity))
        return self._inner.of(identity)

    def readers_of(self, attribute: str, *, by_name: bool = False) -> tuple[FunctionId, ...]:
        self._notes.add(("readers", attribute))
        return self._inner.readers_of(attribute, by_name=by_name)

    def naming(self, attribute: str) -> tuple[FunctionId, ...]:
        self._notes.add(("readers", attribute))  # they include these functions
        return self._inner.naming(attribute)

    def is_read(self, attribute: str) -> bool:
        self._notes.add(("read", attribute))
        return self._inner.is_read(attribute)

    def writers_of(self, attribute: str) -> tuple[FunctionId, ...]:
        self._notes.add(("writers", attribute))
        return self._inner.writers_of(attribute)

    def functions_named(self, name: str) -> tuple[FunctionId, ...]:
        self._notes.add(("functions", name))
        return self._inner.functions_named(name)

    def classes_named(self, name: str) -> tuple[ClassOutline, ...]:
        self._notes.add(("classes", name))
        watched = self._watched.get(name)
        if watched is None:
            watched = self._watched[name] = tuple(
                _Outline(each.body, each.decorators, each.methods, each.fields, notes=self._notes)
                for each in self._inner.classes_named(name)
            )
        return watched

    def not_compared(self, body: FunctionId) -> frozenset[str]:
        self._notes.add(("class", (body, "not compared", ())))
        return self._inner.not_compared(body)


@dataclass(frozen=True, slots=True)
class _Outline(ClassOutline):
    """An outline that records which names it is asked for: an extracted step is one more method of its class, of which
    hardly any question depends.
    """

    notes: Looks = field(kw_only=True, compare=False, repr=False)

    def defines(self, *names: str) -> bool:
        self.notes.add(("class", (self.body, "defines", tuple(sorted(names)))))
        return not self.methods.isdisjoint(names)

    def binds(self, *names: str) -> bool:
        self.notes.add(("class", (self.body, "binds", tuple(sorted(names)))))
        return not self.fields.isdisjoint(names)


def changed_looks(
    before: Codes, facts_before: ProgramFacts, now: Codes, facts_now: ProgramFacts, looks: Iterable[Look]
) -> frozenset[Look] | None:
    """The looks whose results differ between two states of a program; None if the states cannot be compared.

    For the kinds in `SELECTIVE` only the given looks are compared.
    """
    if tuple(before.program.modules) != tuple(now.program.modules):
        return None
    changed: set[Look] = set()
    objects = facts_now.objects
    for object_number, known in facts_before.objects.items():
        if objects.get(object_number) is not known:
            changed.add(("object", object_number))
    if changed or len(objects) != len(facts_before.objects):
        changed.add(("object", None))
    old_contexts, new_contexts = facts_before.contexts.by_number, facts_now.contexts.by_number
    for number in {**old_contexts, **new_contexts}:
        old, new = old_contexts.get(number), new_contexts.get(number)
        if old is not new and old != new:
            changed |= {("effects", number), ("context", None)}
            if old is None or new is None or not _differs_in_effects_only(old, new):
                changed.add(("context", number))
    if list(old_contexts) != list(new_contexts):
        changed.add(("context", None))
    if list(facts_before.functions) != list(facts_now.functions):
        changed.add(("function", None))
    for identity in {**facts_before.functions, **facts_now.functions}:
        was, is_now = facts_before.functions.get(identity), facts_now.functions.get(identity)
        if was is not is_now and was != is_now:
            changed.add(("function", None))
            changed.update(
                ("function", (identity, name))
                for name in _OF_A_FUNCTION
                if was is None or is_now is None or getattr(was, name) != getattr(is_now, name)
            )
    for name, module in now.program.modules.items():
        earlier = before.program.modules[name]
        if earlier is module:
            continue
        changed.add(("module", name))
        if earlier.path != module.path:
            changed.add(("path", name))
        for index in {**earlier.by_index, **module.by_index}:
            code, other = earlier.by_index.get(index), module.by_index.get(index)
            if code is None or other is None or not code.does_the_same_as(other):
                changed.add(("code", FunctionId(name, index)))
                if code is None or other is None or not code.looks_the_same_as(other):
                    changed.add(("outline", FunctionId(name, index)))
    for look in looks:
        match look:
            case "classes", str(name) if _classes(before, name) != _classes(now, name):
                changed.add(look)
            case "class", (FunctionId() as body, str(asked), tuple(names)) if _answer(
                before, body, asked, names
            ) != _answer(now, body, asked, names):
                changed.add(look)
            case "readers", str(name) if any(
                before.readers_of(name, by_name=by_name) != now.readers_of(name, by_name=by_name)
                for by_name in (False, True)
            ):
                changed.add(look)
            case "read", str(name) if before.is_read(name) != now.is_read(name):
                changed.add(look)
            case "writers", str(name) if before.writers_of(name) != now.writers_of(name):
                changed.add(look)
            case "functions", str(name) if before.functions_named(name) != now.functions_named(name):
                changed.add(look)
            case "library", None if facts_before.library_functions() != facts_now.library_functions():
                changed.add(look)
            case "called", (Trait() as trait, str(name)) if facts_before.is_called(trait, name) != facts_now.is_called(
                trait, name
            ):
                changed.add(look)
            case "leads", (int(number), (str() | Trait()) as what) if facts_before.leads_to(
                number, what
            ) != facts_now.leads_to(number, what):
                changed.add(look)
            case "calling", FunctionId() as function if _calling(facts_before, function) != _calling(
                facts_now, function
            ):
                changed.add(look)
            case "value", (FunctionId() as function, int(op)) if _may_differ(changed, facts_before, function):
                if ("code", function) in changed or facts_before.values_of(function, op) != facts_now.values_of(
                    function, op
                ):
                    changed.add(look)
            case "place", int(number) if ("context", number) in changed:
                if not _same_place(facts_before, facts_now, number):
                    changed.add(look)
            case "value", (int(number), int(op)) if ("context", number) in changed:
                same = _same_place(facts_before, facts_now, number) and (
                    ("code", facts_before.function_of(number)) not in changed
                )
                if not same or facts_before.value_in(number, op) != facts_now.value_in(number, op):
                    changed.add(look)
    return frozenset(changed)


def _classes(codes: Codes, name: str) -> list[tuple[FunctionId, tuple[str, ...]]]:
    """The classes of a name, without what their bodies define."""
    return [(outline.body, outline.decorators) for outline in codes.classes_named(name)]


def _answer(codes: Codes, body: FunctionId, asked: str, names: tuple[str, ...]) -> object:
    """Whether a class defines or binds one of some names, or its fields that are not compared; None if there is no such
    class.
    """
    outline = codes.outline_of(body)
    if outline is None:
        return None
    if asked == "not compared":
        return codes.not_compared(body)
    return outline.defines(*names) if asked == "defines" else outline.binds(*names)


def _calling(facts: ProgramFacts, function: FunctionId) -> tuple[FunctionId, ...] | None:
    """The functions that call a function; None if there is no such function."""
    return facts.calling(function) if function in facts.functions else None


def _may_differ(changed: AbstractSet[Look], before: ProgramFacts, function: FunctionId) -> bool:
    """Whether a value in a function may have changed."""
    known = before.functions.get(function)
    if known is None or ("function", (function, "contexts")) in changed or ("code", function) in changed:
        return True
    return any(("context", number) in changed for number in known.contexts)


def _same_place(before: ProgramFacts, now: ProgramFacts, number: ContextId) -> bool:
    """Whether a context belongs to the same function in both."""
    return number in now.contexts and before.function_of(number) == now.function_of(number)
