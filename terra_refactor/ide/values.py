"""Abstract values in the words of an editor: short, and only where there is something to tell.

Computes: text. Needs: values and the facts that they speak of. Gives: `tensor_text`, `full_text`, `types_text`.
"""

from __future__ import annotations

from collections.abc import Iterable

from terra_refactor.analysis.dump import format_value
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    Constant,
    DatasetValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    Value,
    members,
)
from terra_refactor.ide.snapshot import Snapshot

_MOST_MEMBERS = 3
"""A union of more alternatives than this is not shown."""


def full_text(snapshot: Snapshot, value: Value) -> str:
    """A value in the one notation of messages and reports."""
    return format_value(snapshot.program, snapshot.facts, value)


def tensor_text(snapshot: Snapshot, values: Iterable[Value]) -> str | None:
    """The type of a tensor, or of what holds tensors, over several contexts; None where that says nothing."""
    value = join_all(values)
    shown = _shown(value)
    return None if shown is None else full_text(snapshot, shown)


def _shown(value: Value) -> Value | None:
    """The value as far as its type goes: without the contents of small tensors. None where it is not worth a hint."""
    match value:
        case TensorValue(TensorType(None, None)):
            return None
        case TensorValue(type, kind):
            return TensorValue(type, kind)
        case DatasetValue(element, cardinality, iterator):
            inner = _shown(element)
            return None if inner is None else DatasetValue(inner, cardinality, iterator)
        case SpecValue():
            return value
        case TupleValue(elements, name, fields, cls):
            inner_values = [_shown(element) for element in elements]
            if all(inner is None for inner in inner_values):
                return None
            kept = tuple(
                element if inner is None else inner for element, inner in zip(elements, inner_values, strict=True)
            )
            return TupleValue(kept, name, fields, cls)
        case UnionValue():
            alternatives = members(value)
            kept_members = [_shown(member) for member in alternatives]
            if len(alternatives) > _MOST_MEMBERS or any(
                inner is None and member != Constant(None)
                for inner, member in zip(kept_members, alternatives, strict=True)
            ):
                return None
            return join_all(
                member if inner is None else inner for inner, member in zip(kept_members, alternatives, strict=True)
            )
        case _:
            return None


def is_plain_tensor(values: Iterable[Value]) -> bool:
    """Whether all values are dense tensors of TensorFlow: what `tf.Tensor` says of a parameter."""
    alternatives = [member for value in values for member in members(value)]
    return bool(alternatives) and all(
        isinstance(member, TensorValue) and member.kind is TensorKind.TENSOR for member in alternatives
    )


def types_text(types: Iterable[TensorType]) -> str:
    """Distinct tensor types, one after the other."""
    return " | ".join(dict.fromkeys(str(tensor) for tensor in types))
