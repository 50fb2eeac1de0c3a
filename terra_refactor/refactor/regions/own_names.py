"""Names that a run binds under conditions, and whose value never comes from an earlier iteration.

Computes: the names that are local to the run although control flow alone would allow a read before they are bound.
Needs: a candidate. Gives: `bound_by_each_pass`, `bound_where_read`, `needed_by_each_pass`, `made_by_scope`. Ignores:
whether the conditions hold; if none does, the loop raises, and so does the function.

    for batch in batches:
        if args.loss == "l1":
            loss = l1(batch)
        elif args.loss == "l2":            `loss` is bound in every pass that goes on, or the first one raises: the same condition
            loss = l2(batch)               holds in all passes
        update(loss)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from terra_refactor.refactor.regions.candidates import Candidate, RegionScope
from terra_refactor.syntax.name_flow import Statements, statements_of_scope, usage_of

_STEADY: Final = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.List),
    *(ast.expr_context, ast.cmpop, ast.boolop, ast.unaryop, ast.operator),
)
"""Syntax of conditions that keep their value as long as their names do."""


def bound_by_each_pass(candidate: Candidate) -> frozenset[str]:
    """The names that only the run binds, under loop-invariant conditions, and that every pass through it reads."""
    statements = candidate.statements
    read = _read_by_each_pass(statements)
    wanted = (
        read & usage_of(statements).needs.keys() & usage_of(statements).binds.keys() - candidate.scope.flow.parameters
    )
    inside = {id(node) for statement in statements for node in ast.walk(statement)}
    return frozenset(name for name in wanted if _is_own(candidate, name, inside))


def bound_where_read(candidate: Candidate) -> frozenset[str]:
    """The names that only the run binds and reads, each read under the loop-invariant conditions of a statement before it that
    binds the name. No other pass sees their values, and they may be unbound at the end.

        if args.smooth:
            extra = tf.reduce_mean(batch)
        with tf.GradientTape() as tape:
            loss = loss_of(batch)
            if args.smooth:
                loss += extra
    """
    usage, flow = usage_of(candidate.statements), candidate.scope.flow
    inside = {id(node) for statement in candidate.statements for node in ast.walk(statement)}
    outside = [node for node in _of_scope(candidate.scope.node.body) if id(node) not in inside]
    return frozenset(
        name
        for name in usage.needs.keys() & usage.binds.keys() - flow.parameters - flow.everywhere
        if not any(_binds(node, name) or (isinstance(node, ast.Name) and node.id == name) for node in outside)
        and _is_bound_where_read(candidate, name)
    )


def _is_bound_where_read(candidate: Candidate, name: str) -> bool:
    around = [candidate.path[level][0][candidate.path[level][1]] for level in candidate.loops[:1]]
    bound: list[frozenset[tuple[str, bool]]] = []
    for is_read, tests in _uses(candidate.statements, name, ()):
        guards = frozenset((ast.dump(test), side) for test, side in tests)
        if is_read:
            if not any(each <= guards for each in bound):
                return False
        elif all(_is_steady(test, around or candidate.statements) for test, _ in tests):
            bound.append(guards)
    return True


def _uses(
    block: Statements, name: str, around: tuple[tuple[ast.expr, bool], ...]
) -> Iterator[tuple[bool, tuple[tuple[ast.expr, bool], ...]]]:
    """The reads (True) and bindings of a name in order, each with its conditions and their side; of loops and handlers the reads only."""
    for statement in block:
        match statement:
            case ast.If(test=test, body=body, orelse=otherwise):
                if _reads(test, name):
                    yield True, around
                yield from _uses(body, name, (*around, (test, True)))
                yield from _uses(otherwise, name, (*around, (test, False)))
            case ast.With(items=items, body=body):
                if any(_reads(item, name) for item in items):
                    yield True, around
                yield from _uses(body, name, around)
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Expr():
                usage = usage_of([statement])
                if name in usage.needs:
                    yield True, around
                if name in usage.binds:
                    yield False, around
            case _:
                if any(_reads(node, name) or _binds(node, name) for node in ast.walk(statement)):
                    yield True, around


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def needed_by_each_pass(candidate: Candidate) -> frozenset[str]:
    """The names that the run does not bind but reads in every pass: if they are unbound, the call raises like the run."""
    return frozenset(_read_by_each_pass(candidate.statements) - usage_of(candidate.statements).binds.keys())


def made_by_scope(scope: RegionScope) -> frozenset[str]:
    """The names that a function binds to results of calls, which may create another object in each of its own calls."""
    if isinstance(scope.node, ast.Module):
        return frozenset()
    found: set[str] = set()
    for statement in statements_of_scope(scope.node.body):
        match statement:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        if any(isinstance(node, ast.Call) for node in ast.walk(value)):
            names = (node for target in targets for node in ast.walk(target))
            found |= {node.id for node in names if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return frozenset(found)


def _read_by_each_pass(block: Statements) -> set[str]:
    return {name for statement in _always(block) for name in usage_of([statement]).needs}


def _always(block: Statements) -> Iterator[ast.stmt]:
    """The statements on every path through a block: not those in conditions, loops and handlers."""
    for statement in block:
        match statement:
            case ast.With(body=body):
                yield from _always(body)
            case ast.Assign() | ast.AnnAssign() | ast.Expr():
                yield statement
            case _:
                pass


def _is_own(candidate: Candidate, name: str, inside: set[int]) -> bool:
    if name in candidate.scope.flow.everywhere:
        return False  # a nested function reads the variable
    if any(_binds(node, name) and id(node) not in inside for node in _of_scope(candidate.scope.node.body)):
        return False
    tests = list(_conditions(candidate.statements, name, ()))
    if not tests:
        return False
    loops = [candidate.path[level][0][candidate.path[level][1]] for level in candidate.loops[:1]]
    return all(_is_steady(test, loops) for conditions in tests for test in conditions)


def _of_scope(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a scope; for nested functions and classes only the node itself, and the names that they declare as
    `global` or `nonlocal`.
    """
    for node in nodes:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from (inner for inner in ast.walk(node) if isinstance(inner, ast.Global | ast.Nonlocal))
        else:
            yield from _of_scope(list(ast.iter_child_nodes(node)))


def _binds(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Name(id=found, ctx=ast.Store() | ast.Del()):
            return found == name
        case ast.ExceptHandler(name=found) | ast.MatchAs(name=found) | ast.MatchStar(name=found):
            return found == name
        case ast.FunctionDef(name=found) | ast.AsyncFunctionDef(name=found) | ast.ClassDef(name=found):
            return found == name
        case ast.alias(name=found, asname=other):
            return name in (found.partition(".")[0], other)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return name in names
        case _:
            return False


_NEVER: Final = ast.Call(ast.Name("never", ast.Load()), [], [])
"""A condition that may differ in each pass."""


def _conditions(block: Statements, name: str, around: tuple[ast.expr, ...]) -> Iterator[tuple[ast.expr, ...]]:
    """For each statement that binds the name, its conditions."""
    for statement in block:
        match statement:
            case ast.If(test=test, body=body, orelse=otherwise):
                yield from _conditions(body, name, (*around, test))
                yield from _conditions(otherwise, name, (*around, test))
            case ast.With(body=body):
                yield from _conditions(body, name, around)
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                if name in usage_of([statement]).binds:
                    yield around
            case _:
                if any(_binds(node, name) for node in ast.walk(statement)):
                    yield (_NEVER,)


def _is_steady(test: ast.expr, loops: Sequence[ast.stmt]) -> bool:
    """Whether a condition is invariant in some loops: nothing in them binds its names, or may change their values."""
    if not loops:
        return True  # each call of the function has its own variables
    nodes = list(ast.walk(test))
    if not all(isinstance(node, _STEADY) for node in nodes):
        return False
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    if names & usage_of(loops).binds.keys():
        return False
    return not any(_may_change(node, attributes, names) for loop in loops for node in ast.walk(loop))


def _may_change(node: ast.AST, attributes: set[str], names: set[str]) -> bool:
    match node:
        case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()):
            return attr in attributes
        case ast.Call(func=func, args=arguments, keywords=keywords):
            # a method of the object, or a function that receives the object, may set its attributes or add to it
            given = [*arguments, *(each.value for each in keywords)]
            return any(isinstance(each, ast.Name) and each.id in names for each in given) or _root(func) in names
        case _:
            return False


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
