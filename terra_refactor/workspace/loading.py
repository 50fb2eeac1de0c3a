"""From paths to a program.

Computes: the sources under some paths, their module names, and their lowered form. Needs: a configuration. Gives: `read_project`,
`load_programs`. Ignores: modules of the repository outside of the paths, whose content is unknown.

Two files may have the same module name (scripts in different folders): the preferred one keeps it, the others are
called `name@path`, and an import resolves to the file that Python would find first from the importing file.
"""

from __future__ import annotations

import logging
import os
import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from terra_refactor.config import Config
from terra_refactor.errors import SourceError
from terra_refactor.ir.program import ModuleIR, Program
from terra_refactor.syntax.modules import ModuleIndex, build_module_index
from terra_refactor.syntax.package_dirs import read_package_dirs
from terra_refactor.syntax.path_edits import read_path_additions
from terra_refactor.syntax.source import STDIN_NAME, Source, display_path, read_source, source_from_bytes
from terra_refactor.tf_model import registry
from terra_refactor.workspace.cache import LoweringCache
from terra_refactor.workspace.data_files import data_of, read_data_files
from terra_refactor.workspace.pool import Lowered, LoweringResult, LoweringTask, available_jobs, lower_files
from terra_refactor.workspace.project import DiscoveredFiles, discover_files
from terra_refactor.workspace.results import FileError

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StandardInput:
    """One module from standard input, and its file name in reports."""

    data: bytes = field(repr=False)
    name: str = STDIN_NAME


@dataclass(frozen=True, slots=True)
class ReadProject:
    """The texts of a run, before parsing."""

    tasks: Mapping[str, LoweringTask]
    """By path, sorted."""
    index: ModuleIndex
    errors: tuple[FileError, ...]
    """The errors of files that could not be read."""
    stubs: Mapping[str, str] = field(default_factory=dict)
    """The texts of the `.pyi` files among the paths, by module name."""
    skipped_links: tuple[str, ...] = ()
    """Links that lead out of the given paths and were not followed."""
    data: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of the data files among the paths that a text names."""


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """A program, and those of its files that could not be lowered."""

    program: Program
    errors: tuple[FileError, ...]
    cached_files: int


class ProjectImports:
    """Resolves imports to the program's own names for modules."""

    def __init__(self, index: ModuleIndex, paths: Mapping[str, str], names: Mapping[str, str]) -> None:
        self._index = index
        self._paths = paths
        self._names = names

    def resolve(self, importing_module: str, name: str, level: int) -> str | None:
        """The module's name, or None if the import leads outside the program."""
        importer = self._paths[importing_module]
        if importer not in self._index.files:  # a file without a place in the repository, such as standard input
            return None
        found = self._index.resolve_path(importer, name, level)
        if found is not None:
            return self._names.get(found)
        return self._index.resolve(importer, name, level)


def read_project(
    paths: Sequence[str],
    config: Config,
    *,
    exclude: Sequence[str] = (),
    stdin: StandardInput | None = None,
    follow_links: bool = False,
    texts: Mapping[str, str] | None = None,
) -> ReadProject:
    """Reads the files under the paths; `texts` replace the texts of some files, by path.

    Raises:
        UsageError: a path does not exist, or an exclusion is an invalid glob.
    """
    found = discover_files(paths, config, exclude, follow_links=follow_links)
    errors = [_file_error(error) for error in found.errors]
    sources: dict[str, Source] = {}
    for path in found.files:
        try:
            source = replace(read_source(path), real=found.real.get(path), is_outside=path in found.outside)
        except SourceError as error:
            errors.append(_file_error(error))
        except Exception as error:  # an internal error affects only this file, and is logged
            LOGGER.exception("reading %s failed", display_path(path))
            message = f"could not be read: it failed inside ({error!r})"
            errors.append(FileError(display_path(path), 0, message, by_chance=True))
        else:
            if source.path in sources:
                errors.append(FileError(source.path, 0, "another file has the same displayed name"))
            sources.setdefault(source.path, source)
    if found.stdin and stdin is not None:
        try:
            source = source_from_bytes(stdin.data, stdin.name)
        except SourceError as error:
            errors.append(_file_error(error))
        else:
            sources[source.path] = source
    for name, text in (texts or {}).items():
        old = sources[name]
        new = source_from_bytes(old.encode(text), name)
        sources[name] = replace(new, file=old.file, real=old.real, is_outside=old.is_outside)
    index = index_sources(sources, found.markers, found.bases)
    tasks = {
        path: LoweringTask(source, name, path in index.files and index.files[path].is_package)
        for path, source, name in name_sources(sources, index)
    }
    data = read_data_files(
        {display_path(path): file for path, file in found.data.items()}, (source.text for source in sources.values())
    )
    return ReadProject(tasks, index, tuple(errors), _read_stubs(found, sources), found.skipped_links, data)


def _read_stubs(found: DiscoveredFiles, sources: Mapping[str, Source]) -> dict[str, str]:
    """The texts of stubs by module name, without unreadable ones."""
    stubs: dict[str, Source] = {}
    for path in found.stubs:
        try:
            source = read_source(path)
        except SourceError:
            continue
        stubs[source.path] = source
    if not stubs:
        return {}
    index = index_sources({**sources, **stubs}, found.markers, found.bases)
    return {index.module_of(path).name: source.text for path, source in stubs.items()}


def load_programs(
    project: ReadProject,
    groups: Sequence[Sequence[str]],
    *,
    jobs: int,
    cache: LoweringCache | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[LoadedProgram]:
    """Lowers groups of files, each to a program of its own. `progress` receives the number of finished files and of all
    files.

    `jobs` processes work on all groups together; 0 for as many as the machine allows.
    """
    tasks = [project.tasks[path] for group in groups for path in group]
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, len(tasks))

    results = iter(lower_files(tasks, jobs=jobs or available_jobs(), cache=cache, advance=advance))
    return [_program(project, [next(results) for _ in group]) for group in groups]


def _program(project: ReadProject, results: Sequence[LoweringResult]) -> LoadedProgram:
    lowered = [result for result in results if isinstance(result, Lowered)]
    return LoadedProgram(
        program=lowered_program(project, {result.module.name: result.module for result in lowered}),
        errors=tuple(result for result in results if isinstance(result, FileError)),
        cached_files=sum(result.cached for result in lowered),
    )


def lowered_program(project: ReadProject, modules: Mapping[str, ModuleIR]) -> Program:
    """The program of some lowered modules of a project, given by name."""
    names = {module.path: name for name, module in modules.items()}
    imports = ProjectImports(project.index, {name: path for path, name in names.items()}, names)
    data = data_of(project.data, (project.tasks[path].source.text for path in names))
    return Program(dict(sorted(modules.items())), imports, project.stubs, data=data)


def index_sources(sources: Mapping[str, Source], markers: Sequence[str], bases: Sequence[str]) -> ModuleIndex:
    """The modules of the sources; `markers` and `bases` as in `DiscoveredFiles`."""
    additions = {path: read_path_additions(source) for path, source in sources.items()}
    package_dirs: list[str] = []
    for marker in markers:
        try:
            text = read_source(marker).text
        except SourceError:
            continue  # an unreadable build configuration is no evidence about packages
        folder = posixpath.dirname(display_path(marker))
        package_dirs.extend(read_package_dirs(posixpath.basename(marker), text, folder))
    files = [path for path in sources if path != STDIN_NAME]
    return build_module_index(
        files,
        package_dirs=package_dirs,
        path_additions={path: folders for path, folders in additions.items() if folders},
        markers=[display_path(marker) for marker in markers],
        bases=[display_path(base) for base in bases],
        absolute=lambda path: os.path.abspath(path).replace(os.sep, "/"),
        scripts=[path for path in files if "__main__" in sources[path].text],
        is_installed=lambda name: registry.lookup(name) is not None,
    )


def name_sources(sources: Mapping[str, Source], index: ModuleIndex) -> list[tuple[str, Source, str]]:
    """Path, source and unique module name of every file, by path."""
    named = []
    for path, source in sorted(sources.items()):
        if path not in index.files:
            name = posixpath.splitext(posixpath.basename(path))[0] if path != STDIN_NAME else "stdin"
            named.append((path, source, name if not index.paths_of(name) else f"{name}@{path}"))
            continue
        name = index.module_of(path).name
        preferred = index.paths_of(name)[0]
        named.append((path, source, name if path == preferred else f"{name}@{path}"))
    return named


def _file_error(error: SourceError) -> FileError:
    return FileError(error.path, error.line or 0, error.message)
