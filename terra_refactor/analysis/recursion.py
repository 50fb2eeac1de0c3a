"""Recursion: running contexts, and calls of them from inside.

Computes: the result of a recursive call, and the finished contexts that depend on it. Needs: the contexts. Gives: `Recursions`,
`Running`.

A context that calls itself is run in rounds. A recursive call returns the result of the last round (nothing, in the
first one), until a round returns and reads nothing new. Contexts analysed within a round depend on the result of the
previous round: they are discarded when the next round begins, and those of the last round are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from terra_refactor.analysis.boundary import less_known
from terra_refactor.analysis.contexts import SummaryTable
from terra_refactor.analysis.frames import Summary
from terra_refactor.analysis.log import Called, ContextKey, Event, Log
from terra_refactor.domain.lattice import widen
from terra_refactor.domain.state import CLASS, EXISTS, HeapKey, Naming, State, Suspect, same_reads
from terra_refactor.domain.value import Bottom, UnknownValue, Value

_MAX_ROUNDS: Final = 5
"""Maximum number of rounds; if the result still changes, it becomes unknown."""


@dataclass(slots=True, eq=False)
class Running:
    """A context that is being interpreted."""

    depth: int
    boundary: State | None = None
    """Its boundary: the reads so far identify the state in which it runs."""
    reads: dict[HeapKey, Value | None] = field(default_factory=dict)
    """The reads of its earlier rounds, which also identify that state."""
    absent: dict[HeapKey, None] = field(default_factory=dict)
    fixed: dict[HeapKey, None] = field(default_factory=dict)
    """The settled fields that earlier rounds read."""
    used: dict[int, None] = field(default_factory=dict)
    """The contexts whose results it has used."""
    last: Summary | None = None
    """Result of its last round, which its recursive calls return."""
    recursed: bool = False
    rests: dict[Running, None] = field(default_factory=dict)
    """The enclosing contexts whose last results it depends on."""
    suspect: Suspect = field(default_factory=Suspect)
    pending: list[tuple[ContextKey, Summary]] = field(default_factory=list)
    """Finished contexts that depend on this one, and on no enclosing one."""

    def runs_in(self, state: State, naming: Naming | None) -> bool:
        """Whether a state is the one in which it runs, as far as it has read that."""
        boundary = self.boundary
        if boundary is None:
            return False
        reads, suspect = boundary.reads or {}, self.suspect
        if not same_reads(state, reads, boundary.absent.keys(), naming, suspect):
            return False
        return not self.reads or same_reads(state, self.reads, self.absent.keys(), naming, suspect)

    def note_reads(self) -> bool:
        """Adds the reads of the finished round; returns whether there are new ones."""
        assert self.boundary is not None and self.boundary.reads is not None
        before = len(self.reads), len(self.absent)
        self.reads.update(self.boundary.reads)
        self.absent.update(self.boundary.absent)
        self.fixed.update(self.boundary.fixed)
        return (len(self.reads), len(self.absent)) != before


class Recursions:
    """The contexts that are being interpreted, outermost first, and the finished contexts that depend on each."""

    def __init__(self, contexts: SummaryTable) -> None:
        self._contexts = contexts
        self._stack: list[Running] = []
        self._of: dict[ContextKey, list[Running]] = {}
        """Running contexts by key; there may be several in different states, the innermost last."""
        self._rests: dict[int, dict[Running, None]] = {}
        """The running contexts on which finished contexts depend."""

    def enter(self, key: ContextKey) -> Running:
        """Starts a context."""
        running = Running(len(self._stack))
        self._stack.append(running)
        self._of.setdefault(key, []).append(running)
        return running

    def leave(self, key: ContextKey, running: Running) -> None:
        """Ends a context, whether it succeeded or not."""
        self._stack.pop()
        same_key = self._of[key]
        same_key.pop()
        if not same_key:
            del self._of[key]
        rests = running.rests
        for each, summary in running.pending:
            on = {**self._rests.pop(summary.identity, {}), **rests}
            on.pop(running, None)
            self._note(each, summary, on)

    def of(self, key: ContextKey) -> list[Running]:
        """The contexts of that key that are being interpreted."""
        return self._of.get(key, [])

    def finish(self, key: ContextKey, running: Running, summary: Summary) -> None:
        """Adds the summary of a context that has ended."""
        for _, each in running.pending:
            self._contexts.use(each, summary.identity)
        if running.rests:
            self._note(key, summary, running.rests)
            self._rest_on(running.rests)

    def use(self, summary: Summary) -> None:
        """Records that a call uses a finished context."""
        if self._stack:
            self._stack[-1].used[summary.identity] = None
        rests = self._rests.get(summary.identity)
        if rests:
            self._rest_on(rests)

    def unfinished(self) -> tuple[int, ...]:
        """The finished contexts that depend on running ones."""
        return tuple(self._rests)

    def recurse(self, running: Running) -> Summary | None:
        """Result of a call of a running context in its own state; None if there is none."""
        running.recursed = True
        self._rest_on((running,))
        return running.last

    def run_in_rounds(self, running: Running, log: Log | None, run: Callable[[], Summary]) -> Summary:
        """Runs a context until its result, which its own recursive calls use, no longer changes."""
        for rounds in range(_MAX_ROUNDS + 1):
            self._begin_round(running, log)
            last = running.last
            summary = run()
            if not running.recursed and last is None:
                return summary
            grown = running.note_reads()
            if not running.recursed:
                break
            if rounds == _MAX_ROUNDS:
                # the contexts of this round depend on discarded results of the previous round
                _give_up(summary, last)
                break
            if last is not None and _is_no_more_than(summary, last) and not grown:
                break
            _see_no_end(summary)
            if rounds == _MAX_ROUNDS - 1:
                _give_up(summary, last)
            running.last = summary
        summary.reads, summary.absent = running.reads, frozenset(running.absent)
        return summary

    def _begin_round(self, running: Running, log: Log | None) -> None:
        """Discards the contexts that depend on the previous result of the context."""
        dropped, running.pending = running.pending, []
        if dropped:
            for _, summary in dropped:
                self._rests.pop(summary.identity, None)
                running.fixed.update(dict.fromkeys(summary.fixed))
                running.used.update(dict.fromkeys(summary.used))
            self._contexts.drop(dropped)
            if log is not None:
                _take_in(log, [summary for _, summary in dropped])
        running.recursed = False

    def _rest_on(self, rests: Iterable[Running]) -> None:
        if self._stack:
            innermost = self._stack[-1]
            innermost.rests.update((each, None) for each in rests if each is not innermost)

    def _note(self, key: ContextKey, summary: Summary, rests: Mapping[Running, None]) -> None:
        if rests:
            self._rests[summary.identity] = dict(rests)
            max(rests, key=lambda each: each.depth).pending.append((key, summary))


def _is_no_more_than(summary: Summary, last: Summary) -> bool:
    """Whether the result of a round is covered by the previous one, to which it is joined."""
    summary.returns = widen(last.returns, summary.returns)
    writes = dict(last.writes)
    for place, value in summary.writes.items():
        writes[place] = widen(writes[place], value) if place in writes else value
    summary.writes = writes
    return summary.returns == last.returns and writes == last.writes


def _see_no_end(summary: Summary) -> None:
    """The result of a recursion that has no end, or whose end was not found; in the former case it is never certain."""
    if type(summary.returns) is Bottom:
        summary.returns = UnknownValue(reason="recursion")


def _give_up(summary: Summary, last: Summary | None) -> None:
    """Widens all results and writes that still change to unknown."""
    if last is not None:
        _is_no_more_than(summary, last)
    summary.returns = UnknownValue(reason="recursion")
    summary.writes = {
        place: value if place[1] in (EXISTS, CLASS) else less_known(value) for place, value in summary.writes.items()
    }


def _take_in(log: Log, dropped: Iterable[Summary]) -> None:
    """Adds the notifications and queries of discarded contexts to their caller's log."""
    events: dict[int, list[Event]] = {}
    for summary in dropped:
        inner = summary.log
        if inner is None:
            log.spoiled = True
            return
        events[summary.identity] = _expanded(inner, events)
        log.bodies |= inner.bodies
        log.codes |= inner.codes
        log.recursive |= inner.recursive
        log.spoiled = log.spoiled or inner.spoiled
    log.events = _expanded(log, events)
    if any(type(event) is Called and event.identity in events for event in log.events):
        log.spoiled = True


def _expanded(log: Log, events: Mapping[int, list[Event]]) -> list[Event]:
    """The events of a log, in which calls that first found discarded contexts are replaced by the events of those."""
    result: list[Event] = []
    for event in log.events:
        if type(event) is Called and event.joined is None and event.identity in events:
            result.extend(events[event.identity])
        else:
            result.append(event)
    return result
