"""Arguments of unknown type that the call of an extracted function converts, as eager operators would in the run.

Computes: whether every use of a name allows its conversion to the dtype of the other operand: it is an operand, an
argument of a network or a loss, which convert it themselves, or of a function of the module that does nothing else
with it. Needs: statements and the text of their module. Gives: `Coerced`, `coerced`, `modules_of`. Ignores: the
dtype, which the decision about the function determines.

    target = reward + gamma * value            ->    train_step(states, np.asarray(reward, "float32"))
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from terra_refactor.refactor.regions.conversions import meets_result, results_of
from terra_refactor.refactor.regions.host_code import HostCode
from terra_refactor.syntax.name_flow import Statements

_MAX_DEPTH: Final = 4
_ARITHMETIC: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub)


@dataclass(frozen=True, slots=True)
class Coerced:
    """How a run uses a name that the call may convert.

    Attributes:
        names: the name, and the parameters of the module's functions that receive it.
        meets: whether it is combined with something that the run computes.
    """

    names: frozenset[str]
    meets: bool


def coerced(
    statements: Statements, name: str, tensors: frozenset[str], host: HostCode, libraries: frozenset[str]
) -> Coerced | None:
    """How statements use a name, if all uses allow the conversion; otherwise None. `libraries` are the names of modules."""
    return _coerced(statements, name, tensors, host, libraries, 0)


def _coerced(
    statements: Statements,
    name: str,
    tensors: frozenset[str],
    host: HostCode,
    libraries: frozenset[str],
    depth: int,
) -> Coerced | None:
    bound = results_of(statements, tensors)
    names, meets = {name}, False
    for statement in statements:
        parents = {child: node for node in ast.walk(statement) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(statement):
            if not isinstance(node, ast.Name) or node.id != name:
                continue
            if not isinstance(node.ctx, ast.Load):
                return None
            used = _use(node, parents, bound, host, libraries, depth)
            if used is None:
                return None
            names |= used.names
            meets = meets or used.meets
    return Coerced(frozenset(names), meets)


def _use(
    node: ast.expr,
    parents: dict[ast.AST, ast.AST],
    bound: frozenset[str],
    host: HostCode,
    libraries: frozenset[str],
    depth: int,
) -> Coerced | None:
    """One use of a name."""
    while (item := _same_use(node, parents[node])) is not None:
        node = item
    match parents[node]:
        case ast.BinOp(op=op) if isinstance(op, _ARITHMETIC) and meets_result(node, parents, bound):
            return _MEETS
        case ast.Compare(left=left, comparators=others):
            other = [each for each in (left, *others) if each is not node]
            return _MEETS if any(_is_computed(each, bound) for each in other) else None
        case ast.Call() as call:
            return _argument(node, call, bound, host, libraries, depth)
        case ast.keyword() as keyword if isinstance(whole := parents[keyword], ast.Call):
            return _argument(node, whole, bound, host, libraries, depth)
        case ast.Attribute(attr="shape" | "ndim"):
            return _USED
        case ast.List() | ast.Tuple() as display if isinstance(around := parents[display], ast.Call):
            known = host.called(around) is not None
            return None if known else _argument(display, around, bound, host, libraries, depth)
        case _:
            return None


def _same_use(node: ast.expr, parent: ast.AST) -> ast.expr | None:
    """The parts of a node that are used in the same way: operands, and `1 - done`, which gives the same before and
    after the conversion of the flag.
    """
    match parent:
        case ast.Subscript(value=value, slice=ast.Slice() | ast.Tuple()) if value is node:
            return parent  # not an item of a list, which is no array
        case ast.BinOp(left=ast.Constant(value=1 | 1.0), op=ast.Sub()):
            return parent
        case _:
            return None


_USED: Final = Coerced(frozenset(), meets=False)
_MEETS: Final = Coerced(frozenset(), meets=True)


def _argument(
    node: ast.expr, call: ast.Call, bound: frozenset[str], host: HostCode, libraries: frozenset[str], depth: int
) -> Coerced | None:
    """The use of an argument by a call."""
    found = host.called(call)
    if found is not None:
        function, given = found
        if depth >= _MAX_DEPTH:
            return None
        tensors = frozenset(name for name, value in given.items() if _is_computed(value, bound))
        names, meets = set[str](), False
        for name, value in given.items():
            if value is node:
                inside = _coerced(function.body, name, tensors, host.inside(function), libraries, depth + 1)
                if inside is None:
                    return None
                names |= inside.names
                meets = meets or inside.meets
        return Coerced(frozenset(names), meets)
    path = list(_path(call.func))
    if not path or (path[0] not in libraries and len(path) == 1 and hasattr(builtins, path[0])):
        return None
    if path[0] in libraries:
        # TensorFlow functions that accept any value and give it a dtype; Keras's losses cast the labels to the dtype
        # of the scores
        return _USED if path[-1] == "cast" or "losses" in path[:-1] or path[0] == "losses" else None
    return _USED


def _path(node: ast.expr) -> Iterator[str]:
    """The names of `a.b.c`, also for a call's function; empty for other expressions."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=value, attr=attr):
            before = list(_path(value))
            yield from (*before, attr) if before else ()
        case ast.Call(func=func):
            yield from _path(func)
        case _:
            return


def _is_computed(node: ast.expr, bound: frozenset[str]) -> bool:
    """Whether the run computes it, or it is the result of a call, or arithmetic on one."""
    match node:
        case ast.Name(id=name):
            return name in bound
        case ast.BinOp(left=left, right=right):
            return _is_computed(left, bound) or _is_computed(right, bound)
        case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
            return _is_computed(inner, bound)
        case ast.Call(func=func):
            return not (isinstance(func, ast.Name) and hasattr(builtins, func.id))
        case _:
            return False


def modules_of(tree: ast.Module) -> frozenset[str]:
    """The names that a module imports."""
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )
