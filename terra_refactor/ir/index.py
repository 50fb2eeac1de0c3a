"""The operations of one function by number, by kind, by enclosing operation, and by the name that they bind.

Computes: tables. Needs: a lowered function. Gives: `CodeIndex`, which all rooms that query code share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Op, StoreName
from terra_refactor.ir.walk import blocks, walk

OpType = TypeVar("OpType", bound=Op)


@dataclass(frozen=True, slots=True)
class CodeIndex:
    """A function's operations by number, by kind, and by enclosing operation. Created once for each function."""

    ops: tuple[Op | None, ...]
    parents: tuple[OpId | None, ...]
    kinds: Mapping[type[Op], tuple[Op, ...]]
    stores: Mapping[str, tuple[StoreName, ...]]
    """The operations that bind each name, in order."""

    @staticmethod
    def of(function: Function) -> CodeIndex:
        """The index of a function."""
        found: list[Op | None] = [None] * function.op_count
        parents: list[OpId | None] = [None] * function.op_count
        kinds: dict[type[Op], list[Op]] = {}
        stores: dict[str, list[StoreName]] = {}
        for op in walk(function.body):
            found[op.id] = op
            if isinstance(op, StoreName):
                stores.setdefault(op.name, []).append(op)
            kinds.setdefault(type(op), []).append(op)
            for block in blocks(op):
                for inner in block:
                    parents[inner.id] = op.id
        return CodeIndex(
            tuple(found),
            tuple(parents),
            {kind: tuple(members) for kind, members in kinds.items()},
            {name: tuple(setting) for name, setting in stores.items()},
        )

    def of_kind(self, kind: type[OpType]) -> tuple[OpType, ...]:
        """The operations of a kind, in order."""
        return cast("tuple[OpType, ...]", self.kinds.get(kind, ()))
