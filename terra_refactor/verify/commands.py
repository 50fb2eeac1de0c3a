"""The program to run, parsed from a command line.

Computes: a script or a run of tests. Needs: text. Gives: `script_of`, `tests_of`, `source_of`. Ignores: whether the
file exists.
"""

from __future__ import annotations

import shlex

from terra_refactor.errors import UsageError
from terra_refactor.record.python_command import invocation_of, is_python
from terra_refactor.verify.verdict import Script, Tests

_HARMLESS = frozenset({"-u", "-B", "-O"})
"""Interpreter options that do not affect the comparison."""


def script_of(command: str) -> Script:
    """`python SCRIPT ...`, `SCRIPT ...` or `python -m MODULE ...`. Raises UsageError for other commands."""
    found = invocation_of(_after_interpreter(command))
    if found is None or not _HARMLESS.issuperset(found.options):
        raise UsageError(f"`{command}` is neither `python SCRIPT ...` nor `python -m MODULE ...`")
    script, module = (None, found.target) if found.is_module else (found.target, None)
    return Script(command, script, module, found.arguments)


def tests_of(arguments: str) -> Tests:
    """A run of pytest with these arguments. Raises UsageError for an unterminated quote."""
    return Tests(f"pytest {arguments}", tuple(_split(arguments)))


def source_of(command: str) -> Script | Tests | None:
    """The program of a whole command: pytest, or a script; None for no command. Raises UsageError for other commands."""
    words = _after_interpreter(command)
    found = invocation_of(words)
    if found is not None and found.target == "pytest":
        return Tests(command, found.arguments)
    return script_of(command) if words else None


def _after_interpreter(command: str) -> list[str]:
    words = _split(command)
    return words[1:] if words and is_python(words[0]) else words


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(str(error)) from error
