"""Runs a context alone: from the recorded reads of an earlier run, instead of the state of its caller.

Computes: nothing. Needs: a summary that `reuse` keeps. Gives: `run_alone`, `RecordedState`, `AsRecorded`, `NotAloneError`.

So the analysis knows, before any caller runs, whether a changed function still has the same result. A read that the
old run did not make gives `NOT_RECORDED`: no summary matches it, and a summary that has read it differs from the old
one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from typing import Final, Protocol

from terra_refactor.analysis.engine import Engine
from terra_refactor.analysis.facts import EntryKind
from terra_refactor.analysis.frames import Summary
from terra_refactor.analysis.log import ContextKey
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.state import EXISTS, HeapKey, LevelNames, Naming, SettledHeap, State
from terra_refactor.domain.value import UnknownValue, Value

NOT_RECORDED: Final = UnknownValue(reason="not recorded")


class NotAloneError(BaseException):
    """A context that is run alone needs information that only a whole run has. Not an analysis error."""


class RecordedState(State):
    """The state outside of a context, as far as it was recorded."""

    __slots__ = ("_absent", "_reads")

    def __init__(self, reads: Mapping[HeapKey, Value | None], absent: Set[HeapKey], settled: SettledHeap) -> None:
        super().__init__(None, {}, None)
        self.settled = settled
        self.heap = {key: value for key, value in reads.items() if value is not None}
        self._reads, self._absent = reads, absent

    def get(self, key: HeapKey) -> Value | None:
        """The recorded value; `NOT_RECORDED` if there is none."""
        if key in self._reads:
            return self._reads[key]
        return None if (key[0], EXISTS) in self._absent else NOT_RECORDED

    def has_none_of(self, absent: Set[HeapKey]) -> bool:
        """Whether the objects are recorded as absent."""
        return absent <= self._absent


class AsRecorded(Naming):
    """A naming that keeps names and values as the context has recorded them."""

    __slots__ = ()

    def __init__(self, names: LevelNames, callee: Hashable) -> None:
        super().__init__({}, names, callee)

    def inward(self, value: Value) -> Value:
        """The unchanged value."""
        return value

    def outward_object(self, number: int) -> int:
        """The unchanged name."""
        return number


class Runner(Engine, Protocol):
    """An engine that runs single contexts."""

    alone: int
    one_of_several: int
    floats: DType | None
    default_weights: bool

    def run_context(
        self,
        key: ContextKey,
        state: State,
        parameters: dict[str, Value],
        entry: EntryKind,
        naming: Naming | None,
        *,
        general: bool,
    ) -> Summary: ...


def run_alone(engine: Runner, summary: Summary) -> Summary | None:
    """Runs a context of an earlier run again, from its recorded reads; None if these do not determine the result."""
    log = summary.log
    assert log is not None
    before = engine.expecting_errors, engine.one_of_several, engine.floats, engine.default_weights
    expecting, several, engine.floats, engine.default_weights, general = log.flags
    engine.expecting_errors, engine.one_of_several = int(expecting), int(several)
    engine.alone += 1
    outside = RecordedState(log.reads, summary.absent, engine.world.settled)
    naming = AsRecorded(engine.objects.level_names, log.key[0])
    try:
        return engine.run_context(log.key, outside, dict(summary.parameters), summary.entry, naming, general=general)
    except NotAloneError:
        return None
    finally:
        engine.alone -= 1
        engine.expecting_errors, engine.one_of_several, engine.floats, engine.default_weights = before
