"""Nothing that lies in an analysed repository is imported, by whichever process, however the tool is started there."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from running_time import runs_everything

from tests.e2e.security.conftest import ROOT, Installed

DEPENDENCIES = """
attr attrs cattrs click dask distributed libcst lsprotocol markdown_it mdurl msgspec networkx packaging pathspec platformdirs pyarrow pygls
pygments pytest rich shellingham terra_refactor lsp_server tomli typer typing_extensions yaml
"""
ANALYSED = {"tensorflow", "keras", "numpy"}
COMMANDS = {
    "analyze": ["analyze", "--jobs", "2", "."],
    "analyze html": ["analyze", "--jobs", "1", "--format", "html", "."],
    "lint": ["lint", "--jobs", "2", "."],
    "lint sarif": ["lint", "--jobs", "1", "--format", "sarif", "."],
    "lint baseline": ["lint", "--jobs", "1", "--write-baseline", "."],
    "lint diff base": ["lint", "--jobs", "1", "--diff-base", "HEAD", "."],
    "fix": ["fix", "--jobs", "2", "--write", "."],
    "batch": ["batch", "../manifest.txt", "--output", "../batch.jsonl"],
    "explain": ["explain", "TR101"],
    "rules": ["rules"],
    "cache info": ["cache", "info"],
    "cache clean": ["cache", "clean"],
    "settings": ["lint", "--show-settings", "."],
}
HERE = ("analyze", "lint diff base")
"""Commands that `make test` runs in this repository, which is one of git. test_installed_wheel.py runs all of them, and
the servers, in one that holds the same modules and more.
"""


@pytest.fixture
def hostile(repository: Callable[..., Path], tmp_path: Path) -> tuple[Path, Path]:
    """A repository whose modules have the names of what the tool imports; each writes its name to a file when it is imported.

    There are hundreds, so worker processes are worth starting.
    """
    folder, marker = repository(2), tmp_path / "executed"
    code = f"with open({str(marker)!r}, 'a') as stream:\n    stream.write(__name__ + '\\n')\n"
    names = {
        *sys.stdlib_module_names,
        *DEPENDENCIES.split(),
        "sitecustomize",
        "usercustomize",
        "conftest",
        "setup",
    } - ANALYSED
    for name in sorted(names):
        if name not in sys.builtin_module_names:
            (folder / f"{name}.py").write_text(code, encoding="utf-8")
    (folder / "own.pth").write_text(f"import pathlib; pathlib.Path({str(marker)!r}).touch()\n", encoding="utf-8")
    (folder / "setup.cfg").write_text("[metadata]\nname = attr:collections.name\n", encoding="utf-8")
    (tmp_path / "manifest.txt").write_text(f"{folder}\n", encoding="utf-8")
    return folder, marker


def commit(folder: Path) -> None:
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def executed(marker: Path) -> list[str]:
    return sorted(set(marker.read_text(encoding="utf-8").split())) if marker.exists() else []


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS if runs_everything() else HERE)
def test_no_command_imports_what_it_reads(command: str, installed: Installed, hostile: tuple[Path, Path]) -> None:
    folder, marker = hostile
    if command == "lint diff base":
        commit(folder)
    finished = installed.run(COMMANDS[command], folder)
    assert executed(marker) == []
    assert finished.returncode in (0, 1), finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.slow
@pytest.mark.parametrize("value", ["", ":.:..:"])
def test_a_path_variable_that_names_the_folder_does_not_reach_the_processes(
    value: str, installed: Installed, hostile: tuple[Path, Path], tmp_path: Path
) -> None:
    """Python itself looks there before our first line runs; so only modules that it does not load while it starts are laid out."""
    folder, marker = hostile
    loaded = subprocess.check_output(
        [str(installed.python), "-c", "import sys, re; print(*{name.partition('.')[0] for name in sys.modules})"],
        text=True,
    )
    for name in {*loaded.split(), "sitecustomize", "usercustomize", "terra_refactor", "lsp_server"}:
        (folder / f"{name}.py").unlink(missing_ok=True)
    finished = installed.run(COMMANDS["analyze"], folder, variables={"PYTHONPATH": value})
    assert executed(marker) == []
    assert finished.returncode == 0, finished.stderr


@pytest.mark.slow
@pytest.mark.parametrize("start", [["-I", "-m", "terra_refactor"], ["-P", "-m", "terra_refactor"]], ids=str)
def test_started_as_a_module_in_the_safe_way(
    start: list[str], installed: Installed, hostile: tuple[Path, Path]
) -> None:
    if "-P" in start and sys.version_info < (3, 11):
        pytest.skip("Python 3.10 has no -P")
    folder, marker = hostile
    finished = installed.run(COMMANDS["analyze"], folder, start=[str(installed.python), *start])
    assert executed(marker) == []
    assert finished.returncode == 0, finished.stderr


@pytest.mark.slow
def test_started_as_a_module_nothing_is_imported_after_our_first_line(
    installed: Installed, hostile: tuple[Path, Path]
) -> None:
    """`python -m` looks for the package itself in the current folder, and Python loads `runpy`: these are Python's."""
    folder, marker = hostile
    python = [str(installed.python), "-m", "terra_refactor"]
    of_python = "import sys, runpy; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.check_output([str(installed.python), "-c", of_python], text=True).split()
    for name in (*loaded, "pkgutil", "terra_refactor"):
        (folder / f"{name}.py").unlink(missing_ok=True)
    finished = installed.run(COMMANDS["analyze"], folder, start=python)
    assert executed(marker) == []
    assert finished.returncode == 0, finished.stderr


async def converse(command: list[str], folder: Path, environment: dict[str, str]) -> list[types.Diagnostic]:
    """Open a file in a server that runs in a folder, and have the whole workspace analysed."""
    client = LanguageClient("test", "1")

    @client.feature(types.WORKSPACE_CONFIGURATION)
    def configuration(params: types.ConfigurationParams) -> list[None]:
        return [None for _ in params.items]

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def published(params: types.PublishDiagnosticsParams) -> None:
        found.extend(params.diagnostics)

    @client.feature(types.WINDOW_SHOW_MESSAGE)
    def shown(params: types.ShowMessageParams) -> None:
        return None

    found: list[types.Diagnostic] = []
    program, *arguments = command
    await client.start_io(program, *arguments, cwd=str(folder), env=environment)
    await client.initialize_async(
        types.InitializeParams(
            capabilities=types.ClientCapabilities(),
            workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)],
            root_uri=folder.as_uri(),
        )
    )
    client.initialized(types.InitializedParams())
    file = folder / "model0.py"
    item = types.TextDocumentItem(file.as_uri(), "python", 1, file.read_text(encoding="utf-8"))
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    totals = await client.workspace_execute_command_async(
        types.ExecuteCommandParams("terra-refactor.analyzeWorkspace", [])
    )
    assert totals is not None
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return found


SERVERS: dict[str, Callable[[Installed], list[str]]] = {
    "script": lambda installed: [installed.script("terra-refactor-lsp")],
    "isolated module": lambda installed: [str(installed.python), "-I", "-m", "lsp_server"],
    "extension": lambda installed: [
        str(installed.python),
        "-I",
        str(ROOT / "vscode-extension" / "bundled" / "tool" / "launch.py"),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS if runs_everything() else ["isolated module"])
def test_the_language_server_imports_nothing_of_its_workspace(
    server: str, installed: Installed, hostile: tuple[Path, Path]
) -> None:
    folder, marker = hostile
    (folder / "terra-refactor.toml").write_text("jobs = 2\n", encoding="utf-8")
    asyncio.run(asyncio.wait_for(converse(SERVERS[server](installed), folder, installed.environment), 120))
    assert executed(marker) == []


@pytest.mark.slow
def test_verify_says_that_it_runs_code_and_its_own_processes_import_nothing(
    installed: Installed, hostile: tuple[Path, Path]
) -> None:
    """An interpreter without TensorFlow ends it before anything of the user's is run."""
    folder, marker = hostile
    empty = folder.parent / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(empty)], check=True)
    python = empty / ("Scripts" if os.name == "nt" else "bin") / "python"
    finished = installed.run(["verify", "--jobs", "2", "--python", str(python), "."], folder)
    assert executed(marker) == []
    assert finished.returncode == 2
    assert "runs the code" in finished.stderr
    assert "tensorflow" in finished.stderr.lower()
