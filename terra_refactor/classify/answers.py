"""Cached queries about the functions of a program: each answer is computed once, and kept for the next state of the
program if it is valid.

Computes: nothing of its own. Needs: a recorder of looks at a program, and a comparison of two of its states. Gives:
`Question`, `Answers`.

An answer is kept with its dependencies, in order: looks at the program, and other answers. In another state of the
program it is doubtful if a dependency has changed, however far away; when it is used, it is still valid if all looks
have the same results, and the other answers, recomputed if invalid, are equal (Hammer et al., "Adapton: composable,
demand-driven incremental computation", PLDI 2014).

A query that depends on itself (recursion) gets `meanwhile`, so its answer depends on where the cycle was entered. The
answers of the cycle, and those that used one of them before the cycle was done, are not kept: they are recomputed in
each state, and answers that used them afterwards are valid if they are equal. Dependencies are compared in order, so
only answers are recomputed that a computation from scratch would use: as long as each is equal to the earlier one,
the next one would be used, too.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from terra_refactor.facts.watch import Look, Looks

ProgramT = TypeVar("ProgramT")
"""The state of the program that queries refer to."""
AboutT = TypeVar("AboutT", bound=Hashable)
AnswerT = TypeVar("AnswerT")


class Renumbered(Protocol):
    """Numbers of operations in two states of a program."""

    def before(self, about: Hashable) -> Hashable:
        """The subject of a query or look, with the operation numbers of the earlier state.

        Raises KeyError if there were no such operations.
        """

    def are_same(self, old: object, new: object, about: Hashable) -> bool:
        """Whether two answers to the same query are equal, up to operation numbers."""


class Question(Generic[ProgramT, AboutT, AnswerT]):
    """A query about a context or a function, by number or identity. Answers are compared, and must be immutable."""

    __slots__ = ("answer", "meanwhile")

    def __init__(self, answer: Callable[[ProgramT, AboutT], AnswerT], meanwhile: AnswerT) -> None:
        self.answer = answer
        self.meanwhile = meanwhile


@dataclass(slots=True, eq=False)
class _Answer:
    question: Question[Any, Any, Any]
    about: Hashable
    value: object = None
    looks: dict[Look | _Answer, object] = field(default_factory=dict)
    """Dependencies in order; for an answer, with its value."""
    users: set[_Answer] = field(default_factory=set)
    """Dependents."""
    settled: bool = False
    running: bool = False
    recursive: bool = False
    """It used a query that was still being answered, or an answer that depends on one."""
    root: _Answer | None = None
    """The outermost of these queries: until it is answered, answers that use this one are part of the recursion, too."""
    depth: int = 0
    """The number of enclosing open queries."""
    changed: bool = False
    """A look on which it depends has a changed result."""
    asked: tuple[tuple[_Answer, object], ...] | None = None
    """The answers among `looks`, computed on first access."""


_NO_LOOKS: Final[dict[Look | _Answer, object]] = {}
_NO_USERS: Final[set[_Answer]] = set()
"""Shared by answers without dependents, to save memory: there are several answers for each context."""


def _is_pair(look: Look) -> bool:
    """Whether it is a look at the value of an operation in a context."""
    about = look[1]
    return look[0] == "value" and isinstance(about, tuple) and isinstance(about[0], int)


class Answers(Generic[ProgramT]):
    """The answers about a program. With `keeps`, they outlive one state of it."""

    def __init__(self, *, keeps: bool) -> None:
        self._keeps = keeps
        self._program: ProgramT | None = None
        self._notes: Looks | None = None
        self._found: dict[tuple[Question[Any, Any, Any], Hashable], _Answer] = {}
        self._users: dict[Look, set[_Answer]] = {}
        """The dependents of each look."""
        self._running: list[_Answer] = []
        self._doubtful: list[_Answer] = []
        """Answers that may be invalid."""
        self._given: dict[_Answer, tuple[object, dict[Look | _Answer, object]]] = {}
        """Answers computed in this state, with their earlier values and dependencies, if any."""
        self._has_earlier = False
        self.are_complete = False
        """Whether all of these are known: there was an earlier state, and no query of this one raised an error."""

    @property
    def count(self) -> int:
        """Number of answers."""
        return len(self._found)

    def kept(self) -> tuple[object, ...]:
        """All answers as data: the looks by number, and each answer with the numbers of its dependencies; negative
        numbers stand for answers.
        """
        numbers = {answer: number for number, answer in enumerate(self._found.values())}
        # most looks are at values of contexts: pairs of numbers, which need no object each
        pairs = [look for look in self._users if _is_pair(look)]
        others = [look for look in self._users if not _is_pair(look)]
        looks = {look: number for number, look in enumerate((*pairs, *others))}
        flat = array("q", chain.from_iterable(cast("tuple[int, int]", look[1]) for look in pairs))
        answers = []
        for answer in numbers:
            made_from = array(
                "i", [~numbers[look] if isinstance(look, _Answer) else looks[look] for look in answer.looks]
            )
            # it depends only on this value of the other answer, except in a recursion
            exceptions = {
                place: known
                for place, (look, known) in enumerate(answer.looks.items())
                if isinstance(look, _Answer) and look.value is not known
            }
            answers.append(
                (answer.question, answer.about, answer.value, answer.recursive, made_from.tobytes(), exceptions)
            )
        return flat.tobytes(), others, answers

    def restore(self, kept: tuple[Any, ...]) -> None:
        """Restores stored answers."""
        flat, others, made = kept
        numbers = array("q")
        numbers.frombytes(flat)
        looks: list[Look] = [*(("value", pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)), *others]
        answers = [
            _Answer(question, about, value, settled=True, recursive=recursive)
            for question, about, value, recursive, _, _ in made
        ]
        users: list[set[_Answer]] = [set() for _ in looks]
        for answer, (*_, own, exceptions) in zip(answers, made, strict=True):
            made_from = array("i")
            made_from.frombytes(own)
            for place, number in enumerate(made_from):
                if number >= 0:
                    answer.looks[looks[number]] = None
                    users[number].add(answer)
                else:
                    other = answers[~number]
                    answer.looks[other] = exceptions.get(place, other.value)
                    other.users.add(answer)
            self._found[answer.question, answer.about] = answer
        self._users = dict(zip(looks, users, strict=True))

    def looked_at(self, *kinds: str) -> Iterator[Look]:
        """The looks of some kinds on which answers depend."""
        return (look for look in self._users if look[0] in kinds)

    def looks_of_new(self) -> Iterator[Look]:
        """The looks of answers that were computed in this state, not reused."""
        return (look for answer in self._given for look in answer.looks if not isinstance(look, _Answer))

    def are_steady(self, places: Renumbered) -> bool:
        """Whether each answer computed in this state equals the one in the previous state, with the same dependencies,
        up to positions.
        """
        return self.are_complete and all(map(partial(self._is_steady, places), self._given))

    def _is_steady(self, places: Renumbered, answer: _Answer) -> bool:
        try:
            before = self._found.get((answer.question, places.before(answer.about)))
            if before is None:
                return False
            value, looks = self._given.get(before, (before.value, before.looks))
            if len(looks) != len(answer.looks):
                return False
            for look in answer.looks:
                was: Look | _Answer | None
                if isinstance(look, _Answer):
                    was = self._found.get((look.question, places.before(look.about)))
                else:
                    was = look[0], places.before(look[1])
                if was is None or was not in looks:
                    return False
        except KeyError:
            return False
        return places.are_same(value, answer.value, answer.about)

    def begin(self, program: ProgramT, notes: Looks | None, changed: AbstractSet[Look] | None) -> None:
        """Sets the new state of the program, in which these looks have changed results; None if unknown."""
        self._program = program
        self._given = {}
        self._has_earlier = self.are_complete = changed is not None
        self._notes = notes
        if changed is None:
            self._found, self._users, self._doubtful = {}, {}, []
            return
        pending = [answer for look in changed for answer in self._users.get(look, ())]
        for answer in pending:
            answer.changed = True
        pending += [answer for answer in self._found.values() if answer.recursive]
        while pending:
            answer = pending.pop()
            if answer.settled:
                answer.settled = False
                self._doubtful.append(answer)
                pending.extend(answer.users)

    def end(self) -> None:
        """Releases the state after the last query about it; answers that were not used again are dropped."""
        for answer in self._doubtful:
            if not answer.settled:
                self._unlink(answer)
                answer.users = set()
                del self._found[answer.question, answer.about]
        self._doubtful, self._given = [], {}
        self._program = None

    def ask(self, question: Question[ProgramT, AboutT, AnswerT], about: AboutT) -> AnswerT:
        """The answer to a query."""
        found = self._found.get((question, about))
        if found is None:
            found = self._found[question, about] = (
                _Answer(question, about) if self._keeps else _Answer(question, about, looks=_NO_LOOKS, users=_NO_USERS)
            )
        value = found.value
        if not found.settled:
            if found.running:
                value = question.meanwhile
                self._meet(found)
            else:
                self._settle(found)
                value = found.value
        if self._keeps and self._running:
            if found.root is not None and found.root.running:
                self._meet(found.root)
            self._running[-1].looks[found] = value
        return cast(AnswerT, value)

    def _meet(self, root: _Answer) -> None:
        """Records that the open queries inside a query depend on its provisional answer."""
        for running in self._running[root.depth :]:
            running.recursive = True
            known = running.root
            if known is None or not known.running or known.depth > root.depth:
                running.root = root

    def _settle(self, found: _Answer) -> None:
        found.depth = len(self._running)
        self._running.append(found)
        found.running = True
        notes = self._notes
        outer = None if notes is None else notes.looks
        try:
            if not self._holds(found):
                value, looks = found.value, found.looks
                self._unlink(found)
                found.recursive, found.root, found.changed = False, None, False
                if notes is not None:
                    notes.looks = cast("dict[Look, object]", found.looks)
                try:
                    found.value = found.question.answer(self._program, found.about)
                except BaseException:
                    found.looks = {} if self._keeps else _NO_LOOKS
                    self.are_complete = False
                    raise
                if self._keeps:
                    self._link(found)
                    if self._has_earlier:
                        self._given.setdefault(found, (value, looks))
            found.settled = True
        finally:
            found.running = False
            found.root = None if found.root is found else found.root
            self._running.pop()
            if notes is not None and outer is not None:
                notes.looks = outer

    def _holds(self, found: _Answer) -> bool:
        """Whether the kept answer of an earlier state is still valid."""
        if found.recursive or found.changed or not found.looks:
            return False
        looks, asked = found.looks, found.asked
        if asked is None:
            answers = ((look, known) for look, known in looks.items() if isinstance(look, _Answer))
            asked = found.asked = tuple(answers)
        # nested queries are recorded with other answers
        found.looks = {}
        try:
            for look, known in asked:
                now = self.ask(look.question, look.about)
                if (now is not known and now != known) or found.recursive:
                    return False
        finally:
            found.looks = looks
        return True

    def _link(self, answer: _Answer) -> None:
        for look in answer.looks:
            users = look.users if isinstance(look, _Answer) else self._users.setdefault(look, set())
            users.add(answer)

    def _unlink(self, answer: _Answer) -> None:
        if not self._keeps:
            return
        for look in answer.looks:
            if isinstance(look, _Answer):
                look.users.discard(answer)
            elif (users := self._users.get(look)) is not None:
                users.discard(answer)
                if not users:
                    del self._users[look]
        answer.looks, answer.root, answer.asked = {}, None, None
