"""Suppression comments.

Computes: the rules suppressed on each line. Needs: a text, which need not parse. Gives: `Suppressions`. Ignores:
whether a rule of that name exists, and whether a suppression is useful (see `workspace/suppression.py`).

    x = print(y)  # terra: ignore[TR101] shown once on purpose
    # terra: ignore                        (a line of its own: the next line that is not a comment)
    # terra: off[TR4]  ...  # terra: on[TR4]
    # terra: ignore-file[TR101,TR3] reason

A code matches every rule that begins with it, so `TR3` is the family. Without brackets all rules are meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from terra_refactor.syntax.layout import comments_of
from terra_refactor.syntax.lines import LineIndex
from terra_refactor.syntax.location import Span

_DIRECTIVE = re.compile(
    r"#\s*terra:\s*(?P<word>ignore-file|ignore|off|on)\b(?!-)(?P<codes>\s*\[(?P<list>[^\]]*)\])?(?P<reason>[^#]*)",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


class SuppressionKind(Enum):
    """The scope of a suppression."""

    LINE = "ignore"
    FILE = "ignore-file"
    BLOCK = "off"


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment that suppresses rules.

    Attributes:
        kind: its scope.
        codes: the rules or families, in upper case and sorted; empty for all rules. A rule's name in kebab-case is
            unchanged.
        first_line: the first line of its scope, counted from 1.
        last_line: the last line of its scope.
        span: the comment itself.
        reason: the author's reason; may be empty.
        closed_by: the comment that ends a block; None if the block extends to the end of the file, or if it is not a
            block.
    """

    kind: SuppressionKind
    codes: tuple[str, ...]
    first_line: int
    last_line: int
    span: Span
    reason: str = ""
    closed_by: Span | None = None

    def covers(self, rule_id: str, rule_name: str = "") -> bool:
        """Whether this comment suppresses the rule."""
        return not self.codes or any(
            rule_id.startswith(code) or (rule_name and rule_name == code) for code in self.codes
        )


@dataclass(frozen=True, slots=True)
class MalformedSuppression:
    """A comment that looks like a suppression but is malformed: an empty list, an invalid code, an `on` without an `off`."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Suppressions:
    """All suppressions of one file, in the order of the text."""

    entries: tuple[Suppression, ...]
    malformed: tuple[MalformedSuppression, ...] = ()

    def find(
        self, rule_id: str, first_line: int, last_line: int | None = None, rule_name: str = ""
    ) -> Suppression | None:
        """The first suppression that covers this rule on one of these lines; the narrowest kind (line, block, file) is
        preferred.
        """
        last = first_line if last_line is None else last_line
        for kind in (SuppressionKind.LINE, SuppressionKind.BLOCK, SuppressionKind.FILE):
            for entry in self.entries:
                if entry.kind is kind and entry.first_line <= last and first_line <= entry.last_line:
                    if entry.covers(rule_id, rule_name):
                        return entry
        return None


def read_suppressions(text: str) -> Suppressions:
    """The suppressions of a text. Only comments are read; strings that look like them are ignored."""
    if "terra:" not in text.lower():
        return Suppressions(())
    lines = LineIndex(text)
    entries: list[Suppression] = []
    malformed: list[MalformedSuppression] = []
    open_blocks: dict[str, tuple[int, Span, str]] = {}  # by code; "" is all rules
    for word, codes, reason, start, end in _directives(text):
        span = lines.span(start, end)
        if codes is None:
            malformed.append(MalformedSuppression(span, "lists no rule, or an invalid name; nothing is suppressed"))
            continue
        match word:
            case "ignore":
                line = _target_line(text, lines, start)
                entries.append(Suppression(SuppressionKind.LINE, codes, line, max(line, span.line), span, reason))
            case "ignore-file":
                entries.append(Suppression(SuppressionKind.FILE, codes, 1, len(lines), span, reason))
            case "off":
                for code in codes or ("",):
                    open_blocks.setdefault(code, (span.line, span, reason))
            case _:
                closing = codes or tuple(open_blocks)
                lost = [code for code in closing if code not in open_blocks]
                if lost or not closing:
                    malformed.append(MalformedSuppression(span, "switches on what was not switched off"))
                entries.extend(
                    _block(code, open_blocks.pop(code), span.line, span) for code in closing if code in open_blocks
                )
    entries.extend(_block(code, opened, len(lines)) for code, opened in open_blocks.items())
    entries.sort(key=lambda entry: (entry.span, entry.codes))
    return Suppressions(tuple(entries), tuple(malformed))


def _block(code: str, opened: tuple[int, Span, str], last_line: int, closed_by: Span | None = None) -> Suppression:
    first_line, span, reason = opened
    return Suppression(SuppressionKind.BLOCK, (code,) if code else (), first_line, last_line, span, reason, closed_by)


def _directives(text: str) -> Iterator[tuple[str, tuple[str, ...] | None, str, int, int]]:
    """Word, codes (None when malformed), reason and extent of each directive."""
    for start, end in comments_of(text):
        for found in _DIRECTIVE.finditer(text, start, end):
            codes: tuple[str, ...] | None = ()
            if found["codes"] is not None:
                names = [name.strip() for name in found["list"].split(",") if name.strip()]
                valid = bool(names) and all(_CODE.fullmatch(name) for name in names)
                codes = tuple(sorted({name if "-" in name else name.upper() for name in names})) if valid else None
            yield (
                found["word"].lower(),
                codes,
                found["reason"].strip(" \t-:"),
                found.start(),
                found.start() + len(found.group().rstrip()),
            )


def _target_line(text: str, lines: LineIndex, start: int) -> int:
    """The line to which an `ignore` applies: its own, or, if it is alone on its line, the next that contains code."""
    line, column = lines.place(start)
    if text[start - column + 1 : start].strip():
        return line
    for following in range(line + 1, len(lines) + 1):
        first = lines.offset(following, 1)
        end = lines.offset(following + 1, 1) if following < len(lines) else len(text)
        content = text[first:end].strip()
        if content and not content.startswith("#"):
            return following
    return line
