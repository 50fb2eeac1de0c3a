"""`rules`: every rule there is, as a table, as JSON or as Markdown."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE
from terra_refactor.cli.output import emit, out
from terra_refactor.errors import UsageError
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Rule

FORMATS = ("text", "json", "markdown")
RulesFormat = Annotated[str, typer.Option("--format", metavar="FORMAT", help="text (the default), json or markdown.")]
RulesOutput = Annotated[
    str | None, typer.Option("--output", metavar="FILE", help="Write to this file instead of printing.")
]


@guarded
def rules_command(format: RulesFormat = "text", output: RulesOutput = None) -> int:  # noqa: A002 - the option's name
    """List the rules."""
    rules = tuple(all_rules().values())
    match format:
        case "json":
            emit(json.dumps([_entry(rule) for rule in rules], indent=2, ensure_ascii=False) + "\n", output)
        case "markdown":
            emit(_markdown(rules), output)
        case "text" if output is not None:
            emit("".join(f"{rule.id}  {rule.name} ({rule.severity.value}): {rule.summary}\n" for rule in rules), output)
        case "text":
            table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim", pad_edge=False)
            for title in ("rule", "name", "severity", "what it finds"):
                table.add_column(title, overflow="fold", no_wrap=title == "rule")
            for rule in rules:
                table.add_row(Text(rule.id, style="bold"), rule.name, rule.severity.value, rule.summary)
            out().print(table)
        case _:
            raise UsageError(f"--format: there is no format `{format}` here, only {', '.join(FORMATS)}")
    return DONE


def _entry(rule: Rule) -> dict[str, str]:
    return {
        "id": rule.id,
        "name": rule.name,
        "kind": rule.kind.value,
        "severity": rule.severity.value,
        "summary": rule.summary,
        "explanation": rule.explanation,
        "cure": rule.cure,
        "bad": rule.samples.bad,
        "good": rule.samples.good,
    }


def _markdown(rules: tuple[Rule, ...]) -> str:
    rows = (
        "| "
        + " | ".join(cell.replace("|", "\\|") for cell in (rule.id, rule.name, rule.severity.value, rule.summary))
        + " |"
        for rule in rules
    )
    return "\n".join(("| rule | name | severity | what it finds |", "|---|---|---|---|", *rows)) + "\n"
