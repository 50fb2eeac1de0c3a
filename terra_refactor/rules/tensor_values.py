"""Questions about values that are tensors on every path.

Computes: nothing. Gives: `is_tensor`, `rank_of`.
"""

from __future__ import annotations

from terra_refactor.domain.value import TensorValue, Value, members


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
