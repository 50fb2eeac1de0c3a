"""What checks look at, beside their own context: so that what they found can be kept while that stays the same.

Computes: nothing. Needs: a program, its facts and those from before. Gives: `Watch`, which notes looks, and `Comparison`, which says
whether a look would meet the same now. Ignores: objects; where those that were there have changed, nothing is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeAlias, TypeVar, overload

from terra_refactor.analysis.facts import ContextFacts, ProgramFacts
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program
from terra_refactor.rules.view import ClassOutline, CodeIndex, Codes

Look: TypeAlias = "tuple[str, object]"
"""What was looked at: `context`, `function` (its facts), `code`, `module` or `classes` (of a name), and which; None for all of them."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(slots=True)
class Notes:
    """What was looked at lately. What notes it does not lead back to a program: what is out of date is gone at once, without a search."""

    looks: set[Look] = field(default_factory=set)


class Watch:
    """A program and its facts, as checks see them, with a note of what they look at."""

    def __init__(self, codes: Codes, facts: ProgramFacts) -> None:
        notes = self.notes = Notes()
        self.facts = replace(
            facts, functions=_Mapping(facts.functions, "function", notes), contexts=_Contexts(facts.contexts, notes)
        )
        inner = codes.program
        modules = _Mapping(inner.modules, "module", notes)
        program = _Program(modules, inner.imports, inner.stubs, inner=inner, notes=notes)
        self.codes = _Codes(program, codes, notes)


class _Mapping(Mapping[_Key, _Value], Generic[_Key, _Value]):
    def __init__(self, inner: Mapping[_Key, _Value], kind: str, notes: Notes) -> None:
        self._inner = inner
        self._kind = kind
        self._notes = notes

    def __getitem__(self, key: _Key) -> _Value:
        self._notes.looks.add((self._kind, key))
        return self._inner[key]

    def __iter__(self) -> Iterator[_Key]:
        self._notes.looks.add((self._kind, None))
        return iter(self._inner)

    def __len__(self) -> int:
        self._notes.looks.add((self._kind, None))
        return len(self._inner)


class _Contexts(Sequence[ContextFacts]):
    def __init__(self, inner: Sequence[ContextFacts], notes: Notes) -> None:
        self._inner = inner
        self._notes = notes

    @overload
    def __getitem__(self, index: int) -> ContextFacts: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ContextFacts]: ...
    def __getitem__(self, index: int | slice) -> ContextFacts | Sequence[ContextFacts]:
        self._notes.looks.add(("context", index if isinstance(index, int) else None))
        return self._inner[index]

    def __iter__(self) -> Iterator[ContextFacts]:
        self._notes.looks.add(("context", None))
        return iter(self._inner)

    def __len__(self) -> int:
        self._notes.looks.add(("context", None))
        return len(self._inner)


@dataclass(frozen=True, slots=True)
class _Program(Program):
    inner: Program = field(kw_only=True)
    notes: Notes = field(kw_only=True)

    def function(self, identity: FunctionId) -> Function:
        self.notes.looks.add(("code", identity))
        return self.inner.function(identity)


class _Codes(Codes):
    def __init__(self, program: Program, inner: Codes, notes: Notes) -> None:
        super().__init__(program)
        self._inner = inner
        self._notes = notes

    def of(self, identity: FunctionId) -> CodeIndex:
        self._notes.looks.add(("code", identity))
        return self._inner.of(identity)

    def classes_named(self, name: str) -> tuple[ClassOutline, ...]:
        self._notes.looks.add(("classes", name))
        return self._inner.classes_named(name)


class Comparison:
    """Whether what was looked at in an earlier state of a program is the same in another one."""

    def __init__(self, before: Codes, facts_before: ProgramFacts, now: Codes, facts_now: ProgramFacts) -> None:
        self._codes_before, self._codes_now = before, now
        self._before, self._facts_before = before.program, facts_before
        self._now, self._facts_now = now.program, facts_now
        self._answers: dict[Look, bool] = {}
        objects = facts_now.objects
        self._comparable = all(objects.get(number) is known for number, known in facts_before.objects.items())

    def all_same(self, looks: set[Look]) -> bool:
        """Whether all of these would meet the same."""
        return self._comparable and all(self.is_same(look) for look in looks)

    def is_same(self, look: Look) -> bool:
        """Whether one look would meet the same."""
        answer = self._answers.get(look)
        if answer is None:
            answer = self._answers[look] = self._compare(look)
        return answer

    def _compare(self, look: Look) -> bool:
        match look:
            case "context", int(number):
                before, now = self._facts_before.contexts, self._facts_now.contexts
                if number >= min(len(before), len(now)):
                    return False
                return before[number] is now[number] or before[number] == now[number]
            case "context", _:
                return self._facts_before.contexts == self._facts_now.contexts
            case "function", FunctionId() as identity:
                return self._facts_before.functions.get(identity) == self._facts_now.functions.get(identity)
            case "function", _:
                return self._facts_before.functions == self._facts_now.functions
            case "code", FunctionId(module, index):
                old, new = self._before.modules.get(module), self._now.modules.get(module)
                if old is None or new is None or max(index, 0) >= min(len(old.functions), len(new.functions)):
                    return False
                return old.functions[index].does_the_same_as(new.functions[index])
            case "classes", str(name):
                return self._codes_before.classes_named(name) == self._codes_now.classes_named(name)
            case "module", str(name):
                return self._before.modules.get(name) is self._now.modules.get(name)
            case _:
                return False
