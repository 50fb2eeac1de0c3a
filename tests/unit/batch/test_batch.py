"""Many repositories: each costs only itself, and a run that ends early is taken up again."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from terra_refactor.batch.limits import RepositoryLimits
from terra_refactor.batch.manifest import ManifestEntry, SourceKind, read_manifest
from terra_refactor.batch.results import ResultFile
from terra_refactor.batch.work import run_entry
from terra_refactor.cli.main import app
from terra_refactor.errors import UsageError

CODE = "import tensorflow as tf\n\n\ndef f(x):\n    print(x)\n    return x * 2\n\n\nf(tf.ones([3]))\n"
OUT = Path("out.jsonl")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def project(name: str) -> None:
    Path(name).mkdir()
    Path(name, "m.py").write_text(CODE)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["batch", *arguments, "--output", str(OUT)])


def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in OUT.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_folders_archives_and_revisions_of_git() -> None:
    project("plain")
    with tarfile.open("sdist.tar.gz", "w:gz") as archive:
        archive.add("plain", "sdist-1.0")
    with zipfile.ZipFile("sdist.zip", "w") as zipped:
        zipped.write("plain/m.py", "x/m.py")
    project("origin")
    git = ["git", "-C", "origin", "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q"], check=True)
    for number, text in enumerate((CODE, CODE + CODE.replace("def f", "def g"))):
        Path("origin/m.py").write_text(text)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "c"], check=True)
        subprocess.run([*git, "tag", f"v{number}"], check=True)
    first = subprocess.run([*git, "rev-parse", "v0"], check=True, capture_output=True, text=True).stdout.strip()
    url = Path("origin").absolute().as_uri()
    Path("manifest.txt").write_text(
        f"# all kinds\nplain\nsdist.tar.gz\nsdist.zip\ngit+{url}@v0\ngit+{url}\ngit+{url}@{first}\n"
    )
    result = run("manifest.txt", "--jobs", "2")
    assert result.exit_code == 0, result.output
    functions = {line["name"]: line["summary"]["functions"] for line in lines()}
    assert functions == {
        "plain": 1,
        "sdist.tar.gz": 1,
        "sdist.zip": 1,
        "origin@v0": 1,
        "origin": 2,
        f"origin@{first}": 1,
    }
    assert {line["status"] for line in lines()} == {"done"}
    assert all(line["unsafe_by"] == {"TR101": line["summary"]["functions"]} for line in lines())
    assert "6 repositories: 6 done" in result.stdout
    assert "unsafe by TR101 host-print-or-log" in result.stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_in_a_hook_of_git_the_repository_that_runs_it_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "theirs"):
        Path(name).mkdir()
        project(f"{name}/{name}")
        git = ["git", "-C", name, "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        for command in (("init", "-q"), ("add", "."), ("commit", "-qm", name)):
            subprocess.run([*git, *command], check=True)
    Path("m.txt").write_text(f"git+{(tmp_path / 'theirs').as_uri()}\n")
    with monkeypatch.context() as hook:
        hook.setenv("GIT_DIR", str(tmp_path / "mine" / ".git"))
        hook.setenv("GIT_WORK_TREE", str(tmp_path / "mine"))
        hook.setenv("GIT_INDEX_FILE", str(tmp_path / "mine" / ".git" / "index"))
        run("m.txt")
    assert [line["status"] for line in lines()] == ["done"]
    assert sorted(path.name for path in Path("mine").iterdir()) == [".git", "mine"]
    log = subprocess.run(["git", "-C", "mine", "log", "--format=%s"], check=True, capture_output=True, text=True)
    assert log.stdout == "mine\n"


def test_what_fails_costs_only_itself_and_is_done_again_if_asked_for() -> None:
    project("good")
    Path("bad.tar.gz").write_bytes(b"no archive")
    Path("manifest.txt").write_text("bad.tar.gz\ngone\ngood\n")
    result = run("manifest.txt")
    assert result.exit_code == 3
    assert {line["name"]: line["status"] for line in lines()} == {
        "bad.tar.gz": "failed",
        "gone": "failed",
        "good": "done",
    }
    assert "no such folder" in result.stdout
    before = OUT.read_bytes()
    assert run("manifest.txt").exit_code == 3
    assert OUT.read_bytes() == before
    project("gone")
    run("manifest.txt", "--retry")
    assert [line["name"] for line in lines()].count("good") == 1
    assert [line["status"] for line in lines() if line["name"] == "gone"] == ["failed", "done"]


def test_a_run_that_ended_in_the_middle_of_a_line_is_taken_up() -> None:
    for name in ("a", "b"):
        project(name)
    Path("manifest.txt").write_text("a\nb\n")
    run("manifest.txt")
    whole = OUT.read_bytes()
    first = whole.index(b"\n") + 1
    OUT.write_bytes(whole[: first + 40])
    assert run("manifest.txt").exit_code == 0
    assert OUT.read_bytes()[:first] == whole[:first]
    assert sorted(line["name"] for line in lines()) == ["a", "b"]


def test_limits() -> None:
    project("a")
    entry = ManifestEntry("a", SourceKind.PATH, str(Path("a").absolute()))
    late = run_entry(entry, RepositoryLimits(seconds=0.05))
    assert (late["status"], late["error"]) == ("timeout", "took more than 0.05 seconds") or late["status"] == "done"
    small = run_entry(entry, RepositoryLimits(memory_mb=40))
    assert small["status"] in ("memory", "failed")
    assert small["error"]
    assert run_entry(entry, RepositoryLimits())["status"] == "done"


def test_an_archive_cannot_write_outside() -> None:
    with tarfile.open("evil.tar", "w") as archive:
        info = tarfile.TarInfo("../outside.py")
        info.size = 1
        archive.addfile(info, io.BytesIO(b"x"))
    line = run_entry(ManifestEntry("evil", SourceKind.SDIST, str(Path("evil.tar").absolute())), RepositoryLimits())
    assert line["status"] == "failed"
    assert "cannot be unpacked" in line["error"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.txt", "", "names no repository"),
        ("m.txt", "a\na\n", "two repositories are called `a`"),
        ("m.txt", "https://example.org/x\n", "m.txt:1: https://example.org/x is a URL; write git+"),
        ("m.txt", "git+--upload-pack=x\n", "is not the address of a git repository"),
        ("m.txt", "git+https://h/x@--orphan\n", "m.txt:1: `--orphan` is not a revision"),
        ("m.toml", "[[repository]]\nphat = 'x'\n", "unknown key `phat`; did you mean `path`?"),
        ("m.toml", "[[repository]]\nname = 'x'\n", "needs one of path, sdist and git"),
        ("m.toml", "[[repository]]\npath = 'x'\nrevision = 'y'\n", "`revision` is only valid with `git`"),
        ("m.toml", "[[repository]]\npath = 'x'\npaths = 'y'\n", "`paths` takes a list"),
        ("m.toml", "repository = 3\n", "takes tables"),
        ("m.toml", "[[", "does not parse"),
    ],
)
def test_wrong_manifests(name: str, text: str, message: str) -> None:
    Path(name).write_text(text)
    with pytest.raises(UsageError) as caught:
        read_manifest(Path(name))
    assert message in str(caught.value)


def test_a_table_says_everything() -> None:
    Path("m.toml").write_text(
        '[[repository]]\nname = "n"\ngit = "git@host:team/x.git"\nrevision = "v1"\npaths = ["src"]\n[[repository]]\nsdist = "a.zip"\n'
    )
    first, second = read_manifest(Path("m.toml"))
    assert first == ManifestEntry("n", SourceKind.GIT, "git@host:team/x.git", "v1", ("src",))
    assert second == ManifestEntry("a.zip", SourceKind.SDIST, str(Path("a.zip").absolute()))
    Path("m.txt").write_text("git+git@host:team/x.git\ngit+https://h/y.git@feature\n")
    assert [(entry.name, entry.revision) for entry in read_manifest(Path("m.txt"))] == [
        ("x", ""),
        ("y@feature", "feature"),
    ]


@pytest.mark.parametrize("text", ["{}\n", "x\n", '{"schema": "other/1", "identity": ""}\n'])
def test_another_file_is_not_written_to(text: str) -> None:
    OUT.write_text(text)
    with pytest.raises(UsageError), ResultFile(OUT):
        pass
    assert OUT.read_text() == text


def test_wrong_calls() -> None:
    project("a")
    Path("m.txt").write_text("a\n")
    for arguments in (("--executor", "ray"), ("--executor", "dask"), ("--scheduler", "x"), ("--timeout", "0")):
        assert run("m.txt", *arguments).exit_code == 2
    assert run("none.txt").exit_code == 2
