"""The files of a run.

Computes: the Python files and notebooks under the given paths. Needs: paths and the configuration's excludes. Gives:
`discover_files`, whose result is sorted and without duplicates. Ignores: the contents of files. A folder that cannot
be read, or a broken link, is listed as an error and affects nothing else. A path that the user gives is followed,
even if it is a link. The content below is untrusted: a link that leads out of all given paths is listed and not
followed, unless requested.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pathspec import GitIgnoreSpec

from terra_refactor.config import Config, is_inside, is_slow_glob
from terra_refactor.errors import SourceError, UsageError
from terra_refactor.syntax.source import describe_os_error, display_path, relative_path
from terra_refactor.workspace.data_files import may_be_data

STDIN = "-"

DEFAULT_EXCLUDES = frozenset(
    {
        ".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d", ".pytest_cache", ".ruff_cache",
        ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__", "node_modules", "site-packages", "venv",
    }
)  # fmt: skip
"""Names of folders that contain no source of the project, at any depth."""

_BUILD_OUTPUT = frozenset({"build", "dist"})
"""Further folders that are skipped, unless they are packages of these names."""

_SUFFIXES = (".py", ".ipynb")
_MARKERS = frozenset({"pyproject.toml", "setup.cfg", "setup.py"})


@dataclass(frozen=True, slots=True)
class DiscoveredFiles:
    """The files under the paths of a run. All paths are as in reports.

    Attributes:
        files: the Python files and notebooks, sorted, without duplicates.
        stubs: the `.pyi` files among them.
        markers: the build configurations among them and in parent folders.
        bases: the given folders, and those of the given files.
        errors: folders and links that cannot be read.
        real: the path of each file with all links resolved.
        outside: files outside of the given paths that are reached by links; only if such links are followed.
        skipped_links: otherwise these links.
        stdin: whether standard input was given.
        data: the data files among them, with their real paths; no links.
    """

    files: tuple[str, ...]
    stubs: tuple[str, ...]
    markers: tuple[str, ...]
    bases: tuple[str, ...]
    errors: tuple[SourceError, ...]
    real: Mapping[str, str] = field(default_factory=dict)
    outside: frozenset[str] = frozenset()
    skipped_links: tuple[str, ...] = ()
    stdin: bool = False
    data: Mapping[str, str] = field(default_factory=dict)


def discover_files(
    paths: Iterable[str | os.PathLike[str]],
    config: Config | None = None,
    exclude: Iterable[str] = (),
    *,
    follow_links: bool = False,
) -> DiscoveredFiles:
    """Finds the files of a run.

    A file that is given by name is included whatever its suffix and the excludes, a given folder even if git ignores
    it. `exclude` holds globs relative to the current folder; those of the configuration are relative to its own
    folder.

    Raises:
        UsageError: a path does not exist, or a glob is invalid.
    """
    config = config if config is not None else Config()
    given = [os.fspath(path) for path in paths]
    roots = tuple(os.path.realpath(path) for path in given if path != STDIN)
    walk = _Walk(config, tuple(exclude), roots, follow_links=follow_links)
    stdin = False
    for path in given:
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

    def __init__(self, config: Config, exclude: tuple[str, ...], roots: tuple[str, ...], *, follow_links: bool) -> None:
        self._roots = roots
        self._follow_links = follow_links
        self._real: dict[str, str] = {}  # shown path -> real path
        self._skipped_links: set[str] = set()
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
        self._data: dict[str, str] = {}  # shown path -> absolute path

    def result(self, stdin: bool) -> DiscoveredFiles:
        self._add_linked_files()
        return DiscoveredFiles(
            files=tuple(sorted(set(self._files.values()))),
            stubs=tuple(sorted(self._stubs)),
            markers=tuple(sorted(self._markers)),
            bases=tuple(sorted(self._bases)),
            errors=tuple(error for _, error in sorted(self._errors.items())),
            real=self._real,
            outside=frozenset(
                shown for shown, real in self._real.items() if self._follow_links and self._leads_out(real)
            ),
            skipped_links=tuple(sorted(self._skipped_links)),
            stdin=stdin,
            data=self._data,
        )

    def add_file(self, path: str) -> None:
        """Adds a file given by name."""
        shown = relative_path(path)
        if not os.path.exists(path):
            self._fail(shown, path, FileNotFoundError())
            return
        folder = os.path.dirname(os.path.abspath(path))
        self._bases.add(relative_path(folder))
        self._find_markers_above(folder)
        if path.endswith(".pyi"):
            self._stubs.add(shown)
        self._files[os.path.abspath(path)] = shown
        self._real[shown] = os.path.realpath(path)

    def add_folder(self, path: str) -> None:
        """Collects the files below a folder.

        Links to folders are visited last, so that a file is shown by its own path rather than through a link.
        """
        shown = relative_path(path)
        absolute = os.path.abspath(path)
        self._bases.add(shown)
        self._find_markers_above(os.path.dirname(absolute))
        ignores = self._ignores_above(absolute)
        if _is_ignored_by(ignores, absolute, is_folder=True):
            ignores = ()  # an ignored folder that is given by name is read
        pending = [(absolute, shown, ignores)]
        linked: list[tuple[str, str, tuple[_Ignore, ...]]] = []
        reals = {absolute: os.path.realpath(absolute)}  # real paths of the folders still to be visited
        while pending or linked:
            if not pending:
                linked.sort(reverse=True)
                pending.append(linked.pop())
            folder, folder_shown, ignores = pending.pop()
            real = reals.pop(folder)
            if self._enter(folder, folder_shown):
                for child, is_link in self._scan(folder, folder_shown, real, ignores):
                    place = os.path.realpath(child[0]) if is_link else os.path.join(real, os.path.basename(child[0]))
                    if not is_link or self._may_follow(child[1], place):
                        reals[child[0]] = place
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
        self, folder: str, shown: str, real: str, ignores: tuple[_Ignore, ...]
    ) -> Iterator[tuple[tuple[str, str, tuple[_Ignore, ...]], bool]]:
        """Adds the files of one folder; returns its subfolders, and whether each is a link."""
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
            if may_be_data(name) and place.isprintable() and not is_link and entry.is_file():
                if not self._is_ignored(entry.path, ignores, is_folder=False):
                    self._data.setdefault(place, entry.path)
            if name not in _MARKERS and (not interesting or self._is_ignored(entry.path, ignores, is_folder=False)):
                continue
            if is_link and not self._may_follow(place, os.path.realpath(entry.path)):
                continue
            if not is_link and not entry.is_file():
                continue  # reading a pipe would block
            if name in _MARKERS:
                self._markers.add(place)
                if not interesting or self._is_ignored(entry.path, ignores, is_folder=False):
                    continue
            if name.endswith(".pyi"):
                self._stubs.add(place)
            elif is_link:
                self._links.append((entry.path, place))
            else:
                self._files.setdefault(entry.path, place)
                self._real.setdefault(place, os.path.join(real, name))

    def _add_linked_files(self) -> None:
        """Adds files reached by links, unless they are already included."""
        targets = {os.path.realpath(path) for path in self._files} if self._links else set()
        for path, shown in sorted(self._links):
            target = os.path.realpath(path)
            if not os.path.isfile(target):
                self._fail(shown, path, FileNotFoundError())
            elif target not in targets:
                targets.add(target)
                self._files.setdefault(path, shown)
                self._real.setdefault(shown, target)

    def _may_follow(self, shown: str, target: str) -> bool:
        """Whether a link to `target` is followed; otherwise it is recorded."""
        if self._follow_links or not self._leads_out(target):
            return True
        self._skipped_links.add(shown)
        return False

    def _leads_out(self, real: str) -> bool:
        return not any(is_inside(real, root) for root in self._roots)

    def _is_ignored(self, path: str, ignores: tuple[_Ignore, ...], *, is_folder: bool) -> bool:
        if any(ignore.decides(path, is_folder) for ignore in self._excludes):
            return True
        return _is_ignored_by(ignores, path, is_folder=is_folder)

    def _ignores_above(self, folder: str) -> tuple[_Ignore, ...]:
        """The rules of git that apply in a folder and are defined above it, from the repository's root down."""
        if not self._respect_gitignore:
            return ()
        above: list[str] = []
        place = folder
        while not os.path.exists(os.path.join(place, ".git")):
            parent = os.path.dirname(place)
            if parent == place:
                return ()  # no repository: only ignore files below apply
            place = parent
            above.append(place)
        ignores = list(_read_gitignore(place, os.path.join(".git", "info", "exclude")))
        for outer in reversed(above):
            ignores.extend(_read_gitignore(outer, ".gitignore"))
        return tuple(ignores)

    def _find_markers_above(self, folder: str) -> None:
        """The build configuration of the surrounding project: that of the nearest parent folder that has one."""
        place = folder
        while True:
            names = [name for name in sorted(_MARKERS) if os.path.isfile(os.path.join(place, name))]
            if names:
                self._markers.update(relative_path(os.path.join(place, name)) for name in names)
                return
            parent = os.path.dirname(place)
            if parent == place or os.path.exists(os.path.join(place, ".git")):
                return
            place = parent

    def _fail(self, shown: str, path: str, error: OSError) -> None:
        self._errors[shown] = SourceError(display_path(shown), describe_os_error(path, error))


class _Ignore:
    """Patterns in `.gitignore` syntax, relative to a folder."""

    __slots__ = ("_by_name", "_by_path", "_prefix", "_spec")

    def __init__(self, folder: str, spec: GitIgnoreSpec) -> None:
        self._prefix = folder.rstrip(os.sep) + os.sep
        self._spec = spec
        # Few entries match any pattern. One regular expression for all patterns tests this ten times as fast as one
        # after the other. Most patterns match a name at any depth; since ignored folders are not entered, only the
        # entry's own name can match them. With exceptions (`!pattern`) this does not hold, and the patterns are
        # tested in turn.
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
        """True: ignored; False: explicitly not ignored; None: no pattern applies."""
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
    for ignore in reversed(ignores):  # the innermost file with a matching pattern decides
        decision = ignore.decides(path, is_folder)
        if decision is not None:
            return decision
    return False


_ANY_DEPTH = "^(?:.+/)?"
"""The prefix of pathspec's expression for a pattern that may match at any depth."""


def _unnamed(expression: str) -> str:
    return re.sub(r"\(\?P<\w+>", "(?:", expression)


def _is_of_name(expression: str) -> bool:
    """Whether the expression of a pattern matches one name at any depth, not several in a row."""
    rest = expression.removeprefix(_ANY_DEPTH)
    for end in ("(?:(?:/)|$)", "(?:/)"):
        rest = rest.removesuffix(end)
    return expression.startswith(_ANY_DEPTH) and "/" not in rest.replace("[^/]", "")


_MAX_GITIGNORE = 1_000_000
"""Maximum number of characters read of a pattern file."""
_MAX_PATTERN = 4_096
"""Maximum length of a pattern: no path is longer, and compile time grows faster than the length."""


def _read_gitignore(folder: str, name: str) -> tuple[_Ignore, ...]:
    """The rules of a file; links are not followed, as in git, and a pipe would block."""
    file = os.path.join(folder, name)
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            return ()
        with open(file, encoding="utf-8", errors="replace") as stream:
            lines = stream.read(_MAX_GITIGNORE).splitlines()
    except OSError:
        return ()
    patterns = []
    for line in lines:
        if len(line) > _MAX_PATTERN:
            continue
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue  # git skips invalid patterns
        if is_slow_glob(line):
            continue
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
        return False  # a cyclic link
