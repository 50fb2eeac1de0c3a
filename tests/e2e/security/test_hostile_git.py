"""Git runs nothing that a repository's own configuration names."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.security.conftest import MODEL, Installed

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("git") is None, reason="needs git")]
IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@b"]


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def committed(repository: Callable[..., Path]) -> Path:
    folder = repository(2)
    (folder / ".gitattributes").write_text("*.py filter=evil diff=evil text\n", encoding="utf-8")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "all")
    git(folder, "mv", "model1.py", "renamed.py")
    return folder


CONFIGURATIONS: dict[str, list[tuple[str, str]]] = {
    "fsmonitor": [("core.fsmonitor", "{program}")],
    "hooks": [("core.hooksPath", "{hooks}")],
    "smudge": [
        ("filter.evil.smudge", "{program}"),
        ("filter.evil.clean", "{program}"),
        ("filter.evil.required", "true"),
    ],
    "process": [("filter.evil.process", "{program}")],
    "external diff": [
        ("diff.external", "{program}"),
        ("diff.evil.command", "{program}"),
        ("diff.evil.textconv", "{program}"),
    ],
    "pager": [("core.pager", "{program}"), ("pager.diff", "{program}"), ("core.editor", "{program}")],
    "alias": [("alias.diff", "!{program}"), ("alias.rev-parse", "!{program}")],
    "promisor": [
        ("remote.origin.url", "ext::{program}"),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("protocol.ext.allow", "always"),
        ("core.sshCommand", "{program}"),
        ("core.alternateRefsCommand", "{program}"),
    ],
}


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("command", ["lint", "analyze"])
def test_the_configuration_of_a_repository_runs_nothing(
    command: str, configuration: str, committed: Path, copied: Installed, tmp_path: Path
) -> None:
    marker, program, hooks = tmp_path / "executed", tmp_path / "program", tmp_path / "hooks"
    script = f"#!/bin/sh\ntouch '{marker}'\ncat\n"
    program.write_text(script, encoding="utf-8")
    program.chmod(0o755)
    hooks.mkdir()
    for folder in (hooks, committed / ".git" / "hooks"):
        for name in ("post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
            (folder / name).write_text(script, encoding="utf-8")
            (folder / name).chmod(0o755)
    (committed / "model0.py").write_text(
        MODEL.format(number=0) + "\n", encoding="utf-8"
    )  # so that contents are compared
    for key, value in CONFIGURATIONS[configuration]:
        git(committed, "config", key, value.format(program=program, hooks=hooks))
    if configuration == "promisor":
        (committed / ".git" / "config").write_text(
            (committed / ".git" / "config")
            .read_text()
            .replace("repositoryformatversion = 0", "repositoryformatversion = 1")
        )
        objects = sorted((committed / ".git" / "objects").glob("??/*"))
        for file in objects[1:]:  # most objects are missing: git would fetch them
            file.unlink()
    marker.unlink(missing_ok=True)
    # one case as a user starts the tool
    start = copied.started if configuration == "fsmonitor" else None
    finished = copied.run([command, "--diff-base", "HEAD", "."], committed, start=start)
    assert not marker.exists()
    if configuration != "promisor":
        assert finished.returncode == 0, finished.stderr


def test_a_bare_repository_among_the_files_is_not_followed(committed: Path, copied: Installed, tmp_path: Path) -> None:
    marker, program = tmp_path / "executed", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{marker}'\n", encoding="utf-8")
    program.chmod(0o755)
    inner = committed / "inner"
    shutil.copytree(committed / ".git", inner)
    (inner / "model.py").write_text(MODEL.format(number=5), encoding="utf-8")
    (inner / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {inner}\n\tfsmonitor = {program}\n",
        "utf-8",
    )
    copied.run(["lint", "--diff-base", "HEAD", "."], inner)
    assert not marker.exists()


def test_a_program_called_git_in_the_folder_is_not_run(committed: Path, copied: Installed, tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    for name in ("git", "git.exe", "git.bat"):
        (committed / name).write_text(f"#!/bin/sh\ntouch '{marker}'\n", encoding="utf-8")
        (committed / name).chmod(0o755)
    path = f".:{copied.environment['PATH']}"
    assert copied.run(["lint", "--diff-base", "HEAD", "."], committed, variables={"PATH": path}).returncode == 0
    assert not marker.exists()


def test_what_was_renamed_is_still_known(committed: Path, copied: Installed) -> None:
    text = "import tensorflow as tf\n\n\n@tf.function\ndef f(x):\n    print(x)\n    return tf.tanh(x)\n"
    (committed / "old.py").write_text(text, encoding="utf-8")
    git(committed, "add", ".")
    git(committed, "commit", "--quiet", "--message", "more")
    git(committed, "mv", "old.py", "new.py")
    finished = copied.run(["lint", "--diff-base", "HEAD", "."], committed)
    assert (finished.returncode, "No findings." in finished.stdout, "known from HEAD" in finished.stdout) == (
        0,
        True,
        True,
    ), finished.stdout + finished.stderr


EVIL = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {0}\n\thooksPath = {1}\n[diff]\n\texternal = {0}\n"


@pytest.mark.parametrize("through", ["gitdir", "commondir"])
def test_a_file_that_leads_to_the_repository_runs_nothing(
    through: str, committed: Path, copied: Installed, tmp_path: Path
) -> None:
    """`.git` may be a file, as of worktrees and submodules; what it names may name a further folder."""
    marker, program, store = tmp_path / "executed", tmp_path / "program", committed / "store"
    program.write_text(f"#!/bin/sh\ntouch '{marker}'\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    (committed / ".git").rename(store)
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(program, store / "hooks" / name)
    (store / "config").write_text(EVIL.format(program, store / "hooks"), encoding="utf-8")
    leads_to = store
    if through == "commondir":
        leads_to = committed / "worktree"
        leads_to.mkdir()
        (leads_to / "commondir").write_text("../store\n", encoding="utf-8")
        (leads_to / "gitdir").write_text(f"{committed / '.git'}\n", encoding="utf-8")
        for name in ("HEAD", "index"):
            shutil.copy(store / name, leads_to / name)
    (committed / ".git").write_text(f"gitdir: {leads_to.name}\n", encoding="utf-8")
    (committed / "model0.py").write_text(MODEL.format(number=0) + "\n", encoding="utf-8")
    git(committed, "status")
    assert marker.exists(), "git itself runs it: there is something to defend against"
    marker.unlink()
    finished = copied.run(["lint", "--diff-base", "HEAD", "."], committed)
    assert finished.returncode == 0, finished.stderr
    assert not marker.exists()


def test_a_file_that_leads_to_no_repository_is_not_quoted(
    repository: Callable[..., Path], copied: Installed, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    for name in ("HEAD", "config", "commondir"):
        (secret / name).write_text("[hunter2]\n\tbroken = hunter2 = [\n", encoding="utf-8")
    for name in ("objects", "refs"):
        (secret / name).mkdir()
    folder = repository(2)
    (folder / ".git").write_text(f"gitdir: {secret}\n", encoding="utf-8")
    finished = copied.run(["lint", "--diff-base", "HEAD", "."], folder)
    assert "hunter2" not in finished.stdout + finished.stderr
    assert finished.returncode == 2
    assert "TR506" in copied.run(["lint", "."], folder).stdout  # without a question to git all is answered


def test_a_worktree_is_compared_with_its_repository(committed: Path, copied: Installed, tmp_path: Path) -> None:
    git(committed, "worktree", "add", "--quiet", str(tmp_path / "other"))
    other = tmp_path / "other"
    (other / "added.py").write_text(
        "import tensorflow as tf\n\n\n@tf.function\ndef f(x):\n    return x.numpy()\n\n\nf(tf.ones([2]))\n", "utf-8"
    )
    finished = copied.run(["lint", "--diff-base", "HEAD", "."], other)
    assert "added.py" in finished.stdout and "model0.py" not in finished.stdout, finished.stderr
