"""The tables of results in README.md, docs/index.md and docs/comparison.md: each claim with its command.

Computes: the rows, from the files that the commands write (docs/evaluation.json, docs/packages.json, corpus/released/expected, the
table of the shim in docs/benchmarks.md) and from counts over the corpus. Gives: `write_claims`, which replaces the text between the
marks in the pages. Runs nothing; a test fails if a page disagrees with the files.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpus.index import proof_counts
from corpus.prose import wrap
from corpus.recorder.tables import claim, table
from corpus.released import summary
from corpus.released.commands import measured
from corpus.released.manifest import packages
from corpus.released.summary import LEVELS, Summary
from corpus.shape_bugs import shape_bugs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
KNOWN = ("gpflow", "opennmt-tf", "spektral", "deepctr", "tensorflow-recommenders", "larq", "deel-lip", "tfkbnufft")
"""Packages named in README, the largest first, except the last two, which gain most at `safe`."""
BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"


def write_claims() -> None:
    """Writes the tables into the pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


def pages() -> dict[Path, str]:
    """The pages with their tables from the present files."""
    tables = {ROOT / "README.md": projects(), DOCS / "index.md": results(""), DOCS / "comparison.md": peers(), DOCS / "accuracy.md": table()}
    return {path: replaced(path.read_text(encoding="utf-8"), table) for path, table in tables.items()}


def replaced(text: str, table: Sequence[str]) -> str:
    """The page with the table between its marks replaced. Raises ValueError if the marks are missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} and {END}")
    return wrap("\n".join([before + begin, *table, end + after]))


def projects() -> list[str]:
    """Results on known packages, and the main results for a new user."""
    released = {package.name: (package, found) for package in packages() if (found := summary.read(package.key))}
    rows = ["| project | lines | candidates | safe | changed at `safe` | at `speculative` | at `coexec` |", "|---|--:|--:|--:|--:|--:|--:|"]
    for name in KNOWN:
        package, found = released[name]
        rows.append(_project_row(f"{name} {package.version}", [found]))
    rows.append(_project_row(f"all {len(released)} packages", [found for _, found in released.values()]))
    evaluation = json.loads((DOCS / "evaluation.json").read_text(encoding="utf-8"))["programs"]
    told = (_agreement(evaluation), _speed(evaluation, "docs/"), *_suites("docs/"))
    return [*rows, "", *(f"- {what}: {result}" for what, result, _ in told)]


def _project_row(name: str, found: Sequence[Summary]) -> str:
    changed = [sum(len(names) for each in found for names in each["refactored"][level].values()) for level in LEVELS]
    lines, candidates, safe = (
        sum(each["lines"] for each in found),
        sum(each["candidates"]["all"] for each in found),
        sum(each["candidates"]["safe"] for each in found),
    )
    return f"| {name} | {lines:,} | {candidates:,} | {safe:,} | " + " | ".join(map(str, changed)) + " |"


def results(folder: str) -> list[str]:
    """The table of results; `folder` is the path from the page to docs/."""
    evaluation = json.loads((DOCS / "evaluation.json").read_text(encoding="utf-8"))["programs"]
    released = {package.name: found for package in packages() if (found := summary.read(package.key))}
    rows = [
        _agreement(evaluation),
        ("types, compared with those recorded while programs ran", claim(), f"`python -m corpus types`: [accuracy]({folder}accuracy.md)"),
        _speed(evaluation, folder),
        _hazards(),
        _shape_bugs(),
        _released(released, folder),
        *_suites(folder),
        *_shim(folder),
    ]
    return [
        "| measured on | result | command |",
        "|---|---|---|",
        *(f"| {what} | {result} | {command} |" for what, result, command in rows),
    ]


def _agreement(evaluation: Mapping[str, Any]) -> tuple[str, str, str]:
    functions = sum(entry["functions"] for entry in evaluation.values())
    safety, action = (sum(entry["kinds"][kind] for entry in evaluation.values()) for kind in ("safety", "action"))
    return (
        f"decisions about {functions} functions of {len(evaluation)} programs, compared with those of a reviewer",
        f"{safety} wrongly called safe; the same change, or none, for {functions - action} ({100 * (functions - action) / functions:.1f}%)",
        "`python -m corpus agree`",
    )


def _speed(evaluation: Mapping[str, Any], folder: str) -> tuple[str, str, str]:
    run = [entry["speculative"] for entry in evaluation.values() if "speculative" in entry]
    changed = [entry for entry in run if entry["functions"]]
    different = sum(entry["difference"] is not None for entry in changed)
    functions = [function["status"] for entry in changed for function in entry["functions"].values()]
    ratio = _geometric([entry["ratio"] for entry in changed if entry.get("ratio")])
    calls = [
        function["speedup"] for entry in changed for function in entry["functions"].values() if function.get("speedup")
    ]
    return (
        f"{'the' if len(run) == len(evaluation) else f'{len(run)} of the'} {len(evaluation)} programs, run before and after the changes",
        f"{different} of {len(changed)} changed programs differ in exit code, output or final state; {functions.count('different')} of {len(functions)} changed functions differs in a compared call; whole programs {ratio:.1f}× as fast, changed functions {_geometric(calls):.1f}× (geometric means)",
        f"`python -m corpus evaluate`: [evaluation]({folder}evaluation.md)",
    )


def _hazards() -> tuple[str, str, str]:
    bad, fine = proof_counts()
    return (
        f"{bad} small programs with a hazard at a marked line, {fine} similar ones without a hazard",
        "each marked line is reported, and no other; TensorFlow runs each program eagerly and as a graph",
        "`pytest tests/proof`",
    )


def _shape_bugs() -> tuple[str, str, str]:
    bugs = shape_bugs()
    return (
        f"{len(bugs)} programs with a shape bug ({sum(bug.silent for bug in bugs)} of them raise nothing), and the corrected programs; all were used for development",
        "every bug is reported at its line, nothing on the corrected programs",
        "`pytest tests/corpus/test_shape_bugs.py`",
    )


def _released(released: Mapping[str, Summary], folder: str) -> tuple[str, str, str]:
    candidates, refactored = _candidates(released), _refactored(released)
    lines = sum(found["lines"] for found in released.values())
    return (
        f"{len(released)} released packages, {lines:,} lines",
        f"{refactored:,} of {candidates:,} candidate functions refactored ({100 * refactored / candidates:.1f}%), {_seconds(released):.2f} CPU seconds per thousand lines",
        f"`python -m corpus fetch`, `analyze`: [packages]({folder}packages.md)",
    )


def _suites(folder: str) -> list[tuple[str, str, str]]:
    run = [list(entry["refactor"].values()) for entry in measured()["packages"].values() if entry.get("refactor")]
    if not run:
        return []
    passed = sum(levels[0]["passed"][0] for levels in run)
    worse = sum(len({test for level in levels for test in level["worse"]}) for levels in run)
    return [
        (
            f"the test suites of {len(run)} of these packages, before and after all changes of each level",
            f"{worse} of {passed:,} passing tests fail afterwards",
            f"`python -m corpus refactor`: [packages]({folder}packages.md)",
        )
    ]


def _shim(folder: str) -> list[tuple[str, str, str]]:
    """Only measured programs: the table may not have all ten."""
    return [
        (
            f"{len(speeds)} training programs of {size} size under the co-execution shim, two cores",
            _told(speeds),
            f"`make coexec`: [benchmarks]({folder}benchmarks.md)",
        )
        for size, speeds in shim_speeds((DOCS / "benchmarks.md").read_text(encoding="utf-8")).items()
    ]


def _told(speeds: Sequence[float]) -> str:
    faster = sum(speed > 1 for speed in speeds)
    return f"{faster} of {len(speeds)} faster than eager, {_geometric(speeds):.1f}× (geometric mean)"


def shim_speeds(page: str) -> dict[str, list[float]]:
    """Speed-up of the shim over eager execution for each program, by size, read from docs/benchmarks.md."""
    found: dict[str, list[float]] = {}
    column = 0
    for line in page.partition("<!-- coexec: begin -->")[2].partition("<!-- coexec: end -->")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if "shim" in cells:
            column = cells.index("shim")
        program = re.fullmatch(r"[a-z0-9_]+ (small|large)", cells[0])
        speed = re.search(r"\(([\d.]+)×\)", cells[column]) if column and column < len(cells) else None
        if program and speed:
            found.setdefault(program[1], []).append(float(speed[1]))
    return found


def peers() -> list[str]:
    """Results of published tools, and our measurements; never on the same programs."""
    evaluation = json.loads((DOCS / "evaluation.json").read_text(encoding="utf-8"))["programs"]
    released = {package.name: found for package in packages() if (found := summary.read(package.key))}
    candidates = _candidates(released)
    changed = [
        entry["speculative"] for entry in evaluation.values() if "speculative" in entry and entry["speculative"]["functions"]
    ]
    ratios = [entry["ratio"] for entry in changed if entry.get("ratio")]
    by_level = {
        level: sum(len(names) for found in released.values() for names in found["refactored"][level].values())
        for level in LEVELS
    }
    bugs = shape_bugs()
    speeds = shim_speeds((DOCS / "benchmarks.md").read_text(encoding="utf-8"))
    shim = "; ".join(f"{size}: {_told(each)}" for size, each in speeds.items()) or "not timed yet"
    share = sum(by_level.values()) / candidates
    return [
        "| | reported | here |",
        "|---|---|---|",
        f"| Hybridize Functions: projects | 19, with 132 thousand lines | {len(released)} packages, with {sum(found['lines'] for found in released.values()) // 1000} thousand lines |",
        f"| candidate functions | 766 | {candidates:,} |",
        f"| safe as a graph, whether or not it pays | | {_of_class(released, 'safe'):,} ({100 * _of_class(released, 'safe') / candidates:.1f}%), and {_of_class(released, 'speculative'):,} under assumptions |",
        f"| refactored | 326 (42.6%) | {sum(by_level.values()):,} ({100 * share:.1f}%): {by_level['safe']} safe, {by_level['speculative']:,} speculative, {by_level['coexec']} with the shim |",
        f"| speed | 2.16× on average, on performance tests | {statistics.mean(ratios):.2f}× on average ({_geometric(ratios):.2f}× geometric) for {len(ratios)} whole programs, traces included |",
        f"| same meaning afterwards | | {sum(entry['difference'] is not None for entry in changed)} of {len(changed)} changed programs differ in exit code, output or final state |",
        f"| Pythia: shape bugs found | 11 of 14, at a precision of 84.62% | {len(bugs)} of {len(bugs)} of our own collection, without a false report |",
        f"| Terra: programs faster than eager | 10 of 10 | {shim} |",
        f"| programs that fail or differ with a plain `tf.function` | 5 of 10 (AutoGraph) | {_wrong_as_functions()} |",
    ]


def _wrong_as_functions() -> str:
    outcomes = [
        entry["outcome"]
        for entry in tomllib.loads((ROOT / "corpus" / "coexec" / "tf_function.toml").read_text(encoding="utf-8")).values()
    ]
    raises, differs = outcomes.count("raises"), outcomes.count("differs")
    return f"{raises + differs} of {len(outcomes)}: {raises} raise, {differs} differ silently"


def _candidates(released: Mapping[str, Summary]) -> int:
    return sum(found["candidates"]["all"] for found in released.values())


def _of_class(released: Mapping[str, Summary], name: str) -> int:
    return sum(found["candidates"][name] for found in released.values())


def _refactored(released: Mapping[str, Summary]) -> int:
    return sum(
        len(names) for found in released.values() for level in LEVELS for names in found["refactored"][level].values()
    )


def _seconds(released: Mapping[str, Summary]) -> float:
    """Seconds per thousand lines of measured packages."""
    costs = measured()["packages"]
    timed = {name: found for name, found in released.items() if "analysis" in costs.get(name, {})}
    spent = sum(costs[name]["analysis"]["analyze"]["cpu"] for name in timed)
    return 1000 * spent / sum(found["lines"] for found in timed.values())


def _geometric(values: Sequence[float]) -> float:
    return math.exp(statistics.mean(math.log(value) for value in values))
