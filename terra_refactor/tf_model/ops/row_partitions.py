"""Validity of a partition of values into rows, in each of its five forms.

Computes: whether known numbers are a valid partition of that many values. Gives: `check_rows`. Source: the factories
of `tf.RaggedTensor` (`from_row_lengths` and the others) with `validate=True`, TensorFlow 2.21. Ignores: partitions
that contain an unknown number.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from terra_refactor.domain.dim import eager
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.value import FALSE
from terra_refactor.tf_model.arguments import integers
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError

PARTITIONS: Final = ("row_lengths", "row_splits", "row_starts", "row_limits", "value_rowids")


def check_rows(call: BoundCall, values: Shape) -> None:
    """Checks the partition that a call gives for values of this shape.

    Raises:
        OperationError: it is not a valid partition, or is one for another number of values.
    """
    if call.argument("validate") == FALSE:
        return
    count = eager(values[0]) if values else None
    for name in PARTITIONS:
        known = integers(call.argument(name))
        if known is None:
            continue
        numbers = [number for number in known if isinstance(number, int)]
        if len(numbers) != len(known):
            continue
        wrong = _fault(name, numbers, count if isinstance(count, int) else None)
        if wrong is not None:
            raise OperationError(ErrorKind.SHAPE, f"{name} {numbers} {wrong}", ("values", name))


def _fault(name: str, numbers: list[int], count: int | None) -> str | None:
    """A message for the error in a partition of `count` values."""
    if name == "row_lengths":
        if any(number < 0 for number in numbers):
            return "have a negative length"
        return f"add up to {sum(numbers)}, there are {count} values" if count not in (None, sum(numbers)) else None
    if any(after < before for before, after in pairwise(numbers)):
        return "decrease"
    match name, numbers:
        case ("row_splits" | "row_starts", [int() as first, *_]) if first:
            return f"begin with {first} instead of 0"
        case "row_splits", []:
            return "are empty: the first is 0"
        case ("row_splits" | "row_limits", [*_, int() as last]) if count not in (None, last):
            return f"end with {last}, there are {count} values"
        case "row_starts", [*_, int() as last] if count is not None and last > count:
            return f"end with {last}, there are {count} values"
        case "value_rowids", _ if count not in (None, len(numbers)):
            return f"are {len(numbers)}, there are {count} values"
        case _:
            return None
