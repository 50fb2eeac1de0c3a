"""Command lines that start Python: `python [options] SCRIPT ...` and `python [options] -m MODULE ...`.

Computes: the parts of such a command. Needs: its words. Gives: `is_python`, `invocation_of`. Ignores: whether the
file exists.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_PYTHON: Final = re.compile(r"(.*[\\/])?(python|pypy)[\d.]*w?(\.exe)?", re.IGNORECASE)
_WITH_VALUE: Final = ("-W", "-X")


@dataclass(frozen=True, slots=True)
class Invocation:
    """A Python command line."""

    options: tuple[str, ...]
    """Options of the interpreter."""
    target: str
    is_module: bool
    arguments: tuple[str, ...]


def is_python(name: str) -> bool:
    """Whether a program of that name is a Python interpreter."""
    return _PYTHON.fullmatch(name) is not None


def invocation_of(words: Sequence[str]) -> Invocation | None:
    """The program selected by the arguments after the interpreter's name; None if it is neither a script nor a module."""
    left = list(words)
    options: list[str] = []
    while left and left[0].startswith("-") and left[0] not in ("-m", "-c", "-"):
        options.append(left.pop(0))
        if options[-1] in _WITH_VALUE and left:
            options.append(left.pop(0))
    if len(left) > 1 and left[0] == "-m":
        return Invocation(tuple(options), left[1], True, tuple(left[2:]))
    if not left or left[0].startswith("-"):
        return None
    return Invocation(tuple(options), left[0], False, tuple(left[1:]))
