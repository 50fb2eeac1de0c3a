"""Statements between a tape and the update of variables that may run after the update instead.

Computes: whether a statement only prints or stores results, or passes them to a metric. Needs: a statement, those
before and after it, and the lists, numbers and functions of its module (`host_code.py`). Gives: `may_be_deferred`,
`metrics_of`. Ignores: whether it has to move.
"""

from __future__ import annotations

import ast
from collections.abc import KeysView
from typing import Final

from terra_refactor.refactor.regions.host_code import NO_HOST_CODE, HostCode, is_untouched
from terra_refactor.syntax.name_flow import AstScope, Statements, inner_blocks, statements_of_scope, usage_of


def may_be_deferred(
    statement: ast.stmt,
    before: Statements,
    behind: Statements,
    numbers: frozenset[str],
    metrics: frozenset[str] = frozenset(),
    given: frozenset[str] = frozenset(),
    host: HostCode = NO_HOST_CODE,
) -> bool:
    """Whether a statement may run after those that follow it: it prints or stores numbers of this iteration, which
    nothing changes.

    It reads results of the statements `before`, which are tensors, and names that `numbers` has; no variables, which
    the update changes. Its calls print, write summaries, or convert a result of the statements `before`, or an
    operation's result on it; tensors are immutable, so a later conversion gives the same. It may append to a list
    that the others do not use, and call a function that does nothing else. A metric of `metrics` may receive results,
    and variables bound by enclosing loops (`given`); its result may be stored.
    """
    usage, others = usage_of([statement]), usage_of(behind)
    if (usage.binds.keys() | usage.needs.keys()) & others.binds.keys() or usage.binds.keys() & others.needs.keys():
        return False
    results = _results(before)
    # an item of a call's result may be a variable, but not the one that is differentiated
    parts = _unpacked(before, frozenset()) & _differentiated([*before, *behind])
    if _is_metric_update(
        _without_keeping(statement, numbers, behind, host, others.needs.keys()),
        metrics - others.needs.keys(),
        results | given | _unpacked(before, results | given),
    ):
        return not any(isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) for node in _nodes(behind))
    return _only_shows(statement, frozenset(results | parts), numbers, behind, host)


_MAX_DEPTH: Final = 3


def _only_shows(
    statement: ast.stmt,
    results: frozenset[str],
    numbers: frozenset[str],
    behind: Statements,
    host: HostCode,
    depth: int = 0,
) -> bool:
    """Whether a statement prints or stores some results and numbers, and no statement `behind` it depends on when that
    happens.
    """
    usage, others = usage_of([statement]), usage_of(behind)
    allowed: set[int] = set()
    writers = {
        item.context_expr.func.value.id
        for node in ast.walk(statement)
        if isinstance(node, ast.With)
        for item in node.items
        if _opens_writer(item)
        and isinstance(item.context_expr, ast.Call)
        and isinstance(item.context_expr.func, ast.Attribute)
        and isinstance(item.context_expr.func.value, ast.Name)
    }
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
            case ast.Call(func=ast.Attribute(value=ast.Call() as inner, attr="numpy" | "item")) if host.is_pure(inner):
                allowed.add(id(node.func))
            case ast.Call() if host.is_pure(node):
                allowed |= set(map(id, ast.walk(node.func)))
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format")):
                allowed.add(id(node.func))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append")) if name not in others.needs:
                assert isinstance(node.func, ast.Attribute)
                allowed |= {id(node.func), id(node.func.value)}
            case ast.Call(func=ast.Attribute(value=value, attr="append")) if _is_own_list(
                value, numbers, behind, host, others.needs.keys()
            ):
                allowed |= set(map(id, ast.walk(node.func)))
            case ast.Call(func=func) if host.is_summary(func):
                allowed |= set(map(id, ast.walk(func)))
            case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute(), attr="as_default"), args=[]):
                allowed |= set(map(id, ast.walk(node.func)))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="flush"), args=[]) if name in writers:
                allowed |= set(map(id, ast.walk(node.func)))
            case ast.Call() if depth < _MAX_DEPTH and _calls_what_shows(node, results, numbers, behind, host, depth):
                allowed |= set(map(id, ast.walk(node)))
            case ast.Call():
                return False
            case ast.Attribute(value=ast.Name()) if host.is_number(node) and is_untouched(host, node.attr, behind):
                allowed |= {id(node), id(node.value)}
            case ast.Attribute(value=ast.Name()) if host.is_dtype(node):
                allowed |= {id(node), id(node.value)}
            case _:
                pass
    for node in ast.walk(statement):
        match node:
            case ast.Attribute() if id(node) not in allowed:
                return False
            case ast.Name(id=name, ctx=ast.Load()) if id(node) not in allowed and name not in results | numbers:
                return False
            case ast.With(items=items) if all(_opens_writer(each) for each in items):
                pass
            case ast.Subscript() if id(node) in allowed:
                pass
            case ast.Subscript() | ast.Yield() | ast.YieldFrom() | ast.Await() | ast.Lambda() | ast.NamedExpr():
                return False
            case ast.Return() | ast.Break() | ast.Continue() | ast.Raise() | ast.Try() | ast.With() | ast.While():
                return False
            case ast.AugAssign(target=ast.Name(), value=value) if not _is_number_of(value, results, host):
                return False
            case ast.Assign(targets=[ast.Name()], value=value) if _is_number_of(value, results, host):
                pass  # `loss_value = float(loss)`
            case ast.Assign() | ast.Assert() | ast.Delete() | ast.FunctionDef() | ast.ClassDef():
                return False
            case _:
                pass
    return True


def _is_own_list(
    node: ast.expr, numbers: frozenset[str], behind: Statements, host: HostCode, needed: KeysView[str]
) -> bool:
    """Whether it is a list attribute of the method's object, or an element of a container, that no statement `behind`
    uses: `self.losses`, `history["loss"]`.
    """
    match node:
        case ast.Subscript(value=value, slice=ast.Constant() | ast.Name() as key):
            if isinstance(key, ast.Name) and key.id not in numbers:
                return False
            if isinstance(value, ast.Name):
                return value.id not in needed
            return _is_own_list(value, numbers, behind, host, needed)
        case ast.Attribute(value=ast.Name()):
            return host.is_container(node) and is_untouched(host, node.attr, behind)
        case _:
            return False


def _opens_writer(item: ast.withitem) -> bool:
    match item:
        case ast.withitem(context_expr=ast.Call(func=ast.Attribute(attr="as_default"), args=[]), optional_vars=None):
            return True
        case _:
            return False


def _calls_what_shows(
    call: ast.Call, results: frozenset[str], numbers: frozenset[str], behind: Statements, host: HostCode, depth: int
) -> bool:
    """Whether it calls a function of the module, or a method of the same object, whose body only prints its arguments."""
    found = host.called(call)
    if found is None or any(
        not isinstance(each.value, ast.Constant | ast.Name) and not _is_result_of(each.value, results, host)
        for each in call.keywords
    ):
        return False
    function, given = found
    if not is_untouched(host, function.name, behind):
        return False
    inner_results = frozenset(name for name, value in given.items() if _is_result_of(value, results, host))
    inner_numbers = frozenset(
        name
        for name, value in given.items()
        if isinstance(value, ast.Constant)
        or (isinstance(value, ast.Name) and value.id in numbers)
        or _is_number_of(value, results, host)
        or (isinstance(value, ast.Attribute) and host.is_number(value) and is_untouched(host, value.attr, behind))
    )
    usage, others = usage_of(function.body), usage_of(behind)
    # other arguments are used only to open a writer
    rest = given.keys() - inner_results - inner_numbers
    if any(not _is_item_of_others(given[name], others.needs.keys()) for name in rest):
        return False
    if (usage.needs.keys() - given.keys()) & others.binds.keys() or usage.binds.keys() & given.keys():
        return False
    inside = host.inside(function)
    return all(
        _is_text(each) or _only_shows(each, inner_results, inner_numbers, behind, inside, depth + 1)
        for each in function.body
    )


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _is_item_of_others(node: ast.expr, needed: KeysView[str]) -> bool:
    """Whether it is a variable, or an item of one, that some statements do not use: `writer`, `writers[0]`."""
    match node:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name), slice=ast.Constant()):
            return name not in needed
        case _:
            return False


def _is_number_of(node: ast.expr, results: set[str] | frozenset[str], host: HostCode) -> bool:
    """Whether it is a Python number taken from a result: `float(loss)`, `loss.numpy()`, `tf.reduce_mean(losses).numpy()`."""
    match node:
        case ast.Call(func=ast.Name(id="float" | "int"), args=[value]):
            return _is_result_of(value, results, host)
        case ast.Call(func=ast.Attribute(value=value, attr="numpy" | "item"), args=[]):
            return _is_result_of(value, results, host)
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Attribute(value=value, attr="numpy"), args=[]), attr=method),
            args=[],
            keywords=[],
        ):
            return method in _SUMS_UP and _is_result_of(value, results, host)
        case _:
            return False


_SUMS_UP: Final = frozenset({"item", "max", "mean", "min", "std", "sum"})
"""Methods of an array that give a number."""


def _is_result_of(node: ast.expr, results: set[str] | frozenset[str], host: HostCode) -> bool:
    """Whether it is a result, or computed by operations from results and constants."""
    match node:
        case ast.Name(id=name):
            return name in results
        case ast.Call(args=[first, *others], keywords=keywords) if host.is_pure(node):
            more = (*others, *(each.value for each in keywords))
            return _is_result_of(first, results, host) and all(
                isinstance(each, ast.Constant) or host.is_dtype(each) or _is_result_of(each, results, host)
                for each in more
            )
        case _:
            return False


_SHOWS: Final = frozenset({"print", "float", "int", "str", "round", "repr", "format", "len", "abs", "bool"})


def _results(block: Statements) -> set[str]:
    """The names that some statements bind to results of operations or calls, except aliases of existing objects.

    A function without arguments may return part of its object, such as a variable. A sum that begins with a number, and to
    which results are added, is a number or a result.
    """
    found: set[str] = set()
    sums: set[str] = set()
    for node in _nodes(block):
        match node:
            case ast.Assign(value=ast.Call(args=[], keywords=[])):
                pass
            case ast.Assign(targets=targets, value=ast.Call() | ast.BinOp() | ast.UnaryOp()):
                found.update(target.id for target in targets if isinstance(target, ast.Name))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float())):
                sums.add(name)
            case ast.AugAssign(target=ast.Name(id=name), value=ast.Call() | ast.BinOp()) if name in sums:
                found.add(name)
            case _:
                pass
    return found


def _differentiated(block: Statements) -> set[str]:
    """The names whose gradients are computed."""
    return {
        name.id
        for node in _nodes(block)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("gradient", "jacobian", "minimize")
        for name in (ast.walk(node.args[0]) if node.args else ())
        if isinstance(name, ast.Name)
    }


def _nodes(block: Statements) -> list[ast.AST]:
    return [node for statement in block for node in ast.walk(statement)]


def _unpacked(block: Statements, known: set[str] | frozenset[str]) -> set[str]:
    """The names that some statements bind to parts of a call's result, or of the value of a known name: `images, labels
    = batch`.
    """
    found: set[str] = set()
    for node in _nodes(block):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=value):
                if isinstance(value, ast.Call) or (isinstance(value, ast.Name) and value.id in known):
                    found.update(name.id for name in names if isinstance(name, ast.Name))
            case _:
                pass
    return found


def _without_keeping(
    statement: ast.stmt, numbers: frozenset[str], behind: Statements, host: HostCode, needed: KeysView[str]
) -> ast.stmt:
    """The value that a statement binds to a name, or appends to a list that nothing `behind` uses; otherwise the
    statement itself.
    """
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Call() as value):
            return ast.Expr(value)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=kept, attr="append"), args=[value], keywords=[])):
            if isinstance(kept, ast.Name):
                is_apart = kept.id not in needed
            else:
                is_apart = _is_own_list(kept, numbers, behind, host, needed)
            match value:
                case ast.Call(func=ast.Attribute(value=ast.Call() as inner, attr="numpy"), args=[]):
                    value = inner
                case ast.Call(func=ast.Name(id="float"), args=[ast.Call() as inner]):
                    value = inner
                case _:
                    pass
            return ast.Expr(value) if is_apart else statement
        case _:
            return statement


def _is_metric_update(statement: ast.stmt, metrics: frozenset[str], values: set[str] | frozenset[str]) -> bool:
    """Whether a metric is called with some values: it changes only its own variables, which no step reads."""
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
    """The names of a scope that are bound only to new Keras metrics: `tf.keras.metrics.Mean()`."""
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
