"""Where a size that a graph does not know is used as if it were a number.

Computes: the places in a function, and the calls that lead to such places in others. Needs: a view and its `OpenAxes`. Gives:
`uses_of_open_sizes`, and the questions that rules about sizes have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from terra_refactor.analysis.facts import CallFact
from terra_refactor.domain.dtype import FLOATING
from terra_refactor.domain.value import Constant, PythonType, Scalar, TensorValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import operands
from terra_refactor.rules.open_axes import OpenAxes
from terra_refactor.rules.open_contents import Origin
from terra_refactor.rules.view import ContextView, has_trait
from terra_refactor.tf_model.spec import Trait

_NUMBERS: Final = frozenset({"builtins.int", "builtins.float", "builtins.range", "builtins.abs", "builtins.round"})
_TAKES_NONE: Final = frozenset({"tensorflow.ensure_shape", "tensorflow.TensorSpec", "tensorflow.TensorShape"})
_MAX_CALLS: Final = 3
"""How many calls deep a tensor is followed."""
_BECAUSE: Final = {Origin.BATCH: "it is not fixed", Origin.CONTENT: "only the content of a tensor tells it"}


@dataclass(frozen=True, slots=True)
class SizeUse:
    """Where a size that is None is used as a number; `is_curable` where a tensor in its place would do."""

    op: OpId
    message: str
    is_curable: bool = False


def needs_number(view: ContextView, size: OpId, use: OpId, origin: Origin) -> str:
    """The message that a size is None where an operation needs a number."""
    return f"{_unknown(view, size, origin)}, and `{view.written(use)}` needs a number"


def _unknown(view: ContextView, size: OpId, origin: Origin) -> str:
    op = view.op(size)
    tensor = view.tensor_of_shape(op.source) if isinstance(op, ops.UnpackElement) else None
    what = f"`{view.written(size)}`" if tensor is None else f"a size of `{view.written(tensor)}`"
    return f"{what} is None while the graph is traced: {_BECAUSE[origin]}"


def uses_of_open_sizes(view: ContextView, axes: OpenAxes, wanted: Origin, calls: int = _MAX_CALLS) -> Iterator[SizeUse]:
    """Where the size of an axis that is open for that reason is used as a number, here or in functions that get the tensor."""
    if view.function.kind is FunctionKind.MODULE:
        return  # no graph
    for op in view.code.ops:
        match op:
            case ops.LoadItem(object=shape, index=index):
                axis = view.value(index)
                if isinstance(axis, Constant) and type(axis.value) is int:
                    yield from _uses_of_size(view, axes, wanted, op.id, shape, axis.value)
            case ops.UnpackElement(source=shape, position=position, star=None):
                yield from _uses_of_size(view, axes, wanted, op.id, shape, position)
            case ops.Call() if (fact := view.calls.get(op.id)) is not None:
                if fact.callees and calls:
                    yield from _uses_in_callees(view, axes, wanted, op, fact, calls)
                    yield from _uses_of_returned_size(view, axes, wanted, op)
                elif fact.library == ("builtins.len",):
                    yield from _uses_of_length(view, axes, wanted, op)
                elif _needs_numbers(view, op):
                    yield from _whole_shapes(view, axes, wanted, op)
            case _:
                pass


def _uses_of_size(
    view: ContextView, axes: OpenAxes, wanted: Origin, size: OpId, shape: OpId, position: int
) -> Iterator[SizeUse]:
    tensor = view.tensor_of_shape(shape)
    if tensor is None or axes.origin(tensor, position) is not wanted:
        return
    uses = [*numbers_made_of(view, size)]
    if uses and not asks_for_none(view, size):
        is_curable = isinstance(view.op(size), ops.LoadItem) and may_be_tensor(view, uses)
        yield SizeUse(size, needs_number(view, size, uses[0], wanted), is_curable)
    elif not axes.parameters:
        # who declares a signature may mean the comparison to be false
        for use in _uses(view, size):
            if isinstance(use, ops.Compare) and use.operator in ("==", "!="):
                if any(_is_integer(view.value(side)) for side in (use.left, use.right)):
                    always = f"and `{view.written(use.id)}` is always {use.operator == '!='}"
                    yield SizeUse(use.id, f"{_unknown(view, size, wanted)}, {always}")


def _uses_of_length(view: ContextView, axes: OpenAxes, wanted: Origin, call: ops.Call) -> Iterator[SizeUse]:
    """Where the length of a tensor, in a graph a tensor itself, meets a float."""
    if len(call.arguments) == 1 and axes.origin(call.arguments[0].value, 0) is wanted:
        use = next(_uses_with_floats(view, call.id, set()), None)
        if use is not None:
            written = f"`{view.written(call.id)}` is a tensor of int32 while the graph is traced: {_BECAUSE[wanted]}"
            yield SizeUse(call.id, f"{written}, and `{view.written(use)}` has a float on the other side")
        elif _decides(view, call.id):
            written = f"`{view.written(call.id)}` is a tensor of int32 while the graph is traced: {_BECAUSE[wanted]}"
            yield SizeUse(call.id, f"{written}, and a condition must be a bool")


def _decides(view: ContextView, number: OpId) -> bool:
    """Whether the program asks a number for its truth."""
    for use in _uses(view, number):
        match use:
            case ops.Unary(operator="not") | ops.If() | ops.IfExpression() | ops.While():
                return True
            case ops.ShortCircuit(left=left) if view.behind_name(left) == number:
                return True
    return False


def _whole_shapes(view: ContextView, axes: OpenAxes, wanted: Origin, call: ops.Call) -> Iterator[SizeUse]:
    for argument in call.arguments:
        tensor = view.tensor_of_shape(argument.value)
        if tensor is not None and wanted in axes.of(tensor).values():
            unknown = (
                f"a size in `{view.written(argument.value)}` is None while the graph is traced: {_BECAUSE[wanted]}"
            )
            yield SizeUse(call.id, f"{unknown}, and `{view.written(call.id)}` needs numbers")


def _uses_in_callees(
    view: ContextView, axes: OpenAxes, wanted: Origin, call: ops.Call, fact: CallFact, calls: int
) -> Iterator[SizeUse]:
    for context in fact.callees:
        callee = view.of(context)
        parameters = axes.given_to(callee, call.id)
        if parameters:
            for use in uses_of_open_sizes(callee, OpenAxes(callee, parameters), wanted, calls - 1):
                where = f"in `{callee.function.qualname}`, line {callee.function.span_of(use.op).line}"
                yield SizeUse(call.id, f"{use.message} ({where})")
                return


def _uses_of_returned_size(view: ContextView, axes: OpenAxes, wanted: Origin, call: ops.Call) -> Iterator[SizeUse]:
    if _is_integer(view.value(call.id)) and _size_returned(axes, call) is wanted:
        use = next(numbers_made_of(view, call.id), None)
        if use is not None and not asks_for_none(view, call.id):
            yield SizeUse(call.id, needs_number(view, call.id, use, wanted))


def _size_returned(axes: OpenAxes, call: ops.Call) -> Origin | None:
    """Why the size that functions of the program return is open; None if one of them returns something else."""
    origins: set[Origin | None] = set()
    for callee in axes.functions_called(call.id):
        inside = axes.inside(callee, call.id)
        origins.update(_origin_of_size(callee, inside, result.value) for result in callee.returns())
    return origins.pop() if len(origins) == 1 else None


def _origin_of_size(view: ContextView, axes: OpenAxes, number: OpId | None) -> Origin | None:
    """Why a result is an open size; None if it is not, or looked at before (`if size is None`)."""
    op = None if number is None else view.op(view.behind_name(number))
    if isinstance(op, ops.Call):
        return _size_returned(axes, op)
    if not isinstance(op, ops.LoadItem) or asks_for_none(view, op.id):
        return None
    axis, tensor = view.value(op.index), view.tensor_of_shape(op.object)
    if tensor is None or not isinstance(axis, Constant) or type(axis.value) is not int:
        return None
    return axes.origin(tensor, axis.value)


def _uses_with_floats(view: ContextView, number: OpId, seen: set[OpId]) -> Iterator[OpId]:
    """The operators that combine an integer, directly or after others of its kind, with a float."""
    if number in seen:
        return
    seen.add(number)
    for use in _uses(view, number, everywhere=True):
        if isinstance(use, ops.Binary):
            other = use.right if use.left == number else use.left
            if _is_float(view.value(other)):
                yield use.id
            elif use.operator != "/" and _is_integer(view.value(other)):
                yield from _uses_with_floats(view, use.id, seen)


def _is_integer(value: Value) -> bool:
    alternatives = members(value)
    return bool(alternatives) and all(
        (isinstance(member, Constant) and type(member.value) is int)
        or (isinstance(member, Scalar) and member.type is PythonType.INT)
        for member in alternatives
    )


def _is_float(value: Value) -> bool:
    """Whether a value is certainly a float, or a tensor of floats."""
    alternatives = members(value)
    return bool(alternatives) and all(
        (isinstance(member, Constant) and type(member.value) is float)
        or (isinstance(member, Scalar) and member.type is PythonType.FLOAT)
        or (isinstance(member, TensorValue) and member.type.dtype in FLOATING)
        for member in alternatives
    )


def asks_for_none(view: ContextView, number: OpId) -> bool:
    """Whether the function looks whether the size is known."""
    return any(
        isinstance(op, ops.Compare | ops.ShortCircuit | ops.If | ops.IfExpression)
        and (not isinstance(op, ops.Compare) or op.operator in ("is", "is not", "==", "!="))
        for use in _uses(view, number)
        if (op := use) is not None
    )


def _uses(view: ContextView, number: OpId, *, everywhere: bool = False) -> Iterator[ops.Op]:
    """The operations that read a result, directly or through a local variable that is set once (or to other things, too: `everywhere`)."""
    names = {
        op.name
        for op in view.code.of_kind(ops.StoreName)
        if op.value == number and (everywhere or view.stored_once(op.name) == number)
    }
    results = {number, *(op.id for op in view.code.ops if isinstance(op, ops.LoadName) and op.name in names)}
    for op in view.code.ops:
        if op is not None and not results.isdisjoint(operands(op)):
            yield op


def numbers_made_of(view: ContextView, number: OpId) -> Iterator[OpId]:
    """The operations that need a result to be a number: arithmetic, comparisons of order, shapes."""
    for use in _uses(view, number):
        match use:
            case ops.Binary() | ops.Unary(operator="-" | "+"):
                yield use.id
            case ops.Compare(operator="<" | "<=" | ">" | ">="):
                yield use.id
            case ops.Call():
                if _needs_numbers(view, use):
                    yield use.id
            case ops.BuildContainer():
                for outer in _uses(view, use.id):
                    if isinstance(outer, ops.Call) and _needs_numbers(view, outer):
                        yield outer.id


def may_be_tensor(view: ContextView, uses: Sequence[OpId]) -> bool:
    """Whether a tensor of int32 will do wherever the number is used: in shapes, and together with integers."""

    def accepts(op: ops.Op) -> bool:
        if isinstance(op, ops.Binary):
            return (
                op.operator != "/"
                and not op.in_place
                and _is_integer(view.value(op.left))
                and _is_integer(view.value(op.right))
            )
        return isinstance(op, ops.Call | ops.Unary | ops.Compare)

    return all(accepts(view.op(use)) for use in uses)


def _needs_numbers(view: ContextView, call: ops.Call) -> bool:
    fact = view.calls.get(call.id)
    if fact is None or fact.callees or fact.unknown is not None or not fact.library:
        return False
    return all(
        name in _NUMBERS or (has_trait(name, Trait.TENSOR_OPERATION) and name not in _TAKES_NONE)
        for name in fact.library
    )
