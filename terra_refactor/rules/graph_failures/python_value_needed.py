"""TR319: a symbolic tensor where Python, or graph construction, needs a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from string import Formatter
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ContextId
from terra_refactor.domain.dtype import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FLOATING,
    INT8,
    INT16,
    INT32,
    INT64,
    INTEGER,
    UINT8,
    UINT16,
    DType,
)
from terra_refactor.domain.lattice import python_type
from terra_refactor.domain.value import (
    NONE,
    Constant,
    DatasetValue,
    DTypeValue,
    PythonType,
    RangeValue,
    Reference,
    Scalar,
    SequenceValue,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    is_symbolic_number,
    is_wide,
    members,
)
from terra_refactor.facts.records import (
    Arm,
    AttributeRead,
    Call,
    Container,
    Display,
    ItemRead,
    ItemWrite,
    NameRead,
    NameWrite,
    Operation,
    Region,
    RegionKind,
    Slice,
    Text,
)
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.meetings import meetings
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import (
    CONVERT,
    FORMAT,
    FORMAT_METHOD,
    LEN,
    RANGE,
    TO_INT,
    TYPE,
    made_by_autograph,
)
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait
from terra_refactor.tf_model.static_parameters import SCALARS, static_parameters

_FIELD: Final = re.compile(r"%(?P<key>\([^)]*\))?[-+ #0-9.]*(?P<kind>[diouxXeEfFgGcrsa%])")
_NUMBERS: Final = frozenset("diouxXeEfFgGc")
_USUAL: Final = 1000
_WITHIN_INT32: Final = frozenset({BOOL, INT8, INT16, INT32, UINT8, UINT16, FLOAT16})
_PRODUCTS: Final = frozenset({"*", "**", "<<"})


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.library_calls():
        yield from _check_call(view, call, name)
        yield from _check_range(view, call, name)
        if name == LEN and call.first is not None and view.all_of(call.first, _is_text_in_graph):
            yield LocalHazard(
                call.op,
                f"`{view.written(call.first)}` is a tensor in a graph, of which `len` has no length of the text",
            )
        if name == LEN and _is_size_of_data_set(view, call):
            written = view.written(call.op)
            assumed = f"that `{written}` is an int64 tensor in a graph makes no difference"
            yield LocalHazard(
                call.op, f"`{written}` is a Python number eagerly, and an int64 tensor in a graph", assumed
            )
    yield from _check_hashes(view)
    items: tuple[ItemRead | ItemWrite, ...] = (*view.reached(ItemRead), *view.reached(ItemWrite))
    for item in items:
        yield from _check_index(view, item.op, item.owner, item.index)
    for operation in view.reached(Operation):
        yield from _check_operator(view, operation)
        yield from _check_dtypes(view, operation)
    for call in view.reached(Call):
        yield from _check_dtypes(view, call)
    yield from _check_classes(view)
    growing = [hazard for write in view.reached(NameWrite) for hazard in _grows(view, write)]
    yield from growing
    yield from _counts_in_floats(view)
    for operation in () if growing else view.reached(Operation):
        yield from _check_size(view, operation)
    for text in view.reached(Text):
        yield from _formatted(view, text.op, (value for value, has_spec in text.fields if has_spec), every=True)


def _check_range(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """`int` of a tensor, which AutoGraph makes a cast to int32."""
    if name == TO_INT and call.first is not None and view.is_symbolic(call.first) and not view.is_captured(call.first):
        kinds = [member.type.dtype for member in members(view.value(call.first)) if isinstance(member, TensorValue)]
        is_place = all(isinstance(view.made(reader), ItemRead | Slice) for reader in view.code.readers(call.op))
        if any(dtype not in _WITHIN_INT32 for dtype in kinds) and not is_place:
            written = view.written(call.op)
            yield LocalHazard(
                call.op,
                f"`{written}` is a Python int eagerly, and a cast to int32 in a graph: numbers beyond 2**31 become others",
                f"`{written}` stays below 2**31",
            )


def _formatted(view: ContextView, at: OpId, given: Iterable[OpId], *, every: bool = False) -> Iterator[LocalHazard]:
    """The formatted values that are tensors in a graph: the first one, or `every` one."""
    for number in given:
        is_tensor, parameter = view.becomes_tensor(number)
        if is_tensor:
            message = f"`{view.written(number)}` is formatted as a number: in a graph it has no value"
            yield LocalHazard(at, message, parameter=parameter)
            if not every:
                return


def _check_classes(view: ContextView) -> Iterator[LocalHazard]:
    """Tests for the class or identity of numbers that are tensors in a graph: `isinstance(n, int)`, `n is True`."""
    asked = [
        (call.op, call.first)
        for call, name in view.library_calls()
        if (has_trait(name, Trait.ASKS_FOR_CLASS) or name == TYPE) and call.first is not None
    ]
    for operation in view.reached(Operation):
        if operation.symbol in ("is", "is not"):
            asked += [(operation.op, side) for side, other in operation.pairs if view.value(other) != NONE]
    for at, number in asked:
        if view.any_of(number, is_symbolic_number) and not view.is_captured(number):
            yield LocalHazard(
                at,
                f"`{view.written(at)}` is about a Python number eagerly, and about a tensor in a graph",
                None if view.is_symbolic(number) else f"`{view.written(number)}` is a Python number there",
            )


def _check_dtypes(view: ContextView, operation: Operation | Call) -> Iterator[LocalHazard]:
    """Numbers that are tensors in a graph, in operations with tensors of another dtype or with Python floats."""
    pairs = operation.pairs if isinstance(operation, Operation) else meetings(view, operation)
    for number, other in pairs:
        made = _made_of_number(view, number) or _made_of_float(view, number)
        own = _dtype(view, other)
        is_int = made is None and _is_int_in_graph(view, number)
        if made is not None and own is not None and own != made:
            yield LocalHazard(
                operation.op,
                f"`{view.written(number)}` is a Python number eagerly, which fits any tensor, and a tensor of {made} in a graph, which "
                f"does not fit the {own} of `{view.written(other)}`",
            )
            return
        if is_int and view.is_symbolic(number) and own in FLOATING:
            yield LocalHazard(
                operation.op,
                f"`{view.written(number)}` is a Python int eagerly, which fits any tensor, and an integer tensor in a graph, which "
                f"does not fit the {own} of `{view.written(other)}`",
            )
            return
        if own in FLOATING and _may_be_int_of_caller(view, number):
            yield LocalHazard(
                operation.op,
                f"`{view.written(number)}` is a number that a graph may have as an integer tensor, which does not fit the {own} of "
                f"`{view.written(other)}`",
                f"`{view.written(number)}` is a Python number there",
            )
            return
        if is_int and view.is_symbolic(number) and own is None and view.all_of(other, is_tensorflow_tensor):
            yield LocalHazard(
                operation.op,
                f"`{view.written(number)}` is a Python int eagerly, which fits any tensor, and a tensor of int32 in a graph",
                f"`{view.written(other)}` is int32",
            )
            return
        if (is_int or made in INTEGER) and view.all_of(other, _is_python_float):
            yield LocalHazard(
                operation.op,
                f"`{view.written(number)}` is a Python int eagerly, and an integer tensor in a graph, which does not fit the float "
                f"`{view.written(other)}`",
                None
                if made is not None or view.is_symbolic(number)
                else f"`{view.written(number)}` is a Python int there",
            )
            return


def _grows(view: ContextView, write: NameWrite) -> Iterator[LocalHazard]:
    """A Python int that a loop of the graph multiplies: in the graph it is an int32 tensor, and overflows."""
    for read, is_factor in _computed_from(view, write.value, set()):
        if is_factor and read.name == write.name and read.op < write.op and _is_int_in_graph(view, read.op):
            yield LocalHazard(
                write.op,
                f"`{write.name}` is multiplied in a loop: a Python int does not overflow, and an int32 tensor wraps around",
                f"`{write.name}` stays below 2**31",
            )
            return


def _counts_in_floats(view: ContextView) -> Iterator[LocalHazard]:
    """Python floats that a `while` loop of the graph adds to and compares: `while t < end: t += 0.1`."""
    for loop in view.reached(Region):
        if loop.kind is not RegionKind.WHILE or view.kind_of(loop) is not BranchKind.TENSOR or loop.subject is None:
            continue
        tested = view.behind(loop.subject, lambda fact: fact.sides if isinstance(fact, Operation) else ())
        for name in dict.fromkeys(fact.name for fact in tested if isinstance(fact, NameRead)):
            if any(_adds_to_float(view, write) for write in view.code.writes.get(name, ()) if loop.holds(write.op)):
                yield LocalHazard(
                    loop.op,
                    f"`{name}` is summed in double precision eagerly, and as a float32 tensor in a graph: the loop may end an iteration "
                    "earlier or later",
                    f"the rounding of `{name}` does not decide when the loop ends",
                )


def _adds_to_float(view: ContextView, write: NameWrite) -> bool:
    added = view.made(write.value)
    return (
        isinstance(added, Operation)
        and added.symbol in ("+", "-")
        and any(isinstance(read := view.made(side), NameRead) and read.name == write.name for side in added.sides)
        and view.all_of(added.op, lambda each: is_symbolic_number(each) and python_type(each) is PythonType.FLOAT)
    )


def _check_size(view: ContextView, operation: Operation) -> Iterator[LocalHazard]:
    """Products and powers of the loop's int that exceed 32 bits for small numbers already: `(48271 * i) ** 2`."""
    if (
        operation.symbol in _PRODUCTS
        and _is_int_in_graph(view, operation.op)
        and _magnitude(view, operation.op) >= 2**31
    ):
        if all(_magnitude(view, side) < 2**31 for side in operation.sides):
            written = view.written(operation.op)
            yield LocalHazard(
                operation.op,
                f"`{written}` does not overflow as a Python int, and wraps around as an int32 tensor",
                f"`{written}` stays below 2**31",
            )


def _magnitude(view: ContextView, number: OpId) -> int:
    """The magnitude of an int if its inputs are about a thousand; at most `2**64`."""
    value, made = view.value(number), view.made(number)
    if isinstance(value, Constant):
        return abs(value.value) if type(value.value) is int else 1
    if not isinstance(made, Operation) or made.right is None:
        return _USUAL
    left, right = _magnitude(view, made.left), _magnitude(view, made.right)
    match made.symbol:
        case "+" | "-":
            found = left + right
        case "*":
            found = left * right
        case "**" | "<<":
            found = (left if made.symbol == "**" else 2) ** min(right, 64) * (1 if made.symbol == "**" else left)
        case "%":
            found = right
        case _:
            found = left
    return min(found, 2**64)


def _computed_from(
    view: ContextView, number: OpId, seen: set[tuple[ContextId, OpId, bool]], *, is_factor: bool = False
) -> Iterator[tuple[NameRead, bool]]:
    """The variables from which a number is computed, through calls and other variables; and whether each is a factor of
    a product.
    """
    pending = [(number, is_factor)]
    while pending:
        number, is_factor = pending.pop()
        if (view.context.id, number, is_factor) in seen:
            continue
        seen.add((view.context.id, number, is_factor))
        made = view.made(number)
        match made:
            case Operation(symbol=symbol, sides=sides, is_arithmetic=True):
                pending.extend((side, is_factor or symbol in _PRODUCTS) for side in sides)
            case NameRead():
                yield made, is_factor
                if made.is_own:
                    pending.extend((write.value, is_factor) for write in view.code.given_to(made))
            case Call():
                call = view.calls.get(number)
                for callee in () if call is None else call.callees:
                    inner = view.of(callee)
                    for _, returned in inner.returns():
                        for read, inside in _computed_from(inner, returned, seen, is_factor=is_factor):
                            given = view.given_for(made, inner.function, read.name)
                            if given is not None:
                                pending.append((given, inside))


def _is_int_in_graph(view: ContextView, number: OpId) -> bool:
    """Whether a Python int is, on some path, an integer tensor in a graph."""
    return (
        view.any_of(number, is_symbolic_number)
        and view.all_of(number, lambda member: python_type(member) is PythonType.INT)
        and not view.is_captured(number)
    )


def _may_be_int_of_caller(view: ContextView, number: OpId) -> bool:
    """Whether a parameter, captured variable or attribute has an int that is a tensor if the code that sets it is part of the graph."""
    return (
        view.any_of(number, lambda member: is_symbolic_number(member) and python_type(member) is PythonType.INT)
        and not view.is_symbolic(number)
        and isinstance(view.origin(number), NameRead | AttributeRead)
    )


def _is_python_float(value: Value) -> bool:
    """Whether the value is still a Python float in a graph."""
    return python_type(value) is PythonType.FLOAT and not is_symbolic_number(value)


def _is_text_in_graph(value: Value) -> bool:
    return is_symbolic_number(value) and python_type(value) is PythonType.STR


def _is_size_of_data_set(view: ContextView, call: Call) -> bool:
    return len(call.arguments) == 1 and view.all_are(call.arguments[0].value, DatasetValue)


def _made_of_number(view: ContextView, number: OpId) -> DType | None:
    """The dtype of the tensor to which AutoGraph converts `int(tensor)`, `float(tensor)` or `len(dataset)`; None for
    other calls.
    """
    call = view.made(_behind_name(view, number))
    if not isinstance(call, Call) or len(call.arguments) != 1:
        return None
    given = call.arguments[0].value
    made = made_by_autograph(view.library_of(call.op))
    is_tensor = _is_size_of_data_set(view, call) if made == INT64 else view.is_symbolic(given)
    return made if is_tensor else None


def _made_of_float(view: ContextView, number: OpId) -> DType | None:
    """The dtype of the tensor that a graph has in place of a float that depends on a tensor's content; None for other
    values.

    The quotient of two ints, of which one is a tensor, is a float64.
    """
    if not view.all_of(number, lambda each: is_symbolic_number(each) and python_type(each) is PythonType.FLOAT):
        return None
    widths = {is_wide(member) for member in members(view.value(number))}
    return None if len(widths) > 1 else FLOAT64 if widths == {True} else FLOAT32


def _behind_name(view: ContextView, number: OpId) -> OpId:
    """The operation that produces a result, like `ContextView.behind_name`, but also if exception handlers set the
    variable.

    In a graph `int(tensor)` is only a cast, which never raises, so the handlers never run.
    """
    read = view.made(number)
    if not isinstance(read, NameRead) or not read.is_own:
        return view.behind_name(number)
    if view.code.has_parameter(read.name):
        return number
    tries = [region for region in view.code.of_kind(Region) if region.kind is RegionKind.TRY]
    writes = [
        write
        for write in view.code.writes.get(read.name, ())
        if not any(region.holds(write.op, Arm.HANDLER) for region in tries)
    ]
    return view.behind_name(writes[0].value) if len(writes) == 1 and writes[0].op < number else number


def _dtype(view: ContextView, number: OpId) -> DType | None:
    """The dtype of a value that certainly is a tensor; otherwise None."""
    found = {
        member.type.dtype if isinstance(member, TensorValue) and is_tensorflow_tensor(member) else None
        for member in members(view.value(number))
    }
    return found.pop() if len(found) == 1 else None


def _check_conversion(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """`tf.convert_to_tensor(n, dtype)`, which does not convert the dtype of the tensor that `n` is in a graph."""
    number, wanted = view.library_argument(call, name, "value"), view.library_argument(call, name, "dtype")
    dtype = None if wanted is None else view.value(wanted)
    if name != CONVERT or number is None or not isinstance(dtype, DTypeValue) or not view.is_symbolic(number):
        return
    made = _made_of_number(view, number) or _made_of_float(view, number)
    made = INT32 if made is None and _is_int_in_graph(view, number) else made
    if made is not None and made != dtype.dtype:
        yield LocalHazard(
            call.op,
            f"`{view.written(number)}` is a Python number eagerly, and a tensor of {made} in a graph, which "
            f"`{view.written(call.function)}` does not convert to {dtype.dtype}",
        )


def _check_call(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    yield from _check_conversion(view, call, name)
    if has_trait(name, Trait.NEEDS_VALUE_OF_FIRST):
        is_tensor, parameter = (False, None) if call.first is None else view.becomes_tensor(call.first)
        if is_tensor and call.first is not None:
            message = (
                f"`{view.written(call.op)}` needs the value of `{view.written(call.first)}`: in a graph this raises"
            )
            yield LocalHazard(call.op, message, parameter=parameter)
        return
    formatted = next(_formatted(view, call.op, _fields_with_format(view, call, name)), None)
    if formatted is not None:
        yield formatted
        return
    yield from _check_scalar(view, call, name)
    wanted = static_parameters(name)
    if wanted is not None and not wanted:
        return
    for bound, number in view.library_arguments(call, name):
        if wanted is not None and bound not in wanted:
            continue
        what = f"`{view.written(number)}`"
        is_tensor, parameter = view.becomes_tensor(number)
        if is_tensor or view.holds_symbolic(number):
            where = f"`{bound}` of `{view.written(call.function)}`" if bound else f"`{view.written(call.op)}`"
            message = f"{where} needs a value when the graph is traced, and {what} is a tensor"
            if parameter is not None:
                message += f" there, made of the argument `{parameter}`"
            yield LocalHazard(call.op, message, parameter=parameter)
            return
        if wanted is None and view.may_be_symbolic(number):
            yield LocalHazard(
                call.op,
                f"`{view.written(call.op)}` needs a Python number, and {what} may be a tensor",
                f"{what} is not a tensor when it is passed to `{view.written(call.function)}`",
            )
            return


def _check_scalar(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """Scalars that must be of another rank as symbolic tensors, and the range of a Python loop."""
    wanted = SCALARS.get(name)
    number = None if wanted is None else view.library_argument(call, name, wanted)
    if number is not None and view.all_of(
        number, lambda value: is_symbolic_number(value) or (isinstance(value, TensorValue) and value.type.shape == ())
    ):
        is_tensor, parameter = view.becomes_tensor(number)
        if is_tensor:
            where, what = f"`{wanted}` of `{view.written(call.function)}`", f"`{view.written(number)}`"
            message = f"{where} cannot be a scalar tensor in a graph, and {what} is one"
            yield LocalHazard(call.op, message, parameter=parameter)
    if name == RANGE:
        for bound in call.positional:
            parameter = view.argument_behind(bound)
            if parameter is not None:
                written = f"`{view.written(call.op)}`"
                why = f"a traced function gets a tensor for the NumPy number `{parameter}`"
                message = f"{written} has tensors for elements in a graph, since {why}"
                assumed = f"the code that uses the elements of {written} works with int tensors, too"
                yield LocalHazard(call.op, message, assumed, parameter=parameter)
                return


def _fields_with_format(view: ContextView, call: Call, name: str) -> Iterator[OpId]:
    """The values that `"{:.2f}".format(...)` and `format(value, ".2f")` format."""
    plain = call.positional
    if name == FORMAT and call.is_plain and len(plain) == 2 and view.value(plain[1]) != Constant(""):
        yield plain[0]
    if name != FORMAT_METHOD or not call.is_plain or call.owner is None:
        return
    text = view.value(call.owner)
    if not isinstance(text, Constant) or not isinstance(text.value, str):
        return
    try:
        fields = [(field, spec) for _, field, spec, _ in Formatter().parse(text.value) if field is not None]
    except ValueError:
        return
    for position, (field, spec) in enumerate(fields):
        place = int(field) if field.isdecimal() else position if field == "" else len(plain)
        number = plain[place] if place < len(plain) else call.keyword(field)
        if spec and number is not None:
            yield number


def _check_index(view: ContextView, at: OpId, container: OpId, index: OpId) -> Iterator[LocalHazard]:
    written = view.made(index)
    parts = written.bounds if isinstance(written, Slice) else (index,)
    symbolic = next((part for part in parts if view.becomes_tensor(part)[0]), None)
    if symbolic is None or view.is_argument(container):
        return
    by_array = view.all_of(symbolic, _is_array_with_axes)
    if view.all_of(
        container,
        # the result of indexing with an array is an array, whatever else is unknown
        lambda member: _is_indexed_by_python(view, member) or (by_array and isinstance(member, UnknownValue)),
    ):
        yield LocalHazard(
            at,
            f"`{view.written(container)}` is not a tensor, and `{view.written(symbolic)}` has no value in a graph: indexing it raises",
            parameter=view.becomes_tensor(symbolic)[1],
        )
    elif view.any_of(container, _is_unknown) and view.all_of(symbolic, _may_be_index):
        name = view.written(container)
        yield LocalHazard(
            at,
            f"if `{name}` is a list, `{view.written(symbolic)}` cannot index it in a graph, where it has no value",
            f"`{name}` is a tensor, not a list or tuple",
        )


def _is_unknown(value: Value) -> bool:
    return isinstance(value, UnknownValue) and not value.reason


def _may_be_index(value: Value) -> bool:
    """Whether a value may be a tensor that indexes a list eagerly: it is a scalar, as far as is known."""
    return is_tensorflow_tensor(value) and isinstance(value, TensorValue) and not value.type.shape


def _is_array_with_axes(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.kind is TensorKind.NDARRAY and bool(value.type.shape)


def _is_indexed_by_python(view: ContextView, value: Value) -> bool:
    match value:
        case Reference():
            return view.facts.objects[value.object].container_class is not None
        case TupleValue() | SequenceValue() | RangeValue() | ShapeValue() | Constant(str() | bytes()):
            return True
        case TensorValue():
            return value.kind is TensorKind.NDARRAY
        case _:
            return False


def _check_operator(view: ContextView, operation: Operation) -> Iterator[LocalHazard]:
    left = view.value(operation.left)
    if operation.right is None:
        return
    if operation.symbol == "%" and isinstance(left, Constant) and isinstance(left.value, str):
        for number in _formatted_as_numbers(view, left.value, operation.right):
            is_tensor, parameter = view.becomes_tensor(number)
            if is_tensor or view.is_variable(number) or view.holds_symbolic(number):
                message = f"`{view.written(number)}` is formatted as a number: in a graph it has no value"
                yield LocalHazard(operation.op, message, parameter=parameter)
                return
    for sequence, count in operation.pairs if operation.symbol == "*" else ():
        if is_symbolic_number(view.value(count)) and view.is_symbolic(count) and _is_repeated(view, sequence):
            yield LocalHazard(
                operation.op,
                f"`{view.written(sequence)}` is repeated `{view.written(count)}` times, which has no value in a graph",
            )


def _formatted_as_numbers(view: ContextView, text: str, given: OpId) -> Iterator[OpId]:
    """The values that `text % given` formats by `%d`, `%f` and similar conversions."""
    fields = [field for field in _FIELD.finditer(text) if field["kind"] != "%"]
    match view.origin(given):
        case Display(kind=Container.TUPLE, items=items):
            if len(items) == len(fields) and not any(item.starred for item in items):
                pairs = zip(fields, items, strict=True)
                yield from (item.value for field, item in pairs if field["kind"] in _NUMBERS)
        case Display(kind=Container.DICT, is_comprehension=False, items=items):
            numbers = {field["key"][1:-1] for field in fields if field["key"] and field["kind"] in _NUMBERS}
            for item in items:
                key = None if item.key is None else view.value(item.key)
                if isinstance(key, Constant) and key.value in numbers:
                    yield item.value
        case _ if len(fields) == 1 and fields[0]["kind"] in _NUMBERS:
            yield given


def _check_hashes(view: ContextView) -> Iterator[LocalHazard]:
    """Numbers that are tensors in a graph, as members of sets and keys of dicts."""
    hashed = [(display.op, number) for display in view.code.of_kind(Display) for number in display.hashed]
    for call, _ in view.calls_with(Trait.HASHES_ELEMENTS):
        given = None if call.first is None else view.origin(call.first)
        if isinstance(given, Display) and given.kind is not Container.DICT:
            hashed += [(call.op, item.value) for item in given.items]
        elif isinstance(given, Display) and given.is_comprehension:
            hashed += [(call.op, number) for number in given.hashed]
    for at, number in hashed:
        # a tensor itself cannot be hashed eagerly either
        if view.all_of(number, is_symbolic_number) and view.is_symbolic(number):
            yield LocalHazard(at, f"`{view.written(number)}` is hashed: in a graph it has no value, and this raises")


def _is_repeated(view: ContextView, number: OpId) -> bool:
    sequences = TupleValue, SequenceValue, Constant, Scalar, Reference
    return view.all_are(number, *sequences) and view.all_of(number, lambda member: _is_indexed_by_python(view, member))


RULE: Final = Rule(
    id="TR319",
    name="python-value-needed",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A tensor indexes a Python list, or is given to `math`, `tf.constant` or a static argument: a graph has no value for it.",
    explanation=(
        "Python converts an eager tensor to a number wherever one is needed; a symbolic tensor has no value: `TypeError: list indices must "
        "be integers or slices, not SymbolicTensor`, `TypeError: must be real number, not SymbolicTensor`, `TypeError: Expected any "
        "non-tensor type, but got a tensor instead`. `int()` and `float()` do not help, because AutoGraph converts them to casts of the "
        "tensor. Most axes and sizes of TensorFlow's operations may be tensors; a few determine the structure of the graph and must be "
        "Python values (`axis` of `tf.nn.softmax`, `tf.stack`, `tf.argsort`; `num` of `tf.unstack`)."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

RATES = [0.1, 0.2, 0.3]


@tf.function
def step(x):
    best = int(tf.argmax(x))
    return RATES[best] * x  # TR319


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf

RATES = [0.1, 0.2, 0.3]


@tf.function
def step(x):
    return tf.gather(RATES, tf.argmax(x)) * x


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf

RATES = [0.1, 0.2, 0.3]


@tf.function
def step(x):
    return RATES[x.shape[0] - 1] * tf.reshape(x, [int(tf.size(x)), 1])


step(tf.ones([3]))
""",
    ),
    cure="`tf.gather` instead of an item, `tf.math` instead of `math`, `tf.stack` or `tf.convert_to_tensor` instead of `tf.constant`.",
    check=check,
)
