"""Python's operators on tensors, variables and arrays.

Computes: the result of `left <op> right`, `<op> value`, comparisons and `value[index]` where at least one operand is an array. Gives:
`operator_rule`, `with_unknown`, `unary_rule`, `compare_rule`, `index_rule`, and `convert_rule` for values that are converted to tensors.
Operators of two Python numbers are not handled here; those of NumPy are in `numpy_operators`.

Source: TensorFlow 2.21 (`tf.Tensor.__add__` and others, `tf.Tensor.__getitem__`), NumPy 2 (basic and advanced indexing).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import EllipsisType
from typing import Final

from terra_refactor.domain.dim import Dim, Why, definitely_different, eager, format_dim
from terra_refactor.domain.dtype import BOOL, COMPLEX, FLOAT32, FLOATING, INTEGER, STRING, DType
from terra_refactor.domain.lattice import join, list_element, python_type
from terra_refactor.domain.roots import EVERYWHERE, KNOWN, Traced
from terra_refactor.domain.shape import Shape, broadcast, format_shape
from terra_refactor.domain.tensor import UNKNOWN_TENSOR_TYPE, TensorType
from terra_refactor.domain.traced import (
    content_roots,
    first_roots,
    whole_content_roots,
    with_content_open,
    with_first_open,
)
from terra_refactor.domain.value import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    UNKNOWN_BOOL,
    Constant,
    FrozenList,
    PythonType,
    Scalar,
    SliceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model.arguments import integer
from terra_refactor.tf_model.dtype_rules import (
    NOT_SIGNED,
    REFUSED,
    quotient_dtype,
)
from terra_refactor.tf_model.numpy_dtypes import real_dtype
from terra_refactor.tf_model.numpy_operators import (
    numpy_comparison,
    numpy_in_place,
    numpy_operator,
    numpy_unary,
)
from terra_refactor.tf_model.ops.contents import content_result, negated_content
from terra_refactor.tf_model.ops.conversion import NDARRAYS, Operand, convert_rule, fits, operand
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.shape_rules.indexing import slice_size
from terra_refactor.tf_model.shape_rules.matmul import matmul_shape
from terra_refactor.tf_model.spec import ErrorKind, OperationError

__all__ = ["compare_rule", "convert_rule", "index_rule", "operator_rule", "unary_rule", "with_unknown"]

_COMPARISONS: Final = frozenset({"<", "<=", ">", ">=", "==", "!="})
_OPERANDS: Final = ("left", "right")
_NOT_OF_TENSORS: Final = frozenset({"<<", ">>"})
_LEFT_TO_NUMPY: Final[Mapping[DType, str]] = {BOOL: "/", STRING: "*"}
"""For each dtype, the operators for which a tensor defers to an array operand."""


def operator_rule(op: str, left: Value, right: Value, *, in_place: bool = False) -> Value:
    """`left <op> right` for `+ - * / // % ** @ & | ^ << >>`, or `left <op>= right`, which keeps the type of an ndarray.

    Returns `UNKNOWN` if neither operand is an array. Raises OperationError if the operation certainly fails.
    """
    if not isinstance(left, TensorValue) and not isinstance(right, TensorValue):
        return UNKNOWN
    if not _is_tensor(left) and not _is_tensor(right):
        if in_place and isinstance(left, TensorValue) and left.kind is TensorKind.NDARRAY:
            return numpy_in_place(op, left, right)
        made = numpy_operator(op, left, right)
        if not isinstance(made, TensorValue):
            return made
        return replace(made, content=content_result(op, operand(left).content, operand(right).content, made.type.dtype))
    first, second = operand(left), operand(right)
    composite = _composite_result(op, first, second)
    if composite is not None:
        return composite
    if op in _NOT_OF_TENSORS:
        return _without_operator(op, left, right)
    if second.is_ndarray and first.type.dtype is not None and op in _LEFT_TO_NUMPY.get(first.type.dtype, ""):
        return UNKNOWN
    dtype = _tensor_operand_dtype(op, first, second)
    if op == "/":
        dtype = quotient_dtype(dtype)
    kind = TensorKind.KERAS if TensorKind.KERAS in (first.kind, second.kind) else TensorKind.TENSOR
    if op == "@":
        shape = matmul_shape(first.type.shape, second.type.shape, arguments=_OPERANDS)
    elif first.known and second.known:
        shape = broadcast_shapes(first.type.shape, second.type.shape, f"operator {op}", _OPERANDS)
    else:
        shape = None
    content = content_result(op, first.content, second.content, dtype)
    return TensorValue(TensorType(dtype, shape), kind, content, traced=_traced_of(content, left, right))


def _traced_of(known: Value | None, *operands: Value) -> Traced:
    """The open parts of an element-wise result, other than its sizes and the `known` content."""
    content = rank = 0
    for value in operands:
        content |= content_roots(value) if known is None else whole_content_roots(value)
        if isinstance(value, TensorValue):
            rank |= value.traced.rank
    first = first_roots(*operands) if any(_may_lack_rank(value) for value in operands) else 0
    return Traced(content, rank, first) if content or rank or first else KNOWN


def _may_lack_rank(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.type.shape is None


def with_unknown(op: str, tensor: TensorValue, other: UnknownValue, *, reflected: bool = False) -> Value:
    """`tensor <op> other` or `other <op> tensor` for an unknown other operand: the properties that hold for all.

    Ignores program objects with operator methods, ragged and sparse tensors.
    """
    if op in _COMPARISONS:
        if tensor.kind in NDARRAYS:
            return UnknownValue(other.may_be_tensor)
        compared = TensorValue(TensorType(BOOL), _result_kind(tensor))
        # only a comparison with None does not give a tensor
        return compared if op not in ("==", "!=") else join(compared, FALSE if op == "==" else TRUE)
    dtype = tensor.type.dtype
    if tensor.kind not in (TensorKind.TENSOR, TensorKind.VARIABLE, TensorKind.KERAS):
        return UnknownValue(other.may_be_tensor or tensor.kind not in NDARRAYS)
    if (
        op in _NOT_OF_TENSORS
        or (op == "%" and reflected)
        or (dtype is not None and op in _LEFT_TO_NUMPY.get(dtype, ""))
    ):
        return UNKNOWN
    if op == "*" and dtype != BOOL and other.may_be_tensor:
        # bools multiplied by anything are bools
        dtype = None
    if tensor.kind is TensorKind.KERAS:
        # Keras promotes
        dtype = None
    return TensorValue(TensorType(quotient_dtype(dtype) if op == "/" else dtype), _result_kind(tensor))


def _result_kind(tensor: TensorValue) -> TensorKind:
    return TensorKind.TENSOR if tensor.kind is TensorKind.VARIABLE else tensor.kind


def _is_tensor(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.kind not in NDARRAYS


def _without_operator(op: str, left: Value, right: Value) -> Value:
    """An operator that tensors do not have: NumPy's if the other operand is an array."""
    if any(isinstance(side, TensorValue) and side.kind in NDARRAYS for side in (left, right)):
        return UNKNOWN
    raise OperationError(ErrorKind.DTYPE, f"operator {op}: tensors do not support it", _OPERANDS)


def compare_rule(op: str, left: Value, right: Value) -> Value:
    """`left <op> right` for `< <= > >= == !=`; `in` and `not in` give a bool."""
    if op not in _COMPARISONS:
        return UNKNOWN_BOOL
    if not isinstance(left, TensorValue) and not isinstance(right, TensorValue):
        return UNKNOWN
    if not _is_tensor(left) and not _is_tensor(right):
        return numpy_comparison(op, left, right)
    if op in ("==", "!=") and NONE in (left, right):
        return FALSE if op == "==" else TRUE
    first, second = operand(left), operand(right)
    composite = _composite_result(op, first, second)
    if composite is not None:
        return composite
    _tensor_operand_dtype(op, first, second)
    kind = TensorKind.KERAS if TensorKind.KERAS in (first.kind, second.kind) else TensorKind.TENSOR
    if not (first.known and second.known):
        return TensorValue(TensorType(BOOL), kind, traced=_traced_of(None, left, right))
    try:
        shape = broadcast_shapes(first.type.shape, second.type.shape, f"operator {op}", _OPERANDS)
    except OperationError:
        if op in ("==", "!=") and kind is TensorKind.TENSOR:
            # `==` of tensors that cannot be broadcast is a single False (for !=, True), not an error
            return TensorValue(TensorType(BOOL, ()))
        raise
    return TensorValue(TensorType(BOOL, shape), kind, traced=_traced_of(None, left, right))


def unary_rule(op: str, value: Value) -> Value:
    """`-value`, `+value`, `~value`, and `abs` for `abs(value)`; `not` gives a bool."""
    if op == "not":
        return UNKNOWN_BOOL
    if not isinstance(value, TensorValue):
        return UNKNOWN
    if value.kind in NDARRAYS:
        return numpy_unary(op, value)
    dtype = value.type.dtype
    if op == "+":
        return UNKNOWN
    if op == "-" and dtype in NOT_SIGNED:
        raise OperationError(ErrorKind.DTYPE, f"operator -: a tensor of dtype {dtype} cannot be negated", ("value",))
    if op == "~" and dtype is not None and dtype != BOOL and dtype not in INTEGER:
        raise OperationError(
            ErrorKind.DTYPE, f"operator ~: a tensor of dtype {dtype} is neither bool nor integer", ("value",)
        )
    if op == "abs":
        dtype = real_dtype(dtype)
    content = negated_content(value.content, dtype) if op == "-" else None
    traced = _traced_of(content, value)
    return TensorValue(TensorType(dtype, value.type.shape), _result_kind(value), content, traced=traced)


def _composite_result(op: str, first: Operand, second: Operand) -> Value | None:
    """The result if one operand is a ragged or sparse tensor; None otherwise."""
    kinds = (first.kind, second.kind)
    if TensorKind.RAGGED in kinds:
        dtype = BOOL if op in _COMPARISONS else _tensor_operand_dtype(op, first, second)
        if op == "/":
            dtype = quotient_dtype(dtype)
        ragged = first if first.kind is TensorKind.RAGGED else second
        other = second if ragged is first else first
        keeps = other.kind is not TensorKind.RAGGED and other.known and other.type.shape == ()
        return TensorValue(TensorType(dtype, ragged.type.shape if keeps else None), TensorKind.RAGGED)
    if TensorKind.SPARSE in kinds:
        if op not in ("*", "/") or first.kind is not TensorKind.SPARSE or second.kind is TensorKind.SPARSE:
            return UNKNOWN
        # the dense operand is broadcast to the positions of the sparse one
        dtype = _tensor_operand_dtype(op, first, second)
        dtype = quotient_dtype(dtype) if op == "/" else dtype
        return TensorValue(TensorType(dtype, first.type.shape), TensorKind.SPARSE)
    return None


def _tensor_operand_dtype(op: str, first: Operand, second: Operand) -> DType | None:
    """The dtype in which an operator computes on two operands, at least one of them a TensorFlow tensor."""
    left, right = first.type.dtype, second.type.dtype
    keras = TensorKind.KERAS in (first.kind, second.kind)
    if keras:
        return _keras_dtype(op, first, second)
    if first.is_tensor and second.is_tensor:
        if op == "*" and BOOL in (left, right):
            return BOOL
        if left is not None and right is not None and left != right:
            raise OperationError(
                ErrorKind.DTYPE,
                f"operator {op}: a tensor of dtype {left} (shape {format_shape(first.type.shape)}) and one of dtype {right} "
                f"(shape {format_shape(second.type.shape)}); TensorFlow does not promote",
                _OPERANDS,
            )
        # the other one may be a bool, for which * has a result of another dtype
        dtype = (left or right) if op != "*" or (left is not None and right is not None) else None
    else:
        tensor, other = (first, second) if first.is_tensor else (second, first)
        dtype = tensor.type.dtype
        if op == "*" and dtype == BOOL:
            return BOOL
        if other.weak and not fits(other, dtype):
            raise OperationError(
                ErrorKind.DTYPE,
                f"operator {op}: a tensor of dtype {dtype} and a Python value of dtype {other.type.dtype}",
                _OPERANDS,
            )
        if op == "*" and not other.known:
            # an unknown operand may be a bool tensor
            return dtype
    if dtype is not None and dtype in REFUSED.get(op, frozenset()):
        raise OperationError(ErrorKind.DTYPE, f"operator {op}: tensors of dtype {dtype} do not support it", _OPERANDS)
    return dtype


def _keras_dtype(op: str, first: Operand, second: Operand) -> DType | None:
    """Keras 3 promotes dtypes; only cases that need no promotion table are handled here."""
    left, right = first.type.dtype, second.type.dtype
    if left == right:
        return FLOAT32 if op == "/" and left in INTEGER else left
    symbolic, other = (first, second) if first.kind is TensorKind.KERAS else (second, first)
    if (
        other.weak
        and symbolic.type.dtype in FLOATING
        and other.type.dtype is not None
        and other.type.dtype not in COMPLEX
    ):
        return symbolic.type.dtype
    return None


# --- indexing -------------------------------------------------------------------------------------------------------------------


def index_rule(value: Value, index: Value) -> Value:
    """`value[index]` of a tensor, variable or array: ints, slices, None, `...`, tensors, boolean masks, and for arrays index arrays.

    Raises OperationError if there are more indices than axes, or a known index is out of range.
    """
    if not isinstance(value, TensorValue):
        return UNKNOWN
    kind = TensorKind.TENSOR if value.kind is TensorKind.VARIABLE else value.kind
    dtype, shape = value.type.dtype, value.type.shape
    parts = index.elements if isinstance(index, TupleValue) else (index,)
    if kind in (TensorKind.SPARSE, TensorKind.INDEXED_SLICES):
        return UNKNOWN
    if kind is TensorKind.RAGGED:
        return _ragged_item(value, parts)
    array = kind in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR)
    if array and shape == () and (dtype is None or dtype == STRING):
        return UNKNOWN  # the item of an array of texts is a text, and one of objects anything
    if array and any(_is_text(part) for part in parts):
        # a field of a structured array, which may be an array per element
        return TensorValue(TensorType(None, None), TensorKind.NDARRAY)
    if array and isinstance(index, FrozenList) and any(map(_is_text, members(list_element(index)))):
        # several fields of each element
        return TensorValue(TensorType(None, shape), TensorKind.NDARRAY)
    if isinstance(index, FrozenList) and not array:
        # TensorFlow applies the elements of a list to the axes in turn, like those of a tuple
        if index.elements is None:
            return TensorValue(
                TensorType(dtype, None), kind, traced=Traced(content=content_roots(value), rank=value.traced.rank)
            )
        parts = index.elements
    mask = _mask_shape(index)
    roots = content_roots(value) | content_roots(index)
    if mask is not False:
        masked = TensorValue(TensorType(dtype, masked_shape(shape, mask)), kind)
        return masked if array else with_content_open(with_first_open(masked, EVERYWHERE, Why.CONTENT), roots)
    if any(not _basic(part) for part in parts):
        if array:
            return TensorValue(TensorType(dtype, _advanced_shape(shape, parts)), kind)
        for part in parts:
            if isinstance(part, FrozenList) or (
                # a vector of bools is a mask
                isinstance(part, TensorValue)
                and part.type.dtype is not None
                and part.type.shape is not None
                and len(part.type.shape) == 1
            ):
                if kind is TensorKind.KERAS or value.type == UNKNOWN_TENSOR_TYPE:
                    # a value known only by its use may be an array
                    break
                raise OperationError(
                    ErrorKind.RANK,
                    f"a tensor of shape {format_shape(shape)} is indexed with a vector; only numbers and slices index tensors "
                    "(tf.gather takes vectors)",
                    ("index",),
                )
        return TensorValue(TensorType(dtype, None), kind, traced=Traced(content=roots, rank=value.traced.rank))
    result = _basic_shape(shape, parts)
    content = _content_item(value.content, parts)
    if array and result == ():
        kind = TensorKind.NUMPY_SCALAR
    traced = KNOWN
    if not array:
        first = parts[0] if parts else NONE
        is_slice = isinstance(first, SliceValue)
        traced = Traced(
            content=roots if content is None else value.traced.content,
            rank=value.traced.rank,
            first=(value.traced.first | content_roots(first)) if result is None and is_slice else 0,
        )
    return TensorValue(TensorType(dtype, result), kind, content, traced=traced)


def _is_text(part: Value) -> bool:
    return isinstance(part, Constant | Scalar) and python_type(part) is PythonType.STR


def _basic(part: Value) -> bool:
    """A number, slice, None or `...`: an index that changes one axis independently of others."""
    match part:
        case Constant(bool()):
            return False
        case Constant(int() | None | EllipsisType()) | SliceValue():
            return True
        case Scalar(PythonType.INT):
            return True
        case TensorValue(TensorType(dtype, shape)):
            return shape == () and (dtype in INTEGER)
        case _:
            return False


def _mask_shape(index: Value) -> Shape | bool:
    """The shape of a boolean mask; False if the index is not a mask."""
    if isinstance(index, TensorValue) and index.type.dtype == BOOL:
        return index.type.shape
    return False


def masked_shape(shape: Shape, mask: Shape | bool, axis: int = 0) -> Shape:
    """The shape of `boolean_mask`: the masked axes become one of unknown size.

    Raises OperationError if the mask has too many axes, or another size.
    """
    if isinstance(mask, bool) or mask is None or shape is None:
        return None
    if len(mask) > len(shape) - axis:
        raise OperationError(
            ErrorKind.RANK,
            f"a mask of shape {format_shape(mask)} does not fit a tensor of shape {format_shape(shape)}",
            ("mask",),
        )
    for number, (wanted, given) in enumerate(zip(shape[axis:], mask, strict=False)):
        if definitely_different(wanted, given):
            raise OperationError(
                ErrorKind.SHAPE,
                f"a mask of shape {format_shape(mask)} does not fit a tensor of shape {format_shape(shape)} "
                f"(axis {axis + number}: {format_dim(wanted)} and {format_dim(given)})",
                ("mask",),
            )
    return (*shape[:axis], None, *shape[axis + len(mask) :])


def _consumes_axis(part: Value) -> bool:
    return not (isinstance(part, Constant) and (part.value is None or isinstance(part.value, EllipsisType)))


def _basic_shape(shape: Shape, parts: tuple[Value, ...]) -> Shape:
    axes = sum(1 for part in parts if _consumes_axis(part))
    if shape is None:
        return None
    if axes > len(shape):
        raise OperationError(
            ErrorKind.RANK,
            f"{axes} indices for a tensor of shape {format_shape(shape)}, which has {len(shape)} axes",
            ("index",),
        )
    result: list[Dim] = []
    axis = 0
    for part in parts:
        match part:
            case Constant(None):
                result.append(1)
            case Constant(EllipsisType()):
                spread = len(shape) - axes
                result.extend(shape[axis : axis + spread])
                axis += spread
                # a second `...` selects no axes
            case SliceValue(lower, upper, step):
                result.append(_sliced(shape[axis], lower, upper, step))
                axis += 1
            case _:
                _check_index(shape, axis, integer(part))
                axis += 1
    return (*result, *shape[axis:])


def _sliced(size: Dim, lower: Value, upper: Value, step: Value) -> Dim:
    has_start, has_stop = lower != NONE, upper != NONE
    stride = 1 if step == NONE else integer(step)
    return slice_size(
        size,
        integer(lower),
        integer(upper),
        stride if isinstance(stride, int) else None,
        has_start=has_start,
        has_stop=has_stop,
    )


def _check_index(shape: tuple[Dim, ...], axis: int, number: Dim) -> None:
    size = shape[axis]
    size = eager(size)
    if isinstance(number, int) and isinstance(size, int) and not -size <= number < size:
        raise OperationError(
            ErrorKind.SHAPE,
            f"index {number} is out of range for axis {axis} of size {size} (shape {format_shape(shape)})",
            ("index",),
        )


def _listed_numbers(part: Value) -> Iterator[Value]:
    """The known elements of an index array, at any nesting."""
    content = part.content if isinstance(part, TensorValue) else part
    if isinstance(content, FrozenList | TupleValue):
        for item in content.elements or ():
            yield item
            yield from _listed_numbers(item)


def _content_item(content: Value | None, parts: tuple[Value, ...]) -> Value | None:
    """The content of a part of a small tensor, if every index is a known number or slice."""
    if content is None or not parts:
        return content
    if not isinstance(content, TupleValue):
        return None
    head, rest = parts[0], parts[1:]
    if isinstance(head, SliceValue):
        bounds: list[int | None] = []
        for bound in (head.lower, head.upper, head.step):
            known = None if bound == NONE else integer(bound)
            if bound != NONE and not isinstance(known, int):
                return None
            bounds.append(known if isinstance(known, int) else None)
        items = content.elements[slice(bounds[0], bounds[1], bounds[2])]
        if not rest:
            return TupleValue(items)
        inner = [_content_item(item, rest) for item in items]
        known_items = tuple(item for item in inner if item is not None)
        return TupleValue(known_items) if len(known_items) == len(inner) else None
    number = integer(head)
    if (
        not _consumes_axis(head)
        or not isinstance(number, int)
        or not -len(content.elements) <= number < len(content.elements)
    ):
        return None
    return _content_item(content.elements[number], rest)


def _ragged_item(value: TensorValue, parts: tuple[Value, ...]) -> Value:
    """An item of a ragged tensor: slices of its axes (ragged axes stay ragged), or one row."""
    shape = value.type.shape
    if shape is None or len(parts) > len(shape) or not parts:
        return UNKNOWN
    sizes: list[Dim] = []
    for axis, part in enumerate(parts):
        if not isinstance(part, SliceValue):
            if axis or not _basic(part) or not _consumes_axis(part):
                return UNKNOWN
            continue
        is_ragged = axis > 0 and shape[axis] is None
        sizes.append(None if is_ragged else _sliced(shape[axis], part.lower, part.upper, part.step))
        if axis > 0 and not is_ragged and sizes[-1] is None:
            return TensorValue(TensorType(value.type.dtype), TensorKind.RAGGED)
    rest = (*sizes, *shape[len(parts) :])
    is_row = not isinstance(parts[0], SliceValue)
    kind = TensorKind.TENSOR if is_row and None not in rest[1:] else TensorKind.RAGGED
    return TensorValue(TensorType(value.type.dtype, rest), kind)


def _advanced_shape(shape: Shape, parts: tuple[Value, ...]) -> Shape:
    """NumPy's advanced indexing: index arrays are broadcast together; their axes take their position, or come first if the index arrays
    were not adjacent.
    """
    if shape is None:
        return None
    result: list[Dim] = []
    index_shape: Shape = ()
    position: int | None = None
    last_advanced: int | None = None
    apart = False
    consumed = 0
    for part in parts:
        if _basic(part):
            consumed += 1 if _consumes_axis(part) else 0
        else:
            converted = operand(part)
            if converted.type.shape is None or converted.type.dtype is None or not converted.known:
                return None
            consumed += len(converted.type.shape) if converted.type.dtype == BOOL else 1
    if consumed > len(shape):
        raise OperationError(
            ErrorKind.RANK,
            f"{consumed} indices for an array of shape {format_shape(shape)}, which has {len(shape)} axes",
            ("index",),
        )
    axis = 0
    for number, part in enumerate(parts):
        if isinstance(part, Constant) and part.value is None:
            result.append(1)
        elif isinstance(part, Constant) and isinstance(part.value, EllipsisType):
            spread = len(shape) - consumed
            result.extend(shape[axis : axis + spread])
            axis += spread
        elif isinstance(part, SliceValue):
            result.append(_sliced(shape[axis], part.lower, part.upper, part.step))
            axis += 1
        else:
            converted = operand(part)
            part_shape = converted.type.shape
            assert part_shape is not None
            if converted.type.dtype == BOOL:
                if not part_shape:
                    return None
                masked_shape(shape[axis:], part_shape)
                axis += len(part_shape)
                part_shape = (None,)
            else:
                for each in (part, *_listed_numbers(part)):
                    _check_index(shape, axis, integer(each))
                axis += 1
            index_shape = broadcast(index_shape, part_shape)
            if position is None:
                position = len(result)
            elif last_advanced != number - 1:
                apart = True
            last_advanced = number
    result.extend(shape[axis:])
    if index_shape is None or position is None:
        return None
    at = 0 if apart else position
    return (*result[:at], *index_shape, *result[at:])
