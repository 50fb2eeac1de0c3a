"""The manual in docs/rules/ says what the rules say."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))

from document_rules import FOLDER, INDEX, MESSAGES, SITE, rule_pages, site

from terra_refactor.rules.registry import all_rules


def test_every_page_is_up_to_date() -> None:
    expected = rule_pages()
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    stale = sorted(name for name in {*expected, *found} if expected.get(name) != found.get(name))
    assert not stale, f"run `make generated`: {', '.join(stale)}"


def test_the_navigation_has_every_rule() -> None:
    navigation = SITE.read_text(encoding="utf-8")
    assert site() == navigation, "run `make generated`"
    assert [rule for rule in all_rules() if navigation.count(f": rules/{rule}.md\n") != 1] == []


def test_the_index_names_every_rule_once() -> None:
    index = rule_pages()[INDEX]
    assert {rule: index.count(f"[{rule}]") for rule in all_rules()} == dict.fromkeys(all_rules(), 1)


def test_a_message_of_tensorflow_leads_to_its_rule() -> None:
    entries = rule_pages()[MESSAGES].split("\n### ")[1:]
    for message, rule in (
        ("OperatorNotAllowedInGraphError: Iterating over a symbolic `tf.Tensor`", "TR303"),
        ("InaccessibleTensorError", "TR308"),
        ("tf.function only supports singleton tf.Variables created on the first call", "TR603"),
        ("tried to create variables on non-first call", "TR603"),
        ("triggered tf.function retracing", "TR203"),
    ):
        assert any(message in entry and f"[{rule} " in entry for entry in entries), message
