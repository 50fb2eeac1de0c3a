"""Writes the manual of rules, docs/rules/, from the rules' own declarations.

Computes: one page for each rule, an index by family, and a page that leads from a message of TensorFlow to the rule.
Needs: `terra_refactor.rules.registry`, the programs of `corpus/messages`. Gives: `rule_pages`, `quoted_messages`, and the files.
Ignores: other files in that folder, except pages of removed rules, which it deletes.

Run as `python tools/document_rules.py` (or `make generated`). A test fails when the pages are stale.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from corpus.messages import MessageProgram, message_programs
from corpus.prose import wrap
from terra_refactor.rules.explain import kind_in_words
from terra_refactor.rules.registry import all_rules, families
from terra_refactor.rules.rule import Rule, RuleKind

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "rules"
SITE = ROOT / "mkdocs.yml"
INDEX = "README.md"
MESSAGES = "messages.md"
_QUOTED = re.compile(r"`((?:\w+(?:Error|Exception): |\d+ out of the last )[^`]+)`")
"""A message of TensorFlow, Keras or Python as quoted in an explanation."""


def rule_pages() -> dict[str, str]:
    """The text of each page by its file name."""
    rules = all_rules()
    pages = {f"{rule.id}.md": _page(rule) for rule in rules.values()}
    pages[INDEX] = _index(rules)
    pages[MESSAGES] = _messages(rules)
    return pages


def site() -> str:
    """`mkdocs.yml` with every rule's page in the navigation, by family."""
    before, begin, rest = SITE.read_text(encoding="utf-8").partition("      # rules: begin\n")
    _, end, after = rest.partition("      # rules: end\n")
    lines = []
    for prefix, title in families().items():
        name = title.partition(": ")[2].partition(".")[0]
        lines.append(f'      - "{prefix}xx: {name}":\n')
        lines += [
            f'          - "{rule.id} {rule.name}": rules/{rule.id}.md\n'
            for rule in all_rules().values()
            if rule.id.startswith(prefix)
        ]
    return "".join([before, begin, *lines, end, after])


def quoted_messages() -> tuple[tuple[str, str], ...]:
    """Every message that the explanation of a rule quotes, with the rule's id."""
    return tuple(
        (rule.id, message)
        for rule in all_rules().values()
        for message in sorted(set(_QUOTED.findall(rule.explanation)))
    )


def write_pages() -> list[str]:
    """Writes changed files and removes stale ones; returns the names of both."""
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
    if (text := site()) != SITE.read_text(encoding="utf-8"):
        SITE.write_text(text, encoding="utf-8")
        changed.append(SITE.name)
    return changed


def _page(rule: Rule) -> str:
    parts = [
        f"# {rule.id}: {rule.name}",
        f"Severity: **{rule.severity.value}**. {kind_in_words(rule)}",
        rule.summary,
    ]
    if rule.samples.bad:
        shown = "make their function `unsafe`" if rule.only_decides else "are reported"
        parts += ["## Before", f"Lines that end in `# {rule.id}` {shown}.", _code(rule.samples.bad)]
    about_tensorflow = rule.kind is not RuleKind.DECISION and not rule.id.startswith("TR9")  # those are about this tool
    parts += ["## What TensorFlow does" if about_tensorflow else "## Why", rule.explanation]
    if rule.cure or rule.samples.good:
        parts += [
            "## After",
            *([rule.cure] if rule.cure else []),
            *([_code(rule.samples.good)] if rule.samples.good else []),
        ]
    if rule.samples.near_miss:
        parts += ["## Not reported", "Similar code that is fine:", _code(rule.samples.near_miss)]
    parts += [
        "## Suppress",
        f"On one line: `# terra: ignore[{rule.id}]`, followed by the reason. See [Configuration](../configuration.md).",
    ]
    return wrap("\n\n".join(part.strip() for part in parts) + "\n")


def _code(sample: str) -> str:
    return "```python\n" + sample.strip("\n") + "\n```"


def _index(rules: Mapping[str, Rule]) -> str:
    lines = [
        "# Rules",
        "",
        "Written by `tools/document_rules.py` from the rules' declarations below `terra_refactor/rules/`; `terra-refactor explain RULE` "
        "prints the same. The samples are tests: each line that ends in `# TRnnn` is reported, and no other.",
    ]
    for prefix, title in families().items():
        lines += ["", f"## {title}", "", "| rule | name | severity | what it finds |", "|---|---|---|---|"]
        lines += [
            f"| [{rule.id}]({rule.id}.md) | {rule.name} | {rule.severity.value} | {rule.summary} |"
            for rule in rules.values()
            if rule.id.startswith(prefix)
        ]
    return wrap("\n".join(lines) + "\n")


def _messages(rules: Mapping[str, Rule]) -> str:
    lines = [
        "# From your error message to the rule",
        "",
        "Messages that TensorFlow 2.21, Keras and Python raise or log in and around a `tf.function`; what each means; and the rule that "
        "finds the cause without running the program. Search this page for the words of your message that are not names, shapes or "
        "numbers of your own; `...` stands for those. In a `tf.function` the message stands at the end of a longer one that begins with "
        "`in user code:`.",
        "",
        "Each message was printed by the program below it, and `terra-refactor lint` reports the marked line "
        "(`tests/proof/test_messages.py`).",
    ]
    group = ""
    for program in message_programs():
        kind = _group(program.message)
        if kind != group:
            group = kind
            lines += ["", f"## {kind}"]
        lines += ["", f"### {_title(program.message)}", "", *_message(program, rules)]
    return wrap("\n".join(lines) + "\n")


def _group(message: str) -> str:
    """The class of the exception."""
    found = re.match(r"\w+(?:Error|Exception)(?=:)", message)
    return found[0] if found else "Warnings"


def _title(message: str) -> str:
    """A message without its class, short enough for a table of contents."""
    text = re.sub(r"^\w+(?:Error|Exception): (?:\.\.\. )?", "", message).replace("`", "")
    retraced = re.search(r"triggered tf\.function retracing.*?(\(\d\) [\w@ ]*(?:\.\w[\w ]*)?)", text)
    if retraced:
        text = f"triggered tf.function retracing ... {retraced[1]}"
    return "`" + (text if len(text) <= 90 else text[:87].rsplit(" ", 1)[0] + " ...") + "`"


def _message(program: MessageProgram, rules: Mapping[str, Rule]) -> list[str]:
    lines = ["```text", program.message, "```", ""]
    if program.meaning:
        lines += [program.meaning, ""]
    lines += ["```python", program.code.rstrip("\n"), "```", ""]
    for number in dict.fromkeys(rule for _, rule in program.marks):
        cure = " ".join((rules[number].cure or "").split())
        lines += [f"[{number} {rules[number].name}]({number}.md): {cure}", ""]
    return lines[:-1]


if __name__ == "__main__":
    written = write_pages()
    print(f"{len(written)} pages written: {', '.join(written)}" if written else "every page is up to date")
