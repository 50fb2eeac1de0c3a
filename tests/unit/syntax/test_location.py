"""Many spans, as numbers, and moved."""

from __future__ import annotations

import pickle

import pytest

from terra_refactor.syntax.location import Span, Spans

SPANS = tuple(Span(line, 2, line + 1, 5) for line in range(1, 5))


def test_spans_are_the_spans_that_were_given() -> None:
    spans = Spans(SPANS)
    assert (tuple(spans), len(spans), spans[-1], spans[1:3]) == (SPANS, 4, SPANS[3], SPANS[1:3])
    assert spans == Spans(list(SPANS)) == pickle.loads(pickle.dumps(spans))
    assert spans != Spans(SPANS[:3])
    with pytest.raises(IndexError):
        spans[4]


def test_moved_spans_are_the_spans_each_moved() -> None:
    moved = Spans(SPANS).down(3)
    assert moved == Spans(span.down(3) for span in SPANS)
    assert (moved[1], len(moved), moved[1:3]) == (Span(5, 2, 6, 5), 4, (Span(5, 2, 6, 5), Span(6, 2, 7, 5)))
    assert hash(moved) == hash(Spans(span.down(3) for span in SPANS))
    assert moved.down(-1) == Spans(SPANS).down(2)
    assert moved.down(-3) == Spans(SPANS)
