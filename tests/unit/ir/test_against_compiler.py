"""Functions, names and places of lowered files are those that the running Python itself finds in them."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest
from running_time import runs_everything

from terra_refactor.errors import SourceError
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.check import check_module
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ops import Binary, Call, LoadAttribute, LoadItem, LoadName, Op
from terra_refactor.ir.pprint import format_module
from terra_refactor.ir.program import ModuleIR
from terra_refactor.ir.walk import walk
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import read_source

STDLIB = Path(sysconfig.get_paths()["stdlib"])
SAMPLE = [
    "argparse.py",
    "ast.py",
    "asyncio/base_events.py",
    "contextlib.py",
    "dataclasses.py",
    "enum.py",
    "functools.py",
    "typing.py",
    "test/test_named_expressions.py",
    "test/test_patma.py",
    "test/test_scope.py",
    "test/test_super.py",
    "test/test_generators.py",
    "test/test_coroutines.py",
    "test/test_fstring.py",
    "test/test_listcomps.py",
    "test/test_string_literals.py",
]
COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


def sample_paths() -> list[Path]:
    return [STDLIB / name for name in SAMPLE if (STDLIB / name).exists()]


def all_paths() -> list[Path]:
    """Every sixth of the first 300 files of the standard library, in `make test-all` each of these; with `TERRA_ALL_STDLIB=1` all files,
    which takes many minutes."""
    paths = sorted(path for path in STDLIB.rglob("*.py") if "site-packages" not in path.parts)
    return paths if os.environ.get("TERRA_ALL_STDLIB") else paths[: 300 : 1 if runs_everything() else 6]


def lowered(path: Path) -> tuple[ModuleIR, str]:
    source = read_source(path)
    return lower_module(parse_module(source), "m"), source.text


@pytest.fixture(scope="module", params=sample_paths(), ids=lambda path: path.name)
def file(request: pytest.FixtureRequest) -> tuple[ModuleIR, str]:
    """A file of the sample, lowered once for all tests of it."""
    return lowered(request.param)


def test_the_sample_is_there() -> None:
    assert len(sample_paths()) >= 8


# --- code objects ------------------------------------------------------------------------------------------------------------


def code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)


def compiler_facts(text: str) -> Counter[tuple[object, ...]]:
    """Of each function: qualname, first line, parameters, free variables, flags."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = compile(text, "m.py", "exec", dont_inherit=True)
    facts: Counter[tuple[object, ...]] = Counter()
    for code in code_objects(module):
        if code is module or code.co_name in COMPREHENSIONS or code.co_name.startswith("<generic parameters"):
            continue
        qualname = re.sub(r"<(list|set|dict)comp>\.", "", code.co_qualname)  # type: ignore[attr-defined]  # since 3.11
        is_class = not code.co_flags & inspect.CO_OPTIMIZED
        count = code.co_argcount + code.co_kwonlyargcount
        names = code.co_varnames[: count + bool(code.co_flags & 4) + bool(code.co_flags & 8)]
        facts[
            qualname,
            is_class,
            frozenset(names),
            frozenset(code.co_freevars),
            bool(code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR)),
            bool(code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)),
        ] += 1
    return facts


def our_facts(module: ModuleIR) -> Counter[tuple[object, ...]]:
    facts: Counter[tuple[object, ...]] = Counter()
    for function in module.functions[1:]:
        facts[
            function.qualname,
            function.kind is FunctionKind.CLASS_BODY,
            frozenset(parameter.name for parameter in function.parameters),
            frozenset(name.partition("%")[0] for name in function.frees),
            function.is_generator,
            function.is_async,
        ] += 1
    return facts


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code objects have no qualified name before Python 3.11")
def test_functions_are_those_of_the_compiler(file: tuple[ModuleIR, str]) -> None:
    module, text = file
    expected = compiler_facts(text)
    found = our_facts(module)
    # The compiler drops what it sees is dead (`if 0: def f(): ...`).
    assert expected - found == Counter()
    assert not {fact[0] for fact in found - expected} & {fact[0] for fact in expected}


# --- places ------------------------------------------------------------------------------------------------------------------------


def ast_places(text: str) -> dict[str, Counter[tuple[int, int, int, int]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    lines = [line.encode() for line in re.split(r"\r\n|\r|\n", text)]

    def column(line: int, offset: int) -> int:
        return len(lines[line - 1][:offset].decode()) + 1

    places: dict[str, Counter[tuple[int, int, int, int]]] = {}
    fields = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    patterns = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom | ast.match_case)
        for part in ast.walk(node.pattern if isinstance(node, ast.match_case) else node)
    }
    for node in ast.walk(tree):
        # Before 3.12, what is inside an f-string has no true place.
        if not isinstance(node, ast.expr) or id(node) in fields or id(node) in patterns:
            continue
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            continue
        assert node.end_lineno is not None and node.end_col_offset is not None
        place = (
            node.lineno,
            column(node.lineno, node.col_offset),
            node.end_lineno,
            column(node.end_lineno, node.end_col_offset),
        )
        places.setdefault(type(node).__name__, Counter())[place] += 1
    return places


CLASSES: dict[str, type[Op]] = {
    "Call": Call,
    "Name": LoadName,
    "Attribute": LoadAttribute,
    "Subscript": LoadItem,
    "BinOp": Binary,
}


def our_places(functions: tuple[Function, ...], cls: type[Op]) -> set[tuple[int, int, int, int]]:
    places = set()
    for function in functions:
        for op in walk(function.body):
            if isinstance(op, cls):
                span = function.spans[op.id]
                places.add((span.line, span.column, span.end_line, span.end_column))
    return places


def test_places_are_those_of_ast(file: tuple[ModuleIR, str]) -> None:
    module, text = file
    expected = ast_places(text)
    for name, cls in CLASSES.items():
        missing = set(expected.get(name, ())) - our_places(module.functions, cls)
        assert not missing, (name, sorted(missing)[:5])


# --- everything ------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_standard_library_lowers() -> None:
    failures = []
    count = 0
    paths = all_paths()
    for path in paths:
        try:
            parsed = parse_module(read_source(path))
        except SourceError:
            continue
        count += 1
        module = lower_module(parsed, "m")
        failures += [f"{path}: {problem}" for problem in check_module(module)]
        assert format_module(module)
    assert failures == []
    assert count > len(paths) / 2
