"""The samples of every rule: the bad one is reported where it says so, the good one and the near miss are not."""

from __future__ import annotations

import re

import pytest
from analysis_support import Result, analyze_text

from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Rule, RuleKind, Severity

RULES = tuple(rule for rule in all_rules().values() if not rule.id.startswith("TR9") and rule.id != "TR507")
"""The rules about the tool itself see comments and files, not programs: tests/unit/workspace/test_suppressions.py has theirs. TR507 needs
the text, too: tests/unit/workspace/test_regions.py."""
_MARK = re.compile(r"#.*\b(TR\d{3})\b")


def marked_lines(text: str, rule: str) -> tuple[int, ...]:
    """The lines of a sample that end in the mark of a rule."""
    lines = enumerate(text.splitlines(), start=1)
    return tuple(number for number, line in lines if rule in _MARK.findall(line))


def shown_lines(result: Result, rule: Rule) -> tuple[int, ...]:
    """Where a program has what the rule is about. Information about calls is part of decisions, not of `lint`."""
    if rule.kind is RuleKind.HAZARD and rule.severity is Severity.INFORMATION:
        hazards = (hazard for decision in result.decisions for hazard in decision.hazards if not hazard.assumed)
        return tuple(sorted({hazard.span.line for hazard in hazards if hazard.rule == rule.id}))
    return result.lines(rule.id)


def reported(result: Result) -> list[str]:
    return [f"{finding.span.line}: {finding.rule} {finding.message}" for finding in result.findings]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_bad_sample_is_reported_where_it_is_marked(rule: Rule) -> None:
    marked = marked_lines(rule.samples.bad, rule.id)
    assert marked, "the bad sample has no mark"
    result = analyze_text(rule.samples.bad)
    assert shown_lines(result, rule) == marked, reported(result)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_bad_sample_has_no_other_error(rule: Rule) -> None:
    result = analyze_text(rule.samples.bad)
    others = [finding for finding in result.findings if finding.rule != rule.id and finding.severity is Severity.ERROR]
    assert others == [], reported(result)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
@pytest.mark.parametrize("which", ["good", "near_miss"])
def test_fine_sample_is_not_reported(rule: Rule, which: str) -> None:
    text = rule.samples.good if which == "good" else rule.samples.near_miss
    if not text:
        pytest.skip("the rule has no near miss")
    result = analyze_text(text)
    assert shown_lines(result, rule) == (), reported(result)
    assert [finding for finding in result.findings if finding.severity is Severity.ERROR] == [], reported(result)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_declaration_is_complete(rule: Rule) -> None:
    assert re.fullmatch(r"TR\d{3}", rule.id)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.summary.endswith(".")
    assert rule.explanation.endswith(".")
    assert rule.cure.endswith(".")
