"""TR325: the text of a tensor, made when the graph is traced."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import Constant, PythonType, Scalar, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Op
from terra_refactor.ir.walk import block_results, operands
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_TEXT: Final = frozenset({"builtins.str", "builtins.repr", "builtins.ascii", "builtins.format"})
_TEXT_METHODS: Final = (
    "capitalize casefold center expandtabs format format_map join ljust lower lstrip removeprefix removesuffix replace "
    "rjust rstrip strip swapcase title translate upper zfill"
)
_JOINED: Final = _TEXT | {f"builtins.str.{name}" for name in _TEXT_METHODS.split()}
"""Functions whose result has the text that they are given in it."""
_ONLY_ON_FAILURE: Final = (
    "tensorflow.debugging.",
    "tensorflow.Assert",
    "tensorflow.compat.v1.assert",
    "tensorflow.compat.v1.Assert",
)
_SHOWN: Final = frozenset({EffectKind.PRINT, EffectKind.LOG, EffectKind.INPUT_OUTPUT})


class _Use(IntEnum):
    """What becomes of a text; the greatest of several counts."""

    SHOWN = 0
    """It is printed or logged (which is a hazard of its own), or says what is wrong."""
    ELSEWHERE = 1
    """It goes where this check does not look."""
    NEEDED = 2
    """The program goes on with it."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    users: dict[OpId, list[Op]] | None = None
    for op, part in _texts(view):
        users = _users(view) if users is None else users
        use = _use(view, users, op)
        if use is _Use.SHOWN:
            continue
        written = view.written(part)
        message = (
            f"the text of `{written}` is made when the graph is traced: it says `Tensor(...)` there, and not the value"
        )
        assumption = f"the text of `{written}` is only shown" if use is _Use.ELSEWHERE else None
        yield LocalHazard(op, message, assumption, parameter=view.becomes_tensor(part)[1])


def _texts(view: ContextView) -> Iterator[tuple[OpId, OpId]]:
    """The operations that make a text of a symbolic tensor, each with the tensor."""
    for formatted in view.reached(ops.FormatString):
        for part in formatted.parts:
            # what has a format is TR319: a symbolic tensor raises there
            if isinstance(part, ops.FormatField) and part.spec is None and _has_value(view, part.value):
                yield formatted.id, part.value
                break
    for call, name in view.library_calls():
        if name in _TEXT or name == "builtins.str.format":
            found = next((each.value for each in call.arguments if _has_value(view, each.value)), None)
            if found is not None:
                yield call.id, found
    for binary in view.reached(ops.Binary):
        if binary.operator == "%" and _is_text(view, binary.left) and _has_value(view, binary.right):
            yield binary.id, binary.right


def _has_value(view: ContextView, number: OpId) -> bool:
    """Whether the result has a value eagerly, and none in a graph: variables, wherever they were made, as well."""
    display = view.op(view.behind_name(number))
    if isinstance(display, ops.BuildContainer) and any(view.is_variable(element.value) for element in display.elements):
        return True
    return view.holds_symbolic(number) or view.is_variable(number) or view.becomes_tensor(number)[0]


def _is_text(view: ContextView, number: OpId) -> bool:
    alternatives = members(view.value(number))
    return bool(alternatives) and all(
        (isinstance(member, Constant) and isinstance(member.value, str))
        or (isinstance(member, Scalar) and member.type is PythonType.STR)
        for member in alternatives
    )


def _users(view: ContextView) -> dict[OpId, list[Op]]:
    """The operations that read the result of each operation."""
    found: dict[OpId, list[Op]] = {}
    for op in view.code.ops:
        if op is None:
            continue
        for number in operands(op):
            found.setdefault(number, []).append(op)
        for _, number in block_results(op):
            found.setdefault(number, []).append(op)
    return found


def _use(view: ContextView, users: dict[OpId, list[Op]], text: OpId) -> _Use:
    """What becomes of the text that an operation makes, within the function."""
    worst = _Use.SHOWN
    pending, seen = [text], {text}
    while pending:
        number = pending.pop()
        for user in users.get(number, ()):
            use, results = _step(view, users, user, number)
            worst = max(worst, use)
            new = [result for result in results if result not in seen]
            seen.update(new)
            pending.extend(new)
        if worst is _Use.NEEDED:
            break
    return worst


def _step(view: ContextView, users: dict[OpId, list[Op]], user: Op, number: OpId) -> tuple[_Use, list[OpId]]:
    """How one operation uses a text, and the results that have the text in them."""
    match user:
        case ops.Binary(operator="+" | "%") | ops.FormatString() | ops.IfExpression() | ops.ShortCircuit():
            return _Use.SHOWN, [user.id]
        case ops.BuildContainer(kind=ops.ContainerKind.TUPLE):
            return _Use.SHOWN, [user.id]
        case ops.LoadAttribute():
            return _Use.SHOWN, [user.id]
        case ops.StoreName(scope=ops.Scope.LOCAL):
            return _Use.SHOWN, [load.id for load in view.code.of_kind(ops.LoadName) if load.name == user.name]
        case ops.Raise():
            return _Use.SHOWN, []
        case ops.Compare() | ops.LoadItem() | ops.DeleteItem():
            return _Use.NEEDED, []
        case ops.StoreItem(index=index) if index == number:
            return _Use.NEEDED, []
        case ops.Call():
            return _called(view, users, user)
        case _:
            return _Use.ELSEWHERE, []


def _called(view: ContextView, users: dict[OpId, list[Op]], call: ops.Call) -> tuple[_Use, list[OpId]]:
    if any(isinstance(user, ops.Raise) for user in users.get(call.id, ())):
        return _Use.SHOWN, []
    for effect in view.context.effects:
        if effect.kind in _SHOWN and (effect.via[0] if effect.via else effect.site).op == call.id:
            return _Use.SHOWN, []
    fact = view.calls.get(call.id)
    if fact is None or fact.callees or fact.unknown is not None:
        return _Use.ELSEWHERE, []
    if all(name in _JOINED for name in fact.library):
        return _Use.SHOWN, [call.id]
    if all(name.startswith(_ONLY_ON_FAILURE) for name in fact.library):
        return _Use.SHOWN, []
    return _Use.NEEDED, []


RULE: Final = Rule(
    id="TR325",
    name="text-of-tensor",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="The text of a tensor (an f-string, `str()`, `%s`) is made once, when the graph is traced, and does not have its value.",
    explanation=(
        'Eagerly, `f"loss {loss}"` has the number in it. In a graph it is made while the function is traced, and says '
        '`Tensor("Sum:0", shape=(), dtype=float32)`: `tf.print(f"loss {loss}")` shows that in every call, a file gets that '
        "name, a dict has no such key, and as the name of an operation it raises `ValueError: ... is not a valid root scope name`. "
        "Texts that only say what is wrong (in `raise`, `assert`, `tf.debugging`) are not reported; those that are printed or logged "
        "by Python are TR101."
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
)
