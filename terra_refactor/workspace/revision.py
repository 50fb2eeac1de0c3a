"""Findings that a change adds: the findings of an earlier revision, to compare with.

Computes: the findings of the same paths at a git revision. Needs: git, a revision, the paths and options of the run.
Gives: `baseline_at`. Ignores: submodules and untracked files.

The revision's sources are checked out into a temporary folder, with a separate index, so that nothing in the
repository changes; then they are analysed as a whole, since a change in one file may cause findings in another. Files
that the change renamed keep their findings.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.isolation import find_program, start_method
from terra_refactor.workspace.baseline import Baseline, known_findings, totals_of
from terra_refactor.workspace.results import WorkspaceReport

Analyse: TypeAlias = Callable[[Sequence[str], Config], WorkspaceReport]

_SOURCES = ("*.py", "*.pyi", "*.ipynb", "*pyproject.toml", "*setup.cfg", "*.gitignore")


def baseline_at(revision: str, paths: Sequence[str], config: Config, analyse: Analyse) -> Baseline:
    """The findings of these paths at a revision, with the present paths of the files.

    `analyse` is called in a process of its own, in the folder of the copy that corresponds to the current folder.

    Raises:
        UsageError: the current folder is in no repository, git or the revision is missing, or a path lies outside.
    """
    program = find_program("git")
    if program is None:
        raise UsageError("--diff-base: git is not installed")
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="terra-refactor-") as folder:
        git = _Git(program, Path(folder))
        commit = git.commit(revision)
        root = git.root
        relative = [_inside(path, root, here) for path in paths]
        copy = Path(folder, "tree")
        copy.mkdir()
        git.check_out(commit, copy)
        there = copy / here.resolve().relative_to(root.resolve())
        existing = [path for path in relative if os.path.lexists(there / path)]
        if not existing:
            return Baseline()
        moved = replace(config, baseline=None, file=_moved(config.file, root, copy))
        with ProcessPoolExecutor(1, mp_context=start_method()) as executor:
            found = executor.submit(_findings_in, str(there), existing, moved, analyse).result()
        renamed = git.renamed(commit, here)
    entries = tuple(sorted(replace(entry, path=renamed.get(entry.path, entry.path)) for entry in found.entries))
    return Baseline(entries, found.totals)


def _findings_in(folder: str, paths: Sequence[str], config: Config, analyse: Analyse) -> Baseline:
    os.chdir(folder)
    report = analyse(paths, config)
    entries = known_findings(report.findings, report.sources)
    return Baseline(entries, totals_of(report, len(entries)))


class _Git:
    """Queries to git about the repository of the current folder.

    A repository's configuration can name programs that git runs: filters, hooks, a file system monitor, a diff tool,
    a transport for missing objects. So the repository itself is queried only for names. Contents are read through a
    new repository that has only the user's configuration, and borrows the objects.
    """

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._own = folder / "git"
        self._index = folder / "index"
        what = "the current folder is in no git repository"
        self.root = Path(self._asked("rev-parse", "--show-toplevel", what=what).removesuffix("\n"))
        if not os.path.lexists(self.root / ".git"):  # its configuration says that its work tree is elsewhere
            raise UsageError(f"--diff-base: {what}")
        places = self._asked("rev-parse", "--git-path", "objects", "--git-path", "index", what=what).splitlines()
        self._objects, self._index_now = (os.path.abspath(place) for place in places)
        kind = self._asked("rev-parse", "--show-object-format", what=what).strip()
        # git before 2.28 knows only one format, and echoes an option that it does not know
        formatted = [] if kind.startswith("-") else [f"--object-format={kind}"]
        self._run(["init", "--quiet", "--bare", "--template=", *formatted, str(self._own)], what)

    def commit(self, revision: str) -> str:
        """The name of a commit."""
        what = f"there is no revision `{revision}`"
        return self._asked("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}", what=what).strip()

    def check_out(self, commit: str, copy: Path) -> None:
        """Writes the sources of a commit into a folder."""
        what = f"{commit} cannot be read"
        self._borrowed("read-tree", commit, what=what)
        names = self._borrowed("ls-files", "-z", "--", *_SOURCES, what=what)
        checkout = ("checkout-index", "--quiet", "-z", "--stdin", f"--prefix={copy}{os.sep}")
        self._borrowed(*checkout, what=what, text=names)

    def renamed(self, commit: str, here: Path) -> Mapping[str, str]:
        """The present path of each file that was renamed since, by its former path; both as in reports."""
        try:
            shutil.copyfile(self._index_now, self._index)
        except OSError:
            return {}  # nothing is tracked, so nothing was renamed
        compared = ("diff", "--no-ext-diff", "--no-textconv", "--name-status", "-M", "-z", commit, "--")
        fields = self._borrowed(*compared, what="git cannot compare").split("\0")
        renamed: dict[str, str] = {}
        at = 0
        while at < len(fields) and fields[at]:
            if fields[at][0] in "RC":
                if fields[at][0] == "R":
                    names = fields[at + 1 : at + 3]
                    old, new = (os.path.relpath(self.root / name, here).replace(os.sep, "/") for name in names)
                    renamed[old] = new
                at += 3
            else:
                at += 2
        return renamed

    def _asked(self, *arguments: str, what: str) -> str:
        """Output of git in the repository itself, for names only."""
        return self._run(["-c", "safe.bareRepository=explicit", *arguments], what)

    def _borrowed(self, *arguments: str, what: str, text: str | None = None) -> str:
        """Output of git in our own repository with the objects and files of the other."""
        variables = {
            "GIT_DIR": str(self._own),
            "GIT_WORK_TREE": str(self.root),
            "GIT_INDEX_FILE": str(self._index),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": self._objects,
        }
        # at the root of the work tree; a bare repository has none unless one is set
        return self._run(["-c", "core.bare=false", *arguments], what, variables, self.root, text)

    def _run(
        self,
        arguments: Sequence[str],
        what: str,
        variables: Mapping[str, str] | None = None,
        folder: Path | None = None,
        text: str | None = None,
    ) -> str:
        done = subprocess.run(
            [self._program, *NO_PROGRAMS, *arguments],
            cwd=folder,
            env={**os.environ, **NO_TRANSPORT, **(variables or {})},
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise UsageError(f"--diff-base: {what}" + (f" (git: {lines[-1]})" if lines else ""))
        return done.stdout


NO_PROGRAMS: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "--no-pager")
"""Options of git that prevent it from starting programs."""
NO_TRANSPORT: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Environment variables with which git fetches nothing, writes nothing, and never prompts."""


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
