"""Writes the manual of rules, docs/rules/, from the rules' own declarations.

Computes: one page for each rule, an index by family, and an index by the messages of TensorFlow that the rules quote.
Needs: `terra_refactor.rules.registry`. Gives: `rule_pages`, and the files.
Ignores: other files in that folder, apart from pages of rules that are no more, which it removes.

Run as `python tools/document_rules.py` (or `make generated`). A test fails when the pages are stale.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from terra_refactor.rules.registry import FAMILIES, all_rules
from terra_refactor.rules.rule import Rule, RuleKind

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "rules"
INDEX = "README.md"
MESSAGES = "messages.md"
_QUOTED = re.compile(r"`((?:\w+(?:Error|Exception): |\d+ out of the last )[^`]+)`")
"""A message of TensorFlow, Keras or Python as an explanation quotes it."""
KINDS: Mapping[RuleKind, str] = {
    RuleKind.HAZARD: (
        "Hazard: a function that is not a graph yet and reaches such a place is `unsafe` (or `speculative`, where it is only "
        "assumed); reported where the code is a graph already."
    ),
    RuleKind.DIAGNOSTIC: "Diagnostic: reported wherever it is found; says nothing about whether the function may be a graph.",
    RuleKind.DECISION: "Decision: follows from what was decided about the whole function, and is reported at its definition.",
}


def rule_pages() -> dict[str, str]:
    """The text of each page by its file name."""
    rules = all_rules()
    pages = {f"{rule.id}.md": _page(rule) for rule in rules.values()}
    pages[INDEX] = _index(rules)
    pages[MESSAGES] = _messages(rules)
    return pages


def write_pages() -> list[str]:
    """Write what differs and remove what is stale; the names of both."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    pages = rule_pages()
    changed = []
    for name, text in sorted(pages.items()):
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(name)
    for path in sorted(FOLDER.glob("TR*.md")):
        if path.name not in pages:
            path.unlink()
            changed.append(path.name)
    return changed


def _page(rule: Rule) -> str:
    parts = [
        f"# {rule.id}: {rule.name}",
        f"Severity: **{rule.severity.value}**. {KINDS[rule.kind]}",
        rule.summary,
        "## What happens",
        rule.explanation,
    ]
    if rule.cure:
        parts += ["## What to do", rule.cure]
    for title, sample in (
        ("Reported", rule.samples.bad),
        ("Use instead", rule.samples.good),
        ("Looks alike, and is fine", rule.samples.near_miss),
    ):
        if sample:
            parts += [f"## {title}", "```python\n" + sample.strip("\n") + "\n```"]
    parts += ["## To ignore it", f"On one line: `# terra: ignore[{rule.id}]`, with the reason after it."]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _index(rules: Mapping[str, Rule]) -> str:
    lines = [
        "# Rules",
        "",
        "Written by `tools/document_rules.py` from the rules' declarations below `terra_refactor/rules/`; `terra-refactor explain RULE` "
        "prints the same. The samples are tests: each line that ends in `# TRnnn` is reported, and no other.",
    ]
    for family in FAMILIES:
        title = (importlib.import_module(f"terra_refactor.rules.{family}").__doc__ or "").strip()
        prefix = title[:3]
        lines += ["", f"## {title}", "", "| rule | name | severity | what it finds |", "|---|---|---|---|"]
        lines += [
            f"| [{rule.id}]({rule.id}.md) | {rule.name} | {rule.severity.value} | {rule.summary} |"
            for rule in rules.values()
            if rule.id.startswith(prefix)
        ]
    return "\n".join(lines) + "\n"


def _messages(rules: Mapping[str, Rule]) -> str:
    found = sorted((message, rule.id) for rule in rules.values() for message in set(_QUOTED.findall(rule.explanation)))
    lines = [
        "# From an error message to its rule",
        "",
        "Messages of TensorFlow, Keras and Python that a `tf.function` raises or logs, and the rule that reports the cause "
        "before the program runs. Names, shapes and dtypes in a message are those of an example. Written by "
        "`tools/document_rules.py` from the explanations of the rules.",
        "",
        "| message | rule | what to do |",
        "|---|---|---|",
    ]
    for message, number in found:
        rule = rules[number]
        cure = (rule.cure or "").replace("|", "\\|").replace("\n", " ").strip()
        lines.append(f"| `{message}` | [{number}]({number}.md) {rule.name} | {cure} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    written = write_pages()
    print(f"{len(written)} pages written: {', '.join(written)}" if written else "every page is up to date")
