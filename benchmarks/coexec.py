"""Times the ten programs of corpus/coexec eagerly, with `tf.function` and with the co-execution shim, each with and without XLA.

Every mode of a program runs in a process of its own, so that what the shim installs cannot slow the others. The processes
of one program live side by side and take turns, one block of steps each, so that every mode meets the same disturbances; a
speed-up is the median, over the rounds, of eager time by the mode's time in that round. A block ends when its last result
and the last variable have been read, so that asynchronous work is counted.

`--check` compares instead of timing: in float64, results, printed text, Python objects and variables of every mode
against eager execution, to 1e-10 relative; exit code 1 if the shim differs anywhere.

Run as `python benchmarks/coexec.py`; see `--help`. Writes a CSV file and an SVG plot when asked to.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import math
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from corpus.coexec import program as programs

MODES = ("eager", "tf.function", "shim", "tf.function+xla", "shim+xla")
# Warm-up steps, rounds and steps a round; the warm-up is long enough to meet every path of a program more than once.
PLANS = {"small": (48, 7, 8), "large": (16, 3, 4)}
# The same where the time is limited (`--minutes`).
SHORT_PLANS = {"small": (40, 5, 6), "large": (8, 3, 2)}
CHECK_STEPS = 60
MARKS = ("<!-- coexec: begin -->", "<!-- coexec: end -->")


@dataclass(frozen=True, slots=True)
class Measurement:
    """How fast one program was in one mode.

    warm_up: seconds for the first steps, compilation included
    blocks: milliseconds a step, one number a round; empty if the program could not run
    beside: the same of the eager process that took turns with this one
    error: what it raised, in one line
    """

    program: str
    size: str
    mode: str
    warm_up: float
    blocks: tuple[float, ...]
    beside: tuple[float, ...] = ()
    error: str = ""

    @property
    def milliseconds(self) -> float:
        return statistics.median(self.blocks) if self.blocks else math.nan


class Worker:
    """A process that runs one program in one mode, on demand."""

    def __init__(self, program: str, size: str, dtype: str, mode: str) -> None:
        self.mode = mode
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--worker", program, size, dtype, mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if not os.environ.get("COEXEC_STDERR") else None,
            text=True,
        )
        self.error = ""

    def ask(self, command: str, *arguments: Any) -> Any:
        """The worker's answer, or None after an error, which is then in `error`; a failed worker is asked nothing more."""
        if self.error:
            return None
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps([command, *arguments]) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer = json.loads(line) if line else {"error": f"the process ended, code {self._process.wait()}"}
        self.error = answer.get("error", "")
        return answer.get("value")

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def work(name: str, size: Any, dtype: str, mode: str) -> None:
    """The other side of `Worker`: answer commands from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a program or TensorFlow prints must not mix with the answers
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (for the life of the process)

    program = programs.build(name, size, dtype)
    step = wrap(program.step, mode)
    done = 0
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        try:
            if command == "run":
                batches = list(program.arguments(arguments[0], start=done))
                started = time.perf_counter()
                for batch in batches:
                    result = step(*batch)
                programs.to_host([result, program.variables[-1]])
                value: Any = time.perf_counter() - started
                done += arguments[0]
            elif command == "record":
                value = None
                Path(arguments[1]).write_bytes(pickle.dumps(programs.record(program, arguments[0], step)))
            elif command == "report":
                from terra_refactor.runtime import report  # noqa: PLC0415 (see `wrap`)

                value = str(report())
            else:
                raise ValueError(f"unknown command {command!r}")
            answer = {"value": value}
        except Exception as error:  # whatever a mode raises is its result
            last_line = next(filter(None, reversed(str(error).strip().splitlines())), "")
            answer = {"error": f"{type(error).__name__}: {last_line.strip()[:200]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def wrap(step: Any, mode: str) -> Any:
    """The step, made to run in a mode."""
    if mode == "eager":
        return step
    if mode.startswith("tf.function"):
        return tf.function(step, jit_compile=True if mode.endswith("+xla") else None)
    # Only here: a process that does not run the shim must not have it at all.
    from terra_refactor.runtime import co_execute  # noqa: PLC0415

    return co_execute(xla=mode.endswith("+xla"))(step)


def measure(
    program: str, size: str, modes: Sequence[str], plan: tuple[int, int, int], reports: bool
) -> list[Measurement]:
    """Time one program in the given modes, all against eager."""
    warm_up, rounds, steps = plan
    workers = [Worker(program, size, "float32", mode) for mode in modes]
    try:
        warm = {w.mode: w.ask("run", warm_up) for w in workers}
        blocks: dict[str, list[float]] = {mode: [] for mode in modes}
        for i in range(rounds):
            # Every other round goes the other way, so that nobody always follows the same neighbour.
            for worker in workers if i % 2 == 0 else reversed(workers):
                seconds = worker.ask("run", steps)
                if seconds is not None:
                    blocks[worker.mode].append(1000 * seconds / steps)
        if reports:
            for worker in workers:
                if worker.mode.startswith("shim"):
                    print(f"--- {program}, {size}, {worker.mode}\n{worker.ask('report') or worker.error}")
        return [
            Measurement(
                program,
                size,
                w.mode,
                warm[w.mode] or math.nan,
                tuple(blocks[w.mode]) if not w.error else (),
                tuple(blocks["eager"]),
                w.error,
            )
            for w in workers
        ]
    finally:
        for worker in workers:
            worker.close()


def speed_up(measurements: Iterable[Measurement], mode: str, over: str = "eager") -> float:
    """The median over the rounds of `over`'s time by the mode's time; not a number where one of them is missing."""
    by_mode = {m.mode: m for m in measurements}
    if mode not in by_mode or over not in by_mode:
        return math.nan
    slower = by_mode[mode].beside if over == "eager" else by_mode[over].blocks
    pairs = list(zip(slower, by_mode[mode].blocks, strict=False))
    return statistics.median(a / b for a, b in pairs) if pairs else math.nan


def geometric_mean(values: Iterable[float]) -> float:
    real = [v for v in values if not math.isnan(v)]
    return math.exp(statistics.fmean(map(math.log, real))) if real else math.nan


def show(groups: Sequence[list[Measurement]], modes: Sequence[str], outcomes: Mapping[str, str]) -> None:
    """Print one row for each program and size, and the geometric means."""
    table = Table(title="milliseconds a step (times eager); * = runs, but gives something else than eager")
    table.add_column("program")
    for mode in modes:
        table.add_column(mode, justify="right")
    table.add_column("shim by tf.function", justify="right")
    for row in rows(groups, modes, outcomes):
        table.add_row(*row)
    Console(width=150).print(table)


def rows(groups: Sequence[list[Measurement]], modes: Sequence[str], outcomes: Mapping[str, str]) -> list[list[str]]:
    """One row for each program and size, then the geometric means: name, one cell a mode, the shim by `tf.function`."""
    found = []
    for group in groups:
        row = [f"{group[0].program} {group[0].size}"]
        by_mode = {m.mode: m for m in group}
        for mode in modes:
            m = by_mode.get(mode)
            if m is None:
                row.append("not measured")
            elif m.error:
                row.append(m.error.split(":")[0])
            else:
                star = "*" if mode.startswith("tf.function") and outcomes[m.program] == "differs" else ""
                times = "" if mode == "eager" else f" ({speed_up(group, mode):.2f}×){star}"
                row.append(f"{m.milliseconds:.2f}{times}")
        agrees = outcomes[group[0].program] == "agrees"
        ratio = speed_up(group, "shim", over="tf.function") if agrees else math.nan
        found.append([*row, "" if math.isnan(ratio) else f"{ratio:.2f}"])
    for size in dict.fromkeys(group[0].size for group in groups):
        row = [f"geometric mean, {size}"]
        for mode in modes:
            mean = geometric_mean(speed_up(group, mode) for group in groups if group[0].size == size)
            row.append("" if mode == "eager" or math.isnan(mean) else f"{mean:.2f}×")
        found.append([*row, ""])
    return found


def document(
    path: Path, groups: Sequence[list[Measurement]], modes: Sequence[str], outcomes: Mapping[str, str]
) -> None:
    """Put the table between the two marks of a page; written whole or not at all.

    Raises:
        ValueError: the page has no such marks.
    """
    page = path.read_text(encoding="utf-8")
    before, found, rest = page.partition(MARKS[0])
    _, closed, after = rest.partition(MARKS[1])
    if not found or not closed:
        raise ValueError(f"{path} has no place for the table: the lines {MARKS[0]} and {MARKS[1]}")
    heads = ["program", *modes, "shim by `tf.function`"]
    lines = [heads, ["---", *["---:"] * (len(modes) + 1)], *rows(groups, modes, outcomes)]
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    said = (
        f"Milliseconds a step (times as fast as eager), TensorFlow {tf.__version__}, {os.cpu_count()} cores, float32, load of the "
        f"machine at the end {load}. * runs, but gives something else than eager execution.\n"
    )
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    scratch = path.with_name(path.name + ".part")
    scratch.write_text(f"{before}{MARKS[0]}\n{said}\n{table}\n{MARKS[1]}{after}", encoding="utf-8")
    scratch.replace(path)


def passes(sizes: Sequence[str], modes: Sequence[str]) -> list[tuple[str, list[str]]]:
    """What to measure first when the time may not be enough for all: (size, modes)."""
    plain = [mode for mode in modes if not mode.endswith("+xla")]
    compiled = ["eager", *(mode for mode in modes if mode.endswith("+xla"))]
    found = [(size, plain) for size in sizes] if len(plain) > 1 else []
    return found + ([(size, compiled) for size in sizes] if len(compiled) > 1 else [])


def merged(groups: Sequence[list[Measurement]]) -> list[list[Measurement]]:
    """One group for each program and size, one measurement for each mode."""
    found: dict[tuple[str, str], dict[str, Measurement]] = {}
    for group in groups:
        for m in group:
            found.setdefault((m.size, m.program), {}).setdefault(m.mode, m)
    return [list(by_mode.values()) for by_mode in found.values()]


def write_csv(path: Path, groups: Sequence[list[Measurement]], outcomes: Mapping[str, str]) -> None:
    """One row for each program, size and mode; written whole or not at all."""
    scratch = path.with_name(path.name + ".part")
    with scratch.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "program",
                "size",
                "mode",
                "ms_per_step",
                "times_eager",
                "warm_up_s",
                "ms_by_round",
                "same_as_eager",
                "error",
            ]
        )
        for group in groups:
            for m in group:
                differs = m.error or (m.mode.startswith("tf.function") and outcomes[m.program] != "agrees")
                writer.writerow(
                    [
                        m.program,
                        m.size,
                        m.mode,
                        f"{m.milliseconds:.4g}",
                        f"{speed_up(group, m.mode):.4g}",
                        f"{m.warm_up:.3g}",
                        " ".join(f"{b:.4g}" for b in m.blocks),
                        "no" if differs else "see --check" if m.mode.startswith("shim") else "yes",
                        m.error,
                    ]
                )
    scratch.replace(path)


def write_plot(path: Path, groups: Sequence[list[Measurement]], modes: Sequence[str]) -> None:
    """Bars of the speed-up over eager, on a logarithmic axis, as SVG; written whole or not at all."""
    colours = {"tf.function": "#9aa5b1", "shim": "#2f6fde", "tf.function+xla": "#d5b48c", "shim+xla": "#e07a1f"}
    drawn = [mode for mode in modes if mode != "eager"]
    bar, gap, left, top, height = 9, 16, 56, 40, 260
    values = {(i, mode): speed_up(group, mode) for i, group in enumerate(groups) for mode in drawn}
    real = [v for v in values.values() if not math.isnan(v)]
    highest = max([2.0, *real]) * 1.1
    lowest = min([0.8, *real]) * 0.9
    scale = height / math.log(highest / lowest)

    def at(value: float) -> float:
        return top + height - math.log(value / lowest) * scale

    step = bar * len(drawn) + gap
    width = left + step * len(groups) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top + height + 170}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for i, mode in enumerate(drawn):
        parts.append(f'<rect x="{left + 130 * i}" y="12" width="10" height="10" fill="{colours[mode]}"/>')
        parts.append(f'<text x="{left + 14 + 130 * i}" y="21">{mode}</text>')
    for tick in (0.5, 1, 2, 5, 10, 20, 50, 100):
        if lowest <= tick <= highest:
            y = at(tick)
            colour = "#333" if tick == 1 else "#ddd"
            parts.append(f'<line x1="{left}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}"/>')
            parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}×</text>')
    for i, group in enumerate(groups):
        x = left + gap / 2 + step * i
        for j, mode in enumerate(drawn):
            value = values[i, mode]
            if math.isnan(value):
                continue
            high, low = sorted((at(value), at(1.0)))
            parts.append(
                f'<rect x="{x + bar * j:.1f}" y="{high:.1f}" width="{bar - 1}" height="{max(low - high, 1):.1f}" '
                f'fill="{colours[mode]}"><title>{group[0].program} {group[0].size}, {mode}: {value:.2f}×</title></rect>'
            )
        label_x, label_y = x + bar * len(drawn) / 2, top + height + 14
        parts.append(
            f'<text x="{label_x:.1f}" y="{label_y}" text-anchor="end" transform="rotate(-55 {label_x:.1f} {label_y})">'
            f"{group[0].program} {group[0].size}</text>"
        )
    parts.append("</svg>\n")
    scratch = path.with_name(path.name + ".part")
    scratch.write_text("\n".join(parts), encoding="utf-8")
    scratch.replace(path)


def check(program: str, size: str, modes: Sequence[str], steps: int) -> dict[str, str]:
    """Compare every mode with eager in float64: "same", or the first difference or error, by mode.

    One process at a time, so that the machine's memory and cores are for one run.
    """
    records, verdicts = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("eager", *(m for m in modes if m != "eager")):
            path = Path(folder, f"{mode}.pickle")
            worker = Worker(program, size, "float64", mode)
            try:
                worker.ask("record", steps, str(path))
            finally:
                worker.close()
            if worker.error:
                verdicts[mode] = f"raises {worker.error}"
                continue
            records[mode] = pickle.loads(path.read_bytes())
            if "eager" in records:
                verdicts[mode] = programs.first_difference(records["eager"], records[mode]) or "same"
    return verdicts


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--programs", default=",".join(programs.NAMES), help="names with commas between; default: all ten"
    )
    parser.add_argument("--size", choices=["small", "large", "both"], help="default: both, for --check small")
    parser.add_argument("--modes", default=",".join(MODES), help=f"default: {','.join(MODES)}; eager always runs")
    parser.add_argument("--steps", type=int, help=f"steps in a timed block, or with --check in all ({CHECK_STEPS})")
    parser.add_argument("--rounds", type=int, help="timed blocks of every mode")
    parser.add_argument("--warm-up", type=int, help="untimed steps before")
    parser.add_argument("--check", action="store_true", help="compare with eager in float64 instead of timing")
    parser.add_argument("--report", action="store_true", help="print the shim's own report for every program")
    parser.add_argument("--minutes", type=float, help="begin nothing new after so many minutes, most important first")
    parser.add_argument("--document", type=Path, help="put the table between the marks of this page")
    parser.add_argument("--csv", type=Path, help="write the numbers to this file")
    parser.add_argument("--plot", type=Path, help="write a plot of the speed-ups to this SVG file")
    options = parser.parse_args(argv)
    names = options.programs.split(",")
    modes = ["eager", *(m for m in options.modes.split(",") if m != "eager")]
    for given, known in ((names, programs.NAMES), (modes, MODES)):
        if unknown := sorted(set(given) - set(known)):
            parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")

    if options.check:
        wrong = 0
        for name in names:
            for size in ["small", "large"] if options.size == "both" else [options.size or "small"]:
                for mode, verdict in check(name, size, modes, options.steps or CHECK_STEPS).items():
                    if mode == "eager" and verdict == "same":
                        continue
                    print(f"{name} {size} {mode}: {verdict}", flush=True)
                    wrong += verdict != "same" and not mode.startswith("tf.function")
        return 1 if wrong else 0

    sizes = ["small", "large"] if options.size in (None, "both") else [options.size]
    started = time.monotonic()
    groups = []
    for size, some in passes(sizes, modes) if options.minutes else [(size, modes) for size in sizes]:
        warm_up, rounds, steps = (SHORT_PLANS if options.minutes else PLANS)[size]
        plan = (
            warm_up if options.warm_up is None else options.warm_up,
            options.rounds or rounds,
            options.steps or steps,
        )
        for name in names:
            if options.minutes and time.monotonic() - started > 60 * options.minutes:
                print(f"{name} {size} {', '.join(some)}: not measured, the time is up", file=sys.stderr, flush=True)
                continue
            groups.append(measure(name, size, some, plan, options.report))
            for m in groups[-1]:
                said = m.error or f"{m.milliseconds:.2f} ms a step, warm-up {m.warm_up:.1f} s"
                print(f"{name} {size} {m.mode}: {said}", file=sys.stderr, flush=True)
    groups = merged(groups)
    outcomes = {name: row.outcome for name, row in programs.expectations().items()}
    show(groups, modes, outcomes)
    if options.csv:
        write_csv(options.csv, groups, outcomes)
    if options.plot:
        write_plot(options.plot, groups, modes)
    if options.document:
        document(options.document, groups, modes, outcomes)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(*sys.argv[2:])
    else:
        sys.exit(main())
