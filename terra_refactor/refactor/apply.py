"""Writes a refactored file.

Computes: the bytes of the new text, in the file's own encoding. Needs: a `FileRefactoring` of a file on disk. Gives: the file, replaced
as a whole.

The new bytes go to a temporary file in the same folder, which then replaces the file in one step: readers see the old
text or the new one, even after an interrupt. Permission bits and, where possible, the owner are kept; a symbolic link
stays one, and its target is replaced. Ignores: hard links (the other names keep the old text).
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from hashlib import blake2b

from terra_refactor.errors import SourceError
from terra_refactor.refactor.result import FileRefactoring
from terra_refactor.syntax.source import describe_os_error


def write_file(refactoring: FileRefactoring) -> None:
    """Replace the file by its new text, if that differs.

    Raises:
        SourceError: the file changed on disk since it was read, lies elsewhere, may not be written, is not on disk, or cannot hold
        the new text in its encoding.
    """
    source = refactoring.source
    if not refactoring.changed:
        return
    if source.file is None:
        raise SourceError(source.path, "is not a file on disk and cannot be written")
    if source.is_outside:
        raise SourceError(
            source.path, "lies outside of the given paths, a symbolic link leads to it; name the file to change it"
        )
    data = source.encode(refactoring.new_text)
    target = os.path.realpath(source.file)
    if source.real is not None and target != source.real:
        raise SourceError(source.path, "leads to another file than the one that was read; nothing was written to it")
    try:
        replace_file(target, data, expected_digest=source.digest, shown=source.path)
    except OSError as error:
        raise SourceError(source.path, f"could not be written: {error.strerror or error}") from error


def is_written(refactoring: FileRefactoring) -> bool:
    """Whether the file on disk has the new text, for an interrupted run that has lost track of its progress."""
    source = refactoring.source
    if source.file is None:
        return False
    try:
        with open(source.file, "rb") as stream:
            return stream.read() == source.encode(refactoring.new_text)
    except (OSError, SourceError):
        return False


def replace_file(target: str, data: bytes, *, expected_digest: str, shown: str) -> None:
    """Replaces the file `target` with `data`, whose content must still have `expected_digest`.

    `target` is a real path. Its folder is opened without following a link, and everything else happens in that folder, so a
    concurrent change of the path cannot lead elsewhere.

    Raises:
        SourceError: the content changed, a link is in the way, or writing is not permitted.
        OSError: the folder is not writable, the disk is full, ...
    """
    with _opened_folder(os.path.dirname(target), shown) as folder:
        name = target if folder is None else os.path.basename(target)
        _check_unchanged(name, folder, expected_digest, shown)
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not os.access(name, os.W_OK, dir_fd=folder):
            raise SourceError(shown, "permission to write it is denied")
        # the name is known before the file is created, so that it can be removed after an interrupt at any time
        hidden = f".{os.path.basename(target)}.{secrets.token_hex(4)}.tmp"
        temporary = os.path.join(os.path.dirname(target), hidden) if folder is None else hidden
        try:
            with open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, 0o600, dir_fd=folder)) as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
                made = stream.fileno() if os.chmod in os.supports_fd else temporary
                with contextlib.suppress(OSError, AttributeError):  # only the superuser may change the owner of a file
                    os.chown(made, status.st_uid, status.st_gid)
                os.chmod(made, stat.S_IMODE(status.st_mode))
            _check_unchanged(name, folder, expected_digest, shown)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise
    _sync_folder(os.path.dirname(target))


@contextlib.contextmanager
def _opened_folder(folder: str, shown: str) -> Iterator[int | None]:
    """The folder as a descriptor, reached without following any link; None if the system cannot open folders."""
    if os.open not in os.supports_dir_fd:
        yield None
        return
    flags = os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY)
    descriptor = os.open("/", flags)
    try:
        for name in folder.split("/"):
            if name:
                inner = os.open(name, flags | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
        yield descriptor
    except NotADirectoryError as error:
        raise SourceError(shown, "a folder of its path became a symbolic link; nothing was written to it") from error
    finally:
        os.close(descriptor)


def _check_unchanged(name: str, folder: int | None, digest: str, shown: str) -> None:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(name, "rb", opener=lambda path, _: os.open(path, flags, dir_fd=folder)) as stream:
            data = stream.read()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise SourceError(shown, "became a symbolic link since it was read; nothing was written to it") from error
        raise SourceError(shown, describe_os_error(name, error)) from error
    if blake2b(data, digest_size=len(digest) // 2).hexdigest() != digest:
        raise SourceError(shown, "changed on disk since it was read; nothing was written to it")


def _sync_folder(folder: str) -> None:
    """Makes the new name durable, if the system can."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
