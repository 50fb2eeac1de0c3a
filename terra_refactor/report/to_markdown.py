"""The report as Markdown: the summary of a GitHub step, or a comment on a merge request.

Needs: the results of a run. Gives: totals, files that could not be analysed, the changes to make, hot functions that
a hazard keeps eager (both chosen and ordered by `agenda`), findings by severity. GitHub drops a step summary of more
than 1 MiB: this one ends before, and states how much it omits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from terra_refactor.classify.decision import Action, Level
from terra_refactor.report.agenda import HELD_BACK_SHOWN, AgendaItem, agenda_of, gain_words
from terra_refactor.report.places import Places, ReportPlace, path_in_repository
from terra_refactor.report.schema import build_report
from terra_refactor.workspace.printable import as_code, in_markdown
from terra_refactor.workspace.results import WorkspaceReport

MAX_MARKDOWN_BYTES: Final = 1_000_000
"""Slightly less than 1 MiB, since other steps may add lines."""
_ACTIONS: Final = {
    Action.ADD_TF_FUNCTION: "add `tf.function`",
    Action.REMOVE_TF_FUNCTION: "remove `tf.function`",
    Action.TUNE_TF_FUNCTION: "tune `tf.function`",
    Action.CO_EXECUTE: "co-execute",
    Action.EXTRACT_TF_FUNCTION: "extract `tf.function`",
}


def to_markdown(results: WorkspaceReport, max_bytes: int = MAX_MARKDOWN_BYTES) -> str:
    """The summary; ends in a newline and is no longer than `max_bytes` bytes of UTF-8."""
    report = build_report(results)
    summary = report.summary
    lines = [
        "## terra-refactor",
        "",
        f"{_counted(len(report.diagnostics), 'finding')} in {_counted(summary.files, 'file')} "
        f"({_counted(summary.lines, 'line')}); {_counted(summary.functions, 'function')}: "
        f"{summary.safe} safe, {summary.speculative} speculative, {summary.unsafe} unsafe.",
    ]
    if report.errors:
        lines += _table(
            "Not analysed",
            ("file", "why"),
            [
                (as_code(f"{path_in_repository(error.path)}:{error.line or 1}"), in_markdown(error.message))
                for error in report.errors
            ],
        )
    places, agenda = Places(results.sources), agenda_of(results)
    lines += _table(
        f"To do ({len(agenda.changes)})",
        ("function", "class", "change", "why"),
        [
            (_named(item, places), item.classification.value, _change(item), in_markdown(item.reason))
            for item in agenda.changes
        ],
    )
    lines += _table(
        f"Hot, but kept eager by a hazard ({len(agenda.held_back)})",
        ("function", "rule", "why"),
        [(_named(item, places), item.rule, in_markdown(item.reason)) for item in agenda.held_back[:HELD_BACK_SHOWN]],
    )
    if more := len(agenda.held_back[HELD_BACK_SHOWN:]):
        lines += ["", f"and {more} more: `terra-refactor analyze --all` lists every function."]
    for severity in ("error", "warning", "information"):
        found = [entry for entry in report.diagnostics if entry.severity == severity]
        lines += _table(
            f"{severity.capitalize()} ({len(found)})",
            ("place", "rule", "message"),
            [
                (as_code(_shown(entry.place)), f"{entry.rule} {entry.name}", in_markdown(entry.message))
                for entry in found
            ],
        )
    return _limited(lines, max_bytes)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A heading and a table; empty without rows."""
    if not rows:
        return []
    return ["", f"### {title}", "", _row(*columns), "|" + "---|" * len(columns), *(_row(*row) for row in rows)]


def _named(item: AgendaItem, places: Places) -> str:
    return f"{as_code(_shown(places.at_line(item.path, item.line)))} {as_code(item.name)}"


def _change(item: AgendaItem) -> str:
    """The action, the level that it needs, and its gain."""
    level = "" if item.level is Level.SAFE else f"at `--level {item.level.value}`"
    return ", ".join(part for part in (f"{_ACTIONS[item.action]} {level}".rstrip(), gain_words(item)) if part)


def _limited(lines: Iterable[str], max_bytes: int) -> str:
    kept: list[str] = []
    size = 200  # room for the last line
    all_lines = list(lines)
    for number, line in enumerate(all_lines):
        size += len(line.encode("utf-8", "replace")) + 1
        if size > max_bytes:
            kept += ["", f"{len(all_lines) - number} more lines are left out: the summary would be too long."]
            break
        kept.append(line)
    return "\n".join(kept) + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _shown(place: ReportPlace) -> str:
    path = path_in_repository(place.path)
    return f"{path}:{place.line}" if place.cell is None else f"{path}, cell {place.cell.index}:{place.cell.line}"
