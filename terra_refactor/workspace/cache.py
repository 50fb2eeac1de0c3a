"""The on-disk cache: lowered modules, and the results of files that were analysed together.

Computes: keys. Needs: a module's content digest, its name and its path; for results a text that tells all that they depend on. Gives:
`LoweringCache`, which finds and keeps `ModuleIR`s, `ResultCache`, `cache_info` and `clean_cache`. Ignores: everything that goes wrong: a
cache that cannot be read, is corrupt, or was written by another version is as good as an empty one, and one that cannot be written is
not written.

An entry is found by what it depends on: for a module the digest of the file's bytes, the module's name and path, and the code of
the rooms that make it (with the version of Python, whose pickles they are); for results everything that was read and the whole code of
this tool, its tables included. So nothing is ever out of date; what is not asked for any more is only garbage, which `clean_cache`
removes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import Final

import platformdirs

from terra_refactor import __version__
from terra_refactor.ir.program import ModuleIR
from terra_refactor.workspace.collection import without_collection

_MAGIC: Final = b"terra-refactor cache\n"
_DIGEST_SIZE: Final = 16
_MODULE: Final = ".ir"
_RESULT: Final = ".result"
_ROOMS: Final = ("terra_refactor.syntax", "terra_refactor.ir", "terra_refactor.ir.build")


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What the cache holds."""

    folder: Path
    entries: int
    """Lowered modules of this version; others are counted in `stale_entries`."""
    results: int
    """Results of files that were analysed together, of this version."""
    stale_entries: int
    size: int
    """Of all entries, in bytes."""


def cache_folder() -> Path:
    """Where the cache is: the platform's folder for caches of a user."""
    return Path(platformdirs.user_cache_dir("terra-refactor", appauthor=False)) / "lowered"


@cache
def generation() -> str:
    """The identity of the code that makes the entries."""
    digest = blake2b(digest_size=_DIGEST_SIZE)
    digest.update(repr((__version__, sys.version_info[:2], sys.implementation.name)).encode())
    for room in _ROOMS:
        for file in sorted(resources.files(room).iterdir(), key=lambda entry: entry.name):
            if file.name.endswith(".py"):
                digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def result_generation() -> str:
    """The identity of everything that takes part in a result: all code and tables of this tool."""
    digest = blake2b(digest_size=_DIGEST_SIZE)
    digest.update(repr((__version__, sys.version_info[:2], sys.implementation.name)).encode())
    pending = [resources.files("terra_refactor")]
    while pending:
        for entry in sorted(pending.pop().iterdir(), key=lambda entry: entry.name):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    pending.append(entry)
            elif not entry.name.endswith(".pyc"):
                digest.update(entry.name.encode() + b"\0" + entry.read_bytes() + b"\0")
    return digest.hexdigest()


class LoweringCache:
    """Lowered modules by what they were made of."""

    def __init__(self, folder: Path | None = None) -> None:
        self._entries = _Entries(folder, generation, _MODULE)

    def find(self, digest: str, name: str, path: str, *, is_package: bool) -> ModuleIR | None:
        """The lowered module, or None if it has to be made."""
        module = self._entries.read(_module_key(digest, name, path, is_package=is_package))
        return module if isinstance(module, ModuleIR) and module.digest == digest else None

    def keep(self, module: ModuleIR) -> None:
        """Keep a module that was made; failing to is no error."""
        self._entries.write(_module_key(module.digest, module.name, module.path, is_package=module.is_package), module)


class ResultCache:
    """Results of files that were analysed together, by a text that tells all that they depend on."""

    def __init__(self, folder: Path | None = None) -> None:
        self._entries = _Entries(folder, result_generation, _RESULT)

    def find(self, key: str) -> object:
        """What was kept under that key, or None."""
        return self._entries.read(key)

    def keep(self, key: str, result: object) -> None:
        """Keep a result; failing to is no error."""
        self._entries.write(key, result)


def _module_key(digest: str, name: str, path: str, *, is_package: bool) -> str:
    return "\0".join((digest, name, path, str(is_package)))


class _Entries:
    """Files with a checksum, each written in one step, below the folder of one generation."""

    def __init__(self, folder: Path | None, generation: Callable[[], str], suffix: str) -> None:
        self._outer = folder if folder is not None else cache_folder()
        self._generation = generation
        self._suffix = suffix

    def read(self, key: str) -> object:
        try:
            data = self._file(key).read_bytes()
        except OSError:
            return None
        header = len(_MAGIC) + _DIGEST_SIZE
        if not data.startswith(_MAGIC) or _checksum(data[header:]) != data[len(_MAGIC) : header]:
            return None
        try:
            with without_collection():
                made: object = pickle.loads(memoryview(data)[header:])
        except Exception:  # whatever a pickle of another time may raise
            return None
        return made

    def write(self, key: str, made: object) -> None:
        file = self._file(key)
        payload = pickle.dumps(made, protocol=pickle.HIGHEST_PROTOCOL)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(_MAGIC + _checksum(payload) + payload)
                os.replace(temporary, file)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise

    def _file(self, key: str) -> Path:
        name = blake2b(key.encode(), digest_size=_DIGEST_SIZE).hexdigest()
        # told only now: a run that finds all results need not know the identity of what lowers modules
        return self._outer / self._generation() / name[:2] / f"{name[2:]}{self._suffix}"


def cache_info(folder: Path | None = None) -> CacheInfo:
    """What the cache holds now."""
    folder = folder if folder is not None else cache_folder()
    entries = stale = size = 0
    results = 0
    for entry in sorted(folder.glob("*/*/*")):
        if entry.suffix not in (_MODULE, _RESULT):
            continue
        with contextlib.suppress(OSError):
            size += entry.stat().st_size
            own = entry.relative_to(folder).parts[0]
            if entry.suffix == _MODULE and own == generation():
                entries += 1
            elif entry.suffix == _RESULT and own == result_generation():
                results += 1
            else:
                stale += 1
    return CacheInfo(folder, entries, results, stale, size)


def clean_cache(folder: Path | None = None) -> CacheInfo:
    """Remove every entry. Gives what was there. Raises OSError where the folder cannot be removed."""
    folder = folder if folder is not None else cache_folder()
    info = cache_info(folder)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)
    return info


def _checksum(data: bytes | memoryview) -> bytes:
    return blake2b(data, digest_size=_DIGEST_SIZE).digest()
