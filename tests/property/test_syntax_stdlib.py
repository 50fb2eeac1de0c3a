"""Laws of the front end, on the standard library of the Python that runs the tests."""

from __future__ import annotations

import random
import symtable
import sysconfig
import warnings
from pathlib import Path

import libcst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from terra_refactor.errors import SourceError
from terra_refactor.syntax.parse import ParsedModule, parse_module
from terra_refactor.syntax.positions import measure_spans
from terra_refactor.syntax.scopes import Scope, ScopeType, analyze_scopes
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


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.name)
def test_scopes_are_those_of_symtable(path: Path) -> None:
    parsed = parsed_or_skip(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        top = symtable.symtable(parsed.source.text, str(path), "exec")
    expected = sorted(entry for table in _all_tables(top) if (entry := _expected(table)) is not None)
    found = sorted(entry for scope in analyze_scopes(parsed.module).scopes if (entry := _found(scope)) is not None)
    assert found == expected


def _all_tables(table: symtable.SymbolTable) -> list[symtable.SymbolTable]:
    inner = [each for child in table.get_children() for each in _all_tables(child)]
    return inner if table.get_name() == "_annotation" else [table, *inner]


def _expected(table: symtable.SymbolTable) -> tuple[str, list[tuple[str, str]]] | None:
    if table.get_type() not in {"function", "class"}:
        return None  # in the module, all names are global
    names = []
    for symbol in table.get_symbols():
        if symbol.get_name().startswith((".", "__classdict", "__static_attributes", "__firstlineno")):
            continue  # CPython's own, not the program's
        if symbol.is_free():
            kind = "free"
        elif symbol.is_global():
            kind = "global"
        else:
            kind = "class" if table.get_type() == "class" else "local"
        names.append((symbol.get_name(), kind))
    return table.get_name().strip("<>"), sorted(names)


def _found(scope: Scope) -> tuple[str, list[tuple[str, str]]] | None:
    if scope.type in {ScopeType.MODULE, ScopeType.TYPE_PARAMETERS}:
        return None
    names = {*scope.bindings, *scope.uses, *scope.free, *scope.global_names, *scope.nonlocal_names}
    return scope.name.strip("<>"), sorted((name, scope.resolve(name).value.replace("cell", "local")) for name in names)
