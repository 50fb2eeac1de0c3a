"""Whether an edit leaves all dependencies of decisions unchanged, so that the decisions stay valid.

Computes: nothing of its own.
Needs: the dependencies of decisions about a changed program (one with extracted steps), and the states of the program itself before and
after the edit. Gives: `Seen`, `Edited`, `is_alike`.

How: an edit that does not change a function's results for its callers (`SummaryStore.edited`) leaves every other
context unchanged, in any program that contains the function and runs it in no other context. The rest of the edit is
in the function itself: its values, its operations, and their numbers in references to them. None of these may be a
dependency.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ProgramFacts
from terra_refactor.analysis.renumbering import Moves
from terra_refactor.classify.each_context import QUESTIONS
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.effect import EffectSite
from terra_refactor.facts.records import ClassMade, Imported
from terra_refactor.facts.watch import Look
from terra_refactor.ir.ids import FunctionId, OpId

_OF_CALLS: Final = frozenset({"called", "calling", "leads", "library", "place"})
"""Looks at the callees of contexts, and at the existing contexts; the same for all contexts in similar programs."""
_NUMBERS: Final = frozenset({"op", "tensor"})
"""Fields that contain numbers of operations of the function in question."""


@dataclass(slots=True)
class Seen:
    """The dependencies of some decisions, except answers that existed before."""

    looks: frozenset[Look] = frozenset()
    executed: frozenset[FunctionId] = frozenset()
    """The functions whose contexts were run."""
    places: frozenset[FunctionId] = frozenset()
    """The functions whose places or names the decisions contain."""
    share_of_steps: float = 0.0
    """The largest share of the analysis's budget that was used."""
    is_complete: bool = True

    def add(
        self, hazards: HazardMap, executed: Iterable[FunctionId], about: Iterable[FunctionId], share: float
    ) -> None:
        """Adds the dependencies of decisions about these functions in a state."""
        looks = hazards.new_looks()
        if looks is None:
            self.is_complete = False
            return
        self.looks |= {each for each in (_coarse(look, hazards.whole_facts) for look in looks) if each is not None}
        self.executed |= frozenset(executed)
        self.places = self.places.union(*(hazards.decided[each].places for each in about if each in hazards.decided))
        self.share_of_steps = max(self.share_of_steps, share)


def is_alike(before: HazardMap, now: HazardMap, edited: Edited, seen: Seen) -> bool:
    """Whether all dependencies, in a program derived from an earlier state, are the same in one derived from the present state.

    Outside of the edited functions, the analysis of the present state has the same results as the earlier one. `seen` are among the
    `others` of the present state. Answers have to be compared when they are computed (`HazardMap.answers_are_steady`).
    """
    changed, moved = now.changed, now.moved
    if changed is None or moved is None or not seen.is_complete:
        return False
    if not seen.executed.isdisjoint(edited.functions) or not moved.isdisjoint(seen.places):
        return False
    if not all(_is_inside(look, before, now, edited) for look in changed):
        return False
    visible = (look for look in changed if not _is_renumbered_only(look, now.whole_facts, edited))
    if not seen.looks.isdisjoint(_coarse(look, now.whole_facts) for look in visible):
        return False
    return all(_has_same_code(before, now, each) for each in edited.functions)


class Edited:
    """Edited functions, with the new numbers of their operations. Nothing else has changed."""

    def __init__(self, moves: Mapping[FunctionId, Moves], facts: ProgramFacts) -> None:
        self.functions = moves.keys()
        self._moves = moves
        self._back = {
            function: {new: old for old, new in moved.items() if new is not None} for function, moved in moves.items()
        }
        self._facts = facts

    def before(self, about: Hashable) -> Hashable:
        """The subject of a query or look, with the operation numbers of the earlier state.

        Raises KeyError if there were no such operations.
        """
        match about:
            case EffectSite():
                return replace(about, op=self._op_before(FunctionId(about.module, about.function), about.op))
            case (FunctionId() as function, int(op)):
                return function, self._op_before(function, op)
            case (int(context), int(op)) if context in self._facts.contexts:
                return context, self._op_before(self._facts.function_of(context), op)
            case FunctionId():
                return about
            case tuple():
                return tuple(map(self.before, about))
        return about

    def _op_before(self, function: FunctionId, op: OpId) -> OpId:
        moved = self._moves.get(function)
        if moved is None:
            return op
        found = self._back[function].get(op)
        if found is None:
            if op in moved:
                raise KeyError(op)
            return op
        return found

    def are_same(self, old: object, new: object, about: Hashable = None) -> bool:
        """Whether two answers or facts about the same subject are equal, up to operation numbers."""
        return self._are_same(old, new, self._function_of(about))

    def _function_of(self, about: Hashable) -> FunctionId | None:
        """The edited function that a query concerns."""
        match about:
            case FunctionId():
                return about if about in self._moves else None
            case int() if about in self._facts.contexts:
                return self._function_of(self._facts.function_of(about))
            case tuple() if about:
                return self._function_of(about[0])
        return None

    def _are_same(self, old: object, new: object, inside: FunctionId | None) -> bool:
        if type(old) is not type(new):
            return False
        match old, new:
            case EffectSite(), EffectSite():
                function = FunctionId(old.module, old.function)
                return function == FunctionId(new.module, new.function) and self._op_now(function, old.op) == new.op
            case FunctionId(), FunctionId():
                return old == new
            case ((tuple() | list() as ones), (tuple() | list() as others)):
                return len(ones) == len(others) and all(
                    self._are_same(one, other, inside) for one, other in zip(ones, others, strict=True)
                )
            case dict(), dict():
                return self._are_same(list(old.items()), list(new.items()), inside)
        if is_dataclass(old):
            return all(
                self._op_now(inside, getattr(old, each.name)) == getattr(new, each.name)
                if inside is not None and each.name in _NUMBERS
                else self._are_same(getattr(old, each.name), getattr(new, each.name), inside)
                for each in fields(old)
            )
        return old == new

    def _op_now(self, function: FunctionId, op: OpId | None) -> OpId | None:
        moved = self._moves.get(function)
        return op if moved is None or op is None else moved.get(op, op)


def _coarse(look: Look, facts: ProgramFacts) -> Look | None:
    """The look, with the function of a context instead of its number, which depends on other contexts."""
    match look:
        case ("context" | "effects") as kind, int(number):
            return kind, facts.function_of(number)
        case "value", (int(number), int()):
            return "context", facts.function_of(number)
        case "value", (FunctionId() as function, int()):
            return "context", function
        case kind, _ if kind in _OF_CALLS:
            return None
    return look


def _is_renumbered_only(look: Look, facts: ProgramFacts, edited: Edited) -> bool:
    """Whether a change outside of the edited functions consists only of new numbers of their operations."""
    match look:
        case "effects", int(number):
            return facts.function_of(number) not in edited.functions
        case ("function", (FunctionId(), "callers")) | ("object", int()):
            return True
    return False


def _is_inside(look: Look, before: HazardMap, now: HazardMap, edited: Edited) -> bool:
    """Whether a change is visible only in the edited functions, or in the numbers of their operations."""
    old_facts, facts = before.whole_facts, now.whole_facts
    match look:
        case "context" | "effects", int(number):
            if number not in old_facts.contexts or number not in facts.contexts:
                return False
            old, new = old_facts.contexts[number], facts.contexts[number]
            if old.function not in edited.functions:
                return edited.are_same(old, new)
            return edited.are_same(
                replace(old, values=()), replace(new, values=()), new.function
            ) and _is_asked_the_same(before, now, old, new)
        case "function", (FunctionId() as function, "callers"):
            return _callers(old_facts, function, edited, now=False) == _callers(facts, function, edited, now=True)
        case "object", int(number):
            old_object, new_object = old_facts.objects.get(number), facts.objects.get(number)
            made_in = None if new_object is None else new_object.function
            return edited.are_same(old_object, new_object, made_in)
        case "code", FunctionId() as function:
            return function in edited.functions
        case (("function" | "outline" | "path"), about):
            return about is None
    return True


def _callers(facts: ProgramFacts, function: FunctionId, edited: Edited, *, now: bool) -> list[object]:
    """The callers of a function, by their earlier numbers; None for a new one."""
    found: list[object] = []
    for caller in facts.functions[function].callers:
        try:
            found.append(edited.before((caller.context, caller.op)) if now else (caller.context, caller.op))
        except KeyError:
            found.append(None)
    return found


def _is_asked_the_same(before: HazardMap, now: HazardMap, old: ContextFacts, new: ContextFacts) -> bool:
    """Whether each query about all contexts has the same answer for this one, up to operation numbers."""
    views = before.view_unnoted(old), now.view_unnoted(new)
    return all(_without_ops(question(views[0])) == _without_ops(question(views[1])) for question in QUESTIONS)


def _without_ops(answer: object) -> object:
    """The part of an answer at each position; an answer that is not a tuple has no positions."""
    return [each[0] for each in answer] if isinstance(answer, tuple) else answer


def _has_same_code(before: HazardMap, now: HazardMap, edited: FunctionId) -> bool:
    """Whether queries of the code of all functions have the same results for an edited function: it has the same
    imports and creates no class.
    """
    codes = before.whole_codes.of(edited), now.whole_codes.of(edited)
    old, new = ([(each.module, each.name, each.level) for each in code.of_kind(Imported)] for code in codes)
    return old == new and not any(code.of_kind(ClassMade) for code in codes)
