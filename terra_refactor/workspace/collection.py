"""Python's search for cyclic garbage, switched off where it only costs.

Needs: nothing. Gives: `without_collection`, `collect_after_many`. Parsing, lowering and analysis make millions of objects that
nearly all live until the end: each search looks at all of them again, which is a quarter of the time of a run, and finds next to
nothing.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Final

MANY_FILES: Final = 500
"""From this many on, one garbage collection before the report is built is worth its time."""


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
    """One search where many files were analysed and none would come by itself; how many objects it has found."""
    return gc.collect() if files >= MANY_FILES and not gc.isenabled() else 0
