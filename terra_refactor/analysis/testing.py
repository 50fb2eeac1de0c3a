"""Arguments of tests: pytest passes the values of fixtures and of `parametrize`.

Computes: for a test, the values of its parameters. Needs: the fixtures of its module and of `conftest` modules, and
the marks recorded when the modules ran (`PYTEST_MARKS`). Gives: `test_arguments`; the recognition of test files and
tests.

Ignores: fixtures with parameters of their own (`params=`), `autouse`, `usefixtures`; which values of `parametrize`
are combined.

Source: the pytest documentation, "How to use fixtures" and "How to parametrize".
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.engine import Engine, Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.container_methods import BuiltinHandler, argument_at
from terra_refactor.analysis.transfer.iteration import iterate
from terra_refactor.domain.lattice import join, join_all
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    FunctionValue,
    LibraryValue,
    PartialValue,
    SequenceValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.ir.function import Function, FunctionKind, ParameterKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program
from terra_refactor.tf_model.decorators import Decoration, decoration
from terra_refactor.tf_model.interpreted import Interpreted, by_name

_MAX_DEPTH: Final = 6
"""Maximum depth of fixtures that use fixtures."""
_PARAMETER_SET: Final = Interpreted.PARAMETER_SET.name_of_function


def is_in_test_file(program: Program, function: Function) -> bool:
    """Whether the function is in a file that a test runner collects, or in a `conftest`; a script called `new_test.py`
    is not one.
    """
    name = program.path_of(function.id.module).rpartition("/")[2].partition(".")[0]
    if name.endswith(("_test", "_tests")):
        return any(each.name.startswith("test") for each in program.modules[function.id.module].functions)
    return name.startswith("test_") or name == "conftest"


def is_collected(program: Program, function: Function) -> bool:
    """Whether a test runner collects the function as a test."""
    return function.name.startswith("test") and is_in_test_file(program, function)


def test_arguments(site: Site, code: Function) -> dict[str, Value]:
    """The values that pytest passes to a test, by parameter; {} for other functions. Fixtures are run in the state of `frame`."""
    if not code.name.startswith("test") or code.kind not in (FunctionKind.FUNCTION, FunctionKind.METHOD):
        return {}
    found: dict[str, Value] = {}
    made: dict[FunctionId, Value] = {}
    given = site.engine.parametrized.get(code.id, {})
    for position, parameter in enumerate(code.parameters):
        if parameter.kind in (ParameterKind.VAR_POSITIONAL, ParameterKind.VAR_KEYWORD):
            continue
        if position == 0 and code.kind is FunctionKind.METHOD:
            continue
        value = given.get(parameter.name)
        if value is None:
            value = _fixture_value(site, code, parameter.name, 0, made)
        if value is not None:
            found[parameter.name] = value
    return found


def _fixture_value(site: Site, asking: Function, name: str, depth: int, made: dict[FunctionId, Value]) -> Value | None:
    """The value of a fixture. It is evaluated once per test: `made` holds the values so far."""
    fixture = _fixture(site.engine, asking, name)
    if fixture is None or depth > _MAX_DEPTH:
        return None
    code, function = fixture
    if code.id in made:
        return made[code.id]
    arguments: list[tuple[str, Value]] = []
    for position, parameter in enumerate(code.parameters):
        if position == 0 and code.kind is FunctionKind.METHOD:
            arguments.append((parameter.name, UNKNOWN))
        elif parameter.kind not in (ParameterKind.VAR_POSITIONAL, ParameterKind.VAR_KEYWORD):
            value = _fixture_value(site, code, parameter.name, depth + 1, made)
            arguments.append((parameter.name, UNKNOWN if value is None else value))
    result = site.at(0).call(function, CallArguments((), tuple(arguments)))
    made[code.id] = join_all(
        member.element if isinstance(member, SequenceValue) and member.kind == "generator" else member
        for member in members(result)
    )
    return made[code.id]


def _fixture(engine: Engine, asking: Function, name: str) -> tuple[Function, FunctionValue] | None:
    """The fixture of that name, from the test's own module or else from a `conftest`."""
    modules = [asking.id.module, *(module for module in engine.program.modules if module.endswith("conftest"))]
    for module in modules:
        for code in engine.program.modules[module].functions:
            if code.name != name or code.kind not in (FunctionKind.FUNCTION, FunctionKind.METHOD):
                continue
            wrapped = engine.wrapped.get(code.id)
            if wrapped is None or all(decoration(text)[0] is not Decoration.FIXTURE for text in wrapped[1]):
                continue
            for function in engine.definitions.get(code.id, ()):
                return code, function
    return None


def _parametrize(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`pytest.mark.parametrize(names, values)`: a decorator."""
    names, values = argument_at(arguments, 0, "argnames"), argument_at(arguments, 1, "argvalues")
    if names is None or values is None:
        return None
    return PartialValue(LibraryValue(Interpreted.PARAMETRIZED.name_of_function), (names, values), ())


def _parametrized(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """The application of the decorator: the unchanged test, whose arguments are recorded."""
    if len(arguments.positional) != 3:
        return UNKNOWN
    names, values, test = arguments.positional
    texts = _names(site, names)
    found = iterate(site, values)
    rows = found.elements if found.elements is not None else (found.element,)
    for member in members(test):
        if not isinstance(member, FunctionValue):
            continue
        known = site.engine.parametrized_of(member)
        for row in rows:
            for name, value in zip(texts, _columns(site, row, len(texts)), strict=False):
                known[name] = join(known[name], value) if name in known else value
    return test


def _names(site: Site, names: Value) -> list[str]:
    if isinstance(names, Constant) and isinstance(names.value, str):
        return [part.strip() for part in names.value.split(",") if part.strip()]
    parts = iterate(site, names).elements or ()
    return [part.value for part in parts if isinstance(part, Constant) and isinstance(part.value, str)]


def _columns(site: Site, row: Value, count: int) -> tuple[Value, ...]:
    """The values of one row, one for each name."""
    if isinstance(row, TupleValue) and row.name == _PARAMETER_SET:
        return row.elements
    if count == 1:
        return (row,)
    parts = iterate(site, row)
    return parts.elements if parts.elements is not None else (parts.element,) * count


def _parameter_set(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`pytest.param(*values, id=..., marks=...)`."""
    return TupleValue(arguments.positional, _PARAMETER_SET)


PYTEST_MARKS: Final[dict[str, BuiltinHandler]] = by_name(
    {
        Interpreted.PARAMETRIZE: _parametrize,
        Interpreted.PARAMETRIZED: _parametrized,
        Interpreted.PARAMETER_SET: _parameter_set,
    }
)
