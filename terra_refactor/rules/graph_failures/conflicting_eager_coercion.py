"""TR310: an array argument whose dtype is changed by NumPy or eager operations, but not by a graph.

Operators on arrays and numbers follow NumPy's rules eagerly (`1 - done` gives integers for booleans); a traced
function has a tensor in place of an array argument, whose dtype is not converted. Measured:
`tests/proof/test_arithmetic_of_array_arguments.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from terra_refactor.domain.dtype import (
    BOOL,
    FLOAT32,
    FLOATING,
    INT8,
    INT16,
    INT64,
    INTEGER,
    UINT8,
    UINT16,
    UNSIGNED,
    DType,
)
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.lattice import python_type
from terra_refactor.domain.value import BOTTOM, PythonType, TensorKind, TensorValue, Value, members
from terra_refactor.facts.records import Call, Fact, Operation
from terra_refactor.facts.view import ContextView, is_ndarray, is_tensorflow_tensor
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.meetings import OF_ARRAYS, OF_BITS, SHIFTS, meetings
from terra_refactor.rules.open_arguments import OpenMeeting, open_items, open_meetings
from terra_refactor.rules.rule import (
    Coercion,
    LocalHazard,
    Nature,
    Rule,
    RuleKind,
    Samples,
    Severity,
    Subject,
)
from terra_refactor.tf_model.graph_traits import built_in, takes_axes_in_gradient
from terra_refactor.tf_model.numpy_dtypes import numpy_promotion

ABS: Final = "abs"
REFUSED_ALONE: Final[Mapping[str, frozenset[DType]]] = {
    "-": UNSIGNED,
    "+": INTEGER | FLOATING,
    ABS: UNSIGNED | {BOOL},
}
"""The dtypes of tensors for which a unary operator fails, and that of an array does not."""
DIVIDED_AS_FLOAT32: Final = frozenset({INT8, INT16, UINT8, UINT16})
"""The dtypes of tensors that `/` divides as float32, and of arrays that it divides as float64."""
_BY_NUMPY: Final = "by NumPy's rules"
"""In messages about results of NumPy that do not meet a tensor yet."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    for fact in (*view.code.of_kind(Operation), *view.code.of_kind(Call)):
        for array, other in meetings(view, fact):
            name = view.argument_behind(array)
            if name is None:
                continue
            own = _own_dtypes(view, array, name)
            if view.all_of(other, is_tensorflow_tensor) and not view.is_argument(other):
                found = _with_tensor(view, fact, name, own, other)
            elif isinstance(fact, Operation):
                found = _of_numpy(view, fact, name, own, other)
            else:
                found = _of_two_arguments(view, fact, name, own, other)
            if found is not None:
                yield found
                break
    yield from _of_one_array(view)
    for meeting in open_meetings(view, OF_ARRAYS):
        yield _of_open(view, meeting)
    for fact, name in open_items(view, OF_ARRAYS):
        yield LocalHazard(
            fact.op,
            f"`{view.written(fact.op)}` computes with items of the list `{name}`, which unknown code gives: a Python number causes a trace "
            "in each call, and an array is a tensor of its own dtype",
            f"the items of `{name}` are tensors",
            parameter=name,
            nature=Nature.UNKNOWABLE,
            subject=Subject(array=name),
        )
    for call in view.code.of_kind(Call):
        if _has_long_axes(view, call):
            yield LocalHazard(
                call.op,
                f"the axes of `{view.written(call.op)}` are int64: eagerly its gradient converts them; a trace in which a size is unknown "
                "has no gradient of it (`Tensors in list passed to 'indices' of 'DynamicStitch' Op`)",
                "the sizes of the reduced tensor are known in the trace",
                nature=Nature.UNKNOWABLE,
            )


def _has_long_axes(view: ContextView, call: Call) -> bool:
    """Whether the axes of a reduction are a NumPy array or a tensor, and its input may have a size that a trace does not
    know.

    The gradient of `tf.concat` fails in any case. Measured: `tests/proof/test_axes_of_reductions.py`.
    """
    for name in view.library_of(call.op):
        if not takes_axes_in_gradient(name):
            continue
        axes = view.library_argument(call, name, "axis")
        if axes is None or not view.any_of(axes, _may_be_long):
            continue
        reduced = view.library_argument(call, name, "input_tensor", "x")
        if reduced is None or not view.all_of(reduced, _is_of_known_sizes):
            return True
    return False


def _may_be_long(value: Value) -> bool:
    """Whether a value is an int64 array or tensor, or an array whose dtype is unknown."""
    if not isinstance(value, TensorValue):
        return False
    # if no argument is known, it is a tensor only because TensorFlow functions accept one
    return value.type.dtype == INT64 or (value.type.dtype is None and value.kind is TensorKind.NDARRAY)


def _is_of_known_sizes(value: Value) -> bool:
    shape = value.type.shape if isinstance(value, TensorValue) else None
    return shape is not None and all(isinstance(size, int) for size in shape)


def _of_open(view: ContextView, meeting: OpenMeeting) -> LocalHazard:
    """An argument of unknown origin combined with a tensor."""
    name, written = meeting.parameter, view.written(meeting.fact.op)
    wanted = " or ".join(sorted(map(str, meeting.dtypes)))
    target = wanted or f"the dtype of `{meeting.network}`"
    return LocalHazard(
        meeting.fact.op,
        f"`{written}` converts the array `{name}` to {target} eagerly, if it is one: the types in calls are unknown, and a traced "
        "function gets an array as a tensor of its own dtype",
        f"`{name}` has the dtype of the other operand: tensors are not converted",
        parameter=name,
        nature=Nature.UNKNOWABLE,
        subject=Subject(array=name, coercion=_coercion(meeting.dtypes, meeting.network)),
    )


def _with_tensor(
    view: ContextView, fact: Fact, name: str, own: frozenset[DType | None], tensor: OpId
) -> LocalHazard | None:
    """An array argument combined with a tensor."""
    other = _dtypes(view.value(tensor))
    if other == {None} and None not in own and FLOAT32 not in own:
        found = _listed(own)
        return LocalHazard(
            fact.op,
            f"`{view.written(fact.op)}` converts the {found} array `{name}` to the unknown dtype of `{view.written(tensor)}` eagerly; a "
            f"traced function gets it as a {found} tensor, which is not converted",
            f"`{view.written(tensor)}` is {found}",
            parameter=name,
            subject=Subject(array=name),
        )
    if None in other or not own.isdisjoint(other):
        return None
    wanted = " or ".join(sorted(str(dtype) for dtype in other))
    if None in own:
        subject = Subject(array=name, coercion=_coercion(other))
        return _not_known(view, fact, name, f"converts the array `{name}` to {wanted} eagerly", subject)
    found = " or ".join(sorted(str(dtype) for dtype in own))
    message = (
        f"`{view.written(fact.op)}` converts the {found} array `{name}` to {wanted} eagerly; a traced function gets it as a "
        f"{found} tensor, which is not converted"
    )
    return LocalHazard(fact.op, message, parameter=name, subject=Subject(array=name, coercion=_coercion(other)))


def _coercion(wanted: frozenset[DType | None], network: str = "") -> Coercion | None:
    """The conversion to the only dtype, or to that of an unknown network; None if there are several dtypes."""
    if len(wanted) > 1:
        return None
    return Coercion(str(next(iter(wanted)))) if wanted else Coercion(network=network)


def _of_numpy(
    view: ContextView, fact: Operation, name: str, own: frozenset[DType | None], other: OpId
) -> LocalHazard | None:
    """NumPy computes with an array argument: in the original code the dtypes need not agree."""
    written, subject = view.written(fact.op), Subject(array=name, by_numpy=True)
    types = {python_type(member) for member in members(view.value(other))}
    if types and types <= {PythonType.INT, PythonType.FLOAT}:
        is_float = PythonType.FLOAT in types
        refused, number = refused_beside_number(fact.symbol, is_float=is_float), "a float" if is_float else "a number"
        if not is_float and _gives_float32(fact, own):
            return _less_precise(view, fact, name, own, subject)
        if own <= refused:
            message = f"`{written}` computes {number} and the {_listed(own)} array `{name}` {_BY_NUMPY}"
            message += "; a traced function gets a tensor, which is not converted"
            return LocalHazard(fact.op, message, parameter=name, subject=subject)
        if None in own and fact.symbol in OF_ARRAYS:
            return _not_known(view, fact, name, f"computes {number} and the array `{name}` {_BY_NUMPY}", subject)
        return None
    second = view.argument_behind(other)
    if second is None:
        return _beside_own_array(view, fact, name, own, other, subject)
    dtypes = own if second == name else _own_dtypes(view, other, second)
    if own == dtypes and _gives_float32(fact, own):
        return _less_precise(view, fact, name, own, subject)
    if own == dtypes and own <= refused_together(fact.symbol):
        message = f"`{written}` computes the {_listed(own)} array `{name}` {_BY_NUMPY}; a traced function gets a tensor, which has no "
        return LocalHazard(fact.op, f"{message}`{fact.symbol}`", parameter=name, subject=subject)
    if second == name or fact.symbol not in OF_ARRAYS:
        return None
    if None in own | dtypes:
        return _not_known(view, fact, name, f"computes the arrays `{name}` and `{second}` {_BY_NUMPY}", subject)
    if own.isdisjoint(dtypes):
        message = f"`{written}` computes the {_listed(own)} array `{name}` and the {_listed(dtypes)} array `{second}` {_BY_NUMPY}"
        message += "; a traced function gets tensors, whose dtypes must agree"
        return LocalHazard(fact.op, message, parameter=name, subject=subject)
    return None


def _gives_float32(fact: Operation, own: frozenset[DType | None]) -> bool:
    return fact.symbol == "/" and bool(own) and own <= DIVIDED_AS_FLOAT32


def _less_precise(
    view: ContextView, fact: Operation, name: str, own: frozenset[DType | None], subject: Subject
) -> LocalHazard:
    written = view.written(fact.op)
    return LocalHazard(
        fact.op,
        f"`{written}` divides the {_listed(own)} array `{name}` {_BY_NUMPY}, as float64; a traced function gets a tensor, and divides "
        "it as float32",
        f"`{written}` need not be float64",
        parameter=name,
        subject=subject,
    )


def _beside_own_array(
    view: ContextView, fact: Operation, name: str, own: frozenset[DType | None], other: OpId, subject: Subject
) -> LocalHazard | None:
    """An array argument and an array that the function makes or captures, which becomes a tensor of the argument's dtype in a graph."""
    if not view.all_of(other, is_ndarray) or len(own) != 1 or None in (dtypes := _dtypes(view.value(other))):
        return None
    (dtype,) = own
    if dtype is None or all(numpy_promotion(dtype, each) == dtype for each in dtypes):
        return None
    return LocalHazard(
        fact.op,
        f"`{view.written(fact.op)}` computes the {dtype} array `{name}` and a {_listed(dtypes)} array {_BY_NUMPY}; a traced function "
        f"gets a tensor, beside which the other one is converted to {dtype}",
        parameter=name,
        subject=subject,
    )


def _of_two_arguments(
    view: ContextView, fact: Fact, name: str, own: frozenset[DType | None], other: OpId
) -> LocalHazard | None:
    """A function of TensorFlow that gets two array arguments of different dtypes, which it converts eagerly."""
    second = view.argument_behind(other)
    dtypes = frozenset[DType | None]() if second is None else _own_dtypes(view, other, second)
    if not dtypes or None in own | dtypes or not own.isdisjoint(dtypes):
        return None
    return LocalHazard(
        fact.op,
        f"`{view.written(fact.op)}` converts the {_listed(own)} array `{name}` and the {_listed(dtypes)} array `{second}` to one dtype "
        "eagerly; a traced function gets tensors, whose dtypes must agree",
        parameter=name,
        subject=Subject(array=name),
    )


def _of_one_array(view: ContextView) -> Iterator[LocalHazard]:
    """`-array`, `+array` and `abs(array)` for dtypes that tensors do not have these operators for."""
    unary = [(fact.op, fact.left, fact.symbol) for fact in view.code.of_kind(Operation) if fact.right is None]
    calls = [(call.op, call.first, ABS) for call, name in view.library_calls() if name == built_in(ABS)]
    for number, array, symbol in (*unary, *calls):
        name = None if array is None or symbol not in REFUSED_ALONE else view.argument_behind(array)
        if array is None or name is None:
            continue
        own = _own_dtypes(view, array, name)
        if own and own <= REFUSED_ALONE[symbol]:
            yield LocalHazard(
                number,
                f"`{view.written(number)}` computes the {_listed(own)} array `{name}` {_BY_NUMPY}; a traced function gets a tensor, which "
                f"has no `{symbol}`",
                parameter=name,
                subject=Subject(array=name, by_numpy=True),
            )


def refused_beside_number(symbol: str, *, is_float: bool) -> frozenset[DType]:
    """The dtypes of tensors for which an operator with a Python number fails, or gives another result than NumPy."""
    if symbol in OF_BITS:
        return frozenset({BOOL})
    if is_float and symbol not in SHIFTS:
        return INTEGER | {BOOL}
    return refused_together(symbol) | {BOOL}


def refused_together(symbol: str) -> frozenset[DType]:
    """The dtypes for which an operator on two tensors fails, and on two arrays does not; without those of `DIVIDED_AS_FLOAT32`."""
    if symbol in SHIFTS:
        return INTEGER | {BOOL}
    if symbol in ("==", "!=", "*", "-", *OF_BITS):
        return frozenset()
    return UNSIGNED | {BOOL} if symbol == "**" else frozenset({BOOL})


def _listed(dtypes: frozenset[DType | None]) -> str:
    return " or ".join(sorted(str(dtype) for dtype in dtypes))


def _not_known(view: ContextView, fact: Fact, name: str, what: str, subject: Subject) -> LocalHazard:
    """The dtype of an array argument is unknown: it may differ, as NumPy's default float64 usually does.

    Arrays that the program itself passes rarely have the tensor's dtype by chance; an annotation is weaker evidence.
    """
    facts = view.facts.functions.get(view.function.id)
    given = next((each for each in (() if facts is None else facts.parameters) if each.name == name), None)
    is_passed = given is not None and given.evidence is Evidence.DATAFLOW
    return LocalHazard(
        fact.op,
        f"`{view.written(fact.op)}` {what}, whose dtype is unknown; a traced function gets a tensor, whose dtype must agree",
        f"the array `{name}` has the dtype of the other operand: tensors are not converted",
        parameter=name,
        nature=Nature.UNKNOWABLE if is_passed else Nature.FOUND,
        subject=subject,
    )


def _own_dtypes(view: ContextView, array: OpId, name: str) -> frozenset[DType | None]:
    """The dtypes of an array argument, or of its inputs: a float array keeps its dtype in a graph's arithmetic."""
    found = _dtypes(view.value(array))
    if None in found:
        given = _dtypes(view.context.parameters.get(name, BOTTOM))
        if given and given <= FLOATING:
            return given
    return found


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
