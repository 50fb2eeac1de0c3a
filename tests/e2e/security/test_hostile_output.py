"""Names, messages and texts of a repository are shown, and do nothing: in terminals, logs of runners, pages and hovers."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.e2e.security.conftest import Installed

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such file names")]
NAMES = (
    "\x1b]0;title\x07\x1b[2Jclear.py",
    "::stop-commands::token.py",
    "a\n::error::forged.py",
    "##[add-path]x.py",
    "<img src=x onerror=alert(1)>.py",
    "`](command:evil) ![x](https:x).py",
    "a|b%0A::warning::x.py",
    "\u202egnp.py",
)
TEXT = """\
import tensorflow as tf

class A:
    pass

a = A()

@tf.function
def f(x: tf.Tensor):
    a.value = "\\x1b[2J</script><script>alert(1)</script>"
    print("::error::\\n", x, "![x](https://x)")
    y = tf.einsum("</script>\\x1b[31m,::error::\\n->![x](https://x)", x, x)
    return tf.reshape(tf.ones([2, 3]), [5]) + tf.cast(y, "\\x1b[31m<b>`](command:x)")
"""
FORMATS = ("text", "json", "jsonl", "sarif", "html", "github", "markdown", "gitlab", "junit", "rdjson")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    for name in NAMES:
        (folder / name.replace("/", "_")).write_text(TEXT, encoding="utf-8")
    (folder / ("broken" + NAMES[0])).write_text("def f(:\n", encoding="utf-8")
    (folder / ("broken" + NAMES[1])).write_bytes(b"\xff\n")
    return folder


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))


@pytest.mark.parametrize("format_name", FORMATS)
def test_no_report_has_a_control_character_or_a_command_in_it(
    format_name: str, hostile: Path, copied: Installed
) -> None:
    finished = copied.run(
        ["lint", "--format", format_name, "--verbose", "."], hostile, variables={"GITHUB_ACTIONS": "true"}
    )
    assert finished.returncode == 3, finished.stderr
    for text in (finished.stdout, finished.stderr):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
        if format_name in ("text", "github"):
            assert "\u202e" not in text
            commands = [line for line in map(str.strip, text.splitlines()) if line.startswith("::")]
            assert all(re.match("::(error|warning|notice) (file=|title=terra-refactor)", line) for line in commands)
            # a line that is a command of the new form is not looked through for the old one
            assert not [line for line in text.splitlines() if "##[" in line and line not in commands]
    if format_name in ("json", "sarif", "gitlab", "rdjson"):
        json.loads(finished.stdout)
    if format_name == "markdown":
        assert "![x](" not in re.sub(r"(`+)(?!`).*?[^`]\1(?!`)", "", finished.stdout)
    if format_name == "html":
        elements = Elements()
        elements.feed(finished.stdout)
        assert [tag for tag, _ in elements.found].count("script") == 2
        assert not [attributes for tag, attributes in elements.found if tag == "img"]
        assert "script-src 'sha256-" in finished.stdout


def test_a_terminal_is_sent_nothing_of_the_repository(hostile: Path, copied: Installed) -> None:
    """With colours, Rich's own sequences are those that select a style, and no others."""
    import pty  # noqa: PLC0415 - not on every system

    for command in (["lint", "."], ["analyze", "--verbose", "."], ["fix", "--diff", "."]):
        pid, descriptor = pty.fork()
        if not pid:
            os.chdir(hostile)
            os.execve(
                copied.script("terra-refactor"),
                ["terra-refactor", *command],
                {**copied.environment, "TERM": "xterm-256color"},
            )
        shown = b""
        try:
            while part := os.read(descriptor, 65536):
                shown += part
        except OSError:
            pass  # Linux ends a terminal so
        os.waitpid(pid, 0)
        os.close(descriptor)
        text = shown.decode("utf-8", "replace")
        assert "clear.py" in text
        left = re.sub(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[0-9]*[AK]|\r", "", text)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", left), command


BOMBS = {
    "deep.ipynb": '{"nbformat": 4, "metadata": {}, "cells": ' + "[" * 200_000 + "]" * 200_000 + "}",
    "deep_member.ipynb": '{"nbformat": 4, "cells": [], "metadata": ' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}",
    "digits.ipynb": '{"cells": [], "metadata": {}, "nbformat": 4, "x": ' + "9" * 10_000 + "}",
    "nbformat.ipynb": '{"cells": [], "metadata": {}, "nbformat": ' + "9" * 10_000 + "}",
    "surrogates.ipynb": '{"cells": [{"cell_type": "code", "source": "x = \'\\ud800\'"}], "metadata": {}, "nbformat": 4}',
    "digits.py": "import tensorflow as tf\nx = " + "9" * 10_000 + "\n",
    "escapes.py": "import tensorflow as tf\nx = '" + "\\N{SNOWMAN}" * 1000 + "'\n",
    "power.py": "import tensorflow as tf\nx = 9 ** 9 ** 9 ** 9\ny = 'a' * 10 ** 12\nz = [0] * 10 ** 12\nw = 1 << 10 ** 12\n",
    "codec.py": "# coding: zip\nimport tensorflow as tf\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_is_made_to_break_costs_itself_only(
    name: str, copied: Installed, repository: Callable[..., Path]
) -> None:
    folder = repository(1)
    (folder / name).write_text(BOMBS[name], encoding="utf-8", errors="surrogatepass")
    finished = copied.run(["analyze", "--jobs", "1", "."], folder)
    assert finished.returncode in (0, 3), finished.stderr[-2000:]
    assert "step0" in finished.stdout
    assert "Traceback" not in finished.stderr


CONFIGURATIONS = {
    "deep": "x = " + "[" * 100_000 + "]" * 100_000,
    "digits": "jobs = " + "9" * 10_000,
    "dotted": ".".join("a" * 20_000) + " = 1",
    "glob": 'exclude = ["' + "*a" * 30 + 'b"]',
    "files": '[per-file-ignores]\n"' + "*a" * 30 + 'b" = ["TR1"]',
    "not a glob": '[per-file-ignores]\n"!" = ["TR1"]',
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_that_is_made_to_break_is_a_wrong_configuration(
    name: str, copied: Installed, repository: Callable[..., Path]
) -> None:
    folder = repository(1)
    (folder / ("a" * 120 + ".py")).write_text(TEXT, encoding="utf-8")
    (folder / "terra-refactor.toml").write_text(CONFIGURATIONS[name] + "\n", encoding="utf-8")
    finished = copied.run(["lint", "."], folder)
    assert finished.returncode == 2, finished.stderr[-2000:]
    assert "Traceback" not in finished.stderr


def test_ignored_patterns_are_not_slow(copied: Installed, repository: Callable[..., Path]) -> None:
    folder = repository(1)
    (folder / ("a" * 120 + ".py")).write_text(TEXT, encoding="utf-8")
    (folder / ".gitignore").write_text("*a" * 30 + "b\n" + "*a" * 4 + "b\n" + "**/" * 200 + "x\n", encoding="utf-8")
    assert copied.run(["lint", "."], folder).returncode == 1


@pytest.mark.skipif(os.name != "posix", reason="a file has holes only where the system knows them")
@pytest.mark.parametrize(
    ("name", "code"),
    [("big.py", 3), ("pyproject.toml", 2), ("terra-refactor.toml", 2), (".gitignore", 1), ("baseline.json", 2)],
)
def test_a_file_of_gigabytes_is_not_read_whole(
    name: str, code: int, copied: Installed, repository: Callable[..., Path]
) -> None:
    folder = repository(1)
    (folder / "clear.py").write_text(TEXT, encoding="utf-8")
    if name == "baseline.json":
        (folder / "terra-refactor.toml").write_text('baseline = "baseline.json"\n', encoding="utf-8")
    with (folder / name).open("wb") as stream:
        stream.truncate(6 << 30)  # a hole: an archive holds it in a few bytes
    finished = copied.run(["lint", "--no-cache", "--jobs", "1", "."], folder)
    assert finished.returncode == code, finished.stderr[-2000:]
    assert "Traceback" not in finished.stderr
