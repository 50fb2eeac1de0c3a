"""TR407 and TR404 for contradictions between several operations, also across functions.

Sums over examples hidden by a mean, reversals that cancel, products of a tensor with itself divided by the size of
the wrong axis, masks applied to axes other than those from which they are created. Gives: `contradictions`,
`rows_of_examples`. Each finding has two places of evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.dim import Dim, definitely_equal, eager, format_dim
from terra_refactor.domain.shape import format_shape
from terra_refactor.domain.value import NONE, TRUE, Constant, TensorKind, TensorValue, members
from terra_refactor.facts.records import AttributeRead, Call, Display, Fact, ItemRead, NameRead, Operation
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard
from terra_refactor.rules.value_sources import ValueSource, is_given_by, sources_of, users_of
from terra_refactor.tf_model.along_axes import (
    MATRIX_PRODUCTS,
    MEANS,
    SUMS,
    ids_parameter_of,
    is_elementwise_loss,
    is_exp_or_log,
    is_layer_call,
    is_log_softmax,
    is_log_sum,
    is_norm,
    is_reversal,
    is_softmax_call,
    is_square,
    keeps_first_axis,
    keeps_values,
    operator_of,
    scanned_axis_of,
)

_MATRIX: Final = 2
_MAX_DEPTH: Final = 6
_SMALL: Final = 1e-3
"""Most that a program adds to probabilities before it takes their logarithm."""


def contradictions(view: ContextView) -> Iterator[LocalHazard]:
    """Uses of a result along an axis other than the one along which it was computed."""
    for call, name in view.library_calls():
        if name in SUMS:
            yield from _summed_examples(view, call, name)
            yield from _summed_across(view, call, name)
        elif is_log_sum(name):
            yield from _summed_across(view, call, name)
        elif is_reversal(name):
            yield from _reversed_back(view, call, name)
    for op, symbol, left, right in _arithmetic(view):
        if symbol == "/":
            yield from _divided_product(view, op, left, right)
        else:
            for mask, data in ((left, right), (right, left)):
                yield from _misplaced_mask(view, op, mask, data)


def _arithmetic(view: ContextView) -> Iterator[tuple[OpId, str, OpId, OpId]]:
    """Divisions and products: operation number, operator, operands."""
    for operation in view.reached(Operation):
        if operation.right is not None and operation.symbol in ("/", "*"):
            yield operation.op, operation.symbol, operation.left, operation.right
    for call, name in view.library_calls():
        symbol = operator_of(name)
        if symbol not in ("/", "*"):
            continue
        left, right = (view.library_argument(call, name, side) for side in "xy")
        if left is not None and right is not None:
            yield call.op, symbol, left, right


def _shape(view: ContextView, number: OpId) -> tuple[Dim, ...] | None:
    """The shape of a result that certainly is one tensor; otherwise None."""
    found = members(view.value(number))
    if len(found) != 1 or not isinstance(found[0], TensorValue) or found[0].kind is TensorKind.RAGGED:
        return None
    return found[0].type.shape


def _axes(view: ContextView, call: Call, name: str, rank: int) -> tuple[int, ...]:
    """The axes passed to a call, counted from the front; () if they are unknown or all."""
    given = view.library_argument(call, name, "axis", "axes")
    if given is None:
        return ()
    made = view.origin(given)
    written = [item.value for item in made.items] if isinstance(made, Display) and made.is_sequence else [given]
    numbers = [value.value for each in written if isinstance(value := view.value(each), Constant)]
    axes = [number for number in numbers if type(number) is int and -rank <= number < rank]
    return tuple(number % rank for number in axes) if len(axes) == len(written) else ()


# --- sums over examples ---------------------------------------------------------------------------------------------------------------


def _summed_examples(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """A per-element loss or divergence that is summed over the examples, then averaged: the mean is taken over an axis that should be
    summed.
    """
    data = view.library_argument(call, name, "input_tensor", "x")
    shape = None if data is None else _shape(view, data)
    if data is None or shape is None or len(shape) != _MATRIX or _axes(view, call, name, _MATRIX) != (0,):
        return
    sources = sources_of(view, data)
    if not sources or not (
        all(any(map(is_elementwise_loss, source.names)) for source in sources)
        or all(_is_divergence(source) for source in sources)
    ):
        return
    for user, made in (each for number in _with_factors(view, call.op) for each in users_of(view, number)):
        for mean, mean_name in user.library_calls():
            given = user.library_argument(mean, mean_name, "input_tensor", "x") if mean_name in MEANS else None
            axis = None if given is None else user.library_argument(mean, mean_name, "axis")
            if given is None or (axis is not None and user.value(axis) != NONE) or not is_given_by(user, given, made):
                continue
            yield LocalHazard(
                call.op,
                f"the losses of shape {format_shape(shape)} are summed along axis 0, over the examples, and `{user.written(mean.op)}` "
                "averages the rest: usually losses are summed along axis 1 and averaged over the examples",
            )
            return


def _with_factors(view: ContextView, number: OpId) -> tuple[OpId, ...]:
    """A result, and its products with numbers."""
    found = [number]
    for op, _, left, right in _arithmetic(view):
        for data, factor in ((left, right), (right, left)):
            value = view.value(factor)
            if isinstance(value, Constant) and isinstance(value.value, int | float) and is_given_by(view, data, number):
                found.append(op)
    return tuple(found)


def _is_divergence(source: ValueSource) -> bool:
    """Whether a result is the divergence of normal distributions, for each element: it has a squared term, and a variance
    and its logarithm with opposite signs (`1 + log_var - mean ** 2 - exp(log_var)`).
    """
    terms = _terms(source.view, source.fact.op, 1, 0)
    if not any(_is_square(source.view, number) for _, number in terms):
        return False
    for sign, number in terms:
        made = source.view.origin(number)
        names = source.view.library_of(made.op) if isinstance(made, Call) else ()
        inner = made.first if isinstance(made, Call) and len(names) == 1 and is_exp_or_log(names[0]) else None
        if inner is None:
            continue
        root = _root(source.view, inner)
        if any(other == -sign and _root(source.view, each) == root for other, each in terms):
            return True
    return False


def _terms(view: ContextView, number: OpId, sign: int, depth: int) -> list[tuple[int, OpId]]:
    """The terms of a sum with their signs, without constant factors."""
    made = view.origin(number)
    sides = _sides(view, made)
    if sides is None or depth > _MAX_DEPTH:
        return [(sign, number)]
    symbol, left, right = sides
    if symbol in ("+", "-"):
        turned = sign if symbol == "+" else -sign
        return [*_terms(view, left, sign, depth + 1), *_terms(view, right, turned, depth + 1)]
    for data, factor in ((left, right), (right, left)):
        value = view.value(factor)
        if symbol == "*" and isinstance(value, Constant) and isinstance(value.value, int | float):
            return _terms(view, data, sign if value.value >= 0 else -sign, depth + 1)
    return [(sign, number)]


def _sides(view: ContextView, fact: Fact | None) -> tuple[str, OpId, OpId] | None:
    """The operator and the operands of arithmetic, also as a function; None for other operations."""
    if isinstance(fact, Operation) and fact.right is not None:
        return fact.symbol, fact.left, fact.right
    if isinstance(fact, Call):
        names = view.library_of(fact.op)
        symbol = operator_of(names[0]) if len(names) == 1 else None
        left, right = (
            (view.library_argument(fact, names[0], side) for side in "xy") if symbol is not None else (None, None)
        )
        if symbol is not None and left is not None and right is not None:
            return symbol, left, right
    return None


def _is_square(view: ContextView, number: OpId) -> bool:
    made = view.origin(number)
    if isinstance(made, Call):
        return any(map(is_square, view.library_of(made.op)))
    sides = _sides(view, made)
    if sides is None:
        return False
    symbol, left, right = sides
    return (symbol == "**" and view.value(right) in (Constant(2), Constant(2.0))) or (
        symbol == "*" and _root(view, left) == _root(view, right)
    )


def _summed_across(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """The entropy of probabilities, or the logarithm of a mixture by them, summed along an axis other than the one
    along which they sum to 1.
    """
    data = view.library_argument(call, name, "input_tensor", "x")
    shape = None if data is None else _shape(view, data)
    axes = () if shape is None else _axes(view, call, name, len(shape))
    terms = _only(view, data)
    if shape is None or len(axes) != 1 or terms is None or not isinstance(terms.fact, Operation):
        return
    if terms.fact.right is None or terms.fact.symbol != ("+" if is_log_sum(name) else "*"):
        return
    found = [_log_probabilities(view, side, len(shape)) for side in terms.fact.sides]
    if is_log_sum(name):
        known = [each for each in found if each is not None]
        meant = known[0] if len(known) == 1 else None
    else:
        # p * log(p) of the same probabilities
        meant = found[0] if found[0] is not None and found[0] == found[1] else None
    if meant is not None and meant[0] != axes[0]:
        yield LocalHazard(
            call.op,
            f"summed along axis {axes[0]} of shape {format_shape(shape)}, and the probabilities in it sum to 1 along axis {meant[0]}",
        )


def _raised_a_little(source: ValueSource) -> OpId | None:
    """`p` of `p + 1e-8`, which keeps logarithms finite."""
    if not isinstance(source.fact, Operation) or source.fact.symbol != "+" or source.fact.right is None:
        return None
    for one, other in ((source.fact.left, source.fact.right), (source.fact.right, source.fact.left)):
        number = source.view.value(other)
        if isinstance(number, Constant) and type(number.value) is float and 0 < number.value <= _SMALL:
            return one
    return None


def _log_probabilities(view: ContextView, number: OpId, rank: int, depth: int = 0) -> tuple[int, object] | None:
    """The axis along which probabilities, or their logarithms, sum to 1, and the call that computes them; None for
    other results.
    """
    sources = sources_of(view, number)
    if len(sources) != 1 or depth > _MAX_DEPTH:
        return None
    raised = _raised_a_little(sources[0])
    if raised is not None:
        return _log_probabilities(sources[0].view, raised, rank, depth + 1)
    if not isinstance(sources[0].fact, Call) or len(sources[0].names) != 1:
        return None
    found, name, fact = sources[0], sources[0].names[0], sources[0].fact
    if is_exp_or_log(name) and isinstance(fact, Call) and fact.first is not None:
        return _log_probabilities(found.view, fact.first, rank, depth + 1)
    shape = _shape(found.view, fact.op)
    if not (is_log_softmax(name) or is_softmax_call(name)) or shape is None or len(shape) != rank:
        return None
    assert isinstance(fact, Call)
    given = found.view.library_argument(fact, name, "axis", "dim")
    axis = Constant(-1) if given is None else found.view.value(given)
    if not isinstance(axis, Constant) or type(axis.value) is not int or not -rank <= axis.value < rank:
        return None
    return axis.value % rank, (found.view.context.function, fact.op)


def divided_by_norm(view: ContextView, division: Operation) -> int | None:
    """The axis (negative) of a division of a tensor by its own norm along it; None for other divisions."""
    norm = _only(view, division.right)
    shape = _shape(view, division.left)
    if (
        norm is None
        or shape is None
        or not isinstance(norm.fact, Call)
        or norm.view is not view
        or len(norm.names) != 1
    ):
        return None
    name = norm.names[0]
    data = view.library_argument(norm.fact, name, "tensor", "x") if is_norm(name) else None
    axes = () if data is None else _axes(view, norm.fact, name, len(shape))
    if data is None or len(axes) != 1 or _root(view, data) != _root(view, division.left):
        return None
    return axes[0] - len(shape)


# --- reversals ------------------------------------------------------------------------------------------------------------------------


def _reversed_back(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """A tensor that is reversed, scanned along another axis and reversed again: the reversals cancel."""
    shape, scanned = _shape(view, call.op), _only(view, view.library_argument(call, name, "tensor", "x"))
    if shape is None or scanned is None or not isinstance(scanned.fact, Call) or len(scanned.names) != 1:
        return
    scan = scanned_axis_of(scanned.names[0])
    if scan is None:
        return
    given = scanned.view.library_argument(scanned.fact, scanned.names[0], "axis")
    axis = scan.axis if given is None else scanned.view.value(given)
    first = _only(scanned.view, scanned.view.library_argument(scanned.fact, scanned.names[0], scan.parameter))
    number = axis.value if isinstance(axis, Constant) else axis
    if type(number) is not int or first is None or not isinstance(first.fact, Call) or first.view is not view:
        return
    if len(first.names) != 1 or not is_reversal(first.names[0]):
        return
    before, after = (_axes(view, each, name, len(shape)) for each in (first.fact, call))
    if before and before == after and number % len(shape) not in before:
        yield LocalHazard(
            first.fact.op,
            f"reversed along axis {before[0]}, and `{view.written(scanned.fact.op)}` goes along axis {number % len(shape)}: the two "
            "reversals cancel, so the order is unchanged",
        )


def _only(view: ContextView, number: OpId | None) -> ValueSource | None:
    """The only source of a result within its function."""
    found = () if number is None else sources_of(view, number, within=True)
    return found[0] if len(found) == 1 else None


# --- products of a tensor with itself -------------------------------------------------------------------------------------------------


def _divided_product(view: ContextView, op: OpId, left: OpId, right: OpId) -> Iterator[LocalHazard]:
    """A product of a tensor with its own transpose, divided by the size of an axis that is not the contracted one."""
    product = _only(view, left)
    found = None if product is None else _squared(product)
    if product is None or found is None:
        return
    contracted, kept = found
    if contracted is None or kept is None or definitely_equal(contracted, kept) or not _counts(view, right, kept):
        return
    if _counts(view, right, contracted):
        return
    yield LocalHazard(
        product.fact.op,
        f"`{view.written(product.fact.op)}` sums along an axis of size {format_dim(contracted)} and is divided by the size of another one, "
        f"{format_dim(kept)}: transpose the other operand instead",
    )


def _squared(product: ValueSource) -> tuple[Dim, Dim] | None:
    """The sizes of the summed and of the remaining axis, in a product of a tensor with its own transpose."""
    view, fact = product.view, product.fact
    if not isinstance(fact, Call) or len(product.names) != 1 or product.names[0] not in MATRIX_PRODUCTS:
        return None
    name = product.names[0]
    left, right = view.library_argument(fact, name, "a", "x1"), view.library_argument(fact, name, "b", "x2")
    flags = [view.library_argument(fact, name, f"transpose_{side}", f"adjoint_{side}") for side in "ab"]
    turned = [flag is not None and view.value(flag) == TRUE for flag in flags]
    if left is None or right is None or turned[0] == turned[1] or _root(view, left) != _root(view, right):
        return None
    shape = _shape(view, left)
    if shape is None or len(shape) < _MATRIX:
        return None
    return (shape[-2], shape[-1]) if turned[0] else (shape[-1], shape[-2])


def _root(view: ContextView, number: OpId) -> object:
    """The common source of two reads of one variable."""
    fact = view.made(number)
    if isinstance(fact, NameRead) and fact.is_local:
        return fact.name, tuple(write.op for write in view.code.given_to(fact))
    return view.behind_name(number)


def _counts(view: ContextView, number: OpId, size: Dim, depth: int = 0) -> bool:
    """Whether a divisor is that size, or one less."""
    value, known = view.value(number), eager(size)
    if isinstance(value, Constant) and isinstance(value.value, int | float) and isinstance(known, int):
        return value.value in (known, known - 1) and known > _MATRIX
    fact = view.origin(number)
    match fact:
        case Operation(symbol="-", left=counted, right=int() as one) if view.value(one) in (Constant(1), Constant(1.0)):
            return depth < _MAX_DEPTH and _counts(view, counted, size, depth + 1)
        case Call(first=int() as first) if any(map(keeps_values, view.library_of(fact.op))) or fact.called_name in (
            "float",
            "int",
        ):
            return depth < _MAX_DEPTH and _counts(view, first, size, depth + 1)
        case ItemRead(owner=owner, index=index):
            axis, shape = view.value(index), _measured(view, owner)
            place = axis.value if isinstance(axis, Constant) else None
            if shape is None or type(place) is not int or not -len(shape) <= place < len(shape):
                return False
            return definitely_equal(shape[place], size)
        case _:
            return False


def _measured(view: ContextView, owner: OpId) -> tuple[Dim, ...] | None:
    """The tensor shape that `tf.shape(x)` or `x.shape` reads."""
    match view.origin(owner):
        case AttributeRead(name="shape", owner=tensor):
            return _shape(view, tensor)
        case Call(method="shape", first=int() as tensor):
            return _shape(view, tensor)
        case _:
            return None


# --- masks ----------------------------------------------------------------------------------------------------------------------------


def _misplaced_mask(view: ContextView, op: OpId, mask: OpId, data: OpId) -> Iterator[LocalHazard]:
    """A mask of ids that is multiplied with the embeddings of the same ids, without an axis for the embedding."""
    a, b = _shape(view, mask), _shape(view, data)
    if a is None or b is None or len(a) < _MATRIX or len(b) != len(a) + 1 or a[-1] == 1:
        return
    ids = _compared_ids(view, mask, 0)
    if not ids:
        return
    for source in sources_of(view, data):
        parameter = ids_parameter_of(source.names[0]) if len(source.names) == 1 else None
        given = None if parameter is None else _given(source, parameter)
        if given is not None and _roots(source.view, given) & ids:
            yield LocalHazard(
                op,
                f"the mask of shape {format_shape(a)} is computed from the ids for which the embeddings of shape {format_shape(b)} were "
                "looked up: its last axis is broadcast against the embedding axis, not the ids (it needs one more axis)",
            )
            return


def _given(source: ValueSource, parameter: str) -> OpId | None:
    assert isinstance(source.fact, Call)
    if parameter:
        return source.view.library_argument(source.fact, source.names[0], parameter)
    return source.fact.first


def _roots(view: ContextView, number: OpId) -> frozenset[object]:
    """The possible values of a result; a variable without a known source is represented by its name in its function."""
    found: set[object] = set()
    for source in sources_of(view, number):
        fact = source.fact
        found.add((source.view.context.function, fact.name if isinstance(fact, NameRead) else fact.op))
    return frozenset(found)


def _compared_ids(view: ContextView, number: OpId, depth: int) -> frozenset[object]:
    """The ids that a mask compares with 0; empty if it is not such a mask."""
    if depth > _MAX_DEPTH:
        return frozenset()
    found: frozenset[object] = frozenset()
    for source in sources_of(view, number):
        match source.fact:
            case Operation(symbol="!=" | "==", left=left, right=int() as right):
                sides: tuple[OpId, ...] = (left, right)
            case Call(positional=(left, right)) if any(operator_of(name) in ("!=", "==") for name in source.names):
                sides = (left, right)
            case Call(first=int() as first) if any(map(keeps_values, source.names)):
                found |= _compared_ids(source.view, first, depth + 1)
                continue
            case Operation(symbol="-", left=one, right=int() as inner) if source.view.value(one) in (
                Constant(1),
                Constant(1.0),
            ):
                found |= _compared_ids(source.view, inner, depth + 1)
                continue
            case _:
                return frozenset()
        if source.view.value(sides[1]) != Constant(0):
            return frozenset()
        found |= _roots(source.view, sides[0])
    return found


# --- rows of examples -----------------------------------------------------------------------------------------------------------------


def rows_of_examples(view: ContextView, number: OpId, depth: int = 0) -> str | None:
    """How a result with a row per example is computed: by a layer, or by a product with a variable; None for others."""
    if depth > _MAX_DEPTH:
        return None
    for source in sources_of(view, number):
        fact = source.fact
        further: OpId | None = None
        match fact:
            case Call() if source.names and all(map(is_layer_call, source.names)):
                return source.view.written(fact.op)
            case Call(first=int() as first) if source.names and all(map(keeps_first_axis, source.names)):
                further = first
            case Operation(symbol="+", left=left, right=int()):
                further = left
            case Operation(symbol="@", right=int() as weights) if source.view.is_variable(weights):
                return source.view.written(fact.op)
            case Call(positional=(_, weights)) if any(
                name in MATRIX_PRODUCTS for name in source.names
            ) and source.view.is_variable(weights):
                return source.view.written(fact.op)
            case _:
                continue
        found = rows_of_examples(source.view, further, depth + 1)
        if found is not None:
            return found
    return None
