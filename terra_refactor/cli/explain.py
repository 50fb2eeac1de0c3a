"""`explain`: the meaning of a rule, a bad and a good example, and the remedy; for a family, its rules."""

from __future__ import annotations

from typing import Annotated

import typer

from terra_refactor.cli.completion import complete_rule
from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE
from terra_refactor.cli.output import out
from terra_refactor.errors import UsageError
from terra_refactor.report.catalogue import print_rule, print_rules
from terra_refactor.rules.registry import all_rules, families
from terra_refactor.workspace.selection import nearest_rule

RuleName = Annotated[
    str | None,
    typer.Argument(
        metavar="RULE",
        autocompletion=complete_rule,
        help="Id or name of the rule, or a family (TR1); without it, all rules are listed.",
    ),
]


@guarded
def explain_command(rule: RuleName = None) -> int:
    """Explain a rule, with a bad and a good example, or list a family (TR2)."""
    if rule is None:
        print_rules(out(), all_rules().values())
        return DONE
    for entry in all_rules().values():
        if rule.upper() == entry.id or rule == entry.name:
            print_rule(out(), entry)
            return DONE
    family = rule.upper().removesuffix("XX")
    if family in families():
        out().print(families()[family], style="bold")
        print_rules(out(), (entry for entry in all_rules().values() if entry.id.startswith(family)))
        return DONE
    raise UsageError(f"unknown rule `{rule}`{nearest_rule(rule)}")
