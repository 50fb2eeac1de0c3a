"""Fetches a repository: a folder is used directly, an archive unpacked, a git revision checked out.

Gives: `fetched`, a context with the folder. Raises `FetchError` with one sentence. Unpacked and checked-out files are removed afterwards.
An archive cannot write outside of its folder (`filter="data"` of tarfile, PEP 706).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from typing_extensions import assert_never

from terra_refactor.batch.manifest import ManifestEntry, SourceKind
from terra_refactor.isolation import find_program

MAX_REPOSITORY_BYTES: Final = 4 << 30
"""Maximum number of bytes to which an archive may unpack."""


_OF_ANOTHER_REPOSITORY: Final = frozenset((
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE",
    "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
))  # fmt: skip
"""Environment variables that tell git which repository to use (`git rev-parse --local-env-vars`, without the configuration)."""


class FetchError(Exception):
    """A repository that cannot be fetched."""


@contextlib.contextmanager
def fetched(entry: ManifestEntry, timeout: float) -> Iterator[str]:
    """The folder that holds the repository.

    Raises:
        FetchError: it does not exist, or cannot be unpacked or checked out.
        subprocess.TimeoutExpired: git took too long.
    """
    if entry.kind is SourceKind.PATH:
        if not os.path.isdir(entry.location):
            raise FetchError(f"{entry.location}: no such folder")
        yield entry.location
        return
    with tempfile.TemporaryDirectory(prefix="terra-refactor-batch-", ignore_cleanup_errors=True) as folder:
        match entry.kind:
            case SourceKind.SDIST:
                unpack(entry.location, folder)
            case SourceKind.GIT:
                _check_out(entry, folder, timeout)
            case _:
                assert_never(entry.kind)
        yield folder


def unpack(archive: str, folder: str) -> None:
    """Unpack a wheel, a zip file or a tarball into a folder.

    Raises:
        FetchError: it is not such an archive, or would write outside of the folder.
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                _check_size(archive, (member.file_size for member in opened.infolist()))
                opened.extractall(folder)
        elif not hasattr(tarfile, "data_filter"):
            raise FetchError(f"{archive}: cannot be unpacked safely: this version of Python has no extraction filters")
        else:
            with tarfile.open(archive) as opened_tar:
                _check_size(archive, (member.size for member in opened_tar))
                opened_tar.extractall(folder, filter="data")
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise FetchError(f"{archive}: cannot be unpacked: {error}") from error


def _check_size(archive: str, sizes: Iterable[int]) -> None:
    """Raises FetchError for an archive that would fill the disk: sizes are read one by one, only up to the limit."""
    total = 0
    for size in sizes:
        total += size
        if total > MAX_REPOSITORY_BYTES:
            raise FetchError(f"{archive}: unpacks to more than {MAX_REPOSITORY_BYTES >> 30} GB")


def _check_out(entry: ManifestEntry, folder: str, timeout: float) -> None:
    _git(folder, timeout, "init", "--quiet")
    wanted = entry.revision or "HEAD"
    fetch = ("fetch", "--quiet", "--no-tags", "--depth=1", "--", entry.location)
    try:
        _git(folder, timeout, *fetch, wanted)
        target = "FETCH_HEAD"
    except FetchError:
        if not entry.revision:
            raise
        # a server may not serve a single commit
        _git(folder, timeout, "fetch", "--quiet", "--tags", "--", entry.location, "+refs/heads/*:refs/remotes/origin/*")
        target = entry.revision
    _git(folder, timeout, "checkout", "--quiet", "--detach", target)


def _git(folder: str, timeout: float, *arguments: str) -> None:
    # git sets these for its hooks and aliases: with them every command would operate on the user's own repository
    environment = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER_REPOSITORY}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}
    program = find_program("git")
    if program is None:
        raise FetchError("git is not installed")
    try:
        done = subprocess.run(
            [program, "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", *arguments],
            cwd=Path(folder),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except OSError as error:
        raise FetchError(f"git cannot be run: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise FetchError(f"git {arguments[0]}: {lines[-1]}")
