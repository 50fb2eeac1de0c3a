"""The documentation of a rule, from its declaration: for the manual, the editor and the command line.

Computes: only text (Markdown). Needs: the registry. Gives: `explain`, `KINDS`, `kind_in_words`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Rule, RuleKind

KINDS: Final[Mapping[RuleKind, str]] = {
    RuleKind.HAZARD: (
        "Hazard: makes an eager function that reaches it `unsafe` (`speculative` if it holds only under an assumption); `lint` reports "
        "it in code that a graph runs."
    ),
    RuleKind.DIAGNOSTIC: "Diagnostic: reported wherever it is found; does not affect whether a function may become a graph.",
    RuleKind.DECISION: (
        "Decision: follows from the analysis of the whole program, and is reported at the function, statement or operation concerned."
    ),
}
"""Explanation of each kind of rule."""
_ONLY_DECIDES: Final = (
    "Hazard: makes an eager function that reaches it `unsafe` (`speculative` if it holds only under an assumption); `lint` does not "
    "report it."
)


def kind_in_words(rule: Rule) -> str:
    """The meaning of a finding of the rule for a function, and where it is reported."""
    return _ONLY_DECIDES if rule.only_decides else KINDS[rule.kind]


def explain(rule_id: str) -> str:
    """The page of a rule as Markdown: summary, behaviour at run time, remedy, and sample programs.

    `rule_id` may be an id in any case (`tr101`) or a name (`host-print-or-log`).

    Raises:
        KeyError: there is no such rule.
    """
    return _text(_find(rule_id))


def _find(rule_id: str) -> Rule:
    rules = all_rules()
    rule = rules.get(rule_id.upper())
    if rule is not None:
        return rule
    for candidate in rules.values():
        if candidate.name == rule_id:
            return candidate
    raise KeyError(rule_id)


def _text(rule: Rule) -> str:
    parts = [
        f"# {rule.id} {rule.name}",
        rule.summary,
        f"Severity: {rule.severity.value}. {kind_in_words(rule)}",
        rule.explanation,
    ]
    if rule.cure:
        parts.append(f"**What to do.** {rule.cure}")
    for title, program in (
        ("Before", rule.samples.bad),
        ("After", rule.samples.good),
        ("Not reported", rule.samples.near_miss),
    ):
        if program:
            parts.append(f"## {title}\n\n```python\n{program.strip()}\n```")
    parts.append(f"Suppress one place with `# terra: ignore[{rule.id}]` at the end of its line.")
    return "\n\n".join(parts) + "\n"
