"""A project as the editor sees it: files on disk, open texts that replace them, and their facts.

Computes: the snapshot of a file: its component (the files connected by imports), lowered (only changed functions) and analysed. Needs:
the project's folder (or one file) and its configuration. Gives: `Session`, `StaleError`. It has no threads of its own: `snapshot` runs in
the caller's thread and may be called from any; all other methods are fast.

Caches: files by time and size, lowered modules by content, snapshots by the contents of their component. An edit lowers one function if
possible (`ir.build.relower`), otherwise one file.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import groupby
from typing import Final, Protocol, TypeVar

from terra_refactor.config import Config
from terra_refactor.errors import SourceError, TerraError, UsageError
from terra_refactor.ide.disk import DiskFile, read_disk, stamp_of
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ir.build.relower import relower
from terra_refactor.ir.program import ModuleIR, Program
from terra_refactor.record.record_file import Record, read_record
from terra_refactor.rules.no_benefit.missed_extraction import RULE as MISSED_EXTRACTION
from terra_refactor.syntax.modules import ModuleIndex
from terra_refactor.syntax.source import Source, display_path
from terra_refactor.workspace.at_releases import at_releases
from terra_refactor.workspace.cache import LoweringCache, ResultCache
from terra_refactor.workspace.data_files import KnownData, digests_of, may_be_data
from terra_refactor.workspace.evidence import (
    NO_EVIDENCE,
    RunEvidence,
    evidence_files,
    match_records,
)
from terra_refactor.workspace.found_region import may_have_regions
from terra_refactor.workspace.import_graph import (
    ImportScan,
    connected_files,
    imported_files,
    nearest_files,
    scan_imports,
)
from terra_refactor.workspace.judgement import RepeatedJudge
from terra_refactor.workspace.judging import place_of_analysis
from terra_refactor.workspace.kept_analysis import keep_analysis, resumed_judge
from terra_refactor.workspace.loading import ProjectImports, index_sources, name_sources
from terra_refactor.workspace.pins import PinReader, Pins, for_releases
from terra_refactor.workspace.pool import Lowered, LoweringTask, available_jobs, lower_files
from terra_refactor.workspace.project import DiscoveredFiles, discover_files
from terra_refactor.workspace.results import FileError
from terra_refactor.workspace.selection import check_selection, select_findings, without_known
from terra_refactor.workspace.watchdog import OverLimitError, ProcessLimits, watched
from terra_refactor.workspace.workspace import ProgressCallback

MAX_FILES: Final = 5_000
"""Maximum number of files of a component that is analysed while the user types; for a larger one only the file itself is."""
_KEPT_SNAPSHOTS: Final = 4
_WIDE: Final = 5_000
"""Maximum number of lines of a component that is analysed at once; for a larger one the first answer covers the open file and its nearest
imports.
"""
_SLOW_EDIT: Final = 0.2
"""Processor seconds from which an analysis after an edit counts as slow; in a large component, an unmeasured one does."""
_FIRST_LINES: Final = 2_000
"""Maximum number of lines of imported files in the first answer about a file."""


class StaleError(TerraError):
    """The texts changed during the analysis, so the answer would be stale."""


Cancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class _Lowered:
    """A file's last lowered form, and the last version that could be lowered, with its text."""

    source: Source
    name: str
    result: ModuleIR | FileError
    good: ModuleIR | None
    good_text: str


class _Placed(Protocol):
    @property
    def path(self) -> str: ...


_PlacedT = TypeVar("_PlacedT", bound=_Placed)


class Session:
    """One project. `root` is a folder, or one file without a project."""

    def __init__(
        self, root: str, config: Config, cache: LoweringCache | None = None, results: ResultCache | None = None
    ) -> None:
        """Raises UsageError if the configuration names a rule that does not exist."""
        check_selection(config)
        self.root = os.path.abspath(root)
        self.config = config
        self._cache = cache
        self._results = results
        self._unkept: dict[tuple[str, ...], tuple[str, Program]] = {}
        """Components with many results that are not stored on disk, each with its place there and the program."""
        self._buffers: Mapping[str, Source] = {}
        self._found: DiscoveredFiles | None = None
        self._disk: dict[str, DiskFile] = {}
        self._data = KnownData()
        self._scans: dict[str, tuple[str, tuple[ImportScan, ...]]] = {}
        self._edges: dict[str, tuple[tuple[ImportScan, ...], frozenset[str]]] = {}
        self._index: ModuleIndex | None = None
        self._index_key: object = None
        self._lowered: dict[str, _Lowered] = {}
        self._unkept_modules: dict[str, ModuleIR] = {}
        """Lowered files that are not in the disk cache, by path, because a first answer was more urgent."""
        self._snapshots: tuple[Snapshot, ...] = ()
        self._judges: dict[tuple[str, ...], RepeatedJudge] = {}
        self._whole: set[tuple[str, ...]] = set()
        """The components that were fully analysed, and whose judges have the result."""
        self._wholes: dict[tuple[str, ...], Snapshot] = {}
        """The last snapshot of each of these."""
        self._parsed: dict[str, Snapshot] = {}
        """By open file: the last snapshot in which it was lowered, of all files if there was one."""
        self._edit_seconds: dict[tuple[str, ...], float] = {}
        """The duration of the last analysis after an edit, by component."""
        self._changes = 0
        """The number of changes of files on disk."""
        self._pins = (0, PinReader([self.root]))
        self._made_of: tuple[Mapping[str, Source], int] | None = None
        """The texts from which `_newest` was computed."""
        self._newest: Mapping[str, Snapshot] = {}
        self._firsts: Mapping[str, Snapshot] = {}
        """The first answers for these texts."""
        self._working = threading.Lock()
        self._records: tuple[object, tuple[tuple[str, Record], ...]] = (None, ())
        """The records of runs as last read, with the modification times of their files."""
        self.problems: tuple[str, ...] = ()
        """Errors in the records, as sentences."""

    # --- texts ---------------------------------------------------------------------------------------------------------------------

    def owns(self, file: str) -> bool:
        """Whether an absolute path belongs to the project and is relevant to it."""
        is_inside = file == self.root or file.startswith(self.root.rstrip(os.sep) + os.sep)
        return is_inside and (not may_be_data(file) or self._data.is_named(file))

    def set_buffer(self, path: str, source: Source) -> None:
        """Replaces the file of that path (as in reports) by an open text."""
        self._buffers = {**self._buffers, path: source}

    def drop_buffer(self, path: str) -> None:
        """Removes an open text: the version on disk applies again."""
        self._buffers = {other: source for other, source in self._buffers.items() if other != path}
        self._parsed.pop(path, None)
        self._disk.pop(path, None)

    def buffer(self, path: str) -> Source | None:
        """The open text of that path."""
        return self._buffers.get(path)

    def files_changed(self, paths: Iterable[str], *, listing: bool) -> None:
        """Files changed on disk; with `listing`, some were created or deleted."""
        self._changes += 1
        for path in paths:
            self._disk.pop(path, None)
        if listing:
            self._found = None

    def check_disk(self, listed: DiscoveredFiles | None = None) -> bool:
        """Checks the modification times of the files, for changes that the editor has not reported. True if any has changed.

        `listed`: the files that are there now (`listed`); without it, created files are not noticed.
        """
        changed = [path for path, known in tuple(self._disk.items()) if known.stamp != stamp_of(known.file)]
        created = listed is not None and self._found is not None and listed != self._found
        if changed or created or self.records_changed() or self._data.has_changed():
            self.files_changed(changed, listing=bool(changed) or created)
            self._found = listed or self._found
            return True
        return False

    def records_changed(self) -> bool:
        """Whether a record of a run has changed since it was read."""
        files = evidence_files(self.config)
        return bool(files) and self._records[0] != tuple(stamp_of(file) for file in files)

    def files(self) -> tuple[str, ...]:
        """The files of the project, sorted, including open ones."""
        return tuple(sorted({*map(display_path, self._discovered().files), *self._buffers}))

    def clear(self) -> None:
        """Drops everything that can be recomputed."""
        with self._working:
            self._found = None
            self._disk.clear()
            self._scans.clear()
            self._edges.clear()
            self._index = None
            self._index_key = None
            self._lowered.clear()
            self._unkept_modules.clear()
            self._snapshots = ()
            self._judges.clear()
            self._whole.clear()
            self._edit_seconds.clear()
            self._wholes.clear()
            self._parsed.clear()
            self._unkept.clear()
            self._made_of = None
            self._newest = {}
            self._firsts = {}

    # --- analysis ------------------------------------------------------------------------------------------------------------------

    def fresh(self, path: str) -> Snapshot | None:
        """The snapshot of a file if it is up to date; computes nothing. Files on disk count as last read."""
        return self._newest.get(path) if self._is_fresh() else None

    def fresh_first(self, path: str) -> Snapshot | None:
        """Cached result of `first` for the current texts; computes nothing."""
        return self._firsts.get(path) if self._is_fresh() else None

    def _is_fresh(self) -> bool:
        """Whether the last snapshot is up to date."""
        made_of = self._made_of
        return made_of is not None and made_of[0] is self._buffers and made_of[1] == self._changes

    def _made(self, buffers: Mapping[str, Source], changes: int) -> None:
        """Records the texts of a snapshot: results for other texts are stale."""
        if self._made_of is None or self._made_of[0] is not buffers or self._made_of[1] != changes:
            self._newest = {}
            self._firsts = {}
            self._made_of = (buffers, changes)

    def snapshot(
        self, path: str, cancelled: Cancelled = lambda: False, progress: ProgressCallback | None = None
    ) -> Snapshot:
        """Snapshot of a file and of all files connected with it by imports.

        Raises:
            StaleError: `cancelled` returned True.
            SourceError: the file cannot be read and is not open.
        """
        with self._working:
            _check(cancelled)
            buffers, changes = self._buffers, self._changes
            sources = self._readable(path, buffers)
            index = self._indexed(sources)
            component = self._component(path, sources, self._all_edges(sources, index))
            snapshot = self._analysed(component, sources, index, cancelled, progress)
            self._made(buffers, changes)
            self._newest = {**self._newest, **dict.fromkeys(component, snapshot)}
            return snapshot

    def first(self, path: str, cancelled: Cancelled = lambda: False) -> Snapshot | None:
        """An analysis of a file and its nearest imports; None unless `snapshot` would take long.

        It would if many connected files are not analysed yet, or an edit of one of them took long to analyse.

        Raises:
            StaleError, SourceError: as `snapshot`.
        """
        with self._working:
            _check(cancelled)
            buffers, changes = self._buffers, self._changes
            sources = self._readable(path, buffers)
            index = self._indexed(sources)
            edges = self._all_edges(sources, index)
            component = self._component(path, sources, edges)
            is_slow = component not in self._whole or self._edit_seconds.get(component, _SLOW_EDIT) >= _SLOW_EDIT
            if not is_slow or sum(_lines(sources[each]) for each in component) <= _WIDE:
                return None
            near = nearest_files(path, edges, {each: _lines(sources[each]) for each in component}, _FIRST_LINES)
            if len(near) == len(component):
                return None
            snapshot = self._analysed(near, sources, index, cancelled, None, left_out=len(component) - len(near))
            snapshot = replace(snapshot, before=self._wholes.get(component))
            self._made(buffers, changes)
            self._firsts = {**self._firsts, path: snapshot}
            return snapshot

    def components(self) -> tuple[tuple[str, ...], ...]:
        """The project's files grouped into components; each sorted, the largest first."""
        return tuple(self.identities())

    def identities(self) -> Mapping[tuple[str, ...], str]:
        """The identities of the snapshots of all components, the largest component first; analyses nothing."""
        with self._working:
            sources, _ = self._sources(self._buffers)
            index = self._indexed(sources)
            edges = self._all_edges(sources, index)
            names = {path: name for path, _, name in name_sources(sources, index)}
            left = set(sources)
            found: list[tuple[str, ...]] = []
            while left:
                group = connected_files([min(left)], edges)
                left.difference_update(group)
                found.append(group)
            evidence = self._evidence(sources)
            return {
                group: _identity(own, names, f"{evidence.key(group)}{digests_of(self._data_of(own))}")
                for group in sorted(found, key=lambda group: (-len(group), group))
                for own in [{path: sources[path] for path in group if path in sources}]
            }

    def keep(self, cancelled: Cancelled = lambda: False) -> None:
        """Stores the results of analyses on disk, for the next start of an editor or a command.

        Raises:
            StaleError: `cancelled` returned True; the remaining results can be stored later.
        """
        with self._working:
            while self._unkept_modules and self._cache is not None:
                _check(cancelled)
                self._cache.keep(self._unkept_modules.popitem()[1])
            for component, (place, program) in tuple(self._unkept.items()):
                judge = self._judges.get(component)
                if judge is not None and self._results is not None and self._cache is not None:
                    for module in program.modules.values():
                        if module.path in self._buffers:
                            self._cache.keep(module)  # open texts are never looked up there
                    keep_analysis(self._results, place, judge, program, lambda: _check(cancelled))
                del self._unkept[component]

    def unreadable(self) -> tuple[FileError, ...]:
        """Files of the project that cannot be read or decoded."""
        with self._working:
            return tuple(sorted(self._sources(self._buffers)[1].values()))

    def _discovered(self) -> DiscoveredFiles:
        found = self._found
        if found is None:
            found = self._found = self.listed()
        return found

    def listed(self) -> DiscoveredFiles:
        """The files of the folder as they are on disk; walks the folder."""
        return discover_files([self.root] if os.path.lexists(self.root) else [], self.config)

    def _data_of(self, sources: Mapping[str, Source]) -> dict[str, bytes]:
        found = {display_path(path): file for path, file in self._discovered().data.items()}
        return self._data.of(found, ((source.digest, source.text) for source in sources.values()))

    def _sources(self, buffers: Mapping[str, Source]) -> tuple[dict[str, Source], dict[str, FileError]]:
        sources: dict[str, Source] = {}
        errors: dict[str, FileError] = {}
        found = {display_path(file): file for file in self._discovered().files}
        for path in sorted({*found, *buffers}):
            buffer = buffers.get(path)
            if buffer is not None:
                sources[path] = buffer
                continue
            known = self._disk.get(path)
            if known is None:
                known = self._disk[path] = read_disk(found[path])
            if isinstance(known.source, FileError):
                errors[path] = known.source
            else:
                sources[path] = known.source
        return sources, errors

    def _readable(self, path: str, buffers: Mapping[str, Source]) -> dict[str, Source]:
        """The texts of the project; at least one must be readable."""
        sources, errors = self._sources(buffers)
        if path not in sources:
            error = errors.get(path)
            raise SourceError(path, error.message if error is not None else "does not exist")
        return sources

    def _indexed(self, sources: Mapping[str, Source]) -> ModuleIndex:
        found = self._discovered()
        key = (
            tuple(sources),
            found.markers,
            tuple(
                source.digest for source in sources.values() if "sys.path" in source.text or "addsitedir" in source.text
            ),
        )
        if self._index is None or key != self._index_key:
            bases = found.bases or (display_path(os.path.dirname(self.root)),)
            self._index = index_sources(sources, found.markers, bases)
            self._index_key = key
            self._edges.clear()
        return self._index

    def _all_edges(self, sources: Mapping[str, Source], index: ModuleIndex) -> Mapping[str, frozenset[str]]:
        edges: dict[str, frozenset[str]] = {}
        for path, source in sources.items():
            scanned = self._scans.get(path)
            if scanned is None or scanned[0] != source.digest:
                scanned = self._scans[path] = (source.digest, scan_imports(source.text))
            known = self._edges.get(path)
            if known is None or known[0] != scanned[1]:
                known = self._edges[path] = (scanned[1], imported_files(path, scanned[1], index))
            edges[path] = known[1]
        return edges

    def _component(
        self, path: str, sources: Mapping[str, Source], edges: Mapping[str, frozenset[str]]
    ) -> tuple[str, ...]:
        component = connected_files([path], edges)
        component = tuple(file for file in component if file in sources)
        return component if len(component) <= MAX_FILES else (path,)

    def _analysed(
        self,
        component: Sequence[str],
        sources: Mapping[str, Source],
        index: ModuleIndex,
        cancelled: Cancelled,
        progress: ProgressCallback | None,
        left_out: int = 0,
    ) -> Snapshot:
        """The snapshot of some files. With `left_out`, a component without that many of its files, of which nothing is stored on disk."""
        own = {path: sources[path] for path in component}
        evidence = self._evidence(own)
        names = {path: name for path, _, name in name_sources(sources, index) if path in own}
        pins = self._pins_of(own)
        config = for_releases(self.config, (pins.get(path) for path in own))
        data = self._data_of(own)
        identity = _identity(own, names, f"{evidence.key(own)}{pins}{digests_of(data)}")
        for known in self._snapshots:
            if known.identity == identity:
                self._snapshots = (*(other for other in self._snapshots if other is not known), known)
                return known
        jobs = (
            1 if left_out else self.config.jobs or available_jobs()
        )  # starting a process takes longer than reading few files
        lowered = self._lower(own, names, index, jobs, cancelled, progress, later=left_out > 0)
        _check(cancelled)
        modules = {result.name: result for result in lowered.values() if isinstance(result, ModuleIR)}
        paths = {name: path for path, name in names.items()}
        imports = ProjectImports(index, paths, {module.path: module.name for module in modules.values()})
        program = evidence.given_to(Program(dict(sorted(modules.items())), imports, data=data))

        def advance(done: int, total: int) -> None:
            _check(cancelled)
            if progress is not None:
                progress("analysing", done, total)

        place = None
        if self._results is not None and not evidence.functions and not left_out:
            files = ((path, names[path], path in index.files and index.files[path].is_package) for path in own)
            place = place_of_analysis(config, program.stubs, data, files)
        judge = self._judge_of(component, program, place, config)
        started = time.process_time()
        lines = sum(module.line_count for module in modules.values())
        try:
            facts, decisions, findings = watched(lambda: judge.judge(program, config, advance), ProcessLimits.of(lines))
        except OverLimitError as error:
            self._forget(tuple(component))  # it may have been interrupted anywhere
            message = f"could not be analysed: the analysis was ended: {error}"
            lowered = {path: FileError(path, 0, message, by_chance=True) for path in own}
            program = Program({}, imports)
            facts, decisions, findings = RepeatedJudge().judge(program, config, None)
        else:
            if not left_out:
                if tuple(component) in self._whole:
                    self._edit_seconds[tuple(component)] = time.process_time() - started
                self._whole.add(tuple(component))
            if place is not None and (judge.has_much_that_is_new or tuple(component) in self._unkept):
                self._unkept[tuple(component)] = place, program
        _check(cancelled)
        parsed = {module.path for module in program.modules.values()}
        snapshot = Snapshot(
            identity=identity,
            config=self.config,
            judged_with=config,
            program=program,
            facts=facts,
            sources=own,
            module_names={module.path: module.name for module in program.modules.values()},
            decisions=_by_path(
                sorted(decisions, key=lambda decision: (decision.path, decision.line, decision.function))
            ),
            findings=_by_path(
                without_known(
                    select_findings(at_releases(findings, own, pins), decisions, self.config, own, _unchecked(own)),
                    self.config,
                    own,
                ).findings
            ),
            errors={path: result for path, result in lowered.items() if isinstance(result, FileError)},
            left_out=left_out,
            parsed={path: self._parsed[path] for path in own if path in self._parsed and path not in parsed},
        )
        for path in self._buffers.keys() & parsed:
            earlier = self._parsed.get(path)
            if earlier is None or earlier.left_out or not left_out:
                self._parsed[path] = replace(snapshot, parsed={})  # prevents a chain of ever older snapshots
        self._snapshots = (*self._snapshots, snapshot)[-_KEPT_SNAPSHOTS:]
        if not left_out:
            self._wholes[tuple(component)] = snapshot
        return snapshot

    def _pins_of(self, sources: Mapping[str, Source]) -> Mapping[str, Pins]:
        """The releases that the project requires, as of the last change of a file on disk."""
        if self._pins[0] != self._changes:
            self._pins = (self._changes, PinReader([self.root]))
        return self._pins[1].pins_of(sources, self.config)

    def _evidence(self, sources: Mapping[str, Source]) -> RunEvidence:
        """Evidence about some files from the configured records; an unreadable record is reported and ignored."""
        files = evidence_files(self.config)
        if not files:
            return NO_EVIDENCE
        stamps = tuple(stamp_of(file) for file in files)
        problems: list[str] = []
        if self._records[0] != stamps:
            records: list[tuple[str, Record]] = []
            for file in files:
                try:
                    records.append((file, read_record(file)))
                except UsageError as error:
                    problems.append(str(error))
            self._records = (stamps, tuple(records))
            self._judges.clear()  # their stored state has other input
            self._whole.clear()
            self._edit_seconds.clear()
            self._wholes.clear()
            self.problems = tuple(problems)
        return match_records(self._records[1], sources)

    def _judge_of(self, component: Sequence[str], program: Program, place: str | None, config: Config) -> RepeatedJudge:
        """The judge of these files, from this process or an earlier one."""
        key = tuple(component)
        judge = self._judges.pop(key, None)
        if judge is None and place is not None and self._results is not None and self._cache is not None:
            judge = resumed_judge(self._results, self._cache, place, program, config)
        judge = judge or RepeatedJudge()
        self._judges[key] = judge
        while len(self._judges) > _KEPT_SNAPSHOTS:
            self._forget(next(iter(self._judges)))
        return judge

    def _forget(self, component: tuple[str, ...]) -> None:
        del self._judges[component]
        self._whole.discard(component)
        self._edit_seconds.pop(component, None)
        self._wholes.pop(component, None)

    def _lower(
        self,
        own: Mapping[str, Source],
        names: Mapping[str, str],
        index: ModuleIndex,
        jobs: int,
        cancelled: Cancelled,
        progress: ProgressCallback | None,
        *,
        later: bool,
    ) -> dict[str, ModuleIR | FileError]:
        """The lowered files, or the errors that prevented it. `later`: new results are stored on disk when the editor is idle."""
        results: dict[str, ModuleIR | FileError] = {}
        tasks: list[LoweringTask] = []
        for path, source in own.items():
            known = self._lowered.get(path)
            if known is not None and known.name != names[path]:
                known = None
            if known is not None and known.source.digest == source.digest:
                results[path] = known.result
                continue
            module: ModuleIR | None = None
            if known is not None and known.good is not None:
                module = relower(known.good, known.good_text, source)
            if module is not None:
                self._lowered[path] = _Lowered(source, names[path], module, module, source.text)
                results[path] = module
            else:
                tasks.append(LoweringTask(source, names[path], path in index.files and index.files[path].is_package))
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            _check(cancelled)
            if progress is not None:
                progress("reading", done, len(tasks))

        # a file that is being edited changes with each keystroke, so its versions are not worth storing
        cache = self._cache if len(tasks) > len(self._buffers) else None
        found = lower_files(tasks, jobs=jobs, cache=cache, advance=advance, keep=not later)
        for task, result in zip(tasks, found, strict=True):
            path = task.source.path
            if isinstance(result, Lowered):
                if later and cache is not None and not result.cached and path not in self._buffers:
                    self._unkept_modules[path] = result.module
                self._lowered[path] = _Lowered(task.source, task.name, result.module, result.module, task.source.text)
                results[path] = result.module
            else:
                # while a statement is incomplete, the file does not parse; the next version will be close to the last valid one
                old = self._lowered.get(path)
                good = (old.good, old.good_text) if old is not None and old.name == task.name else (None, "")
                self._lowered[path] = _Lowered(task.source, task.name, result, *good)
                results[path] = result
        return results


def _unchecked(sources: Mapping[str, Source]) -> Mapping[str, tuple[str, ...]]:
    """The rules of `lint` whose findings a snapshot does not have: those about regions, which are looked for later."""
    return {path: (MISSED_EXTRACTION.id,) for path, source in sources.items() if may_have_regions(source)}


def _lines(source: Source) -> int:
    return source.text.count("\n")


def _check(cancelled: Cancelled) -> None:
    if cancelled():
        raise StaleError("the text has changed")


def _identity(sources: Mapping[str, Source], names: Mapping[str, str], evidence: str) -> str:
    digest = blake2b(evidence.encode("utf-8", "replace"), digest_size=16)
    for path, source in sources.items():
        digest.update(f"{path}\0{names[path]}\0{source.digest}\0".encode())
    return digest.hexdigest()


def _by_path(items: Iterable[_PlacedT]) -> dict[str, tuple[_PlacedT, ...]]:
    return {path: tuple(group) for path, group in groupby(items, key=lambda item: item.path)}
