"""Shapes of Einstein summations and tensor contractions.

Computes: the shape of `einsum(equation, ...)` with and without `->` and `...`, and of `tensordot`. Source: `tf.einsum`, `tf.tensordot`.
"""

from __future__ import annotations

from collections.abc import Sequence

from terra_refactor.domain.dim import Dim, SymbolicDim, definitely_different, format_dim
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.spec import ErrorKind, OperationError


def einsum_shape(equation: str, shapes: Sequence[Shape]) -> Shape:
    """The shape of `tf.einsum(equation, ...)`.

    Raises OperationError if the number of operands or an operand's rank does not match the equation, or one letter
    has two sizes.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise OperationError(
            ErrorKind.RANK,
            f"einsum: '{equation}' names {len(terms)} operands, {len(shapes)} are given",
            ("equation", "inputs"),
        )
    sizes: dict[str, Dim] = {}
    spread: Shape = ()
    for term, shape in zip(terms, shapes, strict=True):
        spread = _bind(equation, term, shape, sizes, spread)
    letters = left.replace(",", "").replace(".", "")
    if not arrow:
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        right = ("..." if "..." in left else "") + "".join(once)
    if any(letter not in sizes for letter in right.replace(".", "")):
        raise OperationError(
            ErrorKind.RANK, f"einsum: '{equation}' has an output letter that no operand has", ("equation",)
        )
    head, dots, tail = right.partition("...")
    if dots and spread is None:
        return None
    middle: tuple[Dim, ...] = (spread or ()) if dots else ()
    return (*(sizes[letter] for letter in head), *middle, *(sizes[letter] for letter in tail))


def _bind(equation: str, term: str, shape: Shape, sizes: dict[str, Dim], spread: Shape) -> Shape:
    """Assigns sizes to the letters of one operand; returns the broadcast shape of `...` so far."""
    head, dots, tail = term.partition("...")
    count = len(head) + len(tail)
    if shape is None:
        for letter in head + tail:
            sizes.setdefault(letter, None)
        return None if dots else spread
    if len(shape) < count or (not dots and len(shape) != count):
        raise OperationError(
            ErrorKind.RANK,
            f"einsum: '{term}' in '{equation}' names {count} axes, the operand has shape {format_shape(shape)}",
            ("equation", "inputs"),
        )
    end = len(shape) - len(tail)
    for letter, size in [*zip(head, shape, strict=False), *zip(tail, shape[end:], strict=True)]:
        known = sizes.get(letter)
        if definitely_different(known, size):
            raise OperationError(
                ErrorKind.SHAPE,
                f"einsum: '{letter}' in '{equation}' is {format_dim(known)} in one operand and {format_dim(size)} in another "
                f"(shape {format_shape(shape)})",
                ("equation", "inputs"),
            )
        if known is None or (isinstance(size, int) and isinstance(known, SymbolicDim)):
            sizes[letter] = size
    if dots and spread is not None:
        return broadcast_shapes(spread, shape[len(head) : end], "einsum", ("inputs",))
    return spread


def tensordot_shape(left: Shape, right: Shape, axes: tuple[tuple[int, ...], tuple[int, ...]] | int) -> Shape:
    """The shape of `tf.tensordot`. Raises OperationError if contracted axes do not exist or certainly differ in size."""
    if left is None or right is None:
        return None
    if isinstance(axes, int):
        pairs = (tuple(range(len(left) - axes, len(left))), tuple(range(axes)))
    else:
        pairs = axes
    for shape, positions in zip((left, right), pairs, strict=True):
        for axis in positions:
            if not -len(shape) <= axis < len(shape):
                raise OperationError(
                    ErrorKind.RANK, f"tensordot: axis {axis} does not exist in shape {format_shape(shape)}", ("axes",)
                )
    first = [axis % len(left) for axis in pairs[0]]
    second = [axis % len(right) for axis in pairs[1]]
    for a, b in zip(first, second, strict=False):
        if definitely_different(left[a], right[b]):
            raise OperationError(
                ErrorKind.SHAPE,
                f"tensordot: axis {a} of shape {format_shape(left)} is {format_dim(left[a])}, axis {b} of shape {format_shape(right)} is "
                f"{format_dim(right[b])}",
                ("a", "b"),
            )
    return (
        *(size for axis, size in enumerate(left) if axis not in first),
        *(size for axis, size in enumerate(right) if axis not in second),
    )
