"""Queries about the own code and values of every context, kept for the next state of the program.

Computes: nothing of its own. Needs: facts. Gives: `EachContext`, `about_each_context`. Unlike an answer of
`answers.py`, such an answer depends only on the context's facts and the body of its function, so it is kept if both
are the same objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar, cast

from terra_refactor.analysis.facts import ContextFacts, ContextId, ProgramFacts
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.view import ContextView

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Known(Generic[_T]):
    context: ContextFacts
    body: object
    """The body of its function; compared by identity."""
    answer: _T


_Answers: TypeAlias = dict[ContextId, "_Known[object]"]

QUESTIONS: Final[list[Callable[[ContextView], object]]] = []
"""All queries about every context."""
QuestionT = TypeVar("QuestionT", bound=Callable[[ContextView], object])


def about_each_context(question: QuestionT) -> QuestionT:
    """Registers a query about every context."""
    QUESTIONS.append(question)
    return question


class EachContext:
    """The answers about each context of a program; unchanged ones of the `earlier` state are reused."""

    def __init__(self, facts: ProgramFacts, codes: Codes, earlier: EachContext | None) -> None:
        self._facts = facts
        self._codes = codes
        self._earlier: dict[object, _Answers] = {} if earlier is None else earlier._found
        self._found: dict[object, _Answers] = {}

    def ask(
        self, question: Callable[[ContextView], _T], view: Callable[[ContextFacts], ContextView]
    ) -> Iterator[tuple[ContextFacts, _T]]:
        """Every context with the answer about it.

        `question` is one of `QUESTIONS`. It may read the context's facts and the facts of its function's code except
        positions, but nothing that belongs to another function or context.
        """
        found = self._found.get(question)
        assert question in QUESTIONS, question
        if found is None:
            known = self._earlier.get(question, {})
            found = self._found[question] = {}
            for context in self._facts.contexts:
                kept, body = known.get(context.id), self._codes.of(context.function).function.body
                if kept is None or kept.context is not context or kept.body is not body:
                    kept = _Known(context, body, question(view(context)))
                found[context.id] = kept
        for kept in found.values():
            yield kept.context, cast(_T, kept.answer)

    def end(self) -> None:
        """Releases the data that only this state needs."""
        self._earlier = {}
