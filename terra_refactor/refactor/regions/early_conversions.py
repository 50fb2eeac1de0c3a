"""Host values that a tape converts to tensors: the call of the extracted function converts them instead.

Computes: the conversions of some arguments of a run, if it uses these arguments in no other way. Needs: a candidate, and the names of
the arguments. Gives: `early_conversions`, `without_inner`. Ignores: whether a graph keeps the meaning with the tensors; the function is
judged again.

    with tf.GradientTape() as tape:                                 def train_step(self, states_value):
        states = tf.convert_to_tensor(states, dtype=tf.float32) ->      with tf.GradientTape() as tape:
        loss = self.loss(states)                                            states = states_value
                                                                            loss = self.loss(states)

                                                                    self.train_step(tf.convert_to_tensor(states, dtype=tf.float32))

A list of numbers would be traced for each of its values, and an array of another dtype is not converted in a graph. No gradient flows to
what host code has made before the tape: a variable or a network is used in other ways, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from terra_refactor.refactor.regions.candidates import Candidate
from terra_refactor.refactor.regions.hoisting import Hoisted, evaluated_in, free_name, on_one_line
from terra_refactor.syntax.name_flow import usage_of

_CONVERTS: Final = frozenset({"convert_to_tensor", "constant", "cast"})
_ARRAYS: Final = frozenset({"array", "asarray", "stack", "vstack", "hstack", "concatenate"})
_PLAIN: Final = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Tuple, ast.List, ast.keyword, ast.expr_context),
    *(ast.UnaryOp, ast.unaryop),
)


def early_conversions(
    candidate: Candidate, names: frozenset[str], others: Sequence[Hoisted], numpy: str | None
) -> tuple[Hoisted, ...]:
    """The conversions of the named arguments that the call can make; none for a name that the run also uses otherwise."""
    known = {id(inner) for each in others for node in each.nodes for inner in ast.walk(node)}
    tensorflow = candidate.scope.host_code.tensorflow
    conversions: list[tuple[ast.Call, frozenset[str]]] = []
    left = set(names)
    for statement, bound in _in_order(candidate):
        free = names - bound
        inside: set[int] = set()
        for node in evaluated_in(statement):
            if id(node) in inside or not isinstance(node, ast.Call) or not on_one_line(node) or id(node) in known:
                continue
            used = _converted(node, tensorflow, numpy)
            if used is not None and used and used <= free:
                conversions.append((node, used))
                inside |= {id(each) for each in ast.walk(node)}
        left -= {
            each.id
            for part in _own_parts(candidate, statement)
            for each in ast.walk(part)
            if isinstance(each, ast.Name)
            and each.id in free
            and isinstance(each.ctx, ast.Load)
            and id(each) not in inside
        }
    places: dict[str, list[ast.expr]] = {}
    for node, used in conversions:
        if used <= left:
            places.setdefault(ast.unparse(node), []).append(node)
    found: list[Hoisted] = []
    for text, nodes in places.items():
        first = next(each.id for each in ast.walk(nodes[0]) if isinstance(each, ast.Name) and each.id in left)
        found.append(Hoisted(free_name(candidate, f"{first}_value", [*others, *found]), text, tuple(nodes)))
    return tuple(found)


def without_inner(hoisted: Sequence[Hoisted]) -> list[Hoisted]:
    """The expressions without those that are part of another one."""
    whole = {
        id(inner): each for each in hoisted for node in each.nodes for inner in ast.walk(node) if inner is not node
    }
    return [each for each in hoisted if not all(id(node) in whole for node in each.nodes)]


def _converted(call: ast.Call, tensorflow: frozenset[str], numpy: str | None) -> frozenset[str] | None:
    """The variables that a conversion reads, if it does nothing else than making a tensor of an array or a list."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=module), attr=attr) if module in tensorflow and attr in _CONVERTS:
            pass
        case _:
            return None
    found: set[str] = set()
    for node in ast.walk(call):
        if not isinstance(node, _PLAIN):
            return None
        if isinstance(node, ast.Call) and node is not call:
            match node.func:
                case ast.Attribute(value=ast.Name(id=module), attr=attr) if module == numpy and attr in _ARRAYS:
                    continue
                case _:
                    return None
        if isinstance(node, ast.Attribute) and not (
            isinstance(node.value, ast.Name) and node.value.id in (*tensorflow, numpy)
        ):
            return None
        if isinstance(node, ast.Name) and node.id not in tensorflow and node.id != numpy:
            found.add(node.id)
    return frozenset(found)


def _in_order(candidate: Candidate) -> Iterator[tuple[ast.stmt, frozenset[str]]]:
    """The statements of the run, with those of the tape's block in its place, each with the names that were bound before it."""
    bound: set[str] = set()
    for statement in candidate.statements:
        yield statement, frozenset(bound)
        if isinstance(statement, ast.With) and statement.lineno == candidate.anchor.lineno:
            for inner in statement.body:
                yield inner, frozenset(bound)
                bound |= usage_of([inner]).binds.keys()
        bound |= usage_of([statement]).binds.keys()


def _own_parts(candidate: Candidate, statement: ast.stmt) -> Sequence[ast.AST]:
    """The statement, or the head of the tape's block, whose statements come on their own."""
    if isinstance(statement, ast.With) and statement.lineno == candidate.anchor.lineno:
        return statement.items
    return [statement]
