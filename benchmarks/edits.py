"""The cost of `lint` after an edit: processor seconds of a first run, of one where nothing changed, and of one after each of some edits.

    python benchmarks/edits.py FOLDER EDITS.json [--compare]

`EDITS.json` has an edit by name: `{"body": ["pkg/file.py", "old text", "new text"]}`. They are applied one after the
other, in a copy of the folder with a separate cache. With `--compare` each run is compared with one without a cache,
which must report the same.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

COMMAND = (sys.executable, "-m", "terra_refactor", "lint", "--jobs", "1", "--format", "json")


def run(folder: Path, cache: Path, *options: str) -> tuple[float, str]:
    """Processor seconds of one run, and its report without the cost."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*COMMAND, *options, "."],
        cwd=folder,
        env={**os.environ, "TERRA_REFACTOR_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report = json.loads(done.stdout)
    del report["summary"]["seconds"]
    return seconds, json.dumps(report, sort_keys=True)


def measure(folder: Path, edits: Mapping[str, tuple[str, str, str]], *, compare: bool) -> None:
    """Prints a line for each run."""
    with tempfile.TemporaryDirectory() as place:
        work, cache = Path(place) / "work", Path(place) / "cache"
        shutil.copytree(folder, work)
        for name in ("first run", "unchanged"):
            print(f"{name}: {run(work, cache)[0]:.1f}", flush=True)
        for name, (file, old, new) in edits.items():
            text = (work / file).read_text(encoding="utf-8")
            if old not in text:
                raise SystemExit(f"{file} has no {old!r}")
            (work / file).write_text(text.replace(old, new, 1), encoding="utf-8")
            seconds, report = run(work, cache)
            line = f"{name}: {seconds:.1f}"
            if compare:
                again, expected = run(work, cache, "--no-cache")
                line += f", from nothing {again:.1f}, {'the same' if report == expected else 'ANOTHER REPORT'}"
            print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("edits", type=Path)
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    measure(options.folder, json.loads(options.edits.read_text(encoding="utf-8")), compare=options.compare)


if __name__ == "__main__":
    main()
