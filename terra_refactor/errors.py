"""The three kinds of failure.

Computes: nothing. Gives: one exception class per kind, so that every caller can distinguish a usage error (exit code
2), an unreadable source (listed, exit code 3), and an internal error (affects one function, is logged, fails the
tests).
"""

from __future__ import annotations


class TerraError(Exception):
    """Base of the errors that this project raises on purpose."""


class UsageError(TerraError):
    """A usage error: an unknown option, a path that does not exist, a configuration that does not parse."""


class SourceError(TerraError):
    """A source cannot be analysed: it does not parse, does not decode, or cannot be read.

    Attributes:
        path: the path as given.
        line: the line, counted from 1, or None.
        message: one sentence for the user.
    """

    def __init__(self, path: str, message: str, line: int | None = None) -> None:
        super().__init__(f"{path}:{line}: {message}" if line is not None else f"{path}: {message}")
        self.path = path
        self.line = line
        self.message = message


class InternalError(TerraError):
    """A bug in this tool. It affects only the function in which it occurs, never the run."""
