"""Shell completions for the values of options.

Gives: a function for each kind of value, from the typed prefix to the possible values; shells that show descriptions get them.
"""

from __future__ import annotations

from collections.abc import Iterator

from terra_refactor.config import LEVELS, NEVER, SEVERITIES


def complete_format(incomplete: str) -> list[str]:
    """Formats of reports."""
    from terra_refactor.cli.reporting import FORMATS  # noqa: PLC0415 - a run does not need it

    return [name for name in FORMATS if name.startswith(incomplete)]


def complete_rule(incomplete: str) -> list[tuple[str, str]]:
    """One rule, by its id or its name."""
    return list(_rules("", incomplete))


def complete_rules(incomplete: str) -> list[tuple[str, str]]:
    """Comma-separated rules; the last one is completed."""
    before, comma, last = incomplete.rpartition(",")
    return list(_rules(before + comma, last))


def complete_level(incomplete: str) -> list[str]:
    """Levels of refactoring."""
    return [level for level in LEVELS if level.startswith(incomplete)]


def complete_threshold(incomplete: str) -> list[str]:
    """The values of `--fail-on`."""
    return [word for word in (*SEVERITIES, NEVER) if word.startswith(incomplete)]


def _rules(before: str, incomplete: str) -> Iterator[tuple[str, str]]:
    from terra_refactor.rules.registry import all_rules  # noqa: PLC0415 - a run loads it when it needs it

    for rule in all_rules().values():
        for name in (rule.id, rule.name):
            if name.startswith(incomplete.upper() if name == rule.id else incomplete or "-"):
                yield before + name, rule.summary
