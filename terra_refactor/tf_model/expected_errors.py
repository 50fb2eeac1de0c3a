"""Code that expects an exception: handlers that are for other ones, and context managers that end one.

Computes: nothing. Gives: `IGNORING`, `SUPPRESSING`, `OTHER_ERRORS`.
"""

from __future__ import annotations

from typing import Final

IGNORING: Final = frozenset({"suppress"})
"""Context managers that ignore exceptions, and do not want them."""
SUPPRESSING: Final = frozenset(
    {
        "suppress",
        "raises",
        "assertRaises",
        "assertRaisesRegex",
        "assertRaisesRegexp",
        "assertRaisesOpError",
        "assertRaisesWithPredicateMatch",
        "assertRaisesWithLiteralMatch",
    }
)
"""Last parts of the names of functions that make context managers after which control goes on although the body raised."""
OTHER_ERRORS: Final = frozenset(
    {
        *(
            "AttributeError",
            "EOFError",
            "FileNotFoundError",
            "GeneratorExit",
            "IOError",
            "ImportError",
            "KeyError",
            "KeyboardInterrupt",
        ),
        *(
            "MemoryError",
            "ModuleNotFoundError",
            "NameError",
            "NotFoundError",
            "OSError",
            "OutOfRangeError",
            "PermissionError",
        ),
        *("StopIteration", "SystemExit", "TimeoutError", "UnicodeDecodeError", "ZeroDivisionError"),
    }
)
"""Exceptions that operations on tensors and arrays do not raise for their shapes or dtypes."""
