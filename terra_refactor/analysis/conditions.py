"""Conditions that depend on the arguments of a function.

Computes: whether a test depends on the parameters of its function (or of an enclosing function). Needs: the
operations of the function. Gives: `speaks_of_parameters`. If the outcome of such a test is unknown, its branch may be
intended for arguments other than those of a call (`if x.ndim == 3`, `if self.uses_mask`), so a failure in it is not
definite. A flag of the program or a loop counter does not depend on arguments.
"""

from __future__ import annotations

from typing import Final, Protocol

from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Op

_MAX_DEPTH: Final = 8


class Operations(Protocol):
    """Lookup of operations by number."""

    def op(self, function: Function, number: OpId) -> Op | None: ...

    def stored_in(self, function: Function, name: str) -> tuple[OpId, ...]:
        """All bindings of a variable in the function."""
        ...


def speaks_of_parameters(operations: Operations, function: Function, test: OpId) -> bool:
    """Whether a condition is computed from a parameter, through operators, attributes, items, calls and local variables."""
    return _speaks(operations, function, test, 0)


def _speaks(operations: Operations, function: Function, number: OpId, depth: int) -> bool:
    op = operations.op(function, number)
    if op is None:
        return False
    if depth > _MAX_DEPTH:
        return True
    inner: tuple[OpId, ...]
    match op:
        case ops.LoadName(scope=ops.Scope.FREE):
            return True
        case ops.LoadName(name=name, scope=ops.Scope.LOCAL | ops.Scope.CELL):
            if any(parameter.name == name for parameter in function.parameters):
                return True
            inner = operations.stored_in(function, name)
        case ops.LoadAttribute(object=owner) | ops.LoadItem(object=owner):
            inner = (owner,)
        case ops.Call():
            inner = (op.function, *(argument.value for argument in op.arguments))
        case ops.Binary(left=left, right=right) | ops.Compare(left=left, right=right):
            inner = (left, right)
        case ops.ShortCircuit(left=left, value=value):
            inner = (left, value)
        case ops.Unary(operand=operand):
            inner = (operand,)
        case ops.UnpackElement(source=source):
            inner = (source,)
        case ops.BuildContainer():
            inner = tuple(element.value for element in op.elements)
        case _:
            inner = ()
    return any(_speaks(operations, function, part, depth + 1) for part in inner)
