"""Measures the analysis on programs that run: `python -m corpus.recorder --help`.

`record ROOT OUTPUT (-m MODULE | SCRIPT) [ARGUMENT ...]` runs a program eagerly, with ROOT as the working folder, and writes the
recorded types. `compare RECORDING [...]` analyses the same files and prints the table; with `--list wrong` (or another verdict) every
item, too. A recording names its root, so several are compared in one call; those of one root are merged.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from corpus.recorder.compare import Comparison, Item, Score, Verdict, compare, merged, score, total
from corpus.recorder.recording import KINDS, record

HERE = Path(__file__).resolve().parent
LISTS = (*(verdict.value for verdict in Verdict), "unrecognised", "false", "unmatched")


def analyze(root: Path, paths: list[str]) -> Any:
    """The report of `analyze` on paths below a root."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    command = [sys.executable, "-m", "terra_refactor", "analyze", "--no-cache", "--format", "json", *paths]
    finished = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if finished.returncode not in (0, 3):
        raise SystemExit(f"error: analyze ended with {finished.returncode}: {finished.stderr.strip()}")
    return json.loads(finished.stdout)


def table(rows: list[tuple[str, Comparison]]) -> str:
    """The shares as a Markdown table."""
    lines = [
        "| program | functions | what | number | recognised | sound | exact | imprecise | unknown | wrong | false tensors |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, comparison in rows:
        for kind in KINDS:
            counted = score(getattr(comparison, kind))
            if counted.number:
                false = str(len(comparison.false_tensors)) if kind == "parameters" else ""
                lines.append(f"| {name} | {comparison.functions} | {kind} | {_cells(counted)} | {false} |")
    return "\n".join(lines)


def _cells(counted: Score) -> str:
    def share(number: int) -> str:
        return f"{100 * number / counted.number:.1f}%"

    return (
        f"{counted.number} | {share(counted.recognised)} | {share(counted.sound)} | {share(counted.exact)} | "
        f"{counted.imprecise} | {counted.unknown} | {counted.wrong}"
    )


def listed(comparison: Comparison, wanted: str) -> list[str]:
    """The items of one list, a line each."""
    if wanted == "false":
        return list(comparison.false_tensors)
    if wanted == "unmatched":
        return list(comparison.unmatched)
    items: list[tuple[str, Item]] = [(kind, item) for kind in KINDS for item in getattr(comparison, kind)]
    if wanted == "unrecognised":
        return [f"{kind}: {item}" for kind, item in items if not item.recognised]
    return [f"{kind}: {item}" for kind, item in items if item.verdict.value == wanted]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m corpus.recorder", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record", help="run a program and write what reaches its functions")
    recorder.add_argument("--python", default=sys.executable, help="the interpreter that runs the program")
    recorder.add_argument("--graphs", action="store_true", help="leave graphs as graphs")
    recorder.add_argument("root", type=Path)
    recorder.add_argument("output", type=Path)
    recorder.add_argument("program", nargs=argparse.REMAINDER)
    comparer = commands.add_parser("compare", help="analyse and compare")
    comparer.add_argument("recordings", nargs="+", type=Path)
    comparer.add_argument(
        "--paths", nargs="*", default=["."], help="what to analyse, from the root (default: all of it)"
    )
    comparer.add_argument("--only", default="", help="functions below this folder, from the root")
    comparer.add_argument("--usual", action="store_true", help="take the sizes of the run with all defaults")
    comparer.add_argument("--list", choices=LISTS, action="append", default=[], help="print these items, too")
    options = parser.parse_args()
    if options.command == "record":
        if not options.program:
            parser.error("no program to run")
        return record(options.root, options.output, options.program, options.python, not options.graphs)
    by_root: dict[str, list[Any]] = defaultdict(list)
    for path in options.recordings:
        recording = json.loads(path.read_text(encoding="utf-8"))
        by_root[recording["root"]].append(recording)
    rows: list[tuple[str, Comparison]] = []
    for root, recordings in sorted(by_root.items()):
        report = analyze(Path(root), options.paths)
        rows.append((Path(root).name, compare(merged(recordings), report, Path(root), options.only, usual=options.usual)))
    if len(rows) > 1:
        rows.append(("all", total([comparison for _, comparison in rows])))
    print(table(rows))
    for wanted in options.list:
        print(f"\n{wanted}:")
        for name, comparison in rows[: len(by_root)]:
            for line in listed(comparison, wanted):
                print(f"  {name}: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
