"""From source to syntax tree.

Computes: the LibCST module of a source. Needs: `Source`. Gives: `ParsedModule`.
Ignores: positions (`positions.py`) and scopes (`scopes.py`).

LibCST's parser recurses in native code, where too deep a nesting ends the process. So nesting is bounded before parsing, by the
limits of Python itself: CPython accepts 200 nested brackets and, before 3.13, fewer than 3,000 levels of nested operators. Native
code cannot be interrupted either, so its time is also bounded before: by the size of a text, and by the cost of its patterns
(`case`).
"""

from __future__ import annotations

import io
import re
import tokenize
import warnings
from dataclasses import dataclass, field

import libcst

from terra_refactor.errors import SourceError
from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.syntax.edit import split_lines
from terra_refactor.syntax.layout import measure_nesting, measure_patterns
from terra_refactor.syntax.source import Source

MAX_BRACKETS = 200
"""Brackets that may be open at one place; CPython's own limit."""

MAX_NESTING = 3_000
"""Levels of operators, or of `elif`, within one statement; CPython's own limit."""

MAX_CHARACTERS = 4_000_000
"""Maximum length of one source text; a larger one is data."""

MAX_WORDS = 250_000
"""Words (names, numbers, words of comments) of one source text, about ten seconds of parsing and analysis."""

UNUSUAL_CHARACTERS = 400_000
UNUSUAL_WORK = 500_000
UNUSUAL_PATTERN_TRIES = 1 << 16
"""Limits of usual texts, in characters, work and pattern tries of the parser; a text that needs the large stack is unusual, too."""

MAX_WORK = 5_000_000
"""The parser's budget for deep statements of a text: about five seconds. A chain of 1,400 calls reaches it."""

MAX_PATTERN_TRIES = 1 << 19
"""The parser's budget for nested patterns of a text; see `measure_patterns`. This many take the parser about a second."""

_ORDINARY_DEPTH = 150
"""Up to here the parser runs on the caller's stack, which may be as small as half a megabyte in a thread."""

_WORD = re.compile(r"\w+")
_LONE_RETURN = re.compile(r"\r(?!\n)")
_ERROR_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ParsedModule:
    """A source with its syntax tree.

    Attributes:
        source: the source.
        module: the tree. Its positions are those of `source.text`; see `positions.measure_spans`.
    """

    source: Source
    module: libcst.Module = field(repr=False)
    text: str = field(default="", repr=False)
    """The text that the parser was given, of the same length as the source's text; empty if that is `parser_text` of it."""


class UnusualSourceError(SourceError):
    """The parser, which is native code, may take very long or overflow the stack on this text: parse it in a process of
    its own.
    """


def parse_module(source: Source, *, unusual: bool = True) -> ParsedModule:
    """Parses a source. `unusual`: whether a source on which the parser may hang or crash is allowed.

    Raises:
        UnusualSourceError: it is such a source, and `unusual` is false.
        SourceError: it does not parse, or is larger, or nested more deeply, than can be parsed.
    """
    if len(source.text) > MAX_CHARACTERS:
        message = f"is too large to be analysed: {len(source.text):,} characters (at most {MAX_CHARACTERS:,})"
        raise SourceError(source.path, message)
    if len(source.text) > 2 * MAX_WORDS:  # a shorter text cannot have so many levels
        words = sum(1 for _ in _WORD.finditer(source.text))
        if words > MAX_WORDS:
            message = f"is too large to be analysed: {words:,} words (at most {MAX_WORDS:,})"
            raise SourceError(source.path, message)
    nesting = measure_nesting(source.text)
    if nesting.brackets > MAX_BRACKETS:
        message = f"does not parse: {nesting.brackets:,} nested brackets (Python takes {MAX_BRACKETS})"
        raise SourceError(source.path, message, nesting.brackets_line)
    if nesting.depth > MAX_NESTING:
        message = f"is nested too deeply to be analysed: about {nesting.depth:,} levels of operators or branches in one statement"
        raise SourceError(source.path, message, nesting.depth_line)
    if nesting.work > MAX_WORK:
        message = "is nested too deeply to be analysed: long chains of calls, or deep expressions, in many statements"
        raise SourceError(source.path, message, nesting.work_line)
    tries, pattern_line = measure_patterns(source.text)
    if tries > MAX_PATTERN_TRIES:
        raise SourceError(source.path, "is nested too deeply to be analysed: a pattern of `case`", pattern_line)
    is_unusual = (
        len(source.text) > UNUSUAL_CHARACTERS
        or nesting.depth > _ORDINARY_DEPTH
        or nesting.work > UNUSUAL_WORK
        or tries > UNUSUAL_PATTERN_TRIES
    )
    if is_unusual and not unusual:
        raise UnusualSourceError(source.path, "is unusual")
    text = parser_text(source.text)
    at_once = nesting.depth > _ORDINARY_DEPTH
    try:
        module = call_with_deep_stack(lambda: libcst.parse_module(text), at_once=at_once)
    except libcst.ParserSyntaxError as error:
        plain = _without_tabs(text) if _complaint_of_python(source.text) is None else text
        if plain == text:
            raise _syntax_error(source, error) from error
        try:
            module = call_with_deep_stack(lambda: libcst.parse_module(plain), at_once=at_once)
        except libcst.ParserSyntaxError:
            raise _syntax_error(source, error) from error
        return ParsedModule(source, module, plain)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise SourceError(source.path, "does not parse: contains half of a surrogate pair", line) from error
    return ParsedModule(source, module)


def parser_text(text: str) -> str:
    """The text as the parser gets it: of the same length, with each lone carriage return (a line end) replaced by a newline."""
    return _LONE_RETURN.sub("\n", text) if "\r" in text else text


def _without_tabs(text: str) -> str:
    """The text with a space for each tab that indents a line.

    Python compares indentations by columns; the parser requires a block's indentation to begin with that of the
    enclosing block, so it rejects `<tab><8 spaces>` in a block of 8 spaces. Python also requires the same order with
    tabs one column wide, so the replacement changes nothing.
    """
    if "\t" not in text:
        return text
    lines = split_lines(text)
    inside = _lines_inside_strings(text)
    for number, line in enumerate(lines, start=1):
        rest = line.lstrip(" \t\f")
        indent = line[: len(line) - len(rest)]
        if "\t" in indent and number not in inside:
            lines[number - 1] = indent.replace("\t", " ") + rest
    return "".join(lines)


def _lines_inside_strings(text: str) -> frozenset[int]:
    """The lines, from 1, that begin inside a string; all of them if the text cannot be tokenized."""
    found: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            if tokenize.tok_name[token.type] in ("STRING", "FSTRING_MIDDLE", "TSTRING_MIDDLE"):
                found.update(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return frozenset(range(1, text.count("\n") + 2))
    return frozenset(found)


def _syntax_error(source: Source, error: libcst.ParserSyntaxError) -> SourceError:
    """The syntax error in one sentence with its line: Python's own message if there is one, since it is better known,
    else the parser's.
    """
    python = _complaint_of_python(source.text)
    if python is not None:
        line, message = python
        return SourceError(source.path, f"does not parse: {message}", line)
    found = _ERROR_PLACE.search(error.message)
    if found is None:  # the tokenizer's messages have no position
        return SourceError(source.path, f"does not parse: {error.message.removeprefix('tokenizer error: ')}")
    last_line = source.text.count("\n") + 1
    return SourceError(source.path, f"does not parse: {found.group(3).strip()}", min(int(found.group(1)), last_line))


def _complaint_of_python(text: str) -> tuple[int | None, str] | None:
    """Position and message of the syntax error according to the running Python; None if it finds none. Nothing is executed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an unknown escape sequence does not matter here
        try:
            compile(text, "<source>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return error.lineno, error.msg
        except (ValueError, MemoryError, RecursionError, OverflowError):
            return None
    return None
