"""Judging the files of a run by components (files connected by imports), with cached results.

Computes: decisions and findings of each component of the import graph. Needs: the texts of a run, a judge, and
optionally caches. Gives: `judge_components`, `AnalysedFiles`.

A component is analysed as a program of its own, independent of the rest of the run. So its result depends only on its
own files (their texts, paths, module names and the imports between them), the configuration that the judge reads, and
the code of this tool; these form the key of the cached result. A change of a file invalidates only its component.
"""

from __future__ import annotations

import ast
import logging
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from terra_refactor.config import Config
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.cache import LoweringCache, ResultCache
from terra_refactor.workspace.component_pool import (
    ComponentTask,
    judge_many,
    prepare_workers,
    worthwhile_workers,
)
from terra_refactor.workspace.component_result import ComponentResult
from terra_refactor.workspace.data_files import data_of, digests_of
from terra_refactor.workspace.evidence import NO_EVIDENCE, RunEvidence
from terra_refactor.workspace.import_graph import components, imported_files, loaded_with, scan_imports
from terra_refactor.workspace.judged_component import Judge, Keeper, judged_component
from terra_refactor.workspace.judging import judge_program, judged_by, place_of_analysis
from terra_refactor.workspace.loading import ReadProject, load_programs
from terra_refactor.workspace.pins import Pins, for_releases
from terra_refactor.workspace.relaid import keep_texts, relaid_result

if TYPE_CHECKING:
    pass

LOGGER = logging.getLogger(__name__)

_NO_PINS: Final[Mapping[str, Pins]] = MappingProxyType({})
_TENSORS = re.compile("tensorflow|keras|numpy")


_MANY: Final = 1_000
"""If there are more files without tensors than this, those that no program loads together with tensors are skipped if
they are not needed.
"""
_PARSED_AT_MOST: Final = 10_000
"""If more files than this are skipped, they are not even parsed to find errors, which would take minutes."""


class AnalysedFiles(Enum):
    """The files that a run analyses."""

    EVERY = "every"
    """All of them: for reports that list every function."""
    SHOWN = "shown"
    """All of them, unless there are very many without tensors: for users, who do not read tables of a hundred thousand lines."""
    FINDINGS = "findings"
    """Those in which something may be found: files connected with tensors by imports."""


@dataclass(frozen=True, slots=True)
class Caches:
    """State left by earlier runs: lowered modules, and the results of the judge."""

    modules: LoweringCache
    results: ResultCache | None


def judge_components(
    project: ReadProject,
    config: Config,
    judge: Judge,
    caches: Caches | None,
    progress: Callable[[str, int, int], None],
    *,
    coverage: AnalysedFiles = AnalysedFiles.EVERY,
    evidence: RunEvidence = NO_EVIDENCE,
    pins: Mapping[str, Pins] = _NO_PINS,
) -> tuple[ComponentResult, ...]:
    """The result of each component, by its first file.

    If the coverage allows it, components in which nothing can be found are skipped: those without a file that
    mentions TensorFlow, Keras or NumPy. Their unparsable files are still listed as errors, unless there are very
    many; then also files of other components are skipped that no program loads together with tensors. The releases
    that a component requires decide release tests in the code, unless the configuration names a release.
    """
    imports = {
        path: imported_files(path, scan_imports(task.source.text), project.index)
        for path, task in project.tasks.items()
    }
    groups = components(imports)
    passed_over: frozenset[str] = frozenset()
    is_parsed = True
    if coverage is not AnalysedFiles.EVERY:
        connected = loaded_with([path for path in project.tasks if _has_tensors(project, path)], imports)
        if len(imports) - len(connected) > _MANY:
            passed_over = frozenset(imports.keys() - connected)
            groups = components({path: reached for path, reached in imports.items() if path in connected})
        elif coverage is AnalysedFiles.FINDINGS:
            passed_over = frozenset(path for group in groups if connected.isdisjoint(group) for path in group)
            groups = tuple(group for group in groups if not connected.isdisjoint(group))
        is_parsed = len(passed_over) <= _PARSED_AT_MOST
        if is_parsed:
            broken = {path for path in passed_over if not _parses(project.tasks[path].source.text)}
            passed_over -= broken
            groups = tuple(sorted((*groups, *((path,) for path in broken))))
    results = None if caches is None else caches.results
    found: dict[tuple[str, ...], ComponentResult] = {}
    configs = {group: for_releases(config, (pins.get(path) for path in group)) for group in groups}
    keys = {group: _key(project, configs[group], group, imports, evidence) for group in groups}
    # evidence from a run applies to the text that ran
    places = {} if evidence.functions else {group: _place(project, configs[group], group, imports) for group in groups}
    for group in groups:
        known = _known(project, group, keys[group], places.get(group), results)
        if known is not None:
            found[group] = known
    missing = [group for group in groups if group not in found]
    total = sum(len(group) for group in missing)
    # another judge may not be picklable, and its results are not cached
    is_usual = judge is judge_program and not evidence.functions
    workers = worthwhile_workers(project, missing, config.jobs) if is_usual else 1
    if workers > 1:
        prepare_workers()
    modules = None if caches is None else caches.modules

    def reading(done: int, total: int) -> None:
        if workers == 1 and is_usual:
            # while workers lower files, this process has nothing else to do
            from terra_refactor.workspace import preloaded  # noqa: F401, PLC0415
        progress("reading", done, total)

    programs = load_programs(project, missing, jobs=config.jobs, cache=modules, progress=reading)
    keepers = {
        group: Keeper(caches.modules, caches.results, _place_of_analysis(project, configs[group], group))
        for group in missing
        if is_usual and caches is not None and caches.results is not None
    }
    tasks = {
        place: ComponentTask(
            group, loaded.program.modules, loaded.errors, loaded.cached_files, configs[group], keepers.get(group)
        )
        for place, (group, loaded) in enumerate(zip(missing, programs, strict=True))
    }
    total = sum(len(group) for group in missing)
    done = 0

    def judge_here(task: ComponentTask) -> ComponentResult:
        share = 0.0

        def analysing(part: int, whole: int) -> None:
            nonlocal share
            share = max(share, part / max(whole, 1))  # a later round begins at 0 again
            tell([(len(task.group), share)])

        return judged_component(
            task.sources(project), task.loaded(project), task.config, judge, analysing, evidence, task.keeper
        )

    def tell(parts: Collection[tuple[int, float]]) -> None:
        """The progress with components that have begun: their numbers of files and analysed shares."""
        is_analysed = bool(parts) and all(share >= 1 for _, share in parts)
        stage = "deciding" if is_analysed else "analysing"
        progress(stage, done + int(sum(size * share for size, share in parts)), total)

    def moment(shares: Mapping[int, float]) -> None:
        tell([(len(missing[place]), share) for place, share in shares.items()])

    for place, made in judge_many(project, tasks, workers, judge_here, moment):
        group = missing[place]
        done += len(group)
        if results is not None and not any(error.by_chance for error in made.errors):
            _keep(project, group, keys[group], places.get(group), results, made)
        found[group] = made
    if passed_over:
        files = tuple(sorted(passed_over))
        found[()] = ComponentResult((), (), (), (), files, 0, 0, len(files), 0 if is_parsed else len(files))
        groups = (*groups, ())
    return tuple(found[group] for group in groups)


def _known(
    project: ReadProject, group: Sequence[str], key: str, place: str | None, results: ResultCache | None
) -> ComponentResult | None:
    """The cached result of a component; if only comments or layout changed since, with its positions moved."""
    if results is None:
        return None
    kept = results.find(key)
    if isinstance(kept, ComponentResult):
        return replace(kept, cached_files=len(kept.files))
    if place is None:
        return None
    moved = relaid_result(results, place, _sources(project, group))
    if moved is not None:
        _keep(project, group, key, place, results, moved)
    return moved


def _keep(
    project: ReadProject, group: Sequence[str], key: str, place: str | None, results: ResultCache, made: ComponentResult
) -> None:
    results.keep(key, made)
    if place is not None:
        keep_texts(results, place, key, _sources(project, group))


def _sources(project: ReadProject, group: Sequence[str]) -> dict[str, Source]:
    return {path: project.tasks[path].source for path in group}


def _has_tensors(project: ReadProject, path: str) -> bool:
    return path not in project.index.files or _TENSORS.search(project.tasks[path].source.text) is not None


def _parses(text: str) -> bool:
    """Whether Python's own parser accepts the text; it is much faster than LibCST, and only rejected files are examined further."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<module>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _place_of_analysis(project: ReadProject, config: Config, group: Sequence[str]) -> str:
    tasks = [project.tasks[path] for path in group]
    data = data_of(project.data, (task.source.text for task in tasks))
    return place_of_analysis(
        config, project.stubs, data, ((task.source.path, task.name, task.is_package) for task in tasks)
    )


def _key(
    project: ReadProject,
    config: Config,
    group: Sequence[str],
    imports: Mapping[str, frozenset[str]],
    evidence: RunEvidence,
) -> str:
    """A text with all dependencies of the result of a component."""
    digests = "\n".join(project.tasks[path].source.digest for path in group)
    return "\n".join((_place(project, config, group, imports), evidence.key(group), digests))


def _place(project: ReadProject, config: Config, group: Sequence[str], imports: Mapping[str, frozenset[str]]) -> str:
    """A text with the dependencies of the result of a component other than the texts of its files and the records of runs."""
    parts = ["component", repr(judged_by(config)), repr(sorted(project.stubs.items()))]
    for path in group:
        task = project.tasks[path]
        parts.append(repr((path, task.name, task.is_package, sorted(imports[path]))))
    data = data_of(project.data, (project.tasks[path].source.text for path in group))
    if data:
        parts.append(repr(digests_of(data)))
    return "\n".join(parts)
