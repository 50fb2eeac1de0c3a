"""The released files: one version everywhere; wheel, sdist and `.vsix` hold what they must and no more.

Installed where nothing else is, they work. The slow tests make environments and install into them through pip's
index, and build the extension with npm; where there is no index or no npm, they are skipped. `make test-all` and
`make release-check`, which runs this file, install npm's packages again and search the extension for secrets;
otherwise npm's packages are kept in build/.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_time import runs_everything
from shared_files import made_once

from terra_refactor import __version__

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "corpus" / "demo" / "project"
LARGEST_SDIST = 6 * 2**20
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
STEP = """\
import tensorflow as tf
from terra_refactor.runtime import co_execute, report

def plain(x):
    for _ in range(20):
        x = tf.tanh(x) + 0.5
    if float(tf.reduce_sum(x)) > 0.0:
        x = x * 2.0
    return x

step = co_execute(plain)
x = tf.constant([[0.1, -0.2], [0.3, 0.4]])
for _ in range(8):
    assert (step(x).numpy() == plain(x).numpy()).all()
assert "plain" in str(report())
print("shim works")
"""


def test_the_version_is_one_everywhere() -> None:
    package = json.loads((ROOT / "vscode-extension" / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / "vscode-extension" / "package-lock.json").read_text(encoding="utf-8"))
    newest = re.search(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert {package["version"], lock["version"], lock["packages"][""]["version"], newest[1]} == {__version__}


# --- what is built -----------------------------------------------------------------------------------------------------------------------


def environment(folder: Path, *installed: str, with_pip: bool = True) -> Path:
    """The Python of a new environment that contains only what is installed here; without pip it takes 3 seconds less."""
    subprocess.run([sys.executable, "-m", "venv", *([] if with_pip else ["--without-pip"]), str(folder)], check=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    return install(python, *installed) if installed else python


def install(python: Path, *wanted: str) -> Path:
    """Install into the environment of a Python, which is returned."""
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check"]
    command = [*pip, "install", "--no-compile", *wanted]  # few of the modules are ever imported
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "Could not find a version" in done.stderr or "ConnectionError" in done.stderr:
        pytest.skip(f"pip has no index here: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return python


def run(python: Path, *command: str, folder: Path = DEMO, code: int = 0) -> str:
    """Run a command of an environment, out of reach of this repository's sources; its output, both streams."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    program = [str(python.parent / command[0]), *command[1:]]
    done = subprocess.run(
        program, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == code, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist, the wheel that is made from the tree, the one that is made from the sdist, and the Python that made them.

    The sdist lies unpacked beside them, in the folder that is named like it.
    """
    work = tmp_path_factory.mktemp("release")
    python = environment(work / "builder", "hatchling>=1.24")
    from_tree, again = work / "from_tree", work / "from_sdist"
    run(python, "hatchling", "build", "-d", str(from_tree), folder=ROOT)
    (sdist,), (wheel,) = from_tree.glob("*.tar.gz"), from_tree.glob("*.whl")
    with tarfile.open(sdist) as archive:
        archive.extractall(work, filter="data")
    made_once("wheel", lambda: wheel, tmp_path_factory)
    run(python, "hatchling", "build", "-t", "wheel", "-d", str(again), folder=work / sdist.name.removesuffix(".tar.gz"))
    return {"sdist": sdist, "wheel": wheel, "again": next(again.glob("*.whl")), "builder": python}


def contents(wheel: Path) -> dict[str, str]:
    """The digest of each file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in sorted(archive.namelist())}


@pytest.mark.slow
def test_the_wheel_holds_the_packages_and_their_data(built: dict[str, Path]) -> None:
    found = {name for name in contents(built["wheel"]) if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in found} == {"terra_refactor", "lsp_server"}
    in_tree = {
        path.relative_to(ROOT).as_posix()
        for package in ("terra_refactor", "lsp_server")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert found == in_tree


@pytest.mark.slow
def test_the_sdist_holds_what_the_wheel_is_made_from_and_nothing_big(built: dict[str, Path]) -> None:
    assert contents(built["wheel"]) == contents(built["again"])
    with tarfile.open(built["sdist"]) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "tests/conftest.py", "corpus/packages.toml"} <= {
        *names
    }
    made = [
        line.strip("/") for line in (ROOT / "vscode-extension/.gitignore").read_text().splitlines() if "*" not in line
    ]
    unwanted = (
        "corpus/packages/",
        ".git/",
        ".venv",
        "build/",
        "dist/",
        *(f"vscode-extension/{name}/" for name in made),
    )
    assert [
        name for name in names if name.startswith(unwanted) or "__pycache__" in name or name.endswith(".vsix")
    ] == []
    assert built["sdist"].stat().st_size < LARGEST_SDIST


# --- what is installed -------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def empty(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and what it needs."""
    return environment(tmp_path_factory.mktemp("empty") / "venv", str(built["wheel"]), with_pip=False)


def report(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output)
    found["summary"].pop("seconds")
    return found


@pytest.mark.slow
def test_it_analyses_where_nothing_else_is_installed(empty: Path) -> None:
    assert "No module named 'tensorflow'" in run(empty, "python", "-c", "import tensorflow", code=1)
    assert __version__ in run(empty, "terra-refactor", "--version")
    command = ("analyze", "--no-cache", "--quiet", "--format", "json", ".")
    installed = report(run(empty, "terra-refactor", *command))
    assert installed["summary"]["functions"] > 20
    assert installed["summary"]["actions"]["add_tf_function"] >= 1
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    here = subprocess.run(
        [sys.executable, "-m", "terra_refactor", *command],
        cwd=DEMO,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert installed == report(here.stdout), "the installed tool says what that of the sources says"


@pytest.mark.slow
def test_the_other_commands_work_there(empty: Path) -> None:
    assert re.search(
        r"^\+ *@tf\.function$",
        run(empty, "terra-refactor", "fix", "--no-cache", "--quiet", "--diff", "."),
        re.MULTILINE,
    )
    run(empty, "terra-refactor", "lint", "--no-cache", "--quiet", ".", code=1)
    assert "host-print-or-log" in run(empty, "terra-refactor", "explain", "TR101")
    assert "<!doctype html>" in run(empty, "terra-refactor", "analyze", "--quiet", "--format", "html", ".").lower()
    assert "pip install 'terra-refactor[lsp]'" in run(empty, "terra-refactor-lsp", code=2)
    said = run(empty, "terra-refactor", "verify", ".", code=2)
    assert "tensorflow" in said.lower(), "what is missing is named"


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_shim_works_with_tensorflow(empty: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    (tmp_path / "step.py").write_text(STEP)
    (tmp_path / "without.py").write_text(
        "from terra_refactor.runtime import co_execute\n\n@co_execute\ndef step(x):\n    return x\n\nstep(1)\n"
    )
    said = run(empty, "python", "without.py", folder=tmp_path, code=1)
    assert "terra-refactor[runtime]" in said, "without TensorFlow the extra is named"
    inside = run(empty, "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=tmp_path)
    link = Path(inside.strip()) / "tensorflow_of_the_tests.pth"
    link.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    try:
        assert "shim works" in run(empty, "python", "step.py", folder=tmp_path)
    finally:
        link.unlink()


# --- the extension -----------------------------------------------------------------------------------------------------------------------


def npm(folder: Path, *arguments: str, python: Path) -> None:
    """Run npm in a folder; the Python is the one that builds wheels."""
    program = shutil.which("npm")
    if program is None:
        pytest.skip("there is no npm here, and the extension is built with it")
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PYTHON": str(python)}
    done = subprocess.run(
        [program, *arguments],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if re.search(r"npm error code (ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN)\b", done.stdout):
        pytest.skip(f"npm has no registry here: {done.stdout.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stdout


def kept_node_modules(sources: Path, python: Path) -> Path:
    """What `npm ci` installs, kept in build/ for as long as the lock file and Node's version stay the same."""
    lock = (sources / "package-lock.json").read_bytes()
    node = subprocess.run(["node", "--version"], capture_output=True, check=False).stdout
    kept = ROOT / "build" / "npm" / hashlib.sha256(node + lock).hexdigest()[:16] / "node_modules"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(sources / name, scratch)
            npm(Path(scratch), *INSTALL, python=python)
            # in one step, so that an interrupted installation is not taken for a whole one
            (Path(scratch) / "node_modules").rename(kept)
    return kept


@pytest.fixture(scope="module")
def extension(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `.vsix`, made from what the sdist holds and from nothing else, and unpacked."""
    sdist = built["sdist"]
    sources = sdist.parent.parent / sdist.name.removesuffix(".tar.gz") / "vscode-extension"
    if runs_everything():
        npm(sources, *INSTALL, python=built["builder"])
        npm(sources, "run", "package", python=built["builder"])
    else:
        (sources / "node_modules").symlink_to(kept_node_modules(sources, built["builder"]), target_is_directory=True)
        for script in ("wheel", "libs", "build"):
            npm(sources, "run", script, python=built["builder"])
        # the search for secrets in 1,400 files of other packages takes ten seconds; `make extension-package` makes it
        npm(sources, "run", "vsix", "--", "--allow-package-all-secrets", python=built["builder"])
        npm(sources, "run", "contents", python=built["builder"])
    unpacked = tmp_path_factory.mktemp("vsix")
    with zipfile.ZipFile(sources / "terra-refactor.vsix") as archive:
        archive.extractall(unpacked)
    return unpacked


def the_wheel_in(extension: Path) -> Path:
    (wheel,) = (extension / "extension" / "bundled" / "wheels").iterdir()
    return wheel


@pytest.mark.slow
def test_the_extension_holds_the_bundle_and_neither_maps_nor_tests(extension: Path) -> None:
    names = [path.relative_to(extension).as_posix() for path in extension.rglob("*") if path.is_file()]
    assert {"extension/dist/extension.js", "extension/bundled/tool/launch.py", "extension/media/icon.png"} <= {*names}
    unwanted = re.compile(r"\.(map|ts|mjs)$|(^|/)(tests?|e2e|src|scripts|node_modules|out)/|package-lock|tsconfig")
    assert [name for name in names if unwanted.search(name)] == []
    bundle = (extension / "extension" / "dist" / "extension.js").read_text(encoding="utf-8")
    assert "sourceMappingURL" not in bundle
    assert "node:test" not in bundle


@pytest.mark.slow
def test_the_extension_has_the_version_of_what_it_carries(built: dict[str, Path], extension: Path) -> None:
    package = json.loads((extension / "extension" / "package.json").read_text(encoding="utf-8"))
    manifest = (extension / "extension.vsixmanifest").read_text(encoding="utf-8")
    identity = re.search(r"<Identity [^>]*\bVersion=\"([^\"]+)\"", manifest)
    assert identity is not None
    assert {package["version"], identity[1]} == {__version__}
    assert the_wheel_in(extension).name == built["wheel"].name
    assert contents(the_wheel_in(extension)) == contents(built["wheel"]), "the server that is released, and no other"


def messages(stream: bytes) -> Iterator[dict[str, Any]]:
    """The messages that a server wrote."""
    while stream:
        header, _, rest = stream.partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", header)
        assert length is not None, stream
        yield json.loads(rest[: int(length[1])])
        stream = rest[int(length[1]) :]


@pytest.mark.slow
def test_the_server_that_the_extension_carries_answers(empty: Path, extension: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(
        empty.parents[1], tmp_path / "venv", symlinks=True
    )  # has what the wheel needs without the extra
    python = install(
        folder / empty.parent.name / empty.name, "--force-reinstall", "--no-deps", str(the_wheel_in(extension))
    )
    install(python, f"{the_wheel_in(extension)}[lsp]")
    (tmp_path / "lsp_server.py").write_text("raise SystemExit('a file of the project was run')\n")
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in asked]
    done = subprocess.run(
        [str(python), str(extension / "extension" / "bundled" / "tool" / "launch.py")],
        input=b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies),
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    first = next(message for message in messages(done.stdout) if message.get("id") == 1)
    assert first["result"]["serverInfo"]["version"] == __version__
