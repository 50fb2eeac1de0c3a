"""Regions that cannot be graphs, but whose function the shim may run.

Gives: `may_co_execute`, `choose_co_executed`. Needs: trials whose search for a graph has ended, and the judge of
their functions. An extracted function does what its statements did, with any decorator, so such a region needs no
other data flow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from terra_refactor.classify.decision import Action, Decision
from terra_refactor.refactor.regions.region import ExtractedFunction
from terra_refactor.workspace.region_trial import Trial, judge_together


def may_co_execute(trial: Trial, decision: Decision) -> bool:
    """Whether the shim may run the present function of a trial.

    It has no conversions and hoisted expressions, which only a graph needs.
    """
    return decision.action is Action.CO_EXECUTE and not trial.converted and not trial.hoisted


def choose_co_executed(
    trials: Sequence[Trial], judged: Callable[[Sequence[Trial]], Mapping[tuple[str, str], Decision]]
) -> None:
    """Sets the functions of the trials that stay eager and that the shim should run; those that are not correct in the
    set are left out.

    `judged` decides about the functions of some trials together.
    """
    made = [trial for trial in trials if trial.best is not None]
    taken = [(trial.path, trial.region) for trial in made]
    chosen: list[Trial] = []
    for trial in trials:
        if trial.best is not None or trial.shim is None:
            continue
        region, decision = trial.shim
        if any(trial.path == path and other is not None and _overlap(region, other) for path, other in taken):
            continue
        trial.region, trial.decision = region, decision
        taken.append((trial.path, region))
        chosen.append(trial)

    def leave_out(trial: Trial, _: Decision | None) -> None:
        trial.region = trial.decision = None

    judge_together(chosen, lambda left: judged([*made, *left]), Action.CO_EXECUTE, leave_out)


def _overlap(one: ExtractedFunction, other: ExtractedFunction) -> bool:
    return one.start < other.end and other.start < one.end
