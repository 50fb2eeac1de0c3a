"""`rules`: all rules, as a table, as JSON or as Markdown."""

from __future__ import annotations

from typing import Annotated

import typer

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE
from terra_refactor.cli.output import emit, out
from terra_refactor.errors import UsageError
from terra_refactor.report.catalogue import print_rules, rules_json, rules_markdown, rules_text
from terra_refactor.rules.registry import all_rules

_RULE_FORMATS = ("text", "json", "markdown")
RulesFormat = Annotated[str, typer.Option("--format", metavar="FORMAT", help="text, json or markdown.")]
RulesOutput = Annotated[
    str | None, typer.Option("--output", metavar="FILE", help="Write to this file instead of printing.")
]


@guarded
def rules_command(format: RulesFormat = "text", output: RulesOutput = None) -> int:  # noqa: A002 - the option's name
    """List the rules."""
    rules = tuple(all_rules().values())
    match format:
        case "json":
            emit(rules_json(rules), output)
        case "markdown":
            emit(rules_markdown(rules), output)
        case "text" if output is not None:
            emit(rules_text(rules), output)
        case "text":
            print_rules(out(), rules)
        case _:
            raise UsageError(f"--format: unknown format `{format}`; choose from {', '.join(_RULE_FORMATS)}")
    return DONE
