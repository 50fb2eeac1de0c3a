"""Data files in the given paths whose names occur in the program.

Computes: the contents of the files whose names occur in a string of the program, with limited size. Needs: the files
that `discover_files` has found, the texts. Gives: `read_data_files`, `data_of`, `may_be_data`, `digests_of`, and
`KnownData` for an editor. Links are not followed, and a file that cannot be read or is too large is unknown; nothing
is parsed or executed here.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

from terra_refactor.workspace.array_archives import headers_in_archive

_ENDINGS: Final = (
    ".json", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".csv", ".tsv", ".txt", ".tab", ".dat", ".npy", ".npz", ".vocab", ".labels",
)  # fmt: skip
_ARRAY: Final = ".npy"
_ARCHIVE: Final = ".npz"
MAX_BYTES: Final = 1_000_000
"""Maximum size of a file that is read; a larger one is unknown."""
_ARRAY_BYTES: Final = 8_192
"""Maximum number of bytes read of an array: its header."""
MAX_DATA_FILES: Final = 200
"""Maximum number of data files in a run."""
_LONGEST_NAME: Final = 255
_ENDING: Final = re.compile("(?:" + "|".join(map(re.escape, _ENDINGS)) + r")(?![\w.])", re.IGNORECASE)
_STEM: Final = re.compile(r"[\w.@+-]+\Z")


def may_be_data(name: str) -> bool:
    """Whether a file of that name may be read as data."""
    return name.lower().endswith(_ENDINGS)


def names_in(text: str) -> frozenset[str]:
    """The names of data files that occur in a text."""
    found: set[str] = set()
    for match in _ENDING.finditer(text):
        # backwards from the suffix: a forward search would scan a long word once for each of its letters
        stem = _STEM.search(text[max(0, match.start() - _LONGEST_NAME) : match.start()])
        if stem is not None:
            found.add(stem[0] + match[0])
    return frozenset(found)


def read_data_files(found: Mapping[str, str], texts: Iterable[str]) -> dict[str, bytes]:
    """The contents of the files that a text names, by path as in reports. `found` maps such paths to the files."""
    if not found:
        return {}
    named: set[str] = set()
    for text in texts:
        named |= names_in(text)
    contents: dict[str, bytes] = {}
    for path, file in sorted(found.items()):
        if posixpath.basename(path) not in named or len(contents) >= MAX_DATA_FILES:
            continue
        content = read_data_file(file)
        if content is not None:
            contents[path] = content
    return contents


def data_of(data: Mapping[str, bytes], texts: Iterable[str]) -> dict[str, bytes]:
    """The files that one of the texts names."""
    if not data:
        return {}
    named = frozenset[str]().union(*map(names_in, texts))
    return {path: content for path, content in data.items() if posixpath.basename(path) in named}


def read_data_file(file: str) -> bytes | None:
    """The content of a regular file; of an array or an archive of arrays, only the beginnings.

    None for a link, or a file that is too large or unreadable.
    """
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC"))
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            return None
        descriptor = os.open(file, flags)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            if file.lower().endswith(_ARRAY):
                return stream.read(_ARRAY_BYTES)
            if file.lower().endswith(_ARCHIVE):
                return headers_in_archive(stream, status.st_size)
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        return None
    return content if len(content) <= MAX_BYTES else None


_MOST_TEXTS: Final = 20_000


class KnownData:
    """The data files of a project as last read by an editor."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[str, tuple[int, int] | None, bytes | None]] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._named: frozenset[str] = frozenset()

    def of(self, found: Mapping[str, str], texts: Iterable[tuple[str, str]]) -> dict[str, bytes]:
        """Like `read_data_files`, but a file is read again only if its time or size has changed.

        Texts come with their digests.
        """
        named = frozenset[str]().union(*(self._names_in(*each) for each in texts)) if found else frozenset[str]()
        self._named |= named
        contents: dict[str, bytes] = {}
        for path, file in sorted(found.items()):
            if posixpath.basename(path) not in named or len(contents) >= MAX_DATA_FILES:
                continue
            stamp, known = _stamp(file), self._read.get(path)
            if known is None or known[:2] != (file, stamp):
                known = self._read[path] = (file, stamp, read_data_file(file))
            if known[2] is not None:
                contents[path] = known[2]
        return contents

    def _names_in(self, digest: str, text: str) -> frozenset[str]:
        known = self._names.get(digest)
        if known is None:
            if len(self._names) > _MOST_TEXTS:
                self._names.clear()
            known = self._names[digest] = names_in(text)
        return known

    def is_named(self, file: str) -> bool:
        """Whether a text names a data file of that name, according to the queries so far."""
        return os.path.basename(file) in self._named

    def has_changed(self) -> bool:
        """Whether a file has changed since it was read."""
        return any(_stamp(file) != stamp for file, stamp, _ in self._read.values())


def digests_of(data: Mapping[str, bytes]) -> list[tuple[str, str]]:
    """A short representation of contents."""
    return sorted((path, blake2b(content, digest_size=16).hexdigest()) for path, content in data.items())


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
