"""TR310: an array argument that eager operations convert to the dtype of the other operand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from terra_refactor.domain.dtype import DType
from terra_refactor.domain.value import TensorValue, Value, members
from terra_refactor.facts.records import Call, Display, Fact, Operation
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_OPERATORS: Final = frozenset(["+", "-", "*", "/", "//", "%", "**", "@", "<", "<=", ">", ">="])


def check(view: ContextView) -> Iterator[LocalHazard]:
    for fact in (*view.code.of_kind(Operation), *view.code.of_kind(Call)):
        for array, tensor in _meetings(view, fact):
            name = view.argument_behind(array)
            if name is None or not view.all_of(tensor, is_tensorflow_tensor) or view.argument_behind(tensor):
                continue
            own, other = _dtypes(view.value(array)), _dtypes(view.value(tensor))
            if own.isdisjoint(other) and None not in own | other:
                found = " or ".join(sorted(str(dtype) for dtype in own))
                wanted = " or ".join(sorted(str(dtype) for dtype in other))
                message = (
                    f"`{view.written(fact.op)}` makes {wanted} of the {found} array `{name}` eagerly; a traced function gets it as a "
                    f"{found} tensor, which does not fit"
                )
                yield LocalHazard(fact.op, message, parameter=name)
                break


def _meetings(view: ContextView, fact: Fact) -> Iterator[tuple[OpId, OpId]]:
    """Pairs of operands that have to agree, each way round."""
    match fact:
        case Operation(symbol=symbol, pairs=pairs) if symbol in _OPERATORS:
            yield from pairs
        case Call(positional=given):
            library = view.library_of(fact.op)
            if not library or not all(has_trait(name, Trait.ONE_DTYPE) for name in library):
                return
            display = view.made(given[0]) if given else None
            if any(name.endswith("where") for name in library):
                given = given[1:]
            elif isinstance(display, Display) and display.is_sequence:
                given = tuple(item.value for item in display.items)
            else:
                given = given[:2]
            for first, second in combinations(given, 2):
                yield first, second
                yield second, first
        case _:
            return


def _dtypes(value: Value) -> frozenset[DType | None]:
    return frozenset(member.type.dtype for member in members(value) if isinstance(member, TensorValue))


RULE: Final = Rule(
    id="TR310",
    name="conflicting-eager-coercion",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="An ndarray argument that eager operations convert to the other operand's dtype keeps its own dtype in a graph.",
    explanation=(
        "Eagerly `tensor * array` converts the array to the tensor's dtype: `numpy.ones(3)`, which is float64, becomes float32. "
        "A traced function first converts every array argument to a tensor of the array's dtype: `TypeError: Input 'y' of 'Mul' "
        "Op has type float64 that does not match type float32 of argument 'x'`. Captured arrays and Python numbers are "
        "converted as in eager code by operators, and by functions if they come after the tensor (TR330)."
    ),
    samples=Samples(
        bad="""\
import numpy as np
import tensorflow as tf

w = tf.Variable(tf.ones([3]))


@tf.function
def predict(x):
    return w * x  # TR310


result = predict(np.arange(3.0))
""",
        good="""\
import numpy as np
import tensorflow as tf

w = tf.Variable(tf.ones([3]))


@tf.function
def predict(x):
    return w * tf.cast(x, tf.float32)


result = predict(np.arange(3.0))
""",
        near_miss="""\
import numpy as np
import tensorflow as tf

w = tf.Variable(tf.ones([3]))
scale = np.arange(3.0)


@tf.function
def predict(x):
    return w * x * scale


result = predict(np.arange(3, dtype=np.float32))
""",
    ),
    cure="Convert where the function is called (`tf.constant(x, tf.float32)`), or cast inside.",
    check=check,
    cured_by_shim=True,
    silent=True,
)
