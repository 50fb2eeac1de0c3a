"""The elements of a value under iteration, and their number.

Computes: the elements if they are few, otherwise their join and their number. Needs: the heap; runs `__iter__`,
`__getitem__` and `__len__` of the program's classes. Gives: `Iteration`, `iterate`, `length_of`, `extend_list`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from terra_refactor.analysis.classes import find_method
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import BranchKind, ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.transfer import mappings
from terra_refactor.analysis.transfer.allocation import thaw
from terra_refactor.analysis.transfer.data_files import iterated
from terra_refactor.analysis.transfer.enumerations import members_in
from terra_refactor.analysis.transfer.kept_iterators import ITERATORS, advance, is_kept_iterator
from terra_refactor.domain.dim import Dim, OpenDim, Why, add, eager, opened, subtract
from terra_refactor.domain.lattice import (
    dim_of,
    join,
    join_all,
    join_list_contents,
    list_element,
    list_length,
    number_of,
)
from terra_refactor.domain.roots import Traced
from terra_refactor.domain.state import ITEMS
from terra_refactor.domain.value import (
    BOTTOM,
    INT_OF_DATASET,
    NONE,
    UNBOUND,
    UNKNOWN,
    UNKNOWN_INT,
    UNKNOWN_STR,
    Constant,
    DatasetValue,
    FrozenDict,
    FrozenList,
    ObjectId,
    PythonType,
    RangeValue,
    Reference,
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
    as_symbolic,
    is_length_in_graph,
    is_symbolic_number,
    members,
)
from terra_refactor.tf_model.data.elements import taken
from terra_refactor.tf_model.ops.operators import index_rule
from terra_refactor.tf_model.spec import OperationError

MAX_ELEMENTS: Final = 64
"""Maximum number of distinguished elements; a container with more is represented by their join."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """The elements of a value under iteration: in order if known, and their join."""

    elements: tuple[Value, ...] | None
    element: Value
    kind: BranchKind = BranchKind.PYTHON
    count: Dim = None
    """The number of elements, if only the number is known."""
    last: Value | None = None
    """An element that certainly occurs and that `element` does not cover: the last batch of a dataset."""

    @property
    def length(self) -> Dim:
        """The number of elements; None if unknown."""
        return self.count if self.elements is None else len(self.elements)


def iterate(site: Site, value: Value) -> Iteration:
    """The value that `for x in value` binds."""
    if isinstance(value, UnionValue):
        parts = [iterate(site, member) for member in value.members if member not in (NONE, UNBOUND)]
        if not parts:
            return Iteration(None, BOTTOM)
        first = parts[0]
        elements = first.elements if all(part.elements == first.elements for part in parts) else None
        kinds = {part.kind for part in parts}
        kind = kinds.pop() if len(kinds) == 1 else BranchKind.UNKNOWN
        count = first.length if all(part.length == first.length for part in parts) else None
        return Iteration(elements, join_all(part.element for part in parts), kind, count)
    match value:
        case TupleValue():
            return Iteration(value.elements, join_all(value.elements))
        case SequenceValue():
            return Iteration(
                None, value.element, count=None if site.frame.advanced and value.kind in ITERATORS else value.length
            )
        case RangeValue():
            return _iterate_range(value)
        case TensorValue():
            kind = BranchKind.PYTHON
            if value.kind not in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR):
                kind = BranchKind.TENSOR
            return _iterate_tensor(value, kind)
        case DatasetValue():
            last = None if value.last is None else thaw(site, taken(value.last), "last")
            element = thaw(site, taken(value.element), "element")
            count = None if value.iterator else value.number
            return Iteration(None, element, BranchKind.DATASET, count, last)
        case ShapeValue():
            if value.shape is None:
                return Iteration(None, shape_item(value, NONE))
            sizes = tuple(static_size_value(dim) for dim in value.shape)
            return Iteration(sizes, join_all(sizes))
        case Constant(str() as text):
            characters = tuple(Constant(character) for character in text)
            return Iteration(characters if len(text) <= MAX_ELEMENTS else None, UNKNOWN_STR)
        case Scalar(PythonType.STR):
            return Iteration(None, UNKNOWN_STR)
        case Reference():
            return _iterate_object(site, value)
        case FrozenList():
            return Iteration(value.elements, list_element(value), count=value.length)
        case FrozenDict():
            return Iteration(None, join_all(key for key, _ in value.items))
        case UnknownValue() if (lines := iterated(site, value)) is not None:
            return Iteration(None, lines[0], count=lines[1])
        case UnknownValue():
            kind = BranchKind.UNKNOWN if value.may_be_tensor else BranchKind.PYTHON
            return Iteration(None, UnknownValue(value.may_be_tensor, value.origin), kind)
        case _:
            return Iteration(None, UNKNOWN, BranchKind.UNKNOWN)


def static_size_value(dim: object) -> Value:
    """The Python value of a size read from a static shape."""
    if isinstance(dim, int):
        return Constant(dim)
    return Scalar(PythonType.INT, dim)  # type: ignore[arg-type]


def _iterate_range(value: RangeValue) -> Iteration:
    tensor = any(
        is_symbolic_number(bound)
        or is_length_in_graph(bound)
        or (isinstance(bound, TensorValue) and bound.kind is TensorKind.TENSOR)
        for bound in (value.start, value.stop, value.step)
    )
    numbers = _known_range(value)
    counts_up = numbers is not None and len(numbers) > 0 and numbers.start >= 0 and numbers.step > 0
    element = Scalar(PythonType.INT, limit=numbers[-1]) if numbers is not None and counts_up else UNKNOWN_INT
    if numbers is not None and not tensor:
        if len(numbers) <= MAX_ELEMENTS:
            return Iteration(
                tuple(Constant(number) for number in numbers),
                element if len(numbers) != 1 else Constant(numbers[0]),
            )
        return Iteration(None, element, count=len(numbers))
    count = subtract(number_of(value.stop), number_of(value.start)) if dim_of(value.step) == 1 else None
    if tensor:
        return Iteration(None, as_symbolic(element), BranchKind.TENSOR, count)
    return Iteration(None, UNKNOWN_INT, count=count)


def _known_range(value: RangeValue) -> range | None:
    """The numbers of a range with known bounds, which may be the contents of tensors."""
    contents = [
        bound.content if isinstance(bound, TensorValue) else bound for bound in (value.start, value.stop, value.step)
    ]
    bounds = [known.value for known in contents if isinstance(known, Constant) and isinstance(known.value, int)]
    return range(*bounds) if len(bounds) == 3 and bounds[2] != 0 else None


def _iterate_tensor(value: TensorValue, kind: BranchKind) -> Iteration:
    if isinstance(value.content, TupleValue) and len(value.content.elements) <= MAX_ELEMENTS:
        elements: list[Value] = []
        for position in range(len(value.content.elements)):
            elements.append(_index_or_unknown(value, Constant(position)))
        return Iteration(tuple(elements), join_all(elements), kind)
    try:
        element = index_rule(value, UNKNOWN_INT)
    except OperationError:
        element = UNKNOWN
    shape = value.type.shape
    size = eager(shape[0]) if shape else None
    if isinstance(size, int) and size <= MAX_ELEMENTS:
        return Iteration((element,) * size, element, kind)
    return Iteration(None, element, kind, size)


def _index_or_unknown(value: Value, index: Value) -> Value:
    try:
        return index_rule(value, index)
    except OperationError:
        return UNKNOWN


def _iterate_object(site: Site, value: Reference) -> Iteration:
    frame = site.frame
    content = frame.state.get((value.object, ITEMS))
    facts = site.engine.objects.facts[value.object]
    frame.note_read(site.op, (value.object, ITEMS))
    if facts.kind is ObjectKind.ITERATOR:
        advance(site, value)  # also if its content is unknown
    if isinstance(content, FrozenList):
        return Iteration(content.elements, list_element(content), count=content.length)
    if isinstance(content, FrozenDict):
        keys = tuple(key for key, _ in content.items)
        if content.rest is None and all(UNBOUND not in members(item) for _, item in content.items):
            return Iteration(keys, join_all(keys))
        return Iteration(None, mappings.dict_key(content))
    if facts.kind is ObjectKind.CLASS and (found := members_in(frame, value)) is not None:
        return Iteration(found, join_all(found))
    if facts.kind is ObjectKind.INSTANCE:
        method = find_method(site, value, "__iter__")
        if method is not None:
            result = site.call(method, CallArguments())
            if result != value and (not isinstance(result, Reference) or is_kept_iterator(site, result)):
                return iterate(site, result)
            following = find_method(site, value, "__next__")
            if following is not None:
                return Iteration(None, site.call(following, CallArguments()))
            return Iteration(None, UNKNOWN, BranchKind.UNKNOWN)
        getter = find_method(site, value, "__getitem__")
        if getter is not None:
            return Iteration(None, site.call(getter, CallArguments((UNKNOWN_INT,))))
    return Iteration(None, UNKNOWN, BranchKind.UNKNOWN)


def shape_item(container: ShapeValue, index: Value) -> Value:
    """An element or a part of a static shape."""
    if isinstance(index, SliceValue):
        known = python_slice(index)
        if known is None or container.shape is None:
            return ShapeValue(None, Traced(rank=container.traced.rank))
        return ShapeValue(container.shape[known])
    if isinstance(index, Constant) and type(index.value) is int and container.shape is not None:
        position = index.value
        if -len(container.shape) <= position < len(container.shape):
            return static_size_value(container.shape[position])
        return UNKNOWN
    roots = container.traced.rank | (container.traced.first if index == Constant(0) else 0)
    return static_size_value(opened(None, roots, Why.CONTENT))


def python_slice(index: SliceValue) -> slice | None:
    """The slice with constant bounds; None if a bound is unknown."""
    bounds: list[int | None] = []
    for bound in (index.lower, index.upper, index.step):
        if not isinstance(bound, Constant) or not (bound.value is None or type(bound.value) is int):
            return None
        bounds.append(None if bound.value is None else int(bound.value))
    return None if bounds[2] == 0 else slice(*bounds)


def length_of(site: Site, value: Value) -> Value:
    """`len(value)`."""
    results: list[Value] = []
    for member in members(value):
        match member:
            case TensorValue():
                results.append(_length_of_tensor(member))
            case DatasetValue():
                results.append(INT_OF_DATASET)
            case ShapeValue():
                results.append(UNKNOWN_INT if member.shape is None else Constant(len(member.shape)))
            case Constant(str() | bytes() as text):
                results.append(Constant(len(text)))
            case RangeValue():
                start, stop, step = (number_of(bound) for bound in (member.start, member.stop, member.step))
                results.append(static_size_value(subtract(stop, start)) if step == 1 else UNKNOWN_INT)
            case TupleValue() | Reference() | SequenceValue():
                if isinstance(member, Reference):
                    site.frame.note_read(site.op, (member.object, ITEMS))
                found = iterate(site, member) if _has_known_items(site.frame, member) else None
                if found is not None and found.length is not None:
                    results.append(static_size_value(found.length))
                else:
                    method = find_method(site, member, "__len__") if isinstance(member, Reference) else None
                    results.append(UNKNOWN_INT if method is None else site.call(method, CallArguments()))
            case _:
                results.append(UNKNOWN_INT)
    return join_all(results)


def _length_of_tensor(value: TensorValue) -> Value:
    """`len(x)` is a tensor in a graph if the size is not static."""
    shape, traced = value.type.shape, value.traced
    if not shape:
        return static_size_value(opened(None, traced.first | traced.rank, Why.CONTENT, is_tensor=True))
    size = shape[0]
    return static_size_value(replace(size, is_tensor=True) if isinstance(size, OpenDim) else size)


def _has_known_items(frame: Frame, value: Value) -> bool:
    return isinstance(value, TupleValue | SequenceValue) or (
        isinstance(value, Reference) and frame.state.get((value.object, ITEMS)) is not None
    )


def extend_list(frame: Frame, number: ObjectId, more: Iteration, *, single: bool) -> None:
    """Adds elements to a list."""
    content = frame.state.get((number, ITEMS))
    if not isinstance(content, FrozenList):
        return
    if content.elements is not None and more.elements is not None:
        longer = FrozenList(content.elements + more.elements)
        if len(content.elements) + len(more.elements) > MAX_ELEMENTS:
            longer = FrozenList(None, list_element(longer), len(content.elements) + len(more.elements))
    else:
        length = add(list_length(content), more.length)
        longer = FrozenList(None, join(list_element(content), more.element), length)
    frame.state.set((number, ITEMS), longer if single else join_list_contents(content, longer))
