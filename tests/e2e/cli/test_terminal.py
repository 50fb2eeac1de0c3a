"""Output of the commands on a terminal: progress, colours and width."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
import warm_programs
from rich.console import Console

from terra_refactor.cli import output

ROOT = Path(__file__).resolve().parents[3]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Screen(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(name="screen")
def _screen(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    """What standard error, a terminal, has received; a run is long after a tenth of a second."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Screen()
    monkeypatch.setattr(output, "_PATIENCE", 0.1)
    monkeypatch.setattr(output, "err", lambda: Console(file=stream, force_terminal=True, width=80))
    return stream


def test_a_long_run_shows_what_is_done_though_nothing_is_told(screen: StringIO) -> None:
    with output.progress_callback(quiet=False):
        time.sleep(0.5)
    assert "reading" in screen.getvalue()


def test_a_long_last_step_is_shown(screen: StringIO) -> None:
    with output.progress_callback(quiet=False) as tell:
        assert tell is not None
        tell("running", 0, 1)
        time.sleep(0.5)
    assert "running" in screen.getvalue()


def test_a_short_run_shows_no_progress(screen: StringIO) -> None:
    with output.progress_callback(quiet=False) as tell:
        assert tell is not None
        tell("reading", 1, 1)
    time.sleep(0.3)
    assert screen.getvalue() == ""


def test_quiet_shows_no_progress(screen: StringIO) -> None:
    with output.progress_callback(quiet=True) as tell:
        assert tell is None
    assert screen.getvalue() == ""


@pytest.mark.parametrize(("is_terminal", "term"), [(False, "xterm"), (True, "dumb")])
def test_a_log_and_a_dumb_terminal_get_no_bar(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool, term: str) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", term)
    stream = Screen() if is_terminal else StringIO()
    monkeypatch.setattr(output.sys, "stderr", stream)
    with output.progress_callback(quiet=False) as tell:
        assert tell is None
    assert stream.getvalue() == ""


def on_terminal(folder: Path, *, copied: bool = True, **variables: str) -> str:
    """The output of `analyze` on a terminal of the width that `COLUMNS` says."""
    host, terminal = pty.openpty()
    arguments = ["analyze", "--all", "--no-cache", "--quiet"]
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CI", "GITHUB_ACTIONS")}
    process = subprocess.Popen(
        warm_programs.tool(*arguments) if copied else [sys.executable, "-m", "terra_refactor", *arguments],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **variables},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
    )
    os.close(terminal)
    parts = []
    try:
        while part := os.read(host, 65536):
            parts.append(part)
    except OSError:  # Linux ends a terminal so
        pass
    finally:
        os.close(host)
    assert process.wait(timeout=120) == 0
    return b"".join(parts).decode()


@pytest.mark.slow
@pytest.mark.parametrize("width", [50, 90, 140])
def test_lines_fit_the_terminal(tmp_path: Path, width: int) -> None:
    shutil.copytree(ROOT / "corpus" / "demo" / "project", tmp_path / "project")
    printed = on_terminal(tmp_path / "project", copied=width != 90, COLUMNS=str(width))
    assert COLOUR.search(printed)
    lines = COLOUR.sub("", printed).splitlines()
    assert max(map(len, lines)) <= width
    plain = on_terminal(tmp_path / "project", COLUMNS=str(width), NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", plain), "no colours with NO_COLOR"
