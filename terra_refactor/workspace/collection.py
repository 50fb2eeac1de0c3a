"""Python's search for cyclic garbage, switched off where it only costs.

Needs: nothing. Gives: `without_collection`. Parsing, lowering and analysis make millions of objects that nearly all live until the end:
each search looks at all of them again, which is a quarter of the time of a run, and finds next to nothing.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Switches the search off inside, and back on behind if it was on."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
