"""Operators and comparisons.

Computes: results of unary and binary operators on Python values, tensors, arrays and objects with operator methods. Needs: the operator
rules of `tf_model`. Gives: `HANDLERS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.classes import find_method
from terra_refactor.analysis.effects import unknown_target, write_effect
from terra_refactor.analysis.engine import Heap, OpHandler, Site
from terra_refactor.analysis.facts import BranchKind, ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.library_rules import checked_rule, over_combinations
from terra_refactor.analysis.transfer.allocation import new_list, new_set
from terra_refactor.analysis.transfer.arrays import array_changed
from terra_refactor.analysis.transfer.contents import note_contents
from terra_refactor.analysis.transfer.data_files import joined_by_operator
from terra_refactor.analysis.transfer.iteration import MAX_ELEMENTS, extend_list, iterate, static_size_value
from terra_refactor.analysis.transfer.loaded_numbers import note_changed
from terra_refactor.analysis.transfer.mappings import dict_keys_of
from terra_refactor.analysis.transfer.special_methods import (
    convert_objects,
    format_object,
    has_objects,
    note_comparison_with_tensor,
    run_equality,
    run_hash,
)
from terra_refactor.analysis.transfer.windows import largest_remainder
from terra_refactor.analysis.truth import asked
from terra_refactor.domain import dim as dims
from terra_refactor.domain.effect import Effect, EffectKind
from terra_refactor.domain.lattice import dim_of, join, join_all, list_element, list_length, number_of, python_type
from terra_refactor.domain.shape import compatible
from terra_refactor.domain.state import EXISTS, ITEMS
from terra_refactor.domain.value import (
    BOTTOM,
    FALSE,
    NONE,
    SUGGESTED,
    UNBOUND,
    UNKNOWN,
    UNKNOWN_BOOL,
    Constant,
    EnumMember,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    PartialValue,
    PythonType,
    Reference,
    Scalar,
    SequenceValue,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    as_symbolic,
    is_length_in_graph,
    is_symbolic_number,
    is_wide,
    members,
    of_release,
    speaks_of_release,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ops import Op
from terra_refactor.ir.python_operators import BINARY, COMPARISON
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.class_names import TO_ARRAY, TO_TENSOR, UNION, is_generic, is_type_form
from terra_refactor.tf_model.ops.operators import compare_rule, operator_rule, unary_rule, with_unknown
from terra_refactor.tf_model.spec import EntityKind

_METHODS: Final = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "<<": "lshift",
    ">>": "rshift",
    "&": "and",
    "|": "or",
    "^": "xor",
}
_COMPARE_METHODS: Final = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_DIM_ARITHMETIC: Final = {"+": dims.add, "-": dims.subtract, "*": dims.multiply, "//": dims.floor_divide}
_MAX_NUMBER: Final = 1 << 128
_MAX_TEXT: Final = 4_000
_MAX_COMBINATIONS: Final = 16


def unary(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.Unary)
    value = site.frame.value(op.operand)
    if op.operator == "not":
        answer = asked(site, value)
        if answer.kind is BranchKind.TENSOR:
            return as_symbolic(UNKNOWN_BOOL)
        found = UNKNOWN_BOOL if answer.value is None else Constant(not answer.value)
        return of_release(found) if answer.release else found
    return join_all(_unary(site, op, member) for member in members(value))


def _unary(site: Site, op: ops.Unary, value: Value) -> Value:
    match value:
        case TensorValue():
            return checked_rule(site, op.operator, lambda: unary_rule(op.operator, value))
        case Constant(int() | float() as number):
            if op.operator == "-":
                return Constant(-number)
            if op.operator == "+":
                return Constant(+number)
            return Constant(~number) if isinstance(number, int) else UNKNOWN
        case Scalar():
            if op.operator == "-" and value.dim is not None:
                result = static_size_value(dims.negate(value.dim))
            else:
                kind = PythonType.INT if value.type is PythonType.BOOL else value.type
                result = Scalar(kind, release=value.release, wide=value.wide)
            return as_symbolic(result) if value.symbolic else result
        case Reference():
            method = find_method(site, value, {"-": "__neg__", "+": "__pos__"}.get(op.operator, "__invert__"))
            return UNKNOWN if method is None else site.call(method, CallArguments())
        case UnknownValue():
            return UnknownValue(value.may_be_tensor, reason=_named(value))
        case _:
            return UNKNOWN


def binary(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.Binary)
    frame = site.frame
    left, right = frame.value(op.left), frame.value(op.right)
    is_noted = op.in_place and array_changed(site, op.left, only_through_view=True)
    if op.in_place:
        for member in members(left):
            note_changed(site, member, None)
    else:
        note_contents(site, left)
    note_contents(site, right)
    lefts, rights = members(left), members(right)
    if len(lefts) * len(rights) > _MAX_COMBINATIONS:
        return UNKNOWN
    found = over_combinations(
        site,
        op.operator,
        [(a, b) for a in lefts for b in rights if a not in (NONE, UNBOUND) or b not in (NONE, UNBOUND)],
        lambda pair: binary_value(site, op.operator, pair[0], pair[1], in_place=op.in_place, is_noted=is_noted),
    )
    if speaks_of_release(left) or speaks_of_release(right):
        found = of_release(found)
    if op.operator == "%" and type(found) is Scalar and found.type is PythonType.INT and not found.symbolic:
        return replace(found, limit=largest_remainder(site, op))
    return found


def added(site: Site, left: Value, right: Value) -> Value:
    """`left + right` as added by `sum`, which operation `op` calls."""
    pairs = [(a, b) for a in members(left) for b in members(right)]
    if len(pairs) > _MAX_COMBINATIONS:
        return UNKNOWN
    return over_combinations(site, "+", pairs, lambda pair: binary_value(site, "+", pair[0], pair[1]))


def binary_value(
    site: Site, symbol: str, left: Value, right: Value, *, in_place: bool = False, is_noted: bool = False
) -> Value:
    """`left symbol right` for one alternative of each. Raises OperationError if the operation certainly fails.

    `is_noted`: the effect of an in-place change of an array is already recorded, or not needed.
    """
    engine, frame = site.engine, site.frame
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _constants(symbol, left, right)
    if (path := joined_by_operator(symbol, left, right)) is not None:
        return path
    if symbol == "%" and python_type(left) is PythonType.STR:
        # formatting accepts any value, including tensors
        format_object(site, right)
        return Scalar(PythonType.STR)
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        if isinstance(left, UnknownValue) or isinstance(right, UnknownValue):
            return _with_unknown(site, symbol, left, right, in_place=in_place)
        if in_place and not is_noted and isinstance(left, TensorValue) and left.kind is TensorKind.NDARRAY:
            frame.add_effect(
                Effect(
                    EffectKind.STATE_WRITE, unknown_target(left), f"{symbol}= on an array", site.place(), assumed=True
                )
            )
        if not isinstance(left, Reference) and not isinstance(right, Reference):
            return operator_rule(symbol, freeze(frame, left), freeze(frame, right), in_place=in_place)
    left_type, right_type = python_type(left), python_type(right)
    if left_type is not None and right_type is not None:
        result = _scalars(symbol, left, right, left_type, right_type)
        if not is_symbolic_number(left) and not is_symbolic_number(right):
            return result
        result = join_all(as_symbolic(member) for member in members(result))
        quotient = symbol == "/" and left_type is right_type is PythonType.INT
        if (
            isinstance(result, Scalar)
            and result.type in (PythonType.INT, PythonType.FLOAT)
            and (quotient or is_wide(left) or is_wide(right))
        ):
            return replace(result, wide=True)
        return result
    if symbol == "|" and _is_type(engine, left) and _is_type(engine, right):
        return PartialValue(UNION, (left, right), ())
    if isinstance(left, Reference) or isinstance(right, Reference):
        found = _objects(site, symbol, left, right, in_place=in_place)
        if found is not None:
            return found
        if isinstance(left, TensorValue) or isinstance(right, TensorValue):
            tensors = [side for side in (left, right) if isinstance(side, TensorValue)]
            convert_objects(
                site, (left, right), TO_ARRAY if all(each.kind is TensorKind.NDARRAY for each in tensors) else TO_TENSOR
            )
            return operator_rule(symbol, freeze(frame, left), freeze(frame, right), in_place=in_place)
    if symbol == "+" and isinstance(left, TupleValue) and isinstance(right, TupleValue):
        return TupleValue(left.elements + right.elements)
    if symbol == "+" and isinstance(left, TupleValue | SequenceValue) and isinstance(right, TupleValue | SequenceValue):
        both = [iterate(site, side).element for side in (left, right)]
        return SequenceValue(join_all(both))
    if symbol == "*":
        repeated = _repeat(left, right)
        if repeated is not None:
            return repeated
    if symbol == "+" and isinstance(left, ShapeValue):
        return _concatenated_shapes(site, left, right)
    if isinstance(left, UnknownValue) or isinstance(right, UnknownValue):
        maybe = any(not isinstance(side, UnknownValue) or side.may_be_tensor for side in (left, right))
        both_plain = all(
            isinstance(side, Scalar | Constant) or (isinstance(side, UnknownValue) and not side.may_be_tensor)
            for side in (left, right)
        )
        arithmetic = _DIM_ARITHMETIC.get(symbol)
        number = None if arithmetic is None else arithmetic(number_of(left), number_of(right))
        return UnknownValue(maybe and not both_plain, reason=_named(left, right), number=number)
    return UNKNOWN


def _named(*operands: Value) -> str:
    """The reason of a value computed from these, if one of them is named like a tensor."""
    reasons = (side.reason for side in operands if isinstance(side, UnknownValue) and side.reason in SUGGESTED)
    return next(reasons, "")


def _is_type(engine: Heap, value: Value) -> bool:
    """Whether the value may be an annotation, so that `A | None` is a union type."""
    match value:
        case Reference(number):
            return engine.objects.facts[number].kind is ObjectKind.CLASS
        case LibraryValue(name):
            entity = registry.lookup(name)
            return is_type_form(name) or (entity is not None and entity.kind is EntityKind.CLASS)
        case PartialValue(LibraryValue(name)):
            return is_generic(name)
        case _:
            return value == NONE


def _with_unknown(site: Site, symbol: str, left: Value, right: Value, *, in_place: bool = False) -> Value:
    """A tensor or array combined with an unknown value."""
    if not any(isinstance(side, TensorValue) and side.kind is TensorKind.NDARRAY for side in (left, right)):
        # the other operand of an array is usually an array or a number
        for side in (left, right):
            site.engine.note_usage(side, site.frame, beside_tensor=True)
    if isinstance(left, TensorValue) and isinstance(right, UnknownValue):
        if in_place and left.kind is TensorKind.NDARRAY and not right.may_be_tensor:
            return operator_rule(symbol, left, right, in_place=True)
        return with_unknown(symbol, left, right)
    assert isinstance(left, UnknownValue) and isinstance(right, TensorValue)
    return with_unknown(symbol, right, left, reflected=True)


def _constants(symbol: str, left: Constant, right: Constant) -> Value:
    function = BINARY.get(symbol)
    if function is None or NONE in (left, right):
        return UNKNOWN
    a, b = left.value, right.value
    if symbol == "**" and isinstance(b, int | float) and abs(b) > 64:
        return UNKNOWN
    if symbol == "<<" and isinstance(b, int) and b > 128:
        return UNKNOWN
    if (
        symbol == "*"
        and any(isinstance(side, str | bytes) for side in (a, b))
        and any(isinstance(side, int) and side > 1000 for side in (a, b))
    ):
        return Scalar(PythonType.STR)
    try:
        result = function(a, b)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return BOTTOM if symbol in ("/", "//", "%") and b == 0 else UNKNOWN
    if isinstance(result, bool | int) and abs(result) < _MAX_NUMBER:
        return Constant(result)
    if isinstance(result, float | complex):
        return Constant(result)
    if isinstance(result, str | bytes) and len(result) < _MAX_TEXT:
        return Constant(result)
    return UNKNOWN


def _scalars(symbol: str, left: Value, right: Value, left_type: PythonType, right_type: PythonType) -> Value:
    texts = (PythonType.STR, PythonType.BYTES)
    if left_type in texts or right_type in texts:
        return Scalar(left_type if left_type in texts else right_type)
    arithmetic = _DIM_ARITHMETIC.get(symbol)
    if left_type is PythonType.INT and right_type is PythonType.INT and arithmetic is not None:
        return static_size_value(arithmetic(dim_of(left), dim_of(right)))
    ranks = [PythonType.BOOL, PythonType.INT, PythonType.FLOAT, PythonType.COMPLEX]
    widest = max(ranks.index(left_type), ranks.index(right_type))
    if symbol == "/":
        return Scalar(ranks[max(widest, 2)])
    if symbol == "**":
        # a negative power of an int is a float
        if widest == 2 and isinstance(left, Constant) and isinstance(left.value, int | float) and left.value < 0:
            return join(Scalar(PythonType.FLOAT), Scalar(PythonType.COMPLEX))
        return Scalar(ranks[widest]) if widest >= 2 else _power_of_ints(right)
    if symbol in ("&", "|", "^") and widest == 0:
        return UNKNOWN_BOOL
    return Scalar(ranks[max(widest, 1)])


def _power_of_ints(exponent: Value) -> Value:
    if isinstance(exponent, Constant) and isinstance(exponent.value, int) and exponent.value >= 0:
        return Scalar(PythonType.INT)
    return join(Scalar(PythonType.INT), Scalar(PythonType.FLOAT))


def _repeat(left: Value, right: Value) -> Value | None:
    sequence, count = (left, right) if isinstance(left, TupleValue) else (right, left)
    if not isinstance(sequence, TupleValue) or (isinstance(count, UnknownValue) and count.may_be_tensor):
        return None  # an array multiplies the elements of a tuple
    times = number_of(count)
    if isinstance(times, int) and times * len(sequence.elements) <= MAX_ELEMENTS:
        return TupleValue(sequence.elements * max(times, 0))
    return SequenceValue(join_all(sequence.elements), length=dims.multiply(times, len(sequence.elements)))


def _concatenated_shapes(site: Site, left: ShapeValue, right: Value) -> Value:
    if isinstance(right, ShapeValue):
        return ShapeValue(None if left.shape is None or right.shape is None else left.shape + right.shape)
    found = iterate(site, right)
    if left.shape is None or found.elements is None:
        return ShapeValue(None)
    return ShapeValue(left.shape + tuple(number_of(element) for element in found.elements))


def _objects(site: Site, symbol: str, left: Value, right: Value, *, in_place: bool) -> Value | None:
    frame = site.frame
    name = _METHODS[symbol]
    if isinstance(left, Reference):
        content = frame.state.get((left.object, ITEMS))
        kind = site.engine.objects.facts[left.object].kind
        if isinstance(content, FrozenList) and kind is ObjectKind.LIST:
            return _list_operator(site, symbol, left, content, right, in_place=in_place)
        if isinstance(content, FrozenDict) and symbol == "|" and isinstance(right, Reference):
            return UNKNOWN
        if isinstance(content, FrozenList) and kind is ObjectKind.SET and symbol in "|&-^" and not in_place:
            other = frame.state.get((right.object, ITEMS)) if isinstance(right, Reference) else None
            found = list_element(other) if isinstance(other, FrozenList) and symbol in "|^" else BOTTOM
            return new_set(site, join(list_element(content), found), site.engine.objects.facts[left.object].name)
        for method_name in ([f"__i{name}__"] if in_place else []) + [f"__{name}__"]:
            method = find_method(site, left, method_name)
            if method is not None:
                return site.call(method, CallArguments((right,)))
    if isinstance(right, Reference):
        content = frame.state.get((right.object, ITEMS))
        if (
            isinstance(content, FrozenList)
            and content.elements is not None
            and symbol == "*"
            and _leaves_lists("*", left)
        ):
            times = number_of(left)
            if isinstance(times, int) and 0 <= times * len(content.elements) <= MAX_ELEMENTS:
                return new_list(site, FrozenList(content.elements * times))
            length = dims.multiply(times, list_length(content))
            return new_list(site, FrozenList(None, list_element(content), length))
        method = find_method(site, right, f"__r{name}__")
        if method is not None:
            return site.call(method, CallArguments((left,)))
    return None


def _leaves_lists(symbol: str, other: Value) -> bool:
    """Whether a list's own operator applies with this operand. With arrays (including NumPy scalars) and tensors it does not:

    they convert the list, also in place. Unknown values are assumed to be lists or numbers.
    """
    return not isinstance(other, TensorValue) or (symbol == "*" and other.kind is TensorKind.NUMPY_SCALAR)


def _list_operator(
    site: Site, symbol: str, left: Reference, content: FrozenList, right: Value, *, in_place: bool
) -> Value | None:
    frame = site.frame
    if not _leaves_lists(symbol, right):
        return None
    if symbol == "+":
        more = iterate(site, right)
        if in_place:
            single = frame.state.get((left.object, EXISTS)) != FALSE
            extend_list(frame, left.object, more, single=single)
            write_effect(site, left.object, ITEMS, "+= on a list")
            return left
        if (
            content.elements is not None
            and more.elements is not None
            and len(content.elements) + len(more.elements) <= MAX_ELEMENTS
        ):
            return new_list(site, FrozenList(content.elements + more.elements))
        length = dims.add(list_length(content), more.length)
        return new_list(site, FrozenList(None, join(list_element(content), more.element), length))
    if symbol == "*":
        times = number_of(right)
        if (
            content.elements is not None
            and isinstance(times, int)
            and 0 <= times * len(content.elements) <= MAX_ELEMENTS
        ):
            return new_list(site, FrozenList(content.elements * times))
        length = dims.multiply(times, list_length(content))
        return new_list(site, FrozenList(None, list_element(content), length))
    return None


def compare(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.Compare)
    frame = site.frame
    left, right = frame.value(op.left), frame.value(op.right)
    if op.operator not in ("is", "is not"):
        note_contents(site, left)
        note_contents(site, right)
    lefts, rights = members(left), members(right)
    if len(lefts) * len(rights) > _MAX_COMBINATIONS:
        return UNKNOWN if op.operator in COMPARISON else UNKNOWN_BOOL
    return over_combinations(
        site, op.operator, [(a, b) for a in lefts for b in rights], lambda pair: _compare(site, op, pair[0], pair[1])
    )


def _compare(site: Site, op: ops.Compare, left: Value, right: Value) -> Value:
    result = _compared(site, op, left, right)
    if isinstance(result, Scalar) and any(speaks_of_release(freeze(site.frame, side)) for side in (left, right)):
        return of_release(result)
    if op.operator in COMPARISON and (is_symbolic_number(left) or is_symbolic_number(right)):
        return join_all(as_symbolic(member) for member in members(result))
    if (
        op.operator in COMPARISON
        and isinstance(result, Scalar)
        and (is_length_in_graph(left) or is_length_in_graph(right))
    ):
        return as_symbolic(result)
    return result


def _compared(site: Site, op: ops.Compare, left: Value, right: Value) -> Value:
    frame = site.frame
    symbol = op.operator
    if symbol in ("is", "is not"):
        same = _identical(left, right)
        return UNKNOWN_BOOL if same is None else Constant(same is (symbol == "is"))
    if symbol in ("in", "not in"):
        return _contains(site, symbol, left, right)
    if isinstance(left, Constant) and isinstance(right, Constant):
        try:
            return Constant(COMPARISON[symbol](left.value, right.value))
        except TypeError:
            return UNKNOWN_BOOL
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        for one, two in zip(left.elements, right.elements, strict=False) if symbol in ("==", "!=") else ():
            run_equality(site, one, two)
        decided = _compared_tuples(symbol, left.elements, right.elements)
        return UNKNOWN_BOOL if decided is None else Constant(decided)
    tensor_like = [side for side in (left, right) if isinstance(side, TensorValue)]
    if tensor_like:
        if isinstance(left, UnknownValue) or isinstance(right, UnknownValue):
            return _with_unknown(site, symbol, left, right)
        if any(_is_other_object(frame, side) for side in (left, right)):
            return UNKNOWN
        return compare_rule(symbol, freeze(frame, left), freeze(frame, right))
    if isinstance(left, ShapeValue) and isinstance(right, ShapeValue) and symbol in ("==", "!="):
        agree = compatible(left.shape, right.shape)
        return UNKNOWN_BOOL if agree is dims.Truth.UNKNOWN else Constant((agree is dims.Truth.YES) is (symbol == "=="))
    if symbol not in ("==", "!=") and (_holds_arrays(frame, left) or _holds_arrays(frame, right)):
        return UNKNOWN
    left_dim, right_dim = dim_of(left), dim_of(right)
    if symbol in ("==", "!=") and python_type(left) is python_type(right) is PythonType.INT:
        answer = dims.same_number(left_dim, right_dim)
        if answer is not dims.Truth.UNKNOWN:
            return Constant((answer is dims.Truth.YES) is (symbol == "=="))
    if symbol in ("==", "!=") and _plain(left) and _plain(right):
        same = _equal(left, right)
        return UNKNOWN_BOOL if same is None else Constant(same is (symbol == "=="))
    if isinstance(left, Reference):
        method = find_method(site, left, f"__{_COMPARE_METHODS[symbol]}__")
        if method is not None and not isinstance(method, LibraryValue):
            return site.call(method, CallArguments((right,)))
        if symbol == "!=":
            run_equality(site, left, right)
        elif symbol == "==" and isinstance(right, Reference):
            _compare_items(site, left, right)
        return UNKNOWN_BOOL
    unknown = [side for side in (left, right) if isinstance(side, UnknownValue)]
    if any(side.may_be_tensor for side in unknown):
        return UNKNOWN
    # comparisons with an array or table of another library return one of these, too
    return UnknownValue(may_be_tensor=False) if unknown else UNKNOWN_BOOL


def _compare_items(site: Site, left: Reference, right: Reference) -> None:
    """Runs the `__eq__` of the elements of two lists."""
    contents = [site.frame.state.get((each.object, ITEMS)) for each in (left, right)]
    if all(isinstance(content, FrozenList) for content in contents):
        one, two = (list_element(content) for content in contents if isinstance(content, FrozenList))
        run_equality(site, one, two)


def _compared_tuples(symbol: str, left: Sequence[Value], right: Sequence[Value]) -> bool | None:
    """The result of comparing two tuples: decided by the first differing elements, if all before are known; None if unknown."""
    for one, other in zip(left, right, strict=False):
        if not isinstance(one, Constant) or not isinstance(other, Constant):
            return None
        if one.value != other.value:
            try:
                return bool(COMPARISON[symbol](one.value, other.value))
            except TypeError:
                return None
    return bool(COMPARISON[symbol](len(left), len(right)))


def _equal(left: Value, right: Value) -> bool | None:
    """Whether two values are equal, if one of them is a library entity; None if unknown.

    Functions, classes and modules of libraries are equal only to themselves. The result is unknown for a library constant of unknown
    value.
    """
    if isinstance(left, Constant) and isinstance(right, Constant):
        return bool(left.value == right.value)
    sides = (left, right)
    if not all(isinstance(side, Constant | LibraryValue) for side in sides):
        return None
    if left == right:
        return True
    named = [side for side in sides if isinstance(side, LibraryValue)]
    return False if any(registry.is_definition(side.name) for side in named) else None


def _holds_arrays(frame: Frame, value: Value) -> bool:
    """Whether a list or tuple has elements that define comparison themselves."""
    content = frame.state.get((value.object, ITEMS)) if isinstance(value, Reference) else value
    elements = content.elements if isinstance(content, FrozenList | TupleValue) else None
    return any(isinstance(element, TensorValue) for element in elements or ())


def _is_other_object(frame: Frame, value: Value) -> bool:
    """Whether a value is an object that a library does not convert to a tensor implicitly."""
    return isinstance(value, Reference) and not isinstance(frame.state.get((value.object, ITEMS)), FrozenList)


def _plain(value: Value) -> bool:
    """Whether comparing the value gives a bool: it is not a tensor, an array or an object with its own comparison methods."""
    return not isinstance(value, TensorValue | Reference | UnknownValue)


def _identical(left: Value, right: Value) -> bool | None:
    for one, other in ((left, right), (right, left)):
        if one == NONE:
            if other == NONE:
                return True
            open_value = isinstance(other, UnknownValue) or _is_open_constant(other)
            return None if open_value else False
    if isinstance(left, Constant) and isinstance(right, Constant):
        if left != right:
            return False
        return True if isinstance(left.value, bool | EnumMember) or left.value is Ellipsis else None
    if isinstance(left, LibraryValue | ModuleValue | FunctionValue) and isinstance(
        right, LibraryValue | ModuleValue | FunctionValue
    ):
        return None if left != right and _is_open_constant(left) and _is_open_constant(right) else left == right
    return None


def _is_open_constant(value: Value) -> bool:
    """Whether the value is a library constant of unknown value, which may be None."""
    return isinstance(value, LibraryValue) and not registry.is_definition(value.name)


def _contains(site: Site, symbol: str, item: Value, container: Value) -> Value:
    if isinstance(container, TupleValue) and has_objects((item, *container.elements)):
        run_equality(site, item, join_all(container.elements))
    elif isinstance(container, TupleValue) and python_type(item) is not None:
        note_comparison_with_tensor(site, *container.elements)
    if isinstance(container, Reference):
        content = site.frame.state.get((container.object, ITEMS))
        if isinstance(content, FrozenDict):
            run_hash(site, item, dict_keys_of(content))
        elif isinstance(content, FrozenList):
            elements = (list_element(content),) if content.elements is None else content.elements
            if site.engine.objects.facts[container.object].kind is ObjectKind.SET:
                run_hash(site, item, elements)
            elif has_objects((item, *elements)):
                run_equality(site, item, list_element(content))
            elif python_type(item) is not None:
                note_comparison_with_tensor(site, *elements)
        if isinstance(content, FrozenDict) and isinstance(item, Constant):
            for key, value in content.items:
                if key == item:
                    return UNKNOWN_BOOL if UNBOUND in members(value) else Constant(symbol == "in")
            if content.rest is None:
                return Constant(symbol == "not in")
            return UNKNOWN_BOOL
        if content is None:
            method = find_method(site, container, "__contains__")
            if method is not None:
                site.call(method, CallArguments((item,)))
            return UNKNOWN_BOOL
    if isinstance(container, Constant) and isinstance(item, Constant):
        try:
            return Constant((item.value in container.value) is (symbol == "in"))  # type: ignore[operator]
        except TypeError:
            return UNKNOWN_BOOL
    if isinstance(container, TupleValue | Reference) and isinstance(item, Constant | LibraryValue):
        found = iterate(site, container)
        if found.elements is not None:
            answers = [_equal(element, item) for element in found.elements]
            if True in answers or None not in answers:
                return Constant((True in answers) is (symbol == "in"))
    return UNKNOWN_BOOL


HANDLERS: dict[type[Op], OpHandler] = {
    ops.Unary: unary,
    ops.Binary: binary,
    ops.Compare: compare,
}
