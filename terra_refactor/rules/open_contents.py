"""Contents of tensors that only a run knows, and the sizes that follow from them.

Computes: whether the content of a tensor follows from others than constants and known sizes, and which elements of a vector of sizes do.
Needs: a view. Gives: `OpenContents`, the base of `OpenAxes`, which needs its open axes in turn (a size that is read from a tensor);
`Origin`, `Axes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from enum import Enum
from typing import Final, TypeAlias

from terra_refactor.domain.value import Constant
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.size_arguments import CONVERSIONS, SAME_CONTENT
from terra_refactor.rules.staging import staging_of
from terra_refactor.rules.tensor_values import is_tensor, rank_of, sizes_of
from terra_refactor.rules.view import ContextView, has_trait
from terra_refactor.tf_model.spec import Trait


class Origin(Enum):
    """Why the size of an axis is not known while a graph is traced."""

    BATCH = "batch"
    """It is that of a data set's batches."""
    CONTENT = "content"
    """The content of a tensor decides."""


Axes: TypeAlias = Mapping[int, Origin]
"""The open axes of a tensor, counted from 0; of a structure those of each of its tensors."""

CLOSED: Final[Axes] = {}
"""No axis is open, as far as is known."""
NEXT: Final = frozenset(
    {
        *("builtins.next", "tensorflow.data.Iterator.get_next", "tensorflow.data.Iterator.__next__"),
        "tensorflow.compat.v1.data.Iterator.get_next",
    }
)
"""What gives the next element of an iterator."""
MAX_DEPTH: Final = 12
"""So many operations are followed back in a row."""


class OpenContents:
    """What only a run knows of the contents of one function's tensors, in one context.

    `contents` are the parameters whose content only a run knows: of a function that a graph calls; None stands for all that are tensors of
    the graph.
    """

    __slots__ = ("_calls", "_contents", "_given_contents", "_view")

    def __init__(self, view: ContextView, contents: Set[str] | None, calls: int) -> None:
        self._view = view
        self._given_contents = contents
        self._calls = calls
        """So many calls deep what functions return is followed."""
        self._contents: dict[OpId, bool] = {}

    def inside(self, callee: ContextView, call: OpId) -> OpenContents:
        """The same of a function of the program, as a call (or the read of a property) runs it."""
        raise NotImplementedError

    def _axes(self, number: OpId, depth: int) -> Axes:
        """The open axes of a tensor."""
        raise NotImplementedError

    def functions_called(self, call: OpId) -> list[ContextView]:
        """The functions of the program that a call (or the read of a property) may run, if it runs nothing else."""
        fact = self._view.calls.get(call)
        if fact is None or fact.unknown is not None or not self._calls or not all(map(is_call_of_layer, fact.library)):
            return []
        return [self._view.of(context) for context in fact.callees]

    def _stored(self, load: ops.LoadName) -> list[OpId]:
        """What the variable may be set to where it is read; none of a parameter that is not set."""
        return [store.value for store in self._stores(load) if store.value is not None]

    def _stores(self, load: ops.LoadName) -> list[ops.StoreName]:
        """What may have set the variable last."""
        return staging_of(self._view).stores(load)

    def _library(self, call: ops.Call) -> tuple[str, ...]:
        """The library functions that a call reaches, whatever functions they call in turn."""
        fact = self._view.calls.get(call.id)
        return () if fact is None or fact.unknown is not None else fact.library

    def _names(self, call: ops.Call) -> tuple[str, ...]:
        """The same of a call that reaches no function of the program."""
        fact = self._view.calls.get(call.id)
        return () if fact is None or fact.callees else fact.library

    def _positions(self, shape: OpId, rank: int, depth: int) -> Axes:
        """The elements of a vector of sizes that only a run knows."""
        view = self._view
        if depth > MAX_DEPTH:
            return CLOSED
        op = view.op(shape)
        every = dict.fromkeys(range(rank), Origin.CONTENT)
        match op:
            case ops.BuildContainer(elements=elements):
                if any(element.starred for element in elements):
                    return CLOSED
                return {
                    place: Origin.CONTENT
                    for place, element in enumerate(elements)
                    if self._any_content(element.value, depth + 1)
                }
            case ops.LoadName() if stored := self._stored(op):
                found: dict[int, Origin] = {}
                for value in stored:
                    found.update(self._positions(value, rank, depth + 1))
                return found
            case ops.Call() if op.arguments and self._names(op) == ("tensorflow.shape",):
                return self._axes(op.arguments[0].value, depth + 1)
            case ops.Call() if op.arguments and len(self._names(op)) == 1 and self._names(op)[0] in CONVERSIONS:
                return self._positions(op.arguments[0].value, rank, depth + 1)
            case ops.Call() if self._names(op) == ("tensorflow.concat",):
                return self._positions_joined(op, rank, depth + 1)
            case ops.LoadItem(object=container, index=index):
                bounds = view.op(index)
                lower = (
                    view.value(bounds.lower)
                    if isinstance(bounds, ops.BuildSlice) and bounds.lower is not None
                    else Constant(0)
                )
                start = lower.value if isinstance(lower, Constant) else None
                if not isinstance(bounds, ops.BuildSlice) or bounds.step is not None or type(start) is not int:
                    return every if self._by_content(shape, depth + 1) else CLOSED
                whole = sizes_of(view.value(container))
                if start < 0:
                    if len(whole) != 1 or not isinstance(whole[0], int):
                        return CLOSED
                    start += whole[0]
                inner = self._positions(container, rank + start, depth + 1)
                return {place - start: origin for place, origin in inner.items() if 0 <= place - start < rank}
            case ops.Binary(left=left, right=right):
                return {**self._positions(left, rank, depth + 1), **self._positions(right, rank, depth + 1)}
            case _:
                return every if self._by_content(shape, depth + 1) else CLOSED

    def _positions_joined(self, call: ops.Call, rank: int, depth: int) -> Axes:
        """Of a vector of sizes that is joined from others."""
        view = self._view
        values = view.library_argument(call, "tensorflow.concat", "values")
        display = None if values is None else view.op(view.behind_name(values))
        if not isinstance(display, ops.BuildContainer):
            return CLOSED
        found: dict[int, Origin] = {}
        start = 0
        for element in display.elements:
            part = view.op(element.value)
            sizes = sizes_of(view.value(element.value))
            length = (
                len(part.elements) if isinstance(part, ops.BuildContainer) else sizes[0] if len(sizes) == 1 else None
            )
            if not isinstance(length, int):
                return found
            inner = self._positions(element.value, length, depth)
            found.update({start + place: origin for place, origin in inner.items()})
            start += length
        return found

    def _any_content(self, number: OpId, depth: int) -> bool:
        """The same of a display: of any of its elements."""
        op = self._view.op(number)
        if isinstance(op, ops.BuildContainer):
            return any(self._any_content(element.value, depth) for element in op.elements)
        return self._by_content(number, depth)

    def _by_content(self, number: OpId, depth: int) -> bool:
        """Whether the content of a tensor follows from those that only a run knows: not from constants and known sizes alone."""
        if depth > MAX_DEPTH or not (is_tensor(self._view.value(number)) or self._view.is_symbolic(number)):
            return False
        known = self._contents.get(number)
        if known is None:
            self._contents[number] = False  # of what depends on itself
            known = self._contents[number] = self._find_content(number, depth + 1)
        return known

    def _find_content(self, number: OpId, depth: int) -> bool:
        view = self._view
        if view.is_variable(number):
            return True
        op = view.op(number)
        match op:
            case ops.LoadName():
                if view.is_captured(number):
                    return False  # what was made before is a constant to the graph
                stored = self._stored(op)
                if not stored and self._given_contents is not None:
                    return op.name in self._given_contents
                return any(self._by_content(value, depth) for value in stored) if stored else view.is_symbolic(number)
            case ops.NextItem():
                return True
            case ops.UnpackElement(source=source, position=position):
                whole = view.op(view.behind_name(source))
                if isinstance(whole, ops.BuildContainer):
                    return position < len(whole.elements) and self._by_content(whole.elements[position].value, depth)
                return (
                    self._content_of_call(whole, depth)
                    if isinstance(whole, ops.Call)
                    else is_tensor(view.value(source))
                )
            case ops.LoadItem(object=container, index=index):
                key, whole = view.value(index), view.op(view.behind_name(container))
                if (
                    isinstance(whole, ops.Call)
                    and self._names(whole) == ("tensorflow.shape",)
                    and isinstance(key, Constant)
                ):
                    tensor = whole.arguments[0].value
                    rank = rank_of(view.value(tensor))
                    place = key.value if type(key.value) is int else None
                    place = place % rank if place is not None and rank else place
                    return place in self._axes(tensor, depth)
                return self._by_content(container, depth) or self._by_content(index, depth)
            case ops.Unary(operand=operand):
                return self._by_content(operand, depth)
            case ops.Binary(left=left, right=right) | ops.Compare(left=left, right=right):
                return self._by_content(left, depth) or self._by_content(right, depth)
            case ops.Call():
                return self._content_of_call(op, depth)
            case _:
                return False

    def _content_of_call(self, call: ops.Call, depth: int) -> bool:
        for callee in self.functions_called(call.id):
            inside = self.inside(callee, call.id)
            if any(result.value is not None and inside._by_content(result.value, depth) for result in callee.returns()):
                return True
        names = self._names(call)
        if len(names) != 1 or names[0] in SAME_CONTENT:
            return False
        if names[0] in ("tensorflow.shape", "tensorflow.size"):
            return any(self._axes(argument.value, depth) for argument in call.arguments[:1])
        if names[0].startswith("tensorflow.random."):
            return True
        if not has_trait(names[0], Trait.TENSOR_OPERATION):
            return names[0] in NEXT
        return any(self._any_content(argument.value, depth) for argument in call.arguments)


def is_call_of_layer(name: str) -> bool:
    """Whether a function of the library is the call of a layer or model, which runs its `call`."""
    return name.startswith("keras.") and name.endswith("__call__")
