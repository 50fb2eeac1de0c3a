"""Statements between a tape and the update of variables that may as well run after the update.

Computes: whether a statement only shows or keeps results, or gives them to a metric. Needs: a statement, those before and behind it.
Gives: `may_be_deferred`, `metrics_of`. Ignores: whether it has to move.
"""

from __future__ import annotations

import ast
from typing import Final

from terra_refactor.syntax.name_flow import AstScope, Statements, inner_blocks, statements_of_scope, usage_of


def may_be_deferred(
    statement: ast.stmt,
    before: Statements,
    behind: Statements,
    numbers: frozenset[str],
    metrics: frozenset[str] = frozenset(),
    given: frozenset[str] = frozenset(),
) -> bool:
    """Whether a statement may run after those behind it: it shows or keeps numbers of this iteration, which nothing changes.

    It reads results of the statements `before`, which are tensors, and names that `numbers` has; no variables, which the update changes.
    Its calls print, or convert a result of the statements `before`; tensors do not change, so they show the same later. It may
    add to a list that the others do not use. A metric of `metrics` may get results, and what loops around bind (`given`).
    """
    usage, others = usage_of([statement]), usage_of(behind)
    if (usage.binds.keys() | usage.needs.keys()) & others.binds.keys() or usage.binds.keys() & others.needs.keys():
        return False
    results = _results(before)
    if _is_metric_update(
        statement, metrics - others.needs.keys(), results | given | _unpacked(before, results | given)
    ):
        return not any(isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) for node in _nodes(behind))
    allowed: set[int] = set()
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in _SHOWS and name not in usage.binds:
                allowed.add(id(node.func))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="numpy" | "item")) if name in results:
                allowed.add(id(node.func))
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="numpy")))
            ) if name in results:
                # a method that only arrays have
                allowed.add(id(node.func))
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format")):
                allowed.add(id(node.func))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append")) if name not in others.needs:
                assert isinstance(node.func, ast.Attribute)
                allowed |= {id(node.func), id(node.func.value)}
            case ast.Call():
                return False
    for node in ast.walk(statement):
        match node:
            case ast.Attribute() if id(node) not in allowed:
                return False
            case ast.Name(id=name, ctx=ast.Load()) if id(node) not in allowed and name not in results | numbers:
                return False
            case ast.Subscript() | ast.Yield() | ast.YieldFrom() | ast.Await() | ast.Lambda() | ast.NamedExpr():
                return False
            case ast.Return() | ast.Break() | ast.Continue() | ast.Raise() | ast.Try() | ast.With() | ast.While():
                return False
            case ast.AugAssign(target=ast.Name(), value=value) if not _is_number_of(value, results):
                return False
            case ast.Assign(targets=[ast.Name()], value=value) if _is_number_of(value, results):
                pass  # `loss_value = float(loss)`
            case ast.Assign() | ast.Assert() | ast.Delete() | ast.FunctionDef() | ast.ClassDef():
                return False
            case _:
                pass
    return True


def _is_number_of(node: ast.expr, results: set[str]) -> bool:
    """Whether it is a Python number that is taken out of a result: `float(loss)`, `loss.numpy()`."""
    match node:
        case ast.Call(func=ast.Name(id="float" | "int"), args=[ast.Name(id=name)]):
            return name in results
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="numpy" | "item"), args=[]):
            return name in results
        case _:
            return False


_SHOWS: Final = frozenset({"print", "float", "int", "str", "round", "repr", "format", "len", "abs", "bool"})


def _results(block: Statements) -> set[str]:
    """The names that some statements bind to what operations or calls give: no other names of what is there already."""
    found: set[str] = set()
    for statement in block:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call | ast.BinOp):
                found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return found


def _nodes(block: Statements) -> list[ast.AST]:
    return [node for statement in block for node in ast.walk(statement)]


def _unpacked(block: Statements, known: set[str] | frozenset[str]) -> set[str]:
    """The names that some statements bind to parts of what a call gives, or of what has a known name: `images, labels = batch`."""
    found: set[str] = set()
    for node in _nodes(block):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=value):
                if isinstance(value, ast.Call) or (isinstance(value, ast.Name) and value.id in known):
                    found.update(name.id for name in names if isinstance(name, ast.Name))
            case _:
                pass
    return found


def _is_metric_update(statement: ast.stmt, metrics: frozenset[str], values: set[str] | frozenset[str]) -> bool:
    """Whether a metric is called with some values: it changes its own variables, which no step reads."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords)):
            pass
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="update_state"), args=arguments, keywords=keywords
            )
        ):
            pass
        case _:
            return False
    given = [*arguments, *(each.value for each in keywords)]
    return name in metrics and all(isinstance(each, ast.Name) and each.id in values for each in given)


def metrics_of(module: ast.Module, scope: AstScope) -> frozenset[str]:
    """The names of a scope that nothing but new metrics of Keras are bound to: `tf.keras.metrics.Mean()`."""
    classes = {
        alias.asname or alias.name
        for statement in module.body
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").endswith("keras.metrics")
        for alias in statement.names
    }
    found: set[str] = set()
    others: set[str] = set()
    for statement in statements_of_scope(scope.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)) if _names_metric(func, classes):
                found.add(name)
            case _ if not inner_blocks(statement):
                others |= usage_of([statement]).binds.keys()
            case _:
                inner = {name for block in inner_blocks(statement) for name in usage_of(block).binds}
                targets = [node for node in ast.walk(statement) if isinstance(node, ast.For | ast.With | ast.Try)]
                bound = {
                    name.id
                    for node in targets
                    for part in (
                        [node.target]
                        if isinstance(node, ast.For)
                        else [item.optional_vars for item in node.items]
                        if isinstance(node, ast.With)
                        else []
                    )
                    if part is not None
                    for name in ast.walk(part)
                    if isinstance(name, ast.Name)
                }
                others |= (usage_of([statement]).binds.keys() - inner) | bound
    return frozenset(found - others)


def _names_metric(func: ast.expr, classes: set[str]) -> bool:
    match func:
        case ast.Name(id=name):
            return name in classes
        case ast.Attribute(value=ast.Attribute(attr="metrics"), attr=name):
            return name[:1].isupper()
        case ast.Attribute(value=ast.Name(id="metrics"), attr=name):
            return name[:1].isupper()
        case _:
            return False
