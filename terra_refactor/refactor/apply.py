"""Writing a refactored file.

Computes: the bytes of the new text, in the file's own encoding. Needs: a `FileRefactoring` of a file on disk. Gives:
the file, replaced as a whole.

The new bytes go to a temporary file in the same folder, which then takes the file's place in one step: whoever reads
the file, and whatever stops the process, sees the old text or the new one, nothing in between. Permission bits and,
where possible, the owner are kept; a symbolic link stays one, and what it points to is replaced. Ignores: hard links
(the other names keep the old text).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from hashlib import blake2b

from terra_refactor.errors import SourceError
from terra_refactor.refactor.result import FileRefactoring
from terra_refactor.syntax.source import describe_os_error


def write_file(refactoring: FileRefactoring) -> None:
    """Replace the file by its new text, if that differs.

    Raises:
        SourceError: the file changed on disk since it was read, may not be written, is not on disk, or cannot hold
        the new text in its encoding.
    """
    source = refactoring.source
    if not refactoring.changed:
        return
    if source.file is None:
        raise SourceError(source.path, "is not a file on disk and cannot be written")
    data = source.encode(refactoring.new_text)
    target = os.path.realpath(source.file)
    try:
        replace_file(target, data, expected_digest=source.digest, shown=source.path)
    except OSError as error:
        raise SourceError(source.path, f"could not be written: {error.strerror or error}") from error


def is_written(refactoring: FileRefactoring) -> bool:
    """Whether the file on disk has the new text: for a run that was interrupted and does not know how far it came."""
    source = refactoring.source
    if source.file is None:
        return False
    try:
        with open(source.file, "rb") as stream:
            return stream.read() == source.encode(refactoring.new_text)
    except (OSError, SourceError):
        return False


def replace_file(target: str, data: bytes, *, expected_digest: str, shown: str) -> None:
    """Put `data` in the place of the file `target`, whose content must still have `expected_digest`.

    Raises:
        SourceError: the content changed, or writing is not permitted.
        OSError: the folder is not writable, the disk is full, ...
    """
    _check_unchanged(target, expected_digest, shown)
    status = os.stat(target)
    if not os.access(target, os.W_OK):
        raise SourceError(shown, "permission to write it is denied")
    folder = os.path.dirname(target)
    # the name is known before the file is made, so that an interrupt at any time finds what to remove
    temporary = os.path.join(folder, f".{os.path.basename(target)}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(OSError, AttributeError):  # only the owner of everything may give files away
            os.chown(temporary, status.st_uid, status.st_gid)
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
        _check_unchanged(target, expected_digest, shown)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _check_unchanged(target: str, digest: str, shown: str) -> None:
    try:
        with open(target, "rb") as stream:
            data = stream.read()
    except OSError as error:
        raise SourceError(shown, describe_os_error(target, error)) from error
    if blake2b(data, digest_size=len(digest) // 2).hexdigest() != digest:
        raise SourceError(shown, "changed on disk since it was read; nothing was written to it")


def _sync_folder(folder: str) -> None:
    """Make the new name durable, where the system can."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
