"""Writes a file atomically: a reader sees the old text or the new one, and a full disk destroys nothing.

Gives: `write_whole`, for reports, baselines and other files of this tool. User sources are written by
`refactor.apply`, which also keeps permissions.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Writes a text as UTF-8, with its own line endings, and replaces the content of the file.

    Raises:
        OSError: the folder does not exist or cannot be written to, the disk is full, ...
    """
    target = Path(os.path.realpath(file))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8", newline="") as stream:
            stream.write(text)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
