"""Moving windows over an array: `xs[i : i + 24]` in a loop over a range, or with `i = (step * 24) % 240`.

Computes: the size of a slice whose bounds are unknown but differ by a known number, and which ends within the array
in every iteration. Needs: the IR of the slice; the largest value of the loop's variable, or of a remainder. Gives:
`moving_window`, `largest_remainder`, and the replacement for the rule for indices.

Ignores: bounds that are not `name + constant`; axes except the first.
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.analysis.engine import Site
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import NONE, Constant, Scalar, SliceValue, TensorValue, TupleValue, Value
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId


@dataclass(frozen=True, slots=True)
class Window:
    """A slice of `size` elements whose exclusive end is at most `end`."""

    size: int
    end: int

    def fits(self, array: TensorValue) -> bool:
        """Whether no iteration reaches the end of the first axis."""
        shape = array.type.shape
        return bool(shape) and shape is not None and isinstance(shape[0], int) and shape[0] >= self.end


def moving_window(site: Site, index: OpId) -> Window | None:
    """The window of an index (or of the first element of a tuple); None if it is not such a slice."""
    op = site.operation(index)
    if isinstance(op, ops.BuildContainer) and op.kind is ops.ContainerKind.TUPLE and op.elements:
        op = site.operation(op.elements[0].value)
    if not isinstance(op, ops.BuildSlice) or op.lower is None or op.upper is None or op.step is not None:
        return None
    lower, upper = _offset(site, op.lower), _offset(site, op.upper)
    if lower is None or upper is None or lower[0] != upper[0] or not 0 <= lower[1] < upper[1]:
        return None
    _, first, limit = lower
    _, last, _ = upper
    return Window(last - first, limit + last)


def _offset(site: Site, number: OpId, depth: int = 0) -> tuple[str, int, int] | None:
    """`name + constant`: the name, the constant, and the largest value of the variable."""
    frame = site.frame
    op = site.operation(number)
    match op:
        case ops.LoadName(name=name):
            value = frame.value(number)
            if isinstance(value, Scalar) and value.limit is not None and not value.symbolic:
                return name, 0, value.limit
            return None
        case ops.Binary(operator="+", left=left, right=right) if depth < 4:
            for variable, constant in ((left, right), (right, left)):
                known = frame.value(constant)
                if isinstance(known, Constant) and type(known.value) is int:
                    found = _offset(site, variable, depth + 1)
                    return None if found is None else (found[0], found[1] + known.value, found[2])
            return None
        case _:
            return None


def largest_remainder(site: Site, op: ops.Binary) -> int | None:
    """The largest value of `number % constant`; for a multiple (`(step * 32) % 256`) it is a multiple, too. None if unknown."""
    frame = site.frame
    divisor = frame.value(op.right)
    if not isinstance(divisor, Constant) or type(divisor.value) is not int or divisor.value <= 0:
        return None
    dividend = site.operation(op.left)
    if isinstance(dividend, ops.Binary) and dividend.operator == "*":
        for side in (dividend.left, dividend.right):
            factor = frame.value(side)
            if (
                isinstance(factor, Constant)
                and type(factor.value) is int
                and factor.value > 0
                and divisor.value % factor.value == 0
            ):
                return divisor.value - factor.value
    return divisor.value - 1


def inside(array: TensorValue) -> TensorValue:
    """The array without its content, because the position of the window is unknown."""
    return TensorValue(TensorType(array.type.dtype, array.type.shape), array.kind)


def with_window(index: Value, window: Window) -> Value:
    """The index with a window of the same size at the end of the range that the loop covers."""
    shown = SliceValue(Constant(window.end - window.size), Constant(window.end), NONE)
    if isinstance(index, TupleValue):
        return TupleValue((shown, *index.elements[1:]))
    return shown
