"""The lattice of abstract values.

Computes: join (least upper bound, bounded), widening (which guarantees termination), filtering. Needs: nothing. Gives: upper bounds of
the inputs. Approximates upward only: a union of more than `MAX_ALTERNATIVES` members loses precision, but stays sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from terra_refactor.domain.dim import Dim, OpenDim, eager, is_kept_by, opened, roots_of
from terra_refactor.domain.roots import Traced
from terra_refactor.domain.shape import join_dims, join_shapes
from terra_refactor.domain.tensor import TensorType, join_tensor_types
from terra_refactor.domain.traced import is_marked, without_marks
from terra_refactor.domain.value import (
    BOTTOM,
    LOADED_ITEM,
    UNBOUND,
    Bottom,
    BoundMethod,
    Constant,
    DatasetValue,
    DTypeValue,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    PartialValue,
    PythonType,
    RangeValue,
    Reference,
    Scalar,
    SequenceValue,
    ShapeValue,
    SliceValue,
    SpecValue,
    TensorValue,
    TupleValue,
    Unbound,
    UnionValue,
    UnknownValue,
    Value,
    is_symbolic_number,
    is_wide,
    members,
    speaks_of_release,
)

MAX_ALTERNATIVES = 8
"""Maximum number of members of a union."""
MAX_CONSTANTS = 4
"""Maximum number of constants of one type in a union; more become a `Scalar`."""
MAX_TENSORS = 4
"""Maximum number of tensors of one kind in a union; more become one with the joined type."""
MAX_VALUE_DEPTH = 8
"""Maximum nesting of a value under widening; deeper parts become unknown."""

_PYTHON_TYPES = {
    int: PythonType.INT,
    float: PythonType.FLOAT,
    complex: PythonType.COMPLEX,
    bool: PythonType.BOOL,
    str: PythonType.STR,
    bytes: PythonType.BYTES,
}


TOO_MANY = "too many objects"
"""The reason of an unknown value that is a join of too many objects."""


def python_type(value: Value) -> PythonType | None:
    """The built-in type of a constant or scalar; None for None, Ellipsis and everything else."""
    if type(value) is Scalar:
        return value.type
    if type(value) is Constant:
        return _PYTHON_TYPES.get(type(value.value))
    return None


def dim_of(value: Value) -> Dim:
    """The size of a Python int; None if it is unknown or not an int."""
    if type(value) is Constant and type(value.value) is int:
        return value.value
    if type(value) is Scalar and value.type is PythonType.INT:
        return value.dim
    return None


def number_of(value: Value) -> Dim:
    """The int value of a Python value if it is an int, for use as a size; None if unknown."""
    return value.number if type(value) is UnknownValue else dim_of(value)


def join(left: Value, right: Value) -> Value:
    """A value that covers both."""
    if left is right or left == right:
        return left
    if type(left) is Bottom:
        return right
    if type(right) is Bottom:
        return left
    if type(left) is type(right) and type(left) in _STRUCTURES:
        # as `_union` does, which has nothing else to do for two structures
        joined = _join_structures(left, right)
        if joined is not None:
            return joined
    return _union(members(left) + members(right))


def join_all(values: Iterable[Value]) -> Value:
    """A value that covers all; `BOTTOM` for none."""
    result: Value = BOTTOM
    for value in values:
        result = join(result, value)
    return result


def _union(alternatives: Iterable[Value]) -> Value:
    distinct = _merge_views(list(dict.fromkeys(alternatives)))
    unknowns = [value for value in distinct if type(value) is UnknownValue]
    if unknowns:
        # an unknown value covers everything, but an unset variable stays visible
        unknown = _join_unknowns(unknowns, distinct)
        return UnionValue((unknown, UNBOUND)) if UNBOUND in distinct else unknown
    distinct = _merge_constants(distinct)
    distinct = _merge_tensors(distinct, MAX_TENSORS)
    distinct = _merge_structures(distinct)
    if len(distinct) == 1:
        return distinct[0]
    if len(distinct) > MAX_ALTERNATIVES:
        unbound = UNBOUND in distinct
        tensor = any(type(value) is TensorValue for value in distinct)
        opaque = any(type(value) in (Reference, FunctionValue, BoundMethod, PartialValue) for value in distinct)
        several = any(type(value) is Reference for value in distinct)
        unknown = UnknownValue(may_be_tensor=tensor or opaque, reason=TOO_MANY if several else "")
        return UnionValue((unknown, UNBOUND)) if unbound else unknown
    return UnionValue(tuple(distinct))


def _merge_views(values: list[Value]) -> list[Value]:
    """Joins methods and partial calls that differ only in sizes that are open while a graph is traced."""
    if len(values) < 2 or not any(type(value) in (BoundMethod, PartialValue) and is_marked(value) for value in values):
        return values
    result: dict[Value, Value] = {}
    for value in values:
        key = without_marks(value) if type(value) in (BoundMethod, PartialValue) else value
        known = result.get(key)
        result[key] = value if known is None else _join_views(known, value)
    return list(result.values())


def _join_views(left: Value, right: Value) -> Value:
    """The common value of two that are equal in eager code; a size is open if it is open in one of them."""
    if left == right:
        return left
    if isinstance(left, BoundMethod) and isinstance(right, BoundMethod):
        return replace(left, receiver=join(left.receiver, right.receiver))
    assert isinstance(left, PartialValue) and isinstance(right, PartialValue)
    return replace(
        left,
        arguments=tuple(map(join, left.arguments, right.arguments)),
        keywords=tuple((name, join(a, b)) for (name, a), (_, b) in zip(left.keywords, right.keywords, strict=True)),
    )


def _join_unknowns(unknowns: list[UnknownValue], distinct: list[Value]) -> UnknownValue:
    origins = {unknown.origin for unknown in unknowns}
    if any(type(value) is not UnknownValue and references(value) for value in distinct):
        # the object may come from elsewhere
        origins.add(None)
    may_be_tensor = any(unknown.may_be_tensor for unknown in unknowns) or any(
        type(value) not in (UnknownValue, Constant, Scalar) for value in distinct
    )
    first = unknowns[0]
    others = [value for value in distinct if value != UNBOUND and value not in unknowns]
    if others:
        # then it is not an item of a file
        origins = {None if origin is not None and origin.root == LOADED_ITEM else origin for origin in origins}
    is_kept = all(type(value) is Constant and is_kept_by(first.number, value.value) for value in others)
    return UnknownValue(
        may_be_tensor=may_be_tensor,
        origin=origins.pop() if len(origins) == 1 else None,
        reason=next((unknown.reason for unknown in unknowns if unknown.reason), ""),
        number=first.number if is_kept and all(unknown.number == first.number for unknown in unknowns) else None,
    )


def _merge_constants(values: list[Value]) -> list[Value]:
    by_type: dict[tuple[PythonType, bool], list[Value]] = {}
    for value in values:
        kind = python_type(value)
        if kind is not None:
            by_type.setdefault((kind, is_symbolic_number(value)), []).append(value)
    merged = values
    for (kind, symbolic), group in by_type.items():
        if len(group) == 1:
            continue
        # True or False is represented as a bool of unknown value
        if len(group) > MAX_CONSTANTS or kind is PythonType.BOOL or any(type(value) is Scalar for value in group):
            release = any(speaks_of_release(value) for value in group)
            wide = any(map(is_wide, group))
            joined = Scalar(kind, _joined_size(group), symbolic, release=release, wide=wide)
            merged = [*(value for value in merged if value not in group), joined]
    return merged


def _joined_size(numbers: Iterable[Value]) -> Dim:
    """For joined Python ints: open if one is, otherwise nothing; the size if all are equal."""
    dims = [dim_of(number) for number in numbers]
    sizes = {eager(dim) for dim in dims}
    joined: Dim = sizes.pop() if len(sizes) == 1 else None
    for dim in dims:
        if isinstance(dim, OpenDim):
            joined = opened(joined, dim.roots, dim.why, is_tensor=dim.is_tensor)
    return joined


def _merge_tensors(values: list[Value], limit: int) -> list[Value]:
    tensors = [value for value in values if type(value) is TensorValue]
    if len(tensors) < 2:
        return values
    result = [value for value in values if type(value) is not TensorValue]
    for kind in dict.fromkeys(tensor.kind for tensor in tensors):
        group = [tensor for tensor in tensors if tensor.kind is kind]
        # contents and identities are kept apart only while the types differ
        by_type: dict[TensorType, TensorValue] = {}
        for tensor in group:
            eagerly = tensor.type.seen_eagerly()
            known = by_type.get(eagerly)
            by_type[eagerly] = tensor if known is None else _join_same_type(known, tensor)
        kept = list(by_type.values())
        if len(kept) > limit:
            kept = [join_tensors(kept)]
        result.extend(kept)
    return result


def join_tensors(tensors: Sequence[TensorValue]) -> TensorValue:
    """Join of tensors without their contents."""
    joined, traced = tensors[0].type, tensors[0].traced
    for tensor in tensors[1:]:
        joined, traced = join_tensor_types(joined, tensor.type), traced | tensor.traced
    if joined.shape is None:
        first = 0
        for tensor in tensors:
            first |= roots_of(tensor.type.shape[0]) if tensor.type.shape else 0
        traced = traced | Traced(first=first) if first else traced
    return TensorValue(joined, tensors[0].kind, traced=traced)


def _join_same_type(left: TensorValue, right: TensorValue) -> TensorValue:
    content = left.content
    if content != right.content:
        # the elements of both may be equal in eager code
        same = None not in (content, right.content) and _eagerly(content) == _eagerly(right.content)
        content = join(content, right.content) if same and content is not None and right.content is not None else None
    return TensorValue(
        join_tensor_types(left.type, right.type),
        left.kind,
        content,
        left.variable if left.variable == right.variable else None,
        left.traced | right.traced,
    )


def _eagerly(value: Value | None) -> Value | None:
    return None if value is None else without_marks(value)


def _merge_structures(values: list[Value]) -> list[Value]:
    """Joins structures of one kind member by member: two tuples of the same length, two sequences, two datasets, list contents."""
    result: list[Value] = []
    for value in values:
        kind = type(value)
        for position, known in enumerate(result if kind in _STRUCTURES else ()):
            joined = _join_structures(known, value) if type(known) is kind else None
            if joined is not None:
                result[position] = joined
                break
        else:
            result.append(value)
    return result


_STRUCTURES: Final = frozenset(
    {
        TupleValue,
        SequenceValue,
        FrozenList,
        FrozenDict,
        DatasetValue,
        ShapeValue,
        DTypeValue,
        SpecValue,
        RangeValue,
        SliceValue,
    }
)


def _join_structures(left: Value, right: Value) -> Value | None:
    """The join of two structures of one kind; None if they are not joined."""
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        if len(left.elements) != len(right.elements) or left.name != right.name:
            return None
        elements = tuple(join(a, b) for a, b in zip(left.elements, right.elements, strict=True))
        return TupleValue(elements, left.name, left.fields, left.cls)
    if isinstance(left, SequenceValue) and isinstance(right, SequenceValue):
        if left.kind != right.kind:
            return None
        length = join_dims(left.length, right.length)
        return SequenceValue(join(left.element, right.element), left.kind, length)
    if isinstance(left, FrozenList) and isinstance(right, FrozenList):
        return join_list_contents(left, right)
    if isinstance(left, FrozenDict) and isinstance(right, FrozenDict):
        return join_dict_contents(left, right)
    if isinstance(left, DatasetValue) and isinstance(right, DatasetValue):
        if left.iterator != right.iterator:
            return None
        cardinality = left.cardinality if left.cardinality == right.cardinality else None
        last = left.last if left.last == right.last else None
        lead = left.lead if left.lead == right.lead else None
        return DatasetValue(
            join(left.element, right.element),
            cardinality,
            left.iterator,
            last,
            lead,
            left.counted if left.counted == right.counted else None,
            left.endless and right.endless,
        )
    if isinstance(left, ShapeValue) and isinstance(right, ShapeValue):
        return ShapeValue(join_shapes(left.shape, right.shape), left.traced | right.traced)
    if isinstance(left, DTypeValue) and isinstance(right, DTypeValue):
        return DTypeValue(None)
    if isinstance(left, SpecValue) and isinstance(right, SpecValue):
        return SpecValue(join_tensor_types(left.type, right.type), left.kind) if left.kind is right.kind else None
    if isinstance(left, RangeValue) and isinstance(right, RangeValue):
        return RangeValue(join(left.start, right.start), join(left.stop, right.stop), join(left.step, right.step))
    if isinstance(left, SliceValue) and isinstance(right, SliceValue):
        return SliceValue(join(left.lower, right.lower), join(left.upper, right.upper), join(left.step, right.step))
    return None


def list_element(content: FrozenList) -> Value:
    """Join of the list's elements; `BOTTOM` for an empty one."""
    if content.elements is not None:
        return join_all(content.elements)
    return content.element if content.element is not None else BOTTOM


def list_length(content: FrozenList) -> Dim:
    """The number of elements of the list; None if unknown."""
    return content.length if content.elements is None else len(content.elements)


def join_list_contents(left: FrozenList, right: FrozenList) -> FrozenList:
    """The content of a list that is one or the other."""
    if left.elements is not None and right.elements is not None and len(left.elements) == len(right.elements):
        return FrozenList(tuple(join(a, b) for a, b in zip(left.elements, right.elements, strict=True)))
    length = list_length(left)
    return FrozenList(None, join(list_element(left), list_element(right)), join_dims(length, list_length(right)))


def join_dict_contents(left: FrozenDict, right: FrozenDict) -> FrozenDict:
    """The join of two dict contents: a key that only one has may be unset in the other, or among its unknown keys."""
    left_items, right_items = dict(left.items), dict(right.items)
    left_absent = UNBOUND if left.rest is None else join(left.rest, UNBOUND)
    right_absent = UNBOUND if right.rest is None else join(right.rest, UNBOUND)
    items: list[tuple[Value, Value]] = []
    for key in dict.fromkeys([*left_items, *right_items]):
        items.append((key, join(left_items.get(key, left_absent), right_items.get(key, right_absent))))
    rest = left.rest if right.rest is None else right.rest if left.rest is None else join(left.rest, right.rest)
    if rest is None and [key for key in left_items if key in right_items] != [
        key for key in right_items if key in left_items
    ]:
        # the order of the keys is unknown
        rest = BOTTOM
    return FrozenDict(tuple(items), rest)


def widen(old: Value, new: Value) -> Value:
    """Upper bound of both that is reached after finitely many steps: for loop heads and recursion."""
    if old is new:
        return old
    # the arguments of each call are widened by those of the others of its function, again in each run
    pair = id(old), id(new)
    known = _widenings.get(pair)
    if known is not None:
        return known[2]
    joined = old if old == new else join(old, new)
    found = old if joined == old else _widened(joined, 0)
    if len(_widenings) >= _MOST_WIDENINGS:
        _widenings.clear()
    _widenings[pair] = old, new, found
    return found


_widenings: dict[tuple[int, int], tuple[Value, Value, Value]] = {}
"""By identity; both values are kept alive, so their identities are not reused."""
_MOST_WIDENINGS: Final = 20_000


def _widened(value: Value, depth: int) -> Value:
    if depth > MAX_VALUE_DEPTH:
        return UnknownValue()
    match value:
        case UnionValue():
            result: list[Value] = []
            seen: dict[object, int] = {}
            for member in value.members:
                widened = _widened(member, depth)
                group: object = python_type(widened)
                if isinstance(widened, TensorValue):
                    group = widened.kind
                elif isinstance(widened, TupleValue):
                    group = "tuple"
                if group is not None and group in seen:
                    result[seen[group]] = _collapse(result[seen[group]], widened)
                else:
                    if group is not None:
                        seen[group] = len(result)
                    result.append(widened)
            return _union(result)
        case TupleValue():
            return TupleValue(
                tuple(_widened(element, depth + 1) for element in value.elements), value.name, value.fields
            )
        case SequenceValue():
            return SequenceValue(_widened(value.element, depth + 1), value.kind, value.length)
        case FrozenList():
            if value.elements is None:
                element = None if value.element is None else _widened(value.element, depth + 1)
                return FrozenList(None, element, value.length)
            return FrozenList(tuple(_widened(element, depth + 1) for element in value.elements))
        case FrozenDict():
            items = tuple((key, _widened(item, depth + 1)) for key, item in value.items)
            if len(items) > 4 * MAX_ALTERNATIVES:
                rest = [] if value.rest is None else [value.rest]
                return FrozenDict((), join_all([*(without_unbound(item) for _, item in items), *rest]))
            return FrozenDict(items, None if value.rest is None else _widened(value.rest, depth + 1))
        case BoundMethod():
            return BoundMethod(value.function, _widened(value.receiver, depth + 1))
        case PartialValue():
            return PartialValue(
                _widened(value.function, depth + 1),
                tuple(_widened(argument, depth + 1) for argument in value.arguments),
                tuple((name, _widened(argument, depth + 1)) for name, argument in value.keywords),
            )
        case _:
            return value


def _collapse(left: Value, right: Value) -> Value:
    """Joins two values of one kind into one of that kind."""
    kind = python_type(left)
    if kind is not None and kind is python_type(right):
        symbolic = is_symbolic_number(left) or is_symbolic_number(right)
        release, wide = speaks_of_release(left) or speaks_of_release(right), is_wide(left) or is_wide(right)
        return Scalar(kind, _joined_size((left, right)), symbolic, release=release, wide=wide)
    if isinstance(left, TensorValue) and isinstance(right, TensorValue):
        return join_tensors((left, right))
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        return SequenceValue(join_all(left.elements + right.elements), "tuple")
    return join(left, right)


def filter_members(value: Value, keep: Callable[[Value], bool]) -> Value:
    """The alternatives of a value for which `keep` is True; `BOTTOM` if none is left. Unknown members are kept."""
    kept = [member for member in members(value) if isinstance(member, UnknownValue) or keep(member)]
    if not kept:
        return BOTTOM
    if len(kept) == 1:
        return kept[0]
    return UnionValue(tuple(kept))


def without_unbound(value: Value) -> Value:
    """The value without `Unbound`; `BOTTOM` if it is never set."""
    if value is UNBOUND:
        return BOTTOM
    if type(value) is UnionValue and UNBOUND in value.members:
        return filter_members(value, lambda member: member is not UNBOUND and member != UNBOUND)
    return value


_NO_OBJECTS: frozenset[int] = frozenset()
WITHOUT_OBJECTS = frozenset(
    {Constant, Scalar, LibraryValue, ModuleValue, UnknownValue, ShapeValue, DTypeValue, SpecValue, Bottom, Unbound}
)


def references(value: Value) -> frozenset[int]:
    """The objects that a value refers to, directly or inside an immutable structure."""
    kind = type(value)
    if kind in WITHOUT_OBJECTS:
        return _NO_OBJECTS
    if kind is Reference:
        return frozenset((value.object,))  # type: ignore[union-attr]
    if kind is TensorValue and value.variable is None:  # type: ignore[union-attr]
        return _NO_OBJECTS
    if kind is FunctionValue and not (value.closure or value.defaults or value.annotations):  # type: ignore[union-attr]
        return _NO_OBJECTS
    try:
        return value.objects  # type: ignore[union-attr]
    except AttributeError:
        found: set[int] = set()
        _collect_references(value, found)
        objects = _shared(frozenset(found)) if found else _NO_OBJECTS
        object.__setattr__(value, "objects", objects)
        return objects


@lru_cache(maxsize=20_000)
def _shared(objects: frozenset[int]) -> frozenset[int]:
    """One of the equal sets: many values refer to the same few objects."""
    return objects


def names_object(value: Value, number: int) -> bool:
    """Whether `number` is among the `references` of a value."""
    kind = type(value)
    if kind in WITHOUT_OBJECTS:
        return False
    if kind is Reference:
        return value.object == number  # type: ignore[union-attr]
    return number in references(value)


def _collect_references(value: Value, found: set[int]) -> None:
    match value:
        case Reference():
            found.add(value.object)
        case UnionValue():
            for member in value.members:
                found.update(references(member))
        case TupleValue():
            for element in value.elements:
                found.update(references(element))
        case SequenceValue():
            found.update(references(value.element))
        case FrozenList():
            for element in value.elements or ():
                found.update(references(element))
            if value.element is not None:
                found.update(references(value.element))
        case FrozenDict():
            for key, item in value.items:
                found.update(references(key))
                found.update(references(item))
            if value.rest is not None:
                found.update(references(value.rest))
        case FunctionValue():
            found.update(cell for _, cell in value.closure)
            for _, default in value.defaults:
                found.update(references(default))
            for _, annotation in value.annotations:
                found.update(references(annotation))
        case BoundMethod():
            found.update(references(value.function))
            found.update(references(value.receiver))
        case PartialValue():
            found.update(references(value.function))
            for argument in value.arguments:
                found.update(references(argument))
            for _, argument in value.keywords:
                found.update(references(argument))
        case DatasetValue():
            found.update(references(value.element))
            if value.last is not None:
                found.update(references(value.last))
            if value.lead is not None:
                found.update(references(value.lead[0]))
        case TensorValue():
            if value.variable is not None:
                found.add(value.variable)
        case _:
            pass


def rename(value: Value, mapping: Mapping[int, int]) -> Value:
    """The value with objects renamed by `mapping`; the same object where nothing changes."""
    kind = type(value)
    if kind in WITHOUT_OBJECTS or references(value).isdisjoint(mapping):
        return value
    match value:
        case Reference():
            return Reference(mapping.get(value.object, value.object))
        case UnionValue():
            return _union(rename(member, mapping) for member in value.members)
        case TupleValue():
            return TupleValue(
                tuple(rename(element, mapping) for element in value.elements), value.name, value.fields, value.cls
            )
        case SequenceValue():
            return SequenceValue(rename(value.element, mapping), value.kind, value.length)
        case FrozenList():
            elements = None if value.elements is None else tuple(rename(element, mapping) for element in value.elements)
            element = None if value.element is None else rename(value.element, mapping)
            return FrozenList(elements, element, value.length)
        case FrozenDict():
            items = tuple((rename(key, mapping), rename(item, mapping)) for key, item in value.items)
            return FrozenDict(items, None if value.rest is None else rename(value.rest, mapping))
        case FunctionValue():
            return FunctionValue(
                value.function,
                tuple((name, mapping.get(cell, cell)) for name, cell in value.closure),
                tuple((name, rename(default, mapping)) for name, default in value.defaults),
                tuple((name, rename(annotation, mapping)) for name, annotation in value.annotations),
                value.hybrid,
                value.wrappers,
            )
        case BoundMethod():
            return BoundMethod(rename(value.function, mapping), rename(value.receiver, mapping))
        case PartialValue():
            return PartialValue(
                rename(value.function, mapping),
                tuple(rename(argument, mapping) for argument in value.arguments),
                tuple((name, rename(argument, mapping)) for name, argument in value.keywords),
            )
        case DatasetValue():
            last = None if value.last is None else rename(value.last, mapping)
            lead = None if value.lead is None else (rename(value.lead[0], mapping), value.lead[1])
            return replace(value, element=rename(value.element, mapping), last=last, lead=lead)
        case TensorValue():
            variable = None if value.variable is None else mapping.get(value.variable, value.variable)
            return TensorValue(value.type, value.kind, value.content, variable, value.traced)
        case _:
            return value
