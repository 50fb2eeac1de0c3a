"""Runs the tool on folders of code that was written elsewhere, and checks what must hold on all code.

Run it as `python tools/try_packages.py FOLDER... [--timeout SECONDS] [--reports FOLDER]`. For each folder it calls `analyze` and
`fix --level speculative` as a user does, in processes of their own and without the cache (`fix` writes into a copy), and checks that

- no command crashes or takes longer than the timeout, and no function ends in an internal error;
- every `def` and `lambda` of every file that `ast` parses is in the report exactly once, by path, line and qualified name;
- files that do not parse are listed as errors, and not written to;
- every file that was changed still parses, and a second `fix` changes nothing.

It prints a Markdown table with a row for each folder (seconds, peak memory, classifications, actions), and under it what did not
hold. The exit code is 1 if something did not. Memory is that of all processes of a command together, read four times a second
(where the system says so; else of the largest).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
DONE, UNREADABLE = 0, 3
INTERVAL = 0.25
"""Seconds between two readings of the memory."""
SHOWN = 10
"""So many failures of one kind are printed."""

Key = tuple[str, int, str]
"""Path, line of the `def`, qualified name."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One command, after it ended."""

    code: int | None
    """The exit code; None if it was stopped."""
    out: str
    err: str
    wall: float
    """Seconds."""
    cpu: float
    """Seconds, of all processes of the command."""
    memory: int
    """Bytes."""


@dataclass(slots=True)
class Trial:
    """What came out for one folder."""

    name: str
    analyze: Measured | None = None
    fix: Measured | None = None
    report: dict[str, Any] = field(default_factory=dict)
    changes: int = 0
    changed_files: int = 0
    failures: list[str] = field(default_factory=list)


# --- running ----------------------------------------------------------------------------------------------------------------------


def run(arguments: list[str], folder: Path, timeout: float) -> Measured:
    """Call the tool from a folder, and measure it."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    peak = 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "terra_refactor", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        code: int | None = None
        while time.perf_counter() - started < timeout:
            try:
                code = process.wait(INTERVAL)
                break
            except subprocess.TimeoutExpired:
                peak = max(peak, memory_of(process.pid))
        else:
            process.kill()
            process.wait()
        wall = time.perf_counter() - started
        out.seek(0)
        err.seek(0)
        texts = out.read(), err.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(code, *texts, wall, cpu, peak or after.ru_maxrss * 1024)


def memory_of(pid: int) -> int:
    """Bytes that a process and its descendants hold, what they share counted once; 0 where the system does not say."""
    total = 0
    waiting = [pid]
    while waiting:
        process = Path("/proc") / str(waiting.pop())
        try:
            for line in (process / "smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
            for task in (process / "task").iterdir():
                waiting.extend(int(child) for child in (task / "children").read_text().split())
        except (OSError, ValueError):
            continue  # it ended meanwhile
    return total


# --- what Python says ---------------------------------------------------------------------------------------------------------------


class Definitions(ast.NodeVisitor):
    """The line and `__qualname__` of every `def` and `lambda` of a module."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []
        self.prefix = ""
        self.global_names: frozenset[str] = frozenset()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self.inside(self.name_of(node.name) + ".", node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.decorator_list, node.args, *([node.returns] if node.returns else ())):
            self.visit(part)
        name = self.name_of(node.name)
        self.found.append((node.lineno, name))
        self.inside(name + ".<locals>.", node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the name that ast calls

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        name = self.prefix + "<lambda>"
        self.found.append((node.lineno, name))
        self.inside(name + ".<locals>.", [node.body])

    def name_of(self, name: str) -> str:
        """A name that is declared global belongs to the module."""
        return name if name in self.global_names else self.prefix + name

    def inside(self, prefix: str, body: list[Any]) -> None:
        outer = self.prefix, self.global_names
        self.prefix = prefix
        self.global_names = frozenset(name for each in body for name in declared_global(each))
        for each in body:
            self.visit(each)
        self.prefix, self.global_names = outer


def declared_global(node: ast.AST) -> Iterator[str]:
    """The names that a scope's statement declares global, those of inner scopes left out."""
    if isinstance(node, ast.Global):
        yield from node.names
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from declared_global(child)


def parse(path: Path) -> ast.Module | None:
    """The tree of a file; None if Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return None


def without_comprehensions(qualname: str) -> str:
    """`<listcomp>` and its like are scopes of their own in some versions of Python and not in others."""
    for name in ("listcomp", "setcomp", "dictcomp", "genexpr"):
        qualname = qualname.replace(f"<{name}>.<locals>.", "")
    return qualname


# --- what is checked ----------------------------------------------------------------------------------------------------------------


def try_folder(folder: Path, timeout: float) -> Trial:
    """Run both commands on one folder and check what they gave."""
    trial = Trial(folder.name)
    files = {path.relative_to(folder).as_posix(): parse(path) for path in sorted(folder.rglob("*.py"))}
    trial.analyze = run(["analyze", "--no-cache", "--quiet", "--format", "json", "."], folder, timeout)
    if not ended_well("analyze", trial.analyze, trial):
        return trial
    trial.report = json.loads(trial.analyze.out)
    check_definitions(trial, files)
    check_errors(trial, files)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder.name
        shutil.copytree(folder, copy)
        command = ["fix", "--no-cache", "--level", "speculative"]
        trial.fix = run([*command, "--write", "."], copy, timeout)
        if not ended_well("fix --write", trial.fix, trial):
            return trial
        counted = re.search(r"^(\d+) changes? in ", trial.fix.err, re.MULTILINE)
        trial.changes = int(counted[1]) if counted else 0
        for name, tree in files.items():
            if (copy / name).read_bytes() != (folder / name).read_bytes():
                trial.changed_files += 1
                if tree is None:
                    trial.failures.append(f"{name}: did not parse, and was written to")
                elif parse(copy / name) is None:
                    trial.failures.append(f"{name}: does not parse after `fix`")
        again = run([*command, "--quiet", "--diff", "."], copy, timeout)
        if ended_well("the second fix", again, trial) and again.out.strip():
            trial.failures.append("a second `fix` changes more:\n" + "\n".join(again.out.splitlines()[: 2 * SHOWN]))
    return trial


def ended_well(what: str, measured: Measured, trial: Trial) -> bool:
    """Whether a command ended with an exit code that it may end with here."""
    if measured.code in (DONE, UNREADABLE) and "Traceback" not in measured.err:
        return True
    how = f"stopped after {measured.wall:.0f} s" if measured.code is None else f"exit code {measured.code}"
    trial.failures.append(f"{what}: {how}\n" + "\n".join(measured.err.splitlines()[-SHOWN:]))
    return False


def check_definitions(trial: Trial, files: dict[str, ast.Module | None]) -> None:
    """Compare the functions of the report with those that `ast` finds, and look for internal errors."""
    expected: Counter[Key] = Counter()
    for name, tree in files.items():
        if tree is not None:
            visitor = Definitions()
            visitor.visit(tree)
            expected.update((name, line, qualname) for line, qualname in visitor.found)
    reported: Counter[Key] = Counter(
        (entry["path"], entry["line"], without_comprehensions(entry["qualname"]))
        for entry in trial.report["functions"]
        if entry["path"].endswith(".py")
    )
    say(trial, "is not in the report", expected - reported)
    say(trial, "is in the report, and not in the source or once too often", reported - expected)
    internal = Counter(
        (entry["path"], entry["line"], entry["qualname"] + ": " + entry["reason"])
        for entry in trial.report["functions"]
        if "internal error" in json.dumps(entry)
    )
    say(trial, "is an internal error", internal)


def check_errors(trial: Trial, files: dict[str, ast.Module | None]) -> None:
    """Files that do not parse are errors, and no others."""
    listed = {error["path"] for error in trial.report["errors"]}
    unparsable = {name for name, tree in files.items() if tree is None}
    say(trial, "does not parse, and is no error", Counter((name, 0, "") for name in unparsable - listed))
    say(trial, "parses, and is an error", Counter((name, 0, "") for name in (listed - unparsable) & files.keys()))


def say(trial: Trial, what: str, found: Counter[Key]) -> None:
    """Add a failure for each key, the first ones in full."""
    total = found.total()
    for path, line, name in sorted(found)[:SHOWN]:
        trial.failures.append(f"{path}:{line} {name} {what}")
    if total > SHOWN:
        trial.failures.append(f"… {total} in all: {what}")


# --- the table ------------------------------------------------------------------------------------------------------------------------

ACTIONS = ("add_tf_function", "remove_tf_function", "tune_tf_function", "co_execute", "none")
COLUMNS = (
    *("package", "files", "lines", "functions"),
    *("analyze: CPU s", "wall s", "peak MB", "fix: CPU s", "wall s", "peak MB"),
    *("safe", "speculative", "unsafe"),
    *ACTIONS,
    *("changes written", "files written", "findings", "all held"),
)


def row(trial: Trial) -> list[str]:
    """The cells of a folder's row."""
    summary = trial.report.get("summary", {})
    actions = summary.get("actions", {})
    return [
        trial.name,
        *(f"{summary[name]:,}" if name in summary else "–" for name in ("files", "lines", "functions")),
        *costs(trial.analyze),
        *costs(trial.fix),
        *(f"{summary[name]:,}" if name in summary else "–" for name in ("safe", "speculative", "unsafe")),
        *(f"{actions.get(name, 0):,}" for name in ACTIONS),
        str(trial.changes),
        str(trial.changed_files),
        str(len(trial.report.get("diagnostics", ()))),
        "no" if trial.failures else "yes",
    ]


def costs(measured: Measured | None) -> tuple[str, str, str]:
    """CPU seconds, wall seconds, megabytes."""
    if measured is None:
        return "–", "–", "–"
    return f"{measured.cpu:.0f}", f"{measured.wall:.0f}", f"{measured.memory / 2**20:.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--timeout", type=float, default=1500, help="seconds for one command (default: 1500)")
    parser.add_argument("--reports", type=Path, help="keep the JSON reports here")
    options = parser.parse_args()
    trials: list[Trial] = []
    for folder in options.folder:
        trial = try_folder(folder.resolve(), options.timeout)
        trials.append(trial)
        if options.reports is not None and trial.analyze is not None:
            options.reports.mkdir(parents=True, exist_ok=True)
            (options.reports / f"{trial.name}.json").write_text(trial.analyze.out, encoding="utf-8")
        print(f"{trial.name}: {len(trial.failures)} failures", file=sys.stderr, flush=True)
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" + "|---:" * (len(COLUMNS) - 1) + "|")
    for trial in trials:
        print("| " + " | ".join(row(trial)) + " |")
    for trial in trials:
        for failure in trial.failures:
            print(f"\n{trial.name}: {failure}")
    return 1 if any(trial.failures for trial in trials) else 0


if __name__ == "__main__":
    sys.exit(main())
