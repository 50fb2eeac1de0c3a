"""Measures the cost of an analysis: compared with parsing the same files, warm, after a change, and compared with
other tools.

    python benchmarks/analysis.py FOLDER... [--peers BIN] [--growth 10 50 100]

For each folder, on a copy of its Python files, each command in a process of its own, in one run:

- `libcst.parse_module` on every file, in one process: the minimum for a tool that edits text;
- `terra-refactor analyze`, cold with one and with two jobs (no cache there), warm (nothing changed), and with one
  file changed;
- mypy, pyright and pylint with their defaults, without a cache, if `--peers` (a folder with their commands) has them.

`--growth` copies the files of the first folder side by side until there are so many thousand lines, and fits time = lines ** exponent.

The seconds are processor seconds of all processes of a command together, read ten times a second from `/proc` (so
this needs Linux): on a busy machine they are more meaningful than wall-clock time, which is given, too. Memory is the
largest sum over its processes, with shared memory counted once. The lines are those of all files, comments and blank
ones included. The report goes to standard output, as Markdown.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
INTERVAL = 0.1
"""Seconds between two readings."""
PARSE = """
import pathlib, sys, libcst
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    try:
        libcst.parse_module(path.read_bytes())
    except Exception:
        print("does not parse:", path)
"""
PEERS = {
    "mypy": (
        "--cache-dir=/dev/null",
        "--ignore-missing-imports",
        "--namespace-packages",
        "--explicit-package-bases",
        ".",
    ),
    "pyright": (".",),
    "pylint": ("--recursive=y", "--persistent=n", "--score=n", "."),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Time and memory of one command: processor seconds, wall-clock seconds, bytes."""

    cpu: float
    wall: float
    memory: int


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures what an analysis costs.")
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--peers", type=Path, help="a folder with the commands mypy, pyright and pylint")
    parser.add_argument("--growth", nargs="*", type=int, default=[], metavar="THOUSAND", help="sizes in thousand lines")
    parser.add_argument("--timeout", type=float, default=1200, help="seconds for one command (default: 1200)")
    options = parser.parse_args()
    print("| files | lines | what | CPU s | times parsing | wall s | peak MB |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for folder in options.folder:
        with tempfile.TemporaryDirectory() as scratch:
            for row in rows(folder, Path(scratch), options.peers, options.timeout):
                print(row, flush=True)
    if options.growth:
        print("\n| thousand lines | parsing, CPU s | cold, CPU s | warm, CPU s | peak MB |\n|---:|---:|---:|---:|---:|")
        costs: list[tuple[int, float]] = []
        for thousand in options.growth:
            with tempfile.TemporaryDirectory() as scratch:
                lines, parsing, cold, warm = grown(options.folder[0], Path(scratch), thousand * 1000, options.timeout)
            costs.append((lines, cold.cpu))
            print(
                f"| {lines / 1000:.0f} | {parsing.cpu:.1f} | {cold.cpu:.1f} | {warm.cpu:.1f} | {megabytes(cold)} |",
                flush=True,
            )
        if len(costs) > 1:
            print(f"\ntime = lines ** {exponent(costs):.2f}")
    return 0


def rows(folder: Path, scratch: Path, peers: Path | None, timeout: float) -> Iterator[str]:
    """The rows of one folder."""
    work = scratch / "files"
    copy(folder, work)
    lines = lines_of(work)
    parsing = parsed(work, scratch, timeout)

    def row(what: str, cost: Cost | None, note: str = "") -> str:
        head = f"| {folder.name} | {lines:,} | {what}"
        if cost is None:
            return f"{head} | {note} | | | |"
        return f"{head} | {cost.cpu:.1f} | {cost.cpu / parsing.cpu:.2f} | {cost.wall:.1f} | {megabytes(cost)} |"

    yield row("`libcst.parse_module`", parsing)
    yield row("cold, `--jobs 2`", analyzed(work, scratch / "two", timeout, jobs=2))
    yield row("cold, `--jobs 1`", analyzed(work, scratch / "one", timeout))
    yield row("warm", analyzed(work, scratch / "one", timeout))
    by_size = sorted(work.rglob("*.py"), key=lambda path: (path.stat().st_size, path))
    with by_size[len(by_size) // 2].open("a", encoding="utf-8") as changed:
        changed.write("\n_changed_by_the_benchmark = 1\n")
    yield row("one file changed", analyzed(work, scratch / "one", timeout))
    for name, arguments in PEERS.items():
        command = None if peers is None else shutil.which(name, path=str(peers))
        if command is None:
            yield row(name, None, "not installed")
            continue
        if subprocess.run([command, "--version"], capture_output=True, check=False).returncode:
            yield row(name, None, "does not run here")
            continue
        cost = measure([command, *arguments], work, scratch / "peer", timeout)
        yield row(name, cost, f"stopped after {timeout:.0f} s")


def grown(folder: Path, scratch: Path, wanted: int, timeout: float) -> tuple[int, Cost, Cost, Cost]:
    """Lines, and the costs of parsing, a cold and a warm analysis for that many lines of copies; the last copy is
    truncated to whole files.
    """
    work = scratch / "files"
    lines = number = 0
    while lines < wanted:
        number += 1
        for path in sorted(folder.rglob("*.py")):
            if lines >= wanted:
                break
            target = work / f"copy{number}" / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            lines += path.read_bytes().count(b"\n")
    parsing = parsed(work, scratch, timeout)
    cold = analyzed(work, scratch / "cache", timeout)
    return lines, parsing, cold, analyzed(work, scratch / "cache", timeout)


def exponent(costs: Sequence[tuple[int, float]]) -> float:
    """The slope of the regression line through the logarithms."""
    points = [(math.log(lines), math.log(seconds)) for lines, seconds in costs]
    middle = [sum(values) / len(points) for values in zip(*points, strict=True)]
    return sum((x - middle[0]) * (y - middle[1]) for x, y in points) / sum((x - middle[0]) ** 2 for x, _ in points)


def copy(folder: Path, target: Path) -> None:
    """The Python files and build configurations of a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (path.suffix == ".py" or path.name in ("pyproject.toml", "setup.cfg")):
            place = target / path.relative_to(folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)


def lines_of(folder: Path) -> int:
    """All lines of the Python files below a folder."""
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))


def parsed(work: Path, scratch: Path, timeout: float) -> Cost:
    """The time to parse every file."""
    return _finished(measure([sys.executable, "-c", PARSE, str(work)], work, scratch, timeout))


def analyzed(work: Path, cache: Path, timeout: float, jobs: int = 1) -> Cost:
    """Time and memory of `terra-refactor analyze`, with a cache of its own."""
    command = [
        sys.executable,
        "-m",
        "terra_refactor",
        "analyze",
        ".",
        "--format",
        "json",
        "--jobs",
        str(jobs),
        "--isolated",
    ]
    return _finished(measure(command, work, cache, timeout))


def _finished(cost: Cost | None) -> Cost:
    if cost is None:
        raise RuntimeError("not done in time; see --timeout")
    return cost


def measure(command: Sequence[str], work: Path, cache: Path, timeout: float) -> Cost | None:
    """Runs a command; None after a timeout. RuntimeError if it fails in another way than linters with findings."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "XDG_CACHE_HOME": str(cache), "NO_COLOR": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages are compiled once, not for each run
    started = time.perf_counter()
    seconds: dict[int, float] = {}
    peak = 0
    process = subprocess.Popen(command, cwd=work, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before = os.times()
    while process.poll() is None:
        if time.perf_counter() - started > timeout:
            process.kill()
            process.wait()
            return None
        used, held = usage_of(process.pid)
        seconds.update(used)
        peak = max(peak, held)
        time.sleep(INTERVAL)
    after = os.times()
    wall = time.perf_counter() - started
    if process.returncode < 0 or (process.returncode == 2 and "terra_refactor" in command):
        raise RuntimeError(f"{' '.join(command[:4])} ...: exit code {process.returncode}")
    # the system's own count of finished children is exact, but omits grandchildren that were never waited for
    waited = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(max(waited, sum(seconds.values())), wall, peak)


def usage_of(pid: int) -> tuple[dict[int, float], int]:
    """Processor seconds of a process and each of its descendants, and their total memory in bytes."""
    ticks = os.sysconf("SC_CLK_TCK")
    seconds: dict[int, float] = {}
    total = 0
    waiting = [pid]
    while waiting:
        number = waiting.pop()
        process = Path("/proc") / str(number)
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            seconds[number] = (int(fields[11]) + int(fields[12])) / ticks
            for line in (process / "smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
            for task in (process / "task").iterdir():
                waiting.extend(int(child) for child in (task / "children").read_text().split())
        except (OSError, ValueError):
            continue  # it ended meanwhile
    return seconds, total


def megabytes(cost: Cost) -> str:
    """Memory, formatted for display."""
    return f"{cost.memory / 1_000_000:.0f}"


if __name__ == "__main__":
    sys.exit(main())
