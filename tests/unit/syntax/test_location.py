"""Spans that move."""

from __future__ import annotations

from terra_refactor.syntax.location import MovedSpans, Span


def test_moved_spans_are_the_spans_each_moved() -> None:
    spans = tuple(Span(line, 2, line + 1, 5) for line in range(1, 5))
    moved = MovedSpans.of(spans, 3)
    assert moved == tuple(span.down(3) for span in spans)
    assert (moved[1], len(moved), moved[1:3]) == (Span(5, 2, 6, 5), 4, (Span(5, 2, 6, 5), Span(6, 2, 7, 5)))
    assert hash(moved) == hash(tuple(moved))
    assert MovedSpans.of(MovedSpans.of(spans, 3), -1) == MovedSpans.of(spans, 2)
    assert MovedSpans.of(MovedSpans.of(spans, 3), -3) is spans
