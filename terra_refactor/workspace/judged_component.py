"""Judging one component: its decisions, findings and regions, reusing the state of the last run.

Computes: the result of one component, even if its analysis fails. Needs: its lowered program, the texts of its files,
a judge, and optionally the place where analyses are kept. Gives: `judged_component`, `Judge`, `Keeper`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from terra_refactor.classify.decision import Decision
from terra_refactor.classify.judgement import FunctionNames
from terra_refactor.config import Config
from terra_refactor.errors import TerraError
from terra_refactor.ir.program import Program
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.cache import LoweringCache, ResultCache
from terra_refactor.workspace.component_result import ComponentResult
from terra_refactor.workspace.copied_process import Checkpoints, end_copy, start_copy
from terra_refactor.workspace.evidence import RunEvidence
from terra_refactor.workspace.found_region import (
    FoundRegion,
    may_have_regions,
    outside_shim,
    region_findings,
    without_shim,
)
from terra_refactor.workspace.judging import judge_program
from terra_refactor.workspace.loading import LoadedProgram
from terra_refactor.workspace.pool import processors_for
from terra_refactor.workspace.results import FileError
from terra_refactor.workspace.watchdog import OverLimitError, ProcessLimits, watched

if TYPE_CHECKING:
    from terra_refactor.workspace.judgement import RepeatedJudge
    from terra_refactor.workspace.kept_regions import KeptRegions

LOGGER = logging.getLogger(__name__)

_SECONDS_BETWEEN_CHECKPOINTS: Final = 30.0
"""In processor time: ten times the time that a checkpoint takes in an analysis of that length."""


class Judge(Protocol):
    """Analyses a program and decides about its functions."""

    def __call__(
        self, program: Program, config: Config, progress: Callable[[int, int], None] | None
    ) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]: ...


def judged_component(
    sources: Mapping[str, Source],
    loaded: LoadedProgram,
    config: Config,
    judge: Judge,
    progress: Callable[[int, int], None],
    evidence: RunEvidence,
    keeper: Keeper | None,
    processes: int = 1,
) -> ComponentResult:
    """The result of a component with these texts. `progress` receives the number of finished functions and of all
    functions.

    If it exceeds the limits of time or memory, its files become errors.

    Raises:
        TerraError: the judge raises it.
        OverLimitError: it exceeds its share of the memory, which several `processes` share; in a single process it
            may succeed.
    """
    from terra_refactor.refactor.cures import confirm_cures  # noqa: PLC0415 - what is in the cache needs none

    def is_out_of_part(error: Exception) -> bool:
        return processes > 1 and isinstance(error, OverLimitError) and error.of_memory

    modules = sorted(loaded.program.modules.values(), key=lambda module: module.path)
    sources = {module.path: sources[module.path] for module in modules}
    lines = sum(module.line_count for module in modules)
    limits = ProcessLimits.of(lines, processes)
    repeated = kept = None
    has_regions = config.extract and any(may_have_regions(source) for source in sources.values())
    if keeper is not None:
        repeated = keeper.judge_of(loaded.program, config)
        kept = keeper.regions_of(repeated) if has_regions else None
    elif has_regions:
        # the program is judged several times, each time with few changed functions
        repeated = _fresh_judge()
    if repeated is not None and judge is judge_program:
        judge = repeated.decided
    processors = processors_for(config.jobs) // processes
    checkpoints = Checkpoints(processors, _SECONDS_BETWEEN_CHECKPOINTS)
    if repeated is not None and keeper is not None and not repeated.is_restored:
        repeated.is_checkpoint = checkpoints.is_copy
        repeated.end_checkpoint = partial(end_copy, partial(keeper.keep, repeated, loaded.program))
    regions: tuple[FoundRegion, ...] = ()
    try:
        program = evidence.given_to(loaded.program)
        try:
            decisions, findings = watched(lambda: judge(program, config, progress), limits)
        except Exception as error:
            if repeated is None or not repeated.is_restored or isinstance(error, TerraError | OverLimitError):
                raise
            LOGGER.exception("the stored results about %s cannot be used", ", ".join(sorted(loaded.program.modules)))
            repeated = _fresh_judge()
            judge = repeated.decided
            decisions, findings = watched(lambda: judge(program, config, progress), limits)
    except TerraError:
        raise
    except OverLimitError as error:
        if is_out_of_part(error):
            raise
        LOGGER.error("the analysis of %s was ended: %s", ", ".join(sorted(loaded.program.modules)), error)
        return _failed(loaded, f"the analysis was ended: {error}")
    except Exception as error:  # an internal error, or lack of memory, affects these files, and is logged
        LOGGER.exception("the analysis of %s failed", ", ".join(sorted(loaded.program.modules)))
        return _failed(loaded, f"the analysis failed inside ({type(error).__name__}: {error})")
    finally:
        if repeated is not None:
            repeated.is_checkpoint = None
        if not isinstance(sys.exc_info()[1], KeyboardInterrupt):
            checkpoints.end()
    is_kept, copy = False, None
    if repeated is not None and keeper is not None and repeated.has_much_that_is_new:
        keep = partial(keeper.keep, repeated, program)
        copy = start_copy(keep, processors) if has_regions else None
        is_kept = copy is not None or keep()
    try:
        if repeated is not None and has_regions:
            judge_regions = partial(_regions, program, sources, decisions, config, repeated, kept, keeper, note=is_kept)
            regions = watched(judge_regions, limits)
    except Exception as error:  # an internal error affects only the regions, and is logged
        if is_out_of_part(error):
            raise
        LOGGER.exception("the regions of %s failed", ", ".join(sorted(program.modules)))
    finally:
        if copy is not None and not isinstance(sys.exc_info()[1], KeyboardInterrupt):
            copy.wait()
    return ComponentResult(
        decisions=without_shim(decisions, regions),
        judged=findings,
        findings=(*confirm_cures(findings, sources), *region_findings(regions)),
        regions=outside_shim(regions, decisions),
        errors=loaded.errors,
        files=tuple(sources),
        lines=lines,
        cached_files=loaded.cached_files,
    )


def _fresh_judge() -> RepeatedJudge:
    from terra_refactor.workspace.judgement import RepeatedJudge  # noqa: PLC0415 - what is in the cache needs none

    return RepeatedJudge()


@dataclass(frozen=True, slots=True)
class Keeper:
    """Stores the state of a component's analysis for the next run."""

    modules: LoweringCache
    results: ResultCache
    place: str

    def judge_of(self, program: Program, config: Config) -> RepeatedJudge:
        """A judge with the state of the last run, if there is one."""
        from terra_refactor.workspace.kept_analysis import resumed_judge  # noqa: PLC0415 - what is in the cache needs none

        return resumed_judge(self.results, self.modules, self.place, program, config) or _fresh_judge()

    def regions_of(self, judge: RepeatedJudge) -> KeptRegions | None:
        """The regions of the last run, if there are any: the judge then checks whether they are those of its next program."""
        from terra_refactor.workspace.kept_analysis import regions_known_to  # noqa: PLC0415 - what is in the cache needs none

        return regions_known_to(self.results, judge)

    def keep_regions(self, program: Program, regions: KeptRegions) -> None:
        """Stores the regions of a program whose analysis was stored."""
        from terra_refactor.workspace.kept_analysis import keep_regions  # noqa: PLC0415 - what is in the cache needs none

        keep_regions(self.results, self.place, program, regions)

    def keep(self, judge: RepeatedJudge, program: Program) -> bool:
        """Stores the present state; returns whether it was stored."""
        from terra_refactor.workspace.kept_analysis import keep_analysis  # noqa: PLC0415 - what is in the cache needs none

        try:
            keep_analysis(self.results, self.place, judge, program)
        except Exception:  # an internal error only makes the next run slower, and is logged
            LOGGER.exception("the results about %s cannot be stored", ", ".join(sorted(program.modules)))
            return False
        return True


def _regions(
    program: Program,
    sources: Mapping[str, Source],
    decisions: Sequence[Decision],
    config: Config,
    repeated: RepeatedJudge,
    kept: KeptRegions | None,
    keeper: Keeper | None,
    *,
    note: bool,
) -> tuple[FoundRegion, ...]:
    """The regions: those of the last run if all dependencies of the decision are unchanged.

    With `note`, they are stored for the next run.
    """
    from terra_refactor.classify.alike import Seen  # noqa: PLC0415 - what is in the cache needs none
    from terra_refactor.workspace.kept_regions import KeptRegions  # noqa: PLC0415 - what is in the cache needs none
    from terra_refactor.workspace.region_trials import find_trials, places_of  # noqa: PLC0415 - what is in the cache needs none
    from terra_refactor.workspace.regions import judge_trials  # noqa: PLC0415 - what is in the cache needs none

    def decide(changed: Program, names: FunctionNames) -> Sequence[Decision]:
        return repeated.decided_about(changed, config, names)

    trials = find_trials(sources, decisions)
    candidates = places_of(trials, sources)
    if kept is not None and repeated.is_as_expected and kept.candidates == candidates:
        return kept.regions
    repeated.seen = seen = Seen() if note else None
    found = judge_trials(program, sources, trials, decide, None if keeper is None else keeper.modules)
    if seen is not None and seen.is_complete and keeper is not None:
        keeper.keep_regions(program, KeptRegions(candidates, found, seen))
    return found


def _failed(loaded: LoadedProgram, why: str) -> ComponentResult:
    """The result of a component that could not be analysed: each of its files is an error."""
    message = f"could not be analysed: {why}"
    errors = tuple(FileError(module.path, 0, message, by_chance=True) for module in loaded.program.modules.values())
    return ComponentResult((), (), (), (*loaded.errors, *errors), (), 0, 0)
