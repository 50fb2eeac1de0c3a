"""Code that expects exceptions: handlers for particular classes, and context managers that suppress or expect one.

Computes: nothing. Gives: `IGNORING`, `PRODUCT`, `expects`, `suppresses`, `OTHER_ERRORS`, `OTHER_ERRORS_OF_GRAPHS`, `LEFT_OUT`, `REPLACING`,
`REPLACING_FIXTURES`, `RAISED_AS_THEMSELVES`, `python_bases`.
"""

from __future__ import annotations

import builtins
from typing import Final

IGNORING: Final = frozenset({"suppress"})
"""Context managers that ignore exceptions without expecting them."""
LEFT_OUT: Final = frozenset(
    {
        *("unittest.expectedFailure", "unittest.skip", "unittest.skipIf", "unittest.skipUnless"),
        *("pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail"),
    }
)
"""Decorators of tests that do not run, may not run, or are expected to fail."""
REPLACING: Final = ("unittest.mock.patch", "mock.patch")
"""First components of the names of decorators and context managers that replace functions, attributes and items while
the code runs.
"""
REPLACING_FIXTURES: Final = frozenset({"monkeypatch", "mocker"})
"""Pytest fixtures with which tests do the same."""
PRODUCT: Final = ("tensorflow.linalg.matmul",)
"""The product of matrices, which raises for None."""
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
OTHER_ERRORS_OF_GRAPHS: Final = OTHER_ERRORS - {"AttributeError", "NameError", "OSError", "IOError"}
"""Those that tracing a graph does not cause: symbolic tensors have no `numpy`, and source code may not be found."""
RAISED_AS_THEMSELVES: Final = frozenset(
    f"builtins.{name}"
    for name in (
        *("AssertionError", "AttributeError", "Exception", "KeyError", "NameError", "NotImplementedError"),
        *("RuntimeError", "StopIteration", "TypeError", "UnboundLocalError", "ValueError"),
    )
)
"""Python's exceptions that keep their class when they leave a traced function; AutoGraph raises `StagingError` for others.

Exceptions of TensorFlow's operations keep their class, too, and so do the program's direct subclasses of `Exception`
without their own `__init__`.
"""


def expects(name: str) -> bool:
    """Whether a function of that name (without its owner) expects an exception from its callee, or from the body of its
    `with`.

    `pytest.raises`, and all of `assertRaises...` of unittest, absl and TensorFlow.
    """
    return name == "raises" or name.startswith("assertRaises")


def suppresses(name: str) -> bool:
    """Whether a function of that name creates context managers that may suppress an exception of the body."""
    return name in IGNORING or expects(name)


def python_bases(name: str) -> tuple[str, ...] | None:
    """The canonical names of a built-in exception and its bases below `Exception`; None for other classes, including
    `SystemExit`.
    """
    cls = getattr(builtins, name.removeprefix("builtins."), None) if name.startswith("builtins.") else None
    if not isinstance(cls, type) or not issubclass(cls, Exception):
        return None
    return tuple(
        f"builtins.{base.__name__}" for base in cls.__mro__ if issubclass(base, Exception) and base is not Exception
    )
