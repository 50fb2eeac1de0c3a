"""Moving windows over an array: `xs[i : i + 24]` in a loop over a range, or with `i = (step * 24) % 240`.

Computes: the size of a slice whose bounds are unknown but differ by a known number, and which ends within the array
in every iteration: because its length and the largest value of the variable are known, or because the range ends
before `len(xs) - 24`, whatever the length is. Needs: the IR of the slice and of the range; the largest value of the
loop's variable, or of a remainder. Gives: `moving_window`, `largest_remainder`, `of_window` and `without_first`,
which replace array and index for the rule for indices.

Also parts, `xs[i * size : (i + 1) * size]`. Ignores: bounds that are not linear in one variable; axes except the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.domain.dim import Dim, SymbolicDim, add, definitely_equal, eager, multiply, negate, subtract
from terra_refactor.domain.lattice import dim_of
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    Constant,
    LibraryValue,
    PythonType,
    RangeValue,
    Scalar,
    SliceValue,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model.graph_traits import LEN

_DEEPEST: Final = 6
_ALL: Final = SliceValue(NONE, NONE, NONE)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A number as the source writes it: a variable (or the length of an array) times a factor, plus a number; one part
    may be absent.
    """

    variable: str | None
    number: Dim
    factor: Dim = 1


def moving_window(site: Site, array: OpId, index: OpId) -> Dim:
    """The size of the window that an index (or the first element of a tuple) cuts out of an array; None if it is unknown, or if it may
    be cut off at the end.
    """
    op = site.operation(index)
    if isinstance(op, ops.BuildContainer) and op.kind is ops.ContainerKind.TUPLE and op.elements:
        op = site.operation(op.elements[0].value)
    if not isinstance(op, ops.BuildSlice) or op.lower is None or op.upper is None or op.step is not None:
        return None
    lower, upper = _sum(site, op.lower), _sum(site, op.upper)
    if lower is None or upper is None or lower.variable is None or lower.variable != upper.variable:
        return None
    if not definitely_equal(lower.factor, upper.factor):
        return None
    size = subtract(upper.number, lower.number)
    value = site.frame.value(array)
    if not _is_positive(size) or not isinstance(value, TensorValue):
        return None
    fits = _below_limit(site, op, lower, upper, value) or _below_length(site, array, lower, upper)
    return size if fits else None


def _below_limit(site: Site, op: ops.BuildSlice, lower: _Sum, upper: _Sum, array: TensorValue) -> bool:
    """Whether the largest value of the variable leaves the window inside of an array of known length."""
    assert op.lower is not None
    limit = _limit(site, op.lower, lower.variable)
    length = array.type.shape[0] if array.type.shape else None
    first, last = lower.number, upper.number
    if limit is None or not _is_natural(first):
        return False
    return _is_natural(subtract(length, add(multiply(upper.factor, limit), last)))


def _limit(site: Site, number: OpId, variable: str | None) -> int | None:
    """The largest value of the variable in a sum: that of a loop's variable or a parameter, or where the sum reads it."""
    frame = site.frame
    if variable is None:
        return None
    loop = _loop_of(site, variable)
    is_fixed = not site.engine.code.stored_in(frame.function, variable)
    given = frame.parameters.get(variable) if is_fixed else None
    value = given if loop is None else frame.values[loop.body[0].id]
    if value is None:
        op = site.operation(number)
        value = frame.values[number] if isinstance(op, ops.LoadName) and op.name == variable else None
        if isinstance(op, ops.Binary):
            left = _limit(site, op.left, variable)
            return _limit(site, op.right, variable) if left is None else left
    return value.limit if isinstance(value, Scalar) and not value.symbolic else None


def _below_length(site: Site, array: OpId, lower: _Sum, upper: _Sum) -> bool:
    """Whether the variable is that of a loop over `range(start, len(xs) - number)` and never leaves the array `xs`."""
    counted = None if lower.variable is None else _range_of(site, lower.variable)
    if counted is None:
        return False
    if _counts_parts(site, array, counted[1], upper.factor):
        # the last part of `len(xs) // size` ends within the array
        is_part = _is_natural(subtract(upper.factor, upper.number)) and _is_natural(lower.number)
        return is_part and _is_natural(dim_of(counted[0].start)) and _is_positive(dim_of(counted[0].step))
    end = _sum(site, counted[1])
    if end is None or lower.factor != 1 or end.factor != 1:
        return False
    held, value = site.operation(array), site.frame.value(array)
    if end.variable is None:
        length = value.type.shape[0] if isinstance(value, TensorValue) and value.type.shape else None
    elif isinstance(held, ops.LoadName) and _is_set_once(site, held) and end.variable == _length_of(held.name):
        length = 0
    else:
        return False
    # the last value of the variable is at most `end - 1`
    rest = subtract(add(subtract(length, end.number), 1), upper.number)
    first = add(dim_of(counted[0].start), lower.number)
    return _is_positive(dim_of(counted[0].step)) and _is_natural(first) and _is_natural(rest)


def _counts_parts(site: Site, array: OpId, number: OpId, size: Dim) -> bool:
    """Whether a number is `len(xs) // size` of this array."""
    op, held = site.operation(number), site.operation(array)
    if isinstance(op, ops.LoadName):
        stored = site.engine.code.stored_in(site.frame.function, op.name)
        op = site.operation(stored[0]) if len(stored) == 1 and _is_set_once(site, op) else None
    if not isinstance(op, ops.Binary) or op.operator != "//":
        return False
    length, part = _sum(site, op.left), dim_of(site.frame.value(op.right))
    if length is None or eager(part) is None or not definitely_equal(part, size) or not _is_positive(part):
        return False
    if length.variable is None:
        value = site.frame.value(array)
        own = value.type.shape[0] if isinstance(value, TensorValue) and value.type.shape else None
        return _is_natural(subtract(own, length.number))
    whole = length.number == 0 and length.factor == 1
    return whole and isinstance(held, ops.LoadName) and length.variable == _length_of(held.name)


def _range_of(site: Site, variable: str) -> tuple[RangeValue, OpId] | None:
    """The range that a loop's variable counts through, and the operation that gives its end."""
    loop = _loop_of(site, variable)
    made = None if loop is None else site.operation(loop.iterable)
    numbers = None if loop is None else site.frame.values[loop.iterable]
    if not isinstance(made, ops.Call) or not isinstance(numbers, RangeValue):
        return None
    given = [argument.value for argument in made.arguments if argument.spread is ops.Spread.PLAIN]
    if len(given) != len(made.arguments) or not given:
        return None
    return numbers, given[0 if len(given) == 1 else 1]


def _loop_of(site: Site, variable: str) -> ops.For | ops.Comprehension | None:
    """The loop that sets a variable, if nothing else does."""
    function = site.frame.function
    stored = site.engine.code.stored_in(function, variable)
    if len(stored) != 1 or not isinstance(site.operation(stored[0]), ops.NextItem):
        return None
    index = site.engine.code.index(function)
    for loop in (*index.of_kind(ops.For), *index.of_kind(ops.Comprehension)):
        if isinstance(loop, ops.For | ops.Comprehension) and loop.body and loop.body[0].id == stored[0]:
            return loop
    return None


def _is_of_this_iteration(site: Site, found: _Sum, stored: OpId, read: OpId) -> bool:
    """Whether a variable that is computed from a loop's variable is set in each iteration before it is read."""
    if found.variable is None or found.variable == _length_of(_array_of(found.variable)):
        return True
    if not site.engine.code.stored_in(site.frame.function, found.variable):
        return True
    loop = _loop_of(site, found.variable)
    if loop is None or stored > read:
        return False
    return any(isinstance(op, ops.StoreName) and op.value == stored for op in loop.body)


def _sum(site: Site, number: OpId, depth: int = 0) -> _Sum | None:
    """A number as a sum; None for other expressions."""
    if depth > _DEEPEST:
        return None
    value = site.frame.values[number]
    known = None if value is None else dim_of(value)
    if isinstance(value, Scalar) and value.symbolic:
        return None
    if eager(known) is not None:
        return _Sum(None, known)
    op = site.operation(number)
    match op:
        case ops.Binary(operator="+" | "-" as operator, left=left, right=right):
            one, other = _sum(site, left, depth + 1), _sum(site, right, depth + 1)
            if one is None or other is None or (other.variable is not None and (operator == "-" or one.variable)):
                return None
            total = add(one.number, other.number if operator == "+" else negate(other.number))
            varying = other if one.variable is None else one
            return None if eager(total) is None else _Sum(varying.variable, total, varying.factor)
        case ops.Binary(operator="*", left=left, right=right):
            one, other = _sum(site, left, depth + 1), _sum(site, right, depth + 1)
            if one is None or other is None or (one.variable is not None and other.variable is not None):
                return None
            varying, times = (other, one.number) if one.variable is None else (one, other.number)
            product, factor = multiply(varying.number, times), multiply(varying.factor, times)
            if not _is_positive(times) or eager(product) is None or eager(factor) is None:
                return None
            return _Sum(varying.variable, product, factor)
        case ops.LoadName(name=name):
            stored = site.engine.code.stored_in(site.frame.function, name)
            made = site.operation(stored[0]) if len(stored) == 1 and _is_set_once(site, op) else None
            kept = None if made is None or isinstance(made, ops.NextItem) else _sum(site, stored[0], depth + 1)
            if kept is not None and _is_of_this_iteration(site, kept, stored[0], op.id):
                return kept
            return _Sum(name, 0) if isinstance(value, Scalar) and value.type is PythonType.INT else None
        case _:
            return None if op is None else _length(site, number, op)


def _length(site: Site, number: OpId, op: ops.Op) -> _Sum | None:
    """`len(xs)` or `xs.shape[0]` of an array in a variable."""
    array: OpId | None = None
    if isinstance(op, ops.Call) and len(op.arguments) == 1 and site.frame.values[op.function] == LibraryValue(LEN):
        array = op.arguments[0].value
    elif isinstance(op, ops.LoadItem) and site.frame.values[op.index] == Constant(0):
        shape = site.operation(op.object)
        array = shape.object if isinstance(shape, ops.LoadAttribute) and shape.name == "shape" else None
    held = None if array is None else site.operation(array)
    if not isinstance(held, ops.LoadName) or not _is_set_once(site, held):
        return None
    return _Sum(_length_of(held.name), 0) if isinstance(site.frame.values[held.id], TensorValue) else None


def _length_of(name: str) -> str:
    """The variable of a sum that stands for a length; no identifier contains the parentheses."""
    return f"len({name})"


def _array_of(variable: str) -> str:
    return variable.removeprefix("len(").removesuffix(")")


def _is_set_once(site: Site, read: ops.LoadName) -> bool:
    """Whether a variable has one value in this function."""
    function = site.frame.function
    bound = len(site.engine.code.stored_in(function, read.name))
    return bound + any(parameter.name == read.name for parameter in function.parameters) <= 1


def _is_natural(dim: Dim) -> bool:
    """Whether a number is certainly not negative: sizes are not."""
    dim = eager(dim)
    if isinstance(dim, int):
        return dim >= 0
    return isinstance(dim, SymbolicDim) and all(factor > 0 for _, factor in dim.terms)


def _is_positive(dim: Dim) -> bool:
    return eager(dim) != 0 and _is_natural(dim)


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


def of_window(array: TensorValue, size: Dim) -> TensorValue:
    """The window as an array, without its content, because its position is unknown."""
    shape = array.type.shape
    cut = None if shape is None else (size, *shape[1:])
    return TensorValue(TensorType(array.type.dtype, cut), array.kind)


def without_first(index: Value) -> Value:
    """The index into the window: all of its first axis."""
    return TupleValue((_ALL, *index.elements[1:])) if isinstance(index, TupleValue) else _ALL
