"""The traced view of values: the parts that are open while a graph is traced, and for which graph (adr/0012).

A value describes eager execution. In addition, marks denote its parts that are not static while a graph is traced:
sizes (`OpenDim`), and the content or rank of a tensor (`Traced`). Marks are relative to a graph (`roots.py`): a batch
size is open in the function that takes the batch from a dataset, but known in a graph that begins at the function
that receives it. So marks are shifted at the boundary of each call. Open sizes from a dataset or spec hold for any
graph, and are not shifted.

Computes: the marks of values. Gives: `seen_inside`, `seen_outside`, `as_given`, `without_marks`, `content_roots`. The
marks are a may-analysis: a join is open if one of its sides is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from terra_refactor.domain.dim import Dim, OpenDim, Why, eager, opened, roots_of
from terra_refactor.domain.roots import EVERYWHERE, HERE, KNOWN, Traced, inward, root_in_caller
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    BoundMethod,
    Constant,
    DatasetValue,
    FrozenDict,
    FrozenList,
    PartialValue,
    PythonType,
    RangeValue,
    Scalar,
    SequenceValue,
    ShapeValue,
    SliceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
)

_Shift = Callable[[int], int]
_SIMPLE: Final = frozenset({Scalar, TensorValue, ShapeValue})
_NESTED: Final = frozenset(
    {
        *(TupleValue, SequenceValue, FrozenList, FrozenDict, RangeValue, SliceValue, PartialValue),
        *(BoundMethod, UnionValue),
    }
)
_PLACEHOLDERS: Final = frozenset({TensorKind.TENSOR, TensorKind.SPARSE, TensorKind.RAGGED})
"""Values that become placeholders as arguments of a graph."""


def is_marked(value: Value) -> bool:
    """Whether a part of the value is open."""
    kind = type(value)
    if kind in _SIMPLE:
        return _is_marked_itself(value)
    if kind not in _NESTED:
        return False
    try:
        return value.marked  # type: ignore[union-attr]
    except AttributeError:
        found = any(map(is_marked, _parts(value))) or _has_open_length(value)
        object.__setattr__(value, "marked", found)
        return found


def _is_marked_itself(value: Value) -> bool:
    match value:
        case Scalar(dim=dim):
            return type(dim) is OpenDim
        case TensorValue(type=own, content=content, traced=traced):
            return (
                (traced is not KNOWN and traced != KNOWN)
                or (own.shape is not None and any(type(dim) is OpenDim for dim in own.shape))
                or (content is not None and is_marked(content))
            )
        case ShapeValue(shape=shape, traced=traced):
            return traced != KNOWN or (shape is not None and any(type(dim) is OpenDim for dim in shape))
        case _:
            return False


def _parts(value: Value) -> tuple[Value, ...]:
    match value:
        case TupleValue(elements=elements) | UnionValue(members=elements):
            return elements
        case SequenceValue(element=element):
            return (element,)
        case FrozenList(elements=elements, element=element):
            return (*(elements or ()), *(() if element is None else (element,)))
        case FrozenDict(items=items, rest=rest):
            return (*(item for _, item in items), *(() if rest is None else (rest,)))
        case RangeValue(start, stop, step) | SliceValue(start, stop, step):
            return (start, stop, step)
        case PartialValue(arguments=arguments, keywords=keywords):
            return (*arguments, *(item for _, item in keywords))
        case BoundMethod(receiver=receiver):
            return (receiver,)
        case _:
            return ()


def _has_open_length(value: Value) -> bool:
    match value:
        case SequenceValue(length=size) | FrozenList(length=size):
            return type(size) is OpenDim
        case _:
            return False


def seen_inside(value: Value) -> Value:
    """The value as a callee sees it."""
    return _shifted(value, inward, Traced.seen_inside) if is_marked(value) else value


def seen_outside(value: Value) -> Value:
    """A callee's value as its caller sees it."""
    return _shifted(value, root_in_caller, Traced.seen_outside) if is_marked(value) else value


def without_marks(value: Value) -> Value:
    """The value without marks: that of a tensor that eager code holds."""
    return _shifted(value, lambda _: 0, lambda _: KNOWN) if is_marked(value) else value


def _shifted(value: Value, shift: _Shift, traced: Callable[[Traced], Traced]) -> Value:
    if not is_marked(value):
        return value

    def inner(part: Value) -> Value:
        return _shifted(part, shift, traced)

    match value:
        case Scalar(dim=dim):
            return replace(value, dim=_shifted_dim(dim, shift))
        case TensorValue(type=own, content=content):
            shape = _shifted_shape(own.shape, shift)
            return TensorValue(
                own if shape is own.shape else TensorType(own.dtype, shape),
                value.kind,
                None if content is None else inner(content),
                value.variable,
                traced(value.traced),
            )
        case ShapeValue(shape=shape):
            return ShapeValue(_shifted_shape(shape, shift), traced(value.traced))
        case TupleValue(elements=elements):
            return replace(value, elements=tuple(map(inner, elements)))
        case UnionValue(members=members):
            return UnionValue(tuple(dict.fromkeys(map(inner, members))))
        case SequenceValue(element=element, length=length):
            return replace(value, element=inner(element), length=_shifted_dim(length, shift))
        case FrozenList(elements=elements, element=element, length=length):
            return FrozenList(
                None if elements is None else tuple(map(inner, elements)),
                None if element is None else inner(element),
                _shifted_dim(length, shift),
            )
        case FrozenDict(items=items, rest=rest):
            return FrozenDict(tuple((key, inner(item)) for key, item in items), None if rest is None else inner(rest))
        case RangeValue(start, stop, step):
            return RangeValue(inner(start), inner(stop), inner(step))
        case SliceValue(start, stop, step):
            return SliceValue(inner(start), inner(stop), inner(step))
        case PartialValue(arguments=arguments, keywords=keywords):
            return replace(
                value,
                arguments=tuple(map(inner, arguments)),
                keywords=tuple((name, inner(item)) for name, item in keywords),
            )
        case BoundMethod(receiver=receiver):
            return replace(value, receiver=inner(receiver))
        case _:
            return value


def _shifted_dim(dim: Dim, shift: _Shift) -> Dim:
    if not isinstance(dim, OpenDim):
        return dim
    roots = shift(dim.roots)
    return OpenDim(dim.size, roots, dim.why, dim.is_tensor) if roots else dim.size


def _shifted_shape(shape: Shape, shift: _Shift) -> Shape:
    if shape is None or not any(type(dim) is OpenDim for dim in shape):
        return shape
    return tuple(_shifted_dim(dim, shift) for dim in shape)


def with_content_open(value: Value, roots: int, of_known: int | None = None) -> Value:
    """The value with the contents of its tensors open for these graphs as well; known contents for `of_known`, if given."""
    if not roots:
        return value

    def inner(part: Value) -> Value:
        return with_content_open(part, roots, of_known)

    match value:
        case TensorValue(kind=kind, traced=traced) if kind in _PLACEHOLDERS:
            wanted = roots if of_known is None or value.content is None else of_known
            return (
                value if traced.content & wanted == wanted else replace(value, traced=traced | Traced(content=wanted))
            )
        case TupleValue(elements=elements):
            found = tuple(map(inner, elements))
            return value if found == elements else replace(value, elements=found)
        case FrozenList(elements=elements, element=element):
            return FrozenList(
                None if elements is None else tuple(map(inner, elements)),
                None if element is None else inner(element),
                value.length,
            )
        case FrozenDict(items=items, rest=rest):
            return FrozenDict(tuple((key, inner(item)) for key, item in items), None if rest is None else inner(rest))
        case UnionValue(members=members):
            return UnionValue(tuple(dict.fromkeys(map(inner, members))))
        case _:
            return value


def as_given(parameters: Mapping[str, Value]) -> dict[str, Value]:
    """Arguments as the function sees them: in a graph that begins there, they are placeholders.

    Unknown contents are open for the same graphs in all of them, and marks of graphs two or more calls further out
    become marks of all graphs: this limits the number of contexts.
    """
    roots = HERE
    for value in parameters.values():
        roots |= _unknown_content_roots(value)
    if roots & ~(HERE | inward(HERE)):
        roots = EVERYWHERE
    return {name: with_content_open(value, roots, HERE) for name, value in parameters.items()}


def _unknown_content_roots(value: Value) -> int:
    match value:
        case TensorValue(content=None, kind=kind, traced=traced) if kind in _PLACEHOLDERS:
            return traced.content
        case TupleValue() | FrozenList() | FrozenDict() | UnionValue():
            found = 0
            for part in _parts(value):
                found |= _unknown_content_roots(part)
            return found
        case _:
            return 0


def has_open_size(value: Value | None) -> bool:
    """Whether a size in the value, or the known content of a tensor, is open."""
    if value is None or not is_marked(value):
        return False
    match value:
        case Scalar(dim=dim):
            return type(dim) is OpenDim
        case TensorValue(type=TensorType(shape=shape), content=content, traced=traced):
            if content is not None and (traced.content or has_open_size(content)):
                return True
            return shape is not None and any(type(dim) is OpenDim for dim in shape)
        case ShapeValue(shape=shape):
            return shape is not None and any(type(dim) is OpenDim for dim in shape)
        case _:
            return type(value) in _NESTED and (_has_open_length(value) or any(map(has_open_size, _parts(value))))


def open_number(value: Value) -> OpenDim | None:
    """An open size among the Python numbers of a list or tuple."""
    for part in _parts(value):
        if isinstance(part, Scalar) and isinstance(part.dim, OpenDim) and not part.symbolic and not part.dim.is_tensor:
            return part.dim
    return None


def with_marks_of(value: Value, marked: Value) -> Value:
    """The value with the marks of the other one; both are one result, computed without and with marks."""
    if value == marked:
        return value
    match value, marked:
        case (Constant(int() as number), Scalar(dim=OpenDim() as dim)) if type(number) is int:
            return replace(marked, dim=replace(dim, size=number))
        case UnknownValue(may_be_tensor=False), Scalar(dim=OpenDim()):
            return marked  # `as_list` of an unknown size: an int, or None while a graph is traced
        case Scalar(), Scalar(dim=OpenDim() as dim):
            return replace(value, dim=_with_mark(value.dim, dim))
        case TensorValue(), TensorValue():
            return _tensor_with_marks(value, marked)
        case ShapeValue(), ShapeValue():
            shape, first = _shape_with_marks(value.shape, marked.shape)
            return ShapeValue(shape, marked.traced | Traced(first=first))
        case TupleValue(elements=own), TupleValue(elements=others) if len(own) == len(others):
            return replace(value, elements=tuple(map(with_marks_of, own, others)))
        case UnionValue(members=own), UnionValue(members=others) if len(own) == len(others):
            return UnionValue(tuple(dict.fromkeys(map(with_marks_of, own, others))))
        case SequenceValue(), SequenceValue():
            element = with_marks_of(value.element, marked.element)
            return replace(value, element=element, length=_with_mark(value.length, marked.length))
        case FrozenList(elements=own), FrozenList(elements=others):
            elements, one = own, value.element
            if own is not None and others is not None and len(own) == len(others):
                elements = tuple(map(with_marks_of, own, others))
            elif own is not None and marked.element is not None:
                elements = tuple(with_marks_of(each, marked.element) for each in own)
            if one is not None and marked.element is not None:
                one = with_marks_of(one, marked.element)
            return FrozenList(elements, one, _with_mark(value.length, marked.length))
        case FrozenDict(items=own), FrozenDict(items=others) if len(own) == len(others):
            pairs = zip(own, others, strict=True)
            items = tuple((key, with_marks_of(item, other)) for (key, item), (_, other) in pairs)
            rest = value.rest
            return FrozenDict(items, None if rest is None or marked.rest is None else with_marks_of(rest, marked.rest))
        case DatasetValue(), DatasetValue():
            return replace(value, element=with_marks_of(value.element, marked.element))
        case _:
            return with_content_open(value, content_roots(marked))


def _tensor_with_marks(value: TensorValue, marked: TensorValue) -> TensorValue:
    shape, first = _shape_with_marks(value.type.shape, marked.type.shape)
    content, roots = value.content, 0
    if content is not None and marked.content is not None:
        content = with_marks_of(content, marked.content)
    elif marked.content is not None:
        roots = content_roots(marked.content)
    traced = marked.traced if not (roots or first) else marked.traced | Traced(content=roots, first=first)
    return TensorValue(TensorType(value.type.dtype, shape), value.kind, content, value.variable, traced)


def _shape_with_marks(shape: Shape, marked: Shape) -> tuple[Shape, int]:
    """The shape with the marks of the other one, including that of the first size if the rank is unknown."""
    if marked is None:
        return shape, 0
    if shape is None:
        return None, roots_of(marked[0]) if marked else 0
    if len(shape) != len(marked):
        return shape, 0
    return tuple(map(_with_mark, shape, marked)), 0


def _with_mark(dim: Dim, marked: Dim) -> Dim:
    return replace(marked, size=eager(dim)) if isinstance(marked, OpenDim) else dim


def content_roots(value: Value | None) -> int:
    """The graphs for which the content of a tensor, or of a tensor in a structure, is open."""
    match value:
        case TensorValue(kind=TensorKind.VARIABLE):
            return EVERYWHERE
        case TensorValue(content=content, traced=traced):
            return traced.content | (0 if content is None else content_roots(content))
        case Scalar(dim=OpenDim(roots=roots)):
            return roots
        case TupleValue() | FrozenList() | FrozenDict() | UnionValue() | SliceValue():
            found = 0
            for part in _parts(value):
                found |= content_roots(part)
            return found
        case _:
            return 0


def content_with_marks(content: Value | None, roots: int) -> Value | None:
    """The content of an int tensor, with the mark of each element."""
    if not roots:
        return content
    match content:
        case None:
            return Scalar(PythonType.INT, opened(None, roots, Why.CONTENT))
        case Constant(int() as number) if not isinstance(number, bool):
            return Scalar(PythonType.INT, opened(number, roots, Why.CONTENT))
        case Scalar(type=PythonType.INT, dim=dim):
            return replace(content, dim=opened(dim, roots, Why.CONTENT))
        case TupleValue(elements=elements):
            marked = (content_with_marks(element, roots) for element in elements)
            return replace(content, elements=tuple(each for each in marked if each is not None))
        case _:
            return content


def whole_content_roots(value: Value | None) -> int:
    """The graphs for which the whole content of a tensor is open, regardless of what is known about its elements."""
    match value:
        case TensorValue(kind=TensorKind.VARIABLE):
            return EVERYWHERE
        case TensorValue(traced=traced):
            return traced.content
        case UnionValue(members=members):
            found = 0
            for member in members:
                found |= whole_content_roots(member)
            return found
        case _:
            return 0


def first_roots(*operands: Value) -> int:
    """The roots for which the first size of an element-wise result of unknown rank is open: the first size of each operand
    is open, numbers and scalars aside; 0 if one of them may be known.
    """
    found = 0
    for value in operands:
        if isinstance(value, UnknownValue):
            return 0
        if isinstance(value, TensorValue) and value.type.shape != ():
            roots = roots_of(value.type.shape[0]) if value.type.shape else value.traced.first
            if not roots:
                return 0
            found |= roots
    return found


def with_first_open(value: Value, roots: int, why: Why) -> Value:
    """A tensor with an open first size; tuples and dicts of such."""
    match value:
        case TensorValue(type=TensorType(dtype, None), kind=TensorKind.TENSOR):
            return replace(value, traced=value.traced | Traced(first=roots))
        case TensorValue(type=TensorType(dtype, shape), kind=TensorKind.TENSOR) if shape:
            return replace(value, type=TensorType(dtype, (opened(shape[0], roots, why), *shape[1:])))
        case TupleValue(elements=elements):
            return replace(value, elements=tuple(with_first_open(each, roots, why) for each in elements))
        case FrozenDict(items=items, rest=rest):
            return FrozenDict(
                tuple((key, with_first_open(item, roots, why)) for key, item in items),
                None if rest is None else with_first_open(rest, roots, why),
            )
        case FrozenList(elements=elements, element=element):
            return FrozenList(
                None if elements is None else tuple(with_first_open(each, roots, why) for each in elements),
                None if element is None else with_first_open(element, roots, why),
                value.length,
            )
        case UnionValue(members=members):
            return UnionValue(tuple(dict.fromkeys(with_first_open(member, roots, why) for member in members)))
        case _:
            return value
