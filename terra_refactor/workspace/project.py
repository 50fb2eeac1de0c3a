"""The files of a run.

Computes: which Python files and notebooks lie under the paths that were asked for. Needs: paths and the configuration's excludes.
Gives: `discover_files`, whose answer is sorted and holds every file once.
Ignores: what is in the files. A folder that cannot be read, or a link to nothing, is listed as an error and costs only itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

from terra_refactor.config import Config
from terra_refactor.errors import SourceError, UsageError
from terra_refactor.syntax.source import describe_os_error, display_path

STDIN = "-"

DEFAULT_EXCLUDES = frozenset(
    {
        ".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d", ".pytest_cache", ".ruff_cache",
        ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__", "node_modules", "site-packages", "venv",
    }
)  # fmt: skip
"""Names of folders that hold no source of the project, wherever they are."""

_BUILD_OUTPUT = frozenset({"build", "dist"})
"""Folders that are not read either, unless they are packages of these names."""

_SUFFIXES = (".py", ".ipynb")
_MARKERS = frozenset({"pyproject.toml", "setup.cfg", "setup.py"})


@dataclass(frozen=True, slots=True)
class DiscoveredFiles:
    """What lies under the paths of a run. All paths are as in reports.

    Attributes:
        files: the Python files and notebooks, sorted, each once.
        stubs: the `.pyi` files that lie among them.
        markers: the build configurations among them and in the folders above.
        bases: the folders that were asked for, and those of the files that were.
        errors: folders and links that cannot be read.
        stdin: whether standard input was asked for.
    """

    files: tuple[str, ...]
    stubs: tuple[str, ...]
    markers: tuple[str, ...]
    bases: tuple[str, ...]
    errors: tuple[SourceError, ...]
    stdin: bool = False


def discover_files(
    paths: Iterable[str | os.PathLike[str]], config: Config | None = None, exclude: Iterable[str] = ()
) -> DiscoveredFiles:
    """Find the files of a run.

    A file that is named itself is taken whatever its ending and whatever is excluded, a folder also if git ignores it. `exclude` holds
    globs that count from the current folder; those of the configuration count from its own.

    Raises:
        UsageError: a path does not exist, or a glob is none.
    """
    config = config if config is not None else Config()
    walk = _Walk(config, tuple(exclude))
    stdin = False
    for given in paths:
        path = os.fspath(given)
        if path == STDIN:
            stdin = True
        elif os.path.isdir(path):
            walk.add_folder(path)
        elif os.path.lexists(path):
            walk.add_file(path)
        else:
            raise UsageError(f"{path}: no such file or folder")
    return walk.result(stdin)


class _Walk:
    """The state of one search."""

    def __init__(self, config: Config, exclude: tuple[str, ...]) -> None:
        self._excludes = [
            _Ignore(folder, _spec(globs, where))
            for folder, globs, where in (
                (
                    os.path.abspath(config.folder or "."),
                    (*config.exclude, *config.extend_exclude),
                    config.file or "exclude",
                ),
                (os.path.abspath("."), exclude, "--exclude"),
            )
            if globs
        ]
        self._respect_gitignore = config.respect_gitignore
        self._files: dict[str, str] = {}  # absolute path -> shown path
        self._stubs: set[str] = set()
        self._markers: set[str] = set()
        self._bases: set[str] = set()
        self._errors: dict[str, SourceError] = {}
        self._seen_folders: set[tuple[int, int]] = set()
        self._links: list[tuple[str, str]] = []

    def result(self, stdin: bool) -> DiscoveredFiles:
        self._add_linked_files()
        return DiscoveredFiles(
            files=tuple(sorted(set(self._files.values()))),
            stubs=tuple(sorted(self._stubs)),
            markers=tuple(sorted(self._markers)),
            bases=tuple(sorted(self._bases)),
            errors=tuple(error for _, error in sorted(self._errors.items())),
            stdin=stdin,
        )

    def add_file(self, path: str) -> None:
        """Take a file that was named itself."""
        shown = display_path(path)
        if not os.path.exists(path):
            self._fail(shown, path, FileNotFoundError())
            return
        folder = os.path.dirname(os.path.abspath(path))
        self._bases.add(display_path(folder))
        self._find_markers_above(folder)
        if path.endswith(".pyi"):
            self._stubs.add(shown)
        self._files[os.path.abspath(path)] = shown

    def add_folder(self, path: str) -> None:
        """Take what lies below a folder. Links to folders come last, so that a file is shown by its own path rather than through a link."""
        shown = display_path(path)
        absolute = os.path.abspath(path)
        self._bases.add(shown)
        self._find_markers_above(os.path.dirname(absolute))
        ignores = self._ignores_above(absolute)
        if _is_ignored_by(ignores, absolute, is_folder=True):
            ignores = ()  # whoever names an ignored folder means what is in it
        pending = [(absolute, shown, ignores)]
        linked: list[tuple[str, str, tuple[_Ignore, ...]]] = []
        while pending or linked:
            if not pending:
                linked.sort(reverse=True)
                pending.append(linked.pop())
            folder, folder_shown, ignores = pending.pop()
            if self._enter(folder, folder_shown):
                for child, is_link in self._scan(folder, folder_shown, ignores):
                    (linked if is_link else pending).append(child)

    def _enter(self, folder: str, shown: str) -> bool:
        try:
            status = os.stat(folder)
        except OSError as error:
            self._fail(shown, folder, error)
            return False
        identity = (status.st_dev, status.st_ino)
        if identity in self._seen_folders:
            return False
        self._seen_folders.add(identity)
        return True

    def _scan(
        self, folder: str, shown: str, ignores: tuple[_Ignore, ...]
    ) -> Iterator[tuple[tuple[str, str, tuple[_Ignore, ...]], bool]]:
        """Take the files of one folder; give the folders in it, and whether each is a link."""
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self._fail(shown, folder, error)
            return
        names = {entry.name for entry in found}
        if "pyvenv.cfg" in names:
            return  # a virtual environment, whatever it is called
        if self._respect_gitignore and ".gitignore" in names:
            ignores = (*ignores, *_read_gitignore(folder, ".gitignore"))
        prefix = "" if shown == "." else shown.rstrip("/") + "/"
        for entry in found:
            name = entry.name
            place = prefix + name
            interesting = name.endswith((*_SUFFIXES, ".pyi"))
            is_link = entry.is_symlink()
            if _is_folder(entry):
                if (
                    name in DEFAULT_EXCLUDES
                    or name.endswith(".egg-info")
                    or self._is_ignored(entry.path, ignores, is_folder=True)
                ):
                    continue
                if name in _BUILD_OUTPUT and not os.path.isfile(os.path.join(entry.path, "__init__.py")):
                    continue
                yield (entry.path, place, ignores), is_link
                continue
            if name in _MARKERS:
                self._markers.add(place)
            if not interesting or self._is_ignored(entry.path, ignores, is_folder=False):
                continue
            if name.endswith(".pyi"):
                self._stubs.add(place)
            elif is_link:
                self._links.append((entry.path, place))
            elif entry.is_file():
                self._files.setdefault(entry.path, place)

    def _add_linked_files(self) -> None:
        """Take links to files that are not among the files already."""
        targets = {os.path.realpath(path) for path in self._files} if self._links else set()
        for path, shown in sorted(self._links):
            target = os.path.realpath(path)
            if not os.path.isfile(target):
                self._fail(shown, path, FileNotFoundError())
            elif target not in targets:
                targets.add(target)
                self._files.setdefault(path, shown)

    def _is_ignored(self, path: str, ignores: tuple[_Ignore, ...], *, is_folder: bool) -> bool:
        if any(ignore.decides(path, is_folder) for ignore in self._excludes):
            return True
        return _is_ignored_by(ignores, path, is_folder=is_folder)

    def _ignores_above(self, folder: str) -> tuple[_Ignore, ...]:
        """The rules of git that hold in a folder and stand above it, from the repository's root down."""
        if not self._respect_gitignore:
            return ()
        above: list[str] = []
        place = folder
        while not os.path.exists(os.path.join(place, ".git")):
            parent = os.path.dirname(place)
            if parent == place:
                return ()  # no repository: only the files below count
            place = parent
            above.append(place)
        ignores = list(_read_gitignore(place, os.path.join(".git", "info", "exclude")))
        for outer in reversed(above):
            ignores.extend(_read_gitignore(outer, ".gitignore"))
        return tuple(ignores)

    def _find_markers_above(self, folder: str) -> None:
        """The build configuration of the project around: the nearest folder above that has one."""
        place = folder
        while True:
            names = [name for name in sorted(_MARKERS) if os.path.isfile(os.path.join(place, name))]
            if names:
                self._markers.update(display_path(os.path.join(place, name)) for name in names)
                return
            parent = os.path.dirname(place)
            if parent == place or os.path.exists(os.path.join(place, ".git")):
                return
            place = parent

    def _fail(self, shown: str, path: str, error: OSError) -> None:
        self._errors[shown] = SourceError(shown, describe_os_error(path, error))


class _Ignore:
    """Patterns in the language of `.gitignore`, which count from a folder."""

    __slots__ = ("_by_name", "_by_path", "_prefix", "_spec")

    def __init__(self, folder: str, spec: GitIgnoreSpec) -> None:
        self._prefix = folder.rstrip(os.sep) + os.sep
        self._spec = spec
        # Few entries match any pattern. One expression for all of them says so ten times as fast as asking one after the other. Most
        # patterns name an entry at any depth; as ignored folders are not entered, only the entry's own name can match them. With
        # exceptions (`!pattern`) that does not follow, and the patterns are asked in turn.
        self._by_name: re.Pattern[str] | None = None
        self._by_path: re.Pattern[str] | None = None
        expressions = [
            (_unnamed(pattern.regex.pattern), pattern.include) for pattern in spec.patterns if pattern.regex is not None
        ]
        if all(include for _, include in expressions):
            names = [text.removeprefix(_ANY_DEPTH) for text, _ in expressions if _is_of_name(text)]
            paths = [text for text, _ in expressions if not _is_of_name(text)]
            self._by_name = re.compile("|".join(names) if names else "(?!)")
            self._by_path = re.compile("|".join(paths) if paths else "(?!)")

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """True: ignored; False: expressly not; None: nothing is said."""
        if not path.startswith(self._prefix):
            return None
        relative = path[len(self._prefix) :].replace(os.sep, "/")
        if is_folder:
            relative += "/"
        if self._by_name is not None and self._by_path is not None:
            name = relative[relative.rfind("/", 0, -1) + 1 :]
            if self._by_name.match(name) is None and self._by_path.match(relative) is None:
                return None
        return self._spec.check_file(relative).include


def _is_ignored_by(ignores: tuple[_Ignore, ...], path: str, *, is_folder: bool) -> bool:
    for ignore in reversed(ignores):  # the innermost file that says anything decides
        decision = ignore.decides(path, is_folder)
        if decision is not None:
            return decision
    return False


_ANY_DEPTH = "^(?:.+/)?"
"""How pathspec begins the expression of a pattern that may match at any depth."""


def _unnamed(expression: str) -> str:
    return re.sub(r"\(\?P<\w+>", "(?:", expression)


def _is_of_name(expression: str) -> bool:
    """Whether the expression of a pattern speaks of one name at any depth, not of several in a row."""
    rest = expression.removeprefix(_ANY_DEPTH)
    for end in ("(?:(?:/)|$)", "(?:/)"):
        rest = rest.removesuffix(end)
    return expression.startswith(_ANY_DEPTH) and "/" not in rest.replace("[^/]", "")


def _read_gitignore(folder: str, name: str) -> tuple[_Ignore, ...]:
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return ()
    patterns = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue  # git passes over a pattern that it cannot read
        patterns.append(line)
    return (_Ignore(folder, GitIgnoreSpec.from_lines(patterns)),) if patterns else ()


def _spec(globs: Iterable[str], where: str) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(globs)
    except ValueError as error:
        raise UsageError(f"{where}: not a glob: {error}") from error


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads round in a circle
