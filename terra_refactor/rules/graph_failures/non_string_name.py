"""TR312: a value that is not a string as the `name` of an operation."""

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
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.graph_traits import is_of_tensorflow
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.calls_with(Trait.TENSOR_OPERATION):
        if not is_of_tensorflow(name) or LibraryValue(name) not in members(view.value(call.function)):
            continue  # functions called by a library function (`tf.map_fn`) receive other arguments
        given = call.keyword("name")
        if given is None and not _is_method(name):
            given = view.library_argument(call, name, "name")
        if given is not None and view.all_of(given, _is_no_name):
            yield LocalHazard(
                call.op,
                f"`{view.written(call.op)}` gets `{view.written(given)}` as its `name`, which must be a string: in a graph this raises",
            )


def _is_method(name: str) -> bool:
    entity = registry.lookup(name)
    parameters = () if entity is None else entity.parameters or ()
    return bool(parameters) and parameters[0].name == "self"


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
    summary="A dtype, number or tensor that is passed as the `name` of an operation is ignored eagerly and raises in a graph.",
    explanation=(
        "In many operations, `name` has the position at which one expects a dtype or an axis (`tf.sqrt(x, tf.float32)`). Eager operations "
        "have no names and ignore the argument; a graph raises `TypeError: expected string or bytes-like object, got 'DType'`."
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
