"""Host expressions of a run that the call of its function evaluates, and gives as arguments.

Computes: which reads of attributes, and which calls that give another value each time, may come before the run instead of in it.
Needs: a candidate, a line and what is said about it. Gives: `Hoisted`, `attribute_behind`, `call_behind`, `with_arguments`.
Ignores: whether a graph keeps the meaning with the argument; the function that gets it is judged again.

    with tf.GradientTape() as tape:                        def train_step(self, x, action, noise):
        loss = self.loss(x + np.random.normal(size=n),         with tf.GradientTape() as tape:
                         self.action)              ->              loss = self.loss(x + noise, action)

                                                           self.train_step(x, self.action, np.random.normal(size=n))

A graph keeps the value that `self.action` had when it was traced; as an argument it is that of each call. Nothing in the run may change
what is read: no statement of it writes an attribute of that name, or binds a name that the expression needs. What the run calls might;
then the function writes Python state, and is no graph at all. Calls that draw numbers stay in their order, since they are arguments in it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from terra_refactor.refactor.regions.candidates import Candidate
from terra_refactor.syntax.name_flow import Block, usage_of

_PLAIN: Final = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp, ast.keyword),
    *(ast.expr_context, ast.operator, ast.unaryop),
)
"""What the arguments of a hoisted call may be made of."""
_LATER: Final = (
    *(ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp, ast.JoinedStr),
    *(ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom),
)
"""What is in these need not be evaluated, or not once, or has no place in the text."""


@dataclass(frozen=True, eq=False)
class Hoisted:
    """An expression that became an argument.

    Attributes:
        name: of the parameter.
        text: what the call gives for it.
        nodes: the places of the run where the parameter stands now.
    """

    name: str
    text: str
    nodes: tuple[ast.expr, ...]


def attribute_behind(candidate: Candidate, line: int, message: str, others: Sequence[Hoisted]) -> Hoisted | None:
    """The attribute on a line that a message names, if all reads of it in the run may be one before the run; none of `others`."""
    for node in _evaluated_once(candidate):
        if not isinstance(node, ast.Attribute) or not node.lineno <= line <= (node.end_lineno or line):
            continue
        text = ast.unparse(node)
        if (f"`{text}`" not in message and f"`{text}[]`" not in message) or any(each.text == text for each in others):
            continue
        nodes = tuple(
            each
            for statement in candidate.statements
            for each in ast.walk(statement)
            if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load) and ast.unparse(each) == text
        )
        inside_later = {
            id(inner)
            for statement in candidate.statements
            for each in ast.walk(statement)
            if isinstance(each, _LATER)
            for inner in ast.walk(each)
        }
        root = _root(node)
        if (
            root is None
            or root.id in usage_of(candidate.statements).binds
            or node.attr in _written(candidate.statements)
            or any(id(each) in inside_later or not _on_one_line(each) for each in nodes)
        ):
            return None
        return Hoisted(_free_name(candidate, node.attr.strip("_") or "value", others), text, nodes)
    return None


def call_behind(candidate: Candidate, line: int, message: str, others: Sequence[Hoisted]) -> Hoisted | None:
    """The call on a line that a message names, if it may come before the run; none of `others`."""
    known = {id(node) for each in others for node in each.nodes}
    binds, written = usage_of(candidate.statements).binds, _written(candidate.statements)
    around = {
        id(node.func.value): node
        for node in _evaluated_once(candidate)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    for node in _evaluated_once(candidate):
        if not isinstance(node, ast.Call) or not node.lineno <= line <= (node.end_lineno or line):
            continue
        if f"`{ast.unparse(node.func)}(...)`" not in message or _root(node.func) is None:
            continue
        inner: list[ast.AST] = list(ast.walk(node.func))
        whole: ast.Call | None = node
        outer = node
        while whole is not None:
            outer = whole
            inner += [each for part in (*whole.args, *whole.keywords) for each in ast.walk(part)]
            whole = around.get(id(whole))  # a method of what it gives: `.astype(...)`
        names = {each.id for each in inner if isinstance(each, ast.Name)}
        attributes = {each.attr for each in inner if isinstance(each, ast.Attribute)}
        if (
            all(isinstance(each, _PLAIN) for each in inner)
            and not names & binds.keys()
            and not attributes & written
            and _on_one_line(outer)
            and id(outer) not in known
        ):
            return Hoisted(_free_name(candidate, "drawn", others), ast.unparse(outer), (outer,))
    return None


def with_arguments(statements: Block, hoisted: Sequence[Hoisted]) -> Block:
    """The statements with the parameters in the place of the expressions. Those that have none are the same objects."""
    names = {id(node): each.name for each in hoisted for node in each.nodes}
    if not names:
        return statements
    found: list[ast.stmt] = []
    for statement in statements:
        if any(id(node) in names for node in ast.walk(statement)):
            # a copy knows the nodes that it is made of by what they are
            places = {id(node) for node in ast.walk(statement)} & names.keys()
            memo: dict[int, object] = {
                place: ast.copy_location(ast.Name(names[place], ast.Load()), node)
                for node in ast.walk(statement)
                if (place := id(node)) in places and isinstance(node, ast.expr)
            }
            found.append(copy.deepcopy(statement, memo))
        else:
            found.append(statement)
    return found


def _evaluated_once(candidate: Candidate) -> Iterator[ast.expr]:
    """The expressions that a pass through the run evaluates once, in the order of the text."""
    for statement in candidate.statements:
        yield from _of_statement(statement, is_anchor=statement.lineno == candidate.anchor.lineno)


def _of_statement(statement: ast.stmt, *, is_anchor: bool) -> Iterator[ast.expr]:
    match statement:
        case ast.With(body=body) if is_anchor:
            for inner in body:
                yield from _of_statement(inner, is_anchor=False)
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.Expr(value=value):
            yield from _of_expression(value)
        case ast.AnnAssign(value=ast.expr() as value):
            yield from _of_expression(value)
        case _:
            return


def _of_expression(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, _LATER):
        return
    if isinstance(node, ast.expr):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _of_expression(child)


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _written(statements: Block) -> frozenset[str]:
    """The attributes that some statements set or delete, of whatever object."""
    return frozenset(
        node.attr
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    )


def _on_one_line(node: ast.expr) -> bool:
    return node.lineno == node.end_lineno


def _free_name(candidate: Candidate, base: str, others: Sequence[Hoisted]) -> str:
    """A name that means nothing yet where the run stands, nor in its module."""
    used = {each.name for each in others} | candidate.scope.flow.names | usage_of(candidate.statements).needs.keys()
    for outer in (*candidate.scope.outer, candidate.scope.node):
        used |= usage_of(outer.body).binds.keys()
    number, name = 1, base
    while name in used:
        number += 1
        name = f"{base}_{number}"
    return name
