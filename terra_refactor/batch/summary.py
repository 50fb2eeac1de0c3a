"""The table at the end of a batch.

Needs: result lines. Gives: `print_summary`: the status of the repositories, and for the analysed ones the functions by class, the
candidates (eager functions with tensor computation), the proposals, the causes of unsafe functions, and the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from terra_refactor.batch.limits import RepositoryStatus
from terra_refactor.rules.registry import all_rules

_MANY = 10


def print_summary(console: Console, lines: Iterable[Mapping[str, Any]]) -> None:
    """Prints the table, and the repositories that failed."""
    ordered = sorted(lines, key=lambda line: str(line["name"]))
    done = [line for line in ordered if line["status"] == RepositoryStatus.DONE.value]
    ends = Counter(str(line["status"]) for line in ordered)
    words = ", ".join(f"{count} {status}" for status, count in sorted(ends.items()))
    console.print(Text(f"{len(ordered)} repositories: {words}", style="bold"))
    if done:
        console.print(_totals(done))
    for line in ordered:
        if line["status"] != RepositoryStatus.DONE.value:
            console.print(
                Text.assemble((str(line["name"]), "bold"), f": {line['status']}: {line['error']}"), soft_wrap=True
            )


def _totals(done: list[Mapping[str, Any]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    table.add_column(overflow="fold")

    def total(key: str) -> int:
        return sum(int(line["summary"][key]) for line in done)

    for key in ("lines", "files", "functions", "safe", "speculative", "unsafe"):
        table.add_row(str(total(key)), key)
    table.add_row(str(sum(int(line["candidates"]) for line in done)), "candidates: eager, with tensor computation")
    actions: Counter[str] = Counter()
    unsafe_by: Counter[str] = Counter()
    for line in done:
        actions.update(line["summary"]["actions"])
        unsafe_by.update(line["unsafe_by"])
    for action, count in sorted(actions.items()):
        if action != "none":
            table.add_row(str(count), f"to {action.replace('_', ' ').replace('tf function', 'tf.function')}")
    for rule, count in sorted(unsafe_by.items(), key=lambda item: (-item[1], item[0]))[:_MANY]:
        known = all_rules().get(rule)
        table.add_row(str(count), f"unsafe by {rule}" + (f" {known.name}" if known is not None else ""))
    table.add_row(str(sum(int(line["unreadable_files"]) for line in done)), "files that could not be analysed")
    table.add_row(f"{sum(float(line['seconds']) for line in done):.1f}", "seconds, over all processes")
    return table
