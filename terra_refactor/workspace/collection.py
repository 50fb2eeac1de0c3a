"""Control of Python's garbage collection, which is disabled where it only costs time.

Needs: nothing. Gives: `without_collection`, `collect_after_many`. Parsing, lowering and analysis create millions of
objects, nearly all of which live until the end: collections traverse all of them, which takes a quarter of the time
of a run, and free almost nothing.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Final

MANY_FILES: Final = 500
"""From this number of files on, one garbage collection before the report is built is worthwhile."""


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Disables garbage collection inside, and enables it again afterwards if it was enabled."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def collect_after_many(files: int) -> int:
    """Runs one collection if many files were analysed and none would be triggered; returns the number of objects found."""
    return gc.collect() if files >= MANY_FILES and not gc.isenabled() else 0
