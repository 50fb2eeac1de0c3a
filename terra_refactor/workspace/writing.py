"""Writing a file as a whole: a reader sees the old text or the new one, and a full disk costs nothing that was there.

Gives: `write_whole`, for reports, baselines and what else is ours. Sources of users go through `refactor.apply`, which keeps more.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write a text as UTF-8, with its own line endings, in place of what the file held.

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
