"""Files of a repository cannot make the tool read or write outside the given paths."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.security.conftest import MODEL, Installed

pytestmark = pytest.mark.slow
SECRET = "TOPSECRET"
ENTRY = f"{SECRET}_user:hunter2:{SECRET}\n"
NOTEBOOK = json.dumps(
    {
        "cells": [
            {
                "cell_type": "code",
                "metadata": {},
                "outputs": [],
                "execution_count": None,
                "source": MODEL.format(number=9),
            }
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "package").mkdir(parents=True)
    (folder / "module.py").write_text(MODEL.format(number=7), encoding="utf-8")
    (folder / "package" / "inner.py").write_text(MODEL.format(number=8), encoding="utf-8")
    (folder / "book.ipynb").write_text(NOTEBOOK, encoding="utf-8")
    (folder / "passwords").write_text(ENTRY, encoding="utf-8")
    (folder / "settings.toml").write_text(f'{SECRET} = "{SECRET}"\n', encoding="utf-8")
    (folder / "level.toml").write_text(f'level = "{SECRET}"\n', encoding="utf-8")
    known = {"schema": SECRET, "totals": {"safe": SECRET}, "findings": []}
    (folder / "known.json").write_text(json.dumps(known), encoding="utf-8")
    return folder


def state(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


LINKS: dict[str, dict[str, str]] = {
    "file": {"link.py": "../outside/module.py"},
    "absolute": {"link.py": "{outside}/module.py"},
    "folder": {"linked": "../outside/package"},
    "parent": {"up": ".."},
    "root": {"up": "/"},
    "chain": {"a": "b", "b": "c", "c": "../outside"},
    "chain of files": {"x.py": "y.py", "y.py": "../outside/module.py"},
    "through": {"here": ".", "z.py": "here/../outside/module.py"},
    "notebook": {"book.ipynb": "../outside/book.ipynb"},
    "secret": {"passwords.py": "../outside/passwords", "passwords.ipynb": "../outside/passwords"},
    "stub": {"stub.pyi": "../outside/passwords"},
    "marker": {"sub/pyproject.toml": "../../outside/settings.toml", "sub/setup.cfg": "../../outside/passwords"},
    "ignore": {".gitignore": "../outside/passwords"},
    "device": {"zero.py": "/dev/zero", "tty.py": "/dev/tty", "random": "/dev"},
}
COMMANDS = (
    ["fix", "--write", "--level", "coexec", "--min-ops", "0", "."],
    ["fix", "--diff", "."],
    ["lint", "--format", "sarif", "."],
    ["lint", "--add-ignores", "."],
    ["analyze", "--verbose", "."],
    ["analyze", "--format", "html", "."],
)


@pytest.mark.parametrize("links", LINKS)
def test_links_that_lead_out_are_not_followed(
    links: str, copied: Installed, repository: Callable[..., Path], outside: Path
) -> None:
    folder = repository(1)
    for name, target in LINKS[links].items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(target.format(outside=outside))
    before = state(outside)
    for command in COMMANDS:
        # one case as a user starts the tool
        finished = copied.run([*command, "--no-cache"], folder, start=copied.started if links == "file" else None)
        assert finished.returncode in (0, 1, 3), finished.stderr
        assert SECRET not in finished.stdout + finished.stderr
        for name in ("step7", "step8", "step9"):
            assert name not in finished.stdout, "what lies outside was read"
        assert state(outside) == before
    assert "@tf.function" in (folder / "model0.py").read_text(encoding="utf-8"), "what lies inside was changed"
    if links not in ("ignore",):
        assert "a symbolic link out of the given paths" in copied.run(["lint", "."], folder).stderr


def test_links_are_followed_for_reading_if_the_user_asks(
    copied: Installed, repository: Callable[..., Path], outside: Path
) -> None:
    folder = repository(1)
    (folder / "linked").symlink_to("../outside")
    before = state(outside)
    assert "step8" in copied.run(["analyze", "--verbose", "--follow-links", "."], folder).stdout
    written = copied.run(["fix", "--write", "--follow-links", "."], folder)
    assert written.returncode == 3
    assert "lies outside of the given paths" in written.stdout + written.stderr
    assert state(outside) == before
    (folder / "terra-refactor.toml").write_text("follow-links = true\n")
    assert copied.run(["analyze", "."], folder).returncode == 2, "a repository cannot ask for it"


def test_a_path_that_is_a_link_is_the_users_own_will(
    copied: Installed, repository: Callable[..., Path], outside: Path
) -> None:
    folder = repository(1)
    (folder / "linked").symlink_to("../outside")
    assert copied.run(["fix", "--write", "linked"], folder).returncode == 0
    assert "@tf.function" in (outside / "module.py").read_text(encoding="utf-8")
    assert (folder / "linked").is_symlink()


CONFIGURATIONS: dict[str, str] = {
    "extend": 'extend = "../outside/settings.toml"\n',
    "extend absolute": 'extend = "{outside}/settings.toml"\n',
    "extend level": 'extend = "../outside/level.toml"\n',
    "extend link": 'extend = "base.toml"\n',
    "extend twice": 'extend = "second.toml"\n',
    "extend no toml": 'extend = "../outside/passwords"\n',
    "baseline": 'baseline = "../outside/known.json"\n',
    "evidence": 'evidence = ["../outside/known.json"]\n',
    "baseline link": 'baseline = "known.json"\n',
}


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("name", ["terra-refactor.toml", "pyproject.toml"])
def test_a_configuration_leads_to_no_file_outside(
    name: str, configuration: str, copied: Installed, repository: Callable[..., Path], outside: Path
) -> None:
    folder = repository(1)
    (folder / ".git").mkdir()
    (folder / "base.toml").symlink_to("../outside/settings.toml")
    (folder / "second.toml").write_text('extend = "../outside/settings.toml"\n', encoding="utf-8")
    (folder / "known.json").symlink_to("../outside/known.json")
    head = "[tool.terra-refactor]\n" if name == "pyproject.toml" else ""
    (folder / name).write_text(head + CONFIGURATIONS[configuration].format(outside=outside), encoding="utf-8")
    before = state(outside)
    for command in (
        ["lint", "."],
        ["lint", "--write-baseline", "."],
        ["analyze", "."],
        ["lint", "--show-settings", "."],
    ):
        finished = copied.run(command, folder)
        assert finished.returncode == 2
        assert "leads out of" in finished.stderr
        assert SECRET not in finished.stdout + finished.stderr
    assert state(outside) == before


def test_a_configuration_that_is_a_link_is_not_read(
    copied: Installed, repository: Callable[..., Path], outside: Path
) -> None:
    folder = repository(1)
    (folder / "terra-refactor.toml").symlink_to("../outside/level.toml")
    finished = copied.run(["lint", "."], folder)
    assert finished.returncode == 2
    assert "leads out of" in finished.stderr
    assert SECRET not in finished.stderr


@pytest.mark.parametrize(
    "option", [["--write-baseline"], ["--output", "report.html"], ["--output", "html:report.html"]]
)
def test_reports_are_not_written_through_links(
    option: list[str], copied: Installed, repository: Callable[..., Path], outside: Path
) -> None:
    """The user chose the name; that it is a link already was the repository's choice."""
    folder = repository(1)
    for name in ("report.html", "terra-refactor-baseline.json"):
        (folder / name).symlink_to(outside / f"made_{name}")
    before = state(outside)
    finished = copied.run(["lint", *option, "."], folder)
    assert finished.returncode == 2, finished.stdout
    assert "leads out of" in finished.stderr
    assert state(outside) == before


def test_a_batch_stays_in_its_repositories(
    copied: Installed, repository: Callable[..., Path], outside: Path, tmp_path: Path
) -> None:
    folder = repository(1)
    (folder / "source").symlink_to("../outside")
    (folder / "link.py").symlink_to("../outside/module.py")
    (folder / "passwords.py").symlink_to("../outside/passwords")
    table = f'[[repository]]\nname = "{{}}"\npath = "{folder}"\npaths = ["{{}}"]\n'
    (tmp_path / "manifest.toml").write_text(table.format("a", ".") + table.format("b", "source"), encoding="utf-8")
    finished = copied.run(["batch", "manifest.toml", "--output", "result.jsonl"], tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "result.jsonl").read_text(encoding="utf-8").splitlines()]
    results = {line["name"]: line for line in lines if "name" in line}
    assert results["a"]["summary"]["functions"] == 1, finished.stderr
    assert results["b"]["status"] == "failed"
    assert "leads out of the repository" in results["b"]["error"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_are_not_waited_for(copied: Installed, repository: Callable[..., Path]) -> None:
    folder = repository(1)
    for name in ("pipe.py", "book.ipynb", "stub.pyi", ".gitignore", "setup.cfg", "setup.py"):
        os.mkfifo(folder / name)
    assert stat.S_ISFIFO((folder / "pipe.py").stat().st_mode)
    try:
        assert copied.run(["lint", "."], folder).returncode == 1, "it has a finding"
    except subprocess.TimeoutExpired:
        pytest.fail("it waits for somebody to write")
