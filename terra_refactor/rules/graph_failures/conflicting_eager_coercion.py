"""TR310: an array argument that eager operations convert to the dtype of the other operand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.dtype import DType
from terra_refactor.domain.value import TensorValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, is_tensorflow_tensor
from terra_refactor.tf_model.name_table import words

_ONE_DTYPE: Final = words(
    """
    tensorflow.add tensorflow.subtract tensorflow.multiply tensorflow.divide tensorflow.pow tensorflow.maximum tensorflow.minimum
    tensorflow.math.add tensorflow.math.subtract tensorflow.math.multiply tensorflow.math.divide tensorflow.math.pow
    tensorflow.math.maximum tensorflow.math.minimum tensorflow.math.divide_no_nan tensorflow.math.multiply_no_nan
    tensorflow.math.squared_difference tensorflow.math.floordiv tensorflow.math.atan2 tensorflow.math.equal
    tensorflow.math.not_equal tensorflow.math.less tensorflow.math.less_equal tensorflow.math.greater
    tensorflow.math.greater_equal tensorflow.linalg.matmul tensorflow.linalg.matvec tensorflow.tensordot
    tensorflow.einsum tensorflow.linalg.einsum tensorflow.where tensorflow.concat tensorflow.stack
    """
)
"""Operations whose first two inputs (or the members of the first) have one dtype."""
_ARITHMETIC: Final = frozenset(["+", "-", "*", "/", "//", "%", "**", "@"])


def check(view: ContextView) -> Iterator[LocalHazard]:
    for op in view.code.ops:
        for array, tensor in _meetings(view, op):
            name = view.argument_behind(array)
            if op is None or name is None or not is_one_tensor(view.value(tensor)) or view.argument_behind(tensor):
                continue
            own, other = _dtypes(view.value(array)), _dtypes(view.value(tensor))
            if own.isdisjoint(other):
                found = " or ".join(sorted(str(dtype) for dtype in own))
                wanted = " or ".join(sorted(str(dtype) for dtype in other))
                message = (
                    f"`{view.written(op.id)}` makes {wanted} of the {found} array `{name}` eagerly; a traced function gets it as a "
                    f"{found} tensor, which does not fit"
                )
                if None in own or None in other:
                    continue
                yield LocalHazard(op.id, message, parameter=name)
                break


def _meetings(view: ContextView, op: ops.Op | None) -> Iterator[tuple[OpId, OpId]]:
    """Pairs of operands that have to agree, each way round."""
    match op:
        case ops.Binary(operator=operator, left=left, right=right) if operator in _ARITHMETIC:
            pairs = [(left, right)]
        case ops.Compare(operator="<" | "<=" | ">" | ">=", left=left, right=right):
            pairs = [(left, right)]
        case ops.Call(arguments=arguments):
            fact = view.calls.get(op.id)
            if fact is None or not fact.library or not set(fact.library) <= set(_ONE_DTYPE):
                return
            given = [argument.value for argument in arguments if argument.keyword is None]
            if any(name.endswith("where") for name in fact.library):
                given = given[1:]
            elif given and isinstance(display := view.op(given[0]), ops.BuildContainer):
                given = [element.value for element in display.elements]
            else:
                given = given[:2]
            pairs = [(first, second) for position, first in enumerate(given) for second in given[position + 1 :]]
        case _:
            return
    for first, second in pairs:
        yield first, second
        yield second, first


def is_one_tensor(value: Value) -> bool:
    """Whether it is certainly a tensor or variable of TensorFlow."""
    alternatives = members(value)
    return bool(alternatives) and all(is_tensorflow_tensor(member) for member in alternatives)


def _dtypes(value: Value) -> frozenset[DType | None]:
    return frozenset(member.type.dtype for member in members(value) if isinstance(member, TensorValue))


RULE: Final = Rule(
    id="TR310",
    name="conflicting-eager-coercion",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="An ndarray argument that eager operations convert to the other operand's dtype has its own dtype in a graph.",
    explanation=(
        "Eagerly `tensor * array` converts the array to the tensor's dtype: `numpy.ones(3)`, which is float64, becomes float32. A traced "
        "function makes a tensor of every array among its arguments first, with the array's dtype: `TypeError: Input 'y' of 'Mul' Op has "
        "type float64 that does not match type float32 of argument 'x'`. Arrays that the function reads from elsewhere, and Python "
        "numbers, are converted by operators as they are eagerly; by functions where they stand behind the tensor (TR330)."
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
)
