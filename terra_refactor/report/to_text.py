"""The text report: the proposed changes, a summary, a table per file with `--all`, and findings in the usual form of
linters.

Needs: results of a run and a rich console, which determines width and colour (none on a pipe or with NO_COLOR).
Gives: printed text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text
from typing_extensions import assert_never

from terra_refactor.classify.decision import Action, Classification, Decision, Level
from terra_refactor.refactor.result import Change, Outcome
from terra_refactor.report.agenda import HELD_BACK_SHOWN, Agenda, AgendaItem, agenda_of, gain_words
from terra_refactor.report.places import Places, ReportPlace
from terra_refactor.rules.rule import Finding, Severity
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.printable import printable
from terra_refactor.workspace.results import FileError, FixReport, WorkspaceReport

_NARROW = 76
"""Minimum width for tables; below it, the text about a function is under its name."""
_FEW = 5
"""Maximum number of rules that the summary of `lint` names."""
_RELATED_SHOWN = 3
"""Number of calls and other positions printed below a finding without `--verbose`."""


def print_analysis(
    console: Console, report: WorkspaceReport, *, verbose: bool = False, every_function: bool = False
) -> None:
    """The changes to make first, then hot code that a hazard keeps from being a graph, files that could not be read, and the summary.

    `every_function` prints a table of all functions of each file instead; `verbose` also prints types, assumptions,
    effects and hazards.
    """
    places = Places(report.sources)
    agenda = agenda_of(report)
    listed = verbose or every_function
    if listed:
        _print_files(console, report.decisions, places, verbose=verbose)
    _print_items(console, "To do", agenda.changes, places, verbose=verbose)
    if not listed:
        shown = agenda.held_back[:HELD_BACK_SHOWN]
        _print_items(console, "Hot, but kept eager by a hazard", shown, places, verbose=verbose)
        if more := len(agenda.held_back[HELD_BACK_SHOWN:]):
            console.print(Text(f"  and {more} more: --all lists every function.", style="dim"))
            console.print()
    print_errors(console, report.errors)
    _print_lines(console, _summary(report, None if listed else agenda))


def _print_files(console: Console, decisions: Sequence[Decision], places: Places, *, verbose: bool) -> None:
    widths = _widths(console, decisions)
    for path, group in groupby(decisions, key=lambda decision: decision.path):
        console.print(Text(_shown(path), style="bold underline"))
        _print_lines(console, _table(console, tuple(group), widths, places, verbose=verbose))
        console.print()


def _print_items(console: Console, title: str, items: Sequence[AgendaItem], places: Places, *, verbose: bool) -> None:
    """Changes or hazards with their positions; prints nothing if there are none."""
    if not items:
        return
    console.print(Text(title, style="bold underline"))
    longest = max(len(_item_place(item, places)) for item in items)
    if console.width < _NARROW or longest > console.width // 3:
        blocks = (
            Group(
                Text(f"{_item_place(item, places)}: {item.name}", style="bold"),
                Padding(_item_text(item, places, verbose=verbose), (0, 0, 0, 4)),
            )
            for item in items
        )
        _print_lines(console, Padding(Group(*blocks), (0, 0, 0, 2)))
    else:
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False, pad_edge=False)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold", max_width=console.width // 4, style="bold")
        table.add_column(overflow="fold")
        for item in items:
            text = _item_text(item, places, verbose=verbose)
            table.add_row(Text(_item_place(item, places)), Text(_shown(item.name)), text)
        _print_lines(console, Padding(table, (0, 0, 0, 2)))
    console.print()


def _print_lines(console: Console, layout: RenderableType) -> None:
    """Prints a layout without the spaces that fill its lines."""
    for line in console.render_lines(layout, pad=False):
        while line:
            end = line.pop()
            if text := end.text.rstrip():
                line.append(Segment(text, end.style))
                break
        console.print(Segments([*line, Segment.line()]), end="")


def _item_place(item: AgendaItem, places: Places) -> str:
    return _shown(f"{item.path}:{_line(places.at_line(item.path, item.line))}")


def _item_text(item: AgendaItem, places: Places, *, verbose: bool) -> Text:
    """The change or the hazard; under a hazard of another function the calls that lead to it."""
    text = Text()
    if item.action is not Action.NONE:
        text.append(_action_words(item.action), style=_action_style(item.action))
        if item.level is not Level.SAFE:
            text.append(f" at --level {item.level.value}", style="yellow")
        if gain := gain_words(item):
            text.append(f", {gain}")
        text.append(": ")
    text.append(_shown(item.reason))
    notes = [item.rule] if item.rule and item.action is Action.NONE else []
    if len(item.cause) == 1:
        notes.append(_line_in_words(places.place(item.cause[0].path, item.cause[0].span)))
    if notes:
        text.append(f" ({', '.join(notes)})", style="dim")
    if len(item.cause) > 1:
        shown = item.cause if verbose else item.cause[: _RELATED_SHOWN + 1]
        for each in shown:
            text.append(f"\n{_shown(f'{places.place(each.path, each.span)}: {each.message}')}", style="dim")
        if more := len(item.cause) - len(shown):
            text.append(f"\nand {_plural(more, 'call')} more: --verbose lists all", style="dim")
    return text


def by_gain(report: WorkspaceReport) -> tuple[Finding, ...]:
    """The findings, first those that cost most time in the recorded runs; without a record by position."""
    gains = {
        (decision.path, decision.qualname): gain.seconds_saved
        for decision in report.decisions
        if (gain := decision.expected_gain) is not None and gain.source == "record"
    }
    return tuple(
        sorted(report.findings, key=lambda finding: -gains.get((finding.path, finding.function), 0.0))
        if gains
        else report.findings
    )


def print_findings(
    console: Console, findings: Iterable[Finding], sources: Mapping[str, Source], *, verbose: bool = False
) -> None:
    """`path:line:col: TR302 [numpy-on-tensor] message`, one finding per line, by position; in a notebook `path:cell
    3:line:col: ...`.

    The calls that lead to a finding, and other positions in its message, follow on separate lines: the first
    `_RELATED_SHOWN`, or all of them with `verbose`.
    """
    places = Places(sources)
    for finding in findings:
        line = Text()
        line.append(_shown(finding.path), style="bold")
        where = str(places.place(finding.path, finding.span))
        line.append(f"{where[len(finding.path) :]}: ", style="dim")
        line.append(finding.rule, style=_severity_style(finding.severity))
        line.append(f" [{finding.name}] ", style="dim")
        line.append(_shown(finding.message))
        console.print(line, soft_wrap=True)
        shown = finding.related if verbose else finding.related[:_RELATED_SHOWN]
        for related in shown:
            note = Text(f"    {_shown(f'{places.place(related.path, related.span)}: {related.message}')}", style="dim")
            console.print(note, soft_wrap=True)
        if more := len(finding.related) - len(shown):
            console.print(
                Text(f"    and {_plural(more, 'place')} more: --verbose lists all", style="dim"), soft_wrap=True
            )


def print_findings_summary(console: Console, findings: Sequence[Finding]) -> None:
    """The last line of `lint`: the number of findings, in all and by severity."""
    if not findings:
        console.print(Text("No findings.", style="green"))
        return
    parts = [
        (count, severity)
        for severity in Severity
        if (count := sum(finding.severity is severity for finding in findings))
    ]
    text = ", ".join(
        _plural(count, severity.value) if severity is not Severity.INFORMATION else f"{count} information"
        for count, severity in parts
    )
    fixable = [finding for finding in findings if finding.fixable]
    more = f"; {len(fixable)} fixable with `fix --select {_rules_of(fixable)}`" if fixable else ""
    console.print(f"Found {_plural(len(findings), 'finding')} ({text}{more}).", soft_wrap=True)


def _rules_of(findings: Iterable[Finding]) -> str:
    """The argument of `--select` for the findings: their rules, if there are few."""
    rules = sorted({finding.rule for finding in findings})
    return ",".join(rules) if len(rules) <= _FEW else "ALL"


def print_comparison(console: Console, report: WorkspaceReport) -> None:
    """The releases that files require, and counts of known, fixed and suppressed findings; prints nothing if there are none."""
    for assumed in report.releases:
        if assumed.path:
            place = f"{assumed.path}:{assumed.line}" if assumed.line else assumed.path
            files = _plural(assumed.files, "file")
            line = f"{files} read as for {assumed.library}{assumed.requirement} ({place})."
            console.print(Text(line, style="dim"), soft_wrap=True)
    if report.comparison is not None:
        known, gone = len(report.comparison.known), len(report.comparison.gone)
        parts = [f"{_plural(known, 'finding')} known from {report.comparison.name}"] if known else []
        if gone:
            parts.append(f"{_plural(gone, 'finding')} of {report.comparison.name} {'is' if gone == 1 else 'are'} gone")
        if parts:
            console.print(Text("; ".join(parts) + ".", style="dim"), soft_wrap=True)
    if report.suppressed:
        console.print(Text(f"{_plural(len(report.suppressed), 'finding')} suppressed by comments.", style="dim"))
    if report.stats.unparsed:
        console.print(Text(f"{_without_tensors(report.stats.unparsed)}: not parsed.", style="dim"), soft_wrap=True)


def print_statistics(console: Console, findings: Iterable[Finding]) -> None:
    """The number of findings per rule, the most frequent first."""
    counts: dict[str, list[Finding]] = {}
    for finding in findings:
        counts.setdefault(finding.rule, []).append(finding)
    for rule, found in sorted(counts.items(), key=lambda item: (-len(item[1]), item[0])):
        fixable = sum(finding.fixable for finding in found)
        line = Text.assemble(
            (f"{len(found):6}  ", "bold"), (rule, _severity_style(found[0].severity)), f"  {found[0].name}"
        )
        line.append(f"  ({found[0].severity.value}{f', {fixable} fixable' if fixable else ''})", style="dim")
        console.print(line, soft_wrap=True)


def print_errors(console: Console, errors: Iterable[FileError]) -> None:
    """Files that could not be analysed, one per line."""
    for error in errors:
        place = f"{error.path}:{error.line}" if error.line else error.path
        line = Text()
        line.append(_shown(place), style="bold")
        line.append(": error: ", style="bold red")
        line.append(_shown(error.message))
        console.print(line, soft_wrap=True)


def print_diff(console: Console, diff: str) -> None:
    """A unified diff: coloured on a terminal, otherwise unchanged, since it may be applied as a patch."""
    if not console.is_terminal:
        console.file.write(diff)
        return
    for line in diff.splitlines():
        console.print(Text(line, style=_diff_style(line)), soft_wrap=True)


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    if line.startswith("@@"):
        return "cyan"
    if line.startswith("+"):
        return "green"
    return "red" if line.startswith("-") else ""


def print_changes(console: Console, fixed: FixReport, *, written: frozenset[str], verbose: bool = False) -> None:
    """The changes that `fix` made or would make, function by function. `written` names the files that were written."""
    for file in fixed.files:
        shown = [change for change in file.changes if verbose or not _is_level_skip(change)]
        if not shown:
            continue
        state = "written" if file.source.path in written else "would change" if file.changed else "not changed"
        console.print(Text.assemble((_shown(file.source.path), "bold underline"), (f"  {state}", "dim")))
        places = Places({file.source.path: file.source})
        for change in shown:
            console.print(_change_line(change, places), soft_wrap=True)
            if change.outcome is Outcome.DONE:
                for assumption in change.assumptions:
                    console.print(Text(f"      assumes: {assumption}", style="yellow"), soft_wrap=True)
    console.print(_outcomes(fixed), soft_wrap=True)


def _outcomes(fixed: FixReport) -> str:
    """The outcome of the changes in one line; empty parts are omitted."""
    changes = [change for file in fixed.files for change in file.changes]
    done = sum(change.outcome is Outcome.DONE for change in changes)
    changed = sum(file.changed for file in fixed.files)
    parts = [f"{_plural(done, 'change')} in {_plural(changed, 'file')}" if done else "No changes"]
    needs = Counter(change.level.value for change in changes if change.level is not None)
    skipped = sum(change.outcome is Outcome.SKIPPED for change in changes) - needs.total()
    failed = sum(change.outcome is Outcome.FAILED for change in changes)
    parts += [f"{count} {'needs' if count == 1 else 'need'} --level {level}" for level, count in sorted(needs.items())]
    parts += [f"{count} {word}" for count, word in ((skipped, "skipped"), (failed, "failed")) if count]
    return ", ".join(parts) + (" (--verbose lists them)." if needs else ".")


def _is_level_skip(change: Change) -> bool:
    return change.outcome is Outcome.SKIPPED and change.level is not None


def _change_line(change: Change, places: Places) -> Text:
    match change.outcome:
        case Outcome.DONE:
            mark, style = "+", "green"
        case Outcome.SKIPPED:
            mark, style = "-", "dim"
        case Outcome.FAILED:
            mark, style = "!", "bold red"
        case _:
            assert_never(change.outcome)
    return Text.assemble(
        (f"  {mark} ", style),
        (f"{_line(places.at_line(change.path, change.line))}: {change.qualname}", "bold"),
        f"  {change.title or _action_words(change.action)}: {change.reason}",
    )


def _widths(console: Console, decisions: Sequence[Decision]) -> tuple[int, int]:
    """Widths of the columns of names and actions, equal in all tables."""
    longest = max((len(decision.qualname) for decision in decisions), default=0)
    actions = max((len(_action_words(decision.action)) for decision in decisions), default=0)
    return max(len("function"), min(longest, console.width // 3)), max(len("action"), actions)


def _line(place: ReportPlace) -> str:
    """The line; in a notebook the cell and the line in it."""
    return str(place.line) if place.cell is None else f"cell {place.cell.index}:{place.cell.line}"


def _line_in_words(place: ReportPlace) -> str:
    return f"line {place.line}" if place.cell is None else f"cell {place.cell.index}, line {place.cell.line}"


def _table(
    console: Console, decisions: Sequence[Decision], widths: tuple[int, int], places: Places, *, verbose: bool
) -> RenderableType:
    if console.width < _NARROW:
        return Padding(Group(*(_block(decision, places, verbose=verbose) for decision in decisions)), (0, 0, 0, 2))
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim", pad_edge=False)
    table.add_column("line", justify="right", style="dim", no_wrap=True, min_width=5)
    table.add_column("function", overflow="fold", width=widths[0])
    table.add_column("class", no_wrap=True, min_width=len("speculative"))
    table.add_column("action", no_wrap=True, min_width=widths[1])
    table.add_column("reason", overflow="fold")
    for decision in decisions:
        details = _details(decision, places) if verbose else []
        table.add_row(
            _line(places.at_line(decision.path, decision.line)),
            _name(decision),
            Text(decision.classification.value, style=_class_style(decision.classification)),
            Text(_action_words(decision.action), style=_action_style(decision.action)),
            Group(Text(decision.reason), *details),
        )
    return Padding(table, (0, 0, 0, 2))


def _block(decision: Decision, places: Places, *, verbose: bool) -> RenderableType:
    """A function on separate lines, if there is no room for a table."""
    head = Text.assemble((f"{_line(places.at_line(decision.path, decision.line))}: ", "dim"), _name(decision))
    verdict = Text(decision.classification.value, style=_class_style(decision.classification))
    if decision.action is not Action.NONE:
        verdict.append(f", {_action_words(decision.action)}", style=_action_style(decision.action))
    details = _details(decision, places) if verbose else []
    return Group(head, Padding(Group(verdict, Text(decision.reason), *details), (0, 0, 0, 4)))


def _name(decision: Decision) -> Text:
    return Text(decision.qualname, style="bold" if decision.action is not Action.NONE else "", overflow="fold")


def _action_style(action: Action) -> str:
    return "bold cyan" if action is not Action.NONE else "dim"


def _details(decision: Decision, places: Places) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for parameter in decision.parameters:
        types = " | ".join(str(tensor) for tensor in parameter.types)
        lines.append(
            Text(f"{parameter.name}: {parameter.kind.value} ({parameter.evidence.value}) {types}".rstrip(), style="dim")
        )
    if decision.returns:
        lines.append(Text("returns " + " | ".join(str(tensor) for tensor in decision.returns), style="dim"))
    lines.extend(Text(f"assumes: {assumption}", style="yellow") for assumption in decision.assumptions)
    for effect in decision.side_effects:
        via = f" via {' > '.join(effect.via)}" if effect.via else ""
        lines.append(
            Text(
                f"effect: {effect.detail} ({effect.kind}) at {effect.path}:{_line(places.place(effect.path, effect.span))}{via}",
                style="magenta",
            )
        )
    for hazard in decision.hazards:
        via = f" via {' > '.join(hazard.via)}" if hazard.via else ""
        where = _line_in_words(places.place(decision.path, hazard.span))
        lines.append(Text(f"{hazard.rule} at {where}: {hazard.message}{via}", style="red"))
    return lines


def _summary(report: WorkspaceReport, agenda: Agenda | None) -> RenderableType:
    """The totals; with the number of functions not in `agenda`, if only that was printed."""
    stats = report.stats
    text = Text()
    text.append(
        f"{_plural(len(report.decisions), 'function')} in {_plural(stats.files - stats.passed_over, 'file')}"
        f" ({_plural(stats.lines, 'line')}, {stats.seconds:.1f} s): "
    )
    classes: list[Text] = []
    for classification in Classification:
        count = sum(decision.classification is classification for decision in report.decisions)
        classes.append(Text(f"{count} {classification.value}", style=_class_style(classification)))
    text.append_text(Text(", ").join(classes))
    taken = [decision.action for decision in report.decisions] + [found.decision.action for found in report.regions]
    actions = [
        f"{count} {_action_words(action)}"
        for action in Action
        if action is not Action.NONE and (count := taken.count(action))
    ]
    text.append("\n" + ("Proposed: " + ", ".join(actions) if actions else "Nothing proposed") + ".")
    if report.findings:
        text.append(f"\n{_plural(len(report.findings), 'finding')}: see `terra-refactor lint`.")
    if agenda is not None:
        left_out = (
            (agenda.in_graphs, "in graphs already"),
            (agenda.without_tensors, "without tensor computation"),
            (agenda.others, "others"),
        )
        parts = [f"{count} {words}" for count, words in left_out if count]
        if parts:
            text.append(f"\nNot listed: {', '.join(parts)}; --all lists every function.")
    if stats.passed_over:
        text.append(f"\n{_without_tensors(stats.passed_over)}: left out; --verbose lists their functions, too.")
    if report.errors:
        text.append(f"\n{_plural(len(report.errors), 'file')} could not be analysed.", style="bold red")
    return text


def _without_tensors(count: int) -> str:
    return f"{_plural(count, 'file')} that no import connects with TensorFlow, Keras or NumPy"


def _action_words(action: Action) -> str:
    match action:
        case Action.ADD_TF_FUNCTION:
            return "add tf.function"
        case Action.REMOVE_TF_FUNCTION:
            return "remove tf.function"
        case Action.TUNE_TF_FUNCTION:
            return "tune tf.function"
        case Action.CO_EXECUTE:
            return "co-execute"
        case Action.EXTRACT_TF_FUNCTION:
            return "extract tf.function"
        case Action.NONE:
            return "-"
        case _:
            assert_never(action)


def _class_style(classification: Classification) -> str:
    match classification:
        case Classification.SAFE:
            return "green"
        case Classification.SPECULATIVE:
            return "yellow"
        case Classification.UNSAFE:
            return "red"
        case _:
            assert_never(classification)


def _severity_style(severity: Severity) -> str:
    match severity:
        case Severity.ERROR:
            return "bold red"
        case Severity.WARNING:
            return "bold yellow"
        case Severity.INFORMATION:
            return "bold blue"
        case _:
            assert_never(severity)


def _shown(text: str) -> str:
    """A path or message on one line, with special characters escaped."""
    return printable(text, one_line=True)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
