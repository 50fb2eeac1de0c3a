"""Arrays and numbers that the call of an extracted function converts, as eager operations would in the run.

Computes: whether a run uses an array or a number only as an operand, so that it can be converted to the dtype of the
tensors before the call. Gives: `CONVERTED`, `Meetings`, `used_as_operand`, `number_as_operand`, `number_as_tensor`, `numpy_name`,
`meets_result`, `results_of`. Ignores: which dtype matches; the function with the converted argument is judged again.

    target = reward + gamma * value * (1 - done)    ->    train_step(..., done.astype("float32"))

Eagerly `value * done` converts the integers in `done` to float32; a graph gets them as an int64 tensor, and raises.

    target = reward + gamma * value * (1 - done)    ->    train_step(..., np.float32(reward), np.float32(done))

If `reward` is a different Python number in each step, each one would be traced; NumPy numbers are tensors in the
graph.

    noise = tf.clip_by_value(drawn, -0.5, 0.5)    ->    train_step(..., np.float32(drawn))

A TensorFlow function converts a Python float to a float32 tensor if its other arguments are constants.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeGuard

from terra_refactor.refactor.regions.host_code import HostCode
from terra_refactor.syntax.name_flow import Statements, usage_of
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.spec import Trait

CONVERTED: Final = '{}.astype("float32")'
"""The spelling of an array as an argument of the call."""
_MAX_DEPTH: Final = 4
_PYTHON: Final = frozenset({"abs", "float", "int", "len", "max", "min", "pow", "round", "sum"})
"""Functions that return Python numbers for Python numbers."""
_EXACT: Final = (ast.Add, ast.Sub, ast.Mult, ast.USub)
"""Operators whose result for small whole numbers does not depend on whether they are converted before or after."""


def used_as_operand(
    statements: Statements,
    name: str,
    tensors: frozenset[str],
    lines: frozenset[int],
    returned: frozenset[str],
    *,
    whole: bool,
) -> bool:
    """Whether each use of an array is an operand of an expression that ends on one of some lines, where it is combined with a tensor.

    NumPy may compute with an array of `whole` numbers first (`2 * done + 1`); others must be combined with the tensor
    directly, or as `1 - done`.
    """
    found = False
    names = _same(statements, name)
    bound = results_of(statements, tensors) - names
    if names & returned:
        return False
    for statement in statements:
        parents = dict(_parents(statement))
        for node in ast.walk(statement):
            if not _reads(node, names, parents):
                continue
            top = _expression(node, parents)
            meets = meets_result(node, parents, bound) or (_is_negation(parents[node]) and _has_result(top, bound))
            if top is node or not (whole or meets):
                return False
            if not any(top.lineno <= line <= (top.end_lineno or top.lineno) for line in lines):
                return False
            found = True
    return found


@dataclass(frozen=True, slots=True)
class Meetings:
    """Where a decision says that an argument is combined with a tensor of another dtype.

    Attributes:
        lines: the lines of the file, in the run itself.
        inside: how many places there are in a function of the module, by the line of the run that calls it, the functions on the
            way to it, and its parameter.
    """

    lines: frozenset[int]
    inside: Mapping[tuple[int, tuple[str, ...], str], int]


def number_as_operand(
    statements: Statements,
    name: str,
    tensors: frozenset[str],
    returned: frozenset[str],
    host: HostCode,
    meetings: Meetings | None = None,
) -> bool:
    """Whether each use of a number is an operand in an expression with a tensor that is an argument of the run, or computed by it.

    A function of the module that gets the number may use it in the same way. If meetings are given, each such
    expression is one of them. `1 - done` may be computed first: for a flag it gives the same before and after the
    conversion.
    """
    return _number_as_operand(statements, name, tensors, returned, host, meetings, None, ())


def _number_as_operand(
    statements: Statements,
    name: str,
    tensors: frozenset[str],
    returned: frozenset[str],
    host: HostCode,
    meetings: Meetings | None,
    line: int | None,
    via: tuple[str, ...],
) -> bool:
    """The same for the statements of a function that a line of the run calls, with the functions on the way to it."""
    operands, uses = 0, 0
    names = _same(statements, name)
    bound = results_of(statements, tensors) - names
    if name in usage_of(statements).binds or names & returned or len(via) > _MAX_DEPTH:
        return False
    for statement in statements:
        parents = dict(_parents(statement))
        for node in ast.walk(statement):
            if not _reads(node, names, parents):
                continue
            uses += 1
            parent = parents[node]
            call = parents[parent] if isinstance(parent, ast.keyword) else parent
            if isinstance(call, ast.Call) and (found := host.called(call)) is not None:
                function, given = found
                inner = frozenset(each for each, value in given.items() if _has_result(value, bound))
                if any(
                    not _number_as_operand(
                        *(function.body, each, inner, frozenset[str](), host.inside(function), meetings),
                        *(line or call.lineno, (*via, function.name)),
                    )
                    for each, value in given.items()
                    if value is node
                ):
                    return False
                continue
            top = _expression(node, parents)
            if not (meets_result(node, parents, bound) or (_is_negation(parent) and _has_result(top, bound))):
                return False
            if line is None and meetings is not None:
                last = top.end_lineno or top.lineno
                if not any(top.lineno <= each <= last for each in meetings.lines):
                    return False
            operands += 1
    if line is not None and meetings is not None and operands > meetings.inside.get((line, via, name), 0):
        return False
    return uses > 0


def number_as_tensor(tree: ast.Module, statements: Statements, name: str, returned: frozenset[str]) -> bool:
    """Whether each use of a Python float is the first argument of a TensorFlow function that converts it to a float32
    tensor.

    Another tensor argument, or a dtype, would determine the dtype of the result instead.
    """
    names = _same(statements, name)
    if name in usage_of(statements).binds or names & returned:
        return False
    tensorflow = _names_of_tensorflow(tree)
    uses = 0
    for statement in statements:
        parents = dict(_parents(statement))
        for node in ast.walk(statement):
            if not _reads(node, names, parents):
                continue
            match parents[node]:
                case ast.Call(func=func, args=[first, *others], keywords=keywords) if first is node:
                    beside = [*others, *(each.value for each in keywords)]
                    if not _is_operation(func, tensorflow) or not all(map(_is_constant, beside)):
                        return False
                    uses += 1
                case _:
                    return False
    return uses > 0


def _names_of_tensorflow(tree: ast.Module) -> frozenset[str]:
    """A module's names for TensorFlow; empty if its operations on numbers follow NumPy's rules."""
    if any(
        isinstance(node, ast.Attribute) and node.attr == "experimental_enable_numpy_behavior" for node in ast.walk(tree)
    ):
        return frozenset()
    return frozenset(
        alias.asname or alias.name
        for statement in tree.body
        if isinstance(statement, ast.Import)
        for alias in statement.names
        if alias.name == "tensorflow"
    )


def _is_operation(func: ast.expr, tensorflow: frozenset[str]) -> bool:
    root, _, rest = ast.unparse(func).partition(".")
    if root not in tensorflow or not rest.replace(".", "").replace("_", "").isalnum():
        return False
    entity = registry.lookup(f"tensorflow.{rest}")
    return entity is not None and Trait.TENSOR_OPERATION in entity.traits


def _is_constant(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
        case _:
            return False


def _same(statements: Statements, name: str) -> frozenset[str]:
    """A name and its aliases, to which the statements bind nothing else: `noise = drawn`."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    bound = [node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    found = {name}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=other)], value=ast.Name(id=known)) if known in found:
                if bound.count(other) == 1 and name not in bound:
                    found.add(other)
    return frozenset(found)


def _reads(node: ast.AST, names: frozenset[str], parents: dict[ast.AST, ast.AST]) -> TypeGuard[ast.Name]:
    """Whether a node reads one of the names, except to create another alias."""
    if not isinstance(node, ast.Name) or node.id not in names:
        return False
    match parents.get(node):
        case ast.Assign(targets=[ast.Name(id=other)]):
            return other not in names
        case _:
            return True


def numpy_name(tree: ast.Module) -> str | None:
    """A module's name for NumPy; None if it has none."""
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "numpy":
                    return alias.asname or alias.name
    return None


def _is_negation(parent: ast.AST) -> bool:
    match parent:
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Sub()):
            return True
        case _:
            return False


def _has_result(node: ast.AST, bound: frozenset[str]) -> bool:
    """Whether an expression has an operand that the run computes: the result of a call that does not return a Python
    number, or a name bound to one.
    """
    return any(
        (isinstance(each, ast.Call) and not (isinstance(each.func, ast.Name) and each.func.id in _PYTHON))
        or (isinstance(each, ast.Name) and each.id in bound)
        for each in ast.walk(node)
    )


def results_of(statements: Statements, tensors: frozenset[str]) -> frozenset[str]:
    """Some tensors, and the names that the run binds to computed values, except sums of Python numbers."""
    assigned = [node for each in statements for node in ast.walk(each) if isinstance(node, ast.Assign)]
    found = tensors
    while True:
        more = frozenset(
            name.id
            for node in assigned
            if _has_result(node.value, found)
            for target in node.targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        )
        if more <= found:
            return found
        found |= more


def _parents(statement: ast.stmt) -> Iterator[tuple[ast.AST, ast.AST]]:
    for node in ast.walk(statement):
        for child in ast.iter_child_nodes(node):
            yield child, node


def _expression(node: ast.expr, parents: dict[ast.AST, ast.AST]) -> ast.expr:
    """The arithmetic expression that contains a name as an operand, at any depth; the name itself if there is none."""
    while isinstance(parent := parents.get(node), ast.BinOp | ast.UnaryOp) and isinstance(parent.op, _EXACT):
        node = parent
    return node


def meets_result(node: ast.expr, parents: Mapping[ast.AST, ast.AST], bound: frozenset[str]) -> bool:
    """Whether the other operand is computed by the run: a call's result, or an expression of one.

    Other products may be computed first: a product of rounded factors is as exact as the rounded product, which need
    not hold for a difference.
    """
    while isinstance(parent := parents[node], ast.BinOp | ast.UnaryOp):
        if isinstance(parent, ast.UnaryOp):
            if not isinstance(parent.op, ast.USub):
                return False
            node = parent  # a change of sign is exact
            continue
        other = parent.right if parent.left is node else parent.left
        if _has_result(other, bound):
            return True
        if not isinstance(parent.op, ast.Mult):
            return False
        node = parent
    return False
