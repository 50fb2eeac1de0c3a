"""TR302: NumPy and its kin on symbolic tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.dtype import INTEGER
from terra_refactor.domain.value import (
    Constant,
    DTypeValue,
    FrozenList,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, has_trait
from terra_refactor.tf_model.numpy_equivalents import Equivalent, numpy_equivalent
from terra_refactor.tf_model.spec import Trait

_FINE_METHODS: Final = frozenset({"numpy.ndarray.__getitem__", "numpy.ndarray.__len__"})

_ARRAY_ATTRIBUTES: Final = frozenset(
    {"T", "base", "data", "flags", "flat", "imag", "itemsize", "nbytes", "real", "size", "strides"}
)
"""Attributes of arrays that tensors do not have."""
CONVERTED: Final = (
    "has no NumPy array of another dtype than it is converted to: a graph cannot convert the tensor it gets"
)
"""Ends an assumption that nobody makes: code converts what may be an array because it is called with arrays."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    for store in view.stores():
        alternatives = members(view.value(store.object))
        if view.is_symbolic(store.value) and alternatives and all(_is_array(member) for member in alternatives):
            yield LocalHazard(
                store.id,
                f"the tensor `{view.written(store.value)}` is stored into an array: in a graph it has no value",
            )
    for op, name in view.library_calls():
        if name.startswith("numpy.ndarray.") and name not in _FINE_METHODS:
            function = view.op(op.function)
            parameter = view.argument_behind(function.object) if isinstance(function, ops.LoadAttribute) else None
            if parameter is not None:
                yield LocalHazard(
                    op.id,
                    f"`{view.written(op.id)}` is a method of the array `{parameter}`: a traced function gets a tensor in its place",
                    parameter=parameter,
                )
        if name in ("builtins.isinstance", "tensorflow.is_tensor") and op.arguments:
            parameter = view.argument_behind(op.arguments[0].value)
            if parameter is not None and parameter == view.parameter_behind(op.arguments[0].value):
                yield LocalHazard(
                    op.id,
                    f"`{view.written(op.id)}` asks for the class of the array `{parameter}`: a traced function gets a tensor in its place",
                    parameter=parameter,
                )
        conversion = _failing_conversion(view, op, name)
        if conversion is not None:
            converted = f"`{view.written(op.id)}` converts the array `{conversion}` to another dtype"
            message = f"{converted}: the tensor that a traced function gets in its place cannot be"
            yield LocalHazard(op.id, message, parameter=conversion)
        converted_part = _converted_part(view, op, name)
        if converted_part is not None:
            yield LocalHazard(
                op.id,
                f"`{view.written(op.id)}` converts whatever is in `{converted_part}`: in a graph it gets tensors, which keep their dtype",
                f"`{converted_part}` {CONVERTED}",
                parameter=converted_part,
            )
        if not has_trait(name, Trait.CONCRETE_ARRAYS):
            continue
        given = [argument.value for argument in op.arguments]
        certain = [number for number in given if view.holds_symbolic(number)]
        if certain:
            yield LocalHazard(
                op.id,
                f"`{view.written(op.id)}` gets the tensor `{view.written(certain[0])}`: in a graph it cannot be an array",
                cure=_cure(view, op, name),
            )
            continue
        arguments = [found for number in given if (found := _arrays_given(view, number)) is not None]
        if arguments:
            yield LocalHazard(
                op.id,
                f"`{view.written(op.id)}` gets the array `{arguments[0]}`: a traced function gets a tensor in its place",
                parameter=arguments[0],
            )
            continue
        possible = [number for number in given if view.may_be_symbolic(number)]
        if possible:
            written = view.written(possible[0])
            yield LocalHazard(
                op.id,
                f"`{view.written(op.id)}` may get a tensor (`{written}`): in a graph it cannot be an array",
                f"`{written}` is no tensor where `{view.written(op.function)}` gets it",
            )

    for store in view.stores():
        parameter = view.argument_behind(store.object)
        if parameter is not None:
            yield LocalHazard(
                store.id,
                f"an item of the array `{parameter}` is assigned: a traced function gets a tensor in its place, which cannot change",
                parameter=parameter,
            )
    for item in view.reached(ops.LoadItem):
        parameter = view.argument_behind(item.object) if _is_list_of_places(view, item.index) else None
        if parameter is not None:
            yield LocalHazard(
                item.id,
                f"`{view.written(item.id)}` takes several places of the array `{parameter}`: the tensor that a traced function gets cannot",
                parameter=parameter,
            )
    for load in view.reached(ops.LoadAttribute):
        if load.name in _ARRAY_ATTRIBUTES:
            parameter = view.argument_behind(load.object)
            if parameter is not None:
                yield LocalHazard(
                    load.id,
                    f"`{view.written(load.id)}` is an attribute of the array `{parameter}`: a traced function gets a tensor in its place",
                    parameter=parameter,
                )


def _arrays_given(view: ContextView, number: OpId) -> str | None:
    """The parameter that is an array, or a tuple of such, in the place of which a traced function gets tensors."""
    alternatives = members(view.value(number))
    if alternatives and all(
        isinstance(member, TupleValue) and any(_is_array(element) for element in member.elements)
        for member in alternatives
    ):
        return view.parameter_behind(number)
    name = view.parameter_behind(number)
    if name is not None and any(map(_holds_arrays_only, view.values_given(name))):
        return name
    return view.argument_behind(number)


def _holds_arrays_only(value: Value) -> bool:
    """Whether it is a list of arrays or tensors, however many."""
    alternatives = members(value)
    return bool(alternatives) and all(
        isinstance(member, FrozenList)
        and bool(elements := (*(member.elements or ()), *(() if member.element is None else (member.element,))))
        and all(isinstance(each, TensorValue) for element in elements for each in members(element))
        for member in alternatives
    )


def _failing_conversion(view: ContextView, call: ops.Call, name: str) -> str | None:
    """The parameter whose array is converted to a tensor of another dtype, which a tensor is not."""
    if name != "tensorflow.convert_to_tensor":
        return None
    given, wanted = view.library_argument(call, name, "value"), view.library_argument(call, name, "dtype")
    parameter = None if given is None else view.argument_behind(given)
    if given is None or parameter is None:
        return None
    before = {member.type.dtype for member in members(view.value(given)) if isinstance(member, TensorValue)}
    after = (
        {member.dtype for member in members(view.value(wanted)) if isinstance(member, DTypeValue)}
        if wanted is not None
        else set()
    )
    known = len(before) == len(after) == 1 and None not in before | after
    return parameter if known and before != after else None


def _converted_part(view: ContextView, call: ops.Call, name: str) -> str | None:
    """The parameter of which a part is converted to a certain dtype, and nothing shows what it is.

    An array of another dtype works eagerly only.
    """
    if name != "tensorflow.convert_to_tensor":
        return None
    given, wanted = view.library_argument(call, name, "value"), view.library_argument(call, name, "dtype")
    if given is None or wanted is None or not any(isinstance(each, DTypeValue) for each in members(view.value(wanted))):
        return None
    if not any(isinstance(each, UnknownValue) for each in members(view.value(given))):
        return None
    return view.parameter_around(given)


def _is_list_of_places(view: ContextView, index: OpId) -> bool:
    """Whether a subscript has a list or an array of integers, which NumPy takes for several places."""
    op = view.op(view.behind_name(index))
    if isinstance(op, ops.BuildContainer):
        return op.kind is ops.ContainerKind.LIST or any(
            _is_list_of_places(view, element.value) for element in op.elements
        )
    return bool(members(view.value(index))) and all(
        _is_array(member)
        and isinstance(member, TensorValue)
        and bool(member.type.shape)
        and member.type.dtype in INTEGER
        for member in members(view.value(index))
    )


def _is_array(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.kind is TensorKind.NDARRAY


def _cure(view: ContextView, call: ops.Call, name: str) -> CureHint | None:
    """The TensorFlow operation that means the same on the dtypes that are here."""
    equivalent = numpy_equivalent(name)
    if equivalent is None:
        return None
    dtypes: set[str | None] = set()
    for number in _arrays(view, call, equivalent):
        found = {
            member.type.dtype
            if isinstance(member, TensorValue)
            else (None if not isinstance(member, Constant | Scalar) else "python")
            for member in members(view.value(number))
        }
        dtypes |= found
    dtypes.discard("python")
    if len(dtypes) != 1:
        return None
    (dtype,) = dtypes
    boolean = name in ("numpy.any", "numpy.all")
    if boolean and dtype != "bool":
        return None
    if dtype is None or not (equivalent.any_dtype or boolean or dtype in ("float16", "bfloat16", "float32", "float64")):
        return None
    result = f"what uses `{view.written(call.id)}` takes a tensor as well as an array"
    return CureHint(CureKind.TENSORFLOW_CALL, (("function", name),), (result,))


def _arrays(view: ContextView, call: ops.Call, equivalent: Equivalent) -> Iterator[OpId]:
    """The arguments whose dtypes have to agree; the members of a list of arrays."""
    for position, argument in enumerate(call.arguments):
        wanted = equivalent.parameters[: equivalent.arrays]
        if argument.keyword in wanted or (argument.keyword is None and position < equivalent.arrays):
            display = view.op(argument.value)
            if isinstance(display, ops.BuildContainer):
                yield from (element.value for element in display.elements)
            else:
                yield argument.value


RULE: Final = Rule(
    id="TR302",
    name="numpy-on-tensor",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A NumPy, SciPy, pandas, PIL or OpenCV call on a value that flows from a tensor raises in a graph.",
    explanation=(
        "These libraries convert their arguments to arrays: `NotImplementedError: Cannot convert a symbolic tf.Tensor to a numpy "
        "array`. The static shape of a tensor (`x.shape`) is made of Python ints and fine. Of an array that is an argument a traced "
        "function gets a tensor, which has no methods of arrays, is no `np.ndarray`, cannot be converted to another dtype, and takes a "
        "list as an index for the places along its axes (`x[[1, 0]]` is `x[1, 0]`)."
    ),
    samples=Samples(
        bad="""\
import numpy as np
import tensorflow as tf


@tf.function
def step(x):
    return np.sum(x)  # TR302


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    return tf.reduce_sum(x)


step(tf.ones([3]))
""",
        near_miss="""\
import numpy as np
import tensorflow as tf


@tf.function
def step(x):
    return tf.reshape(x, [int(np.prod(x.shape))])


step(tf.ones([3, 2]))
""",
    ),
    cure="Use the TensorFlow operation, or `tf.numpy_function` where there is none.",
    check=check,
)
