"""TR302: NumPy and similar libraries on symbolic tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.dtype import INTEGER
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.value import (
    Constant,
    DTypeValue,
    FrozenList,
    ObjectId,
    Reference,
    Scalar,
    SequenceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.facts.records import (
    AttributeRead,
    Call,
    Choice,
    Container,
    Display,
    Fact,
    ItemRead,
    ItemWrite,
    Literal,
    NameRead,
    NameWrite,
    NextItem,
    Operation,
    Region,
    RegionKind,
    Unpacked,
)
from terra_refactor.facts.view import ContextView, is_ndarray, is_tensorflow_tensor
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import (
    CureHint,
    CureKind,
    LocalHazard,
    Nature,
    Rule,
    RuleKind,
    Samples,
    Severity,
    Subject,
)
from terra_refactor.tf_model.graph_traits import CONVERT, SCALAR_OF_NUMPY, is_method_of_array
from terra_refactor.tf_model.numpy_equivalents import Equivalent, numpy_equivalent
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_FINE_METHODS: Final = ("__getitem__", "__len__")
_ARRAY_ATTRIBUTES: Final = frozenset(
    {"T", "base", "data", "flags", "flat", "imag", "itemsize", "nbytes", "real", "size", "strides"}
)
"""Attributes of arrays that tensors do not have."""
ARRAY_IS_CONVERTED: Final = (
    "is not a NumPy array of another dtype: a graph gets it as a tensor, which it does not convert"
)
"""Last words of an assumption that is never made: the code converts the value because callers do pass arrays."""
_IN_ITS_PLACE: Final = "a traced function gets a tensor in its place"
_NO_TENSOR: Final = "the tensor that a traced function gets cannot"


def check(view: ContextView) -> Iterator[LocalHazard]:
    for write in view.reached(ItemWrite):
        if view.is_symbolic(write.value) and view.all_of(write.owner, is_ndarray):
            written = view.written(write.value)
            yield LocalHazard(write.op, f"the tensor `{written}` is stored into an array: in a graph it has no value")
        elif view.all_of(write.owner, is_ndarray):
            yield from _place(view, write)
    for call, name in view.library_calls():
        yield from _of_array(view, call, name)
        yield from _conversion(view, call, name)
        if has_trait(name, Trait.CONCRETE_ARRAYS):
            yield from _given(view, call, name)
    for call in view.reached(Call):
        if call.arguments and view.all_are(call.function, DTypeValue):
            yield from _given(view, call, SCALAR_OF_NUMPY)
    yield from _several_places(view)
    uses = [
        *(
            (write.op, write.owner, "an item of the array {0} is assigned", ", which cannot change")
            for write in view.reached(ItemWrite)
        ),
        *(
            (item.op, item.owner, "{1} selects several items of the array {0}", None)
            for item in view.reached(ItemRead)
            if _is_list_of_places(view, item.index)
        ),
        *(
            (read.op, read.owner, "{1} is an attribute of the array {0}", "")
            for read in view.reached(AttributeRead)
            if read.name in _ARRAY_ATTRIBUTES
        ),
    ]
    for number, array, what, more in uses:
        parameter = view.argument_behind(array)
        if parameter is not None:
            said = what.format(f"`{parameter}`", f"`{view.written(number)}`")
            why = f"{_IN_ITS_PLACE}{more}" if more is not None else _NO_TENSOR
            yield LocalHazard(number, f"{said}: {why}", parameter=parameter, subject=Subject(array=parameter))


def _place(view: ContextView, write: ItemWrite) -> Iterator[LocalHazard]:
    """An item of an array that the function makes, at a place that is a tensor in a graph: NumPy needs its value."""
    made = view.made(write.index)
    parts = [item.value for item in made.items] if isinstance(made, Display) else [write.index]
    for part in parts:
        written = view.written(part)
        if view.is_symbolic(part):
            yield LocalHazard(write.op, f"the tensor `{written}` indexes an array: in a graph it has no value")
        elif (array := view.argument_behind(part)) is not None:
            message = f"`{written}`, an item of the array `{array}`, indexes another array: {_IN_ITS_PLACE}, which has no value"
            yield LocalHazard(write.op, message, parameter=array, subject=Subject(array=array))
        elif view.may_be_symbolic(part) and (name := view.parameter_behind(part)) is not None:
            yield LocalHazard(
                write.op,
                f"`{written}` indexes an array: if `{name}` is an array, a traced function gets a tensor, which has no value",
                f"`{written}` is not a tensor where it indexes an array",
                parameter=name,
                nature=Nature.FOUND if _passed_unknown(view, part) is None else Nature.UNKNOWABLE,
            )


def _several_places(view: ContextView) -> Iterator[LocalHazard]:
    """Parameters of unknown type that are indexed with an array of integers: eagerly no tensor can be, so they are arrays."""
    for item in view.reached(ItemRead):
        given = view.parameter_behind(item.owner)
        if given is None or view.is_argument(item.owner) or not _is_list_of_places(view, item.index):
            continue
        is_tensor, parameter = view.becomes_tensor(item.index)
        if is_tensor and view.all_of(item.owner, _may_be_array):
            message = f"`{view.written(item.op)}` selects several items of the array `{given}`: {_NO_TENSOR}"
            yield LocalHazard(item.op, message, parameter=parameter, subject=Subject(array=given))


def _may_be_array(value: Value) -> bool:
    """Whether nothing but uses say what a value is."""
    return isinstance(value, UnknownValue) or is_tensorflow_tensor(value)


def _of_array(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """Methods of arrays, and tests for their class."""
    written = view.written(call.op)
    if is_method_of_array(name) and not name.endswith(_FINE_METHODS) and call.owner is not None:
        parameter = view.argument_behind(call.owner)
        if parameter is not None:
            message = f"`{written}` is a method of the array `{parameter}`: {_IN_ITS_PLACE}"
            yield LocalHazard(call.op, message, parameter=parameter, subject=Subject(array=parameter))
    if has_trait(name, Trait.ASKS_FOR_CLASS) and call.first is not None:
        parameter = view.argument_behind(call.first)
        if (
            parameter is not None
            and parameter == view.parameter_behind(call.first)
            and not _only_converts(view, call, parameter)
        ):
            message = f"`{written}` tests the class of the array `{parameter}`: {_IN_ITS_PLACE}"
            yield LocalHazard(call.op, message, parameter=parameter, subject=Subject(array=parameter))


def _only_converts(view: ContextView, test: Call, parameter: str) -> bool:
    """Whether a test of the class decides only whether an array becomes a tensor of its dtype, which it is in a graph."""
    tests = {test.op} | {
        made.op for made in view.code.of_kind(Operation) if made.symbol == "not" and made.left == test.op
    }
    readers = {reader for each in tests for reader in view.code.readers(each)} - tests
    choices = [made for number in readers if isinstance(made := view.made(number), Choice)]
    regions = [each for each in view.code.of_kind(Region) if each.subject in tests]
    if len({*readers, *(each.op for each in regions)}) != 1:
        return False
    if choices:
        return choices[0].symbol == "if" and all(_is_converted(view, each, parameter) for each in choices[0].results)
    if not regions or regions[0].kind is not RegionKind.IF:
        return False
    parts = regions[0].parts
    inside = [view.made(number) for part in parts for number in range(part.start, part.end)]
    writes = [made for made in inside if isinstance(made, NameWrite)]
    calls = [made.op for made in inside if isinstance(made, Call)]
    return (
        len(writes) == 1
        and writes[0].name == parameter
        and calls == [writes[0].value]
        and _is_converted(view, writes[0].value, parameter)
        and all(isinstance(made, NameWrite | Call | NameRead | AttributeRead | Literal) for made in inside)
    )


def _is_converted(view: ContextView, number: OpId, parameter: str) -> bool:
    """Whether a result is the argument, or the argument as a tensor of the same dtype."""
    made = view.made(number)
    if isinstance(made, NameRead):
        return made.name == parameter
    if not isinstance(made, Call) or made.first is None or view.library_of(number) != (CONVERT,):
        return False
    read, given = view.made(made.first), members(view.value(made.first))
    dtypes = {each.type.dtype if isinstance(each, TensorValue) else None for each in given}
    result = {each.type.dtype if isinstance(each, TensorValue) else None for each in members(view.value(number))}
    is_own = isinstance(read, NameRead) and read.name == parameter
    return is_own and (len(made.arguments) == 1 or (dtypes == result and None not in dtypes and len(dtypes) == 1))


def _given(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """The argument of a NumPy function that is not an array in a graph."""
    written = view.written(call.op)
    given = [argument.value for argument in call.arguments]
    certain = [number for number in given if view.holds_symbolic(number) or _is_filled_with_tensors(view, number)]
    if certain:
        message = f"`{written}` gets the tensor `{view.written(certain[0])}`, which NumPy cannot convert in a graph"
        yield LocalHazard(call.op, message, cure=_cure(view, call, name))
        return
    arguments = [found for number in given if (found := _arrays_given(view, number)) is not None]
    if arguments:
        message = f"`{written}` gets the array `{arguments[0]}`: {_IN_ITS_PLACE}"
        yield LocalHazard(call.op, message, parameter=arguments[0], subject=Subject(array=arguments[0]))
        return
    contents = [found for number in given if (found := _unknown_contents(view, number)) is not None]
    if contents:
        yield LocalHazard(
            call.op,
            f"`{written}` gets the content of `{contents[0]}`: in a graph the arrays in it are tensors",
            f"`{contents[0]}` contains no arrays where `{view.written(call.function)}` gets it",
            parameter=contents[0],
            nature=Nature.UNKNOWABLE,
            subject=Subject(container=contents[0]),
        )
        return
    possible = [part for number in given if (part := _possible_tensor(view, number)) is not None]
    if possible:
        tensor = view.written(possible[0])
        passed = _passed_unknown(view, possible[0]) if has_trait(name, Trait.ARRAY_OF_ITSELF) else None
        if passed is not None:
            yield LocalHazard(
                call.op,
                f"`{written}` makes an array of `{passed}`: a traced function gets a tensor for a list or an array, and is "
                "retraced for each number",
                f"`{tensor}` is not a tensor when it is passed to `{view.written(call.function)}`",
                parameter=passed,
                nature=Nature.UNKNOWABLE,
            )
            return
        yield LocalHazard(
            call.op,
            f"`{written}` may get a tensor (`{tensor}`), which NumPy cannot convert in a graph",
            f"`{tensor}` is not a tensor when it is passed to `{view.written(call.function)}`",
        )


def _possible_tensor(view: ContextView, number: OpId) -> OpId | None:
    """What may be a tensor in a graph: the argument, or an item of the list that it is."""
    if view.may_be_symbolic(number):
        return number
    made = view.origin(number)
    if not isinstance(made, Display) or made.is_comprehension or not made.is_sequence:
        return None
    return next((part for item in made.items if (part := _possible_tensor(view, item.value)) is not None), None)


def _passed_unknown(view: ContextView, number: OpId) -> str | None:
    """The parameter that a value is, if calls of the program pass values for it of which nothing is known."""
    name = view.parameter_behind(number)
    found = view.facts.functions.get(view.function.id)
    given = next((each for each in (() if found is None else found.parameters) if each.name == name), None)
    if given is None or given.evidence is not Evidence.DATAFLOW or not given.values:
        return None
    return name if all(_is_unknown(member) for value in given.values for member in members(value)) else None


def _is_filled_with_tensors(view: ContextView, number: OpId) -> bool:
    """Whether it is a list that the function fills with tensors: by a comprehension, or by adding them to an empty list."""
    if _is_comprehension_of_tensors(view, number):
        return True
    lists = _own_lists(view, number)
    return any(
        bool(lists & _own_lists(view, call.owner))
        and (
            view.holds_symbolic(call.arguments[-1].value)
            or _is_comprehension_of_tensors(view, call.arguments[-1].value)
        )
        for call, _ in (view.calls_with(Trait.FILLS_LIST) if lists else ())
        if call.owner is not None and call.arguments
    )


def _is_comprehension_of_tensors(view: ContextView, number: OpId) -> bool:
    made = view.origin(number)
    if not isinstance(made, Display) or not made.is_comprehension or made.kind is Container.GENERATOR:
        return False
    return any(view.holds_symbolic(item.value) for item in made.items)


def _own_lists(view: ContextView, number: OpId) -> frozenset[ObjectId]:
    """The lists created by the function itself that a value may be."""
    references = (member.object for member in members(view.value(number)) if isinstance(member, Reference))
    found = (view.facts.objects[each] for each in references)
    return frozenset(each.id for each in found if each.kind is ObjectKind.LIST and each.function == view.function.id)


def _arrays_given(view: ContextView, number: OpId) -> str | None:
    """The parameter that is an array, or contains arrays, for which a traced function gets tensors."""
    made = view.origin(number)
    if isinstance(made, Display) and not made.is_comprehension:
        return next((found for item in made.items if (found := _arrays_given(view, item.value)) is not None), None)
    if view.all_of(number, lambda each: isinstance(each, TupleValue) and any(map(is_ndarray, each.elements))):
        return view.parameter_behind(number)
    name = view.parameter_behind(number)
    if name is not None and any(map(_holds_arrays_only, view.values_given(name))):
        return name
    return view.argument_behind(number)


def _unknown_contents(view: ContextView, number: OpId) -> str | None:
    """The parameter that receives lists of unknown content: if they contain arrays, a graph gets tensors; if numbers,
    each list causes a new trace.
    """
    made = view.origin(number)
    if isinstance(made, Display) and made.is_comprehension:
        parts = (view.parameter_around(item.value) for item in made.items if view.all_of(item.value, _is_unknown))
        found = next((part for part in parts if part is not None), None)
        return _taken_apart(view, number) if found is None else found
    name = view.parameter_behind(number)
    if name is None:
        return _taken_apart(view, number) if view.all_of(number, _is_open) else None
    given = [member for value in view.values_given(name) for member in members(value)]
    return name if given and all(map(_holds_unknown, given)) else None


_HANDS_ON: Final = frozenset({"zip", "enumerate", "reversed", "list", "tuple"})


def _taken_apart(view: ContextView, number: OpId) -> str | None:
    """The parameter of unknown type whose elements a value is made of: batches are lists of arrays, or of tuples of these.

    For example `zip(*batch)` and `[each.state for each in batch]`.
    """
    steps: set[OpId] = set()

    def parts(fact: Fact) -> Iterable[OpId]:
        match fact:
            case ItemRead(owner=container) | AttributeRead(owner=container):
                return (container,)
            case Unpacked(source=container):
                return (container,)
            case NextItem(source=int() as source, is_element=True):
                steps.add(fact.op)
                return (source,)
            case Display(is_comprehension=True, items=items):
                return [item.value for item in items]
            case Call(called_name=name, arguments=arguments) if name in _HANDS_ON:
                if any(argument.spread for argument in arguments):
                    steps.add(fact.op)
                return [argument.value for argument in arguments]
            case _:
                return ()

    reads = [fact for fact in view.behind(number, parts) if isinstance(fact, NameRead) and fact.is_local]
    names = [name for read in reads if (name := view.parameter_behind(read.op)) is not None]
    unknown = (name for name in names if all(isinstance(value, UnknownValue) for value in view.values_given(name)))
    return next(unknown, None) if steps else None


def _is_unknown(value: Value) -> bool:
    return isinstance(value, UnknownValue) and value.may_be_tensor


def _is_open(value: Value) -> bool:
    """Whether nothing is known about a value, or about the elements of a sequence (`zip` yields tuples)."""
    if isinstance(value, SequenceValue):
        return value.element is not None and all(map(_is_unknown, members(value.element)))
    return _is_unknown(value)


def _holds_unknown(value: Value) -> bool:
    if not isinstance(value, FrozenList | TupleValue):
        return False
    parts = value.elements or ()
    element = value.element if isinstance(value, FrozenList) else None
    return any(
        _is_unknown(member) for part in (*parts, *(() if element is None else (element,))) for member in members(part)
    )


def _holds_arrays_only(value: Value) -> bool:
    """Whether it is a list that contains only arrays or tensors."""
    alternatives = members(value)
    return bool(alternatives) and all(
        isinstance(member, FrozenList)
        and bool(elements := (*(member.elements or ()), *(() if member.element is None else (member.element,))))
        and all(isinstance(each, TensorValue) for element in elements for each in members(element))
        for member in alternatives
    )


def _conversion(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    """Arrays converted to tensors of another dtype; tensors are not converted."""
    if name != CONVERT:
        return
    given, wanted = view.library_argument(call, name, "value"), view.library_argument(call, name, "dtype")
    if given is None:
        return
    written, parameter = view.written(call.op), view.argument_behind(given)
    dtypes = () if wanted is None else members(view.value(wanted))
    before = {member.type.dtype for member in members(view.value(given)) if isinstance(member, TensorValue)}
    after = {member.dtype for member in dtypes if isinstance(member, DTypeValue)}
    if parameter is not None and len(before) == len(after) == 1 and None not in before | after and before != after:
        message = f"`{written}` converts the array `{parameter}` to another dtype"
        message += ": the tensor that a traced function gets in its place cannot be"
        yield LocalHazard(call.op, message, parameter=parameter, subject=Subject(array=parameter))
    if after and view.any_of(given, _is_of_unknown_dtype):
        # its dtype is unknown; an array of another dtype works only eagerly
        part = view.parameter_around(given)
        if part is not None:
            message = (
                f"`{written}` converts the contents of `{part}`: in a graph these are tensors, which keep their dtype"
            )
            yield LocalHazard(
                call.op, message, f"`{part}` {ARRAY_IS_CONVERTED}", parameter=part, nature=Nature.UNKNOWABLE
            )


def _is_of_unknown_dtype(value: Value) -> bool:
    return isinstance(value, UnknownValue) or (
        isinstance(value, TensorValue) and value.kind is TensorKind.NDARRAY and value.type.dtype is None
    )


def _is_list_of_places(view: ContextView, index: OpId) -> bool:
    """Whether a subscript is a list or an array of integers, with which NumPy selects several elements."""
    made = view.origin(index)
    if isinstance(made, Display) and made.is_sequence:
        return made.kind is Container.LIST or any(_is_list_of_places(view, item.value) for item in made.items)
    return view.all_of(
        index,
        lambda member: (
            isinstance(member, TensorValue)
            and is_ndarray(member)
            and bool(member.type.shape)
            and member.type.dtype in INTEGER
        ),
    )


def _cure(view: ContextView, call: Call, name: str) -> CureHint | None:
    """The TensorFlow operation that is equivalent for the present dtypes."""
    equivalent = numpy_equivalent(name)
    if equivalent is None:
        return None
    dtypes = {
        member.type.dtype if isinstance(member, TensorValue) else None
        for number in _arrays(view, call, equivalent)
        for member in members(view.value(number))
        if not isinstance(member, Constant | Scalar)
    }
    if len(dtypes) != 1:
        return None
    (dtype,) = dtypes
    boolean = equivalent.of_bools
    if boolean and dtype != "bool":
        return None
    if dtype is None or not (equivalent.any_dtype or boolean or dtype in ("float16", "bfloat16", "float32", "float64")):
        return None
    result = f"the code that uses `{view.written(call.op)}` accepts a tensor as well as an array"
    return CureHint(CureKind.TENSORFLOW_CALL, (("function", name),), (result,))


def _arrays(view: ContextView, call: Call, equivalent: Equivalent) -> Iterator[OpId]:
    """The arguments whose dtypes must agree; the members of a list of arrays."""
    for position, argument in enumerate(call.arguments):
        wanted = equivalent.parameters[: equivalent.arrays]
        if argument.keyword in wanted or (argument.keyword is None and position < equivalent.arrays):
            display = view.made(argument.value)
            if isinstance(display, Display) and display.is_sequence:
                yield from (item.value for item in display.items)
            else:
                yield argument.value


RULE: Final = Rule(
    id="TR302",
    name="numpy-on-tensor",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A NumPy, SciPy, pandas, PIL or OpenCV call on a value that flows from a tensor raises in a graph.",
    explanation=(
        "These libraries convert their arguments to arrays: `NotImplementedError: Cannot convert a symbolic tf.Tensor (...) to a numpy "
        "array`. The static shape of a tensor (`x.shape`) consists of Python ints, so NumPy may use it. A traced function receives array "
        "arguments as tensors, which have no array methods, are not `np.ndarray`, are not converted to another dtype, and treat a list "
        "index as one index per axis (`x[[1, 0]]` is `x[1, 0]`)."
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
    cured_by_shim=True,
)
