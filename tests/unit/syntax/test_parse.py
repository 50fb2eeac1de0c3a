"""Parsing: what is wrong is said with its line, and no depth of nesting ends the process."""

from __future__ import annotations

import libcst
import pytest
from libcst import matchers

from terra_refactor.errors import SourceError
from terra_refactor.syntax.layout import measure_nesting
from terra_refactor.syntax.parse import MAX_BRACKETS, UnusualSourceError, parse_module
from terra_refactor.syntax.positions import measure_spans
from terra_refactor.syntax.source import source_from_text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\ndef f(:\n    pass\n", 2),
        ("if x:\npass\n", 2),
        ("\n\nx = 'abc\n", 3),
        ("print 'a'\n", 1),
        ("if x:\n\ty = 1\n        z = 1\n", 3),
        ("x = '\ud800'\n", 1),
    ],
)
def test_syntax_error_has_its_line(text: str, line: int) -> None:
    with pytest.raises(SourceError, match="does not parse") as caught:
        parse_module(source_from_text(text))
    assert caught.value.line == line


@pytest.mark.parametrize("opening", ["[", "(", "{1:", "f("])
def test_5000_nested_brackets_are_an_error(opening: str) -> None:
    closing = {"[": "]", "(": ")", "{": "}", "f": ")"}[opening[0]]
    with pytest.raises(SourceError, match=r"5,000 nested brackets \(Python takes 200\)") as caught:
        parse_module(source_from_text(f"a = 1\nx = {opening * 5000}1{closing * 5000}\n"))
    assert caught.value.line == 2


def test_5000_unclosed_brackets_and_those_of_a_format_string() -> None:
    for text in ("x = " + "[" * 5000, 'x = f"{' + "(" * 5000 + "1" + ")" * 5000 + '}"\n'):
        with pytest.raises(SourceError, match="nested brackets"):
            parse_module(source_from_text(text))


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * MAX_BRACKETS + "]" * MAX_BRACKETS + "\n",
        "x = " + "-" * 800 + "1\n",
        "x = " + "lambda: " * 800 + "1\n",
        "x = " + "1 + " * 800 + "1\n",
        "x = a" + ".b" * 800 + "\n",
        "if x: pass\n" + "elif x: pass\n" * 800,
    ],
    ids=["brackets", "minus", "lambda", "plus", "attributes", "elif"],
)
def test_deep_but_legal(text: str) -> None:
    parsed = parse_module(source_from_text(text))
    assert measure_spans(parsed).span(parsed.module.body[0]).line == 1


@pytest.mark.parametrize(
    "text",
    ["x = " + "-" * 100_000 + "1\n", "x = " + "lambda: " * 9000 + "1\n", "if x: pass\n" + "elif x: pass\n" * 9000],
)
def test_too_deep(text: str) -> None:
    with pytest.raises(SourceError, match="nested too deeply"):
        parse_module(source_from_text(text))


@pytest.mark.slow  # LibCST takes quadratic time
def test_brackets_lambdas_and_operators_together() -> None:
    parsed = parse_module(source_from_text("x = " + "f(lambda: -" * 150 + "1 + " * 900 + "1" + ")" * 150 + "\n"))
    assert measure_spans(parsed).span(parsed.module.body[0]).line == 1


@pytest.mark.slow
def test_20000_lines_and_a_long_flat_list() -> None:
    lines = "".join(f"def f{number}(x):\n    return x + {number}\n" for number in range(10_000))
    numbers = "x = [" + ", ".join(f"-{number}" for number in range(5_000)) + "]\n"
    flat = "".join(f"if a == {number}:\n    pass\nelif b:\n    pass\n" for number in range(500))
    assert len(parse_module(source_from_text(lines + numbers + flat)).module.body) == 10_501


def test_nesting_is_counted_outside_of_strings_and_comments() -> None:
    assert measure_nesting('# (((((\nx = \'((((\' + """\n((((""" + f(a[1])\n').brackets == 2
    assert measure_nesting("x = f'{{{{{{ {a[b[0]]}'\n").brackets == 3


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\ny = f" + "(x)" * 1_500, 2),
        ("x = f" + "(x)\\\n[1]" * 800, 801),
        (("x = f" + "(a, f" * 150 + ")" * 150 + "\n") * 30, 1),
        (("x = g(" + "+ ".join(["x "] * 1_000) + ")\n") * 60, 1),
    ],
    ids=["calls", "subscripts", "brackets", "operators"],
)
def test_what_would_take_the_parser_too_long(text: str, line: int) -> None:
    with pytest.raises(SourceError, match="long chains of calls, or deep expressions") as told:
        parse_module(source_from_text(text))
    assert told.value.line == line


def test_ordinary_code_costs_the_parser_nothing_more() -> None:
    text = "".join(f"x = f({number}, [g(a.b.c(1)(2)[3]) for a in b if c]) + 1 - 2\n" for number in range(2_000))
    text += "TABLE = [" + "(f(1)(2)(3), {'a': [1, 2 + 3]}),\n" * 2_000 + "]\n"
    assert measure_nesting(text).work == 0


def test_a_text_of_very_many_words_is_data() -> None:
    with pytest.raises(SourceError, match="is too large to be analysed: 300,000 words"):
        parse_module(source_from_text("abc = 1\n" * 150_000))


def test_deep_and_long_texts_are_unusual() -> None:
    for text in ("x = " + " + ".join(["y"] * 400), "x = '" + "z" * 500_000 + "'", "x = " + "f(" * 180 + ")" * 180):
        source = source_from_text(text)
        parse_module(source)
        with pytest.raises(UnusualSourceError):
            parse_module(source, unusual=False)
    parse_module(source_from_text("def f(x):\n    return [x, (1, 2)]\n"), unusual=False)


TABS_IN_A_BLOCK_OF_SPACES = (
    "def f(n):\n"
    "        text = '''one\n"
    "\t        two'''\n"
    "        for _ in range(n):\n"
    "\t        text += (\n"
    "\t\t\t\t'three')  # four\n"
    "\t        n -= 1\n"
    "        return text\n"
)
"""Python takes it; LibCST does not, since the loop's body does not begin with the indentation of the loop."""


def test_tabs_that_python_takes() -> None:
    with pytest.raises(libcst.ParserSyntaxError):
        libcst.parse_module(TABS_IN_A_BLOCK_OF_SPACES)
    parsed = parse_module(source_from_text(TABS_IN_A_BLOCK_OF_SPACES))
    table = measure_spans(parsed)
    found: dict[str, str] = {}
    for node in matchers.findall(parsed.module, matchers.SimpleString() | matchers.AugAssign() | matchers.Return()):
        start, end = table.offsets(node)
        found.setdefault(type(node).__name__, TABS_IN_A_BLOCK_OF_SPACES[start:end])
    assert found == {
        "SimpleString": "'''one\n\t        two'''",
        "AugAssign": "text += (\n\t\t\t\t'three')",
        "Return": "return text",
    }


def test_tabs_that_python_refuses() -> None:
    with pytest.raises(SourceError, match="does not parse: inconsistent use of tabs") as caught:
        parse_module(source_from_text("def f(x):\n        if x:\n            y = 1\n\t    z = 1\n        return x\n"))
    assert caught.value.line == 4
