"""Code that runs only the first time: under a test for state that is missing until that code sets it.

Computes: whether an operation is under `if self.x is None`, `if key not in self.cache`, `if not hasattr(self, "x")`, `if not self.built` or
`if self.first_call`, and whether what is tested is set there. Needs: the code of the function, and what it writes through its calls.
Gives: `runs_first_time`. Ignores: state that somebody takes away again, or that is set after the branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from terra_refactor.analysis.describe import written_form
from terra_refactor.domain.effect import Effect, EffectKind
from terra_refactor.domain.value import NONE
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.index import CodeIndex
from terra_refactor.ir.ops import Op
from terra_refactor.ir.walk import walk
from terra_refactor.tf_model.python_effects import MUTATING_METHODS

_FLAGS: Final = frozenset({"built", "initialized", "is_built", "is_initialized", "build_done"})
"""Attributes that say so by their name: Keras sets `built` itself."""
_FILLING: Final = frozenset().union(*(MUTATING_METHODS[f"builtins.{kind}"] for kind in ("list", "dict", "set"))) - {
    "clear",
    "pop",
    "popitem",
    "remove",
    "discard",
}
_COMPUTED: Final = "..."
"""The name of an attribute that `getattr` and `setattr` are given, where it is no literal."""


def written_through_call(effect: Effect) -> tuple[OpId, str] | None:
    """The call that brings a write of state, and the name of the attribute or variable that is written; None if no call does."""
    if effect.kind is not EffectKind.STATE_WRITE or not effect.via:
        return None
    return effect.via[0].op, str(effect.target).replace("[]", "").rpartition(".")[2]


def runs_first_time(
    index: CodeIndex, number: OpId, written_through_calls: Callable[[], AbstractSet[tuple[OpId, str]]]
) -> bool:
    """Whether the operation runs only as long as something is missing that is set there, too.

    `written_through_calls` has what `written_through_call` gives for the effects of the function: what a call writes is set where it is.
    """
    inner = number
    parent = index.parents[number]
    while parent is not None:
        holder = index.ops[parent]
        if isinstance(holder, ops.If):
            in_then = any(op.id == inner for op in holder.then_block)
            guarded = tuple(walk(holder.then_block if in_then else holder.else_block))
            tested = _missing(index, holder.test, in_then)
            if tested is not None and (tested is _FLAGS or _are_set(index, tested, guarded, written_through_calls)):
                return True
            if _is_lowered(index, _raised(index, holder.test, in_then), guarded):
                return True
        inner, parent = parent, index.parents[parent]
    return False


def _missing(index: CodeIndex, test: OpId, truth: bool) -> frozenset[str] | None:
    """What is not there, or empty, where the test has that truth: `_FLAGS` for a flag, which needs no proof.

    It is None if the test says no such thing.
    """
    op = _value(index, test)
    match op:
        case ops.Unary(operator="not"):
            return _missing(index, op.operand, not truth)
        case ops.Compare(operator="is" | "is not"):
            right = index.ops[op.right]
            is_none = isinstance(right, ops.Literal) and right.value is NONE.value
            return _kept_at(index, op.left) if is_none and truth is (op.operator == "is") else None
        case ops.Compare(operator="in" | "not in"):
            return _kept_in(index, op) if truth is (op.operator == "not in") else None
        case ops.Compare(operator="=="):
            right = index.ops[op.right]
            counted = _length_of(index, op.left)
            is_empty = truth and isinstance(right, ops.Literal) and right.value == 0
            return _container(index, counted) if is_empty and counted is not None else None
        case ops.Call():
            return None if truth else _kept_at(index, test) or _asked_for(index, op)
        case ops.LoadAttribute():
            if truth:
                return None
            return _FLAGS if op.name.lstrip("_") in _FLAGS else _kept_at(index, test)
        case ops.ShortCircuit(operator="and") if truth:
            parts = [part for part in (_missing(index, each, True) for each in (op.left, op.value)) if part is not None]
            return _FLAGS if _FLAGS in parts else frozenset().union(*parts) if parts else None
        case _:
            return None


def _raised(index: CodeIndex, test: OpId, truth: bool) -> frozenset[str]:
    """The flags that are true where the test has that truth: `self.first_call`."""
    op = _value(index, test)
    match op:
        case ops.Unary(operator="not"):
            return _raised(index, op.operand, not truth)
        case ops.LoadAttribute() if truth:
            return _kept_at(index, test)
        case ops.LoadName(scope=ops.Scope.GLOBAL | ops.Scope.FREE) if truth:
            return _kept_at(index, test)
        case ops.ShortCircuit(operator="and") if truth:
            return _raised(index, op.left, True) | _raised(index, op.value, True)
        case _:
            return frozenset()


def _is_lowered(index: CodeIndex, flags: frozenset[str], guarded: Iterable[Op]) -> bool:
    """Whether the guarded operations set one of the flags to False."""
    return any(
        isinstance(op, ops.StoreAttribute | ops.StoreName)
        and op.value is not None
        and isinstance(lowered := index.ops[op.value], ops.Literal)
        and lowered.value is False
        and not flags.isdisjoint(_set_by(index, op))
        for op in guarded
    )


def _kept_at(index: CodeIndex, number: OpId) -> frozenset[str]:
    """The places that an expression reads: an attribute, an item, a variable that outlives the call, through local variables."""
    op = _value(index, number)
    match op:
        case ops.LoadAttribute():
            return frozenset({_text(index, number)})
        case ops.LoadItem(object=container):
            return _container(index, container)
        case ops.LoadName(name=name, scope=scope):
            if scope in (ops.Scope.GLOBAL, ops.Scope.FREE):
                return frozenset({name})
            before = (store.value for store in index.stores.get(name, ()) if store.id < number)
            return frozenset().union(*(_kept_at(index, value) for value in before if value is not None))
        case ops.Call(function=function, arguments=arguments):
            method = index.ops[function]
            if isinstance(method, ops.LoadName) and method.name == "getattr" and len(arguments) == 3:
                return frozenset({_named(index, arguments)})
            if isinstance(method, ops.LoadAttribute) and method.name == "get" and len(arguments) == 1:
                return _container(index, method.object)
    return frozenset()


def _asked_for(index: CodeIndex, op: ops.Call) -> frozenset[str] | None:
    function = index.ops[op.function]
    asks = isinstance(function, ops.LoadName) and function.name == "hasattr" and len(op.arguments) == 2
    return frozenset({_named(index, op.arguments)}) if asks else None


def _kept_in(index: CodeIndex, op: ops.Compare) -> frozenset[str]:
    container = index.ops[op.right]
    key = index.ops[op.left]
    if isinstance(container, ops.LoadAttribute) and container.name == "__dict__":
        return frozenset({f"{_text(index, container.object)}.{_name(key)}"})
    return _container(index, op.right)


def _container(index: CodeIndex, number: OpId) -> frozenset[str]:
    """The texts of a container that outlives the call, or that is given: what is stored in it is found again."""
    op = index.ops[number]
    match op:
        case ops.LoadItem(object=outer):
            return _container(index, outer)
        case ops.Call(function=function):
            method = index.ops[function]
            return _container(index, method.object) if isinstance(method, ops.LoadAttribute) else frozenset()
        case ops.LoadName(name=name):
            return frozenset({name}) | _kept_at(index, number)
        case _:
            return _kept_at(index, number)


def _are_set(
    index: CodeIndex,
    tested: frozenset[str],
    guarded: Iterable[Op],
    written_through_calls: Callable[[], AbstractSet[tuple[OpId, str]]],
) -> bool:
    """Whether the guarded operations, or what they call, set something of what is tested."""
    numbers = set()
    for op in guarded:
        numbers.add(op.id)
        if not tested.isdisjoint(_set_by(index, op)):
            return True
    fields = {text.rpartition(".")[2] for text in tested}
    return any(op in numbers and field in fields for op, field in written_through_calls())


def _set_by(index: CodeIndex, op: Op) -> Iterator[str]:
    match op:
        case ops.StoreAttribute(value=value) if value is not None:
            yield _text(index, op.id)
        case ops.StoreItem(object=container):
            yield from _container(index, container)
        case ops.StoreName(name=name, scope=ops.Scope.GLOBAL | ops.Scope.FREE):
            yield name
        case ops.Call(function=function, arguments=arguments):
            method = index.ops[function]
            if isinstance(method, ops.LoadAttribute) and method.name in _FILLING:
                yield from _container(index, method.object)
            elif isinstance(method, ops.LoadName) and method.name == "setattr" and len(arguments) == 3:
                yield _named(index, arguments)


def _value(index: CodeIndex, number: OpId) -> Op | None:
    """The operation that gives a result; of `name := value` that of the value."""
    op = index.ops[number]
    return index.ops[op.value] if isinstance(op, ops.StoreName) and op.value is not None else op


def _length_of(index: CodeIndex, number: OpId) -> OpId | None:
    call = index.ops[number]
    if not isinstance(call, ops.Call) or len(call.arguments) != 1:
        return None
    function = index.ops[call.function]
    return call.arguments[0].value if isinstance(function, ops.LoadName) and function.name == "len" else None


def _named(index: CodeIndex, arguments: tuple[ops.Argument, ...]) -> str:
    """The place that `getattr(object, name)` reads."""
    return f"{_text(index, arguments[0].value)}.{_name(index.ops[arguments[1].value])}"


def _name(op: Op | None) -> str:
    return op.value if isinstance(op, ops.Literal) and isinstance(op.value, str) else _COMPUTED


def _text(index: CodeIndex, number: OpId) -> str:
    """How a place is written; what is an object's class keeps the same as the object."""
    op = index.ops[number]
    if isinstance(op, ops.LoadAttribute | ops.StoreAttribute):
        owner = _text(index, op.object)
        return owner if op.name == "__class__" else f"{owner}.{op.name}"
    if isinstance(op, ops.Call) and len(op.arguments) == 1:
        function = index.ops[op.function]
        if isinstance(function, ops.LoadName) and function.name == "type":
            return _text(index, op.arguments[0].value)
    return written_form(lambda each: index.ops[each], number)
