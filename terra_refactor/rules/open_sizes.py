"""Where a size that is open while a graph is traced is used as if it were a number.

Computes: the places in a function, and the calls that lead to such places in others. Needs: a view, whose values say what is open, and for
which graphs (`domain/traced.py`). Gives: `uses_of_open_sizes`, `is_open_here`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final

from terra_refactor.domain.dim import OpenDim, Why
from terra_refactor.domain.dtype import FLOATING
from terra_refactor.domain.roots import HERE, LEVELS
from terra_refactor.domain.traced import has_open_size
from terra_refactor.domain.value import Constant, PythonType, Scalar, ShapeValue, TensorValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import operands
from terra_refactor.rules.view import ContextView, has_trait
from terra_refactor.tf_model.spec import Trait

_NUMBERS: Final = frozenset({"builtins.int", "builtins.float", "builtins.range", "builtins.abs", "builtins.round"})
_TAKES_NONE: Final = frozenset({"tensorflow.ensure_shape", "tensorflow.TensorSpec", "tensorflow.TensorShape"})
_BECAUSE: Final = {
    Why.BATCH: "it is not fixed",
    Why.DECLARED: "it is not fixed",
    Why.CONTENT: "only the content of a tensor tells it",
}
_COMPUTED: Final = (ops.Binary, ops.Unary, ops.ShortCircuit, ops.IfExpression)
"""What gives a size that is made of others."""


@dataclass(frozen=True, slots=True)
class SizeUse:
    """Where a size that is open in a graph is used as a number; `is_curable` where a tensor in its place would do."""

    op: OpId
    message: str
    is_curable: bool = False


def open_size(value: Value, roots: int = HERE) -> OpenDim | None:
    """The size that a Python int is, if it is open for one of these graphs, and for none that begins further in."""
    for member in members(value):
        if isinstance(member, Scalar) and not member.symbolic and _is_open(member.dim, roots):
            assert isinstance(member.dim, OpenDim)
            return member.dim
    return None


def _is_open(dim: object, roots: int) -> bool:
    return isinstance(dim, OpenDim) and bool(dim.roots & roots) and not dim.roots & (roots - 1)


def open_first_size(value: Value, roots: int = HERE) -> OpenDim | None:
    """The first size of a tensor, if that is open."""
    for member in members(value):
        if isinstance(member, TensorValue):
            shape = member.type.shape
            if shape and _is_open(shape[0], roots):
                assert isinstance(shape[0], OpenDim)
                return shape[0]
            if shape is None and (member.traced.first | member.traced.rank) & roots:
                return OpenDim(None, roots, Why.CONTENT)
    return None


def _open_sizes(value: Value, roots: int) -> Iterator[OpenDim]:
    """The open sizes of a static shape, or of the shape of a tensor."""
    for member in members(value):
        shape = member.shape if isinstance(member, ShapeValue) else None
        shape = member.type.shape if isinstance(member, TensorValue) else shape
        for dim in shape or ():
            if _is_open(dim, roots):
                assert isinstance(dim, OpenDim)
                yield dim


def sizes_read(view: ContextView, roots: int = HERE) -> Iterator[tuple[ops.Op, OpenDim]]:
    """The operations that give an open size which is not computed from others here, or was read before."""
    values = view.context.values
    for op in view.code.ops:
        value = None if op is None else values[op.id]
        if op is None or value is None or isinstance(op, _COMPUTED):
            continue
        size = open_size(value, roots)
        if size is None or (isinstance(op, ops.LoadName) and view.code.stores.get(op.name)):
            continue
        yield op, size


def needs_number(view: ContextView, size: OpId, use: OpId, why: Why) -> str:
    """The message that a size is None where an operation needs a number."""
    return f"{_unknown(view, size, why)}, and `{view.written(use)}` needs a number"


def _unknown(view: ContextView, size: OpId, why: Why) -> str:
    op = view.op(size)
    tensor = view.tensor_of_shape(op.source) if isinstance(op, ops.UnpackElement) else None
    what = f"`{view.written(size)}`" if tensor is None else f"a size of `{view.written(tensor)}`"
    return f"{what} is None while the graph is traced: {_BECAUSE[why]}"


def uses_of_open_sizes(view: ContextView, wanted: Set[Why], level: int = 0) -> Iterator[SizeUse]:
    """Where a size that is open for one of these reasons is used as a number, here or in functions that get it.

    `level`: so many calls further out the graph begins.
    """
    if view.function.kind is FunctionKind.MODULE:
        return  # no graph
    roots = HERE << level
    found = False
    for op, size in sizes_read(view, roots):
        if size.why in wanted:
            for use in (_uses_of_length if size.is_tensor else _uses_of_size)(view, op.id, size):
                found = True
                yield use
    for call in view.code.of_kind(ops.Call):
        fact = view.calls.get(call.id)
        if fact is None:
            continue
        if _needs_numbers(view, call):
            yield from _whole_shapes(view, wanted, call, roots)
            one = fact.open_size
            if not found and one is not None and _is_open(one, roots) and one.why in wanted:
                yield SizeUse(call.id, _of_several(view, call.id, call.id, one.why))
        if level + 1 < LEVELS:
            yield from _uses_in_callees(view, wanted, call.id, level)


def _uses_of_size(view: ContextView, size: OpId, dim: OpenDim) -> Iterator[SizeUse]:
    uses = [*numbers_made_of(view, size)]
    if uses and not asks_for_none(view, size):
        is_curable = isinstance(view.op(size), ops.LoadItem) and may_be_tensor(view, uses)
        yield SizeUse(size, needs_number(view, size, uses[0], dim.why), is_curable)
    elif dim.why is not Why.DECLARED:
        # who declares a signature may mean the comparison to be false
        for use in _uses(view, size):
            if isinstance(use, ops.Compare) and use.operator in ("==", "!="):
                if any(_is_integer(view.value(side)) for side in (use.left, use.right)):
                    always = f"and `{view.written(use.id)}` is always {use.operator == '!='}"
                    yield SizeUse(use.id, f"{_unknown(view, size, dim.why)}, {always}")


def _uses_of_length(view: ContextView, size: OpId, dim: OpenDim) -> Iterator[SizeUse]:
    """Where the length of a tensor, in a graph a tensor itself, meets a float."""
    written = f"`{view.written(size)}` is a tensor of int32 while the graph is traced: {_BECAUSE[dim.why]}"
    use = next(_uses_with_floats(view, size, set()), None)
    if use is not None:
        yield SizeUse(size, f"{written}, and `{view.written(use)}` has a float on the other side")
    elif _decides(view, size):
        yield SizeUse(size, f"{written}, and a condition must be a bool")


def _whole_shapes(view: ContextView, wanted: Set[Why], call: ops.Call, roots: int) -> Iterator[SizeUse]:
    for argument in call.arguments:
        tensor = view.tensor_of_shape(argument.value)
        shape = view.value(argument.value if tensor is None else tensor)
        if tensor is None and not any(isinstance(member, ShapeValue) for member in members(shape)):
            continue
        found = next((dim for dim in _open_sizes(shape, roots) if dim.why in wanted), None)
        if found is not None:
            yield SizeUse(call.id, _of_several(view, argument.value, call.id, found.why))


def _of_several(view: ContextView, sizes: OpId, use: OpId, why: Why) -> str:
    unknown = f"a size in `{view.written(sizes)}` is None while the graph is traced: {_BECAUSE[why]}"
    return f"{unknown}, and `{view.written(use)}` needs numbers"


def _uses_in_callees(view: ContextView, wanted: Set[Why], call: OpId, level: int) -> Iterator[SizeUse]:
    for context in view.calls[call].callees:
        callee = view.of(context)
        if not _has_open(callee, HERE << (level + 1)):
            continue
        for use in uses_of_open_sizes(callee, wanted, level + 1):
            where = f"in `{callee.function.qualname}`"
            yield SizeUse(call, f"{use.message} ({where})")
            return


def _has_open(view: ContextView, roots: int) -> bool:
    """Whether something that a context computes is open for a graph that begins further out."""
    for value in view.context.values:
        if type(value) is Scalar:
            if type(value.dim) is OpenDim and value.dim.roots & roots:
                return True
        elif type(value) is TensorValue:
            if any(type(dim) is OpenDim and dim.roots & roots for dim in value.type.shape or ()):
                return True
    return False


def _decides(view: ContextView, number: OpId) -> bool:
    """Whether the program asks a number for its truth."""
    for use in _uses(view, number):
        match use:
            case ops.Unary(operator="not") | ops.If() | ops.IfExpression() | ops.While():
                return True
            case ops.ShortCircuit(left=left) if view.behind_name(left) == number:
                return True
    return False


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
    results = {number, *_reads(view, names)}
    for op in view.code.ops:
        if op is not None and not results.isdisjoint(operands(op)):
            yield op


def _reads(view: ContextView, names: Set[str]) -> Iterator[OpId]:
    """The reads of variables where a graph still does not know the size: a test for None may have come before."""
    for op in view.code.ops:
        if isinstance(op, ops.LoadName) and op.name in names and has_open_size(view.value(op.id)):
            yield op.id


def is_used(view: ContextView, number: OpId, seen: frozenset[OpId] = frozenset()) -> bool:
    """Whether anything is done with the size but `is None`, and to put it where it is read again."""
    names = {op.name for op in view.code.ops if isinstance(op, ops.StoreName) and op.value == number}
    reads = {number, *_reads(view, names)}
    for op in view.code.ops:
        if op is None or op.id in seen or reads.isdisjoint(operands(op)):
            continue
        match op:
            case ops.StoreName() | ops.StoreItem() | ops.StoreAttribute() | ops.CollectElement():
                pass
            case ops.Compare(operator="is" | "is not"):
                pass
            case ops.BuildContainer() | ops.BuildDict():
                if is_used(view, op.id, seen | {op.id}):
                    return True
            case ops.Call():
                if not _hands_on(view, op):
                    return True
            case _:
                return True
    return False


def _hands_on(view: ContextView, call: ops.Call) -> bool:
    """Whether a call keeps the size, or gives it to a function of the program, whose reads of it are looked at."""
    fact = view.calls.get(call.id)
    if fact is None:
        return True
    if fact.unknown is not None:
        return False
    return all(name.startswith(("builtins.", "collections.")) and name not in _NUMBERS for name in fact.library)


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
