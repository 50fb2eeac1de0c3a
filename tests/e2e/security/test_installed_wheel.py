"""The built wheel, installed with its own scripts, in a repository that shadows everything: modules, packages, compiled files, links,
configurations, notebooks and manifests at once, with worker processes, and with PYTHONPATH set to the repository."""

from __future__ import annotations

import asyncio
import json
import py_compile
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from shared_files import made_once

from tests.e2e.security.conftest import MODEL, ROOT, Installed, install_needed, needed_folders
from tests.e2e.security.test_foreign_modules import COMMANDS, DEPENDENCIES, converse, executed

MODELS = 26
"""So many files that two worker processes are worth starting."""
NOTEBOOK = {
    "cells": [{"cell_type": "code", "metadata": {}, "source": ["%run evil.py\n", "!touch {marker}\n", "import evil"]}],
    "metadata": {
        "kernelspec": {"name": "evil", "display_name": "evil", "language": "python", "argv": ["touch", "{marker}"]},
        "language_info": {"name": "python", "version": "3", "codemirror_mode": "evil", "file_extension": "/../../x"},
        "jupytext": {"formats": "ipynb,../outside//py", "text_representation": {"extension": ".py"}},
        "terra-refactor": {"cache-dir": ".cache", "interpreter": ["touch", "{marker}"]},
        "vscode": {"interpreter": {"path": "./program"}},
    },
    "nbformat": 4,
    "nbformat_minor": 5,
}
SETTINGS = {
    **{f"terra-refactor.{key}": ["./program"] for key in ("interpreter", "path", "args")},
    **{f"python.{key}": "./program" for key in ("defaultInterpreterPath", "pythonPath", "condaPath")},
    "terra-refactor.configuration": "../outside/settings.toml",
    "python.envFile": "${workspaceFolder}/.env",
}
"""Editor settings in the repository: only the extension reads them, and asks the editor whether it may use them."""
CONFIGURATION = 'cache-dir = ".cache"\njobs = 2\n'


@dataclass(frozen=True, slots=True)
class Hostile:
    """A repository, what lies beside it, and the file that is there once anything of it was run."""

    folder: Path
    outside: Path
    marker: Path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree: that of test_release.py, if it has built one in this run."""

    def make() -> Path:
        folder = tmp_path_factory.mktemp("wheel")
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "Could not find a version" in done.stderr or "ConnectionError" in done.stderr:
            pytest.skip(f"pip has no index here: {done.stderr.splitlines()[-1]}")
        assert done.returncode == 0, done.stderr
        (found,) = folder.glob("*.whl")
        return found

    return made_once("wheel", make, tmp_path_factory)


@pytest.fixture(scope="module")
def tool(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in an environment of its own, with the scripts that pip makes; the dependencies come from that of the tests."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    install_needed(python)
    return Installed(python, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def hostile(tool: Installed, tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    top = tmp_path_factory.mktemp("hostile")
    made = Hostile(top / "repository", top / "outside", top / "executed")
    made.folder.mkdir()
    made.outside.mkdir()
    code = f"with open({str(made.marker)!r}, 'a') as stream:\n    stream.write(__name__ + '\\n')\n"
    names = {
        *sys.stdlib_module_names,
        *DEPENDENCIES.split(),
        "tensorflow",
        "keras",
        "numpy",
        "evil",
        "conftest",
        "setup",
    }
    names |= {"sitecustomize", "usercustomize"}
    for number, name in enumerate(sorted(names - set(sys.builtin_module_names))):
        _write_module(made.folder, name, code, number % 3)
    for number in range(MODELS):
        (made.folder / f"model{number}.py").write_text(MODEL.format(number=number), encoding="utf-8")
    (made.folder / "own.pth").write_text(f"import pathlib; pathlib.Path({str(made.marker)!r}).touch()\n", "utf-8")
    notebook = json.dumps(NOTEBOOK).replace("{marker}", str(made.marker))
    (made.folder / "book.ipynb").write_text(notebook, encoding="utf-8")
    (made.folder / ".vscode").mkdir()
    (made.folder / ".vscode" / "settings.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    (made.folder / ".env").write_text(f"PYTHONPATH={made.folder}\nPYTHONSTARTUP={made.folder}/evil.py\n", "utf-8")
    program = made.folder / "program"
    program.write_text(f"#!/bin/sh\necho program >> '{made.marker}'\n", encoding="utf-8")
    program.chmod(0o755)
    (made.folder / "terra-refactor.toml").write_text(CONFIGURATION, encoding="utf-8")
    for number in range(1, 40):  # a chain that ends outside
        following = "../outside/settings.toml" if number == 39 else f"chain{number + 1}.toml"
        (made.folder / f"chain{number}.toml").write_text(f'extend = "{following}"\n', encoding="utf-8")
    (made.folder / ".cache" / "results").mkdir(parents=True)
    (made.folder / ".cache" / "results" / "entry").write_bytes(_pickle(made.marker))
    (made.outside / "module.py").write_text(MODEL.format(number=99), encoding="utf-8")
    (made.outside / "settings.toml").write_text("secret = 'settings-of-others'\n", encoding="utf-8")
    (made.outside / "known.json").write_text("{}", encoding="utf-8")
    (made.folder / "linked.py").symlink_to(made.outside / "module.py")
    (made.folder / "linked").symlink_to(made.outside)
    (top / "manifest.txt").write_text(f"{made.folder}\n", encoding="utf-8")
    return made


def _write_module(folder: Path, name: str, code: str, form: int) -> None:
    """A module, a package, or a package of which the compiled file alone is poisoned."""
    if form == 0:
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
        return
    package = folder / name
    package.mkdir()
    source = package / "__init__.py"
    source.write_text(code, encoding="utf-8")
    if form == 2:
        py_compile.compile(str(source), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        source.write_text("", encoding="utf-8")


def _pickle(marker: Path) -> bytes:
    """A pickle that runs code."""
    return (
        b"cbuiltins\nexec\n(S'open("
        + repr(str(marker)).encode().replace(b"'", b"\\'")
        + b',"a").write("pickle")\'\ntR.'
    )


@pytest.fixture(autouse=True)
def _nothing_was_run(hostile: Hostile) -> None:
    hostile.marker.unlink(missing_ok=True)


def untouched(hostile: Hostile) -> dict[str, tuple[bytes, int]]:
    """The files outside the repository, with their modes."""
    return {path.name: (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in hostile.outside.iterdir()}


@pytest.mark.slow
def test_the_attack_is_one(tool: Installed, hostile: Hostile) -> None:
    """Python as it starts by itself does run what lies in the folder: so a pass below is the tool's doing."""
    start = [str(tool.python), "-c"]
    tool.run(["import typer"], hostile.folder, start=start)
    tool.run(["import pickle; pickle.load(open('.cache/results/entry', 'rb'))"], hostile.folder.parent, start=start)
    assert executed(hostile.marker)
    hostile.marker.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_is_hurt(command: str, tool: Installed, hostile: Hostile) -> None:
    before = untouched(hostile)
    finished = tool.run(COMMANDS[command], hostile.folder)
    assert executed(hostile.marker) == []
    assert untouched(hostile) == before
    assert "settings-of-others" not in finished.stdout + finished.stderr
    assert "Traceback" not in finished.stderr
    if command != "lint diff base":  # there is no repository of git
        assert finished.returncode in (0, 1, 3), finished.stderr


@pytest.mark.slow
@pytest.mark.parametrize("keys", ['extend = "chain1.toml"\n', 'baseline = "../outside/known.json"\n'])
def test_no_configuration_leads_out(keys: str, tool: Installed, hostile: Hostile) -> None:
    configuration = hostile.folder / "terra-refactor.toml"
    configuration.write_text(keys, encoding="utf-8")
    try:
        finished = tool.run(["lint", "."], hostile.folder)
    finally:
        configuration.write_text(CONFIGURATION, encoding="utf-8")
    assert finished.returncode == 2
    assert "settings-of-others" not in finished.stdout + finished.stderr
    assert executed(hostile.marker) == []


@pytest.mark.slow
def test_a_path_variable_with_the_whole_repository_reaches_no_process(tool: Installed, hostile: Hostile) -> None:
    """Python itself looks there while it starts, and the script that pip makes does: what they load is taken away; all else lies there."""
    asked = "import re, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.check_output([str(tool.python), "-c", asked], text=True).split()
    hidden = hostile.folder.parent / "hidden"
    hidden.mkdir()
    moved = [
        path
        for name in {*loaded, "sitecustomize", "usercustomize", "terra_refactor", "lsp_server"}
        for path in (hostile.folder / name, hostile.folder / f"{name}.py")
        if path.exists()
    ]
    for path in moved:
        path.rename(hidden / path.name)
    try:
        for command in ("analyze", "fix", "batch"):
            finished = tool.run(COMMANDS[command], hostile.folder, variables={"PYTHONPATH": str(hostile.folder)})
            assert executed(hostile.marker) == []
            assert finished.returncode in (0, 1, 3), finished.stderr
    finally:
        for path in moved:
            (hidden / path.name).rename(path)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["analyze", "fix", "batch"])
def test_variables_of_python_reach_no_process(command: str, tool: Installed, hostile: Hostile) -> None:
    """Variables that a shell or an editor may read from a repository's `.env`: Python reads none of these from the module path."""
    variables = {
        "PYTHONSTARTUP": str(hostile.folder / "evil.py"),
        "PYTHONWARNINGS": "error::evil.Warned",
        "PYTHONBREAKPOINT": "evil.stop",
        "PYTHONUSERBASE": str(hostile.folder),
        "PYTHONEXECUTABLE": str(hostile.folder / "program"),
        "PYTHONCASEOK": "1",
        "PYTHONSAFEPATH": "",
        "TERRA_REFACTOR_CACHE_DIR": "",
    }
    finished = tool.run(COMMANDS[command], hostile.folder, variables=variables)
    assert executed(hostile.marker) == []
    assert finished.returncode in (0, 1, 3), finished.stderr


@pytest.mark.slow
def test_verify_says_that_it_runs_code_before_it_does(tool: Installed, hostile: Hostile) -> None:
    """The environment has no TensorFlow of its own, so that nothing of the repository is run."""
    empty = hostile.folder.parent / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(empty)], check=True)
    python = empty / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    finished = tool.run(["verify", "--jobs", "2", "--python", str(python), "."], hostile.folder)
    assert executed(hostile.marker) == []
    assert finished.returncode in (0, 2)  # 0 if there is nothing left to change
    assert "runs the code" in finished.stderr


def _script(tool: Installed, _: Path, __: Path) -> list[str]:
    return [tool.script("terra-refactor-lsp")]


def _interpreter(tool: Installed, _: Path, __: Path) -> list[str]:
    return [str(tool.python), "-I", str(ROOT / "vscode-extension" / "bundled" / "tool" / "launch.py")]


def _bundled(tool: Installed, wheel: Path, folder: Path) -> list[str]:
    """As the extension starts what it carries: the folder is laid out as in the `.vsix`."""
    (folder / "tool").mkdir()
    shutil.copy(ROOT / "vscode-extension" / "bundled" / "tool" / "launch.py", folder / "tool")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "libs")
    for needed in needed_folders():
        for entry in Path(needed).iterdir():
            if not (folder / "libs" / entry.name).exists():
                (folder / "libs" / entry.name).symlink_to(entry)
    return [str(tool.python), "-I", "-S", str(folder / "tool" / "launch.py"), "--bundled"]


@pytest.mark.slow
@pytest.mark.parametrize("start", [_script, _interpreter, _bundled])
def test_the_server_is_not_hurt(
    start: Callable[[Installed, Path, Path], list[str]], tool: Installed, wheel: Path, hostile: Hostile, tmp_path: Path
) -> None:
    command = start(tool, wheel, tmp_path)
    environment = {**tool.environment, "PYTHONPATH": str(hostile.folder)} if "-I" in command else tool.environment
    asyncio.run(asyncio.wait_for(converse(command, hostile.folder, environment), 200))
    assert executed(hostile.marker) == []
