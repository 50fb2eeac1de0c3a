"""Renews TensorFlow's kept answers for the tests: `python tools/keep_answers.py [PYTEST ARGUMENT...]`, or `make answers`.

Runs the tests that use TensorFlow, which run all programs without a kept answer, and stores the results in `tests/answers/`. After a
run of all these tests (no arguments), unused answers are removed. The exit code is that of pytest: the answers of a failing test are
kept, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from kept_answers import FOLDER, LIBRARIES, NEW, SETTING, read, version  # noqa: E402

ASKING = (
    "tests/conformance",
    "tests/proof",
    "tests/property/test_paths.py",
    "tests/property/test_region_programs.py",
    "tests/property/test_shown_results.py",
    "tests/property/test_usual_training.py",
    "tests/corpus/test_coexec_programs.py",
    "tests/corpus/test_programs.py",
    "tests/corpus/test_shape_bugs.py",
    "tests/e2e/cli/test_demo.py",
    "tests/e2e/cli/test_demo_keeps_its_meaning.py",
    "tests/runtime",
)
"""The tests that use `kept_answers`."""


def merge(new: Path, folder: Path, *, whole: bool) -> None:
    """Merges the answers recorded by the tests into the files of a folder; `whole`: removes all others."""
    for name in sorted({path.name.partition(".")[0] for path in new.glob("*.txt")}):
        file = folder / f"{name}.txt"
        kept = {} if whole else read(file)
        before = read(file)
        for part in sorted(new.glob(f"{name}.*.txt")):
            kept.update(read(part))
        versions = ", ".join(f"{library} {version(library)}" for library in LIBRARIES)
        lines = [
            f"# {versions}; written by `make answers`",
            *(f"{key} {answer}" for key, answer in sorted(kept.items())),
        ]
        folder.mkdir(exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        added, gone = kept.keys() - before.keys(), before.keys() - kept.keys()
        print(f"{name}: {len(kept)} answers, {len(added)} of them new, {len(gone)} left out")


def main(arguments: list[str]) -> int:
    """Runs the tests and stores their answers."""
    shutil.rmtree(NEW, ignore_errors=True)
    command = [sys.executable, "-m", "pytest", *(arguments or ["-q", "-n", os.environ.get("WORKERS", "2"), *ASKING])]
    status = subprocess.run(command, cwd=REPOSITORY, env={**os.environ, SETTING: "write"}, check=False).returncode
    # an interrupted run may not have used all answers yet
    merge(NEW, FOLDER, whole=not arguments and status in (0, 1))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
