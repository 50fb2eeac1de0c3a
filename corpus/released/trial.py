"""Runs the tool on a folder of foreign code, and checks properties that must hold for all code. `try_folder` analyses the folder and
calls `fix --level speculative` like a user, in processes of their own and without the cache (`fix` writes into a copy), and checks
that

- no command crashes or takes longer than the timeout, and no function ends in an internal error;
- every `def` and `lambda` of every file that `ast` parses is in the report exactly once, by path, line and qualified name;
- files that do not parse are listed as errors, and not written to;
- every file that was changed still parses, and a second `fix` changes nothing.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus.released.measuring import Measured, run_module

DONE, UNREADABLE = 0, 3
SHOWN = 10
"""Maximum number of printed failures of one kind."""

Key = tuple[str, int, str]
"""Path, line of the `def`, qualified name."""


@dataclass(slots=True)
class Trial:
    """The result for one folder."""

    name: str
    analyze: Measured | None = None
    fix: Measured | None = None
    report: dict[str, Any] = field(default_factory=dict)
    changes: int = 0
    changed_files: int = 0
    failures: list[str] = field(default_factory=list)


# --- the files according to Python ------------------------------------------------------------------------------------------------


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
        """The name of a definition; one that is declared global belongs to the module."""
        return name if name in self.global_names else self.prefix + name

    def inside(self, prefix: str, body: list[Any]) -> None:
        outer = self.prefix, self.global_names
        self.prefix = prefix
        self.global_names = frozenset(name for each in body for name in declared_global(each))
        for each in body:
            self.visit(each)
        self.prefix, self.global_names = outer


def declared_global(node: ast.AST) -> Iterator[str]:
    """The names that a statement of a scope declares global, without those of inner scopes."""
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


def parsed(folder: Path) -> dict[str, ast.Module | None]:
    """The trees of all Python files of a folder, by path."""
    return {path.relative_to(folder).as_posix(): parse(path) for path in sorted(folder.rglob("*.py"))}


def without_comprehensions(qualname: str) -> str:
    """The qualified name without `<listcomp>` and similar parts, which are scopes only in some versions of Python."""
    for name in ("listcomp", "setcomp", "dictcomp", "genexpr"):
        qualname = qualname.replace(f"<{name}>.<locals>.", "")
    return qualname


# --- the checks -------------------------------------------------------------------------------------------------------------------


def analyze_folder(folder: Path, timeout: float) -> Trial:
    """Analyses a folder, and checks the report. Without a report, `failures` has the reason."""
    trial = Trial(folder.name)
    files = parsed(folder)
    trial.analyze = run_module(["corpus.released.analysis"], folder, timeout)
    if ended_well("analyze", trial.analyze, trial):
        trial.report = json.loads(trial.analyze.out)
        check_definitions(trial, files)
        check_errors(trial, files)
    return trial


def try_folder(folder: Path, timeout: float) -> Trial:
    """Analyses a folder, refactors a copy of it, and checks both results."""
    trial = analyze_folder(folder, timeout)
    if not trial.report:
        return trial
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder.name
        shutil.copytree(folder, copy)
        command = ["terra_refactor", "fix", "--isolated", "--no-cache", "--level", "speculative"]
        trial.fix = run_module([*command, "--write", "."], copy, timeout)
        if not ended_well("fix --write", trial.fix, trial):
            return trial
        counted = re.search(r"^(\d+) changes? in ", trial.fix.err, re.MULTILINE)
        trial.changes = int(counted[1]) if counted else 0
        for name, tree in parsed(folder).items():
            if (copy / name).read_bytes() != (folder / name).read_bytes():
                trial.changed_files += 1
                if tree is None:
                    trial.failures.append(f"{name}: did not parse, and was written to")
                elif parse(copy / name) is None:
                    trial.failures.append(f"{name}: does not parse after `fix`")
        again = run_module([*command, "--quiet", "--diff", "."], copy, timeout)
        if ended_well("the second fix", again, trial) and again.out.strip():
            trial.failures.append("a second `fix` changes more:\n" + "\n".join(again.out.splitlines()[: 2 * SHOWN]))
    return trial


def ended_well(what: str, measured: Measured, trial: Trial) -> bool:
    """Whether a command ended with an expected exit code."""
    if measured.code in (DONE, UNREADABLE) and "Traceback" not in measured.err:
        return True
    how = f"stopped after {measured.wall:.0f} s" if measured.code is None else f"exit code {measured.code}"
    trial.failures.append(f"{what}: {how}\n" + "\n".join(measured.err.splitlines()[-SHOWN:]))
    return False


def check_definitions(trial: Trial, files: dict[str, ast.Module | None]) -> None:
    """Compares the functions of the report with those that `ast` finds, and looks for internal errors."""
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
    """Checks that exactly the files that do not parse are errors."""
    listed = {error["path"] for error in trial.report["errors"]}
    unparsable = {name for name, tree in files.items() if tree is None}
    say(trial, "does not parse, and is no error", Counter((name, 0, "") for name in unparsable - listed))
    say(trial, "parses, and is an error", Counter((name, 0, "") for name in (listed - unparsable) & files.keys()))


def say(trial: Trial, what: str, found: Counter[Key]) -> None:
    """Adds a failure for each key, the first ones in full."""
    total = found.total()
    for path, line, name in sorted(found)[:SHOWN]:
        trial.failures.append(f"{path}:{line} {name} {what}")
    if total > SHOWN:
        trial.failures.append(f"… {total} in all: {what}")
