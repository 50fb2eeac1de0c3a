"""What a change brings: the findings of an earlier revision, to compare with.

Computes: the findings of the same paths as they were at a revision of git. Needs: git, a revision, the paths and options of the run. Gives:
`baseline_at`. Ignores: submodules, and files that git does not keep.

The revision's sources are checked out into a temporary folder, with an index of their own, so that nothing in the repository changes; then
they are analysed as a whole, since a change in one file may bring findings in another. Files that the change renamed keep their findings.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.workspace.baseline import Baseline, known_findings, totals_of
from terra_refactor.workspace.results import WorkspaceReport

Analyse: TypeAlias = Callable[[Sequence[str], Config], WorkspaceReport]

_SOURCES = ("*.py", "*.pyi", "*.ipynb", "*pyproject.toml", "*setup.cfg", "*.gitignore")


def baseline_at(revision: str, paths: Sequence[str], config: Config, analyse: Analyse) -> Baseline:
    """The findings of these paths at a revision, with the paths that the files have now.

    `analyse` is called in a process of its own, in the folder of the copy that corresponds to the current one.

    Raises:
        UsageError: the current folder is in no repository, git or the revision is missing, or a path lies outside.
    """
    if shutil.which("git") is None:
        raise UsageError("--diff-base: git is not installed")
    here = Path.cwd()
    root = Path(_git("rev-parse", "--show-toplevel", what="the current folder is in no git repository").strip())
    commit = _git(
        "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}", what=f"there is no revision `{revision}`"
    ).strip()
    relative = [_inside(path, root, here) for path in paths]
    with tempfile.TemporaryDirectory(prefix="terra-refactor-") as folder:
        copy = Path(folder, "tree")
        copy.mkdir()
        _check_out(commit, root, copy, Path(folder, "index"))
        there = copy / here.resolve().relative_to(root.resolve())
        existing = [path for path in relative if os.path.lexists(there / path)]
        if not existing:
            return Baseline()
        moved = replace(config, baseline=None, file=_moved(config.file, root, copy))
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(_START)) as executor:
            found = executor.submit(_findings_in, str(there), existing, moved, analyse).result()
    renamed = _renamed(commit, root, here)
    entries = tuple(sorted(replace(entry, path=renamed.get(entry.path, entry.path)) for entry in found.entries))
    return Baseline(entries, found.totals)


_START = "forkserver" if sys.platform == "linux" else "spawn"


def _findings_in(folder: str, paths: Sequence[str], config: Config, analyse: Analyse) -> Baseline:
    os.chdir(folder)
    report = analyse(paths, config)
    entries = known_findings(report.findings, report.sources)
    return Baseline(entries, totals_of(report, len(entries)))


def _check_out(commit: str, root: Path, copy: Path, index: Path) -> None:
    environment = {**os.environ, "GIT_INDEX_FILE": str(index)}
    what = f"{commit} cannot be read"
    _git("read-tree", commit, what=what, environment=environment, folder=root)
    names = _git("ls-files", "-z", "--", *_SOURCES, what=what, environment=environment, folder=root)
    _git(
        "checkout-index",
        "--quiet",
        "-z",
        "--stdin",
        f"--prefix={copy}{os.sep}",
        what=what,
        environment=environment,
        folder=root,
        text=names,
    )


def _renamed(commit: str, root: Path, here: Path) -> Mapping[str, str]:
    """The path now of each file that was renamed since, by its path then; both as in reports."""
    fields = _git("diff", "--name-status", "-M", "-z", commit, what="git cannot compare", folder=root).split("\0")
    renamed: dict[str, str] = {}
    at = 0
    while at < len(fields) and fields[at]:
        if fields[at][0] in "RC":
            if fields[at][0] == "R":
                old, new = (os.path.relpath(root / name, here).replace(os.sep, "/") for name in fields[at + 1 : at + 3])
                renamed[old] = new
            at += 3
        else:
            at += 2
    return renamed


def _inside(path: str, root: Path, here: Path) -> str:
    absolute = Path(here, path).resolve()
    if path == "-" or not absolute.is_relative_to(root.resolve()):
        raise UsageError(f"--diff-base: {path} is not in the repository {root}")
    return os.path.relpath(absolute, here.resolve())


def _moved(file: str | None, root: Path, copy: Path) -> str | None:
    if file is None:
        return None
    absolute = Path(file).resolve()
    return str(copy / absolute.relative_to(root.resolve())) if absolute.is_relative_to(root.resolve()) else file


def _git(
    *arguments: str,
    what: str,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    text: str | None = None,
) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environment,
        input=text,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise UsageError(f"--diff-base: {what}" + (f" (git: {lines[-1]})" if lines else ""))
    return done.stdout
