"""Parts of the facts of one run, so that the next run assembles only changed ones.

Computes: nothing. Gives: `AssembledPart` (of one context), `Assembled`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from terra_refactor.analysis.facts import CallFact, ContextFacts, ContextId, FunctionFacts
from terra_refactor.analysis.frames import Summary
from terra_refactor.analysis.staleness import StateChanges
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.evidence import Evidence
from terra_refactor.ir.ids import FunctionId, OpId


@dataclass(frozen=True, slots=True)
class AssembledPart:
    """The facts of one context in the form that other contexts and functions need."""

    summary: Summary
    is_real: bool
    calls: tuple[CallFact, ...]
    called: frozenset[int]
    """The identities of the summaries that it calls."""
    targets: tuple[tuple[FunctionId, OpId], ...]
    """The functions that it calls, each with the call operation."""
    unresolved: frozenset[str]

    @property
    def touched(self) -> Iterator[FunctionId]:
        """The functions whose facts depend on it."""
        yield self.summary.function.id
        yield from (target for target, _ in self.targets)
        yield from self.summary.arrivals

    @property
    def outward(self) -> tuple[object, ...]:
        """The properties that other contexts depend on: its reads of state, and the functions that call themselves."""
        summary = self.summary
        writes = tuple(effect for effect in summary.effects if effect.kind is EffectKind.STATE_WRITE)
        between = summary.stale_reads, summary.rewritten_reads, summary.repeats
        return summary.function.id, between, writes, {target for target, _ in self.targets}


@dataclass(slots=True)
class Assembled:
    """The assembled parts of one run, so that the next run assembles only changed ones."""

    parts: Mapping[ContextId, AssembledPart]
    numbers: Mapping[int, ContextId]
    contexts: Mapping[ContextId, ContextFacts]
    functions: Mapping[FunctionId, FunctionFacts]
    cycles: frozenset[FunctionId]
    recursive: frozenset[FunctionId]
    unresolved: frozenset[str]
    wrapped: Mapping[FunctionId, object]
    problems: Mapping[FunctionId, str]
    evidence: Mapping[FunctionId, Mapping[str, Evidence]]
    changes: StateChanges

    def kept(self) -> tuple[object, ...]:
        """The contents as plain data, for storage."""
        return *(getattr(self, each.name) for each in fields(self)[:-1]), self.changes.kept()

    @staticmethod
    def restored(kept: tuple[Any, ...]) -> Assembled:
        """The parts restored from stored contents."""
        names = [each.name for each in fields(Assembled)]
        return Assembled(**dict(zip(names, (*kept[:-1], StateChanges.restored(kept[-1])), strict=True)))
