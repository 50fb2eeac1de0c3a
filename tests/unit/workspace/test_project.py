"""Finding files: each once, sorted, without what is excluded, and with a word about what cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.workspace.project import discover_files


@pytest.fixture(autouse=True)
def current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(*paths: str) -> None:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()


def test_files_are_sorted_and_come_once() -> None:
    make("b/z.py", "b/a.py", "a.py", "b/n.ipynb", "b/t.pyi", "b/readme.md", "b/pyproject.toml")
    found = discover_files(["b", ".", "a.py", "b/../a.py", Path("b").absolute()])
    assert found.files == ("a.py", "b/a.py", "b/n.ipynb", "b/z.py")
    assert found.stubs == ("b/t.pyi",)
    assert found.markers == ("b/pyproject.toml",)
    assert not found.errors and not found.stdin


def test_default_excludes() -> None:
    make(
        ".git/x.py",
        ".venv/x.py",
        "node_modules/m/x.py",
        "build/lib/x.py",
        "p/__pycache__/x.py",
        "env/pyvenv.cfg",
        "env/lib/x.py",
    )
    make("p/build/__init__.py", "p/dist/x.py", "p.egg-info/x.py", ".ipynb_checkpoints/n.ipynb", "builds/x.py")
    assert discover_files(["."]).files == ("builds/x.py", "p/build/__init__.py")
    assert discover_files([".venv"]).files == (".venv/x.py",)
    assert discover_files(["build/lib/x.py"]).files == ("build/lib/x.py",)


def test_gitignore() -> None:
    make(
        ".git/HEAD",
        "gen/x.py",
        "sub/gen/x.py",
        "sub/keep/x.py",
        "sub/a_pb2.py",
        "sub/b_pb2.py",
        "sub/c/d/e.py",
        "sub/one.py",
        "q/r/s.py",
    )
    Path(".gitignore").write_text("gen/\n*_pb2.py\n# words\n!\n**/c/d\nq/r\n")
    Path("sub/.gitignore").write_text("!b_pb2.py\n/one.py\n")
    assert discover_files(["."]).files == ("sub/b_pb2.py", "sub/keep/x.py")
    assert discover_files(["sub"]).files == ("sub/b_pb2.py", "sub/keep/x.py")
    everything = discover_files(["."], Config(respect_gitignore=False)).files
    assert len(everything) == 8


def test_a_folder_that_git_ignores_is_read_where_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    make(".git/HEAD", "a.py", "data/packages/p/x.py", "data/packages/p/made/y.py", "data/packages/p/z_pb2.py")
    Path(".gitignore").write_text("data/packages/\n*_pb2.py\n")
    Path("data/packages/p/.gitignore").write_text("made\n")
    assert discover_files(["."]).files == ("a.py",)
    assert discover_files(["data"]).files == ()
    inside = ("data/packages/p/x.py", "data/packages/p/z_pb2.py")
    assert discover_files(["data/packages"]).files == inside
    assert discover_files([".", "data/packages/p"]).files == ("a.py", *inside)
    monkeypatch.chdir("data/packages/p")
    assert discover_files(["."]).files == ("x.py", "z_pb2.py")


def test_excludes_of_the_configuration_and_the_call() -> None:
    make("p/a.py", "p/test_a.py", "p/old/b.py", "p/sub/old/c.py", "d.py")
    config = Config(exclude=("/old/", "test_*.py"), file="p/pyproject.toml")
    assert discover_files(["."], config).files == ("d.py", "p/a.py", "p/sub/old/c.py")
    assert discover_files(["."], config, ["p/sub"]).files == ("d.py", "p/a.py")
    assert discover_files(["."], exclude=["**/old/**", "d.py"]).files == ("p/a.py", "p/test_a.py")


def test_links() -> None:
    make("p/a.py", "other/b.py")
    os.symlink("..", "p/up")
    os.symlink("a.py", "p/same.py")
    os.symlink("../other/b.py", "p/there.py")
    os.symlink("nowhere.py", "p/dangling.py")
    os.symlink("circle", "p/circle")
    os.symlink("gone", "p/folder")
    found = discover_files(["p"])
    assert found.files == ("p/a.py",)
    assert found.skipped_links == ("p/there.py", "p/up")
    followed = discover_files(["p"], follow_links=True)
    assert (followed.files, followed.skipped_links) == (("p/a.py", "p/up/other/b.py"), ())
    assert followed.outside == {"p/up/other/b.py"}
    assert followed.real == {name: os.path.realpath(name) for name in followed.files}
    assert [(error.path, error.message) for error in found.errors] == [
        ("p/dangling.py", "a symbolic link to nowhere.py, which does not exist")
    ]
    assert discover_files(["."]).files == ("other/b.py", "p/a.py")
    assert discover_files(["p/dangling.py"]).errors[0].path == "p/dangling.py"


def test_folder_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    make("p/a.py", "p/secret/b.py", "p/z.py")
    Path("p/secret").chmod(0)
    if os.access("p/secret", os.R_OK):  # as root, permission bits stop nobody
        scandir = os.scandir

        def refuse(path: str) -> object:
            if path.endswith("secret"):
                raise PermissionError(13, "Permission denied")
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refuse)
    found = discover_files(["p"])
    assert found.files == ("p/a.py", "p/z.py")
    assert [str(error) for error in found.errors] == ["p/secret: permission to read it is denied"]
    Path("p/secret").chmod(0o700)


def test_standard_input_and_what_does_not_exist() -> None:
    assert discover_files(["-"]).stdin
    with pytest.raises(UsageError, match="nowhere: no such file or folder"):
        discover_files(["nowhere"])


def test_a_script_without_ending_is_taken_when_named() -> None:
    make("bin/train")
    assert discover_files(["bin/train"]).files == ("bin/train",)
    assert discover_files(["bin"]).files == ()


def test_10000_files_with_a_long_gitignore(current_folder: Path) -> None:
    make(".git/HEAD")
    Path(".gitignore").write_text("".join(f"*.x{number}\nfoo{number}/\n" for number in range(60)))
    for folder in range(100):
        Path(f"p/d{folder}").mkdir(parents=True)
        for number in range(100):
            Path(f"p/d{folder}/f{number}.py").touch()
    assert len(discover_files(["."]).files) == 10_000
