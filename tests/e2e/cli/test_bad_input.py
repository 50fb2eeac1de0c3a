"""Bad input, through the real command: each file gets a clear message, affects no other, and is never written to."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import warm_programs
from running_time import examples
from typer.testing import CliRunner

from terra_refactor.cli.main import app
from terra_refactor.workspace import project

ROOT = Path(__file__).parents[3]

STEP = """\
import tensorflow as tf


def step(x: tf.Tensor) -> tf.Tensor:
    for _ in range(20):
        x = tf.tanh(x) * 2.0
    return x


for _ in range(100):
    step(tf.zeros([2, 3]))
"""

UNREADABLE: Mapping[str, tuple[bytes, int, str]] = {
    "null_byte.py": (b"x = 1\ny = '\0'\n", 2, "null byte"),
    "latin_1.py": (b"# r\xe9sum\xe9\n", 1, "no other encoding is declared"),
    "nested.py": (b"x = " + b"[" * 5000 + b"]" * 5000 + b"\n", 1, "5,000 nested brackets"),
    "python_2.py": (b"x = 1\nprint 'two'\n", 2, "does not parse"),
    "tabs.py": (b"def f():\n\treturn 1\n        return 2\n", 3, "does not parse"),
    "unfinished.py": (b"def f(:\n", 1, "does not parse"),
    "utf_16.py": ("x = 1\n".encode("utf-16"), 1, "UTF-16"),
    "unknown_codec.py": (b"# coding: klingon\nx = 1\n", 1, "klingon"),
    "json.ipynb": (b'{"cells": [\n', 2, "notebook"),
}
"""By file: its bytes, the line that is blamed, and words of the message."""

READABLE: Mapping[str, bytes] = {
    "empty.py": b"",
    "only_a_comment.py": b"# nothing",
    "cycle_a.py": b"from cycle_b import second\n\n\ndef first(x):\n    return second(x)\n",
    "cycle_b.py": b"import cycle_a\n\n\ndef second(x):\n    return cycle_a.first(x)\n",
    "bom.py": codecs.BOM_UTF8 + STEP.encode(),
    "crlf.py": STEP.replace("\n", "\r\n").encode(),
    "no_newline.py": STEP.rstrip("\n").encode(),
}


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended. `report` is its JSON, if it printed one."""

    code: int
    stdout: str
    stderr: str

    @property
    def report(self) -> Any:
        return json.loads(self.stdout)


def command(folder: Path, *arguments: str, start: Sequence[str] = ()) -> Finished:
    """Run the command, as a copy of a process that has its imports behind it or as `start` says."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / ".cache"), "PYTHONUTF8": "1"}
    finished = subprocess.run(
        [*start, *arguments] if start else warm_programs.tool(*arguments),
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
        timeout=300,
    )
    return Finished(finished.returncode, finished.stdout.decode(), finished.stderr.decode())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.*")) if path.is_file()}


@pytest.fixture(scope="module")
def bad_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that is wrong, in one folder, among files that are fine."""
    folder = tmp_path_factory.mktemp("project")
    for name, (data, _, _) in UNREADABLE.items():
        (folder / name).write_bytes(data)
    for name, data in READABLE.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def analysis(bad_project: Path) -> Finished:
    before = contents(bad_project)
    as_users_do = (sys.executable, "-m", "terra_refactor")
    finished = command(bad_project, "analyze", ".", "--format", "json", "--no-cache", start=as_users_do)
    assert contents(bad_project) == before
    return finished


def test_what_cannot_be_read_is_listed_and_the_exit_code_is_3(analysis: Finished) -> None:
    assert analysis.code == 3
    assert [entry["path"] for entry in analysis.report["errors"]] == sorted(UNREADABLE)
    assert "Traceback" not in analysis.stderr


@pytest.mark.parametrize("name", sorted(UNREADABLE))
def test_each_gets_a_clear_word(analysis: Finished, name: str) -> None:
    _, line, words = UNREADABLE[name]
    (error,) = (entry for entry in analysis.report["errors"] if entry["path"] == name)
    assert words in error["message"]
    assert error["line"] == line


def test_the_rest_is_analysed(analysis: Finished) -> None:
    found = [(entry["path"], entry["qualname"]) for entry in analysis.report["functions"]]
    assert found == [
        ("bom.py", "step"),
        ("crlf.py", "step"),
        ("cycle_a.py", "first"),
        ("cycle_b.py", "second"),
        ("no_newline.py", "step"),
    ]
    assert analysis.report["summary"]["files"] == len(READABLE)


def test_fixing_writes_to_none_of_them_and_keeps_marks_and_line_endings(tmp_path: Path) -> None:
    for name, (data, _, _) in UNREADABLE.items():
        (tmp_path / name).write_bytes(data)
    for name, data in READABLE.items():
        (tmp_path / name).write_bytes(data)
    finished = command(tmp_path, "fix", ".", "--write", "--no-cache")
    assert finished.code == 3
    after = contents(tmp_path)
    assert {name: after.pop(name) for name in UNREADABLE} == {name: data for name, (data, _, _) in UNREADABLE.items()}
    decorated = STEP.replace("def step", "@tf.function\ndef step").encode()
    assert after == {
        **READABLE,
        "bom.py": codecs.BOM_UTF8 + decorated,
        "crlf.py": decorated.replace(b"\n", b"\r\n"),
        "no_newline.py": decorated.rstrip(b"\n"),
    }
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_dangling_link_is_said(tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to("nowhere.py")
    (tmp_path / "good.py").write_text(STEP)
    finished = command(tmp_path, "analyze", ".", "--no-cache")
    assert finished.code == 3
    assert "link.py: error: a symbolic link to nowhere.py, which does not exist" in finished.stdout
    assert "1 functions in 1 files" in finished.stdout or "1 function in 1 file" in finished.stdout


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_said(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(STEP)
    (tmp_path / "locked").mkdir(mode=0)
    finished = command(tmp_path, "analyze", ".", "--no-cache")
    (tmp_path / "locked").chmod(0o700)
    assert finished.code == 3
    assert "locked: error: permission to read it is denied" in finished.stdout


def test_a_folder_that_the_system_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the test above, for those who run as root: the refusal is simulated where folders are read."""
    monkeypatch.chdir(tmp_path)
    Path("good.py").write_text(STEP)
    Path("locked").mkdir()
    Path("locked/hidden.py").write_text(STEP)
    scan = os.scandir

    def refusing(folder: str) -> Any:
        if os.path.basename(folder) == "locked":
            raise PermissionError(13, "Permission denied")
        return scan(folder)

    monkeypatch.setattr(project.os, "scandir", refusing)
    result = CliRunner().invoke(app, ["analyze", ".", "--no-cache", "--format", "json"])
    assert result.exit_code == 3
    report = json.loads(result.stdout)
    assert [(error["path"], error["message"]) for error in report["errors"]] == [
        ("locked", "permission to read it is denied")
    ]
    assert [entry["path"] for entry in report["functions"]] == ["good.py"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.terra-refactor]\nmin_opps = 3\n", "pyproject.toml:2: unknown key `min_opps`; did you mean `min-ops`?"),
        ("[tool.terra-refactor]\nmin-ops = 'three'\n", "`min-ops` takes a whole number"),
        ('[tool.terra-refactor]\nlevel = "save"\n', "did you mean `safe`?"),
        ("[tool.terra-refactor\n", "does not parse"),
    ],
)
def test_a_wrong_configuration_is_a_wrong_call(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "good.py").write_text(STEP)
    (tmp_path / "pyproject.toml").write_text(text)
    finished = command(tmp_path, "fix", ".", "--write", "--no-cache")
    assert finished.code == 2
    assert words in finished.stderr
    assert "Traceback" not in finished.stderr
    assert (tmp_path / "good.py").read_text() == STEP


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("analyze", "nowhere"), "nowhere: no such file or folder"),
        (("analyze", ".", "--format", "jsn"), "did you mean `json`?"),
        (("fix", ".", "--level", "spekulative"), "did you mean `speculative`?"),
        (("explain", "TR999"), "unknown rule `TR999`"),
        (("lint", ".", "--selct", "TR1"), "--selct"),
    ],
)
def test_a_wrong_call_exits_with_2(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    (tmp_path / "good.py").write_text(STEP)
    finished = command(tmp_path, *arguments)
    assert finished.code == 2
    assert words in finished.stderr
    assert finished.stdout == ""


def test_an_interrupt_in_the_middle_of_a_file_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the last byte of the new text and the moment it takes the file's place."""
    monkeypatch.chdir(tmp_path)
    Path("good.py").write_text(STEP)

    def interrupted(*_: object, **_names: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("terra_refactor.refactor.apply.os.replace", interrupted)
    result = CliRunner().invoke(app, ["fix", ".", "--write", "--no-cache"])
    assert result.exit_code == 130
    assert "0 written, 1 not; no file is half written" in result.stderr
    assert contents(tmp_path) == {"good.py": STEP.encode()}
    assert not list(tmp_path.glob(".*.tmp"))


def test_an_empty_folder_is_no_error(tmp_path: Path) -> None:
    finished = command(tmp_path, "analyze", ".", "--no-cache")
    assert finished.code == 0
    assert "0 functions in 0 files" in finished.stdout


@pytest.mark.slow
def test_a_file_of_many_thousand_lines(tmp_path: Path) -> None:
    functions = examples(3_000, 10_000)
    (tmp_path / "long.py").write_text(
        "".join(f"def f{number}(x):\n    return x + {number}\n" for number in range(functions))
    )
    finished = command(tmp_path, "analyze", "long.py", "--no-cache", "--format", "json")
    assert finished.code == 0
    assert finished.report["summary"]["functions"] == functions
    assert finished.report["summary"]["lines"] == 2 * functions
