"""Suppresses one finding with a comment.

Computes: the text with the comment. Needs: a text that may be edited, the rule and its place. Gives: `suppressed_text`.

    loss = float(x)      ->      loss = float(x)  # terra: ignore[TR301] shown once

The comment is added to the first line of the place; if that line ends inside a string or is continued by a backslash, to its last
line; else on a line of its own above. An existing comment gets the rule's id.
"""

from __future__ import annotations

import re

from terra_refactor.syntax.comments import SuppressionKind, read_suppressions
from terra_refactor.syntax.edit import split_lines
from terra_refactor.syntax.location import Span

_LIST = re.compile(r"\[(?P<codes>[^\]]*)\]")


def suppressed_text(text: str, rule: str, span: Span, reason: str = "") -> str | None:
    """The text with a comment that suppresses the finding; None if no comment can. `reason` must be a single line."""
    lines = split_lines(text)
    if not 1 <= span.line <= len(lines):
        return None
    reason = " ".join(reason.replace("#", " ").split())
    for entry in read_suppressions(text).entries:
        if entry.kind is SuppressionKind.LINE and entry.codes and span.line <= entry.span.line <= span.end_line:
            extended = _extended(lines, entry.span, rule)
            if extended is not None and _holds(extended, rule, span):
                return extended
    comment = f"# terra: ignore[{rule}]" + (f" {reason}" if reason else "")
    for number in dict.fromkeys((span.line, min(span.end_line, len(lines)))):
        line = lines[number - 1]
        body = line.rstrip("\r\n")
        changed = [*lines]
        changed[number - 1] = f"{body.rstrip()}  {comment}{line[len(body) :]}"
        candidate = "".join(changed)
        if not body.rstrip().endswith("\\") and _holds(candidate, rule, span):
            return candidate
    first = lines[span.line - 1]
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    ending = first[len(first.rstrip("\r\n")) :] or "\n"
    candidate = "".join([*lines[: span.line - 1], f"{indent}{comment}{ending}", *lines[span.line - 1 :]])
    below = Span(span.line + 1, span.column, span.end_line + 1, span.end_column)
    return candidate if _holds(candidate, rule, below) else None


def _extended(lines: list[str], comment: Span, rule: str) -> str | None:
    line = lines[comment.line - 1]
    found = _LIST.search(line, comment.column - 1)
    if found is None:
        return None
    changed = [*lines]
    changed[comment.line - 1] = f"{line[: found.end('codes')]}, {rule}{line[found.end('codes') :]}"
    return "".join(changed)


def _holds(text: str, rule: str, span: Span) -> bool:
    return read_suppressions(text).find(rule, span.line, span.end_line) is not None
