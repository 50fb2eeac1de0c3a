"""The single entry point: analyze, lint, fix and verify.

Computes: the steps from paths to results: discover, read, parse, lower, analyse, decide. Needs: paths and `Options`.
Gives: `analyze`, `lint`, `fix`, `verify`, `fix_verified`. Ignores: how results are shown, and whether anything is
written (`refactor.apply`).

Modules that only some runs need (the analysis, LibCST, refactoring, running programs) are imported where they are
used: a run with only cache hits spends most of its time on imports.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from terra_refactor.classify.decision import Action, Decision, Level
from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.refactor.result import Change, FileRefactoring, Outcome
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.source import Source
from terra_refactor.verify.verdict import Status, Verification
from terra_refactor.workspace.at_releases import at_releases
from terra_refactor.workspace.cache import LoweringCache, ResultCache
from terra_refactor.workspace.collection import collect_after_many, without_collection
from terra_refactor.workspace.components import AnalysedFiles, Caches, judge_components
from terra_refactor.workspace.evidence import read_evidence
from terra_refactor.workspace.found_region import LeftOut, chosen_regions
from terra_refactor.workspace.judged_component import Judge
from terra_refactor.workspace.judging import judge_program
from terra_refactor.workspace.loading import StandardInput, read_project
from terra_refactor.workspace.pins import assumed_releases, read_pins
from terra_refactor.workspace.project import STDIN
from terra_refactor.workspace.results import FixReport, Stats, VerifyReport, WorkspaceReport
from terra_refactor.workspace.revision import baseline_at
from terra_refactor.workspace.selection import Selection, check_selection, compared, select_findings, without_known

if TYPE_CHECKING:
    from terra_refactor.verify.session import Setting

ProgressCallback: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of the stage, the finished amount, and the total."""


MAX_ROUNDS: Final = 10
"""Maximum number of rounds of fixing findings that earlier fixes caused."""
_AS_THEY_ARE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run.

    Attributes:
        config: the configuration, including command-line options.
        exclude: globs of the command line, relative to the current folder.
        stdin: the text of standard input, for the path `-`.
        use_cache: whether lowered modules and results are read from and written to the cache.
        coverage: the files to analyse; there are no decisions about functions in others.
        diff_base: a git revision; only findings that are new since then are reported, and no baseline is read.
        follow_links: whether links that lead out of the given paths are followed. Their targets are read, never
            written.
        progress: receives the progress of a run.
        judge: the analysis and the decision.
    """

    config: Config = field(default_factory=Config)
    exclude: tuple[str, ...] = ()
    stdin: StandardInput | None = None
    use_cache: bool = True
    coverage: AnalysedFiles = AnalysedFiles.EVERY
    diff_base: str | None = None
    follow_links: bool = False
    progress: ProgressCallback | None = None
    judge: Judge = judge_program


def analyze(paths: Sequence[str], options: Options) -> WorkspaceReport:
    """Classifies every function under the paths, and finds hazards and errors.

    Raises:
        UsageError: a path does not exist, a rule is unknown, or the baseline cannot be read.
    """
    return _run(paths, options)


def fix(
    paths: Sequence[str],
    options: Options,
    only: Sequence[str] = (),
    *,
    of_findings: bool = False,
    rounds: int = MAX_ROUNDS,
) -> FixReport:
    """The result of `analyze`, and the text of every file after the refactorings that the configuration's level allows.

    `only` gives the qualified names of the functions to change; () for all. With `of_findings`, only changes that
    remove the selected findings are made: those of their decisions, their cures, their own edits. Such a change may
    cause a finding (a new decorator may cause one about its calls), so this is repeated until nothing changes, at
    most `rounds` times. Nothing is written.

    Raises:
        UsageError: as `analyze`; also if a function of `only` does not exist.
    """
    report = _run(paths, options)
    _check_names(report, only)
    if of_findings:
        return FixReport(report, _fix_findings(report, paths, options, only, rounds))
    return FixReport(report, _change(report, paths, options, only, {}))


def _fix_findings(
    report: WorkspaceReport, paths: Sequence[str], options: Options, only: Sequence[str], rounds: int
) -> tuple[FileRefactoring, ...]:
    from terra_refactor.workspace.fixes import fix_findings, followed_by  # noqa: PLC0415

    def of_round(report: WorkspaceReport) -> tuple[FileRefactoring, ...]:
        findings = [finding for finding in report.findings if not only or finding.function in only]
        return fix_findings(report, findings, Level(options.config.level))

    latest = of_round(report)
    files = {file.source.path: file for file in latest}
    for _ in range(rounds - 1):
        if not any(file.changed for file in latest):
            break
        latest = of_round(_run(paths, options, {path: file.new_text for path, file in files.items() if file.changed}))
        files = followed_by(files, latest)
    return tuple(file for _, file in sorted(files.items()))


def verify(paths: Sequence[str], options: Options, setting: Setting, only: Sequence[str] = ()) -> VerifyReport:
    """Runs the functions that `fix` would change before and after, and compares. No file under the paths is changed.

    Raises:
        UsageError: as `fix`; also if nothing can be run: without TensorFlow, or without the script.
    """
    report = _run(paths, options)
    _check_names(report, only)
    fixed = FixReport(report, _change(report, paths, options, only, {}))
    return VerifyReport(fixed, _verify(fixed, options, setting))


def fix_verified(paths: Sequence[str], options: Options, setting: Setting, only: Sequence[str] = ()) -> VerifyReport:
    """The result of `fix`, restricted to changes that were verified together.

    Changes with a difference are dropped, and the others are verified again, since a change can affect another function.

    Raises:
        UsageError: as `verify`.
    """
    report = _run(paths, options)
    _check_names(report, only)
    left_out: dict[tuple[str, int, str], str] = {}
    while True:
        fixed = FixReport(report, _change(report, paths, options, only, left_out))
        verification = _verify(fixed, options, setting)
        wrong = [verdict for verdict in verification.functions if verdict.status is not Status.SAME]
        definite = [verdict for verdict in wrong if verdict.status is not Status.NOT_REACHED]
        program = verification.program
        if not wrong:
            if program is None or program.difference is None or not verification.functions:
                return VerifyReport(fixed, verification)
            # no function accounts for it, so none of them is verified
            reason = f"not verified: the program differs: {program.difference}"
            left_out.update({(each.path, each.line, each.qualname): reason for each in verification.functions})
            continue
        # a change that breaks or differs may be the reason why others were not reached, so it is dropped first, by
        # itself
        for verdict in definite or wrong:
            said = f": {verdict.detail}" if verdict.detail else ""
            left_out[verdict.path, verdict.line, verdict.qualname] = f"not verified: {verdict.status.value}{said}"


def _check_names(report: WorkspaceReport, only: Sequence[str]) -> None:
    known = {decision.qualname for decision in report.decisions}
    known |= {found.decision.qualname for found in report.regions if found.region is not None}
    for qualname in only:
        if qualname not in known:
            close = difflib.get_close_matches(qualname, known, n=1)
            hint = f"; did you mean `{close[0]}`?" if close else ""
            raise UsageError(f"--function: there is no function `{qualname}`{hint}")


def _change(
    report: WorkspaceReport,
    paths: Sequence[str],
    options: Options,
    only: Sequence[str],
    left_out: LeftOut,
) -> tuple[FileRefactoring, ...]:
    """The changed files: first regions become functions, then functions are refactored, including the new ones."""

    def analyzed(texts: Mapping[str, str]) -> WorkspaceReport:
        return _run(paths, replace(options, config=replace(options.config, extract=False), diff_base=None), texts)

    def refactored(report: WorkspaceReport, left_out: LeftOut) -> tuple[FileRefactoring, ...]:
        return _refactor(report, options, only, left_out)

    level = Level(options.config.level)
    # at that level the shim runs the whole step and the code around it
    kept_whole = {
        (each.path, each.qualname)
        for each in report.decisions
        if level is Level.COEXEC and each.action is Action.CO_EXECUTE
    }
    found = [each for each in report.regions if (each.decision.path, each.decision.inside) not in kept_whole]
    chosen = chosen_regions(found, level, only, left_out)
    if not chosen:
        return refactored(report, left_out)
    from terra_refactor.workspace.extraction import extract_and_refactor  # noqa: PLC0415

    return extract_and_refactor(report, chosen, left_out, analyzed, refactored)


def _refactor(
    report: WorkspaceReport,
    options: Options,
    only: Sequence[str],
    left_out: LeftOut,
) -> tuple[FileRefactoring, ...]:
    """The changed files; functions in `left_out` (by path, line and name) are skipped with the given reason."""
    from terra_refactor.refactor.plan import refactor_file  # noqa: PLC0415

    selected = frozenset(only) if only else None
    by_path: dict[str, list[Decision]] = {}
    for decision in report.decisions:
        by_path.setdefault(decision.path, []).append(decision)
    files: list[FileRefactoring] = []
    for done, (path, decisions) in enumerate(sorted(by_path.items())):
        if options.progress is not None:
            options.progress("refactoring", done, len(by_path))
        wanted = [each for each in decisions if (path, each.line, each.qualname) not in left_out]
        refactoring = refactor_file(report.sources[path], wanted, Level(options.config.level), selected)
        skipped = [
            Change(path, each.qualname, each.line, each.action, Outcome.SKIPPED, reason)
            for each in decisions
            if (reason := left_out.get((path, each.line, each.qualname))) is not None
        ]
        if skipped:
            changes = sorted((*refactoring.changes, *skipped), key=lambda change: change.line)
            refactoring = replace(refactoring, changes=tuple(changes))
        if refactoring.changes:
            files.append(refactoring)
    return tuple(files)


def _verify(fixed: FixReport, options: Options, setting: Setting) -> Verification:
    from terra_refactor.verify.session import verify_changes  # noqa: PLC0415

    if options.progress is not None:
        options.progress("running", 0, 1)
    return verify_changes(fixed.files, fixed.report.decisions, fixed.report.sources, setting)


def _run(paths: Sequence[str], options: Options, texts: Mapping[str, str] = _AS_THEY_ARE) -> WorkspaceReport:
    """The results of the files under the paths; `texts` replace the texts of some of them, by path."""
    started = time.perf_counter()
    config = options.config
    check_selection(config)

    def progress(stage: str, done: int, total: int) -> None:
        if options.progress is not None:
            options.progress(stage, done, total)

    with without_collection():
        project = read_project(
            paths,
            config,
            exclude=options.exclude,
            stdin=options.stdin,
            follow_links=options.follow_links,
            texts=texts,
        )
        texts_read = {path: task.source for path, task in project.tasks.items()}
        evidence = read_evidence(config, texts_read)
        pins = read_pins(texts_read, [path for path in paths if path != STDIN], config)
        results = judge_components(
            project,
            config,
            options.judge,
            _caches(options),
            progress,
            coverage=options.coverage,
            evidence=evidence,
            pins=pins,
        )
        decisions = sorted(
            (decision for result in results for decision in result.decisions),
            key=lambda decision: (decision.path, decision.line, decision.function),
        )
        files = sorted(path for result in results for path in result.files)
        sources = {path: project.tasks[path].source for path in files}
        findings = [*at_releases((finding for result in results for finding in result.findings), sources, pins)]
        selection = _select(paths, options, sources, decisions, findings)
    collect_after_many(len(files))
    return WorkspaceReport(
        decisions=tuple(decisions),
        findings=selection.findings,
        errors=tuple(sorted((*project.errors, *(error for result in results for error in result.errors)))),
        stats=Stats(
            files=len(files),
            lines=sum(result.lines for result in results),
            cached_files=sum(result.cached_files for result in results),
            seconds=time.perf_counter() - started,
            passed_over=sum(result.passed_over for result in results),
            unparsed=sum(result.unparsed for result in results),
        ),
        sources=sources,
        suppressed=selection.suppressed,
        comparison=selection.comparison,
        skipped_links=project.skipped_links,
        evidence_notices=evidence.notices,
        releases=assumed_releases(files, pins),
        regions=tuple(
            sorted(
                (found for result in results for found in result.regions),
                key=lambda found: (found.decision.path, found.decision.line),
            )
        ),
    )


def _select(
    paths: Sequence[str],
    options: Options,
    sources: Mapping[str, Source],
    decisions: Sequence[Decision],
    findings: Sequence[Finding],
) -> Selection:
    config = options.config
    selection = select_findings(findings, decisions, config, sources)
    if options.diff_base is not None:
        baseline = baseline_at(
            options.diff_base, paths, config, partial(_analyze_again, replace(options, progress=None))
        )
        return compared(selection, sources, baseline, options.diff_base)
    return without_known(selection, config, sources)


def _analyze_again(options: Options, paths: Sequence[str], config: Config) -> WorkspaceReport:
    """The same run on another text, for a process of its own."""
    return analyze(paths, replace(options, config=config, diff_base=None))


def _caches(options: Options) -> Caches | None:
    if not options.use_cache:
        return None
    folder = cache_folder_of(options.config)
    # a judge other than the usual one has other results
    return Caches(LoweringCache(folder), ResultCache(folder) if options.judge is judge_program else None)


def cache_folder_of(config: Config) -> Path | None:
    """The cache folder from the command line; None for the user's own."""
    return None if config.cache_dir is None else Path(config.cache_dir)
