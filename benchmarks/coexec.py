"""Times the ten programs of corpus/coexec eagerly, with `tf.function` and with the co-execution shim, each with and without XLA.

Every mode of a program runs in a process of its own, so that the shim's hooks cannot slow the others; the processes
are forked from one that has imported TensorFlow and run nothing. Those of one program exist at the same time. First
each runs the same number of steps, until the shim records nothing new; then they take turns, one block of steps each,
so that every mode is affected by the same disturbances and runs the same steps. A speed-up is the median, over the
rounds, of eager time divided by the mode's time in that round. A block ends when its last result and the last
variable have been read, so that asynchronous work is included.

If time permits, every mode is also compared with eager execution in float64, small size: results, printed text,
Python objects and variables, to 1e-10 relative. A star marks a mode with a difference, a question mark one that was
not compared. `--check` does only this, over more steps; exit code 1 if the shim differs anywhere.

Run as `python benchmarks/coexec.py`; see `--help`. Writes a CSV file and an SVG plot when asked to.
"""

from __future__ import annotations

import argparse
import csv
import math
import multiprocessing
import os
import statistics
import sys
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
# Minimum and maximum steps of warm-up, rounds, and steps per round.
PLANS = {"small": (16, 64, 7, 8), "large": (4, 64, 3, 2)}
# The same with limited time (`--minutes`).
SHORT_PLANS = {"small": (12, 48, 5, 5), "large": (4, 48, 3, 1)}
# The warm-up ends when the shim has recorded nothing new for this many steps: a program that draws one of seven
# networks takes a while to draw all of them.
QUIET_STEPS = 8
CHECK_STEPS = 60
SHORT_CHECK_STEPS = 8
LEGEND = "* gives something else than eager execution (in float64), ? not compared"
MARKS = ("<!-- coexec: begin -->", "<!-- coexec: end -->")


@dataclass(frozen=True, slots=True)
class Measurement:
    """How fast one program was in one mode.

    warm_up: seconds for the first steps, compilation included, while the other modes warm up on the same machine
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


# Without fork each process imports TensorFlow itself, which takes longer but measures the same.
_PROCESSES: Any = multiprocessing.get_context(
    "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
)


class Worker:
    """A process that runs one program in one mode, on demand. After an error, stored in `error`, it gets no more commands."""

    def __init__(self, program: str, size: str, dtype: str, mode: str) -> None:
        self.mode = mode
        self.error = ""
        self._connection, other = _PROCESSES.Pipe()
        self._process = _PROCESSES.Process(target=work, args=(other, program, size, dtype, mode), daemon=True)
        self._process.start()
        other.close()

    def begin(self, command: str, *arguments: Any) -> None:
        """Sends a command without waiting."""
        if not self.error:
            try:
                self._connection.send((command, *arguments))
            except OSError:
                self._died()

    def end(self) -> Any:
        """The answer to `begin`; None after an error."""
        if self.error:
            return None
        try:
            self.error, value = self._connection.recv()
        except (EOFError, OSError):
            return self._died()
        return value

    def ask(self, command: str, *arguments: Any) -> Any:
        """`begin` and `end`."""
        self.begin(command, *arguments)
        return self.end()

    def _died(self) -> None:
        self._process.join(timeout=30)
        self.error = f"the process ended, code {self._process.exitcode}"

    def close(self) -> None:
        self._connection.close()
        self._process.join(timeout=30)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def work(connection: Any, name: str, size: Any, dtype: str, mode: str) -> None:
    """The other side of `Worker`: answers commands until the connection closes."""
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2) if not os.environ.get("COEXEC_STDERR") else (1,):
        os.dup2(silence, stream)  # programs and TensorFlow print
    program: Any = None
    step: Any = None
    done = 0

    def run(steps: int) -> None:
        nonlocal done
        batches = list(program.arguments(steps, start=done))
        for batch in batches:
            result = step(*batch)
        programs.to_host([result, program.variables[-1]])
        done += steps

    while True:
        try:
            command, *arguments = connection.recv()
        except EOFError:
            return
        value: Any = None
        try:
            if program is None:
                program = programs.build(name, size, dtype)
                step = wrap(program.step, mode)
            started = time.perf_counter()
            if command == "run":
                run(arguments[0])
                value = time.perf_counter() - started
            elif command == "settle":
                least, most = arguments
                run(least // 2)
                quiet = 0
                while done < most and (quiet < QUIET_STEPS or done < least):
                    quiet = 0 if _is_learning(run, 2) else quiet + 2
                value = done, time.perf_counter() - started
            elif command == "record":
                value = programs.record(program, arguments[0], step)
            elif command == "report":
                from terra_refactor.runtime import report  # noqa: PLC0415 (see `wrap`)

                value = str(report())
            else:
                raise ValueError(f"unknown command {command!r}")
            connection.send(("", value))
        except Exception as error:  # any exception of a mode is its result
            last_line = next(filter(None, reversed(str(error).strip().splitlines())), "")
            connection.send((f"{type(error).__name__}: {last_line.strip()[:200]}", None))


def _is_learning(run: Any, steps: int) -> bool:
    """Runs some steps; whether the shim recorded something new."""
    from terra_refactor.runtime.report import programs as co_executed  # noqa: PLC0415 (see `wrap`)

    def known() -> list[int]:
        return [number for each in co_executed() for number in (each.nodes, each.segments_built, each.asides_built)]

    before = known()
    run(steps)
    return known() != before


def wrap(step: Any, mode: str) -> Any:
    """The step wrapped for a mode."""
    if mode == "eager":
        return step
    if mode.startswith("tf.function"):
        return tf.function(step, jit_compile=True if mode.endswith("+xla") else None)
    # Only here: a process that does not run the shim must not import it at all.
    from terra_refactor.runtime import co_execute  # noqa: PLC0415

    return co_execute(xla=mode.endswith("+xla"))(step)


def measure(
    program: str, size: str, modes: Sequence[str], plan: tuple[int, int, int, int], reports: bool
) -> list[Measurement]:
    """Times one program in the given modes, all relative to eager."""
    least, most, rounds, steps = plan
    workers = [Worker(program, size, "float32", mode) for mode in modes]
    try:
        warm = warm_up(workers, least, most)
        blocks: dict[str, list[float]] = {mode: [] for mode in modes}
        for i in range(rounds):
            # Every other round has the reverse order, so that no mode always follows the same one.
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
                warm[w.mode],
                tuple(blocks[w.mode]) if not w.error else (),
                tuple(blocks["eager"]),
                w.error,
            )
            for w in workers
        ]
    finally:
        for worker in workers:
            worker.close()


def warm_up(workers: Sequence[Worker], least: int, most: int) -> dict[str, float]:
    """Runs every worker for the same number of steps, in parallel: as many as the shim needs to record.

    Returns seconds, by mode.
    """
    shims = [worker for worker in workers if worker.mode.startswith("shim")]
    for worker in shims:
        worker.begin("settle", least, most)
    taken = {worker.mode: worker.end() or (least, math.nan) for worker in shims}
    steps = max([least, *(done for done, _ in taken.values())])
    seconds = {mode: spent for mode, (_, spent) in taken.items()}
    ahead = {mode: done for mode, (done, _) in taken.items()}
    behind = [worker for worker in workers if ahead.get(worker.mode, 0) < steps]
    for worker in behind:
        worker.begin("run", steps - ahead.get(worker.mode, 0))
    for worker in behind:
        seconds[worker.mode] = seconds.get(worker.mode, 0.0) + (worker.end() or math.nan)
    return seconds


def speed_up(measurements: Iterable[Measurement], mode: str, over: str = "eager") -> float:
    """The median over the rounds of `over`'s time divided by the mode's time; NaN if one of them is missing."""
    by_mode = {m.mode: m for m in measurements}
    if mode not in by_mode or over not in by_mode:
        return math.nan
    slower = by_mode[mode].beside if over == "eager" else by_mode[over].blocks
    pairs = list(zip(slower, by_mode[mode].blocks, strict=False))
    return statistics.median(a / b for a, b in pairs) if pairs else math.nan


def geometric_mean(values: Iterable[float]) -> float:
    real = [v for v in values if not math.isnan(v)]
    return math.exp(statistics.fmean(map(math.log, real))) if real else math.nan


# (program, mode) -> "same", the difference from eager execution, or the exception; missing if not compared.
Verdicts = Mapping[tuple[str, str], str]


def show(groups: Sequence[list[Measurement]], modes: Sequence[str], verdicts: Verdicts) -> None:
    """Print one row for each program and size, and the geometric means."""
    table = Table(title=f"milliseconds a step (times eager); {LEGEND}")
    table.add_column("program")
    for mode in modes:
        table.add_column(mode, justify="right")
    table.add_column("shim by tf.function", justify="right")
    for row in rows(groups, modes, verdicts):
        table.add_row(*row)
    Console(width=150).print(table)


def mark(verdict: str | None) -> str:
    """The mark after a number."""
    return "?" if verdict is None else "" if verdict == "same" else "*"


def rows(groups: Sequence[list[Measurement]], modes: Sequence[str], verdicts: Verdicts) -> list[list[str]]:
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
            elif mode == "eager":
                row.append(f"{m.milliseconds:.2f}")
            else:
                said = mark(verdicts.get((m.program, mode)))
                row.append(f"{m.milliseconds:.2f} ({speed_up(group, mode):.2f}×){said}")
        ratio = speed_up(group, "shim", over="tf.function")
        comparable = verdicts.get((group[0].program, "tf.function")) == "same"
        found.append([*row, f"{ratio:.2f}" if comparable and not math.isnan(ratio) else ""])
    for size in dict.fromkeys(group[0].size for group in groups):
        row = [f"geometric mean, {size}"]
        for mode in modes:
            mean = geometric_mean(speed_up(group, mode) for group in groups if group[0].size == size)
            row.append("" if mode == "eager" or math.isnan(mean) else f"{mean:.2f}×")
        found.append([*row, ""])
    return found


def document(path: Path, groups: Sequence[list[Measurement]], modes: Sequence[str], verdicts: Verdicts) -> None:
    """Puts the table between the two marks of a page; written atomically.

    Raises:
        ValueError: the page has no such marks.
    """
    page = path.read_text(encoding="utf-8")
    before, found, rest = page.partition(MARKS[0])
    _, closed, after = rest.partition(MARKS[1])
    if not found or not closed:
        raise ValueError(f"{path} has no place for the table: the lines {MARKS[0]} and {MARKS[1]}")
    heads = ["program", *modes, "shim by `tf.function`"]
    lines = [heads, ["---", *["---:"] * (len(modes) + 1)], *rows(groups, modes, verdicts)]
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    said = (
        f"Milliseconds a step (times as fast as eager), TensorFlow {tf.__version__}, {os.cpu_count()} cores, float32, load of the "
        f"machine at the end {load}. {LEGEND}.\n"
    )
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    scratch = path.with_name(path.name + ".part")
    scratch.write_text(f"{before}{MARKS[0]}\n{said}\n{table}\n{MARKS[1]}{after}", encoding="utf-8")
    scratch.replace(path)


def write_csv(path: Path, groups: Sequence[list[Measurement]], verdicts: Verdicts) -> None:
    """One row for each program, size and mode; written atomically."""
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
                verdict = verdicts.get((m.program, m.mode), "not compared")
                writer.writerow(
                    [
                        m.program,
                        m.size,
                        m.mode,
                        f"{m.milliseconds:.4g}",
                        f"{speed_up(group, m.mode):.4g}",
                        f"{m.warm_up:.3g}",
                        " ".join(f"{b:.4g}" for b in m.blocks),
                        "yes" if m.mode == "eager" else verdict,
                        m.error,
                    ]
                )
    scratch.replace(path)


def write_plot(path: Path, groups: Sequence[list[Measurement]], modes: Sequence[str]) -> None:
    """Bars of the speed-up over eager, on a logarithmic axis, as SVG; written atomically."""
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
    """Compares every mode with eager in float64: "same", or the first difference or error, by mode.

    Small programs run in parallel, large ones one at a time.
    """
    workers = {mode: Worker(program, size, "float64", mode) for mode in ("eager", *(m for m in modes if m != "eager"))}
    records, verdicts = {}, {}
    try:
        for worker in workers.values() if size == "small" else ():
            worker.begin("record", steps)
        for mode, worker in workers.items():
            record = worker.end() if size == "small" else worker.ask("record", steps)
            worker.close()
            if worker.error:
                verdicts[mode] = f"raises {worker.error}"
                continue
            records[mode] = record
            if "eager" in records:
                verdicts[mode] = programs.first_difference(records["eager"], records[mode]) or "same"
    finally:
        for worker in workers.values():
            worker.close()
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

    def time_is_up(what: str) -> bool:
        up = options.minutes is not None and time.monotonic() - started > 60 * options.minutes
        if up:
            print(f"{what}: the time is up", file=sys.stderr, flush=True)
        return up

    verdicts: dict[tuple[str, str], str] = {}
    compared = [*(mode for mode in modes if not mode.endswith("+xla"))]

    def compare(some: Sequence[str]) -> None:
        for name in names:
            if len(some) > 1 and not time_is_up(f"{name} compared with eager, {', '.join(some[1:])}"):
                found = check(name, "small", some, SHORT_CHECK_STEPS if options.minutes else CHECK_STEPS)
                verdicts.update({(name, mode): verdict for mode, verdict in found.items()})

    groups = []
    for size in sizes:
        least, most, rounds, steps = (SHORT_PLANS if options.minutes else PLANS)[size]
        if options.warm_up is not None:
            least = most = options.warm_up
        plan = (least, most, options.rounds or rounds, options.steps or steps)
        dearest = 0.0
        for position, name in enumerate(names):
            if time_is_up(f"{name} {size}"):
                continue
            begun = time.monotonic()
            left = (started + 60 * options.minutes - begun) / (len(names) - position) if options.minutes else math.inf
            # If there is no time for everything, every program is timed without XLA before any is left out.
            groups.append(measure(name, size, modes if left >= dearest else compared, plan, options.report))
            dearest = max(dearest, time.monotonic() - begun)
            for m in groups[-1]:
                said = m.error or f"{m.milliseconds:.2f} ms a step, warm-up {m.warm_up:.1f} s"
                print(f"{name} {size} {m.mode}: {said}", file=sys.stderr, flush=True)
        if size == sizes[0]:
            compare(compared)
    compare(["eager", *(mode for mode in modes if mode not in compared)])
    show(groups, modes, verdicts)
    if options.csv:
        write_csv(options.csv, groups, verdicts)
    if options.plot:
        write_plot(options.plot, groups, modes)
    if options.document:
        document(options.document, groups, modes, verdicts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
