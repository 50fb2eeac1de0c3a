"""`explain`: what a rule means, a bad and a good example, and what to do."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE
from terra_refactor.cli.output import out
from terra_refactor.errors import UsageError
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Rule
from terra_refactor.workspace.selection import nearest_rule

RuleName = Annotated[
    str | None, typer.Argument(metavar="RULE", help="Its id or name; without one, all rules are listed.")
]


@guarded
def explain_command(rule: RuleName = None) -> int:
    """Say what a rule means, with a bad and a good example."""
    console = out()
    if rule is None:
        for entry in all_rules().values():
            console.print(Text.assemble((entry.id, "bold"), f"  {entry.name}: {entry.summary}"), soft_wrap=True)
        return DONE
    for entry in all_rules().values():
        if rule.upper() == entry.id or rule == entry.name:
            _show(console, entry)
            return DONE
    raise UsageError(f"there is no rule `{rule}`{nearest_rule(rule)}")


def _show(console: Console, rule: Rule) -> None:
    console.print(Text.assemble((rule.id, "bold"), f" {rule.name}  ", (f"({rule.severity.value})", "dim")))
    console.print()
    console.print(rule.summary)
    for paragraph in (rule.explanation, rule.cure):
        if paragraph:
            console.print()
            console.print(paragraph)
    for title, sample in (
        ("Reported", rule.samples.bad),
        ("Use instead", rule.samples.good),
        ("Looks alike, and is fine", rule.samples.near_miss),
    ):
        if sample:
            console.print()
            console.print(Text(f"{title}:", style="bold"))
            console.print(Syntax(sample.strip("\n"), "python", background_color="default", theme="ansi_dark"))
    console.print()
    console.print(Text("Ignore one place with ").append(f"# terra: ignore[{rule.id}]", style="bold"))
