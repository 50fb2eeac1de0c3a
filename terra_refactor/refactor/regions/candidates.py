"""Gradient computations without a function of their own, and the runs of statements that could become one.

Computes: for each `with tf.GradientTape()` block the surrounding statements that can move together: the body of the innermost loop, or of
the function, except statements that must stay. Needs: a module's syntax tree. Gives: `find_candidates`, `Candidate`. Ignores: whether a
graph keeps the meaning; this is decided for the extracted function (`workspace/regions.py`), which narrows a candidate further.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

from terra_refactor.refactor.regions.deferral import may_be_deferred, metrics_of
from terra_refactor.refactor.regions.host_code import HostCode, host_code_of
from terra_refactor.refactor.regions.leading import host_modules, runs_before_tape
from terra_refactor.refactor.regions.variables import WEIGHTS, gives_networks, is_update
from terra_refactor.syntax.name_flow import (
    AstScope,
    ScopeFlow,
    Statements,
    inner_blocks,
    leaves_loop,
    statements_of_scope,
    usage_of,
)

_NEVER_MOVED: Final = (
    *(ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.AsyncFor, ast.AsyncWith),
)
_LOOKS_AT_FRAMES: Final = frozenset({"locals", "globals", "vars", "exec", "eval", "dir"})
_COMPUTES: Final = (ast.Call, ast.BinOp, ast.Compare, ast.Subscript, ast.UnaryOp, ast.For, ast.While, ast.If, ast.With)

Path: TypeAlias = tuple[tuple[Statements, int], ...]
"""From the scope's own block to a statement: each block, and the index in it of the statement that contains the next."""


@dataclass(eq=False)
class RegionScope:
    """A module or function that contains candidates, and its position."""

    node: AstScope
    qualname: str
    """Empty for the module."""
    outer: tuple[AstScope | ast.ClassDef, ...]
    """The enclosing scopes, outermost (the module) first."""
    outer_path: Path
    """The path to its `def`, from the block of the innermost enclosing function, or of the module."""

    @cached_property
    def flow(self) -> ScopeFlow:
        """The data flow of its names."""
        return ScopeFlow(self.node)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The names that are bound only to numbers and strings, judged by the text: they do not change unless they are rebound."""
        found: set[str] = set()
        others: set[str] = set(self.flow.parameters)
        for statement in statements_of_scope(self.node.body):
            plain = _numbers_bound(statement)
            found |= plain
            inner = {name for block in inner_blocks(statement) for name in usage_of(block).binds}
            # a handler's name, a `with` target, an import, ...
            others |= usage_of([statement]).binds.keys() - plain - (inner - _targets_of(statement))
        return frozenset(found - others)

    @cached_property
    def metrics(self) -> frozenset[str]:
        """The names that are bound only to Keras metrics, judged by the text."""
        module = self.outer[0] if self.outer else self.node
        assert isinstance(module, ast.Module)
        return metrics_of(module, self.node) - self.flow.parameters

    @cached_property
    def host_code(self) -> HostCode:
        """Lists, numbers and functions of its module, recognised from the text."""
        module = self.outer[0] if self.outer else self.node
        assert isinstance(module, ast.Module)
        return host_code_of(module, self.self_name if self.is_method else "")

    @cached_property
    def host_modules(self) -> frozenset[str]:
        """The names of modules, and of built-in functions, that compute nothing which a tape records."""
        module = self.outer[0] if self.outer else self.node
        assert isinstance(module, ast.Module)
        return host_modules(module)

    @property
    def is_method(self) -> bool:
        """Whether it is a method whose first parameter is its object."""
        if not self.outer or not isinstance(self.outer[-1], ast.ClassDef) or isinstance(self.node, ast.Module):
            return False
        names = {ast.unparse(decorator).rpartition(".")[2] for decorator in self.node.decorator_list}
        arguments = self.node.args
        return bool([*arguments.posonlyargs, *arguments.args]) and not names & {"staticmethod", "classmethod"}

    @property
    def is_nested(self) -> bool:
        """Whether it is a nested function, and not a method of a nested class."""
        return len(self.outer) > 1 and isinstance(self.outer[-1], ast.FunctionDef)

    @property
    def method_around(self) -> ast.FunctionDef | None:
        """The method of a module's class that defines it, at any depth; None if there is none with its object as first parameter."""
        if len(self.outer) < 3 or not isinstance(self.outer[1], ast.ClassDef):
            return None
        method = self.outer[2]
        if not isinstance(method, ast.FunctionDef) or not all(
            isinstance(each, ast.FunctionDef) for each in self.outer[2:]
        ):
            return None
        scope = RegionScope(method, "", self.outer[:2], ())
        return method if scope.is_method else None

    @property
    def class_around(self) -> ast.ClassDef:
        """The class whose method it is, or whose method defines it."""
        return next(each for each in reversed(self.outer) if isinstance(each, ast.ClassDef))

    @property
    def self_name(self) -> str:
        """The name of a method's object."""
        assert not isinstance(self.node, ast.Module)
        return [*self.node.args.posonlyargs, *self.node.args.args][0].arg


@dataclass(frozen=True, eq=False)
class Candidate:
    """A run of statements of one block that could become a function.

    Attributes:
        scope: the enclosing module or function.
        path: the path to the tape's block, from the scope's own block.
        level: the index in the path of the block that contains the run.
        start, end: the run, as indices in that block.
        stays: the statements, by identity, that must stay outside.
        deferred: those of them that move after the run.
        dropped: the `del` statements of the run, which are unnecessary for a function's local variables.
        leading: the statements at the beginning of the tape's block that move before the run.
    """

    scope: RegionScope
    path: Path
    level: int
    start: int = 0
    end: int = 0
    stays: frozenset[int] = frozenset()
    deferred: frozenset[int] = frozenset()
    dropped: frozenset[int] = frozenset()
    leading: frozenset[int] = frozenset()

    @property
    def block(self) -> Statements:
        """The block that contains the run."""
        return self.path[self.level][0]

    @property
    def statements(self) -> Statements:
        """The run, without the statements that move out of it."""
        outside = self.deferred | self.dropped
        left = [statement for statement in self.block[self.start : self.end] if id(statement) not in outside]
        rest = self.tape_without(self.deferred | self.leading)
        return [rest if statement is self.anchor else statement for statement in left]

    @property
    def moved(self) -> Statements:
        """The statements that move after the run."""
        here: list[ast.stmt] = []
        for statement in self.block[self.start : self.end]:
            here += [statement, *(self.anchor.body if statement is self.anchor else ())]
        return [statement for statement in here if id(statement) in self.deferred]

    @property
    def ahead(self) -> Statements:
        """The statements that move before the run."""
        return [statement for statement in self.anchor.body if id(statement) in self.leading]

    @property
    def leading_inside(self) -> tuple[ast.stmt, ...]:
        """The statements at the beginning of the tape's own block that may run before the tape is opened."""
        if self.path[-1][0] is not self.block:
            return ()
        found: list[ast.stmt] = []
        for statement in self.anchor.body[:-1]:
            if why_it_stays(statement) is not None or not runs_before_tape(statement, self.scope.host_modules):
                break
            found.append(statement)
        return tuple(found)

    @property
    def deletions(self) -> Sequence[ast.Delete]:
        """The `del` statements that are left out."""
        run = self.block[self.start : self.end]
        return [each for each in run if isinstance(each, ast.Delete) and id(each) in self.dropped]

    def tape_without(self, statements: frozenset[int]) -> ast.With:
        """The tape's block without some of its own statements."""
        body = [statement for statement in self.anchor.body if id(statement) not in statements]
        if len(body) == len(self.anchor.body):
            return self.anchor
        return ast.copy_location(ast.With(self.anchor.items, body), self.anchor)

    @property
    def movable_inside(self) -> tuple[ast.stmt, ...]:
        """The statements of the tape's own block that may run after the run; each only if those after it may, too."""
        block, at = self.path[-1]
        if block is not self.block:
            return ()
        body = self.anchor.body
        behind = [statement for statement in block[at + 1 : self.end] if id(statement) not in self.deferred]
        found: list[ast.stmt] = []
        for place in reversed(range(len(body))):
            statement = body[place]
            rest = [*(each for each in body[place + 1 :] if each not in found), *behind]
            if why_it_stays(statement) is None and (
                (not rest and self._is_outside_of_tape(statement))
                or self.may_be_deferred(statement, body[:place], rest)
            ):
                found.insert(0, statement)
        return tuple(found) if len(found) < len(body) else ()

    def _is_outside_of_tape(self, statement: ast.stmt) -> bool:
        """Whether a last statement of the tape's block does not depend on it: the gradient is computed before, in the block."""
        tapes = tapes_of([self.anchor])
        block, at = self.path[-1]
        return (
            all(is_tape(item.context_expr) for item in self.anchor.items)
            and not is_update(statement)
            and not tapes & (usage_of([statement]).needs.keys() | self.scope.flow.live_after(block, at + 1))
        )

    def may_be_deferred(self, statement: ast.stmt, before: Statements, behind: Statements) -> bool:
        """Whether a statement may run after those that follow it."""
        given = frozenset[str]().union(
            *(_targets_of(block[at]) for block, at in self.path[: self.level] if isinstance(block[at], ast.For))
        )
        scope = self.scope
        return may_be_deferred(statement, before, behind, scope.numbers, scope.metrics, given, scope.host_code)

    def movable(self, names: frozenset[str]) -> frozenset[int] | None:
        """The statements of the run, by identity, that use some names, if all of them can be left out; otherwise None."""
        found: set[int] = set()
        core = {id(statement) for statement in self.core}
        block, at = self.path[self.level]
        for place in range(self.start, self.end):
            statement = block[place]
            if id(statement) in self.deferred or not names & usage_of([statement]).needs.keys():
                continue
            if statement is self.anchor:
                inside = frozenset(id(each) for each in self.movable_inside if names & usage_of([each]).needs.keys())
                if names & usage_of([self.tape_without(inside | self.deferred)]).needs.keys():
                    return None
                found |= inside
            elif id(statement) in core and not self.may_be_deferred(
                statement, block[at:place], block[place + 1 : _core_end(block, at)]
            ):
                return None
            else:
                found.add(id(statement))
        return frozenset(found)

    @property
    def core(self) -> Statements:
        """The tape's block and the statements up to the last use of the tape, or the last update of variables, in the block of the run."""
        block, at = self.path[self.level]
        return block[at : _core_end(block, at)]

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line of the run."""
        first, last = self.block[self.start], self.block[self.end - 1]
        return first.lineno, last.end_lineno or last.lineno

    def overlapping(self, other: Candidate) -> frozenset[int]:
        """The statements of the run, by identity, that share lines with another run, for example a loop that contains it."""
        first, last = other.lines
        run = self.block[self.start : self.end]
        return frozenset(id(each) for each in run if each.lineno <= last and first <= (each.end_lineno or each.lineno))

    @property
    def anchor(self) -> ast.With:
        """The tape's block."""
        block, at = self.path[-1]
        tape = block[at]
        assert isinstance(tape, ast.With)
        return tape

    @property
    def loops(self) -> tuple[int, ...]:
        """The levels at which a loop contains the run in its body."""
        return tuple(
            level
            for level in range(self.level)
            if isinstance(loop := self.path[level][0][self.path[level][1]], ast.For | ast.While)
            and loop.body is self.path[level + 1][0]
        )

    def without(self, stays: frozenset[int]) -> Candidate | None:
        """The run around the tape that also excludes these statements; None if there is none."""
        fresh = frozenset[int]()
        return _settled(replace(self, stays=self.stays | stays, deferred=fresh, dropped=fresh, leading=fresh))


def find_candidates(tree: ast.Module) -> tuple[Candidate, ...]:
    """The candidates of a module, one for each tape, in source order. Their runs may overlap."""
    found: list[Candidate] = []
    looking = (
        _LOOKS_AT_FRAMES - usage_of(tree.body).binds.keys()
    )  # `eval` is a common name for an evaluation of the model
    for scope in _scopes(tree):
        if _looks_at_frames(scope.node, looking):
            continue
        for path in _tapes(scope.node.body, ()):
            candidate = Candidate(scope, path, 0)
            loops = [
                level
                for level in range(len(path) - 1)
                if isinstance(loop := path[level][0][path[level][1]], ast.For | ast.While)
                and loop.body is path[level + 1][0]
            ]
            if not loops and isinstance(scope.node, ast.Module):
                continue  # it runs once
            while loops and gives_networks(path[loops[-1]][0][path[loops[-1]][1]]):
                if len(loops) == 1 and isinstance(scope.node, ast.Module):
                    break
                loops.pop()
            settled = _settled(replace(candidate, level=loops[-1] + 1 if loops else 0))
            if settled is not None:
                found.append(settled)
    return tuple(found)


def _scopes(tree: ast.Module) -> Iterator[RegionScope]:
    def inside(
        block: Statements, names: tuple[str, ...], outer: tuple[AstScope | ast.ClassDef, ...], path: Path
    ) -> Iterator[RegionScope]:
        for at, statement in enumerate(block):
            here = (*path, (block, at))
            if isinstance(statement, ast.FunctionDef):
                yield RegionScope(statement, ".".join([*names, statement.name]), outer, here)
                yield from inside(statement.body, (*names, statement.name, "<locals>"), (*outer, statement), ())
            elif isinstance(statement, ast.ClassDef):
                yield from inside(statement.body, (*names, statement.name), (*outer, statement), here)
            else:
                for inner in inner_blocks(statement):
                    yield from inside(inner, names, outer, here)

    yield RegionScope(tree, "", (), ())
    yield from inside(tree.body, (), (tree,), ())


def _looks_at_frames(scope: AstScope, looking: frozenset[str]) -> bool:
    """Whether code in the scope may read or bind names invisibly, such as a call of one of these functions."""
    for statement in statements_of_scope(scope.body):
        if isinstance(statement, ast.AsyncFor | ast.AsyncWith | getattr(ast, "TryStar", ast.AsyncFor)):
            return True
        for node in ast.walk(statement):
            match node:
                case ast.Call(func=ast.Name(id="vars" | "dir"), args=[_]):
                    pass  # `vars(object)`: usually the command-line options
                case ast.Call(func=ast.Name(id=name)) if name in looking:
                    return True
                case _:
                    pass
    return False


def _tapes(block: Statements, path: Path) -> Iterator[Path]:
    for at, statement in enumerate(block):
        here = (*path, (block, at))
        if isinstance(statement, ast.With) and any(is_tape(item.context_expr) for item in statement.items):
            yield here
            continue
        for inner in inner_blocks(statement):
            yield from _tapes(inner, here)


def is_tape(node: ast.expr) -> bool:
    """Whether an expression creates a tape."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name == "GradientTape"


def _settled(candidate: Candidate) -> Candidate | None:
    """The longest run around the tape in which no statement must stay, in the outermost block that has one."""
    for level in range(candidate.level, len(candidate.path)):
        candidate = replace(candidate, level=level)
        block, at = candidate.path[level]
        if _must_stay(block[at], candidate.stays):
            continue
        start = end = at
        while start > 0 and not _must_stay(block[start - 1], candidate.stays):
            start -= 1
        core = _core_end(block, at)
        late = _late(candidate, block, at, core)
        deferred: set[int] = set()
        while end < len(block):
            statement = block[end]
            if _must_stay(statement, candidate.stays):
                if end >= core or id(statement) not in late:
                    break
                deferred.add(id(statement))
            end += 1
        if deferred - _late(candidate, block, at, end):
            end = core
        while start < at and not _belongs(block[start], block[start + 1 : end]):
            start += 1
        while end > at + 1 and (not _computes(block[end - 1]) or id(block[end - 1]) in deferred):
            end -= 1
        last = _last_deletion(block, start, end)
        tail = [statement for statement in block[end:last] if not _deletes_names(statement)]
        dropped = frozenset(id(each) for each in block[start:last] if _deletes_names(each))
        deferred |= set(map(id, tail))
        end = max(end, last)
        settled = replace(candidate, level=level, start=start, end=end, deferred=frozenset(deferred), dropped=dropped)
        movable = list(map(id, settled.movable_inside))
        first = next((place for place, each in enumerate(movable) if each in candidate.stays), len(movable))
        settled = replace(settled, deferred=settled.deferred.union(movable[first:]))
        leading = [id(each) for each in settled.leading_inside if id(each) not in settled.deferred]
        last = max((place for place, each in enumerate(leading, start=1) if each in candidate.stays), default=0)
        # what comes before the tape comes before these, too
        return replace(settled, start=at, leading=frozenset(leading[:last])) if last else settled
    return None


def _late(candidate: Candidate, block: Statements, at: int, end: int) -> frozenset[int]:
    """The statements after a tape, by identity, that must stay outside and may run after the statements up to `end`."""
    found: set[int] = set()
    for place in reversed(range(at + 1, end)):
        statement = block[place]
        if _must_stay(statement, candidate.stays):
            left = [each for each in block[place + 1 : end] if id(each) not in found]
            if candidate.may_be_deferred(statement, block[at:place], left):
                found.add(id(statement))
    return frozenset(found)


def _deletes_names(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Delete) and all(isinstance(target, ast.Name) for target in statement.targets)


def _last_deletion(block: Statements, start: int, end: int) -> int:
    """The index after the last `del` behind a run that deletes names bound by the run; 0 if none may be left out.

    The statements in between move after the run unchanged, so they must neither leave the block nor be a training step themselves.
    """
    bound = set(usage_of(block[start:end]).binds)
    found = 0
    for place in range(end, len(block)):
        statement = block[place]
        if why_it_stays(statement) is not None or tapes_of([statement]):
            break
        if _deletes_names(statement) and bound & usage_of([statement]).needs.keys():
            found = place + 1
        bound -= usage_of([statement]).binds.keys()
    return found


def _core_end(block: Statements, at: int) -> int:
    """The index after the last statement that uses the tapes of `block[at]`, or updates variables with their gradients."""
    given = set(usage_of([block[at]]).binds)
    tapes = tapes_of([block[at]])
    end = at + 1
    for place in range(at + 1, len(block)):
        usage = usage_of([block[place]])
        if tapes & usage.needs.keys():
            given |= usage.binds.keys()
            end = place + 1
        elif given & usage.needs.keys():
            if is_update(block[place]):
                end = place + 1
            elif isinstance(block[place], ast.Assign):
                given |= usage.binds.keys()  # `pairs = zip(grads, variables)`
    return end


def tapes_of(block: Statements) -> frozenset[str]:
    """The names of the tapes that `with` statements of a block open, at any depth."""
    return frozenset(
        name.id
        for statement in block
        for inner in ast.walk(statement)
        if isinstance(inner, ast.With)
        for item in inner.items
        if item.optional_vars is not None and is_tape(item.context_expr)
        for name in ast.walk(item.optional_vars)
        if isinstance(name, ast.Name)
    )


def _numbers_bound(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement certainly binds to Python numbers or strings."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_plain(value):
            return frozenset({name})
        case ast.AugAssign(target=ast.Name(id=name), value=value) if _is_plain(value):
            return frozenset({name})
        case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"))):
            return frozenset({name})
        case ast.For(target=ast.Tuple(elts=[ast.Name(id=name), *_]), iter=ast.Call(func=ast.Name(id="enumerate"))):
            return frozenset({name})
        case _:
            return frozenset()


def _is_plain(value: ast.expr) -> bool:
    match value:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Name(id="float" | "int" | "len" | "str" | "round")):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_plain(left) and _is_plain(right)
        case _:
            return False


def _targets_of(statement: ast.stmt) -> set[str]:
    target = statement.target if isinstance(statement, ast.For) else None
    return set() if target is None else {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _must_stay(statement: ast.stmt, stays: frozenset[int]) -> bool:
    return id(statement) in stays or why_it_stays(statement) is not None


def why_it_stays(statement: ast.stmt) -> str | None:
    """The reason why a statement cannot be moved into a function, independent of its values; None if it can."""
    for node in ast.walk(statement):
        if isinstance(node, _NEVER_MOVED):
            return f"`{_keyword(node)}` cannot be moved"
        if isinstance(node, ast.Delete) and not all(isinstance(target, ast.Name) for target in node.targets):
            return "it deletes elements"
    if leaves_loop([statement]):
        return "it leaves the loop"
    return None


def _keyword(node: ast.AST) -> str:
    names = {ast.FunctionDef: "def", ast.AsyncFunctionDef: "async def", ast.ClassDef: "class", ast.ImportFrom: "import"}
    return names.get(type(node), type(node).__name__.lower())


def _belongs(statement: ast.stmt, behind: Statements) -> bool:
    """Whether a statement at the beginning of a run is part of it."""
    if _converts(statement):
        return False
    return _computes(statement) or _begins_sum(statement, behind) or _names_weights(statement)


def _converts(statement: ast.stmt) -> bool:
    """Whether it only creates a tensor: outside of the run, the function receives the tensor, and not a Python number that would cause
    retraces.
    """
    match statement:
        case ast.Assign(value=ast.Call(func=ast.Attribute(attr=name))):
            return name in _CONVERSIONS
        case _:
            return False


_CONVERSIONS: Final = frozenset({"convert_to_tensor", "constant"})


def _names_weights(statement: ast.stmt) -> bool:
    """Whether it names the variables of a model: as arguments they would become tensors."""
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Attribute(attr=name)):
            return name in WEIGHTS
        case _:
            return False


def _computes(statement: ast.stmt) -> bool:
    """Whether a statement at the edge of a run does something that a graph could do; false for aliases and counters."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.Constant):
        return False
    return any(isinstance(node, _COMPUTES) for node in ast.walk(statement))


def _begins_sum(statement: ast.stmt, behind: Statements) -> bool:
    """Whether it binds the initial number or empty list of an accumulation in the following statements; outside, it would be an argument.

    For example `loss = 0`, `outputs = []` or `loss, penalty = 0, 0`.
    """
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            return all(_begins(target, value, behind) for target, value in zip(targets, values, strict=True))
        case ast.Assign(targets=[target], value=value):
            return _begins(target, value, behind)
        case _:
            return False


def _begins(target: ast.expr, value: ast.expr, behind: Statements) -> bool:
    match target, value:
        case ast.Name(id=name), ast.Constant(value=int() | float()):
            usage = usage_of(behind)
            return name in usage.needs and name in usage.binds
        case ast.Name(id=name), ast.List(elts=[]):
            return any(_adds_to(name, node) for each in behind for node in ast.walk(each))
        case _:
            return False


def _adds_to(name: str, node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr="append" | "extend" | "insert")):
            return found == name
        case _:
            return False


def deletes_of_others(statements: Statements) -> bool:
    """Whether a name is deleted that the statements did not bind themselves."""
    usage = usage_of(statements)
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del) and node.id in usage.needs
        for statement in statements
        for node in ast.walk(statement)
    )
