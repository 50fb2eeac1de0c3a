"""What a person asks to be run, read from a command line.

Computes: a script or a run of tests. Needs: text. Gives: `script_of`, `tests_of`, `source_of`. Ignores: whether there is such a file.
"""

from __future__ import annotations

import re
import shlex

from terra_refactor.errors import UsageError
from terra_refactor.verify.verdict import Script, Tests

_INTERPRETER = re.compile(r"(.*[\\/])?python[\d.]*(\.exe)?")
_OF_NO_MATTER = ("-u", "-B", "-O")
"""Options of the interpreter that change nothing that is compared."""


def script_of(command: str) -> Script:
    """`python SCRIPT ...`, `SCRIPT ...` or `python -m MODULE ...`. Raises UsageError for anything else."""
    words = _without_interpreter(_split(command))
    if len(words) > 1 and words[0] == "-m":
        return Script(command, None, words[1], tuple(words[2:]))
    if not words or words[0].startswith("-"):
        raise UsageError(f"`{command}` is neither `python SCRIPT ...` nor `python -m MODULE ...`")
    return Script(command, words[0], None, tuple(words[1:]))


def tests_of(arguments: str) -> Tests:
    """A run of pytest with these arguments. Raises UsageError for quotes without an end."""
    return Tests(f"pytest {arguments}", tuple(_split(arguments)))


def source_of(command: str) -> Script | Tests | None:
    """What a whole command runs: pytest, or a script; None for no command. Raises UsageError for anything else."""
    words = _without_interpreter(_split(command))
    if words[:1] == ["pytest"] or words[:2] == ["-m", "pytest"]:
        return Tests(command, tuple(words[words.index("pytest") + 1 :]))
    return script_of(command) if words else None


def _without_interpreter(words: list[str]) -> list[str]:
    if words and _INTERPRETER.fullmatch(words[0]):
        words = words[1:]
    while words and words[0] in _OF_NO_MATTER:
        words = words[1:]
    return words


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(str(error)) from error
