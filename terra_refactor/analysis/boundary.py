"""Values that cross a call boundary: arguments on the way in, writes on the way out.

Computes: parameters as the callee sees them, their widening in a recursion, writes that outlive the call. Needs: a
finished frame. Gives: pure functions for the interpreter, `in_eager_code`, `is_restored`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from terra_refactor.analysis.frames import Frame
from terra_refactor.domain.chosen import not_symbolic
from terra_refactor.domain.lattice import join, references, widen
from terra_refactor.domain.state import EXISTS, HeapKey, is_there
from terra_refactor.domain.value import (
    UNKNOWN,
    Bottom,
    Constant,
    FrozenDict,
    FrozenList,
    ObjectId,
    Origin,
    TupleValue,
    UnknownValue,
    Value,
)


def less_known(value: Value) -> Value:
    """The widened value of a field that still changes when a recursion is abandoned: an unknown value of the same form."""
    if isinstance(value, FrozenDict):
        return FrozenDict((), UNKNOWN)
    if isinstance(value, FrozenList):
        return FrozenList(None, UNKNOWN)
    return UnknownValue(reason="recursion")


def as_parameter(name: str, value: Value) -> Value:
    """The callee's view: an unknown value becomes the unknown value of that parameter, whatever its origin outside."""
    if isinstance(value, UnknownValue) and (value.origin is None or value.origin != Origin("parameter", name)):
        return replace(value, origin=Origin("parameter", name))
    return value


def widened_parameters(active: Sequence[Mapping[str, Value]], parameters: dict[str, Value]) -> dict[str, Value]:
    result = parameters
    for running in active:
        if running.keys() == result.keys():
            result = {name: widen(running[name], value) for name, value in result.items()}
    return result


def surviving_writes(frame: Frame, returns: Value) -> dict[HeapKey, Value]:
    """The writes that matter after the call: to older objects, and to new objects that are reachable from surviving ones."""
    heap = frame.root.heap
    fields: dict[ObjectId, list[HeapKey]] = {}
    for key in heap:
        fields.setdefault(key[0], []).append(key)
    allocated = frame.allocated
    pending = list(references(returns))
    kept: set[ObjectId] = set()
    for number, keys in fields.items():
        if number not in allocated:
            kept.add(number)
            for key in keys:
                pending.extend(references(heap[key]))
    while pending:
        number = pending.pop()
        if number in kept or number not in fields:
            continue
        kept.add(number)
        for key in fields[number]:
            pending.extend(references(heap[key]))
    gone = {key[0] for key, value in heap.items() if key[1] == EXISTS and not is_there(value)}
    return {
        key: value
        for key, value in heap.items()
        if key[0] in kept and type(value) is not Bottom and not (key[0] in gone and key[0] in allocated)
    }


def in_eager_code(frame: Frame, key: HeapKey, value: Value) -> Value:
    """The value that eager code gives to a field that a branch or loop of the graph sets."""
    eager, traced = frame.staged_fields[key]
    return eager if value == traced else join(eager, not_symbolic(value))


def is_restored(frame: Frame, key: HeapKey) -> bool:
    """Whether a finished call restores a field that it has written, so that no code outside can observe the write.

    For a generator, the code that resumes it is outside.
    """
    if frame.function.is_generator:
        return False
    found = (frame.root.reads or {}).get(key)
    return found is not None and _is_exact(found) and frame.root.heap.get(key) == found


def _is_exact(value: Value) -> bool:
    """Whether the value is exactly one Python value, so that equal values are identical."""
    match value:
        case Constant():
            return True
        case TupleValue(elements=elements):
            return all(map(_is_exact, elements))
        case FrozenList(elements=elements):
            return elements is not None and all(map(_is_exact, elements))
        case FrozenDict(items=items, rest=None):
            return all(_is_exact(part) for item in items for part in item)
        case _:
            return False
