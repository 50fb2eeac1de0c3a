"""TR405: a reshape to rows that are no rows, so that the number of examples changes.

Ignores: axes that are merged or split where they end: `(batch, time, d)` to `(-1, d)` and back is how layers are applied to every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.dim import Dim, eager
from terra_refactor.domain.shape import format_shape
from terra_refactor.domain.value import TensorKind, TensorValue, Value, members
from terra_refactor.facts.records import Display
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.arguments import integer
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.calls_with(Trait.RESHAPES):
        if any(failure.op == call.op for failure in view.context.failures):
            continue
        data = view.library_argument(call, name, "tensor", "x")
        wanted = view.library_argument(call, name, "shape", "newshape")
        target = None if wanted is None else _target(view, wanted)
        if data is None or target is None:
            continue
        messages = [_mixed(value, target) for value in members(view.value(data))]
        if messages and messages[0] is not None and None not in messages:
            yield LocalHazard(call.op, messages[0])


def _target(view: ContextView, wanted: OpId) -> tuple[int, ...] | None:
    """The sizes after the first one of a shape that is written as `[-1, ...]`; None for any other."""
    written = view.made(wanted)
    if not isinstance(written, Display) or not written.is_sequence or any(item.starred for item in written.items):
        return None
    sizes = [eager(integer(view.value(item.value))) for item in written.items]
    if len(sizes) < 2 or sizes[0] != -1:
        return None
    rest = tuple(size for size in sizes[1:] if isinstance(size, int) and size > 0)
    return rest if len(rest) == len(sizes) - 1 else None


def _mixed(value: Value, target: tuple[int, ...]) -> str | None:
    """The problem with a reshape to `(-1, *target)`; None if it may be meant."""
    if not isinstance(value, TensorValue) or value.kind is not TensorKind.TENSOR or value.type.shape is None:
        return None
    shape = value.type.shape
    row = _products(shape[1:])
    if len(shape) < 2 or row is None or eager(shape[0]) == 1:
        return None
    ends = _products(target)
    if ends is None or not row or not ends:
        return None
    whole, wanted = row[-1], ends[-1]
    if whole == wanted or 0 in (whole, wanted) or whole == 1 or (set(row) & set(ends)) - {1}:
        return None
    if len(shape) == 2 and (whole % wanted == 0 or wanted % whole == 0):
        # packed rows are cut or put together
        return None
    return (
        f"reshape to {format_shape((-1, *target))}: an example of shape {format_shape(shape)} has {whole} elements, not {wanted}, so the "
        "number of examples (axis 0) changes"
    )


def _products(sizes: tuple[Dim, ...]) -> list[int] | None:
    """The products of the last size, the last two, and so on; None if one is not known."""
    found: list[int] = []
    product = 1
    for size in map(eager, reversed(sizes)):
        if not isinstance(size, int):
            return None
        product *= size
        found.append(product)
    return found


RULE: Final = Rule(
    id="TR405",
    name="reshape-mixes-batch",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="A reshape to rows of another size than an example has changes the number of examples.",
    explanation=(
        "With -1 in the first place the other sizes must multiply to the size of one example. Where they do not, elements of one example "
        "become several, or several become one, silently if the numbers happen to divide; else it raises for most batches: "
        "`InvalidArgumentError: ... Input to reshape is a tensor with 12800 values, but the requested shape requires a multiple of 3136`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

images = tf.ones([10, 32, 32, 3])
rows = tf.reshape(images, [-1, 32 * 32])  # TR405
""",
        good="""\
import tensorflow as tf

images = tf.ones([10, 32, 32, 3])
rows = tf.reshape(images, [-1, 32 * 32 * 3])
""",
        near_miss="""\
import tensorflow as tf

steps = tf.ones([10, 7, 20])
merged = tf.reshape(steps, [-1, 20])
back = tf.reshape(merged, [-1, 7, 20])
""",
    ),
    cure="Compute the size of a row from the tensor (`tf.reshape(x, [tf.shape(x)[0], -1])`, `Flatten()`), or correct the number.",
    check=check,
)
