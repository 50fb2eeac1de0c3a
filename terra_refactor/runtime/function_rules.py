"""The rules of observe.py, applied to the body of a graph function that a call runs.

Computes: whether every operation in the function, and in the functions it calls, may be deferred.
Needs: the context's function library. Gives: `function_problem`.
Ignores: values: a function's own shape operands must come from constants or shapes inside it.
"""

from __future__ import annotations

from typing import Any

from terra_refactor.runtime import op_rules
from terra_refactor.runtime.tf_internals import context, op_def_registry

_CALLS = frozenset(
    [
        "PartitionedCall",
        "StatefulPartitionedCall",
        "While",
        "StatelessWhile",
        "If",
        "StatelessIf",
        "Case",
        "StatelessCase",
    ]
)
_PLUMBING = frozenset(["Placeholder", "PlaceholderWithDefault", "NoOp", "Identity", "IdentityN", "_Arg", "_Retval"])
_FLOATING = frozenset((1, 2, 8, 14, 18, 19))  # float, double, complex64, bfloat16, complex128, half

_answers: dict[str, tuple[str | None, bool]] = {}


def function_problem(name: str) -> tuple[str | None, bool]:
    """The reason why a call of the function may not be deferred, or None; and whether it draws random numbers."""
    if name not in _answers:
        _answers[name] = (None, False)  # a recursive function is judged by its other operations
        _answers[name] = _examine(name)
    return _answers[name]


def _examine(name: str) -> tuple[str | None, bool]:
    try:
        definition = context.context().get_function_def(name)
    except Exception as error:
        return f"the function {name} cannot be inspected ({type(error).__name__})", False
    fixed: set[str] = set()
    for node in definition.node_def:
        data = [operand for operand in node.input if not operand.startswith("^")]
        constant = node.op == "Const" or node.op in op_rules.SHAPE_READING_OPS
        if constant or (data and all(operand.split(":")[0] in fixed for operand in data)):
            fixed.add(node.name)
    for node in definition.node_def:
        problem, random = _node_problem(node, fixed)
        if problem is not None:
            return problem, random
    return None, False


def _node_problem(node: Any, fixed: set[str]) -> tuple[str | None, bool]:
    op = node.op
    if op in op_rules.STATEFUL_RANDOM_OPS:
        return f"{op} keeps state outside variables", True
    if op in _CALLS:
        for attribute in node.attr.values():
            names = [attribute.func.name] if attribute.func.name else [f.name for f in attribute.list.func]
            for called in names:
                problem, random = function_problem(called)
                if problem is not None:
                    return problem, random
        return None, False
    if op in _PLUMBING:
        return None, False
    registered = op_def_registry.get(op)
    if registered is None:
        return function_problem(op)
    floating = any(node.attr[key].type in _FLOATING for key in ("T", "dtype", "SrcT") if key in node.attr)
    if not op_rules.is_total_op(op, floating) and not op.startswith("TensorList"):
        return f"{op} in a graph function can fail on values or keeps state", False
    data = [operand for operand in node.input if not operand.startswith("^")]
    for position in op_rules.SHAPE_OPERANDS.get(op, ()):
        if position < len(data) and data and data[position].split(":")[0] not in fixed:
            return f"the shape of the result of {op} in a graph function depends on a value", False
    return None, False
