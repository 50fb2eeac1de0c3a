"""Escapes text from an analysed repository (paths, names, messages that quote code) for the place where it is shown.

Gives: `printable` for terminals and logs, `unlike_command` for logs of CI services, `in_markdown` and
`as_code` for Markdown. Ignores: HTML and JSON, whose writers encode everything.
"""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that move the cursor, control the terminal, or change the writing direction; the printing code handles
tabs and line ends.
"""
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)", re.DOTALL)
"""A code span as CommonMark delimits it."""


def printable(text: str, *, one_line: bool = False) -> str:
    """The text with control characters as Python escapes; with `one_line`, line breaks, too."""
    text = _CONTROL.sub(lambda found: _escape(found.group()), text)
    return text.replace("\n", "\\n").replace("\t", "\\t") if one_line else text


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def unlike_command(text: str) -> str:
    """A part of a line, changed such that a GitHub runner never interprets it as a command."""
    if text.lstrip().startswith("::"):
        text = text.replace("::", ": :", 1)
    return text.replace("##[", "## [")


def in_markdown(text: str) -> str:
    """A sentence for Markdown: code spans stay, but links, images, HTML and emphasis by `_` are escaped."""
    text = printable(" ".join(text.split()))
    parts: list[str] = []
    at = 0
    for span in _CODE.finditer(text):
        parts += [_plain(text[at : span.start()]), span.group()]
        at = span.end()
    return "".join([*parts, _plain(text[at:])])


def _plain(text: str) -> str:
    text = re.sub(
        r"(?<![^\W_])_+|_+(?![^\W_])", lambda run: r"\_" * len(run[0]), text
    )  # `__call__` would be `call` in bold
    return re.sub(r"<(?=[A-Za-z/!?])", r"\\<", text).replace("](", "]\\(").replace("][", "]\\[")


def as_code(text: str) -> str:
    """A text as a code span, whatever backticks are in it."""
    text = printable(text, one_line=True)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    if not longest:
        return f"`{text}`"
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}"
