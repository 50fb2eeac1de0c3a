"""The releases of TensorFlow, Keras and NumPy for which the files of a run are written.

Computes: for each file the releases that its project requires, and the position of the requirement. Needs: the
sources, and the given folders. Gives: `read_pins`, `PinReader`, `assumed_releases`, `for_releases`, `Pins`, `Pin`,
`AssumedRelease`. Installations in a notebook's own cells come first; then the nearest folder, from the file's own
upwards, whose files require a release of the library. Nothing is read outside of the given folders, and no link is
followed. Ignores: installed packages.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from terra_refactor.config import Config, is_inside
from terra_refactor.syntax.source import Source, relative_path
from terra_refactor.tf_model.releases import NEWEST, TENSORFLOW, Releases, admitted_by
from terra_refactor.workspace.requirements import (
    MAX_LENGTH,
    Requirement,
    is_requirements_file,
    read_cell_requirements,
    read_requirements,
)

_FOLDER_OF_LISTS: Final = "requirements"
"""The name of folders that hold requirements lists for their parent folder."""
_MAX_ENTRIES: Final = 10_000
"""Maximum number of entries read of a folder."""


@dataclass(frozen=True, slots=True, order=True)
class Pin:
    """A file's requirement for releases of a library.

    Attributes:
        path: the file with the requirement, as in reports; empty for the configuration.
        line: its line, counted from 1; in a notebook, the line of its module; 0 if unknown.
        library: its name in `tf_model.releases`.
        specifier: a version specifier in the syntax of packaging tools.
    """

    path: str
    line: int
    library: str
    specifier: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path or "tf-version"
        return f"{self.library}{self.specifier}, {place}"


@dataclass(frozen=True, slots=True)
class Pins:
    """The requirements of a file's project."""

    asked: tuple[Pin, ...] = ()
    releases: Releases = field(default_factory=Releases)


NO_PINS: Final = Pins()


@dataclass(frozen=True, slots=True, order=True)
class AssumedRelease:
    """The releases of a library for which some files are assumed to be written.

    Attributes:
        library: its name.
        requirement: a version specifier (`==2.3.1`), or the best-known release.
        path: the file with the requirement, as in reports; empty if there is none.
        line: its line; 0 if unknown.
        files: the number of files of the run.
        why: the reason in words.
    """

    library: str
    requirement: str
    path: str
    line: int
    files: int
    why: str


def read_pins(sources: Mapping[str, Source], folders: Iterable[str], config: Config) -> dict[str, Pins]:
    """The requirements for each file of a run; `folders` are the given ones."""
    return PinReader(folders).pins_of(sources, config)


def assumed_releases(paths: Iterable[str], pins: Mapping[str, Pins]) -> tuple[AssumedRelease, ...]:
    """Assumed releases of the files of a run: first the required ones, then the default for files without a requirement."""
    counts: Counter[Pin] = Counter()
    others = 0
    for path in paths:
        asked = pins.get(path, NO_PINS).asked
        counts.update(asked)
        others += not any(pin.library == TENSORFLOW for pin in asked)
    found = [
        AssumedRelease(
            pin.library,
            pin.specifier,
            pin.path,
            pin.line,
            files,
            "the project requires it" if pin.path else "tf-version says so",
        )
        for pin, files in sorted(counts.items())
    ]
    if others:
        why = "no release is required" if not found else "no release is required there"
        found.append(AssumedRelease(TENSORFLOW, NEWEST, "", 0, others, f"{why}: the newest that is known"))
    return tuple(found)


def for_releases(config: Config, pins: Iterable[Pins | None]) -> Config:
    """The configuration for the files of a program: with the TensorFlow release for which all of them are written, if
    there is a single one.
    """
    if config.tf_version is not None:
        return config
    found = {None if each is None else each.releases.tensorflow for each in pins}
    release = found.pop() if len(found) == 1 else None
    return config if release is None else replace(config, tf_version=release)


def _combined(asked: Mapping[str, tuple[Pin, ...]]) -> Pins:
    """Combines several requirements for a library: the releases that all of them admit. Contradicting ones are ignored."""
    admitted = {}
    for library, pins in asked.items():
        sets = [admitted_by(library, pin.specifier) for pin in pins]
        releases = tuple(release for release in sets[0] if all(release in other for other in sets[1:]))
        if releases:
            admitted[library] = releases
    kept = tuple(sorted(pin for library in admitted for pin in asked[library]))
    return Pins(kept, Releases(admitted)) if admitted else NO_PINS


class PinReader:
    """Reads the requirements of folders, each folder once."""

    def __init__(self, folders: Iterable[str]) -> None:
        """Nothing is read outside of these folders."""
        self._roots = tuple(os.path.realpath(folder) for folder in folders)
        self._read: dict[str, tuple[Pin, ...]] = {}

    def pins_of(self, sources: Mapping[str, Source], config: Config) -> dict[str, Pins]:
        """The requirements of each file, by its path as in reports, for files that have any.

        The release in the configuration replaces requirements for TensorFlow.
        """
        chosen = () if config.tf_version is None else (Pin("", 0, TENSORFLOW, f"=={config.tf_version}.*"),)
        found: dict[str, Pins] = {}
        for path, source in sources.items():
            asked: dict[str, tuple[Pin, ...]] = {pin.library: (pin,) for pin in chosen}
            for pins in self._from_nearest(source):
                by_library: dict[str, list[Pin]] = defaultdict(list)
                for pin in pins:
                    by_library[pin.library].append(pin)
                for library, same in by_library.items():
                    asked.setdefault(library, tuple(same))
            if asked:
                found[path] = _combined(asked)
        return found

    def _from_nearest(self, source: Source) -> Iterable[tuple[Pin, ...]]:
        """The requirements in a file itself, or else in its folder, and so on upwards."""
        if source.notebook is not None:
            cells = source.notebook.cells
            yield tuple(
                Pin(source.path, cell.line + each.line - 1, each.library, each.specifier)
                for cell in cells
                for each in read_cell_requirements(cell.source)
            )
        place = source.real or source.file
        folder = None if place is None else os.path.dirname(os.path.realpath(place))
        while folder is not None and any(is_inside(folder, root) for root in self._roots):
            yield self._pins_in(folder)
            parent = os.path.dirname(folder)
            folder = None if parent == folder else parent

    def _pins_in(self, folder: str) -> tuple[Pin, ...]:
        if folder not in self._read:
            found = [*_read_folder(folder, is_requirements_file)]
            lists = os.path.join(folder, _FOLDER_OF_LISTS)
            if os.path.isdir(lists) and not os.path.islink(lists):
                found += _read_folder(lists, lambda name: name.endswith(".txt"))
            self._read[folder] = tuple(found)
        return self._read[folder]


def _read_folder(folder: str, is_wanted: Callable[[str], bool]) -> Iterable[Pin]:
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= _MAX_ENTRIES:
                    break
                if is_wanted(entry.name) and entry.is_file(follow_symlinks=False):
                    names.append(entry.name)
    except OSError:
        return
    for name in sorted(names):
        text = _text_of(os.path.join(folder, name))
        if text is None:
            continue
        as_list = name if is_requirements_file(name) else "requirements.txt"
        path = relative_path(os.path.join(folder, name)).replace(os.sep, "/")
        yield from _pins_of(path, read_requirements(as_list, text))


def _pins_of(path: str, requirements: tuple[Requirement, ...]) -> Iterable[Pin]:
    """The pins of a file. A line that applies only to some machines leaves open which release of its library others have."""
    open_ones = {each.library for each in requirements if each.conditional}
    for each in requirements:
        if each.library not in open_ones:
            yield Pin(path, each.line, each.library, each.specifier)


def _text_of(file: str) -> str | None:
    """The text of a small regular file; None for others."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_LENGTH:
                return None
            return opened.read(MAX_LENGTH).decode("utf-8", "replace")
    except OSError:
        return None
