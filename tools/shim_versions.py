"""Runs the tests of the shim on other versions of TensorFlow: `python tools/shim_versions.py [VERSION...]`, or `make shim-versions`.

Each version has an environment of its own (`build/shim-versions/<version>`, two gigabytes), with the Keras that pip chooses for it
and `tf_keras` of the same version. It is created once, and has this checkout installed. Prints a line for each version, the failures
by name, and writes pytest's output next to the environment. The exit code is 1 if a test fails. Versions of TensorFlow without a
package for this Python are reported and skipped.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
VERSIONS = ("2.16.2", "2.17.1", "2.18.1", "2.19.1", "2.20.0")
"""The newest version of each release, from the oldest that the shim supports to the one on which all tests run."""
TESTS = ("tests/runtime",)


def environment(version: str, folder: Path) -> Path | None:
    """The Python of the environment of a version, created if it is missing; None if pip has no such package."""
    place = folder / version
    python = place / "bin" / "python"
    done = place / "installed"
    if not done.exists():
        venv.create(place, with_pip=True, clear=True)
        minor = version.rpartition(".")[0]
        wanted = [
            f"tensorflow=={version}",
            f"tf_keras=={minor}.*",
            "hypothesis>=6.100",
            "pytest>=8",
            "pytest-xdist>=3.7",
        ]
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command = [*pip, "--editable", str(REPOSITORY), *wanted]
        if subprocess.run(command, check=False).returncode:
            return None
        done.touch()
    return python


def run(python: Path, minutes: float, tests: list[str]) -> tuple[str, list[str]]:
    """Pytest's last line, and the names of the tests that failed."""
    log = python.parents[1] / "pytest.txt"
    # warnings of old versions are irrelevant for the shim
    command = [str(python), "-m", "pytest", "-q", "-n", os.environ.get("WORKERS", "2"), "-W", "default", *tests]
    with log.open("w") as output:
        try:
            subprocess.run(
                command, cwd=REPOSITORY, stdout=output, stderr=subprocess.STDOUT, timeout=60 * minutes, check=False
            )
        except subprocess.TimeoutExpired:
            output.write(f"\nended after {minutes:g} minutes\n")
    lines = log.read_text().splitlines() or ["nothing"]
    return lines[-1].strip("= "), [line for line in lines if re.match(r"(FAILED|ERROR) ", line)]


def installed(python: Path) -> str:
    """The relevant installed versions in an environment."""
    code = "import importlib.metadata as m; print(', '.join(f'{n} {m.version(n)}' for n in ('tensorflow', 'keras', 'tf_keras', 'numpy')))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Runs the tests with one version after the other."""
    parser = argparse.ArgumentParser(description="Runs the tests of the shim on other versions of TensorFlow.")
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build" / "shim-versions")
    parser.add_argument("--minutes", type=float, default=30.0, help="the most that the tests of one version may take")
    parser.add_argument("--tests", nargs="+", default=list(TESTS))
    options = parser.parse_args()
    failed = False
    for version in options.versions:
        python = environment(version, options.folder)
        if python is None:
            print(f"TensorFlow {version}: cannot be installed for Python {sys.version_info[0]}.{sys.version_info[1]}")
            continue
        last, failures = run(python, options.minutes, options.tests)
        print(f"{installed(python)}: {last}", *failures, sep="\n  ", flush=True)
        failed |= bool(failures) or "passed" not in last
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
