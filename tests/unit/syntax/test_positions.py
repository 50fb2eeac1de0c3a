"""Extents of nodes in files that the parser does not write back letter for letter. The rest: tests/property/test_positions.py."""

from __future__ import annotations

import libcst
import pytest
from libcst import matchers

from terra_refactor.syntax.lines import LineIndex
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.parse import ParsedModule, parse_module
from terra_refactor.syntax.positions import measure_spans
from terra_refactor.syntax.source import source_from_text


def names(parsed: ParsedModule) -> list[libcst.Name]:
    return [node for node in matchers.findall(parsed.module, matchers.Name()) if isinstance(node, libcst.Name)]


@pytest.mark.parametrize(
    "text",
    [
        "\x0cfirst = second\n",
        "first = 1   \n   \n\t\nsecond = 2\n",
        "\\\nfirst = 1\nsecond = 2\n",
        "first = 1\rsecond = 2\r",
        "first = 1\r\nsecond = 2\r",
        "if first:\n\n   \n    second()\n   \n",
        "first = '''a\rb\r\nc'''\nsecond = 2",
        "# a comment\r\n\r\ndef first(): # another\r\n\tsecond()\r\n",
    ],
)
def test_offsets_in_unusual_texts(text: str) -> None:
    parsed = parse_module(source_from_text(text))
    table = measure_spans(parsed)
    found = names(parsed)
    assert [node.value for node in found] == ["first", "second"]
    for node in found:
        start, end = table.offsets(node)
        assert text[start:end] == node.value


def test_a_def_begins_at_its_decorator_or_def_and_ends_with_its_body() -> None:
    text = "# a comment\n\n@d\ndef f(x):\n    return x  # why\n\n\ny = 1\n"
    parsed = parse_module(source_from_text(text))
    table = measure_spans(parsed)
    function = parsed.module.body[0]
    assert isinstance(function, libcst.FunctionDef)
    assert table.span(function.name) == Span(4, 5, 4, 6)
    assert table.span(function).end_line >= 5
    start, _ = table.offsets(function)
    assert text[start:].startswith(("@d", "def f"))


def test_a_node_of_another_tree() -> None:
    table = measure_spans(parse_module(source_from_text("x = 1\n")))
    other = parse_module(source_from_text("x = 1\n")).module
    assert other not in table
    with pytest.raises(KeyError):
        table.span(other)


def test_line_index() -> None:
    lines = LineIndex("ab\r\nc\rd\n")
    assert len(lines) == 4
    assert [lines.place(offset) for offset in (0, 2, 4, 6, 8)] == [(1, 1), (1, 3), (2, 1), (3, 1), (4, 1)]
    assert [lines.offset(line, 1) for line in (1, 2, 3, 4)] == [0, 4, 6, 8]
    with pytest.raises(ValueError, match="no line 5"):
        lines.offset(5, 1)


def test_span_order_and_containment() -> None:
    outer, inner = Span(1, 1, 9, 1), Span(2, 5, 2, 8)
    assert outer.encloses(inner) and not inner.encloses(outer) and outer.encloses(outer)
    assert inner.contains(2, 5) and inner.contains(2, 7) and not inner.contains(2, 8)
    assert sorted([inner, outer]) == [outer, inner]
    assert str(inner) == "2:5-2:8"
