"""docs/packages.md: the tables of the published studies, over the packages of the manifest.

Needs: the committed summaries (which are the same in each run) and the measurements (docs/packages.json, which are not). Runs
nothing.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpus.prose import wrap
from corpus.released import summary
from corpus.released.commands import measured
from corpus.released.manifest import Package, packages
from corpus.released.summary import LEVELS, Summary

PAGE = Path(__file__).resolve().parents[2] / "docs" / "packages.md"
SHOWN = 20
"""Rows of a table of reasons."""
ACTIONS = {"add_tf_function": "add", "remove_tf_function": "remove", "tune_tf_function": "tune", "co_execute": "co-execute"}


def write_tables() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The page, from the committed files."""
    rows = [(package, found) for package in packages() if (found := summary.read(package.key)) is not None]
    numbers = measured()
    parts = [_head(), _totals(rows), _each(rows), _reasons(rows), _costs(rows, numbers), _suites(rows, numbers), _whole(numbers)]
    return wrap("\n\n".join("\n".join(part) for part in parts) + "\n")


def _head() -> list[str]:
    return [
        "# Released packages",
        "",
        "Decisions and changes on released TensorFlow packages, both well-known and little-known ones.",
        "Written by `python -m corpus report`; do not edit.",
        "",
        "```console",
        "$ python -m corpus fetch       # the packages of corpus/packages.toml, pinned by digest; none of their code is run",
        "$ python -m corpus analyze     # analyses, refactors copies, and compares with the committed results (--renew writes them)",
        "$ python -m corpus refactor    # runs their test suites before and after all changes",
        "$ python -m corpus accuracy    # compares the types recorded in their test suites with the analysis",
        "$ python -m corpus report      # writes this page",
        "$ python -m corpus all         # all of these, and the rest of the evaluation",
        "```",
        "",
        "A **candidate** is a function outside of tests (no lambda) that is a `tf.function`, or that has a tensor or variable as a parameter or in one. A candidate is **refactored** if the tool proposes",
        "an action; it counts at the lowest `--level` at which `fix` makes the change. All other candidates are **refused**, for the first",
        "rule that makes them unsafe or for the reason in the report. The tables of candidates and reasons are reproducible.",
    ]


def _totals(rows: Sequence[tuple[Package, Summary]]) -> list[str]:
    candidates = sum(found["candidates"]["all"] for _, found in rows)
    at = {level: sum(_refactored(found, level) for _, found in rows) for level in LEVELS}
    by_class = {name: sum(found["candidates"][name] for _, found in rows) for name in summary.CLASSES}
    actions = Counter[str]()
    for _, found in rows:
        for level in LEVELS:
            actions.update({action: len(names) for action, names in found["refactored"][level].items()})
    hybrid = sum(found["candidates"]["tf_function_already"] for _, found in rows)
    return [
        "## Totals",
        "",
        "| | |",
        "|---|---:|",
        f"| packages | {len(rows)} |",
        f"| lines | {sum(found['lines'] for _, found in rows):,} |",
        f"| functions (with lambdas and tests) | {sum(found['functions'] for _, found in rows):,} |",
        f"| candidates | {candidates:,} |",
        f"| of these `tf.function` already | {hybrid:,} |",
        *(f"| {name} as a graph | {by_class[name]:,} ({_share(by_class[name], candidates)}) |" for name in summary.CLASSES),
        f"| refactored at `safe` | {at['safe']:,} ({_share(at['safe'], candidates)}) |",
        f"| in addition at `speculative` | {at['speculative']:,} ({_share(at['speculative'], candidates)}) |",
        f"| in addition at `coexec` | {at['coexec']:,} ({_share(at['coexec'], candidates)}) |",
        f"| refactored, total | {sum(at.values()):,} ({_share(sum(at.values()), candidates)}) |",
        *(f"| {name} | {actions[action]:,} |" for action, name in ACTIONS.items()),
    ]


def _each(rows: Sequence[tuple[Package, Summary]]) -> list[str]:
    lines = [
        "## By package",
        "",
        "| package | for | licence | lines | candidates | safe | speculative | unsafe | refactored: safe | speculative | coexec | findings |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for package, found in rows:
        cells = [found["candidates"][name] for name in ("all", *summary.CLASSES)]
        cells += [_refactored(found, level) for level in LEVELS]
        cells.append(sum(found["findings"].values()))
        lines.append(
            f"| {package.name} {package.version} | {package.what} | {package.licence} | {found['lines']:,} | {' | '.join(f'{cell:,}' for cell in cells)} |"
        )
    return lines


def _reasons(rows: Sequence[tuple[Package, Summary]]) -> list[str]:
    return [
        *_counts("Reasons for refusal", "candidates", (found["refused"] for _, found in rows)),
        "",
        *_counts("Assumptions of the speculative changes", "changes", (found["assumptions"] for _, found in rows)),
        "",
        *_counts("Findings outside of tests", "findings", (found["findings"] for _, found in rows)),
    ]


def _counts(title: str, what: str, counted: Iterable[Mapping[str, int]]) -> Iterator[str]:
    total, spread = Counter[str](), Counter[str]()
    for each in counted:
        total.update(each)
        spread.update(each.keys())
    order = sorted(total, key=lambda text: (-total[text], text))
    yield from (f"## {title}", "", f"| | {what} | packages |", "|---|---:|---:|")
    yield from (f"| {_cell(text)} | {total[text]:,} | {spread[text]} |" for text in order[:SHOWN])
    rest = order[SHOWN:]
    if rest:
        yield f"| {len(rest)} more | {sum(total[text] for text in rest):,} | |"


def _costs(rows: Sequence[tuple[Package, Summary]], numbers: Mapping[str, Any]) -> list[str]:
    machine = numbers["machine"]
    lines = [
        "## Time and memory",
        "",
        f"Python {machine['python']}, {machine['processors']} processors, {machine['date']}"
        + (f"; busy machine (load {machine['load']})" if machine["load"] > 1.5 else "")
        + ". Without the cache, including the start of Python (0.9 to 1.3 s); *fix* is `fix --level speculative --write`. Memory is the peak of all processes.",
        "",
        "| package | analyze: CPU s | per thousand lines | wall s | peak MB | fix: CPU s | changes | files changed | all checks passed |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    per_line = []
    for package, found in rows:
        each = numbers["packages"].get(package.name, {}).get("analysis")
        if each is None:
            continue
        cost = each["analyze"]
        per_line.append((cost["cpu"], found["lines"]))
        fix = f"{each['fix']['cpu']:.1f} | {each['changes']} | {each['changed_files']}" if "fix" in each else " | | "
        lines.append(
            f"| {package.name} | {cost['cpu']:.1f} | {1000 * cost['cpu'] / found['lines']:.2f} | {cost['wall']:.1f} | {cost['memory']:.0f} | {fix} | "
            f"{'no' if each['failures'] else 'yes'} |"
        )
    if per_line:
        whole = 1000 * sum(cpu for cpu, _ in per_line) / sum(count for _, count in per_line)
        middle = statistics.median(1000 * cpu / count for cpu, count in per_line)
        lines.append(f"| all | {sum(cpu for cpu, _ in per_line):.0f} | {whole:.2f} (median {middle:.2f}) | | | | | | |")
    return lines


def _suites(rows: Sequence[tuple[Package, Summary]], numbers: Mapping[str, Any]) -> list[str]:
    lines = [
        "## Their test suites, before and after",
        "",
        "All changes of a level, in a copy; *worse*: tests that pass before and fail after. Tests that already fail before (most need an older TensorFlow, or files that the release",
        "does not contain) are not counted. Seconds are those of the whole suite, including imports and traces.",
        "",
        "| package | level | tests | pass before | pass after | worse | files changed | CPU s before | after |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    runs = [
        (package.name, level, each)
        for package, _ in rows
        for level, each in sorted(numbers["packages"].get(package.name, {}).get("refactor", {}).items())
    ]
    ran = bool(runs)
    for name, level, each in runs:
        before, after = each["seconds"]
        lines.append(
            f"| {name} | {level} | {each['tests']} | {each['passed'][0]} | {each['passed'][1]} | {len(each['worse'])} | "
            f"{each['changed_files']} | {before['cpu']:.0f} | {after['cpu']:.0f} |"
        )
    worse = [f"- {name}, {level}: `{test}`" for name, level, each in runs for test in each["worse"]]
    lines += ["", *(["Worse:", "", *worse] if worse else ["No test is worse." if ran else "Not run yet."]), ""]
    lines += [
        "## Types, compared with those in their tests",
        "",
        "By `python -m corpus accuracy`; [Accuracy](accuracy.md) defines the terms. Only functions of the package are compared; the analysis also sees the tests.",
        "",
        "| package | functions | what | number | recognised | sound | exact | wrong | false tensors |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for package, _ in rows:
        each = numbers["packages"].get(package.name, {}).get("accuracy")
        for kind, one in (each or {"kinds": {}})["kinds"].items():
            sound = one["exact"] + one["imprecise"]
            false = each["false_tensors"] if kind == "parameters" else ""
            lines.append(
                f"| {package.name} | {each['functions']} | {kind} | {one['number']} | {_share(one['recognised'], one['number'])} | "
                f"{_share(sound, one['number'])} | {_share(one['exact'], one['number'])} | {one['wrong']} | {false} |"
            )
    return lines


def _whole(numbers: Mapping[str, Any]) -> list[str]:
    """The time of the last whole evaluation."""
    if "whole" not in numbers:
        return []
    parts, machine = numbers["whole"]["parts"], numbers["whole"]["machine"]
    rows = [*parts.items(), ("total", {kind: sum(each[kind] for each in parts.values()) for kind in ("wall", "cpu")})]
    return [
        "## Time of the evaluation",
        "",
        f"Minutes of one run of `python -m corpus all`, {machine['date']}, {machine['processors']} processors (load at the end {machine['load']});",
        "`make coexec` takes another quarter of an hour.",
        "",
        "| part | wall time | processor time |",
        "|---|---:|---:|",
        *(f"| {part} | {each['wall'] / 60:.1f} | {each['cpu'] / 60:.1f} |" for part, each in rows),
    ]


def _refactored(found: Summary, level: str) -> int:
    return sum(len(names) for names in found["refactored"][level].values())


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "–"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
