"""The report as Markdown: the summary of a GitHub step, or a comment on a merge request.

Needs: a `Report`. Gives: totals, findings by severity, what is proposed, what could not be analysed. GitHub takes a summary of 1 MiB for
each step and drops a longer one: it ends before, and says what is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from terra_refactor.report.places import Place, path_in_repository
from terra_refactor.report.schema import FunctionEntry, RegionEntry, Report
from terra_refactor.workspace.printable import as_code, in_markdown

MAX_BYTES: Final = 1_000_000
"""A little less than the MiB, since other steps' lines may follow."""
_ACTIONS: Final = {
    "add_tf_function": "add `tf.function`",
    "remove_tf_function": "remove `tf.function`",
    "tune_tf_function": "tune `tf.function`",
    "co_execute": "co-execute",
    "extract_tf_function": "extract `tf.function`",
}


def to_markdown(report: Report, max_bytes: int = MAX_BYTES) -> str:
    """The summary; ends in a newline and is no longer than `max_bytes` bytes of UTF-8."""
    summary = report.summary
    lines = [
        "## terra-refactor",
        "",
        f"{len(report.diagnostics)} findings in {summary.files} files ({summary.lines} lines); {summary.functions} functions: "
        f"{summary.safe} safe, {summary.speculative} speculative, {summary.unsafe} unsafe.",
    ]
    rest: list[str] = []
    if report.errors:
        rest += ["", "### Not analysed", "", "| file | why |", "|---|---|"]
        rest += [
            _row(as_code(f"{path_in_repository(error.path)}:{error.line or 1}"), in_markdown(error.message))
            for error in report.errors
        ]
    for severity in ("error", "warning", "information"):
        found = [entry for entry in report.diagnostics if entry.severity == severity]
        if found:
            rest += [
                "",
                f"### {severity.capitalize()} ({len(found)})",
                "",
                "| place | rule | message |",
                "|---|---|---|",
            ]
            rest += [
                _row(as_code(_shown(entry.place)), f"{entry.rule} {entry.name}", in_markdown(entry.message))
                for entry in found
            ]
    proposed = [(_place_of(entry), entry.qualname, entry) for entry in report.functions if entry.action != "none"] + [
        (_place_of(entry), entry.inside, entry) for entry in report.regions or () if entry.action != "none"
    ]
    if proposed:
        rest += ["", f"### Proposed ({len(proposed)})", "", "| function | class | what | why |", "|---|---|---|---|"]
        rest += [
            _row(
                f"{as_code(place)} {as_code(name)}",
                entry.classification,
                _ACTIONS[entry.action],
                in_markdown(entry.reason),
            )
            for place, name, entry in proposed
        ]
    return _limited([*lines, *rest], max_bytes)


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


def _shown(place: Place) -> str:
    path = path_in_repository(place.path)
    return f"{path}:{place.line}" if place.cell is None else f"{path}, cell {place.cell.index}:{place.cell.line}"


def _place_of(entry: FunctionEntry | RegionEntry) -> str:
    return _shown(Place(entry.path, entry.line, 1, entry.line, 1, entry.cell))
