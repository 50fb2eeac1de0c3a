"""TR325: the string of a tensor, created when the graph is traced."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import Constant, PythonType, Scalar, Value
from terra_refactor.facts.records import (
    AttributeRead,
    Call,
    Choice,
    Container,
    Display,
    ItemDeletion,
    ItemRead,
    ItemWrite,
    NameWrite,
    Operation,
    Raise,
    Text,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import FORMAT_METHOD
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_SHOWN: Final = frozenset({EffectKind.PRINT, EffectKind.LOG, EffectKind.INPUT_OUTPUT})


class _Use(IntEnum):
    """The use of a string; of several uses the greatest counts."""

    SHOWN = 0
    """The text is printed or logged (a separate hazard), or is an error message."""
    ELSEWHERE = 1
    """Its use is outside of this check."""
    NEEDED = 2
    """The program uses the text."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    for op, part in _texts(view):
        use = _use(view, op)
        if use is _Use.SHOWN:
            continue
        written = view.written(part)
        message = (
            f"the text of `{written}` is computed when the graph is traced: it is `Tensor(...)` instead of the value"
        )
        assumption = f"the text of `{written}` is only shown" if use is _Use.ELSEWHERE else None
        yield LocalHazard(op, message, assumption, parameter=view.becomes_tensor(part)[1])


def _texts(view: ContextView) -> Iterator[tuple[OpId, OpId]]:
    """The operations that convert a symbolic tensor to a string, each with the tensor."""
    for text in view.reached(Text):
        # values with a format are TR319: a symbolic tensor raises there
        found = next((value for value, has_spec in text.fields if not has_spec and _has_value(view, value)), None)
        if found is not None:
            yield text.op, found
    for call, name in view.library_calls():
        if has_trait(name, Trait.MAKES_TEXT) or name == FORMAT_METHOD:
            found = next((each.value for each in call.arguments if _has_value(view, each.value)), None)
            if found is not None:
                yield call.op, found
    for operation in view.reached(Operation):
        if operation.symbol == "%" and operation.right is not None and view.all_of(operation.left, _is_text):
            if _has_value(view, operation.right):
                yield operation.op, operation.right


def _has_value(view: ContextView, number: OpId) -> bool:
    """Whether the result has a value eagerly but not in a graph; variables count, wherever they were created."""
    display = view.origin(number)
    if isinstance(display, Display) and display.is_sequence:
        if any(view.is_variable(item.value) for item in display.items):
            return True
    return view.holds_symbolic(number) or view.is_variable(number) or view.becomes_tensor(number)[0]


def _is_text(value: Value) -> bool:
    return (isinstance(value, Constant) and isinstance(value.value, str)) or (
        isinstance(value, Scalar) and value.type is PythonType.STR
    )


def _use(view: ContextView, text: OpId) -> _Use:
    """The use of the string that an operation creates, within the function."""
    worst = _Use.SHOWN
    pending, seen = [text], {text}
    while pending and worst is not _Use.NEEDED:
        number = pending.pop()
        for user in view.code.readers(number, results=True):
            use, results = _step(view, user, number)
            worst = max(worst, use)
            pending.extend(result for result in results if result not in seen)
            seen.update(results)
    return worst


def _step(view: ContextView, user: OpId, number: OpId) -> tuple[_Use, list[OpId]]:
    """How one operation uses a string, and the results that contain the string."""
    match view.made(user):
        case Operation(symbol="+" | "%") | Text() | Choice() | Display(kind=Container.TUPLE) | AttributeRead():
            return _Use.SHOWN, [user]
        case NameWrite(name=name, is_own=True):
            return _Use.SHOWN, [read.op for read in view.code.reads_of(name)]
        case Raise():
            return _Use.SHOWN, []
        case Operation(is_comparison=True) | ItemRead() | ItemDeletion():
            return _Use.NEEDED, []
        case ItemWrite(index=index) if index == number:
            return _Use.NEEDED, []
        case Call() as call:
            return _called(view, call)
        case _:
            return _Use.ELSEWHERE, []


def _called(view: ContextView, call: Call) -> tuple[_Use, list[OpId]]:
    if any(isinstance(view.made(user), Raise) for user in view.code.readers(call.op)):
        return _Use.SHOWN, []
    for effect in view.context.effects:
        if effect.kind in _SHOWN and (effect.via[0] if effect.via else effect.site).op == call.op:
            return _Use.SHOWN, []
    fact = view.calls.get(call.op)
    if fact is None or fact.callees or fact.unknown is not None:
        return _Use.ELSEWHERE, []
    if all(has_trait(name, Trait.HANDS_ON_TEXT) for name in fact.library):
        return _Use.SHOWN, [call.op]
    if all(has_trait(name, Trait.ON_FAILURE_ONLY) for name in fact.library):
        return _Use.SHOWN, []
    return _Use.NEEDED, []


RULE: Final = Rule(
    id="TR325",
    name="text-of-tensor",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="The text of a tensor (an f-string, `str()`, `%s`) is computed once, when the graph is traced, and does not contain its value.",
    explanation=(
        'Eagerly, `f"loss {loss}"` contains the number. In a graph it is evaluated during the trace, and contains '
        '`Tensor("Sum:0", shape=(), dtype=float32)`: `tf.print(f"loss {loss}")` shows that in every call, a file gets that '
        "name, a dict look-up fails, and as the name of an operation it raises `ValueError: ... is not a valid root scope name`. Texts "
        "of error messages (in `raise`, `assert`, `tf.debugging`) are not reported; texts that Python prints or logs are TR101."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    loss = tf.reduce_sum(x)
    tf.print(f"loss {loss}")  # TR325
    return loss


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    loss = tf.reduce_sum(x)
    tf.print("loss", loss)
    return loss


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    if x.shape.rank != 1:
        raise ValueError(f"a vector is needed, not {x}")
    tf.print(f"a vector of {x.shape[0]}")
    return tf.reduce_sum(x)


step(tf.ones([3]))
""",
    ),
    cure="Give the tensor itself to `tf.print`, or make the text with `tf.strings.format` or `tf.strings.as_string`.",
    check=check,
    cured_by_shim=True,
    silent=True,
)
