"""Lists of a network's variables that a run gets from outside, and that its function reads from the network instead.

Computes: the names that one assignment before the run binds to `model.trainable_variables`, or to sums of such lists. Needs: a candidate
and the inputs of its function. Gives: `Reread`, `rereadable`. Ignores: whether code elsewhere changes which variables are trained; that is
an assumption.

    variables = model.trainable_variables                 variables = model.trainable_variables
    for x in data:                                        for x in data:
        with tf.GradientTape() as tape:        ->             loss = train_step(model, x)
            loss = tf.reduce_mean(model(x))
        g = tape.gradient(loss, variables)                def train_step(model, x):
        ...                                                   ...
                                                              g = tape.gradient(loss, model.trainable_variables)

In a graph, Keras 3 gives tensors for variables that are arguments, and no optimizer changes these.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from terra_refactor.refactor.regions.candidates import Candidate
from terra_refactor.syntax.name_flow import Statements, declared_names, statements_of_scope, usage_of

_TRAINED: Final = frozenset({"trainable_variables", "trainable_weights"})
_OTHER_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True, eq=False)
class Reread:
    """A name that the function does not receive.

    Attributes:
        name: of the list.
        text: the expression that the function reads in its place.
        roots: the names of the networks, or of the method's object.
        nodes: the places of the run that the expression replaces.
    """

    name: str
    text: str
    roots: frozenset[str]
    nodes: tuple[ast.Name, ...]


def rereadable(candidate: Candidate, inputs: frozenset[str], tree: ast.Module) -> tuple[Reread, ...]:
    """The inputs of a run that are lists of variables of networks which stay the same while the loops around the run are executed."""
    found = []
    for name in sorted(inputs):
        value = _only_value(candidate, name)
        if value is None or not _are_variables(value):
            continue
        roots = frozenset(node.id for node in ast.walk(value) if isinstance(node, ast.Name))
        nodes = tuple(_reads(candidate.statements, name))
        if (
            name in usage_of(candidate.statements).binds
            or any(_may_be_rebound(candidate, root) for root in roots)
            or not _are_constant(value, candidate, tree)
            or _is_trained_otherwise(candidate)
            or len(nodes) != sum(_names(each, name) for each in candidate.statements)
            or any(node.lineno != node.end_lineno for node in nodes)
        ):
            continue
        text = ast.unparse(value)
        found.append(Reread(name, f"({text})" if isinstance(value, ast.BinOp) else text, roots, nodes))
    return tuple(found)


def _only_value(candidate: Candidate, name: str) -> ast.expr | None:
    """The value of the only assignment of a scope that binds a name; None if something else does, or if it is a parameter."""
    if name in candidate.scope.flow.parameters or _binding_places(candidate, name) != 1:
        return None
    for statement in statements_of_scope(candidate.scope.node.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=bound)], value=value) if bound == name:
                return value if statement.lineno < candidate.statements[0].lineno else None
            case _:
                pass
    return None


def _binding_places(candidate: Candidate, name: str) -> int:
    """The number of places of the scope that bind, or delete, a name; functions inside of it that do so count as many."""
    count = 0
    pending: list[ast.AST] = list(candidate.scope.node.body)
    while pending:
        node = pending.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                count += getattr(node, "name", "") == name
                count += 2 * (name in declared_names([node]))
                continue
            case ast.Name(id=bound, ctx=ast.Store() | ast.Del()):
                count += bound == name
            case ast.alias(name=imported, asname=bound):
                count += (bound or imported.partition(".")[0]) == name
            case (
                ast.ExceptHandler(name=bound)
                | ast.MatchAs(name=bound)
                | ast.MatchStar(name=bound)
                | ast.MatchMapping(rest=bound)
            ):
                count += bound == name
            case _:
                pass
        pending.extend(ast.iter_child_nodes(node))
    return count


def _are_variables(value: ast.expr) -> bool:
    match value:
        case ast.Attribute(value=ast.Name() | ast.Attribute(value=ast.Name()), attr=attr):
            return attr in _TRAINED
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _are_variables(left) and _are_variables(right)
        case _:
            return False


def _may_be_rebound(candidate: Candidate, root: str) -> bool:
    """Whether a network's name may mean another one in the run than where its variables were read."""
    flow = candidate.scope.flow
    return root not in flow.names or _binding_places(candidate, root) > (0 if root in flow.parameters else 1)


def _are_constant(value: ast.expr, candidate: Candidate, tree: ast.Module) -> bool:
    """Whether networks that are attributes of the method's object are only set by constructors."""
    attributes = {
        node.value.attr
        for node in ast.walk(value)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute)
    }
    if not attributes:
        return True
    made = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name == "__init__"
        for node in ast.walk(function)
    }
    return candidate.scope.is_method and all(
        id(node) in made
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in attributes and not isinstance(node.ctx, ast.Load)
    )


def _is_trained_otherwise(candidate: Candidate) -> bool:
    """Whether the loops around the run set which variables of a network are trained."""
    around: list[ast.AST] = list(candidate.statements)
    if candidate.loops:
        block, at = candidate.path[candidate.loops[0]]
        around.append(block[at])
    return any(
        isinstance(node, ast.Attribute) and node.attr == "trainable" and not isinstance(node.ctx, ast.Load)
        for part in around
        for node in ast.walk(part)
    )


def _reads(statements: Statements, name: str) -> Iterator[ast.Name]:
    """The reads of a name that the run itself evaluates."""
    pending: list[ast.AST] = list(statements)
    while pending:
        node = pending.pop()
        if isinstance(node, _OTHER_SCOPES):
            continue
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            yield node
        pending.extend(ast.iter_child_nodes(node))


def _names(statement: ast.stmt, name: str) -> int:
    return sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement))
