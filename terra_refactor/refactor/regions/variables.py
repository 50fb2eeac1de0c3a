"""The names of a run that stand for variables, networks and optimizers, judged by its text.

Needs: statements. Gives: `with_variables`, `gives_networks`, `made_inside`, `variables_among`, `updates_variables`.
Ignores: results of calls.
"""

from __future__ import annotations

import ast
from typing import Final

from terra_refactor.syntax.name_flow import Statements, usage_of

WEIGHTS: Final = frozenset({"trainable_variables", "trainable_weights", "variables", "weights"})
"""Attributes of networks that are lists of variables."""
UPDATES: Final = frozenset({"apply_gradients", "apply", "minimize", "assign", "assign_sub", "assign_add"})
"""Methods that change variables."""


def with_variables(block: Statements) -> frozenset[str]:
    """The names that some statements use as networks or optimizers: the first use of each in a graph creates variables."""
    return frozenset(
        node.value.id
        for statement in block
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.attr in WEIGHTS | {"apply_gradients", "minimize"}
    )


def gives_networks(loop: ast.stmt) -> bool:
    """Whether a loop trains another network in each iteration: `for net, other in zip([self.g, self.h], [self.d, self.e])`.

    A step for one iteration would create variables in its second trace; a step around the loop has all networks.
    """
    if not isinstance(loop, ast.For):
        return False
    targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    called = {
        node.func.id
        for statement in loop.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return bool(targets & (with_variables(loop.body) | called))


def made_inside(block: Statements) -> frozenset[int]:
    """The statements, by identity, that get such objects from calls; where a function of the program creates them is
    unknown here.
    """
    used = with_variables(block)
    return frozenset(
        id(statement)
        for statement in block
        if isinstance(statement, ast.Assign)
        and any(isinstance(node, ast.Call) for node in ast.walk(statement.value))
        and used & usage_of([statement]).binds.keys()
    )


def variables_among(block: Statements) -> frozenset[str]:
    """The names that some statements bind to variables of models, or to lists of them: `weights = model.trainable_variables`."""
    names: set[str] = set()
    nodes = [node for statement in block for node in ast.walk(statement)]
    for _ in range(2):  # a later assignment may bind a name in the previous iteration
        for node in nodes:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.For(target=ast.Name(id=name), iter=value)
                ):
                    if _are_variables(value, names):
                        names.add(name)
                case _:
                    continue
    return frozenset(names)


def _are_variables(value: ast.expr, names: set[str]) -> bool:
    match value:
        case ast.Attribute(attr=name):
            return name in WEIGHTS
        case ast.Name(id=name):
            return name in names
        case ast.BinOp(left=left, right=right):
            return _are_variables(left, names) or _are_variables(right, names)
        case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted" | "reversed"), args=[given]):
            return _are_variables(given, names)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return any(_are_variables(part, names) for part in parts)
        case ast.Starred(value=inner) | ast.Subscript(value=inner):
            return _are_variables(inner, names)
        case ast.ListComp(elt=ast.Name(), generators=[each]):
            return _are_variables(each.iter, names)
        case _:
            return False


def updates_variables(block: Statements) -> bool:
    """Whether some statement calls a method that changes variables."""
    return any(map(is_update, block))


def is_update(statement: ast.stmt) -> bool:
    """Whether a statement calls a method that changes variables."""
    return any(isinstance(node, ast.Attribute) and node.attr in UPDATES for node in ast.walk(statement))
