"""The commands about released packages: `fetch` is in fetch.py, the tables are in tables.py.

`analyze` runs the tool on packages (or on any folders), measures, checks, and compares with the committed results, which `--renew`
replaces. Measurements are kept in docs/packages.json, for the tables.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from corpus.beside import on_each_processor
from corpus.released import summary
from corpus.released.manifest import Package
from corpus.released.trial import Trial, analyze_folder, try_folder

MEASURED = Path(__file__).resolve().parents[2] / "docs" / "packages.json"
SHOWN = 40
"""Maximum number of printed lines of a package's difference."""


def analyze(wanted: Sequence[Package], *, renew: bool, fix: bool, timeout: float) -> int:
    """Analyses each fetched package. Returns 1 if a check failed, or a result changed without `renew`."""
    code = 0
    for package in wanted:
        if not package.fetched:
            print(f"{package.key}: not fetched (python -m corpus fetch)")
    fetched = [package for package in wanted if package.fetched]
    for package, trial in on_each_processor(partial(_tried, fix=fix, timeout=timeout), fetched):
        code |= _tell(trial)
        if not trial.report:
            continue
        present = summary.summary_of(trial.report)
        keep(package.name, "analysis", _numbers(trial))
        if renew:
            summary.write(package.key, present)
            continue
        changed = difference(package, present)
        if changed:
            print("\n".join(changed[:SHOWN]))
            code = 1
    return code


def _tried(package: Package, *, fix: bool, timeout: float) -> Trial:
    return (try_folder if fix else analyze_folder)(package.folder, timeout)


def analyze_folders(folders: Sequence[Path], timeout: float) -> int:
    """Analyses folders that are not packages of the manifest. Returns 1 if a check failed."""
    return max(_tell(try_folder(folder.resolve(), timeout)) for folder in folders)


def difference(package: Package, present: summary.Summary) -> list[str]:
    """The differences between a package's summary and the committed one."""
    expected = summary.read(package.key)
    if expected is None:
        return [f"{package.key}: nothing is committed for it (python -m corpus analyze --renew {package.name})"]
    return [f"{package.key}: {line}" for line in summary.differences(expected, present)]


def _tell(trial: Trial) -> int:
    costs = f"{trial.analyze.cpu:.0f} CPU s, {trial.analyze.memory / 2**20:.0f} MB" if trial.analyze else "not run"
    held = "all held" if not trial.failures else f"{len(trial.failures)} failures"
    changed = f", {trial.changes} changes in {trial.changed_files} files" if trial.fix else ""
    print(f"{trial.name}: {costs}{changed}, {held}", flush=True)
    for failure in trial.failures:
        print(f"{trial.name}: {failure}", file=sys.stderr)
    return 1 if trial.failures else 0


def _numbers(trial: Trial) -> dict[str, Any]:
    assert trial.analyze is not None
    numbers: dict[str, Any] = {"analyze": trial.analyze.costs, "failures": len(trial.failures)}
    if trial.fix is not None:
        numbers |= {"fix": trial.fix.costs, "changes": trial.changes, "changed_files": trial.changed_files}
    return numbers


def measured() -> dict[str, Any]:
    """All measurements by package; `machine` has place and date."""
    return json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {"packages": {}}


def keep(name: str, part: str, numbers: dict[str, Any]) -> None:
    """Adds measurements; those not repeated this time are kept."""
    data = measured()
    data["packages"].setdefault(name, {}).setdefault(part, {}).update(numbers)
    _write(data)


def keep_times(times: dict[str, dict[str, float]]) -> None:
    """Replaces the times of the parts of a whole evaluation, in seconds."""
    data = measured()
    data["whole"] = {"parts": times, "machine": _machine()}
    _write(data)


def _write(data: dict[str, Any]) -> None:
    data["machine"] = _machine()
    MEASURED.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _machine() -> dict[str, Any]:
    return {
        "python": sys.version.split()[0],
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "date": time.strftime("%Y-%m-%d"),
    }
