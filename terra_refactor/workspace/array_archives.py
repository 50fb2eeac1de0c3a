"""Archives of NumPy arrays (`.npz`): the beginning of each array, which holds its element type and shape.

Computes: from an open file, one JSON text with these beginnings, in place of the file's content. Gives:
`headers_in_archive`. Only the directory (up to 1 MB) and 4 kB of each array are read and decompressed, whatever the
archive's size; nothing is unpickled.
"""

from __future__ import annotations

import base64
import json
import struct
import zipfile
import zlib
from typing import IO, Final

_MOST_ARRAYS: Final = 500
_HEADER_BYTES: Final = 4_096
_DIRECTORY_BYTES: Final = 1_000_000
_END: Final = b"PK\x05\x06"
_END_BYTES: Final = 22
_COMMENT_BYTES: Final = 65_535


def headers_in_archive(stream: IO[bytes], size: int) -> bytes | None:
    """The beginnings of the arrays by name, as a JSON object of base64 strings; None if it is not such an archive, or too large."""
    try:
        if not _has_small_directory(stream, size):
            return None
        with zipfile.ZipFile(stream) as archive:
            members = [each for each in archive.infolist() if each.filename.endswith(".npy")]
            if len(members) > _MOST_ARRAYS:
                return None
            found = {}
            for member in members:
                with archive.open(member) as array:
                    found[member.filename.removesuffix(".npy")] = base64.b64encode(array.read(_HEADER_BYTES)).decode()
    except (zipfile.BadZipFile, zlib.error, struct.error, OSError, ValueError, RuntimeError, EOFError, LookupError):
        # RuntimeError: an encrypted member; NotImplementedError: an unknown compression method
        return None
    return json.dumps(found).encode()


def _has_small_directory(stream: IO[bytes], size: int) -> bool:
    """Whether the directory at the end of the archive, which is read as a whole, is of limited size."""
    start = max(0, size - _END_BYTES - _COMMENT_BYTES)
    stream.seek(start)
    tail = stream.read(_END_BYTES + _COMMENT_BYTES)
    at = tail.rfind(_END)
    if at < 0 or at + _END_BYTES > len(tail):
        return False
    length: int = struct.unpack_from("<L", tail, at + 12)[0]
    return length <= _DIRECTORY_BYTES
