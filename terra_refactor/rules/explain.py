"""The text of a rule, from its declaration: for the manual, the editor and the command line.

Computes: nothing but text (Markdown). Needs: the registry. Gives: `explain`, `rule_ids`.
"""

from __future__ import annotations

from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Rule, RuleKind


def explain(rule_id: str) -> str:
    """What a rule is about, what happens at run time, what to do, and programs that show it, as Markdown.

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
    parts = [f"# {rule.id} {rule.name}", rule.summary, _where(rule), rule.explanation]
    if rule.cure:
        parts.append(f"**What to do.** {rule.cure}")
    for title, program in (
        ("Reported", rule.samples.bad),
        ("Not reported", rule.samples.good),
        ("Looks alike, and is fine", rule.samples.near_miss),
    ):
        if program:
            parts.append(f"## {title}\n\n```python\n{program.strip()}\n```")
    parts.append(f"Suppress one place with `# terra: ignore[{rule.id}]` at the end of its line.")
    return "\n\n".join(parts) + "\n"


def _where(rule: Rule) -> str:
    match rule.kind:
        case RuleKind.HAZARD:
            use = "A hazard: an eager function that reaches it is not to become a graph; in code that is a graph already it is a finding."
        case RuleKind.DIAGNOSTIC:
            use = "A finding wherever it is; it says nothing about whether a function may become a graph."
        case RuleKind.DECISION:
            use = "Follows from what is known about a whole function and its calls."
    return f"Severity: {rule.severity.value}. {use}"
