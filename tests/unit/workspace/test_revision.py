"""`--diff-base`: only what a change brings, wherever it shows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

MAIN = """\
import tensorflow as tf
from pkg.helper import show


@tf.function
def f(x):
    show(x)
    print(x)
    return x


f(tf.ones([3]))
"""


def git(*arguments: str) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    Path("pkg").mkdir()
    Path("pkg/__init__.py").write_text("")
    Path("pkg/helper.py").write_text("def show(x):\n    return x\n")
    Path("pkg/main.py").write_text(MAIN)
    Path(".gitattributes").write_text("pkg/main.py export-ignore\n")
    git("add", ".")
    git("commit", "-qm", "first")


def run(*paths: str, base: str = "HEAD") -> WorkspaceReport:
    return analyze(paths or ["."], Options(config=Config(jobs=1, select=("TR1",)), use_cache=False, diff_base=base))


def test_nothing_changed_nothing_told() -> None:
    status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, check=True).stdout
    report = run()
    assert report.findings == ()
    assert report.comparison is not None and len(report.comparison.known) == 1
    assert subprocess.run(["git", "status", "--porcelain"], capture_output=True, check=True).stdout == status


def test_a_change_in_a_helper_brings_a_finding_there() -> None:
    Path("pkg/helper.py").write_text("def show(x):\n    print('seen', x)\n    return x\n")
    assert [(finding.path, finding.span.line) for finding in run().findings] == [("pkg/helper.py", 2)]


def test_a_renamed_file_keeps_its_findings_and_what_is_fixed_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    git("mv", "pkg/main.py", "pkg/moved.py")
    assert run().findings == ()
    Path("pkg/moved.py").write_text(MAIN.replace("    print(x)\n", ""))
    report = run()
    assert report.comparison is not None
    assert [(entry.path, entry.rule) for entry in report.comparison.gone] == [("pkg/moved.py", "TR101")]
    monkeypatch.chdir("pkg")
    assert run().findings == ()


def test_wrong_calls(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="there is no revision `nowhere`"):
        run(base="nowhere")
    with pytest.raises(UsageError, match="there is no revision `--all`"):
        run(base="--all")
    outside = tmp_path_factory.mktemp("outside")
    with pytest.raises(UsageError, match="is not in the repository"):
        run(str(outside))
    monkeypatch.chdir(outside)
    with pytest.raises(UsageError, match="in no git repository"):
        run()
