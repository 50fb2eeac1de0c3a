"""Properties of a text before it is parsed: where logical lines begin, and how deeply it nests.

Computes: logical line starts (for notebooks) and an upper bound of the depth of the syntax tree (to bound the
parser's recursion). Needs: text. Gives: `LogicalLines`, `measure_nesting`, `measure_patterns`. Ignores: grammar. The
answer for a text that does not parse is meaningless.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPENING = re.compile(r"""[rRbBuUfFtT]{0,2}(?P<quote>\"\"\"|'''|"|')|\#|[\[({]|[\])}]""")

_TOKEN = re.compile(
    r"""
    (?P<string>[A-Za-z]{0,2}(?:
        \"\"\"[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"\"\"
      | '''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''
      | "[^"\\\n]*(?:\\.[^"\\\n]*)*"
      | '[^'\\\n]*(?:\\.[^'\\\n]*)*'
    ))
    | \#[^\r\n]*
    | (?P<link>\*\*|//|<<|>>|[<>=!]=|:=|->|[-+*/%&|^~@<>.]|\b(?:lambda|not|if|elif|and|or|in|is|for|await|yield|else)\b)
    | (?P<open>[\[({])
    | (?P<close>[\])}])
    | (?P<comma>,)
    | \\\r?\n
    | (?P<newline>[\r\n;])
    """,
    re.VERBOSE | re.DOTALL,
)


_CASE = re.compile(r"^[ \t]*case\b", re.MULTILINE)
_TOP_LEVEL_STATEMENT = re.compile(r"(?!el(?:if|se)\b)[^\s#]")
"""The first character of a statement at the left margin that does not continue an `if`."""


@dataclass(frozen=True, slots=True)
class Nesting:
    """Upper bounds of how deep a syntax tree can be.

    Attributes:
        brackets: the largest number of brackets open at one place.
        brackets_line: the line of that place, counted from 1.
        depth: the largest number of syntax tree levels within one statement: brackets and operators that may nest in each other, or
            branches of one `if` (`elif` nests in the tree).
        depth_line: the line of that place, counted from 1.
        work: the estimated time of LibCST's parser for deep statements, in microseconds.
        work_line: the line of the most expensive statement, counted from 1.
    """

    brackets: int
    brackets_line: int
    depth: int
    depth_line: int
    work: int
    work_line: int


_ORDINARY_DEPTH, _ORDINARY_BRACKETS, _ORDINARY_CHAIN = 100, 20, 50
"""Depth of a statement up to which its parsing time depends only on its length."""


class _ParserWork:
    """The cost of deep statements for LibCST: the square of their depth and of their brackets, and the cube of a chain `f(a)(b)[c]`."""

    __slots__ = ("brackets", "chain", "depth", "outer", "total", "worst", "worst_at")

    def __init__(self) -> None:
        self.total = self.worst = self.worst_at = 0
        self.depth = self.brackets = 0
        self.chain = 0
        self.outer: list[int] = []

    def opened(self) -> None:
        self.outer.append(self.chain)
        self.brackets = max(self.brackets, len(self.outer))
        self.chain = 0

    def closed(self, at: int) -> None:
        self.chain_ended(at)
        self.chain = self.outer.pop() + 1

    def chain_ended(self, at: int) -> None:
        if self.chain > _ORDINARY_CHAIN:
            self._add(self.chain**3 // 550, at)
        self.chain = 0

    def statement_ended(self, at: int) -> None:
        self.chain_ended(at)
        if self.depth > _ORDINARY_DEPTH:
            self._add(self.depth**2 // 5, at)
        if self.brackets > _ORDINARY_BRACKETS:
            self._add(10 * self.brackets**2, at)
        self.depth = self.brackets = 0

    def _add(self, work: int, at: int) -> None:
        self.total += work
        if work > self.worst:
            self.worst, self.worst_at = work, at


class LogicalLines:
    """Tracks, line by line, whether the next line begins a new logical line. Lines are fed without their line ending."""

    __slots__ = ("_brackets", "_continued", "_quote")

    def __init__(self) -> None:
        self._brackets = 0
        self._quote: str | None = None
        self._continued = False

    @property
    def at_start(self) -> bool:
        """Whether the line to be fed next begins a logical line: no bracket, no string and no continuation is open."""
        return not self._brackets and self._quote is None and not self._continued

    def feed(self, line: str) -> None:
        """Processes one physical line."""
        at = 0
        self._continued = False
        while at < len(line):
            if self._quote is not None:
                end = _string_end(line, at, self._quote)
                if end is None:
                    if len(self._quote) == 1 and not line.endswith("\\"):
                        self._quote = None  # a plain string ends with its line, in a syntax error
                    return
                self._quote = None
                at = end
                continue
            found = _OPENING.search(line, at)
            if found is None:
                break
            at = found.end()
            token = found.group()
            if token == "#":
                return
            if found["quote"] is not None:
                self._quote = found["quote"]
            elif token in "[({":
                self._brackets += 1
            else:
                self._brackets = max(0, self._brackets - 1)
        self._continued = self._quote is None and line.endswith("\\")


def measure_nesting(text: str) -> Nesting:
    """Bound the depth of the syntax tree of a text, in one pass over its tokens."""
    brackets, brackets_at = 0, 0
    depth, depth_at = 0, 0
    outer: list[int] = []  # links counted at each open bracket
    outer_sum = 0
    links = 0
    branches = 0
    work = _ParserWork()
    for found in _TOKEN.finditer(text):
        match found.lastgroup:
            case "link":
                links += 1
                if found.group() != ".":
                    work.chain_ended(found.start())
                if found.group() == "elif":
                    branches += 1
                    if branches > depth:
                        depth, depth_at = branches, found.start()
            case "open":
                work.opened()
                outer.append(links)
                outer_sum += links + 1
                links = 0
                if len(outer) > brackets:
                    brackets, brackets_at = len(outer), found.start()
            case "close":
                if outer:
                    work.closed(found.start())
                    inside = links
                    links = outer.pop()
                    outer_sum -= links + 1
                    work.depth = max(work.depth, outer_sum + inside)
                    links += 1  # a call or subscript is a link of its own: f(a)(b)(c)
                    if outer_sum + inside > depth:
                        depth, depth_at = outer_sum + inside, found.start()
            case "comma":
                work.chain_ended(found.start())
                if outer:
                    work.depth = max(work.depth, outer_sum + links)
                    if outer_sum + links > depth:
                        depth, depth_at = outer_sum + links, found.start()
                    links = 0
            case "newline":
                if not outer:
                    work.depth = max(work.depth, links)
                    work.statement_ended(found.start())
                    links = 0
                    if branches and _TOP_LEVEL_STATEMENT.match(text, found.end()):
                        branches = 0
            case "string":
                links += 1  # adjacent literals nest to the right
                inside = _brackets_in_format_string(found.group())
                if len(outer) + inside > brackets:
                    brackets, brackets_at = len(outer) + inside, found.start()
                outer_inside = outer_sum + links + inside
                if outer_inside > depth:
                    depth, depth_at = outer_inside, found.start()
            case _:
                pass
        if outer_sum + links > depth:
            depth, depth_at = outer_sum + links, found.start()
    work.depth = max(work.depth, outer_sum + links)
    work.statement_ended(len(text))
    lines = [_line_at(text, at) for at in (brackets_at, depth_at, work.worst_at)]
    return Nesting(brackets, lines[0], depth, lines[1], work.total, lines[2])


def measure_patterns(text: str) -> tuple[int, int]:
    """Maximum number of times that LibCST parses the innermost of the nested patterns of `case`; and the line of the worst.

    Its grammar tries alternatives there without memoising, so each bracket doubles the work, and a mapping quadruples
    it. Expressions are memoised, and take time about the square of their depth.
    """
    total = worst = worst_at = 0
    for case in _CASE.finditer(text):
        tries = 1
        open_brackets: list[int] = []
        now = 1
        for found in _TOKEN.finditer(text, case.end()):
            match found.lastgroup:
                case "open":
                    open_brackets.append(now)
                    now *= 4 if found.group() == "{" else 2
                    tries = max(tries, now)
                case "close" if open_brackets:
                    now = open_brackets.pop()
                case "newline" if not open_brackets:
                    break
                case "link" if found.group() == "if" and not open_brackets:
                    break  # the guard is an expression
                case _:
                    pass
        total += tries
        if tries > worst:
            worst, worst_at = tries, case.start()
    return total, _line_at(text, worst_at)


def _string_end(line: str, at: int, quote: str) -> int | None:
    """Offset just after the closing quote of a string whose content continues at `at`, or None if it is not on this line."""
    while at < len(line):
        if line[at] == "\\":
            at += 2
        elif line.startswith(quote, at):
            return at + len(quote)
        else:
            at += 1
    return None


def _brackets_in_format_string(literal: str) -> int:
    """The largest number of brackets open at one place of a format string's replacement fields; 0 for other literals."""
    if literal[0] in "'\"" or not set(literal[:2].lower()) & {"f", "t"} or "{" not in literal:
        return 0
    open_now = deepest = 0
    for character in literal.replace("{{", "").replace("}}", ""):
        if character in "([{":
            open_now += 1
            deepest = max(deepest, open_now)
        elif character in ")]}":
            open_now = max(0, open_now - 1)
    return deepest


def _line_at(text: str, offset: int) -> int:
    return len(re.findall(r"\r\n?|\n", text[:offset])) + 1


def comments_of(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every comment of a text, in order, except in strings."""
    for found in _TOKEN.finditer(text):
        if found.lastgroup is None and text[found.start()] == "#":
            yield found.span()
