"""The manifest of a batch: the repositories to analyse.

Computes: entries. Needs: a text file with one repository per line, or a TOML file with `[[repository]]` tables.
Gives: `read_manifest`.

    # a line is a folder, an sdist, or a git URL with a revision
    ../models
    downloads/gpflow-2.9.0.tar.gz
    git+https://example.org/team/project.git@v1.2

    [[repository]]
    name = "project"
    git = "https://example.org/team/project.git"
    revision = "v1.2"
    paths = ["src"]
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from terra_refactor.config import parse_toml
from terra_refactor.errors import UsageError

_ARCHIVES: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".zip", ".whl")
_KEYS: Final = ("name", "path", "sdist", "git", "revision", "paths")


class SourceKind(Enum):
    """The origin of a repository."""

    PATH = "path"
    SDIST = "sdist"
    GIT = "git"


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One repository.

    Attributes:
        name: its name in the result; unique in a manifest.
        kind: its origin.
        location: a folder, an archive (both absolute), or a git URL.
        revision: the git revision; empty for the default branch.
        paths: the paths in it to analyse.
    """

    name: str
    kind: SourceKind
    location: str
    revision: str = ""
    paths: tuple[str, ...] = (".",)

    @property
    def identity(self) -> str:
        """Key of its result when a run is resumed."""
        return "\0".join((self.name, self.kind.value, self.location, self.revision, *self.paths))


def read_manifest(file: Path) -> tuple[ManifestEntry, ...]:
    """The entries of a manifest, in its order.

    Raises:
        UsageError: it cannot be read, an entry is invalid, or two have the same name.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: the manifest cannot be read: {error}") from error
    folder = file.absolute().parent
    entries = _from_toml(text, file, folder) if file.suffix == ".toml" else _from_lines(text, file, folder)
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise UsageError(f"{file}: two repositories are called `{entry.name}`")
        seen.add(entry.name)
    if not entries:
        raise UsageError(f"{file}: names no repository")
    return entries


def _from_lines(text: str, file: Path, folder: Path) -> tuple[ManifestEntry, ...]:
    entries: list[ManifestEntry] = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        if content.startswith("git+"):
            url, at, revision = content[4:].rpartition("@")
            if not at or "/" in revision or ":" in revision:  # the @ of `git@host:path` belongs to the address
                url, revision = content[4:], ""
            name = f"{_last(url)}@{revision}" if revision else _last(url)
            where = f"{file}:{number}"
            entries.append(
                ManifestEntry(name, SourceKind.GIT, _checked_url(url, where), _checked_revision(revision, where))
            )
        else:
            entries.append(_local(content, content, folder, f"{file}:{number}"))
    return tuple(entries)


def _from_toml(text: str, file: Path, folder: Path) -> tuple[ManifestEntry, ...]:
    tables = parse_toml(text, str(file)).get("repository", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{file}: `repository` takes tables: [[repository]]")
    return tuple(_from_table(table, f"{file}: repository {number}", folder) for number, table in enumerate(tables, 1))


def _from_table(table: Mapping[str, Any], where: str, folder: Path) -> ManifestEntry:
    for key, value in table.items():
        if key not in _KEYS:
            close = difflib.get_close_matches(key, _KEYS, n=1)
            raise UsageError(
                f"{where}: unknown key `{key}`"
                + (f"; did you mean `{close[0]}`?" if close else f"; known: {', '.join(_KEYS)}")
            )
        if key == "paths":
            if not isinstance(value, list) or not value or not all(isinstance(path, str) for path in value):
                raise UsageError(f"{where}: `paths` takes a list of strings")
        elif not isinstance(value, str) or not value:
            raise UsageError(f"{where}: `{key}` takes a string")
    kinds = [kind for kind in SourceKind if kind.value in table]
    if len(kinds) != 1:
        raise UsageError(f"{where}: needs one of path, sdist and git")
    kind = kinds[0]
    location = table[kind.value]
    paths = tuple(table.get("paths", (".",)))
    if kind is SourceKind.GIT:
        revision = table.get("revision", "")
        name = table.get("name", f"{_last(location)}@{revision}" if revision else _last(location))
        return ManifestEntry(name, kind, _checked_url(location, where), _checked_revision(revision, where), paths)
    if "revision" in table:
        raise UsageError(f"{where}: `revision` is only valid with `git`")
    return ManifestEntry(table.get("name", location), kind, os.path.abspath(folder / location), "", paths)


def _local(name: str, location: str, folder: Path, where: str) -> ManifestEntry:
    absolute = os.path.abspath(folder / location)
    if location.endswith(_ARCHIVES):
        return ManifestEntry(name, SourceKind.SDIST, absolute)
    if "://" in location:
        raise UsageError(f"{where}: {location} is a URL; write git+{location}")
    return ManifestEntry(name, SourceKind.PATH, absolute)


def _checked_revision(revision: str, where: str) -> str:
    """The name of a revision; git would interpret one that begins with a dash as an option."""
    if revision.startswith("-"):
        raise UsageError(f"{where}: `{revision}` is not a revision")
    return revision


def _checked_url(url: str, where: str) -> str:
    if not url or url.startswith("-"):
        raise UsageError(f"{where}: `{url}` is not the address of a git repository")
    return url


def _last(url: str) -> str:
    return url.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2]
