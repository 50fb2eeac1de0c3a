"""Tuples, lists, dicts, sets, slices, f-strings: making them, taking them apart, iterating.

Computes: contents of containers, element by element as long as they stay small. Needs: the heap.
Gives: `HANDLERS`, `iterate`, `thaw`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from typing_extensions import assert_never

from terra_refactor.analysis.classes import find_in_class, find_method
from terra_refactor.analysis.effects import external_effect, unknown_target, write_effect
from terra_refactor.analysis.engine import Handler, Site
from terra_refactor.analysis.facts import BranchKind, ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.library_rules import over_combinations
from terra_refactor.analysis.transfer import mappings
from terra_refactor.analysis.transfer.arrays import array_changed
from terra_refactor.analysis.transfer.contents import note_contents
from terra_refactor.analysis.transfer.kept_tensors import holds_new_tensor
from terra_refactor.analysis.transfer.windows import inside, moving_window, with_window
from terra_refactor.domain.dim import Dim, OpenDim, Why, add, eager, opened, subtract
from terra_refactor.domain.effect import Effect, EffectKind
from terra_refactor.domain.lattice import (
    dim_of,
    join,
    join_all,
    join_list_contents,
    list_element,
    list_length,
)
from terra_refactor.domain.roots import Traced
from terra_refactor.domain.state import DEFAULT_FACTORY, EXISTS, ITEMS
from terra_refactor.domain.value import (
    BOTTOM,
    FALSE,
    NONE,
    UNBOUND,
    UNKNOWN,
    UNKNOWN_INT,
    UNKNOWN_STR,
    Constant,
    DatasetValue,
    FrozenDict,
    FrozenList,
    LibraryValue,
    ObjectId,
    Origin,
    PartialValue,
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
    is_symbolic_number,
    members,
    of_release,
    speaks_of_release,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ops import Op
from terra_refactor.tf_model.data.elements import taken
from terra_refactor.tf_model.numpy_api.files import LOADED, array_in
from terra_refactor.tf_model.numpy_api.index_objects import index_object
from terra_refactor.tf_model.ops.operators import index_rule
from terra_refactor.tf_model.spec import OperationError

ITERATORS: Final = frozenset({"iterator", "generator", "zip", "map", "filter", "enumerate"})
"""Kinds of `SequenceValue` that have an end once they are read."""
MAX_ELEMENTS: Final = 64
"""A container with more elements is known by the join of its elements."""


def build_container(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.BuildContainer)
    elements: list[Value] | None = []
    element: Value = BOTTOM
    length: Dim = 0
    for part in op.elements:
        value = site.frame.value(part.value)
        if not part.starred:
            length = add(length, 1)
            element = join(element, value) if elements is None else element
            if elements is not None:
                elements.append(value)
            continue
        spread = iterate(site, value)
        length = add(length, spread.length)
        if spread.elements is not None and elements is not None:
            elements.extend(spread.elements)
        else:
            element = join_all([element, spread.element, *(elements or ())])
            elements = None
    if elements is not None and len(elements) > MAX_ELEMENTS:
        element, elements = join_all(elements), None
    match op.kind:
        case ops.ContainerKind.TUPLE:
            return SequenceValue(element, length=length) if elements is None else TupleValue(tuple(elements))
        case ops.ContainerKind.LIST:
            content = FrozenList(None, element, length) if elements is None else FrozenList(tuple(elements))
            return new_list(site, content)
        case ops.ContainerKind.SET:
            return new_set(site, element if elements is None else join_all(elements))
        case _ as never:
            assert_never(never)


def new_list(site: Site, content: FrozenList, tag: object = None, name: str = "list") -> Value:
    """A new list (or other sequence that can change, by its class's name) with that content, made by operation `op`."""
    number = site.allocate(ObjectKind.LIST, name, tag)
    site.frame.state.set((number, ITEMS), content)
    return Reference(number)


def new_set(site: Site, element: Value, name: str = "set") -> Value:
    """A new set of such elements, made by operation `op`; `name` is that of its class."""
    number = site.allocate(ObjectKind.SET, name)
    site.frame.state.set((number, ITEMS), FrozenList(None, element))
    return Reference(number)


def build_slice(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.BuildSlice)
    bounds = [NONE if part is None else site.frame.value(part) for part in (op.lower, op.upper, op.step)]
    return SliceValue(*bounds)


def format_string(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.FormatString)
    texts: list[str] = []
    known = True
    for part in op.parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        value = site.frame.value(part.value)
        note_contents(site, value)
        if not isinstance(value, Constant) or part.conversion is not None or part.spec is not None:
            known = False
            continue
        texts.append(str(value.value))
    return Constant("".join(texts)) if known else UNKNOWN_STR


def unpack_element(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.UnpackElement)
    source = iterate(site, site.frame.value(op.source))
    if source.elements is None or (op.star is None and len(source.elements) != op.total):
        if op.star is not None and op.position == op.star:
            return new_list(site, FrozenList(None, source.element))
        return source.element if source.elements is None else UNKNOWN
    elements = source.elements
    if op.star is None or op.position < op.star:
        return elements[op.position] if op.position < len(elements) else UNKNOWN
    after = op.total - op.star - 1
    if op.position == op.star:
        rest = elements[op.star : len(elements) - after] if after else elements[op.star :]
        return new_list(site, FrozenList(tuple(rest)))
    position = len(elements) - (op.total - op.position)
    return elements[position] if 0 <= position < len(elements) else UNKNOWN


# --- iteration ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Iteration:
    """What iterating over a value gives: its elements in order where they are known, and what one of them may be."""

    elements: tuple[Value, ...] | None
    element: Value
    kind: BranchKind = BranchKind.PYTHON
    count: Dim = None
    """How many elements there are, where they are not known one by one but their number is."""
    last: Value | None = None
    """One element that certainly comes, and that `element` does not tell: the last batch of a data set."""

    @property
    def length(self) -> Dim:
        """How many elements there are; None where that is not known."""
        return self.count if self.elements is None else len(self.elements)


def iterate(site: Site, value: Value) -> Iteration:
    """What `for x in value` binds."""
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
                return Iteration(None, _shape_item(value, NONE))
            sizes = tuple(size_value(dim) for dim in value.shape)
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
        case UnknownValue():
            kind = BranchKind.UNKNOWN if value.may_be_tensor else BranchKind.PYTHON
            return Iteration(None, UnknownValue(value.may_be_tensor, value.origin), kind)
        case _:
            return Iteration(None, UNKNOWN, BranchKind.UNKNOWN)


def size_value(dim: object) -> Value:
    """The Python value of a size read from a static shape."""
    if isinstance(dim, int):
        return Constant(dim)
    return Scalar(PythonType.INT, dim)  # type: ignore[arg-type]


def _iterate_range(value: RangeValue) -> Iteration:
    tensor = any(
        is_symbolic_number(bound) or (isinstance(bound, TensorValue) and bound.kind is TensorKind.TENSOR)
        for bound in (value.start, value.stop, value.step)
    )
    numbers = _known_range(value)
    counts_up = numbers is not None and len(numbers) > 0 and numbers.start >= 0 and numbers.step > 0
    element = Scalar(PythonType.INT, limit=numbers[-1]) if numbers is not None and counts_up else UNKNOWN_INT
    if numbers is not None and not tensor:
        if len(numbers) <= MAX_ELEMENTS:
            return Iteration(
                tuple(Constant(number) for number in numbers),
                UNKNOWN_INT if len(numbers) != 1 else Constant(numbers[0]),
            )
        return Iteration(None, element, count=len(numbers))
    count = subtract(dim_of(value.stop), dim_of(value.start)) if dim_of(value.step) == 1 else None
    if tensor:
        return Iteration(None, as_symbolic(element), BranchKind.TENSOR, count)
    return Iteration(None, UNKNOWN_INT, count=count)


def _known_range(value: RangeValue) -> range | None:
    """The numbers of a range whose bounds are known, be they numbers or the contents of tensors."""
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
    if isinstance(content, FrozenList):
        frame.note_read(site.op, (value.object, ITEMS))
        return Iteration(content.elements, list_element(content), count=content.length)
    if isinstance(content, FrozenDict):
        frame.note_read(site.op, (value.object, ITEMS))
        keys = tuple(key for key, _ in content.items)
        if content.rest is None and all(UNBOUND not in members(item) for _, item in content.items):
            return Iteration(keys, join_all(keys))
        return Iteration(None, mappings.dict_key(content))
    if facts.kind is ObjectKind.INSTANCE:
        method = find_method(site, value, "__iter__")
        if method is not None:
            result = site.call(method, CallArguments())
            if result != value and not isinstance(result, Reference):
                return iterate(site, result)
            following = find_method(site, value, "__next__")
            if following is not None:
                return Iteration(None, site.call(following, CallArguments()))
            return Iteration(None, UNKNOWN, BranchKind.UNKNOWN)
        getter = find_method(site, value, "__getitem__")
        if getter is not None:
            return Iteration(None, site.call(getter, CallArguments((UNKNOWN_INT,))))
    return Iteration(None, UNKNOWN, BranchKind.UNKNOWN)


# --- items -------------------------------------------------------------------------------------------------------------------------


def load_item(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.LoadItem)
    frame = site.frame
    container, index = frame.value(op.object), frame.value(op.index)
    window = moving_window(site, op.index)
    if window is not None and isinstance(container, TensorValue) and window.fits(container):
        container, index = inside(container), with_window(index, window)
    combinations = [(member, part) for member in members(container) for part in members(index)]
    return over_combinations(site, "[]", combinations, lambda pair: item_of(site, pair[0], pair[1]))


def item_of(site: Site, container: Value, index: Value) -> Value:
    """`container[index]` for one alternative of each. Raises OperationError where it certainly fails."""
    frame = site.frame
    match container:
        case ShapeValue():
            return _shape_item(container, index)
        case TensorValue():
            if container.kind is not TensorKind.NDARRAY:
                site.engine.note_usage(index, frame)
            return index_rule(container, freeze(frame, index))
        case TupleValue():
            return _sequence_item(site, container.elements, index, as_tuple=True)
        case SequenceValue():
            return (
                SequenceValue(container.element, container.kind) if isinstance(index, SliceValue) else container.element
            )
        case Constant(str() as text) if (known := _part_of_text(text, index)) is not None:
            return Constant(known)
        case Constant(str()) | Scalar(PythonType.STR):
            return of_release(UNKNOWN_STR) if speaks_of_release(container) else UNKNOWN_STR
        case RangeValue():
            return UNKNOWN_INT if not isinstance(index, SliceValue) else container
        case Reference():
            return _object_item(site, container, index)
        case UnknownValue() if container.origin == LOADED:
            return array_in(index) or UNKNOWN
        case UnknownValue() if isinstance(index, SliceValue) and container.origin is not None:
            # of a list it is a new list, of an array a view
            return UnknownValue(container.may_be_tensor, Origin("call", f"{container.origin.name}[:]"))
        case UnknownValue():
            return UnknownValue(container.may_be_tensor, container.origin)
        case LibraryValue():
            made = index_object(container.name, freeze(frame, index))
            if made is not None:
                return made
            if container.name == "os.environ":
                external_effect(site, EffectKind.TIME, "os.environ[...]")
                return UNKNOWN_STR
            # a generic such as `Optional[int]`, or a class's `__class_getitem__`
            arguments = index.elements if isinstance(index, TupleValue) else (index,)
            return PartialValue(container, arguments, ())
        case PartialValue():
            return container
        case DatasetValue():
            return UNKNOWN
        case _:
            return BOTTOM if container in (NONE, UNBOUND) else UNKNOWN


def _shape_item(container: ShapeValue, index: Value) -> Value:
    """An element or a part of a static shape."""
    if isinstance(index, SliceValue):
        known = _python_slice(index)
        if known is None or container.shape is None:
            return ShapeValue(None, Traced(rank=container.traced.rank))
        return ShapeValue(container.shape[known])
    if isinstance(index, Constant) and type(index.value) is int and container.shape is not None:
        position = index.value
        if -len(container.shape) <= position < len(container.shape):
            return size_value(container.shape[position])
        return UNKNOWN
    roots = container.traced.rank | (container.traced.first if index == Constant(0) else 0)
    return size_value(opened(None, roots, Why.CONTENT))


def _sequence_item(site: Site, elements: tuple[Value, ...], index: Value, *, as_tuple: bool) -> Value:
    if isinstance(index, Constant) and type(index.value) in (int, bool):
        position = int(index.value)  # type: ignore[arg-type]
        if -len(elements) <= position < len(elements):
            return elements[position]
        if not as_tuple:
            _contradict(site.frame)
        return UNKNOWN
    if isinstance(index, SliceValue):
        known = _python_slice(index)
        if known is not None:
            part = elements[known]
            if as_tuple:
                return TupleValue(part)
            return new_list(site, FrozenList(part))
        element = join_all(elements)
        return SequenceValue(element) if as_tuple else new_list(site, FrozenList(None, element))
    return join_all(elements) if elements else UNKNOWN


def _contradict(frame: Frame) -> None:
    """The item is not in a list or dict: somebody that we do not see fills it, so what follows from its content proves nothing."""
    frame.conditions += 1


def _python_slice(index: SliceValue) -> slice | None:
    """The slice with constant bounds; None if a bound is not known."""
    bounds: list[int | None] = []
    for bound in (index.lower, index.upper, index.step):
        if not isinstance(bound, Constant) or not (bound.value is None or type(bound.value) is int):
            return None
        bounds.append(None if bound.value is None else int(bound.value))
    return None if bounds[2] == 0 else slice(*bounds)


def _part_of_text(text: str, index: Value) -> str | None:
    """A character or slice of a known text; None where it is not known which."""
    if isinstance(index, SliceValue):
        known = _python_slice(index)
        return None if known is None else text[known]
    if isinstance(index, Constant) and type(index.value) is int and -len(text) <= index.value < len(text):
        return text[index.value]
    return None


def _object_item(site: Site, container: Reference, index: Value) -> Value:
    frame = site.frame
    content = frame.state.get((container.object, ITEMS))
    frame.note_read(site.op, (container.object, ITEMS))
    if isinstance(content, FrozenList):
        if content.elements is not None:
            return _sequence_item(site, content.elements, index, as_tuple=False)
        if isinstance(index, SliceValue):
            known = _python_slice(index)
            length = (
                len(range(content.length)[known]) if known is not None and isinstance(content.length, int) else None
            )
            return new_list(site, FrozenList(None, content.element, length))
        element = list_element(content)
        return element if element != BOTTOM else UNKNOWN
    facts = site.engine.objects.facts[container.object]
    if isinstance(content, FrozenDict):
        factory = frame.state.get((container.object, DEFAULT_FACTORY))
        if factory is not None and not mappings.has_item(content, index):
            return _made_item(site, container, index, factory)
        if mappings.known_item(content, index) == BOTTOM:
            _contradict(frame)
        return mappings.dict_item(content, index)
    if facts.kind is ObjectKind.CLASS:
        getter = find_in_class(frame, container, "__class_getitem__")
        return container if getter is None else site.call(getter[0], CallArguments((container, index)))
    method = find_method(site, container, "__getitem__")
    if method is not None:
        return site.call(method, CallArguments((index,)))
    return UNKNOWN


def _made_item(site: Site, container: Reference, index: Value, factory: Value) -> Value:
    """An item of a `defaultdict` that may be missing: the factory makes it then, and the dict keeps it."""
    frame = site.frame
    made = site.call(factory, CallArguments(()))
    # looked at only now: what the factory made here before has another name since
    content = frame.state.get((container.object, ITEMS))
    assert isinstance(content, FrozenDict)
    known = mappings.known_item(content, index)
    value = join(known, made)
    frame.state.set((container.object, ITEMS), mappings.with_item(content, index, value, single=known == BOTTOM))
    write_effect(site, container.object, ITEMS, "[...] makes a missing item")
    return value


def store_item(site: Site, op: Op) -> None:
    assert isinstance(op, ops.StoreItem)
    frame = site.frame
    container, index, value = frame.value(op.object), frame.value(op.index), frame.value(op.value)
    alternatives = members(container)
    for member in alternatives:
        if isinstance(member, Reference):
            _store_into(site, member, index, value, certain=len(alternatives) == 1)
        elif isinstance(member, UnknownValue):
            effect = Effect(
                EffectKind.STATE_WRITE, unknown_target(member), "an item is assigned", site.place(), assumed=True
            )
            frame.add_effect(effect)
        elif isinstance(member, TensorValue) and member.kind is TensorKind.NDARRAY:
            # arrays have no identity here: whether anybody else sees this one is not known
            array_changed(site, op.object)
            if not _is_made_here(site, op.object):
                detail = f"{site.written(op.object)}[...] = ... on an array"
                effect = Effect(EffectKind.STATE_WRITE, unknown_target(member), detail, site.place(), assumed=True)
                frame.add_effect(effect)
        elif isinstance(member, LibraryValue):
            external_effect(site, EffectKind.INPUT_OUTPUT, f"{member.name}[...] = ...")


def _is_made_here(site: Site, number: int) -> bool:
    """Whether an array is a local variable that is no parameter (or the direct result of a call): changing it is nobody else's business."""
    op = site.operation(number)
    if isinstance(op, ops.LoadName):
        return op.scope is ops.Scope.LOCAL and op.name not in site.frame.parameters
    return isinstance(op, ops.Call)


def _store_into(site: Site, container: Reference, index: Value, value: Value, *, certain: bool) -> None:
    frame = site.frame
    key = (container.object, ITEMS)
    content = frame.state.get(key)
    single = certain and frame.state.get((container.object, EXISTS)) != FALSE
    kept = container.object not in frame.allocated and holds_new_tensor(site, value)
    if isinstance(content, FrozenList):
        new: Value
        position = index.value if isinstance(index, Constant) else None
        if (
            content.elements is not None
            and type(position) is int
            and -len(content.elements) <= position < len(content.elements)
        ):
            elements = list(content.elements)
            elements[position] = value if single else join(elements[position], value)
            new = FrozenList(tuple(elements))
        elif isinstance(index, SliceValue):
            spread = iterate(site, value)
            new = FrozenList(None, join(list_element(content), spread.element))
        else:
            element = join(list_element(content), value)
            new = FrozenList(None, element)
            if content.elements is not None:
                new = FrozenList(tuple(join(old, value) for old in content.elements))
        frame.state.set(key, new)
        write_effect(site, container.object, ITEMS, "[...] = ...", keeps_tensor=kept)
        return
    if isinstance(content, FrozenDict):
        frame.state.set(key, mappings.with_item(content, index, value, single=single))
        write_effect(site, container.object, ITEMS, "[...] = ...", keeps_tensor=kept)
        return
    method = find_method(site, container, "__setitem__")
    if method is not None:
        site.call(method, CallArguments((index, value)))
    else:
        write_effect(site, container.object, ITEMS, "[...] = ...", keeps_tensor=kept)


def delete_item(site: Site, op: Op) -> None:
    assert isinstance(op, ops.DeleteItem)
    frame = site.frame
    container, index = frame.value(op.object), frame.value(op.index)
    for member in members(container):
        if isinstance(member, Reference):
            key = (member.object, ITEMS)
            content = frame.state.get(key)
            if isinstance(content, FrozenList):
                frame.state.set(key, FrozenList(None, list_element(content)))
            elif isinstance(content, FrozenDict):
                single = len(members(container)) == 1 and frame.state.get((member.object, EXISTS)) != FALSE
                frame.state.set(key, mappings.without_item(content, index, single=single))
            write_effect(site, member.object, ITEMS, "del ...[...]")
        elif isinstance(member, UnknownValue):
            frame.add_effect(
                Effect(
                    EffectKind.STATE_WRITE,
                    unknown_target(member),
                    "an item is deleted",
                    site.place(),
                    assumed=True,
                )
            )


# --- to and from tf_model ------------------------------------------------------------------------------------------------------------


def thaw(site: Site, value: Value, tag: object = None) -> Value:
    """A rule's result as the interpreter sees it: new lists and dicts become objects."""
    match value:
        case FrozenList():
            elements = value.elements
            content = FrozenList(
                None if elements is None else tuple(thaw(site, e, (tag, i)) for i, e in enumerate(elements)),
                None if value.element is None else thaw(site, value.element, (tag, "*")),
                value.length,
            )
            return new_list(site, content, tag)
        case FrozenDict():
            items = tuple((key, thaw(site, item, (tag, str(key)))) for key, item in value.items)
            rest = None if value.rest is None else thaw(site, value.rest, (tag, "**"))
            return mappings.new_dict(site, FrozenDict(items, rest), tag)
        case TupleValue():
            thawed = tuple(thaw(site, e, (tag, i)) for i, e in enumerate(value.elements))
            return TupleValue(thawed, value.name, value.fields, value.cls)
        case SequenceValue():
            return SequenceValue(thaw(site, value.element, (tag, "*")), value.kind)
        case UnionValue():
            return join_all(thaw(site, member, (tag, i)) for i, member in enumerate(value.members))
        case _:
            return value


def length_of(site: Site, value: Value) -> Value:
    """`len(value)`."""
    results: list[Value] = []
    for member in members(value):
        match member:
            case TensorValue():
                results.append(_length_of_tensor(member))
            case ShapeValue():
                results.append(UNKNOWN_INT if member.shape is None else Constant(len(member.shape)))
            case Constant(str() | bytes() as text):
                results.append(Constant(len(text)))
            case RangeValue():
                start, stop, step = dim_of(member.start), dim_of(member.stop), dim_of(member.step)
                results.append(size_value(subtract(stop, start)) if step == 1 else UNKNOWN_INT)
            case TupleValue() | Reference() | SequenceValue():
                found = iterate(site, member) if _has_known_items(site.frame, member) else None
                if found is not None and found.length is not None:
                    results.append(size_value(found.length))
                else:
                    method = find_method(site, member, "__len__") if isinstance(member, Reference) else None
                    results.append(UNKNOWN_INT if method is None else site.call(method, CallArguments()))
            case _:
                results.append(UNKNOWN_INT)
    return join_all(results)


def _length_of_tensor(value: TensorValue) -> Value:
    """`len(x)` is a tensor in a graph that does not know the size."""
    shape, traced = value.type.shape, value.traced
    if not shape:
        return size_value(opened(None, traced.first | traced.rank, Why.CONTENT, is_tensor=True))
    size = shape[0]
    return size_value(replace(size, is_tensor=True) if isinstance(size, OpenDim) else size)


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


HANDLERS: dict[type[Op], Handler] = {
    **mappings.HANDLERS,
    ops.BuildContainer: build_container,
    ops.BuildSlice: build_slice,
    ops.FormatString: format_string,
    ops.UnpackElement: unpack_element,
    ops.LoadItem: load_item,
    ops.StoreItem: store_item,
    ops.DeleteItem: delete_item,
}
