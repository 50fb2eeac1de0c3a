"""The on-disk cache: lowered modules, and the results of components (files that are analysed together).

Computes: keys. Needs: a module's content digest, its name and its path; for results, a text with all their
dependencies. Gives: `LoweringCache`, which finds and keeps `ModuleIR`s, `ResultCache`, `cache_info` and
`clean_cache`. Ignores: all errors: a cache that cannot be read, is corrupt, or was written by another version counts
as empty, and write failures have no effect.

Entries are pickles, and unpickling runs code. So an entry is unpickled only if it is signed, together with its key, with the user's own
secret (`cache_key.py`). Other files in the folder are never unpickled, whatever their origin.

An entry's key consists of its dependencies: for a module the digest of the file's bytes, the module's name and path,
and the code of the rooms that create it (with the version of Python, for the pickles); for results everything that
was read and the whole code of this tool, with its tables. So an entry is never stale; `clean_cache` removes unused
ones.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import secrets
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from hmac import compare_digest
from importlib import resources
from pathlib import Path
from typing import Final

import platformdirs

from terra_refactor import __version__
from terra_refactor.ir.program import ModuleIR
from terra_refactor.workspace.cache_key import cache_key, is_private
from terra_refactor.workspace.collection import without_collection

FOLDER_VARIABLE: Final = "TERRA_REFACTOR_CACHE_DIR"
_MAGIC: Final = b"terra-refactor cache 2\n"
_DIGEST_SIZE: Final = 16
_SIGNATURE_SIZE: Final = 32
_MODULE: Final = ".ir"
_RESULT: Final = ".result"
_TEXTS: Final = ".texts"
_ANALYSIS: Final = ".analysis"
_REGIONS: Final = ".regions"
_ROOMS: Final = ("terra_refactor.syntax", "terra_refactor.ir", "terra_refactor.ir.build")


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The content of the cache."""

    folder: Path
    entries: int
    """Lowered modules of this version; those of others are counted in `stale_entries`."""
    results: int
    """Results of components, of this version."""
    stale_entries: int
    size: int
    """Total size of the entries, in bytes."""
    unused: str | None = None
    """The reason why the cache is not used."""


def cache_folder() -> Path:
    """The folder of the cache: that in the environment variable, or else the platform's cache folder of the user."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    if chosen:
        return Path(os.path.abspath(chosen))
    return _default_folder()


def _default_folder() -> Path:
    return Path(platformdirs.user_cache_dir("terra-refactor", appauthor=False)) / "lowered"


@cache
def generation() -> str:
    """The identity of the code that creates the entries."""
    digest = blake2b(digest_size=_DIGEST_SIZE)
    digest.update(repr((__version__, sys.version_info[:2], sys.implementation.name)).encode())
    for room in _ROOMS:
        for file in sorted(resources.files(room).iterdir(), key=lambda entry: entry.name):
            if file.name.endswith(".py"):
                digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def result_generation() -> str:
    """The identity of all code and tables of this tool that affect a result."""
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
    """Lowered modules by their inputs."""

    def __init__(self, folder: Path | None = None) -> None:
        self._entries = _Entries(folder, generation, _MODULE)

    def find(self, digest: str, name: str, path: str, *, is_package: bool) -> ModuleIR | None:
        """The lowered module; None for a cache miss."""
        module = self._entries.read(_module_key(digest, name, path, is_package=is_package))
        return module if isinstance(module, ModuleIR) and module.digest == digest else None

    def keep(self, module: ModuleIR) -> None:
        """Stores a module; a failure is ignored."""
        self._entries.write(_module_key(module.digest, module.name, module.path, is_package=module.is_package), module)


class ResultCache:
    """The results of components, by a text with all their dependencies."""

    def __init__(self, folder: Path | None = None) -> None:
        self._entries = _Entries(folder, result_generation, _RESULT)
        self._texts = _Entries(folder, result_generation, _TEXTS)
        self._analyses = _Entries(folder, result_generation, _ANALYSIS)
        self._regions = _Entries(folder, result_generation, _REGIONS)

    def find(self, key: str) -> object:
        """The value stored under that key, or None."""
        return self._entries.read(key)

    def keep(self, key: str, result: object) -> None:
        """Stores a result; a failure is ignored."""
        self._entries.write(key, result)

    def find_texts(self, place: str) -> object:
        """The texts last stored for a component, or None."""
        return self._texts.read(place)

    def find_analysis(self, place: str) -> memoryview | None:
        """The stored state of a component's last analysis, as data, or None."""
        return self._analyses.read_bytes(place)

    def keep_analysis(self, place: str, data: bytes) -> None:
        """Replaces the stored state of a component's last analysis; a failure is ignored."""
        self._analyses.write_bytes(place, data)

    def find_regions(self, key: str) -> object:
        """The regions stored for a state of a component, or None."""
        return self._regions.read(key)

    def keep_regions(self, key: str, regions: object) -> None:
        """Stores the regions of a state of a component; a failure is ignored."""
        self._regions.write(key, regions)

    def keep_texts(self, place: str, texts: object) -> None:
        """Replaces the stored texts of a component; a failure is ignored."""
        self._texts.write(place, texts)


def _module_key(digest: str, name: str, path: str, *, is_package: bool) -> str:
    return "\0".join((digest, name, path, str(is_package)))


class _Entries:
    """Signed files, each written atomically, below the folder of one generation."""

    def __init__(self, folder: Path | None, generation: Callable[[], str], suffix: str) -> None:
        self._outer = folder if folder is not None else cache_folder()
        self._generation = generation
        self._suffix = suffix

    def read(self, key: str) -> object:
        """The object pickled under a key, or None."""
        payload = self.read_bytes(key)
        if payload is None:
            return None
        try:
            with without_collection():
                made: object = pickle.loads(payload)
        except Exception:  # unpickling an old entry may raise anything
            return None
        return made

    def write(self, key: str, made: object) -> None:
        """Pickles an object; a failure is ignored."""
        self.write_bytes(key, pickle.dumps(made, protocol=pickle.HIGHEST_PROTOCOL))

    def read_bytes(self, key: str) -> memoryview | None:
        """The bytes written under a key by this version with this user's secret, or None."""
        secret = cache_key()
        if secret is None:
            return None
        try:
            data = self._file(key).read_bytes()
        except OSError:
            return None
        header = len(_MAGIC) + _SIGNATURE_SIZE
        payload = memoryview(data)[header:]
        if not data.startswith(_MAGIC) or not compare_digest(
            self._signature(secret, key, payload), data[len(_MAGIC) : header]
        ):
            return None
        return payload

    def write_bytes(self, key: str, payload: bytes) -> None:
        """Writes an entry atomically; a failure is ignored."""
        secret = cache_key()
        if secret is None:
            return
        file = self._file(key)
        temporary = file.with_suffix(f".{secrets.token_hex(8)}.tmp")
        with contextlib.suppress(OSError):
            _make_private(file.parent, self._outer)
            try:
                with open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
                    stream.write(_MAGIC + self._signature(secret, key, payload) + payload)
                os.replace(temporary, file)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise

    def _signature(self, secret: bytes, key: str, payload: bytes | memoryview) -> bytes:
        """Signature of the entry with its key, so that one entry cannot replace another."""
        code = blake2b(key=secret, digest_size=_SIGNATURE_SIZE)
        name = f"{self._generation()}\0{self._suffix}\0{key}".encode("utf-8", "surrogatepass")
        code.update(len(name).to_bytes(8, "big") + name)
        code.update(payload)
        return code.digest()

    def _file(self, key: str) -> Path:
        name = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_SIZE).hexdigest()
        # computed on demand: a run that finds all results does not need the digest of the lowering code
        return self._outer / self._generation() / name[:2] / f"{name[2:]}{self._suffix}"


def _make_private(folder: Path, outer: Path) -> None:
    """Makes the folder of an entry, and its parents up to the cache's own, private to the user.

    Raises:
        OSError: it cannot be created, or one of them is a link, belongs to another user, or is accessible to other users.
    """
    outer.mkdir(mode=0o700, parents=True, exist_ok=True)
    if outer == _default_folder():
        outer.chmod(0o700)  # earlier versions left it open to the user's group if the umask did
    for place in (outer, folder.parent, folder):
        place.mkdir(mode=0o700, exist_ok=True)
        # the cache's own folder may have been created by the user, and may be a link; no other user may have write
        # access
        status = os.stat(place) if place == outer else os.lstat(place)
        if not stat.S_ISDIR(status.st_mode) or not is_private(status, writable_only=True):
            raise PermissionError(f"{place} is accessible to other users")


def cache_info(folder: Path | None = None) -> CacheInfo:
    """The contents of the cache."""
    folder = folder if folder is not None else cache_folder()
    entries = stale = size = 0
    results = 0
    for entry in _files(folder):
        if entry.suffix not in (_MODULE, _RESULT, _TEXTS, _ANALYSIS, _REGIONS):
            continue
        with contextlib.suppress(OSError):
            size += entry.stat().st_size
            own = entry.relative_to(folder).parts[0]
            if entry.suffix == _MODULE and own == generation():
                entries += 1
            elif entry.suffix == _RESULT and own == result_generation():
                results += 1
            elif entry.suffix in (_TEXTS, _ANALYSIS, _REGIONS) and own == result_generation():
                pass  # they belong to a result
            else:
                stale += 1
    return CacheInfo(folder, entries, results, stale, size, _why_unused(folder))


def _why_unused(folder: Path) -> str | None:
    if cache_key() is None:
        return "there is no private key to sign its entries with"
    with contextlib.suppress(OSError):
        if not is_private(os.stat(folder), writable_only=True):
            return "other users can write to its folder"
    return None


def _files(folder: Path) -> list[Path]:
    """Files that this tool may have written: a folder named by mistake holds other files, too."""
    return sorted(
        entry
        for entry in folder.glob("*/*/*")
        if re.fullmatch(
            r"[0-9a-f]{32}/[0-9a-f]{2}/[0-9a-f]{30}(\.[0-9a-f]+)?\.(ir|result|texts|analysis|regions|tmp)",
            entry.relative_to(folder).as_posix(),
        )
        and not entry.is_dir()
    )


def clean_cache(folder: Path | None = None) -> CacheInfo:
    """Removes every entry, and folders that become empty.

    Returns the removed entries. Raises OSError if an entry cannot be removed.
    """
    folder = folder if folder is not None else cache_folder()
    info = cache_info(folder)
    files = _files(folder)
    for file in files:
        file.unlink(missing_ok=True)
    for place in sorted(
        {above for file in files for above in (file.parent, file.parent.parent)} | {folder}, reverse=True
    ):
        with contextlib.suppress(OSError):
            place.rmdir()
    return info
