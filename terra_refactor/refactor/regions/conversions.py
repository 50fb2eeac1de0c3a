"""Arrays that the call of an extracted function converts, as eager operations do inside of the run.

Computes: whether a run uses an array only as an operand, so that the array can have the tensor's dtype before the call. Gives:
`CONVERTED`, `used_as_operand`. Ignores: which dtype fits; the function with the converted argument is judged again.

    target = reward + gamma * value * (1 - done)    ->    train_step(..., done.astype("float32"))

Eagerly `value * done` makes a float32 of the integers in `done`; a graph gets them as an int64 tensor, and raises.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from terra_refactor.syntax.name_flow import Block, usage_of

CONVERTED: Final = '{}.astype("float32")'
"""How an array is given to the call."""
_EXACT: Final = (ast.Add, ast.Sub, ast.Mult, ast.USub)
"""Operators that give the same of small whole numbers before and after their conversion."""


def used_as_operand(statements: Block, name: str, lines: frozenset[int], *, whole: bool) -> bool:
    """Whether each use of an array is an operand of an expression that ends on one of some lines, where it meets a tensor.

    Of an array of `whole` numbers NumPy may compute first (`1 - done`); others must meet the tensor themselves.
    """
    found = False
    bound = frozenset(usage_of(statements).binds)
    for statement in statements:
        parents = dict(_parents(statement))
        for node in ast.walk(statement):
            if not isinstance(node, ast.Name) or node.id != name:
                continue
            top = _expression(node, parents)
            if top is node or not (whole or _meets_result(node, parents[node], bound)):
                return False
            if not any(top.lineno <= line <= (top.end_lineno or top.lineno) for line in lines):
                return False
            found = True
    return found


def _parents(statement: ast.stmt) -> Iterator[tuple[ast.AST, ast.AST]]:
    for node in ast.walk(statement):
        for child in ast.iter_child_nodes(node):
            yield child, node


def _expression(node: ast.expr, parents: dict[ast.AST, ast.AST]) -> ast.expr:
    """The arithmetic expression that a name is an operand of, at any depth; the name where it is none."""
    while isinstance(parent := parents.get(node), ast.BinOp | ast.UnaryOp) and isinstance(parent.op, _EXACT):
        node = parent
    return node


def _meets_result(node: ast.expr, parent: ast.AST, bound: frozenset[str]) -> bool:
    """Whether the other operand is computed in the run: a call's result, or made of one."""
    if not isinstance(parent, ast.BinOp):
        return False
    other = parent.right if parent.left is node else parent.left
    return any(
        isinstance(each, ast.Call) or (isinstance(each, ast.Name) and each.id in bound) for each in ast.walk(other)
    )
