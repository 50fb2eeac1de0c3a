"""Runs the user's command under observation, and merges the records of its processes.

Computes: the record of a run. Needs: the command, and the folder whose functions are recorded. Gives: `run_recorded`, `Recorded`.

The command must start Python: `python SCRIPT`, `python -m MODULE`, or a script created by an installer, such as
`pytest`, whose first line names its interpreter. That interpreter runs the program through `bootstrap.py`, as
`verify` does; this package need not be installed in it. The program has this process's environment, folder, and
streams.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from terra_refactor import __version__
from terra_refactor.errors import UsageError
from terra_refactor.record.python_command import invocation_of, is_python
from terra_refactor.record.record_file import Record, from_process, merged_records

_BOOTSTRAP: Final = Path(__file__).parents[1] / "bootstrap.py"
_CHILD: Final = "terra_refactor.record.child.main"
_EMPTY: Final = Record(".", "", None, 0.0, None, False, 0, (), {}, ())


@dataclass(frozen=True, slots=True)
class RecordedCommand:
    """The command: an interpreter with its own options, and a script or module with its arguments."""

    python: str
    options: tuple[str, ...]
    mode: str
    target: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The outcome of a run, and its observations."""

    exit_code: int
    """Exit code of the program; 128 plus the number of the signal that killed it."""
    record: Record


def run_recorded(command: Sequence[str], root: str, output: str) -> Recorded:
    """Runs the command to its end. `output` is the file for the record, to which its paths are relative.

    Raises:
        UsageError: it does not start Python, or cannot be started.
    """
    program = program_of(command)
    with tempfile.TemporaryDirectory(prefix="terra-refactor-record-") as folder:
        request = Path(folder) / "request.json"
        part = str(Path(folder) / "part")
        content = {
            "root": os.path.abspath(root),
            "part": part,
            "mode": program.mode,
            "target": program.target,
            "arguments": program.arguments,
        }
        request.write_text(json.dumps(content), encoding="utf-8")
        line = [program.python, *program.options, str(_BOOTSTRAP), _CHILD, str(request)]
        try:
            child = subprocess.Popen(line)
        except OSError as error:
            raise UsageError(f"record: {program.python} cannot be started: {error.strerror or error}") from error
        with _signals_for(child):
            code = child.wait()
        record = _gathered(Path(folder), child.pid)
    folder_of_record = os.path.dirname(os.path.abspath(output))
    try:
        shown = os.path.relpath(os.path.abspath(root), folder_of_record).replace(os.sep, "/")
    except ValueError:  # another drive
        shown = os.path.abspath(root)
    code = code if code >= 0 else 128 - code
    return Recorded(code, replace(record, root=shown, exit_code=code, tool_version=__version__))


def program_of(command: Sequence[str]) -> RecordedCommand:
    """The program that a command runs.

    Raises:
        UsageError: it does not start Python.
    """
    if not command:
        raise UsageError("record: give a command after `--`, such as `record -- python train.py`")
    name, *words = command
    if is_python(name):
        python = shutil.which(name)
        if python is None:
            raise UsageError(f"record: no such program: `{name}`")
        return _of_python(python, words, command)
    if name.endswith(".py") and os.path.isfile(name) and not os.access(name, os.X_OK):
        return RecordedCommand(sys.executable, (), "script", name, tuple(words))
    script = shutil.which(name)
    if script is None:
        raise UsageError(f"record: no such program: `{name}`")
    interpreter = _interpreter_of(script)
    if interpreter is None:
        raise UsageError(
            f"record: `{name}` is not a Python program; record takes `python SCRIPT …`, `python -m MODULE …`, or a script such as `pytest`"
        )
    return RecordedCommand(interpreter[0], tuple(interpreter[1:]), "script", script, tuple(words))


def _of_python(python: str, words: list[str], command: Sequence[str]) -> RecordedCommand:
    found = invocation_of(words)
    if found is None:
        shown = " ".join(command)
        raise UsageError(f"record: `{shown}` runs no file; record takes `python SCRIPT …` or `python -m MODULE …`")
    if not found.is_module and not os.path.exists(found.target):
        raise UsageError(f"record: there is no file `{found.target}`")
    return RecordedCommand(
        python, found.options, "module" if found.is_module else "script", found.target, found.arguments
    )


def _interpreter_of(script: str) -> list[str] | None:
    """The Python interpreter in the first line of a script, with its options; None if there is none."""
    try:
        with open(script, "rb") as stream:
            first, second = stream.readline(4096), stream.readline(4096)
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode("utf-8", "replace").split()
    if words and words[0].endswith("/sh"):
        # the form that pip writes if the interpreter's path is too long or has spaces: '''exec' "/long path/python"
        # "$0" "$@"
        found = re.match(r"'''exec' \"?([^\"]+?)\"? \"\$0\"", second.decode("utf-8", "replace"))
        words = [] if found is None else [found[1]]
    elif words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if word != "-S"]
        words[:1] = [shutil.which(words[0]) or words[0]] if words else []
    return words if words and is_python(words[0]) else None


@contextlib.contextmanager
def _signals_for(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """A keyboard interrupt reaches the program itself; a termination signal is forwarded. The record is written in any case."""

    def hand_on(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(number)

    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    before[signal.SIGTERM] = signal.signal(signal.SIGTERM, hand_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _gathered(folder: Path, first: int) -> Record:
    """Merges the parts written by the processes into one record, that of the program itself first."""
    parts: list[tuple[bool, str, Record]] = []
    for file in sorted(folder.glob("part.*")):
        number = file.name.removeprefix("part.")
        if not number.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            parts.append((number != str(first), number, from_process(data)))
    if not parts:
        return replace(_EMPTY, notices=("no record: the program was killed before it wrote anything",))
    return merged_records(record for _, _, record in sorted(parts, key=lambda part: part[:2]))
