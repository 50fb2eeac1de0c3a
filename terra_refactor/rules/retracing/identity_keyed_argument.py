"""TR204: arguments of a traced function that are new objects in every call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import BoundMethod, FunctionValue, Reference, Value
from terra_refactor.facts.records import AttributeRead, Call, Fact, FunctionMade
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Retraces, Rule, RuleKind, Samples, Severity


def check(view: ContextView) -> Iterator[LocalHazard]:
    for number in view.calls:
        call = view.made(number)
        if not isinstance(call, Call) or not view.traced_callees(number) or view.innermost_loop(number) is None:
            continue
        what = next(filter(None, (_new_object(view, argument.value) for argument in call.arguments)), None)
        if what is not None:
            yield LocalHazard(
                call.op,
                f"{what} is a new object in every iteration: `{view.written(call.function)}` is traced for each",
            )


def _new_object(view: ContextView, number: OpId) -> str | None:
    """Description of an argument that is a new key object on each evaluation."""
    made = view.made(number)
    if not view.all_of(number, lambda member: _is_made_by(view, made, member)):
        return None
    return "the lambda" if isinstance(made, FunctionMade) else f"`{view.written(number)}`"


def _is_made_by(view: ContextView, fact: Fact | None, value: Value) -> bool:
    """Whether evaluating the operation creates the value. An unrolled loop gives one object per element."""
    match fact, value:
        case (FunctionMade(), FunctionValue()) | (AttributeRead(), BoundMethod(FunctionValue(), Reference())):
            return True
        case Call(op=op), Reference(made):
            facts = view.facts.objects[made]
            here = facts.function == view.context.function and facts.op == op
            return facts.kind is ObjectKind.INSTANCE and here
        case _:
            return False


RULE: Final = Rule(
    id="TR204",
    name="identity-keyed-argument",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="A lambda, a bound method or a new object as an argument of a traced function causes a new trace on every call.",
    explanation=(
        "Arguments other than tensors, numbers, strings and structures of them are compared by identity. A lambda written "
        "in the call, `model.method` and `Options()` are new objects each time they are evaluated, so no graph is ever "
        "reused."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def apply(function, x):
    return function(x)


for _ in range(4):
    result = apply(lambda y: y * 2.0, tf.ones([3]))  # TR204
""",
        good="""\
import tensorflow as tf


@tf.function
def apply(function, x):
    return function(x)


def double(y):
    return y * 2.0


for _ in range(4):
    result = apply(double, tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


def apply(function, x):
    return function(x)


for _ in range(4):
    result = apply(lambda y: y * 2.0, tf.ones([3]))
""",
    ),
    cure="Create the object once, outside of the loop, or use it in the function without passing it.",
    check=check,
    retraces=Retraces(("object", "variable"), "pass the same object in each call"),
)
