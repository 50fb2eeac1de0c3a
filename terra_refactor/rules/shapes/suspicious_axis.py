"""TR407: a normalisation, selection or mean along one axis, whose result is used along another.

Each finding has two places of evidence: the axis argument, and the code that uses the result along another axis or shows that the axis is
the batch. Ignores: results that other functions use, equations of `einsum` with `...`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import INTEGER
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.value import FALSE, NONE, Constant, TensorKind, TensorValue, members
from terra_refactor.facts.records import Call, Fact, ItemRead, NameRead, Operation
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.axis_evidence import contradictions, divided_by_norm, rows_of_examples
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.value_sources import is_given_by, users_of
from terra_refactor.tf_model.along_axes import (
    EINSUMS,
    MATRIX_PRODUCTS,
    MEANS,
    ROWS_OF_LENGTH_ONE,
    Normalising,
    choice_of,
    class_loss_of,
    is_layer_call,
    is_log_softmax,
    is_squeeze,
    is_validity_mask,
    keeps_first_axis,
    normalising_of,
    operator_of,
)

_OPERANDS: Final = 2
_MAX_CALLERS: Final = 3
"""Maximum number of calls that are followed from a parameter to its origin."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    for op, left, right, turned in _products(view):
        for operand, contracted in ((left, -2 if turned[0] else -1), (right, -1 if turned[1] else -2)):
            yield from _contracted(view, op, operand, contracted, first=operand == left)
    for call, name in view.library_calls():
        parameter = class_loss_of(name)
        if parameter is not None:
            yield from _classes(view, call, name, parameter)
        elif name in MEANS:
            yield from _masked_mean(view, call, name)
        elif choice_of(name) is not None:
            yield from _over_batch(view, call, name)
            yield from _crossed(view, call, name)
        elif name in EINSUMS:
            yield from _along_kept_axis(view, call, name)
        if normalising_of(name) is not None:
            yield from _contracted_by_callers(view, call.op)
    for operation in view.reached(Operation):
        if operation.symbol == "/":
            yield from _contracted_by_callers(view, operation.op)
    yield from contradictions(view)


def _products(view: ContextView) -> Iterator[tuple[OpId, OpId, OpId, tuple[bool, bool]]]:
    """Matrix products: operation, operands, and whether each is transposed."""
    for operation in view.reached(Operation):
        if operation.symbol == "@" and operation.right is not None:
            yield operation.op, operation.left, operation.right, (False, False)
    for call, name in view.library_calls():
        if name not in MATRIX_PRODUCTS:
            continue
        left, right = view.library_argument(call, name, "a", "x1"), view.library_argument(call, name, "b", "x2")
        flags = [view.library_argument(call, name, f"transpose_{side}", f"adjoint_{side}") for side in "ab"]
        answers = [None if flag is None else view.value(flag) for flag in flags]
        if left is None or right is None or any(answer not in (None, FALSE, Constant(True)) for answer in answers):
            continue
        yield call.op, left, right, (answers[0] == Constant(True), answers[1] == Constant(True))


def _normalised(view: ContextView, number: OpId) -> tuple[OpId, Normalising, int, tuple[Dim, ...]] | None:
    """The operation that normalises an operand, its kind, its axis (negative) and the shape; None if one of these is unknown."""
    call = _given(view, number)
    if isinstance(call, Operation) and call.symbol == "/":
        axis, shape = divided_by_norm(view, call), _shape(view, call.op)
        return None if axis is None or shape is None else (call.op, ROWS_OF_LENGTH_ONE, axis, shape)
    if not isinstance(call, Call):
        return None
    names = view.calls[call.op].library if call.op in view.calls else ()
    if len(names) != 1 or (how := normalising_of(names[0])) is None:
        return None
    given = view.library_argument(call, names[0], "axis", "dim")
    shape = _shape(view, call.op)
    if given is None or shape is None:
        return None
    axis = _axis_of(view, given)
    if axis is None or not -len(shape) <= axis < len(shape):
        return None
    return call.op, how, axis - len(shape) if axis >= 0 else axis, shape


def _contracted(view: ContextView, op: OpId, operand: OpId, contracted: int, *, first: bool) -> Iterator[LocalHazard]:
    """Operands of a matrix product that are normalised along an axis other than the contracted one."""
    found = _normalised(view, operand)
    if found is None:
        return
    made, how, axis, shape = found
    if axis == contracted or (how.weights and not (first and len(shape) > 2)):
        # normalised rows of a weight matrix may be intended: a product of two matrices has many uses
        return
    yield LocalHazard(
        made,
        f"{how.name} along axis {axis} of shape {format_shape(shape)}, and `{view.written(op)}` sums along axis {contracted} of "
        f"it: {how.outcome}",
    )


def _along_kept_axis(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """Weights of an `einsum` that sum to 1 along an axis which both operands and the result have: the sum of the products
    is along another axis. Weights along an axis that only they have may be meant: they divide what is summed.
    """
    given = view.library_argument(call, name, "equation", "subscripts")
    equation = None if given is None else view.value(given)
    if not isinstance(equation, Constant) or not isinstance(equation.value, str) or "." in equation.value:
        return
    inputs, arrow, kept = equation.value.replace(" ", "").partition("->")
    letters = inputs.split(",")
    operands = call.positional[1:]
    if not arrow or len(letters) != _OPERANDS or len(operands) != _OPERANDS:
        return
    common = set(letters[0]) & set(letters[1])
    for operand, own in zip(operands, letters, strict=True):
        found = _normalised(view, operand)
        if found is None or not found[1].weights or len(own) != len(found[3]):
            continue
        made, how, axis, shape = found
        if own[axis] in common and own[axis] in kept and (summed := sorted(common - set(kept))):
            yield LocalHazard(
                made,
                f"{how.name} along axis {axis} of shape {format_shape(shape)} (`{own[axis]}`), and `{view.written(call.op)}` sums along "
                f"`{''.join(summed)}`: {how.outcome}",
            )


def _contracted_by_callers(view: ContextView, number: OpId) -> Iterator[LocalHazard]:
    """A normalised result that the function returns, and that a caller's matrix product sums along another axis."""
    found = _normalised(view, number)
    for user, made in users_of(view, number) if found is not None else ():
        for op, left, right, turned in _products(user) if user is not view else ():
            for operand, contracted in ((left, -2 if turned[0] else -1), (right, -1 if turned[1] else -2)):
                shape = _shape(user, operand)
                if found is None or found[1].weights or shape is None or len(shape) != len(found[3]):
                    continue
                _, how, axis, own = found
                if axis != contracted and is_given_by(user, operand, made):
                    yield LocalHazard(
                        number,
                        f"{how.name} along axis {axis} of shape {format_shape(own)}, and `{user.written(op)}` sums along axis {contracted} "
                        f"of it: {how.outcome}",
                    )
                    return


def _classes(view: ContextView, call: Call, name: str, parameter: str) -> Iterator[LocalHazard]:
    """Probabilities normalised along an axis other than the last, which the loss takes as the axis of classes."""
    given = view.library_argument(call, name, parameter)
    if given is None or view.library_argument(call, name, "axis") is not None:
        return
    found = _normalised(view, given)
    if found is not None and found[1].weights and found[2] != -1:
        softmax, how, axis, shape = found
        yield LocalHazard(
            softmax,
            f"{how.name} along axis {axis} of shape {format_shape(shape)}, and {name.rpartition('.')[2]} takes the last axis for the "
            "classes: the probabilities of an example do not sum to 1",
        )


def _masked_mean(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """The mean of a product with a padding mask, along the masked axis: padding counts as elements."""
    data, given = view.library_argument(call, name, "input_tensor", "x"), view.library_argument(call, name, "axis")
    if data is None or given is None or view.value(given) == NONE:
        return
    product = _given(view, data)
    sides: tuple[OpId, ...] = ()
    if isinstance(product, Operation) and product.symbol == "*" and product.right is not None:
        sides = product.sides
    elif isinstance(product, Call) and any(operator_of(each) == "*" for each in _names(view, product)):
        sides = product.positional
    masks = [side for side in sides if _is_mask_of_padding(view, side)]
    if len(sides) == 2 and len(masks) == 1:
        yield LocalHazard(
            call.op,
            f"the mean counts the elements that the mask `{view.written(masks[0])}` sets to 0: divide the sum by the sum of the mask",
        )


def _is_mask_of_padding(view: ContextView, number: OpId) -> bool:
    """Whether a factor is a padding mask: a comparison of integer ids with 0, or a sequence mask, cast to a number."""

    def parts(fact: Fact) -> Iterable[OpId]:
        match fact:
            case ItemRead(owner=owner):
                return (owner,)
            case Call(first=int() as first) if fact.method in ("cast", "expand_dims", "logical_not", "reshape"):
                return (first,)
            case _:
                return ()

    for fact in view.behind(number, parts):
        match fact:
            case Call() if any(map(is_validity_mask, _names(view, fact))):
                return True
            case Call(positional=(left, right)) if any(operator_of(n) in ("!=", "==") for n in _names(view, fact)):
                compared = (left, right)
            case Operation(symbol="!=" | "==", left=left, right=int() as right):
                compared = (left, right)
            case _:
                continue
        if view.value(compared[1]) == Constant(0) and _is_integer(view, compared[0]):
            return True
    return False


def _is_integer(view: ContextView, number: OpId) -> bool:
    value = view.value(number)
    return isinstance(value, TensorValue) and value.type.dtype in INTEGER


def _over_batch(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """An `argmax` or similar function along the batch axis of a layer's or model's output."""
    choice = choice_of(name)
    assert choice is not None
    data = view.library_argument(call, name, choice.parameter)
    if data is None:
        return
    shape = _shape(view, data)
    given = view.library_argument(call, name, "axis", "dimension", "dim")
    axis = choice.axis if given is None else _axis_of(view, given)
    if shape is None or len(shape) != 2 or axis not in (0, -2) or 1 in shape:
        # a column of scores is compared or normalised over its rows: instances of a bag, candidates
        return
    layer = _layer_behind(view, data, 0)
    if layer is None and given is None:
        layer = rows_of_examples(view, data)
    if layer is not None:
        written = "by default" if given is None else f"axis={axis}"
        yield LocalHazard(
            call.op,
            f"{name.rpartition('.')[2]} ({written}) along the batch: `{layer}` gives shape {format_shape(shape)}, a row for each example",
        )


def _layer_behind(view: ContextView, number: OpId, calls: int) -> str | None:
    """The source text of the layer or model whose output has the batch axis first; for a parameter, from the arguments
    of all calls.
    """
    for _ in range(8):
        fact = view.origin(number)
        match fact:
            case Call():
                names = _names(view, fact)
                if names and all(map(is_layer_call, names)):
                    return view.written(fact.op)
                kept = all(keeps_first_axis(name) or _squeezes_behind(view, fact, name) for name in names)
                if not names or not kept or fact.first is None:
                    return None
                number = fact.first
            case NameRead(is_local=True, name=name) if view.code.has_parameter(name) and calls < _MAX_CALLERS:
                found = None
                for caller, place in view.calls_of_function():
                    given = None if place is None else caller.given_for(place, view.function, name)
                    found = None if given is None else _layer_behind(caller, given, calls + 1)
                    if found is None:
                        return None
                return found
            case _:
                return None
    return None


def _squeezes_behind(view: ContextView, call: Call, name: str) -> bool:
    """Whether a call removes an axis other than the first."""
    given = view.library_argument(call, name, "axis") if is_squeeze(name) else None
    axis = None if given is None else _axis_of(view, given)
    shape = _shape(view, call.op)
    return axis is not None and bool(shape) and shape is not None and axis not in (0, -len(shape) - 1)


def _crossed(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """Probabilities along one axis that are multiplied by logarithms of probabilities along another, also in a caller."""
    how, given = normalising_of(name), view.library_argument(call, name, "axis", "dim")
    shape = _shape(view, call.op)
    axis = None if given is None else _axis_of(view, given)
    if how is None or not how.weights or not shape or axis is None or not -len(shape) <= axis < len(shape):
        return
    places = [(view, call.op)]
    if any(value is not None and _comes_from(view, value, call.op) for _, value in view.returns()):
        places += [(caller, place.op) for caller, place in view.calls_of_function() if place is not None]
    for user, made in places:
        for other in _factors_of(user, made):
            against = _log_axis(user, other, len(shape))
            if against is not None and against != axis % len(shape):
                yield LocalHazard(
                    call.op,
                    f"{how.name} along axis {axis} of shape {format_shape(shape)}, and it weighs logarithms of probabilities along axis "
                    f"{against - len(shape)}: their sum is not a cross entropy",
                )
                return


def _factors_of(view: ContextView, number: OpId) -> Iterator[OpId]:
    """The other factors of the products of a result."""
    for operation in view.reached(Operation):
        if operation.symbol == "*" and operation.right is not None:
            for one, other in ((operation.left, operation.right), (operation.right, operation.left)):
                if _comes_from(view, one, number):
                    yield other


def _comes_from(view: ContextView, number: OpId, made: OpId) -> bool:
    fact = view.origin(number)
    return isinstance(fact, Call) and fact.op == made


def _log_axis(view: ContextView, number: OpId, rank: int) -> int | None:
    """The axis along which the exponentials of a result sum to 1, if a function normalises it; counted from the front."""
    fact = view.origin(number)
    names = _names(view, fact) if isinstance(fact, Call) else ()
    shape = None if not isinstance(fact, Call) else _shape(view, fact.op)
    if (
        not isinstance(fact, Call)
        or len(names) != 1
        or not is_log_softmax(names[0])
        or shape is None
        or len(shape) != rank
    ):
        return None
    given = view.library_argument(fact, names[0], "axis", "dim")
    axis = -1 if given is None or view.value(given) == NONE else _axis_of(view, given)
    return None if axis is None else axis % rank


def _given(view: ContextView, number: OpId) -> Fact | None:
    """The operation that computes a result, also through a parameter that is rebound once: `a = normalize(a)`."""
    fact = view.origin(number)
    if isinstance(fact, NameRead):
        writes = view.code.given_to(fact)
        return view.made(writes[0].value) if len(writes) == 1 and writes[0].value is not None else None
    return fact


def _names(view: ContextView, call: Call) -> tuple[str, ...]:
    found = view.calls.get(call.op)
    return () if found is None else found.library


def _axis_of(view: ContextView, number: OpId) -> int | None:
    value = view.value(number)
    return value.value if isinstance(value, Constant) and type(value.value) is int else None


def _shape(view: ContextView, number: OpId) -> Shape:
    """The shape of a result that certainly is one tensor; otherwise None."""
    found = members(view.value(number))
    if len(found) != 1 or not isinstance(found[0], TensorValue) or found[0].kind is TensorKind.RAGGED:
        return None
    return found[0].type.shape


RULE: Final = Rule(
    id="TR407",
    name="suspicious-axis",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="A softmax, normalisation, choice or mean along another axis than the one that its result is used along.",
    explanation=(
        "Nothing raises, since every axis exists. Attention weights that are normalised over the heads (`axis=1`) do not sum to 1 over the "
        "keys; a softmax or an argmax along axis 0 of a layer's output compares examples with each other; a mean along a padded axis "
        "counts the padding. Also reported: losses, divergences and entropies that are summed over the examples instead of the classes, "
        "weights along an axis that an `einsum` keeps, a covariance that is summed along the features, a cumulative sum between two "
        "reversals along another axis, and a mask of ids that is broadcast against the axis of the embeddings. "
        "Values are followed through function calls."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


def attention(q, k, v):
    weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True), axis=1)  # TR407
    return tf.matmul(weights, v)


x = tf.ones([2, 4, 6, 8])
y = attention(x, x, x)
""",
        good="""\
import tensorflow as tf


def attention(q, k, v):
    weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True), axis=-1)
    return tf.matmul(weights, v)


x = tf.ones([2, 4, 6, 8])
y = attention(x, x, x)
""",
        near_miss="""\
import tensorflow as tf


def attention(q, k, v):
    weights = tf.nn.softmax(tf.matmul(k, q, transpose_b=True), axis=2)
    return tf.matmul(weights, v, transpose_a=True)


x = tf.ones([2, 4, 6, 8])
y = attention(x, x, x)
""",
    ),
    cure=(
        "Pass the axis along which the result is used: the last axis for attention weights and for classes; divide a masked sum by the "
        "sum of the mask."
    ),
    check=check,
)
