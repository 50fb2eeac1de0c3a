"""Batches whose first size a graph does not know: the last one of a data set may be smaller.

Computes: which results of a function have such an axis, followed from the loop over the data set, or from `next`, through names,
unpacking, operations and layers. Needs: a view, and `DatasetValue.open_batches`. Gives: `OpenBatches`, `gives_batches`. Ignores: what
is kept in attributes and containers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.value import Constant, DatasetValue, TensorValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.view import ContextView, has_trait, is_tensorflow_tensor
from terra_refactor.tf_model.spec import Trait

_NEXT: Final = frozenset(
    {
        *("builtins.next", "tensorflow.data.Iterator.get_next", "tensorflow.data.Iterator.__next__"),
        "tensorflow.compat.v1.data.Iterator.get_next",
    }
)
_MAX_DEPTH: Final = 12
_RESHAPES: Final = frozenset({"tensorflow.reshape", "tensorflow.ensure_shape"})


class OpenBatches:
    """The results of one function, in one context, whose first axis is the batch axis of a data set.

    `parameters` are those that are given one with its first axis open.
    """

    __slots__ = ("_known", "_view", "parameters")

    def __init__(self, view: ContextView, parameters: frozenset[str] = frozenset()) -> None:
        self._view = view
        self.parameters = parameters
        self._known: dict[OpId, int | None] = {}

    def any(self) -> bool:
        """Whether there may be any such result."""
        return bool(self.parameters) or any(self._sources())

    def _sources(self) -> Iterator[bool]:
        view = self._view
        for loop in view.reached(ops.For):
            yield gives_batches(view.value(loop.iterable))
        for number, fact in view.calls.items():
            if not _NEXT.isdisjoint(fact.library):
                yield self._is_next(number)

    def is_open(self, number: OpId, position: int | None = None) -> bool:
        """Whether a result is a tensor of which the graph does not know the size of that axis, or of any."""
        value = self._view.value(number)
        rank = _rank(value)
        if not rank or not all(is_tensorflow_tensor(member) for member in members(value)):
            return False
        axis = self._axis(number, 0)
        return axis is not None and (position is None or position in (axis, axis - rank))

    def _axis(self, number: OpId, depth: int) -> int | None:
        """The axis of a result that is the batch axis; 0 of a structure of batches; None if it has none, as far as is known."""
        if depth > _MAX_DEPTH:
            return None
        if number not in self._known:
            self._known[number] = None  # of what depends on itself
            self._known[number] = self._find(number, depth + 1)
        return self._known[number]

    def _find(self, number: OpId, depth: int) -> int | None:
        view = self._view
        op = view.op(number)
        match op:
            case ops.NextItem():
                parent = view.code.parents[number]
                loop = None if parent is None else view.op(parent)
                return 0 if isinstance(loop, ops.For) and gives_batches(view.value(loop.iterable)) else None
            case ops.UnpackElement(source=source):
                return self._axis(source, depth)
            case ops.LoadItem(object=container, index=index):
                if _is_tensor(view.value(container)):
                    return self._axis(container, depth) if self._is_slice(index) else None
                return self._axis(container, depth) if isinstance(view.value(index), Constant) else None
            case ops.LoadName(name=name):
                before = [store for store in view.reached_stores() if store.name == name and store.id < number]
                value = before[-1].value if before else None
                if value is None:
                    stored = any(store.name == name for store in view.code.of_kind(ops.StoreName))
                    return 0 if name in self.parameters and not stored else None
                return self._axis(value, depth)
            case ops.Unary(operand=operand):
                return self._axis(operand, depth)
            case ops.Binary(operator="@", left=left):
                return self._moved(left, number, depth)
            case ops.Binary(left=left, right=right):
                return self._of_sides((left, right), number, depth)
            case ops.Call():
                return 0 if self._is_next(number) else self._of_call(op, depth)
            case _:
                return None

    def _is_next(self, number: OpId) -> bool:
        view = self._view
        fact, op = view.calls.get(number), view.op(number)
        if fact is None or not isinstance(op, ops.Call) or not fact.library or not _NEXT.issuperset(fact.library):
            return False
        if "builtins.next" in fact.library:
            return bool(op.arguments) and gives_batches(view.value(op.arguments[0].value))
        method = view.op(op.function)
        return isinstance(method, ops.LoadAttribute) and gives_batches(view.value(method.object))

    def _of_call(self, call: ops.Call, depth: int) -> int | None:
        """The batch axis of what an operation or a layer makes of a batch that is its first argument."""
        fact = self._view.calls.get(call.id)
        if fact is None or not fact.library or not call.arguments or call.arguments[0].keyword is not None:
            return None
        layers = all(name.startswith("keras.") and name.endswith(".__call__") for name in fact.library)
        operations = all(has_trait(name, Trait.TENSOR_OPERATION) and name not in _RESHAPES for name in fact.library)
        return self._moved(call.arguments[0].value, call.id, depth) if layers or operations else None

    def _of_sides(self, sides: tuple[OpId, OpId], result: OpId, depth: int) -> int | None:
        """The batch axis of an element-wise operation: that of one side, if no other side fixes the size."""
        rank = _rank(self._view.value(result)) or 0
        found: set[int] = set()  # counted from the end
        for side in sides:
            axis, own_rank = self._axis(side, depth), _rank(self._view.value(side))
            if axis is not None and own_rank:
                found.add(axis - own_rank)
        if len(found) != 1:
            return None
        (axis,) = found
        for side in sides:
            value = self._view.value(side)
            if self._axis(side, depth) is None and -axis <= (_rank(value) or 0) and _sizes(value)[axis] != 1:
                return None
        return axis + rank if -axis <= rank else None

    def _moved(self, given: OpId, result: OpId, depth: int) -> int | None:
        """Where the batch axis of a tensor is in what is made of it: the only axis of that size, before and after."""
        axis, before, after = (
            self._axis(given, depth),
            _sizes(self._view.value(given)),
            _sizes(self._view.value(result)),
        )
        if axis is None or axis >= len(before) or before.count(before[axis]) != 1 or after.count(before[axis]) != 1:
            return None
        return after.index(before[axis])

    def _is_slice(self, index: OpId) -> bool:
        """Whether a subscript leaves the first axis an axis, of whatever size: `[:, 0]`, `[:2]`, `[..., 0]`."""
        op = self._view.op(index)
        if isinstance(op, ops.BuildContainer) and op.elements:
            op = self._view.op(op.elements[0].value)
        return isinstance(op, ops.BuildSlice) or (isinstance(op, ops.Literal) and op.value is ...)


def gives_batches(value: Value) -> bool:
    """Whether a value is a data set, or its iterator, whose batches have a first size that TensorFlow does not know."""
    alternatives = members(value)
    return bool(alternatives) and all(
        isinstance(member, DatasetValue) and member.open_batches for member in alternatives
    )


def _is_tensor(value: Value) -> bool:
    alternatives = members(value)
    return bool(alternatives) and all(isinstance(member, TensorValue) for member in alternatives)


def _rank(value: Value) -> int | None:
    """The rank of a tensor; 0 of a number; None where it is not known."""
    ranks = {
        (None if member.type.shape is None else len(member.type.shape)) if isinstance(member, TensorValue) else 0
        for member in members(value)
    }
    return ranks.pop() if len(ranks) == 1 else None


def _sizes(value: Value) -> tuple[Dim, ...]:
    """The sizes of a tensor; () where its alternatives have others."""
    shapes = {member.type.shape or () if isinstance(member, TensorValue) else () for member in members(value)}
    return shapes.pop() if len(shapes) == 1 else ()
