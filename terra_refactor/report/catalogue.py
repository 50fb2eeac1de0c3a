"""The documentation of rules: one in full; all as a table, as JSON, as Markdown.

Needs: rules. Gives: `print_rule`, `print_rules`, `rules_text`, `rules_json`, `rules_markdown`.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from terra_refactor.report.indented import indented_json
from terra_refactor.rules.rule import Rule


def print_rule(console: Console, rule: Rule) -> None:
    """The meaning of a rule, with its samples, and how to ignore it."""
    console.print(Text.assemble((rule.id, "bold"), f" {rule.name}  ", (f"({rule.severity.value})", "dim")))
    console.print()
    console.print(rule.summary)
    for paragraph in (rule.explanation, rule.cure):
        if paragraph:
            console.print()
            console.print(paragraph)
    for title, sample in (
        ("Before", rule.samples.bad),
        ("After", rule.samples.good),
        ("Not reported", rule.samples.near_miss),
    ):
        if sample:
            console.print()
            console.print(Text(f"{title}:", style="bold"))
            console.print(Syntax(sample.strip("\n"), "python", background_color="default", theme="ansi_dark"))
    console.print()
    console.print(Text("Ignore one place with ").append(f"# terra: ignore[{rule.id}]", style="bold"))


def print_rules(console: Console, rules: Iterable[Rule]) -> None:
    """A table of all rules."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim", pad_edge=False)
    for title in ("rule", "name", "severity", "what it finds"):
        table.add_column(title, overflow="fold", no_wrap=title == "rule")
    for rule in rules:
        table.add_row(Text(rule.id, style="bold"), rule.name, rule.severity.value, rule.summary)
    console.print(table)


def rules_text(rules: Iterable[Rule]) -> str:
    """A line for each rule."""
    return "".join(f"{rule.id}  {rule.name} ({rule.severity.value}): {rule.summary}\n" for rule in rules)


def rules_json(rules: Iterable[Rule]) -> str:
    """All properties of all rules."""
    entries = [
        {
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
        for rule in rules
    ]
    return indented_json(entries) + "\n"


def rules_markdown(rules: Iterable[Rule]) -> str:
    """A table of all rules, as Markdown."""
    rows = (
        "| "
        + " | ".join(cell.replace("|", "\\|") for cell in (rule.id, rule.name, rule.severity.value, rule.summary))
        + " |"
        for rule in rules
    )
    return "\n".join(("| rule | name | severity | what it finds |", "|---|---|---|---|", *rows)) + "\n"
