"""Questions about values that are tensors on every path.

Computes: nothing. Gives: `is_tensor`, `is_mask`, `has_kind`, `rank_of`, `sizes_of`.
"""

from __future__ import annotations

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import BOOL
from terra_refactor.domain.value import TensorKind, TensorValue, Value, members
from terra_refactor.rules.view import is_tensorflow_tensor


def rank_of(value: Value) -> int | None:
    """The rank of a tensor; 0 of a number; None where it is not known."""
    ranks = {
        (None if member.type.shape is None else len(member.type.shape)) if isinstance(member, TensorValue) else 0
        for member in members(value)
    }
    return ranks.pop() if len(ranks) == 1 else None


def is_tensor(value: Value) -> bool:
    """Whether all alternatives are tensors or arrays, of whatever kind."""
    alternatives = members(value)
    return bool(alternatives) and all(isinstance(member, TensorValue) for member in alternatives)


def is_mask(value: Value) -> bool:
    """Whether a value is a TensorFlow tensor of bools."""
    return is_tensor(value) and all(
        is_tensorflow_tensor(member) and isinstance(member, TensorValue) and member.type.dtype == BOOL
        for member in members(value)
    )


def has_kind(value: Value, *kinds: TensorKind) -> bool:
    """Whether all alternatives are tensors of one of these kinds."""
    return is_tensor(value) and all(
        isinstance(member, TensorValue) and member.kind in kinds for member in members(value)
    )


def sizes_of(value: Value) -> tuple[Dim, ...]:
    """The sizes of a tensor, None where its alternatives have others; () where their ranks differ."""
    shapes = {member.type.shape or () if isinstance(member, TensorValue) else () for member in members(value)}
    if len({len(shape) for shape in shapes}) != 1:
        return ()
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True))
