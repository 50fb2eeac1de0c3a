"""The text of `explain` about a rule."""

from __future__ import annotations

import pytest

from terra_refactor.rules.explain import explain
from terra_refactor.rules.registry import all_rules


def test_ids_are_all_rules_in_order() -> None:
    assert list(all_rules()) == sorted(all_rules())
    assert "TR101" in all_rules()


@pytest.mark.parametrize("rule_id", all_rules())
def test_text_has_everything_that_is_declared(rule_id: str) -> None:
    rule = all_rules()[rule_id]
    text = explain(rule_id)
    assert text.startswith(f"# {rule.id} {rule.name}\n")
    for part in (rule.summary, rule.explanation, rule.cure, rule.samples.bad.strip(), rule.samples.good.strip()):
        assert part in text
    assert ("## Not reported" in text) is bool(rule.samples.near_miss)
    assert f"terra: ignore[{rule.id}]" in text


def test_rule_is_found_by_any_case_and_by_name() -> None:
    assert explain("tr101") == explain("TR101") == explain("host-print-or-log")


def test_unknown_rule_is_an_error() -> None:
    with pytest.raises(KeyError, match="TR000"):
        explain("TR000")
