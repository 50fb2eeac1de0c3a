"""Code that expects an exception: handlers that are for other ones, and context managers that end one.

Computes: nothing. Gives: `IGNORING`, `SUPPRESSING`, `OTHER_ERRORS`, `RAISED_AS_THEMSELVES`, `python_bases`.
"""

from __future__ import annotations

import builtins
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
RAISED_AS_THEMSELVES: Final = frozenset(
    f"builtins.{name}"
    for name in (
        *("AssertionError", "AttributeError", "Exception", "KeyError", "NameError", "NotImplementedError"),
        *("RuntimeError", "StopIteration", "TypeError", "UnboundLocalError", "ValueError"),
    )
)
"""Python's exceptions that keep their class when they leave a traced function; AutoGraph raises `StagingError` for others.

Those of TensorFlow's operations keep theirs, and a program's classes that derive from `Exception` alone without an own `__init__`.
"""


def python_bases(name: str) -> tuple[str, ...] | None:
    """The canonical names of one of Python's exceptions and its bases below `Exception`; None of another class, also of `SystemExit`."""
    cls = getattr(builtins, name.removeprefix("builtins."), None) if name.startswith("builtins.") else None
    if not isinstance(cls, type) or not issubclass(cls, Exception):
        return None
    return tuple(
        f"builtins.{base.__name__}" for base in cls.__mro__ if issubclass(base, Exception) and base is not Exception
    )
