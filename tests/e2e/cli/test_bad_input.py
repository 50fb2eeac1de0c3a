"""Input that nobody wants: each gets a clear word, costs only itself, and is never written to."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from terra_refactor.cli.main import app

GOOD = "def fine(x):\n    return x\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.py").write_text(GOOD)


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"x = 1\ny = '\0'\n", 2, "null byte"),
        (b"# r\xe9sum\xe9\n", 1, "no other encoding is declared"),
        (b"x = " + b"[" * 5000 + b"]" * 5000 + b"\n", 1, "5,000 nested brackets"),
        (b"print 'two'\n", 1, "does not parse"),
        (b"def f():\n\treturn 1\n        return 2\n", 3, "does not parse"),
        ("x = 1\n".encode("utf-16"), 1, "UTF-16"),
    ],
)
def test_a_bad_file_costs_only_itself(data: bytes, line: int, words: str) -> None:
    Path("bad.py").write_bytes(data)
    result = CliRunner().invoke(app, ["analyze", ".", "--no-cache", "--format", "json"])
    assert result.exit_code == 3
    report = json.loads(result.stdout)
    assert [entry["qualname"] for entry in report["functions"]] == ["fine"]
    (error,) = report["errors"]
    assert (error["path"], error["line"]) == ("bad.py", line)
    assert words in error["message"]
    assert CliRunner().invoke(app, ["fix", ".", "--no-cache", "--write"]).exit_code == 3
    assert Path("bad.py").read_bytes() == data


def test_a_dangling_link_is_said() -> None:
    Path("link.py").symlink_to("nowhere.py")
    result = CliRunner().invoke(app, ["analyze", ".", "--no-cache"])
    assert result.exit_code == 3
    assert "link.py: error: a symbolic link to nowhere.py, which does not exist" in result.stdout
    assert "fine" in result.stdout


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_said() -> None:
    Path("locked").mkdir(mode=0)
    result = CliRunner().invoke(app, ["analyze", ".", "--no-cache"])
    Path("locked").chmod(0o700)
    assert result.exit_code == 3
    assert "permission to read it is denied" in result.stdout


def test_an_empty_folder_is_no_error() -> None:
    Path("empty").mkdir()
    result = CliRunner().invoke(app, ["analyze", "empty", "--no-cache"])
    assert result.exit_code == 0
    assert "0 functions in 0 files" in result.stdout


@pytest.mark.slow
def test_a_file_of_twenty_thousand_lines() -> None:
    Path("long.py").write_text("".join(f"def f{number}(x):\n    return x + {number}\n" for number in range(10_000)))
    result = CliRunner().invoke(app, ["analyze", "long.py", "--no-cache", "--format", "json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["summary"]["functions"] == 10_000
