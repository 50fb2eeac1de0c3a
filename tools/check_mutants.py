"""Measures how many small mistakes in a room the tests detect: a sample of mutants, and the result of the tests for each.

Run it as `python tools/check_mutants.py ROOM... --number N [--seed S] [--slow] [--tests PATH...]`; a room is a folder (or file) of
terra_refactor/. A mutant is one mistake in the body of a function: a reversed comparison, `and` for `or`, a condition negated, a
changed constant or arithmetic sign, a removed statement.

One process imports the rooms and collects the tests; copies of it (`fork`, so not on Windows) do the rest. The first runs every test,
which must pass, and records the executed lines of the rooms. Each further one replaces the code of one function, and runs the tests
that execute the mutated lines, the quickest first, until one fails. A mutant that no test detects survives: it is printed as a diff,
and shows a missing test or is equivalent. Code that tests run in other processes is not traced. The exit code is 1 if one survived, or if
no mutant of a room could be tried. The same seed gives the same sample of the same sources.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import gc
import importlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
TESTS = ("tests/cases", "tests/unit/rules", "tests/unit/classify", "tests/golden", "tests/property", "tests/proof")
FEWEST_SECONDS = 60.0
"""A mutant that takes much longer than the tests did counts as endless."""
NOT_TRIED = "not tried"
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


# --- the mistakes ------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A node of a function's body, and its parent."""

    parent: ast.AST
    name: str
    index: int | None
    child: ast.AST
    outermost: ast.FunctionDef
    """The enclosing function at module or class level."""
    lines: range
    """Lines of the statement; for a compound one without its body."""

    def put(self, node: ast.AST) -> None:
        """Replaces the node by another one."""
        if self.index is None:
            setattr(self.parent, self.name, node)
        else:
            getattr(self.parent, self.name)[self.index] = node


@dataclass(frozen=True)
class Mutant:
    """One mutation."""

    path: Path
    lines: range
    before: str
    after: str
    """The source of the module, from `ast`."""
    function: CodeType
    """The outermost function with the mutation."""


def mistakes(node: ast.AST) -> Iterator[ast.AST]:
    """The mutated replacements of a node."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in TURNED:
            yield ast.Compare(node.left, [TURNED[type(operator)]()], node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            yield from node.values[:1]
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp() if type(node.op) in SIGNS and not isinstance(node.left, ast.Constant | ast.JoinedStr):
            yield ast.BinOp(node.left, SIGNS[type(node.op)](), node.right)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield ast.Constant(node.value + 1)
        case ast.If() | ast.While() | ast.IfExp():
            changed = copy.copy(node)
            changed.test = ast.UnaryOp(ast.Not(), node.test)
            yield changed
        case ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Return(value=ast.expr()) if not isinstance(node.value, ast.Constant):
            yield ast.Return(ast.Constant(None))


def places(tree: ast.Module) -> Iterator[Place]:
    """Each node of function bodies, without annotations and defaults."""
    waiting: list[tuple[ast.AST, ast.FunctionDef | None, range]] = [(tree, None, range(0))]
    while waiting:
        parent, outermost, lines = waiting.pop()
        inside = outermost or (parent if isinstance(parent, ast.FunctionDef) else None)
        left_out = {"annotation", "returns", "decorator_list", "args" if isinstance(parent, ast.FunctionDef) else ""}
        for name, value in ast.iter_fields(parent):
            if name in left_out:
                continue
            for number, child in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(child, ast.AST):
                    within = lines_of(child) or lines
                    if inside:
                        yield Place(parent, name, number if isinstance(value, list) else None, child, inside, within)
                    waiting.append((child, inside, within))


def lines_of(node: ast.AST) -> range | None:
    """The lines of a statement or of a clause of one, without those of its body; None for other nodes."""
    first: int = node.pattern.lineno if isinstance(node, ast.match_case) else getattr(node, "lineno", 0)
    match node:
        case ast.Match():
            return range(first, max(node.cases[0].pattern.lineno, first + 1))
        case ast.match_case() | ast.ExceptHandler():
            return range(first, max(node.body[0].lineno, first + 1))
        case ast.stmt():
            body: list[ast.stmt] | None = getattr(node, "body", None)
            return range(first, max(body[0].lineno, first + 1) if body else (node.end_lineno or first) + 1)
    return None


def sample(texts: Mapping[Path, str], number: int, seed: int) -> list[Mutant]:
    """A random sample of mutants of some files, at most one per place."""
    found = []
    for path, text in texts.items():
        tree = ast.parse(text)
        found += [(path, tree, place, mistake) for place in places(tree) for mistake in mistakes(place.child)]
    chosen = random.Random(seed).sample(found, min(number, len(found)))
    print(f"{len(chosen)} of {len(found)} mutants of {len(texts)} files", flush=True)
    mutants: list[Mutant] = []
    for path, tree, place, mistake in chosen:
        before = ast.unparse(tree)
        place.put(ast.copy_location(copy.copy(mistake), place.child))
        ast.fix_missing_locations(tree)
        module = compile(tree, str(path), "exec", dont_inherit=True)
        wanted = key_of_node(place.outermost)
        (function,) = (code for code in codes(module) if key_of(code) == wanted)
        mutants.append(Mutant(path, place.lines, before, ast.unparse(tree), function))
        place.put(place.child)
    return mutants


# --- the code of functions ---------------------------------------------------------------------------------------------------------------

Key = tuple[str, int]


def key_of(code: CodeType) -> Key:
    """The identity of a function in its file: name and first line."""
    return code.co_name, code.co_firstlineno


def key_of_node(node: ast.FunctionDef) -> Key:
    """The same for its `def`."""
    return node.name, min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all nested ones."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def exchange(mutant: Mutant) -> None:
    """Replaces the code of every function of this process that was created from the same place.

    Raises:
        ValueError: the mutated function has other free variables, or there is no such function.
    """
    inside = list(codes(mutant.function))
    number = Counter(key_of(code) for code in inside)
    new = {key_of(code): code for code in inside if number[key_of(code)] == 1}
    exchanged = False
    gc.unfreeze()  # tests/conftest.py freezes imported objects, which are then not listed
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename == str(mutant.path):
            code = new.get(key_of(each.__code__))
            if code is not None:
                each.__code__ = code
                exchanged |= code is mutant.function
    if not exchanged:
        raise ValueError("no function was made from it")


# --- the tests ---------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Passed:
    """The functions and lines that a test executes."""

    seconds: float
    """Including the recording of lines."""
    lines: dict[str, list[int]]
    """By file."""


class Plugin:
    """A pytest hook that runs mutants instead of the tests."""

    def __init__(self, rooms: Sequence[Sequence[Path]], number: int, seed: int) -> None:
        # the imported sources, so that edits during the run have no effect
        self.rooms = [{path: path.read_text(encoding="utf-8") for path in room} for room in rooms]
        self.number, self.seed = number, seed
        self.failed = ""
        self.survived = 0
        self.untried = False
        """Whether no mutant of a room could be tried."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        items = {item.nodeid: item for item in session.items}
        started = time.perf_counter()
        said = in_a_copy(lambda: self._note(list(items.values())), 3600)
        if said is None or isinstance(said, str):
            pytest.exit(f"the tests fail without a mutant: {said}", returncode=2)
        passed = {name: Passed(*found) for name, found in said.items()}
        print(f"{len(passed)} tests without a mutant: {time.perf_counter() - started:.0f} s", flush=True)
        for room in self.rooms:
            self._try_all(sample(room, self.number, self.seed), items, passed)
        return True

    def _try_all(
        self, mutants: Sequence[Mutant], items: Mapping[str, pytest.Item], passed: Mapping[str, Passed]
    ) -> None:
        """Applies mutants before the tests, and prints the outcome of each."""
        past: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        for name, found in passed.items():
            for path, lines in found.lines.items():
                for line in lines:
                    past[path, line].add(name)
        survived = tried = 0
        for number, mutant in enumerate(mutants, start=1):
            names = {name for line in mutant.lines for name in past[str(mutant.path), line]}
            chosen = sorted(names, key=lambda name: passed[name].seconds)
            started = time.perf_counter()
            if names:
                limit = FEWEST_SECONDS + 3 * sum(passed[name].seconds for name in chosen)
                said = in_a_copy(partial(self._try, mutant, [items[name] for name in chosen]), limit)
            else:
                said = "survived"
            where = f"{mutant.path.relative_to(REPOSITORY)}:{mutant.lines.start}"
            spent = f"{len(names)} tests come past, {time.perf_counter() - started:.0f} s"
            print(f"{number}: {where}: {said or 'does not end'} ({spent})", flush=True)
            tried += not (said or "").startswith(NOT_TRIED)
            if said == "survived":
                survived += 1
                diff = difflib.unified_diff(mutant.before.splitlines(), mutant.after.splitlines(), lineterm="", n=2)
                print("\n".join(diff), flush=True)
        print(f"{tried - survived} of {tried} mutants were detected; {len(mutants) - tried} were not tried", flush=True)
        self.survived += survived
        self.untried |= bool(mutants) and not tried

    def _note(self, items: list[pytest.Item]) -> dict[str, Any] | str:
        """Each test's time and executed lines, by its name; or the name of one that fails."""
        files = {str(path) for room in self.rooms for path in room}
        lines: defaultdict[str, set[int]] = defaultdict(set)

        def note(frame: FrameType, event: str, _: object) -> Any:
            if event == "line":
                lines[frame.f_code.co_filename].add(frame.f_lineno)
            return note

        def enter(frame: FrameType, _event: str, _: object) -> Any:
            return note if frame.f_code.co_filename in files else None

        unprinted(items)
        found = {}
        for item, following in zip(items, [*items[1:], None], strict=True):
            lines.clear()
            started = time.perf_counter()
            threading.settrace(enter)  # deep programs are analysed in a thread with a larger stack
            sys.settrace(enter)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            sys.settrace(None)
            threading.settrace(None)
            found[item.nodeid] = (
                time.perf_counter() - started,
                {path: sorted(numbers) for path, numbers in lines.items()},
            )
            if self.failed:
                return self.failed
        return found

    def _try(self, mutant: Mutant, items: list[pytest.Item]) -> str:
        """The test that detects a mutant, or `survived`."""
        try:
            exchange(mutant)
        except ValueError as error:
            return f"{NOT_TRIED}: {error}"
        unprinted(items)
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return self.failed
        return "survived"


def unprinted(items: Sequence[pytest.Item]) -> None:
    """Suppresses pytest's progress dots in this process."""
    for item in items[:1]:
        item.config.pluginmanager.unregister(name="terminalreporter")


def in_a_copy(work: Callable[[], Any], seconds: float) -> Any:
    """The JSON result of a function in a forked process; None after a timeout, a string if it ends otherwise."""
    with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as answer:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setsid()
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.dup2(nowhere, 2)
                answer.write(json.dumps(work()))
                answer.flush()
                code = 0
            finally:
                os._exit(code)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                answer.seek(0)
                return json.load(answer) if status == 0 else f"the process ended with {status}"
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rooms", nargs="+", metavar="ROOM")
    parser.add_argument("--number", type=int, default=20, help="mutants of each room (20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="+", default=list(TESTS))
    parser.add_argument("--slow", action="store_true", help="the tests that `make check` leaves out, too")
    options = parser.parse_args()
    os.chdir(REPOSITORY)
    sys.path.insert(0, str(REPOSITORY))
    rooms = [REPOSITORY / "terra_refactor" / room for room in options.rooms]
    files = [[room] if room.suffix == ".py" else sorted(room.rglob("*.py")) for room in rooms]
    for path in (path for room in files for path in room):
        importlib.import_module(".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__"))
    plugin = Plugin(files, options.number, options.seed)
    selected = ["-m", "not tensorflow" if options.slow else "not slow and not tensorflow"]
    code = pytest.main(["-qq", "-p", "no:cacheprovider", "--no-header", *selected, *options.tests], plugins=[plugin])
    return 1 if plugin.survived or plugin.untried else int(code)


if __name__ == "__main__":
    sys.exit(main())
