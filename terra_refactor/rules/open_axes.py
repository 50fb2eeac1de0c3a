"""Axes whose size a graph does not know while it is traced, although eager code does.

Computes: for the tensors of one function, in one context, such axes and why: batches of a data set whose last one may be smaller, and
sizes that the content of a tensor decides. They are followed through names, unpacking, items, operators, operations and layers, and through
functions of the program. Needs: a view; `DatasetValue.open_batches`. Gives: `OpenAxes`, `gives_batches`. Ignores: attributes that
are set outside of constructors, and containers that change. An axis that is not found may be open all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ContextId
from terra_refactor.analysis.lost_shapes import KEEPS_RANK, LOSES_RANK
from terra_refactor.domain.dim import Dim, definitely_different
from terra_refactor.domain.value import (
    NONE,
    Constant,
    DatasetValue,
    FunctionValue,
    Reference,
    TensorKind,
    TupleValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import operands
from terra_refactor.rules.open_contents import CLOSED, MAX_DEPTH, NEXT, Axes, OpenContents, Origin, is_call_of_layer
from terra_refactor.rules.size_arguments import (
    ELEMENT_WISE,
    FIRST_BY_CONTENT,
    IMAGES,
    REPEATS,
    SHAPES,
    SIZES,
    SPARSE_BY_CONTENT,
)
from terra_refactor.rules.tensor_values import has_kind, is_mask, is_tensor, rank_of, sizes_of
from terra_refactor.rules.view import ContextView, has_trait, is_tensorflow_tensor
from terra_refactor.tf_model.spec import Trait

_FIRST: Final[Axes] = {0: Origin.CONTENT}
_FIRST_OF_BATCH: Final[Axes] = {0: Origin.BATCH}
_MAX_CALLS: Final = 3
"""How many calls deep a result is looked for."""


class OpenAxes(OpenContents):
    """The axes of one function's tensors that are open, in one context. `parameters` are those that are given tensors with open axes."""

    __slots__ = ("_insides", "_known", "_told", "_without_rank", "parameters")

    def __init__(
        self,
        view: ContextView,
        parameters: Mapping[str, Axes] | None = None,
        contents: Set[str] | None = None,
        calls: int = _MAX_CALLS,
    ) -> None:
        super().__init__(view, contents, calls)
        self.parameters = {} if parameters is None else parameters
        self._known: dict[OpId, Axes] = {}
        self._told: frozenset[str] | None = None
        self._without_rank: dict[OpId, bool] = {}
        self._insides: dict[tuple[OpId, ContextId], OpenAxes] = {}

    def of(self, number: OpId) -> Axes:
        """The open axes of a result, if that is a tensor of TensorFlow of known rank; else none."""
        value = self._view.value(number)
        if not rank_of(value) or not all(is_tensorflow_tensor(member) for member in members(value)):
            return CLOSED
        return self._axes(number, 0)

    def member(self, number: OpId, key: object) -> Axes:
        """The open axes of one tensor of a structure."""
        return self._of_member(number, key, 0)

    def origin(self, number: OpId, position: int) -> Origin | None:
        """Why an axis of a result is open; None if it is not, as far as is known. A negative position counts from the end."""
        if self.has_no_rank(number):
            return Origin.CONTENT
        value = self._view.value(number)
        rank = rank_of(value)
        if (
            rank is None
            and position >= 0
            and is_tensor(value)
            and all(is_tensorflow_tensor(member) for member in members(value))
        ):
            return self._axes(number, 0).get(position)
        return self.of(number).get(position + (rank or 0) if position < 0 else position)

    def has_no_rank(self, number: OpId) -> bool:
        """Whether a result is a tensor of which a graph does not know the rank: what a Python function or a file gave.

        Eager code may know more than its rank; what says a shape (`set_shape`, `expand_animations=False`) tells the graph, too.
        """
        return self._no_rank(number, 0)

    def _no_rank(self, number: OpId, depth: int) -> bool:
        if depth > MAX_DEPTH:
            return False
        known = self._without_rank.get(number)
        if known is None:
            self._without_rank[number] = False  # of what depends on itself
            known = self._without_rank[number] = self._finds_no_rank(number, depth + 1)
        return known

    def _finds_no_rank(self, number: OpId, depth: int) -> bool:
        view = self._view
        match view.op(number):
            case ops.UnpackElement(source=source):
                return self._no_rank(source, depth)
            case ops.Binary(left=left, right=right):
                return self._no_rank(left, depth) or self._no_rank(right, depth)
            case ops.LoadName() as load:
                stored = [] if self._has_set_shape(load) else self._stored(load)
                return any(self._no_rank(value, depth) for value in stored)
            case ops.Call() as call:
                names = self._library(call)
                if len(names) == 1 and names[0] in LOSES_RANK:
                    animation = view.library_argument(call, names[0], "expand_animations")
                    return animation is None or view.value(animation) == Constant(True)
                if call.arguments and len(names) == 1 and names[0] in KEEPS_RANK:
                    return self._no_rank(call.arguments[0].value, depth)
                results = [
                    self.inside(callee, call.id).has_no_rank(result.value)
                    for callee in self.functions_called(call.id)
                    for result in callee.returns()
                    if result.value is not None
                ]
                return bool(results) and all(results)
            case _:
                return False

    def _has_set_shape(self, load: ops.LoadName) -> bool:
        """Whether the function calls `set_shape` of that variable."""
        if self._told is None:
            asked = [op.object for op in self._view.code.of_kind(ops.LoadAttribute) if op.name == "set_shape"]
            owners = [self._view.op(number) for number in asked]
            self._told = frozenset(owner.name for owner in owners if isinstance(owner, ops.LoadName))
        return load.name in self._told

    def _axes(self, number: OpId, depth: int) -> Axes:
        if depth > MAX_DEPTH:
            return CLOSED
        known = self._known.get(number)
        if known is None:
            self._known[number] = CLOSED  # of what depends on itself
            known = self._known[number] = self._find(number, depth + 1)
        return known

    def _find(self, number: OpId, depth: int) -> Axes:
        view = self._view
        op = view.op(number)
        match op:
            case ops.NextItem():
                return self._of_element(number, depth)
            case ops.UnpackElement(source=source, position=position):
                return self._of_member(source, position, depth)
            case ops.LoadItem(object=container, index=index):
                if is_tensor(view.value(container)):
                    return self._of_slice(container, index, depth)
                key = view.value(index)
                return self._of_member(container, key.value, depth) if isinstance(key, Constant) else CLOSED
            case ops.LoadAttribute(object=owner, name=name):
                if has_kind(view.value(owner), TensorKind.SPARSE, TensorKind.RAGGED):
                    return (
                        _FIRST if name in ("values", "indices", "flat_values") and self._is_computed(owner) else CLOSED
                    )
                if is_tensor(view.value(owner)):
                    return CLOSED
                properties = self.functions_called(number)
                return self._of_results(number, properties) if properties else self._of_member(owner, name, depth)
            case ops.LoadName(name=name):
                if self._has_set_shape(op):
                    return CLOSED
                stores = self._stores(op)
                if not stores:
                    return self.parameters.get(name, CLOSED)
                found: dict[int, Origin] = {}
                for store in stores:
                    if store.value is not None:
                        found.update({**self._axes(store.value, depth), **self._of_branches(store, op)})
                return found
            case ops.Unary(operand=operand):
                return self._axes(operand, depth)
            case ops.Binary(operator="@", left=left, right=right):
                return self._of_product(left, right, number, depth)
            case ops.Binary(left=left, right=right):
                return self._of_sides((left, right), number, depth)
            case ops.Call():
                return _FIRST_OF_BATCH if self._is_next(number) else self._of_call(op, depth)
            case _:
                return CLOSED

    def _of_branches(self, store: ops.StoreName, load: ops.LoadName) -> Axes:
        """Of a variable that is set under a condition on a tensor: the axes of which the two sides leave other sizes."""
        view = self._view
        around = {outer.id for outer in view.enclosing(load.id)}
        for outer in view.enclosing(store.id):
            fact = view.branches.get(outer.id)
            if (
                outer.id in around
                or not isinstance(outer, ops.If)
                or fact is None
                or fact.kind is not BranchKind.TENSOR
            ):
                continue
            for name, first, second in fact.changed if all(fact.falls_through) else ():
                sizes, others = sizes_of(first), sizes_of(second)
                if name == load.name and sizes and len(sizes) == len(others):
                    pairs = zip(sizes, others, strict=True)
                    return {axis: Origin.CONTENT for axis, (a, b) in enumerate(pairs) if definitely_different(a, b)}
        return CLOSED

    def _is_computed(self, number: OpId) -> bool:
        """Whether a sparse or ragged tensor is given, or of as many values as a content says: not put together from parts here."""
        view = self._view
        op = view.op(view.behind_name(number))
        if isinstance(op, ops.LoadName):
            return not self._stored(op) and not view.is_captured(op.id)
        return isinstance(op, ops.Call) and not SPARSE_BY_CONTENT.isdisjoint(self._names(op))

    def _of_element(self, number: OpId, depth: int) -> Axes:
        """Of what a loop hands to its target: an element of a data set, or a row of a tensor."""
        parent = self._view.code.parents[number]
        loop = None if parent is None else self._view.op(parent)
        if not isinstance(loop, ops.For):
            return CLOSED
        value = self._view.value(loop.iterable)
        if gives_batches(value):
            return _FIRST_OF_BATCH
        return _rows(self._axes(loop.iterable, depth)) if is_tensor(value) else CLOSED

    def _of_member(self, number: OpId, key: object, depth: int) -> Axes:
        """Of one tensor of a structure; of a tensor that is unpacked, of its rows."""
        if is_tensor(self._view.value(number)):
            return _rows(self._axes(number, depth))
        source = self._view.op(self._view.behind_name(number))
        if isinstance(source, ops.BuildContainer | ops.BuildDict):
            is_tuple = isinstance(source, ops.BuildContainer) and source.kind is ops.ContainerKind.TUPLE
            may_change = source.id != number and not is_tuple and not self._is_only_read(source.id)
            element = None if may_change else self._element(source, key)
            return CLOSED if element is None else self._axes(element, depth)
        if isinstance(source, ops.Comprehension) and (source.id == number or self._is_only_read(source.id)):
            collected = [
                op for op in self._view.code.of_kind(ops.CollectElement) if self._view.code.parents[op.id] == source.id
            ]
            return self._axes(collected[0].value, depth) if collected and type(key) is int else CLOSED
        names = self._names(source) if isinstance(source, ops.Call) else ()
        if isinstance(source, ops.Call) and names == ("tensorflow.split",) and type(key) is int:
            return self._of_split(source, key, depth)
        if isinstance(source, ops.Call) and names == ("tensorflow.unstack",) and source.arguments:
            return _rows(self._axes(source.arguments[0].value, depth)) if len(source.arguments) == 1 else CLOSED
        if key in (1, "idx") and any("unique" in name for name in names):
            return CLOSED  # one for each element of what is searched
        if isinstance(source, ops.Call) and self._library(source) == ("tensorflow.cond",):
            return self._of_either(self._view.calls[source.id].callees, key)
        if isinstance(source, ops.Call) and (callees := self.functions_called(source.id)):
            return self._of_results(source.id, callees, key)
        return self._axes(number, depth)

    def _element(self, display: ops.BuildContainer | ops.BuildDict, key: object) -> OpId | None:
        """What a display has at that place; None if that is not known."""
        if isinstance(display, ops.BuildDict):
            keys = [None if item.key is None else self._view.value(item.key) for item in display.items]
            found = [
                item.value
                for item, known in zip(display.items, keys, strict=True)
                if isinstance(known, Constant) and known.value == key
            ]
            return found[-1] if found and all(isinstance(known, Constant) for known in keys) else None
        elements = display.elements
        if any(element.starred for element in elements):
            return None
        return elements[key].value if type(key) is int and -len(elements) <= key < len(elements) else None

    def _is_only_read(self, display: OpId) -> bool:
        """Whether nothing happens to a list or dict that has a name but that its items are read."""
        code = self._view.code
        names = {store.name for store in code.of_kind(ops.StoreName) if store.value == display}
        loads = {load.id for load in code.of_kind(ops.LoadName) if load.name in names}
        return all(isinstance(op, ops.LoadItem) or loads.isdisjoint(operands(op)) for op in code.ops if op is not None)

    def _of_split(self, call: ops.Call, part: int, depth: int) -> Axes:
        """Of a part of `tf.split`: of the size that is asked for."""
        view, name = self._view, "tensorflow.split"
        value, sizes, along = (
            view.library_argument(call, name, parameter) for parameter in ("value", "num_or_size_splits", "axis")
        )
        axis = Constant(0) if along is None else view.value(along)
        if value is None or sizes is None or not isinstance(axis, Constant) or type(axis.value) is not int:
            return CLOSED
        own, rank = self._axes(value, depth), rank_of(view.value(value)) or 1
        display = view.op(view.behind_name(sizes))
        if not isinstance(display, ops.BuildContainer):
            return own
        if not 0 <= part < len(display.elements):
            return CLOSED
        size, place = display.elements[part].value, axis.value % rank
        if self._by_content(size, depth):
            return {**own, place: Origin.CONTENT}
        others = {each: origin for each, origin in own.items() if each != place}
        return own if view.value(size) == Constant(-1) else others

    def _of_slice(self, container: OpId, index: OpId, depth: int) -> Axes:
        """Of what a subscript takes of a tensor: `x[:, 0]`, `x[:n]`, `x[mask]`, `x[..., None]`."""
        view = self._view
        rank, axes = rank_of(view.value(container)), self._axes(container, depth)
        whole = view.op(index)
        parts = [element.value for element in whole.elements] if isinstance(whole, ops.BuildContainer) else [index]
        found: dict[int, Origin] = {}
        source = place = 0
        if rank is None:
            parts = parts[:1]  # what the first one does to the first axis needs no rank
        for position, part in enumerate(parts):
            op, value = view.op(part), view.value(part)
            if isinstance(op, ops.BuildSlice):
                if any(bound is not None and self._by_content(bound, depth) for bound in (op.lower, op.upper)):
                    found[place] = Origin.CONTENT
                elif source in axes:
                    found[place] = axes[source]
                source, place = source + 1, place + 1
            elif isinstance(op, ops.Literal) and op.value is ... and rank is not None:
                rest = sum(view.value(other) != NONE for other in parts[position + 1 :])
                while source < rank - rest:
                    if source in axes:
                        found[place] = axes[source]
                    source, place = source + 1, place + 1
            elif value == NONE:
                place += 1
            elif is_mask(value):
                found[place] = Origin.CONTENT
                source, place = source + (rank_of(value) or 1), place + 1
            elif rank_of(value) == 0:
                source += 1
            else:
                return CLOSED
        for axis in range(source, rank or 0):
            if axis in axes:
                found[place + axis - source] = axes[axis]
        return found

    def _of_product(self, left: OpId, right: OpId, result: OpId, depth: int) -> Axes:
        """Of a product of matrices: rows of one, columns of the other."""
        sizes = [rank_of(self._view.value(number)) for number in (left, right, result)]
        if None in sizes or not all(size is not None and size >= 2 for size in sizes) or sizes[0] != sizes[2]:
            return CLOSED
        last = (sizes[0] or 0) - 1
        found = {axis: origin for axis, origin in self._axes(left, depth).items() if axis != last}
        columns = self._axes(right, depth).get((sizes[1] or 0) - 1)
        return found if columns is None else {**found, last: columns}

    def _of_sides(self, sides: Sequence[OpId], result: OpId, depth: int) -> Axes:
        """Of an element-wise operation: the open axes of its sides that no other side fixes."""
        view = self._view
        rank = rank_of(view.value(result)) or 0
        found: dict[int, Origin] = {}
        for axis in range(-rank, 0):
            origins = []
            for side in sides:
                own = rank_of(view.value(side)) or 0
                if -axis > own:
                    continue  # it has no such axis
                origin = self._axes(side, depth).get(axis + own)
                sizes = sizes_of(view.value(side))
                if origin is None and (not sizes or sizes[axis] != 1):
                    break
                origins.append(origin)
            else:
                known = [origin for origin in origins if origin is not None]
                if known:
                    found[axis + rank] = known[0]
        return found

    def _is_next(self, number: OpId) -> bool:
        view = self._view
        op = view.op(number)
        if not isinstance(op, ops.Call):
            return False
        names = self._names(op)
        if not names or not NEXT.issuperset(names):
            return False
        if "builtins.next" in names:
            return bool(op.arguments) and gives_batches(view.value(op.arguments[0].value))
        method = view.op(op.function)
        return isinstance(method, ops.LoadAttribute) and gives_batches(view.value(method.object))

    # --- calls ----------------------------------------------------------------------------------------------------------------

    def given_to(self, callee: ContextView, call: OpId) -> dict[str, Axes]:
        """The parameters of a function of the program that a call gives tensors with open axes."""
        return {name: axes for name, number in self._arguments(callee, call) if (axes := self.of(number))}

    def _arguments(self, callee: ContextView, number: OpId) -> Iterator[tuple[str, OpId]]:
        """What a call gives the parameters of a function of the program, by their names."""
        call = self._view.op(number)
        if not isinstance(call, ops.Call) or any(
            argument.spread is not ops.Spread.PLAIN for argument in call.arguments
        ):
            return
        names = [parameter.name for parameter in callee.function.parameters]
        # a method that is called as a function of its class gets `self` as an argument
        is_plain = all(isinstance(member, FunctionValue) for member in members(self._view.value(call.function)))
        if callee.function.kind is FunctionKind.METHOD and not is_plain:
            del names[:1]
        position = 0
        for argument in call.arguments:
            name = argument.keyword
            if name is None:
                name = names[position] if position < len(names) else None
                position += 1
            if name is not None and name in names:
                yield name, argument.value

    def inside(self, callee: ContextView, call: OpId) -> OpenAxes:
        """The axes of a function of the program, as a call (or the read of a property) runs it."""
        found = self._insides.get((call, callee.context.id))
        if found is None:
            contents = {name for name, number in self._arguments(callee, call) if self._by_content(number, 0)}
            found = OpenAxes(callee, self.given_to(callee, call), contents, self._calls - 1)
            self._insides[call, callee.context.id] = found
        return found

    def _of_results(self, call: OpId, callees: Iterable[ContextView], key: object = None) -> Axes:
        """The axes that are open in whatever functions return; with a key, in that part of it, or that attribute of what they construct."""
        found: Axes | None = None
        for callee in callees:
            inside = self.inside(callee, call)
            if callee.function.name == "__init__":
                stores = () if self._is_set_elsewhere(key, callee) else callee.code.of_kind(ops.StoreAttribute)
                results = [inside.of(store.value) for store in stores if store.name == key and store.value is not None]
            else:
                returned = [result.value for result in callee.returns() if result.value is not None]
                results = [inside.of(each) if key is None else inside.member(each, key) for each in returned]
            for axes in results:
                found = axes if found is None else {axis: why for axis, why in found.items() if axis in axes}
        return found or CLOSED

    def _is_set_elsewhere(self, name: object, constructor: ContextView) -> bool:
        """Whether this function, or another one of the constructor's module, sets an attribute of that name."""
        own = constructor.function.id
        others = [function.id for function in constructor.program.modules[own.module].functions if function.id != own]
        return any(
            store.name == name
            for identity in (*others, self._view.function.id)
            for store in self._view.codes.of(identity).of_kind(ops.StoreAttribute)
        )

    def _of_call(self, call: ops.Call, depth: int) -> Axes:
        view = self._view
        callees = self.functions_called(call.id)
        if callees:
            return self._of_results(call.id, callees)
        fact, first = view.calls.get(call.id), call.arguments[0].value if call.arguments else None
        if fact is not None and fact.library and all(map(is_call_of_layer, fact.library)):
            origin = None if first is None else self._axes(first, depth).get(0)
            return {0: origin} if origin is not None and rank_of(view.value(call.id)) else CLOSED
        names = self._library(call)
        if names == ("tensorflow.TensorArray.stack",):
            return self._of_stack()
        if names in (("tensorflow.map_fn",), ("tensorflow.vectorized_map",)):
            elements = view.library_argument(call, names[0], "elems")
            origin = None if elements is None else self._axes(elements, depth).get(0)
            return CLOSED if origin is None else {0: origin}
        if names == ("tensorflow.cond",) and fact is not None:
            return self._of_either(fact.callees)
        if len(names) != 1 or (names[0] not in LOSES_RANK and not self._names(call)):
            return CLOSED
        (name,) = names
        if name == "tensorflow.RaggedTensor.to_tensor":
            return {1: Origin.CONTENT} if view.library_argument(call, name, "shape") is None else CLOSED
        if not has_trait(name, Trait.TENSOR_OPERATION) or first is None:
            return CLOSED
        result = view.value(call.id)
        rank = rank_of(result.elements[0] if isinstance(result, TupleValue) and result.elements else result)
        if name in LOSES_RANK and name != "tensorflow.io.decode_image":
            return dict.fromkeys(range(rank or 1), Origin.CONTENT)
        if name == "tensorflow.ensure_shape":
            return CLOSED
        if name in FIRST_BY_CONTENT or (name == "tensorflow.where" and len(call.arguments) == 1):
            return _FIRST if view.library_argument(call, name, "axis") is None else CLOSED
        if rank is None:
            return CLOSED
        seeds = self._by_arguments(call, name, rank, depth)
        if seeds is not None:
            return seeds
        if name in ELEMENT_WISE:
            return self._of_sides([argument.value for argument in call.arguments[:2]], call.id, depth)
        if name == "tensorflow.linalg.matmul" and len(call.arguments) == 2:
            return self._of_product(first, call.arguments[1].value, call.id, depth)
        others = [argument.value for argument in call.arguments[1:]]
        if call.arguments[0].keyword is not None or any(
            is_tensor(view.value(other)) and rank_of(view.value(other)) for other in others
        ):
            return CLOSED
        return self._moved(name, first, call.id, depth)

    def _of_either(self, sides: Iterable[ContextId], key: object = None) -> Axes:
        """Of what `tf.cond` gives, or an element of it: what is open on a side, and where the sides are of other sizes."""
        found: dict[int, Origin] = {}
        sizes: list[Sequence[Dim]] = []
        for side in map(self._view.of, sides) if self._calls else ():
            inside = OpenAxes(side, None, None, self._calls - 1)
            for result in side.returns():
                assert result.value is not None
                value = side.value(result.value)
                if key is not None and isinstance(value, TupleValue) and type(key) is int and key < len(value.elements):
                    found.update(inside.member(result.value, key))
                    sizes.append(sizes_of(value.elements[key]))
                elif key is None:
                    found.update(inside.of(result.value))
                    sizes.append(sizes_of(value))
        for axis, dims in enumerate(zip(*sizes, strict=False)):
            if any(definitely_different(dims[0], dim) for dim in dims[1:]):
                found[axis] = Origin.CONTENT
        return found

    def _of_stack(self) -> Axes:
        """Of the elements of a `TensorArray`: a graph knows how many if the constructor is given a number and it may not grow.

        The constructor is looked for here and in functions that give an object.
        """
        view, name = self._view, "tensorflow.TensorArray"
        for call in view.reached(ops.Call):
            if self._library(call) == (name,):
                size, dynamic = (view.library_argument(call, name, parameter) for parameter in ("size", "dynamic_size"))
                grows = dynamic is not None and view.value(dynamic) not in (Constant(False), NONE)
                if grows or (size is not None and is_tensor(view.value(size))):
                    return _FIRST
            elif any(isinstance(member, Reference) for member in members(view.value(call.id))):
                if any(self.inside(callee, call.id)._of_stack() for callee in self.functions_called(call.id)):
                    return _FIRST
        return CLOSED

    def _by_arguments(self, call: ops.Call, name: str, rank: int, depth: int) -> Axes | None:
        """Of operations whose arguments say which sizes are open, or their kind says it of several; None for others."""
        view = self._view

        def argument(*parameters: str) -> OpId | None:
            return view.library_argument(call, name, *parameters)

        def is_open(number: OpId | None) -> bool:
            return number is not None and self._any_content(number, depth)

        def by_content(positions: Iterable[int]) -> Axes:
            return {position: Origin.CONTENT for position in positions if 0 <= position < max(rank, 1)}

        if name == "tensorflow.strings.split" or (
            name == "tensorflow.io.decode_raw" and argument("fixed_length") is None
        ):
            return by_content((rank - 1,))
        if name in IMAGES:
            channels = argument("channels")
            return by_content((0, 1) if channels is not None and view.value(channels) != Constant(0) else (0, 1, 2))
        if name in SHAPES:
            shape = argument(SHAPES[name])
            found = CLOSED if shape is None else self._positions(shape, rank, depth)
            if name == "tensorflow.reshape" and shape is not None:
                tensor = argument("tensor")
                return found if tensor is None else self._with_rest(tensor, shape, found, depth)
            return found
        if name in REPEATS:
            factors, tensor = argument(REPEATS[name]), argument("input", "tensor")
            if factors is None or tensor is None:
                return CLOSED
            return {**self._axes(tensor, depth), **self._positions(factors, rank, depth)}
        if name == "tensorflow.eye":
            rows, columns = argument("num_rows"), argument("num_columns")
            columns = rows if columns is None else columns
            if argument("batch_shape") is not None:
                return CLOSED
            return by_content((*((0,) if is_open(rows) else ()), *((1,) if is_open(columns) else ())))
        if name in SIZES:
            axis, parameters = SIZES[name]
            if argument("axis") is not None:
                return CLOSED
            given = [value for parameter in parameters if (value := argument(parameter)) is not None]
            if name == "tensorflow.sequence_mask" and not given:
                given = [value for value in [argument("lengths")] if value is not None]
            return by_content((axis % max(rank, 1),) if any(is_open(each) for each in given) else ())
        if name == "tensorflow.repeat":
            repeats, along = argument("repeats"), argument("axis")
            axis_value = Constant(0) if along is None else view.value(along)
            if repeats is None or not isinstance(axis_value, Constant) or type(axis_value.value) is not int:
                return CLOSED
            several = rank_of(view.value(repeats)) != 0 or isinstance(
                view.op(view.behind_name(repeats)), ops.BuildContainer
            )
            return by_content((axis_value.value % max(rank, 1),) if several or is_open(repeats) else ())
        if name == "tensorflow.gather":
            indices = argument("indices")
            plain = indices is not None and argument("axis", "batch_dims") is None
            return self._axes(indices, depth) if plain and indices is not None else CLOSED
        if name == "tensorflow.image.resize":
            size = argument("size")
            spatial = CLOSED if size is None else self._positions(size, 2, depth)
            return {axis + rank - 3: origin for axis, origin in spatial.items()}
        if name == "tensorflow.image.crop_to_bounding_box":
            sizes = (argument("target_height"), argument("target_width"))
            return by_content(rank - 3 + place for place, size in enumerate(sizes) if is_open(size))
        if name == "tensorflow.concat":
            return self._of_joined(call, name, rank, depth)
        return None

    def _with_rest(self, tensor: OpId, shape: OpId, found: Axes, depth: int) -> Axes:
        """Of a reshaped tensor: the axis of size -1 takes what the others leave, which is open if any of them, or the tensor, is."""
        op = self._view.op(self._view.behind_name(shape))
        before = self._axes(tensor, depth)
        if not isinstance(op, ops.BuildContainer) or not (found or before):
            return found
        rest = [place for place, element in enumerate(op.elements) if self._view.value(element.value) == Constant(-1)]
        if not before and len({*found, *rest}) == 1:
            return CLOSED  # what the other sizes leave is known
        return {**found, **dict.fromkeys(rest, next(iter((*found.values(), *before.values()))))}

    def _of_joined(self, call: ops.Call, name: str, rank: int, depth: int) -> Axes:
        view = self._view
        values, along = view.library_argument(call, name, "values"), view.library_argument(call, name, "axis")
        display = None if values is None else view.op(view.behind_name(values))
        axis = None if along is None else view.value(along)
        if not isinstance(display, ops.BuildContainer) or not isinstance(axis, Constant) or type(axis.value) is not int:
            return CLOSED
        parts = [self._axes(element.value, depth) for element in display.elements]
        joined = axis.value % max(rank, 1)
        found = {}
        for place in range(rank):
            origins = [part.get(place) for part in parts]
            known = [origin for origin in origins if origin is not None]
            if known and (place == joined or len(known) == len(origins)):
                found[place] = known[0]
        return found

    def _moved(self, name: str, given: OpId, result: OpId, depth: int) -> Axes:
        """Where the open axes of a tensor are in what is made of it: the same where the shape is, else the only ones of their sizes."""
        axes = self._axes(given, depth)
        before, after = sizes_of(self._view.value(given)), sizes_of(self._view.value(result))
        if before == after and "transpose" not in name:
            return axes
        return {
            after.index(before[axis]): origin
            for axis, origin in axes.items()
            if axis < len(before) and before.count(before[axis]) == 1 and after.count(before[axis]) == 1
        }


def gives_batches(value: Value) -> bool:
    """Whether a value is a data set, or its iterator, whose batches have a first size that TensorFlow does not know."""
    alternatives = members(value)
    return bool(alternatives) and all(
        isinstance(member, DatasetValue) and member.open_batches for member in alternatives
    )


def _rows(axes: Axes) -> Axes:
    """The open axes of what a tensor is made of along its first one."""
    return {axis - 1: origin for axis, origin in axes.items() if axis > 0}
