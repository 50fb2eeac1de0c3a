"""Laws of the front end, on the standard library of the Python that runs the tests."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

import libcst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from terra_refactor.errors import SourceError
from terra_refactor.syntax.parse import ParsedModule, parse_module
from terra_refactor.syntax.positions import measure_spans
from terra_refactor.syntax.source import read_source

STDLIB = Path(sysconfig.get_paths()["stdlib"])
FILES = sorted([*STDLIB.glob("*.py"), *STDLIB.glob("asyncio/*.py"), *STDLIB.glob("test/test_[gs]*.py")])
SAMPLE = sorted(random.Random(11).sample(FILES, min(60, len(FILES))))


def parsed_or_skip(path: Path) -> ParsedModule:
    try:
        return parse_module(read_source(path))
    except SourceError as error:
        pytest.skip(f"LibCST: {error}")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_reading_and_encoding_changes_nothing(path: Path) -> None:
    source = read_source(path)
    assert source.encode(source.text) == path.read_bytes()


@pytest.mark.parametrize("path", SAMPLE[:25], ids=lambda path: path.name)
def test_spans_are_those_of_libcst(path: Path) -> None:
    parsed = parsed_or_skip(path)
    table = measure_spans(parsed)
    expected = MetadataWrapper(parsed.module, unsafe_skip_copy=True).resolve(PositionProvider)
    assert len(expected) > 1
    for node, place in expected.items():
        span = table.span(node)
        found = (span.line, span.column - 1, span.end_line, span.end_column - 1)
        assert found == (place.start.line, place.start.column, place.end.line, place.end.column), type(node).__name__
    for node in expected:
        if isinstance(node, libcst.Name):
            start, end = table.offsets(node)
            assert node.value in parsed.source.text[start:end]
