"""Uses of an open size (one that is unknown while a graph is traced) as a number.

Computes: such uses in a function, and the calls that lead to such uses in callees. Needs: a view, whose values have
marks for open sizes and their graphs (`domain/traced.py`). Gives: `uses_of_open_sizes`, `is_open_here`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from terra_refactor.domain.dim import OpenDim, Why
from terra_refactor.domain.dtype import FLOAT64, INT32, INTEGER, DType
from terra_refactor.domain.roots import HERE, MAX_ROOTS
from terra_refactor.domain.traced import has_open_size
from terra_refactor.domain.value import (
    NONE,
    BoundMethod,
    Constant,
    LibraryValue,
    PythonType,
    Scalar,
    ShapeValue,
    TensorKind,
    TensorValue,
    Value,
    members,
)
from terra_refactor.facts.records import (
    Call,
    Choice,
    Display,
    Fact,
    ItemRead,
    Literal,
    NameRead,
    NameWrite,
    Operation,
    Region,
    Unpacked,
    Write,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model.graph_traits import SIZES_AT_RUN_TIME, TENSOR_SHAPE, is_of_python
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_SIZES_AT_RUN_TIME: Final = frozenset(name.rpartition(".")[2] for name in SIZES_AT_RUN_TIME)
_BECAUSE: Final = {
    Why.BATCH: "it is not fixed",
    Why.DECLARED: "it is not fixed",
    Why.CONTENT: "it depends on the content of a tensor",
}


@dataclass(frozen=True, slots=True)
class SizeUse:
    """A use of an open size as a number; `is_curable`: a tensor in its place would work."""

    op: OpId
    message: str
    why: Why
    source: tuple[ContextView, OpId]
    """The size or sizes, and the context that computes them."""
    is_curable: bool = False
    holds: str | None = None
    """The condition under which the graph has the same result; None if it certainly differs."""


def open_size(value: Value, roots: int = HERE) -> OpenDim | None:
    """The size of a Python int, if it is open for one of these graphs and for none that begins further in."""
    for member in members(value):
        if isinstance(member, Scalar) and not member.symbolic and _is_open(member.dim, roots):
            assert isinstance(member.dim, OpenDim)
            return member.dim
    return None


def _is_open(dim: object, roots: int) -> bool:
    return isinstance(dim, OpenDim) and bool(dim.roots & roots) and not dim.roots & (roots - 1)


def open_first_size(value: Value, roots: int = HERE) -> OpenDim | None:
    """The first size of a tensor, if it is open."""
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


def sizes_read(view: ContextView, roots: int = HERE) -> Iterator[tuple[OpId, OpenDim]]:
    """The results that are open sizes and are read here, or before, rather than computed from others here."""
    for number, value in enumerate(view.context.values):
        size = None if value is None else open_size(value, roots)
        if size is None:
            continue
        made = view.code.facts[number]
        if isinstance(made, Operation | Choice) or (isinstance(made, NameRead) and view.code.writes.get(made.name)):
            continue
        yield number, size


def needs_number(view: ContextView, size: OpId, use: OpId, why: Why) -> str:
    """The message: a size is None where an operation needs a number."""
    return f"{unknown_size(view, size, why)}, and `{view.written(use)}` needs a number"


def unknown_size(view: ContextView, size: OpId, why: Why) -> str:
    """The message: a size is None."""
    return f"{size_in_words(view, size)} is None while the graph is traced: {_BECAUSE[why]}"


def size_in_words(view: ContextView, size: OpId) -> str:
    """The source text of a size, or the tensor that it belongs to."""
    made = view.made(size)
    tensor = view.tensor_of_shape(made.source) if isinstance(made, Unpacked) else None
    return f"`{view.written(size)}`" if tensor is None else f"a size of `{view.written(tensor)}`"


def uses_of_open_sizes(view: ContextView, wanted: Set[Why], level: int = 0) -> Iterator[SizeUse]:
    """The uses as a number of sizes that are open for one of these reasons, here or in callees that receive them.

    `level`: the graph begins this many calls further out.
    """
    if view.function.kind is FunctionKind.MODULE:
        return  # no graph
    roots = HERE << level
    found = False
    for number, size in sizes_read(view, roots):
        if size.why in wanted:
            for use in (_uses_of_length if size.is_tensor else _uses_of_size)(view, number, size):
                found = True
                yield use
    if not any(call.method in _SIZES_AT_RUN_TIME for call in view.code.of_kind(Call)):
        # the function falls back to the dynamic size in a branch that eager calls do not reach
        for number, why in (*_tests_of_sizes(view, wanted, roots), *_tests_of_shapes(view, wanted, roots)):
            written = view.written(number)
            message = f"a size is None while the graph is traced: {_BECAUSE[why]}; `{written}` depends on it"
            holds = f"the result does not depend on `{written}`"
            yield SizeUse(number, message, why, (view, number), holds=holds)
    for call in view.code.of_kind(Call):
        fact = view.calls.get(call.op)
        if fact is None:
            continue
        if _needs_numbers(view, call):
            yield from _whole_shapes(view, wanted, call, roots)
            one = fact.open_size
            if not found and one is not None and _is_open(one, roots) and one.why in wanted:
                yield SizeUse(call.op, _of_several(view, call.op, call.op, one.why), one.why, (view, call.op))
        if level + 1 < MAX_ROOTS:
            yield from _uses_in_callees(view, wanted, call.op, level)


def _uses_of_size(view: ContextView, size: OpId, dim: OpenDim) -> Iterator[SizeUse]:
    uses = list(_numbers_made_of(view, size))
    if uses and not _asks_for_none(view, size):
        is_curable = isinstance(view.made(size), ItemRead) and _may_be_tensor(view, uses)
        yield SizeUse(size, needs_number(view, size, uses[0], dim.why), dim.why, (view, size), is_curable)
    elif dim.why is not Why.DECLARED:
        # an author who declares a signature may intend the comparison to be false
        for use in _uses(view, size):
            fact = view.made(use)
            if isinstance(fact, Operation) and fact.symbol in ("==", "!="):
                if any(view.all_of(side, _is_integer) for side in fact.sides):
                    always = f"and `{view.written(use)}` is always {fact.symbol == '!='}"
                    yield SizeUse(use, f"{unknown_size(view, size, dim.why)}, {always}", dim.why, (view, size))


def _uses_of_length(view: ContextView, size: OpId, dim: OpenDim) -> Iterator[SizeUse]:
    """The uses of a tensor's length, an int32 tensor in a graph, with an operand of another dtype."""
    written = f"`{view.written(size)}` is a tensor of int32 while the graph is traced: {_BECAUSE[dim.why]}"
    use = next(_conflicting_uses(view, size, INT32, set()), None)
    if use is not None:
        message = f"{written}, and `{view.written(use)}` has another dtype on the other side"
        yield SizeUse(size, message, dim.why, (view, size))
    elif any(size in map(view.behind_name, view.code.tested_by(use)) for use in _uses(view, size)):
        yield SizeUse(size, f"{written}, and a condition must be a bool", dim.why, (view, size))


def _tests_of_sizes(view: ContextView, wanted: Set[Why], roots: int) -> Iterator[tuple[OpId, Why]]:
    """`n is None`, `if n` and `n or 1` of sizes that are numbers eagerly."""

    def of(number: OpId) -> Why | None:
        size = open_size(view.value(number), roots)
        return (
            None if size is None or size.is_tensor or size.why is Why.DECLARED or size.why not in wanted else size.why
        )

    for test in view.reached(Operation):
        for side, other in test.pairs if test.symbol in ("is", "is not") else ():
            if view.all_of(other, lambda value: value == NONE) and (why := of(side)) is not None:
                yield test.op, why
    for region in view.reached(Region):
        for tested in view.code.tested_by(region.op):
            if (why := of(tested)) is not None:
                yield tested, why


def _tests_of_shapes(view: ContextView, wanted: Set[Why], roots: int) -> Iterator[tuple[OpId, Why]]:
    """Queries of a whole static shape: `x.shape == (3,)`, `x.shape.num_elements()`, `x.shape.as_list()[0]`."""

    def of(value: Value) -> Why | None:
        if not isinstance(value, ShapeValue):
            return None
        sizes = (OpenDim(None, roots, Why.CONTENT),) if value.shape is None else value.shape
        if value.shape is None and not (value.traced.first | value.traced.rank) & roots:
            return None
        whys = (size.why for size in sizes if isinstance(size, OpenDim) and _is_open(size, roots))
        return next((why for why in whys if why in wanted and why is not Why.DECLARED), None)

    def of_result(number: OpId) -> Why | None:
        return next(filter(None, map(of, members(view.value(number)))), None)

    for test in view.reached(Operation):
        for side, other in test.pairs if test.symbol in ("==", "!=") else ():
            if (why := of_result(side)) is not None and of_result(other) is None:
                yield test.op, why
    for call in view.reached(Call):
        for method in members(view.value(call.function)):
            if not isinstance(method, BoundMethod) or not isinstance(method.function, LibraryValue):
                continue
            owner, _, name = method.function.name.rpartition(".")
            if owner != TENSOR_SHAPE or (why := of(method.receiver)) is None:
                continue
            if name in ("num_elements", "is_fully_defined"):
                yield call.op, why
            elif name == "as_list":
                yield from ((read, why) for read in _first_items(view, call.op))


def _first_items(view: ContextView, number: OpId) -> Iterator[OpId]:
    """The reads of `result[0]`."""
    for read in view.reached(ItemRead):
        index = view.made(read.index)
        if view.behind_name(read.owner) == number and isinstance(index, Literal) and index.value == 0:
            yield read.op


def _whole_shapes(view: ContextView, wanted: Set[Why], call: Call, roots: int) -> Iterator[SizeUse]:
    for argument in call.arguments:
        tensor = view.tensor_of_shape(argument.value)
        shape = view.value(argument.value if tensor is None else tensor)
        if tensor is None and not any(isinstance(member, ShapeValue) for member in members(shape)):
            continue
        found = next((dim for dim in _open_sizes(shape, roots) if dim.why in wanted), None)
        if found is not None:
            message = _of_several(view, argument.value, call.op, found.why)
            yield SizeUse(call.op, message, found.why, (view, argument.value))


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
            yield replace(use, op=call, message=f"{use.message} ({where})", is_curable=False)
            return


def _has_open(view: ContextView, roots: int) -> bool:
    """Whether a result of a context is open for a graph that begins further out."""
    for value in view.context.values:
        if type(value) is Scalar:
            if type(value.dim) is OpenDim and value.dim.roots & roots:
                return True
        elif type(value) is TensorValue:
            if any(type(dim) is OpenDim and dim.roots & roots for dim in value.type.shape or ()):
                return True
    return False


def _conflicting_uses(view: ContextView, number: OpId, dtype: DType, seen: set[OpId]) -> Iterator[OpId]:
    """The operations that combine a Python number, which is a tensor of `dtype` in a graph, with another dtype.

    `number` is the operation that computes it. Results of integer arithmetic are followed.
    """
    if number in seen:
        return
    seen.add(number)
    for use in _uses(view, number, everywhere=True):
        fact = view.made(use)
        if isinstance(fact, Operation) and (fact.is_arithmetic or fact.symbol in ("<", "<=", ">", ">=")):
            assert fact.right is not None
            is_right = number not in (fact.left, view.behind_name(fact.left))
            other = fact.left if is_right else fact.right
            if view.all_of(other, lambda value: _conflicts(value, dtype)):
                yield use
            elif fact.is_arithmetic and view.all_of(other, _is_integer):
                yield from _conflicting_uses(view, use, FLOAT64 if fact.symbol == "/" else dtype, seen)
        elif isinstance(fact, Call):
            record = view.calls.get(use)
            others = [argument.value for argument in fact.arguments if argument.value != number]
            if (
                record is not None
                and record.library
                and all(has_trait(name, Trait.ONE_DTYPE) for name in record.library)
            ):
                if any(view.all_of(other, lambda value: _conflicts(value, dtype)) for other in others):
                    yield use


def _conflicts(value: Value, dtype: DType) -> bool:
    """Whether a value certainly cannot be combined with a tensor of a dtype."""
    if isinstance(value, TensorValue):
        return value.kind is not TensorKind.NDARRAY and value.type.dtype not in (None, dtype)
    return dtype in INTEGER and _is_float(value)


def _is_integer(value: Value) -> bool:
    return (isinstance(value, Constant) and type(value.value) is int) or (
        isinstance(value, Scalar) and value.type is PythonType.INT
    )


def _is_float(value: Value) -> bool:
    """Whether a value certainly is a Python float."""
    return (isinstance(value, Constant) and type(value.value) is float) or (
        isinstance(value, Scalar) and value.type is PythonType.FLOAT
    )


def _asks_for_none(view: ContextView, number: OpId) -> bool:
    """Whether the function tests a size for None."""
    for use in _uses(view, number):
        fact = view.made(use)
        if isinstance(fact, Operation):
            if fact.symbol in ("is", "is not", "==", "!="):
                return True
        elif view.code.tested_by(use):
            return True
    return False


def _uses(view: ContextView, number: OpId, *, everywhere: bool = False) -> list[OpId]:
    """The operations that read a result, directly or through a local variable with one assignment (with `everywhere`,
    through any).
    """
    names = {
        write.name
        for write in view.code.of_kind(NameWrite)
        if write.value == number and (everywhere or view.stored_once(write.name) == number)
    }
    return sorted({use for read in (number, *_reads(view, names)) for use in view.code.readers(read)})


def _reads(view: ContextView, names: Set[str]) -> Iterator[OpId]:
    """The reads of variables where a graph still does not know the size: a test for None may come before."""
    for name in names:
        for read in view.code.reads_of(name):
            if has_open_size(view.value(read.op)):
                yield read.op


def is_used(view: ContextView, number: OpId, seen: frozenset[OpId] = frozenset()) -> bool:
    """Whether the size is used for anything but `is None`, or stored where it is used."""
    names = {write.name for write in view.code.of_kind(NameWrite) if write.value == number}
    for use in {use for read in (number, *_reads(view, names)) for use in view.code.readers(read)} - seen:
        match view.made(use):
            case Write() | Operation(symbol="is" | "is not"):
                pass
            case Display():
                if is_used(view, use, seen | {use}):
                    return True
            case Call():
                if not _hands_on(view, use):
                    return True
            case None if use not in view.code.regions:
                pass  # a comprehension collects it
            case _:
                return True
    return False


def _hands_on(view: ContextView, call: OpId) -> bool:
    """Whether a call passes on the size, or passes it to a function of the program, whose reads are examined separately."""
    fact = view.calls.get(call)
    if fact is None:
        return True
    if fact.unknown is not None:
        return False
    return all(is_of_python(name) and not has_trait(name, Trait.NEEDS_NUMBER) for name in fact.library)


def _numbers_made_of(view: ContextView, number: OpId) -> Iterator[OpId]:
    """The operations that need a result to be a number: arithmetic, ordering comparisons, shapes."""
    for use in _uses(view, number):
        match view.made(use):
            case Operation(symbol=symbol, is_comparison=True):
                if symbol in ("<", "<=", ">", ">="):
                    yield use
            case Operation(symbol=symbol):
                if symbol not in ("not", "~"):
                    yield use
            case Call() as call if _needs_numbers(view, call):
                yield use
            case Display(is_sequence=True):
                for outer in _uses(view, use):
                    fact = view.made(outer)
                    if isinstance(fact, Call) and _needs_numbers(view, fact):
                        yield outer


def _may_be_tensor(view: ContextView, uses: Sequence[OpId]) -> bool:
    """Whether an int32 tensor works wherever the number is used: in shapes, and together with integers."""

    def accepts(fact: Fact | None) -> bool:
        if isinstance(fact, Operation) and fact.is_arithmetic:
            return (
                fact.symbol != "/" and not fact.in_place and all(view.all_of(each, _is_integer) for each in fact.sides)
            )
        return isinstance(fact, Call | Operation)

    return all(accepts(view.made(use)) for use in uses)


def _needs_numbers(view: ContextView, call: Call) -> bool:
    fact = view.calls.get(call.op)
    if fact is None or fact.callees or fact.unknown is not None or not fact.library:
        return False
    return all(
        has_trait(name, Trait.NEEDS_NUMBER)
        or (has_trait(name, Trait.TENSOR_OPERATION) and not has_trait(name, Trait.TAKES_OPEN_SIZES))
        for name in fact.library
    )
