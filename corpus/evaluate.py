"""Effects of the refactorings on the programs of `corpus/programs`, measured by running them; the tables of docs/evaluation.md.

For each program and for the levels `safe` and `speculative` all proposed changes are applied together, and the
program is run before and after with everything recorded: exit code, output, global variables, and each call of each
changed function. Unchanged functions are tried (`corpus.trying`). None of this is timed, so programs run in parallel,
one per processor (`corpus.beside`). Then the programs are timed one after the other in pairs of runs, one before and
one after, in separate processes and without recording: until two pairs agree, or `--rounds` are done. Numbers go to
`docs/evaluation.json`, from which the page is written; a run for some programs replaces their numbers only.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from corpus.beside import on_each_processor
from corpus.expectations import Program, decisions_of, disagreements, programs, said
from corpus.prose import wrap
from corpus.recorder.tables import table as types_table
from corpus.trying import SHARE, tried
from terra_refactor.config import Config
from terra_refactor.verify.session import Setting, verify_changes
from terra_refactor.verify.verdict import FunctionVerdict, Limits, Verification
from terra_refactor.workspace.results import FixReport
from terra_refactor.workspace.workspace import Options, fix

DOCS = Path(__file__).resolve().parents[1] / "docs"
NUMBERS = DOCS / "evaluation.json"
PAGE = DOCS / "evaluation.md"
LEVELS = ("safe", "speculative")
SLOWER = 1.05
AGREE = 1.1
"""Two pairs of runs agree if their ratios differ by at most this factor, and neither is close to 1."""
TYPICAL = 8.0
"""Assumed seconds of a program that was never timed."""
KINDS = ("safety", "class", "action", "type", "precision")
"""Kinds of disagreements, see `corpus.expectations`."""


def evaluate(names: Sequence[str], rounds: int) -> int:
    """Runs, measures, and writes the page. Returns 1 if a program is broken or behaves differently."""
    data = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {"programs": {}}
    chosen = [program for program in programs() if not names or program.name in names]
    longest = sorted(chosen, key=lambda program: _spent(data["programs"].get(program.name, {})), reverse=True)
    for program, entry in on_each_processor(compared, longest):
        print(f"{program.name}: {', '.join(f'{level} {_result(entry[level])}' for level in LEVELS)}", flush=True)
        data["programs"][program.name] = entry
        _keep(data)
    for program in chosen:
        print(f"{program.name} is timed ...", flush=True)
        entry = data["programs"][program.name]
        time_program(entry, program, rounds)
        if entry["tensorflow"] is not None:  # None: there was nothing to run
            data["machine"] = _machine(entry)
        _keep(data)
    return write_page(data)


def _spent(entry: dict[str, Any]) -> float:
    """Estimated time of a program, from its last evaluation. The longest program is started first."""
    seconds = max(entry.get(level, {}).get("seconds", [TYPICAL])[0] for level in LEVELS)
    return float(seconds) * (2 + len(entry.get("tried", ())))


def _result(entry: dict[str, Any]) -> str:
    return "the same" if entry["difference"] is None else f"different: {entry['difference']}"


def _keep(data: dict[str, Any]) -> None:
    NUMBERS.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")


def try_all(names: Sequence[str]) -> int:
    """Repeats the trials (`corpus.trying`), and writes the page."""
    data = json.loads(NUMBERS.read_text())
    chosen = [program for program in programs() if not names or program.name in names]
    for program, found in on_each_processor(tried, chosen):
        print(f"{program.name} ...", flush=True)
        data["programs"][program.name]["tried"] = found
        _keep(data)
    return write_page(data)


def write_page(data: dict[str, Any]) -> int:
    """Compares the current analysis with the reviewers, and writes the page from the stored numbers. Returns 1 if a program was broken."""
    kept = {program.name: data["programs"].get(program.name, {}) | agreement(program) for program in programs()}
    data["programs"] = kept
    NUMBERS.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(data))
    broken = [
        name for name, entry in kept.items() for level in LEVELS if level in entry and entry[level]["difference"]
    ]
    return 1 if broken else 0


def renew_page() -> None:
    """Writes the page from the stored numbers, without measuring."""
    PAGE.write_text(page(json.loads(NUMBERS.read_text(encoding="utf-8"))), encoding="utf-8")


def _machine(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "tensorflow": entry["tensorflow"],
        "python": sys.version.split()[0],
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "date": time.strftime("%Y-%m-%d"),
    }


def agreement(program: Program) -> dict[str, Any]:
    """The answers of the analysis about one program, compared with a reviewer's expectations."""
    decisions = decisions_of(program)
    found = list(disagreements(program, decisions))
    return {
        "title": program.title,
        "functions": len(program.expectations),
        "disagreements": [said(each) for each in found],
        "kinds": {kind: sum(each.kind == kind for each in found) for kind in KINDS},
        "pays": sorted(f"{each.file}:{each.qualname}" for each in program.expectations if each.pays),
    }


def compared(program: Program) -> dict[str, Any]:
    """All untimed results for one program."""
    entry: dict[str, Any] = {"tensorflow": None}
    plans = {level: plan(program, level) for level in LEVELS}
    for level in LEVELS:
        if level != LEVELS[0] and _texts(plans[level]) == _texts(plans[LEVELS[0]]):
            entry[level] = entry[LEVELS[0]]
            continue
        recorded = run(plans[level], program, record=True)
        entry["tensorflow"] = recorded.tensorflow or entry["tensorflow"]
        assert recorded.program is not None or not recorded.functions
        entry[level] = {
            "difference": recorded.program.difference if recorded.program else None,
            "functions": {
                _key(program, verdict): {
                    "status": verdict.status.value,
                    "detail": verdict.detail,
                    "compared": verdict.compared,
                    "action": verdict.action.value,
                }
                for verdict in recorded.functions
            },
        }
    entry["tried"] = tried(program)
    return entry


def time_program(entry: dict[str, Any], program: Program, rounds: int) -> None:
    """Adds the times of a program and its changed functions, before and after."""
    plans = {level: plan(program, level) for level in LEVELS}
    for level in LEVELS:
        if level != LEVELS[0] and _texts(plans[level]) == _texts(plans[LEVELS[0]]):
            entry[level] = entry[LEVELS[0]]
        elif entry[level]["functions"]:
            _time(entry[level], plans[level], program, rounds)


def _time(entry: dict[str, Any], fixed: FixReport, program: Program, rounds: int) -> None:
    """Pairs of runs; the medians of the pairs' ratios."""
    seconds, cpu = [], []
    calls: dict[str, list[FunctionVerdict]] = {}
    for _ in range(rounds):
        timed = run(fixed, program, record=False)
        assert timed.program is not None
        seconds.append(timed.program.seconds)
        cpu.append(timed.program.cpu)
        for verdict in timed.functions:
            calls.setdefault(_key(program, verdict), []).append(verdict)
        ratios = [before / after for before, after in seconds if before and after]
        if len(ratios) > 1 and max(ratios) <= AGREE * min(ratios) and min(ratios) > SLOWER:
            break
    entry["pairs"] = len(seconds)
    entry["seconds"] = [_median(pair[side] for pair in seconds) for side in (0, 1)]
    entry["cpu"] = [_median(pair[side] for pair in cpu) for side in (0, 1)]
    entry["ratio"] = _median(before / after for before, after in seconds if before and after)
    for key, verdicts in calls.items():
        function = entry["functions"][key]
        function["before"] = _median(each.before.median for each in verdicts)
        function["after"] = _median(each.after.median for each in verdicts)
        function["speedup"] = _median(each.speedup for each in verdicts)
        function["calls"] = verdicts[0].after.calls
        function["tracing"] = _median(each.after.tracing for each in verdicts)


def plan(program: Program, level: str) -> FixReport:
    """The tool's changes, in the program's folder."""
    before = os.getcwd()
    os.chdir(program.folder)
    try:
        return fix(["."], Options(Config(jobs=1, level=level), use_cache=False))
    finally:
        os.chdir(before)


def _texts(fixed: FixReport) -> dict[str, str]:
    return {file.source.path: file.new_text for file in fixed.files if file.changed}


def run(fixed: FixReport, program: Program, *, record: bool) -> Verification:
    """Runs both versions of the program once."""
    setting = Setting(sys.executable, program.script, Limits(run_seconds=600), record=record)
    before = os.getcwd()
    os.chdir(program.folder)
    try:
        return verify_changes(fixed.files, fixed.report.decisions, fixed.report.sources, setting)
    finally:
        os.chdir(before)


def _key(program: Program, verdict: FunctionVerdict) -> str:
    return f"{verdict.path}:{verdict.qualname}"


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


# --- the page --------------------------------------------------------------------------------------------------------------------------


def page(data: dict[str, Any]) -> str:
    """docs/evaluation.md."""
    everything = sorted(data["programs"].items())
    entries = [(name, entry) for name, entry in everything if all(level in entry for level in LEVELS)]
    unmeasured = [name for name, entry in everything if not all(level in entry for level in LEVELS)]
    machine = data["machine"]
    lines = [
        "# Evaluation",
        "",
        "Written by `python -m corpus evaluate`; the numbers are in `evaluation.json`. "
        f"TensorFlow {machine['tensorflow']}, Python {machine['python']}, {machine['processors']} processors, no GPU, {machine['date']}.",
        "",
        "The programs are in `corpus/programs`; each runs before and after all changes of a level, in separate processes. "
        "*The same* means that exit code, output and global variables at the end agree; the calls of each changed function are compared, too, in a table of "
        "their own ([how they are compared](verify.md#how-it-compares)). Times are medians of paired runs without the import of TensorFlow; *speed-up* is the time before divided by "
        "the time after, including tracing for programs, and without it for single calls. Programs have two speed-ups: in wall time, and in processor "
        "time (of all threads), which other work on the machine disturbs less"
        + (f"; the machine was busy (load {machine['load']})." if machine.get("load", 0) > 1.5 else "."),
        "",
        *_summary(entries, everything),
        "",
        *([f"Not run yet: {', '.join(unmeasured)}.", ""] if unmeasured else []),
        "## Programs",
        "",
        "| program | level | changed functions | result | seconds before | after | speed-up | in processor time |",
        "|---|---|---:|---|---:|---:|---:|---:|",
    ]
    for name, entry in entries:
        for level in LEVELS:
            found = entry[level]
            seconds = found.get("seconds", [None, None])
            result = "the same" if found["difference"] is None else f"**different**: {_cell(found['difference'])}"
            changed = len(found["functions"])
            lines.append(
                f"| {name}: {entry['title']} | {level} | {changed} | {result if changed else 'nothing to change'} | "
                f"{_number(seconds[0])} | {_number(seconds[1])} | {_ratio(found.get('ratio'))} | {_ratio(_cpu_ratio(found))} |"
            )
    lines += [
        "",
        "## Changed functions",
        "",
        "At `speculative`, which includes those of `safe`. The time of a call is the median of all calls that trace nothing.",
        "",
        "| function | result | calls | ms a call before | after | speed-up | tracing, s |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for name, entry in entries:
        for key, function in sorted(entry["speculative"]["functions"].items()):
            detail = f": {_cell(function['detail'])}" if function["detail"] else ""
            lines.append(
                f"| {name}/{key} | {function['status']}{detail} | {function.get('calls', '')} | "
                f"{_number(function.get('before'), 1000)} | {_number(function.get('after'), 1000)} | "
                f"{_ratio(function.get('speedup'))} | {_number(function.get('tracing'))} |"
            )
    lines += ["", *_tried(entries)]
    lines += [
        "",
        "## Types",
        "",
        "Types of parameters and results according to the analysis, compared with those recorded while these programs, those of `corpus/typed` and `corpus/coexec` and the demo ran "
        "(`python -m corpus record`, then `types`); [Accuracy](accuracy.md) defines the terms. *Precision*: the share of parameters reported as tensors that received one.",
        "",
        *types_table(),
    ]
    lines += ["", "## Where the analysis and the reviewer disagree", ""]
    told = [each for _, entry in everything for each in entry["disagreements"]]
    lines += [f"- {_cell(each)}" for each in told] or ["Nowhere."]
    return wrap("\n".join(lines) + "\n")


def _summary(
    entries: Sequence[tuple[str, dict[str, Any]]], everything: Sequence[tuple[str, dict[str, Any]]]
) -> list[str]:
    functions = sum(entry["functions"] for _, entry in everything)
    kinds = {kind: sum(entry["kinds"][kind] for _, entry in everything) for kind in KINDS}
    lines = ["| | |", "|---|---|", f"| programs | {len(everything)}, with {functions} functions; {len(entries)} of them run |"]
    for level in LEVELS:
        found = [entry[level] for _, entry in entries]
        changed = [each for each in found if each["functions"]]
        broken = sum(each["difference"] is not None for each in found)
        ratios = [each["ratio"] for each in changed if each.get("ratio")]
        cpu = [ratio for each in changed if (ratio := _cpu_ratio(each)) is not None]
        slower = [sum(ratio < 1 / SLOWER for ratio in kind) for kind in (ratios, cpu)]
        lines.append(
            f"| `--level {level}` | {len(changed)} programs changed, {broken} of them broken or different, slower by more than 5%: {slower[0]} in wall time, "
            f"{slower[1]} in processor time; speed-up of whole programs {_ratio(_geometric(ratios))} in wall time, "
            f"{_ratio(_geometric(cpu))} in processor time (geometric means) |"
        )
    statuses = [function["status"] for _, entry in entries for function in entry["speculative"]["functions"].values()]
    lines.append(f"| changed functions with a difference in a compared call | {statuses.count('different')} of {len(statuses)} |")
    speedups = [
        function["speedup"]
        for _, entry in entries
        for function in entry["speculative"]["functions"].values()
        if function.get("speedup")
    ]
    lines.append(
        f"| speed-up of changed functions, per call | {_ratio(_geometric(speedups))} geometric, "
        f"{_ratio(statistics.mean(speedups) if speedups else None)} arithmetic mean, {len(speedups)} functions measured |"
    )
    paying = [(entry, key) for _, entry in entries for key in entry["pays"]]
    converted = {level: sum(key in entry[level]["functions"] for entry, key in paying) for level in LEVELS}
    lines.append(
        f"| functions that a reviewer expects to pay | {len(paying)}; converted at `safe`: {converted['safe']}, "
        f"at `speculative`: {converted['speculative']} |"
    )
    lines += _paying_by_trying(entries)
    agreed = functions - kinds["action"]
    lines.append(f"| called safe, but unsafe for the reviewer | {kinds['safety']} of {functions} functions |")
    lines.append(f"| called unsafe, but safe for the reviewer | {kinds['class']} |")
    lines.append(f"| agreement on the action | {agreed} of {functions} ({100 * agreed / functions:.1f}%) |" if functions else "")
    lines.append(f"| parameter types that contradict the reviewer / that are less precise | {kinds['type']} / {kinds['precision']} |")
    return lines


def _tried(entries: Sequence[tuple[str, dict[str, Any]]]) -> list[str]:
    """The functions left unchanged that were decorated individually."""
    lines = [
        "## Unchanged functions, tried as graphs",
        "",
        f"This checks whether the tool misses functions that would pay. After all changes of `speculative`, each remaining function that takes at least {100 * SHARE:.0f}% of the program's time "
        f"(with callees, outside of graphs) was decorated alone. *Pays* means that the program behaves the same and takes more than {100 * SHARE:.0f}% less processor time. A function is not measured again if the program fails, or is not faster in the first run.",
        "",
        "| function | class | share of the time | speed-up in processor time | pays |",
        "|---|---|---:|---:|---|",
    ]
    for name, entry in entries:
        for each in entry.get("tried", []):
            why = f"no: {_cell(each['difference'])[:160]}" if each["difference"] else "**yes**" if each["pays"] else "no"
            lines.append(f"| {name}/{each['function']} | {each['classification']} | {100 * each['share']:.0f}% | {_ratio(each['ratio'])} | {why} |")
    untried = [name for name, entry in entries if "tried" not in entry]
    return lines + ([f"\nNot tried yet: {', '.join(untried)}."] if untried else [])


def _paying_by_trying(entries: Sequence[tuple[str, dict[str, Any]]]) -> list[str]:
    """The row about functions that pay off: converted ones whose calls save more than their traces cost, and those
    found by trying.
    """
    converted = {
        level: sum(_saves(function) for _, entry in entries if "tried" in entry for function in entry[level]["functions"].values())
        for level in LEVELS
    }
    missed = sum(each["pays"] for _, entry in entries for each in entry.get("tried", []))
    total = converted["speculative"] + missed
    if not total:
        return []
    return [
        f"| functions that pay when tried (below) | {total}; converted at `safe`: {converted['safe']}, at `speculative`: {converted['speculative']} "
        f"({100 * converted['speculative'] / total:.0f}%) |"
    ]


def _saves(function: dict[str, Any]) -> bool:
    before, after = function.get("before"), function.get("after")
    return bool(before and after and function["calls"] * (before - after) > (function.get("tracing") or 0.0))


def _cpu_ratio(found: dict[str, Any]) -> float | None:
    before, after = found.get("cpu", (None, None))
    return before / after if before and after else None


def _geometric(values: Sequence[float]) -> float | None:
    return math.exp(statistics.mean(math.log(value) for value in values)) if values else None


def _number(value: float | None, factor: float = 1.0) -> str:
    return "" if value is None else f"{value * factor:.2f}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}×"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


