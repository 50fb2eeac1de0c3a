"""Packages' own tests: before and after the changes, and under the recorder.

A suite runs in an environment of its own (corpus/packages/.environments) that sees this environment's TensorFlow and has the packages
of the manifest; and on a copy of the package, so that neither tests nor changes touch the fetched files. `refactor` compares test by
test: tests that pass before must pass after. Tests that already fail before are only counted. Packages run side by side, each on one
processor.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from corpus.beside import on_each_processor
from corpus.recorder.__main__ import analyze
from corpus.recorder.compare import Comparison, compare, score
from corpus.recorder.recording import KINDS, record
from corpus.released.commands import keep, measured
from corpus.released.manifest import STORE, Package
from corpus.released.measuring import Measured, run, run_module
from corpus.released.summary import in_tests

ENVIRONMENTS = STORE / ".environments"
SHOWN = 10
"""Maximum number of named tests."""


def refactor(wanted: Sequence[Package], levels: Sequence[str], timeout: float) -> int:
    """Runs each package's tests before and after all changes of each level. Returns 1 if a passing test fails afterwards."""
    code = 0
    tried = on_each_processor(partial(_refactored, levels=levels, timeout=timeout), _with_suites(wanted))
    for package, found in tried:
        for problem in found.problems:
            print(f"{package.key}: {problem}")
            code = 1
        for level, changed, after in found.levels:
            code |= _compare(package, level, changed, found.before, after)
    return code


_Suite: TypeAlias = tuple[dict[str, str], Measured]
"""The outcome of each test, and the cost of the run."""


@dataclass(frozen=True, slots=True)
class _Refactored:
    """A package's tests before and after the changes of each level, with the number of changed files."""

    before: _Suite
    levels: tuple[tuple[str, int, _Suite], ...]
    problems: tuple[str, ...]


def _refactored(package: Package, *, levels: Sequence[str], timeout: float) -> _Refactored:
    problems: list[str] = []
    found: list[tuple[str, int, _Suite]] = []
    with tempfile.TemporaryDirectory() as scratch:
        original = Path(scratch) / "before" / package.key
        shutil.copytree(package.folder, original)
        before = _run_tests(package, original, timeout)
        after: dict[tuple[bytes, ...], _Suite] = {(): before}
        for level in levels:
            copy = Path(scratch) / level / package.key
            shutil.copytree(package.folder, copy)
            command = ["terra_refactor", "fix", "--isolated", "--no-cache", "--level", level, "--write", "."]
            fixed = run_module(command, copy, timeout)
            if fixed.code not in (0, 3):
                problems.append(f"fix ended with {fixed.code}: {fixed.err[-500:]}")
            changed = _changed_files(package.folder, copy)
            texts = tuple((copy / name).read_bytes() for name in changed)
            if texts not in after:  # equal changes need no second run, and no changes need none
                after[texts] = _run_tests(package, copy, timeout)
            found.append((level, len(changed), after[texts]))
    return _Refactored(before, tuple(found), tuple(problems))


def _compare(
    package: Package,
    level: str,
    changed: int,
    before: _Suite,
    after: _Suite,
) -> int:
    """Stores and prints the effect of a level on a suite. Returns 1 if a passing test fails afterwards, or none ran."""
    outcomes, costs = zip(before, after, strict=True)
    worse = sorted(test for test, how in outcomes[0].items() if how == "passed" and outcomes[1].get(test) != "passed")
    better = sorted(test for test, how in outcomes[1].items() if how == "passed" and outcomes[0].get(test) != "passed")
    passed = [sum(how == "passed" for how in outcome.values()) for outcome in outcomes]
    numbers = {
        "changed_files": changed,
        "tests": len(outcomes[0]),
        "passed": passed,
        "worse": worse,
        "better": better,
        "seconds": [measured.costs for measured in costs],
    }
    keep(package.name, "refactor", {level: numbers})
    print(
        f"{package.key}, {level}: {changed} files changed; {passed[0]} of {numbers['tests']} tests pass before, {passed[1]} after; "
        f"{costs[0].cpu:.0f} and {costs[1].cpu:.0f} CPU s",
        flush=True,
    )
    for test in worse[:SHOWN]:
        print(f"  {test}: passed before, {outcomes[1].get(test, 'not there')} after")
    if not outcomes[0]:
        print(f"{package.key}: no test ran: {costs[0].out[-500:]}")
    return int(bool(worse) or not outcomes[0])


def accuracy(wanted: Sequence[Package], timeout: float) -> int:
    """Records the types that reach the functions of each package when its tests run, and compares them with `analyze`."""
    for package, numbers in on_each_processor(_accuracy, _with_suites(wanted)):
        keep(package.name, "accuracy", numbers)
        parts = [f"{kind}: {one['exact'] + one['imprecise']} of {one['number']} sound, {one['wrong']} wrong" for kind, one in numbers["kinds"].items()]
        print(f"{package.key}: {numbers['functions']} functions ran; {'; '.join(parts)}")
    return 0


def _accuracy(package: Package) -> dict[str, Any]:
    suite = package.suite
    assert suite is not None
    python = _environment(package)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / package.key
        shutil.copytree(package.folder, root)
        output = Path(scratch) / "recording.json"
        before = dict(os.environ)
        os.environ.update(_variables(package, root))
        try:
            record(root, output, ["-m", "pytest", "-q", *suite.arguments], str(python), True)
        finally:
            os.environ.clear()
            os.environ.update(before)
        recording = json.loads(output.read_text(encoding="utf-8"))
        recording["functions"] = [seen for seen in recording["functions"] if not in_tests(seen["path"])]
        return _scores(compare(recording, analyze(root, ["."]), root))


def _scores(found: Comparison) -> dict[str, Any]:
    scores = {kind: score(getattr(found, kind)) for kind in KINDS}
    return {
        "functions": found.functions,
        "false_tensors": len(found.false_tensors),
        "kinds": {kind: asdict(one) for kind, one in scores.items() if one.number},
    }


def _with_suites(wanted: Sequence[Package]) -> list[Package]:
    for package in wanted:
        if package.suite is not None and not package.fetched:
            print(f"{package.key}: not fetched (python -m corpus fetch)")
    found = [package for package in wanted if package.suite is not None and package.fetched]
    return sorted(found, key=lambda package: _spent(package.name), reverse=True)  # otherwise the longest may run alone at the end


def _spent(name: str) -> float:
    """Seconds of the last run of a package's tests; 0 if unknown."""
    levels = measured()["packages"].get(name, {}).get("refactor", {})
    return max((level["seconds"][0]["wall"] for level in levels.values()), default=0.0)


def _environment(package: Package) -> Path:
    """The interpreter of a package's environment, created on first use."""
    assert package.suite is not None
    folder = ENVIRONMENTS / package.key
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    whole = folder / "installed.json"
    wanted = json.dumps(package.suite.requires)
    if whole.exists() and whole.read_text(encoding="utf-8") == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    inside = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True
    ).stdout.strip()
    Path(inside, "outer.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    if package.suite.requires:
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *package.suite.requires]
        subprocess.run(pip, check=True)
    whole.write_text(wanted, encoding="utf-8")
    return python


def _variables(package: Package, folder: Path) -> dict[str, str]:
    assert package.suite is not None
    variables = {"PYTHONPATH": str(folder / package.suite.path), "TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONHASHSEED": "0"}
    return variables | ({"TF_USE_LEGACY_KERAS": "1"} if package.suite.legacy_keras else {})


def _run_tests(package: Package, folder: Path, timeout: float) -> tuple[dict[str, str], Measured]:
    """The outcome of each test, and the cost of the run."""
    assert package.suite is not None
    results = folder / "terra-refactor-results.xml"
    command = [
        *(str(_environment(package)), "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *(f"--junit-xml={results}", *package.suite.arguments),
    ]
    measured = run(command, folder, timeout, _variables(package, folder))
    return (outcomes_of(results) if results.exists() else {}), measured


def outcomes_of(results: Path) -> dict[str, str]:
    """The tests of a JUnit file: `passed`, `skipped` or `failed` by name."""
    found = {}
    for case in ET.parse(results).iter("testcase"):
        inner = {child.tag for child in case}
        how = "failed" if inner & {"failure", "error"} else "skipped" if "skipped" in inner else "passed"
        found[f"{case.get('classname')}.{case.get('name')}"] = how
    return found


def _changed_files(before: Path, after: Path) -> list[Path]:
    """The Python files that differ, by their path in both folders."""
    names = sorted(path.relative_to(before) for path in before.rglob("*.py"))
    return [name for name in names if (before / name).read_bytes() != (after / name).read_bytes()]
