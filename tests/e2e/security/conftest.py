"""The tool as installed by a user: in a separate environment, away from this repository's folder."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import warm_programs

ROOT = Path(__file__).parents[3]
PACKAGES = ("terra_refactor", "lsp_server")
"""The packages in a wheel; tests/e2e/test_release.py compares a built one with the tree."""
SCRIPTS = {"terra-refactor": "terra_refactor.__main__", "terra-refactor-lsp": "lsp_server.__main__"}
SCRIPT = """\
#!{python}
import sys
from {module} import main
if __name__ == "__main__":
    sys.exit(main())
"""
"""The script that pip creates for an entry point."""
MODEL = """\
import tensorflow as tf


def step{number}(x: tf.Tensor) -> tf.Tensor:
    for _ in range(20):
        x = tf.tanh(x) * 0.5 + tf.nn.relu(x)
    return tf.reduce_sum(x)


if __name__ == "__main__":
    for _ in range(1000):
        print(step{number}(tf.ones([4, 4])))
"""
"""A file that has a change at the default level."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The environment, and a user's empty folders."""

    python: Path
    home: Path
    copies: bool = False
    """Whether commands are forked from a process of the environment that has done its imports."""

    @property
    def environment(self) -> dict[str, str]:
        kept = ("PATH", "SYSTEMROOT", "LANG", "TMPDIR")
        return {**{name: os.environ[name] for name in kept if name in os.environ}, "HOME": str(self.home)}

    @property
    def started(self) -> list[str]:
        """The user's command that starts the tool."""
        return [self.script("terra-refactor")]

    def script(self, name: str) -> str:
        return str(self.python.parent / name)

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        *,
        variables: Mapping[str, str] | None = None,
        start: Sequence[str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command in a folder, by the console script or a fork, or as `start` says."""
        command = [*(start or self.started), *arguments]
        if self.copies and start is None:
            command = warm_programs.tool(*arguments, python=str(self.python))
        return subprocess.run(
            command,
            cwd=folder,
            env={**self.environment, **(variables or {})},
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
            timeout=300,
        )


def packages_of(python: Path) -> Path:
    """The folder of an environment's packages."""
    asked = "import json, sysconfig; print(json.dumps(sysconfig.get_path('purelib')))"
    return Path(json.loads(subprocess.check_output([str(python), "-I", "-c", asked], text=True)))


def needed_folders() -> list[str]:
    """The folders of the packages with which the tests run."""
    others = [entry for entry in sys.path if "site-packages" in entry and Path(entry).is_dir()]
    return list(dict.fromkeys([sysconfig.get_path("purelib"), *others]))


def install_needed(python: Path) -> None:
    """Makes the dependencies of our packages available in an environment, from that of the tests."""
    (packages_of(python) / "needed.pth").write_text("".join(f"{entry}\n" for entry in needed_folders()), "utf-8")


@pytest.fixture(scope="session")
def environment_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the content of a wheel; its dependencies come from the tests' environment."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    purelib = packages_of(python)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, purelib / package, ignore=shutil.ignore_patterns("*.pyc.*"))
    install_needed(python)
    for name, module in SCRIPTS.items():
        script = python.parent / name
        script.write_text(SCRIPT.format(python=python, module=module), encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return python


@pytest.fixture
def installed(environment_python: Path, tmp_path: Path) -> Installed:
    home = tmp_path / "home"
    home.mkdir()
    return Installed(environment_python, home)


@pytest.fixture
def copied(installed: Installed) -> Installed:
    """The same for tests of the running tool: commands skip the imports."""
    return replace(installed, copies=True)


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., Path]:
    """Creates a repository with that many models."""

    def make(models: int, name: str = "repository") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for number in range(models):
            (folder / f"model{number}.py").write_text(MODEL.format(number=number), encoding="utf-8")
        together = "".join(f"import model{number}\n" for number in range(models))  # one component, lowered at once
        (folder / "together.py").write_text(together, encoding="utf-8")
        return folder

    return make
