"""The secret that signs the entries of the cache, in a file that only the user may read.

Computes: nothing. Gives: `cache_key`, which creates the secret if there is none; `is_private`. Needs: the user's data
folder. Ignores: errors. Without a secret there is no cache: a file that is a link, belongs to another user, or is
readable by others is not used.

The secret is not in the cache's folder, so restoring a whole cache folder (by a CI service, from an archive) does not
restore the secret.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from functools import cache
from pathlib import Path
from typing import Final

import platformdirs

_NAME: Final = "cache.key"
_SIZE: Final = 32


def key_folder() -> Path:
    """The folder of the key."""
    return Path(platformdirs.user_data_dir("terra-refactor", appauthor=False))


def cache_key() -> bytes | None:
    """The key of this user; None if there is none."""
    return _key_in(key_folder())


@cache
def _key_in(folder: Path) -> bytes | None:
    """Read once per process; a key that is replaced later is used by the next process."""
    if not folder.is_absolute():
        return None  # otherwise it would be in the current folder, which may be the analysed one
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(os.lstat(folder), writable_only=True):
            return None
        for _ in range(2):
            with contextlib.suppress(FileNotFoundError):
                return _read(folder / _NAME)
            _make(folder)
    return None


def _read(file: Path) -> bytes | None:
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    descriptor = os.open(file, flags)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not is_private(status):
            return None
        data = stream.read(_SIZE + 1)
    return data if len(data) == _SIZE else None


def _make(folder: Path) -> None:
    """Writes a new key atomically; if two processes do so at once, one of the keys is used."""
    temporary = folder / f".{_NAME}.{secrets.token_hex(8)}"
    try:
        with open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
            stream.write(secrets.token_bytes(_SIZE))
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, folder / _NAME)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def is_private(status: os.stat_result, *, writable_only: bool = False) -> bool:
    """Whether a file or folder belongs to this user, and no other user may read it (with `writable_only`: write to it)."""
    if os.name != "posix":
        return True  # a user's folders are protected by their access lists
    others = stat.S_IWGRP | stat.S_IWOTH if writable_only else stat.S_IRWXG | stat.S_IRWXO
    return status.st_uid == os.geteuid() and not status.st_mode & others
