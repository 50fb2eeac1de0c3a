"""TR312: something that is no string where an operation takes its `name`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import (
    Constant,
    DTypeValue,
    LibraryValue,
    Scalar,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.spec import ParameterPassing, Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.library_calls():
        given = _name_argument(call, name)
        if given is None or not _is_called(view, call, name):
            continue
        alternatives = members(view.value(given))
        if alternatives and all(_is_no_name(value) for value in alternatives):
            yield LocalHazard(
                call.id,
                f"`{view.written(call.id)}` gets `{view.written(given)}` as its `name`, which must be a string: in a graph this raises",
            )


def _is_called(view: ContextView, call: ops.Call, name: str) -> bool:
    """Whether the call is of that function, and not of one (`tf.map_fn`) that calls it with other arguments."""
    return any(isinstance(value, LibraryValue) and value.name == name for value in members(view.value(call.function)))


def _name_argument(call: ops.Call, name: str) -> OpId | None:
    """The argument of a call that goes to the parameter `name` of an operation; None if none does."""
    entity = registry.lookup(name)
    if entity is None or not name.startswith("tensorflow.") or Trait.TENSOR_OPERATION not in entity.traits:
        return None
    for argument in call.arguments:
        if argument.keyword == "name":
            return argument.value
    if any(argument.spread is not ops.Spread.PLAIN for argument in call.arguments) or entity.parameters is None:
        return None
    positional = [
        parameter.name
        for parameter in entity.parameters
        if parameter.passing in (ParameterPassing.POSITIONAL, ParameterPassing.POSITIONAL_ONLY)
    ]
    if "name" not in positional or (positional and positional[0] == "self"):
        return None
    place = positional.index("name")
    given = [argument.value for argument in call.arguments if argument.keyword is None]
    return given[place] if place < len(given) else None


def _is_no_name(value: Value) -> bool:
    match value:
        case DTypeValue() | TensorValue() | TupleValue():
            return True
        case Constant(content):
            return content is not None and not isinstance(content, str) and bool(content)
        case Scalar():
            return value.type.value not in ("str", "bytes")
        case _:
            return False


RULE: Final = Rule(
    id="TR312",
    name="non-string-name",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A dtype, number or tensor where an operation takes its `name` is ignored eagerly and raises in a graph.",
    explanation=(
        "Many operations take `name` where one expects a dtype or an axis (`tf.sqrt(x, tf.float32)`). Eager operations have no names and "
        "never look at it; in a graph: `TypeError: expected string or bytes-like object, got 'DType'`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    return tf.sqrt(x, tf.float32)  # TR312


result = step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    return tf.sqrt(tf.cast(x, tf.float32))


result = step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    return tf.sqrt(x, "root") + tf.cast(x, tf.float32) + tf.reduce_sum(x, 0, name=None)


result = step(tf.ones([3]))
""",
    ),
    cure="Pass the dtype with `tf.cast`, or to the parameter that takes it.",
    check=check,
)
