"""The on-disk cache of lowered modules.

Computes: keys. Needs: a module's content digest, its name and its path. Gives: `LoweringCache`, which finds and keeps
`ModuleIR`s, `cache_info` and `clean_cache`. Ignores: everything that goes wrong: a cache that cannot be read, is
corrupt, or was written by another version is as good as an empty one, and one that cannot be written is not written.

An entry is found by what it depends on: the digest of the file's bytes, the module's name and path, and the code of
the rooms that make it (with the version of Python, whose pickles they are). So nothing is ever out of date; what is
not asked for any more is only garbage, which `clean_cache` removes.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import Final

import platformdirs

from terra_refactor import __version__
from terra_refactor.ir.program import ModuleIR

_MAGIC: Final = b"terra-refactor ir\n"
_DIGEST_SIZE: Final = 16
_ROOMS: Final = ("terra_refactor.syntax", "terra_refactor.ir", "terra_refactor.ir.build")


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What the cache holds."""

    folder: Path
    entries: int
    """Of this version; others are counted in `stale_entries`."""
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


class LoweringCache:
    """Lowered modules by what they were made of."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = (folder if folder is not None else cache_folder()) / generation()

    def find(self, digest: str, name: str, path: str, *, is_package: bool) -> ModuleIR | None:
        """The lowered module, or None if it has to be made."""
        try:
            data = self._entry(digest, name, path, is_package=is_package).read_bytes()
        except OSError:
            return None
        header = len(_MAGIC) + _DIGEST_SIZE
        if not data.startswith(_MAGIC) or _checksum(data[header:]) != data[len(_MAGIC) : header]:
            return None
        try:
            with _no_collection():
                module = pickle.loads(memoryview(data)[header:])
        except Exception:  # whatever a pickle of another time may raise
            return None
        return module if isinstance(module, ModuleIR) and module.digest == digest else None

    def keep(self, module: ModuleIR) -> None:
        """Keep a module that was made; failing to is no error."""
        entry = self._entry(module.digest, module.name, module.path, is_package=module.is_package)
        payload = pickle.dumps(module, protocol=pickle.HIGHEST_PROTOCOL)
        with contextlib.suppress(OSError):
            entry.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=entry.parent, suffix=".tmp")
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(_MAGIC + _checksum(payload) + payload)
                os.replace(temporary, entry)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise

    def _entry(self, digest: str, name: str, path: str, *, is_package: bool) -> Path:
        key = blake2b("\0".join((digest, name, path, str(is_package))).encode(), digest_size=_DIGEST_SIZE).hexdigest()
        return self._folder / key[:2] / f"{key[2:]}.ir"


def cache_info(folder: Path | None = None) -> CacheInfo:
    """What the cache holds now."""
    folder = folder if folder is not None else cache_folder()
    entries = stale = size = 0
    for entry in folder.glob("*/*/*.ir"):
        with contextlib.suppress(OSError):
            size += entry.stat().st_size
            if entry.relative_to(folder).parts[0] == generation():
                entries += 1
            else:
                stale += 1
    return CacheInfo(folder, entries, stale, size)


def clean_cache(folder: Path | None = None) -> CacheInfo:
    """Remove every entry. Gives what was there. Raises OSError where the folder cannot be removed."""
    folder = folder if folder is not None else cache_folder()
    info = cache_info(folder)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)
    return info


def _checksum(data: bytes | memoryview) -> bytes:
    return blake2b(data, digest_size=_DIGEST_SIZE).digest()


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Many small objects are made that all live: looking for garbage among them only costs."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
