"""Runs small programs before and after `fix`: `python tools/try_programs.py FOLDER... [--level safe]`.

Each program is run alone in a copy of its folder, read, refactored (`--min-ops 0`), and run again. One line for each has its outcome
and the errors of the tool:

- `error`: a finding of severity error says that the program fails where it runs, and it ran to its end;
- `missed`: the program ends in an exception of an operation or a trace, and no error says so (it may fail for other reasons: read it);
- `broken`, `different`: it ran before, and fails or prints something else afterwards;
- `again`: a second `fix` would change something.

This runs the programs, with all their effects. The exit code is 1 if anything but `missed` was found.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from terra_refactor.config import Config
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Severity
from terra_refactor.workspace.workspace import Options, fix

_NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?|-?\d+e[+-]?\d+")
_OPERATION = re.compile(r"InvalidArgumentError|OperatorNotAllowed|InaccessibleTensor|Shapes|shape|dtype|broadcast")
_TOLERANCE = 1e-4
_SHOWN = 100


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: `ran`, `failed` or `late`, with its output and the last line of standard error."""

    how: str
    printed: str
    error: str


def run(program: Path, seconds: float) -> Outcome:
    """Runs a program once, in its own folder, without a display and without TensorFlow's logs."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, program.name]
    try:
        done = subprocess.run(
            command, cwd=program.parent, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return Outcome("late", "", f"more than {seconds:g} s")
    lines = done.stderr.strip().splitlines()
    return Outcome("failed" if done.returncode else "ran", done.stdout, lines[-1] if lines and done.returncode else "")


def same(one: str, other: str) -> bool:
    """Whether two outputs are equal up to the last digits of numbers."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= _TOLERANCE * max(1.0, abs(float(a))) for a, b in pairs)


def tried(program: Path, level: str, seconds: float) -> tuple[str, list[str]]:
    """The behaviour of a program, and the errors in the tool's answers about it."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        before, after = (Path(folder, name) for name in ("before", "after"))
        for copy in (before, after):
            shutil.copytree(program.parent, copy)
        first = run(before / program.name, seconds)
        options = Options(Config(level=level, min_ops=0, jobs=1), use_cache=False)
        changed = fix([str(after / program.name)], options)
        rules = all_rules()
        ends = [
            finding
            for finding in changed.report.findings
            if finding.severity is Severity.ERROR and rules[finding.rule].raises
        ]
        if first.how == "ran":
            wrong += [f"error {finding.rule} line {finding.span.line}: {finding.message}" for finding in ends]
        elif first.how == "failed" and not ends and _OPERATION.search(first.error):
            wrong.append("missed")
        edited = [file for file in changed.files if file.changed]
        for file in edited:
            (after / program.name).write_text(file.new_text, encoding="utf-8")
        if edited:
            second = run(after / program.name, seconds)
            if first.how == "ran" and second.how != "ran":
                wrong.append(f"broken: {second.error[:_SHOWN]}")
            elif first.how == "ran" and not same(first.printed, second.printed):
                wrong.append("different")
            if any(file.changed for file in fix([str(after / program.name)], options).files):
                wrong.append("again")
    what = f"{first.how}{', changed' if edited else ''}"
    return f"{what}: {first.error[:_SHOWN]}" if first.error else what, wrong


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--level", choices=["safe", "speculative"], default="safe")
    parser.add_argument("--seconds", type=float, default=120.0, help="for each run of a program")
    asked = parser.parse_args()
    programs = [
        program
        for folder in asked.folders
        for program in ([folder] if folder.is_file() else sorted(folder.glob("*.py")))
    ]
    found = 0
    for program in programs:
        what, wrong = tried(program, asked.level, asked.seconds)
        found += any(each != "missed" for each in wrong)
        print(f"{program.parent.name}/{program.name}: {what}", *(f"    {each}" for each in wrong), sep="\n", flush=True)
    print(f"{len(programs)} programs, wrong answers about {found}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
