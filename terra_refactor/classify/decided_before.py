"""Decisions about an earlier state of a program, kept for the next.

Computes: which functions have changed, including only in their positions. Needs: both programs. Gives:
`DecidedBefore`, `decided_from`, `moved_functions`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

from terra_refactor.classify.decision import Decision
from terra_refactor.domain.effect import EffectSite
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program


@dataclass(frozen=True, slots=True)
class DecidedBefore:
    """A decision with its dependencies."""

    made_from: tuple[object, ...]
    """Compared by identity."""
    places: frozenset[FunctionId]
    """The functions whose positions or names it contains."""
    decision: Decision


def decided_from(
    made_from: tuple[object, ...], decision: Decision, ways: Iterable[Iterable[EffectSite]]
) -> DecidedBefore:
    """A decision to keep, which contains positions of its function and of the calls on these paths."""
    places = {FunctionId(site.module, site.function) for way in ways for site in way}
    return DecidedBefore(made_from, frozenset({*places, decision.function}), decision)


def moved_functions(before: Program, now: Program) -> frozenset[FunctionId]:
    """The functions of a program that are not the same objects as in another one with the same modules."""
    return frozenset(
        function.id
        for name, module in now.modules.items()
        if (earlier := before.modules[name]) is not module
        for function, old in zip_longest(module.functions, earlier.functions)
        if function is not None and function is not old
    )
