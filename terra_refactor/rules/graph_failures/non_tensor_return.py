"""TR318: results that a graph cannot return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import (
    NOT_BOUND,
    BoundMethod,
    Constant,
    DatasetValue,
    DTypeValue,
    EnumMember,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    PartialValue,
    PythonType,
    RangeValue,
    Reference,
    Scalar,
    SequenceValue,
    ShapeValue,
    SliceValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.facts.records import (
    AttributeRead,
    AttributeWrite,
    Call,
    Choice,
    Container,
    Display,
    Fact,
    Literal,
    NameRead,
    NameWrite,
    Operation,
    Region,
    Return,
)
from terra_refactor.facts.staging import Staging, staging_of
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor, is_variable
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.dict_keys import kinds_of_keys
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.tensor_choices import is_opaque
from terra_refactor.tf_model.decorators import Decoration, decoration
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_DATASET: Final = "a dataset"


def check(view: ContextView) -> Iterator[LocalHazard]:
    if any(decoration(name)[0] is Decoration.GIVES_GRADIENT for name in view.function_facts.wrappers):
        return  # its callers receive the first element of its result
    yield from _marked(view)
    places = [(place.op, place.value) for place in view.code.of_kind(Return) if place.value is not None]
    alternatives = _without_start_values(_possible_results(view, places))
    problems = [found for member in alternatives if (found := _problem(view, member, 0)) is not None]
    if not problems:
        # an unknown value at one `return` hides the values at others
        each = [view.value(number) for _, number in places]
        alternatives = _without_start_values(
            tuple(dict.fromkeys(member for value in each for member in members(value)))
        )
        each_problem = [_problem(view, member, 0) for member in alternatives]
        problems = [problem for problem in each_problem if problem is not None and not problem[1]]
    for place, number in places:
        # the joined result of a function no longer distinguishes a set from a list
        if isinstance(value := view.value(number), Reference) and view.object_kind(value) is ObjectKind.SET:
            yield LocalHazard(place, "it returns a set: a traced function can only return tensors and None")
            return
        if _is_iterator(view, number):
            yield LocalHazard(place, "it returns an iterator: a traced function can only return tensors and None")
            return
    yield from _containers(view, places)
    for place, number in places:
        if _is_operation(view, number, 0):
            written = view.written(number)
            message = f"`{written}` returns None eagerly and a `tf.Operation` in a graph, which a traced function cannot return"
            yield LocalHazard(place, message, boundary=True)
            return
    if not places:
        return
    place, number = places[-1]
    if not problems:
        yield from _same_object(view, places)
        yield from _numbers_beside_tensors(view, places)
        yield from _variables(view, place, members(view.context.returns))
        yield from _unknown_parts(view, places)
        return
    text, becomes_tensor = problems[0]
    if becomes_tensor and _raises(view, number):
        return
    if becomes_tensor:
        becomes = "another dataset" if text == _DATASET else "a tensor"
        message = f"it returns {text}, which a graph returns as {becomes}"
        called = any(not view.facts.contexts[caller.context].in_graph for caller in view.function_facts.callers)
        # a known caller would receive another value; with an unknown one this is an assumption. A graph that only
        # describes a dataset gains nothing
        unsafe = called or text == _DATASET
        assumption = None if unsafe else f"callers accept {becomes} where it returns {text}"
        # callers of an existing graph receive a tensor already, which `%d`, `float` or an index accept like a number
        in_use = "its callers use it as a Python value: as a key, with `isinstance`, through a method of `str`"
        if text == _DATASET:
            in_use = "its callers test the identity or the class of the dataset"
        yield LocalHazard(place, message, assumption, boundary=True, in_use=in_use)
    elif len(problems) == len(alternatives):
        yield LocalHazard(place, f"it returns {text}: a traced function can only return tensors and None")
    else:
        message = f"it may return {text}: a traced function can only return tensors and None"
        yield LocalHazard(place, message, f"it never returns {text}")


def _possible_results(view: ContextView, places: list[tuple[OpId, OpId]]) -> tuple[Value, ...]:
    """The alternatives of the result; a `return` of a variable that is not assigned on that path raises and returns nothing."""
    each = [view.value(number) for _, number in places]
    if not any(map(_is_unbound, each)):
        return members(view.context.returns)
    return tuple(dict.fromkeys(member for value in each if not _is_unbound(value) for member in members(value)))


def _is_unbound(value: Value) -> bool:
    return isinstance(value, UnknownValue) and value.reason == NOT_BOUND


def _same_object(view: ContextView, places: list[tuple[OpId, OpId]]) -> Iterator[LocalHazard]:
    """An argument that is returned as it is, where a caller asks whether the result is the same object."""
    returned = next((place for place, number in places if _is_argument(view, number, 0)), None)
    if returned is None:
        return
    for place in view.callers:
        caller = view.of(place.context)
        for test in () if caller.context.in_graph else caller.code.of_kind(Operation):
            if test.symbol in ("is", "is not") and any(
                not isinstance(caller.made(other), Literal) and _is_result_of(caller, side, place.op)
                for side, other in test.pairs
            ):
                yield LocalHazard(
                    returned,
                    f"it may return its argument, and `{caller.written(test.op)}` asks whether it did: a graph returns another tensor",
                    boundary=True,
                    in_use="the caller expects the same object",
                )
                return


def _is_argument(view: ContextView, number: OpId, depth: int) -> bool:
    """Whether a result may be one of the function's arguments, itself or through other functions that return theirs."""
    for fact in view.behind(number, lambda made: made.results if isinstance(made, Choice) else ()):
        if isinstance(fact, NameRead) and view.code.has_parameter(fact.name):
            return True
        calls = view.calls.get(fact.op) if isinstance(fact, Call) and depth < 3 else None
        for callee in () if calls is None else map(view.of, calls.callees):
            if any(_is_argument(callee, inner, depth + 1) for _, inner in callee.returns()):
                return True
    return False


def _is_result_of(view: ContextView, number: OpId, call: OpId) -> bool:
    return any(fact.op == call for fact in view.behind(number, lambda _: ()))


def _numbers_beside_tensors(view: ContextView, places: list[tuple[OpId, OpId]]) -> Iterator[LocalHazard]:
    """A number on some paths and a tensor on others: all callers of a graph get a tensor."""
    if not any(is_tensorflow_tensor(member) for member in members(view.context.returns)):
        return
    for place, number in places:
        alternatives = members(view.value(number))
        if not any(map(_is_number, alternatives)):
            continue
        if all(map(_is_number, alternatives)) or _is_chosen(view, number):
            yield LocalHazard(
                place,
                f"`{view.written(number)}` may be a number, which a graph returns as a tensor",
                "callers accept a tensor where it returns a number",
                boundary=True,
                in_use="its callers use it as a Python value: as a key, with `isinstance`, through a method of `str`",
            )
            return


def _is_chosen(view: ContextView, number: OpId) -> bool:
    """Whether the result is a variable with a number that is no start value of a sum: one that no other loop reads and sets."""
    read = view.made(number)
    if not isinstance(read, NameRead) or not read.is_local:
        return False
    staging, loops = staging_of(view), [region for region in view.code.of_kind(Region) if region.is_loop]
    summing = [
        (loop, {write.op for each in reads for write in staging.assignments(each.name, each.op)})
        for loop in loops
        if view.code.set_in(loop, read.name)
        and (reads := [each for each in view.code.reads_of(read.name) if loop.holds(each.op)])
    ]
    return not summing or any(
        not any(write.op in seen and not loop.holds(write.op) for loop, seen in summing)
        for write in _numbers_stored(view, staging, read)
    )


def _numbers_stored(view: ContextView, staging: Staging, read: NameRead) -> Iterator[NameWrite]:
    """The assignments of numbers that a read may see, through others that compute the variable from its old value."""
    waiting, seen = [read], set[OpId]()
    while waiting:
        for write in staging.assignments(read.name, waiting.pop().op):
            if write.op in seen or not any(map(_is_number, members(view.value(write.value)))):
                continue
            seen.add(write.op)
            old = [
                each for each in _parts_of(view, write.value) if isinstance(each, NameRead) and each.name == read.name
            ]
            waiting += old
            if not old:
                yield write


def _parts_of(view: ContextView, number: OpId) -> Iterator[Fact | None]:
    """A result, and everything in its expression."""
    yield view.made(number)
    for part in view.code.inputs(number, results=True):
        yield from _parts_of(view, part)


def _marked(view: ContextView) -> Iterator[LocalHazard]:
    """Attributes set on a tensor of the graph: the tensor that a caller receives is another object."""
    for write in view.reached(AttributeWrite):
        if view.is_symbolic(write.owner) and not view.is_variable(write.owner):
            written = view.written(write.op)
            yield LocalHazard(
                write.op,
                f"`{written}` is set on a tensor of the graph: the tensor that is returned has no such attribute",
                f"nothing reads `{written}` after the call",
            )


def _containers(view: ContextView, places: list[tuple[OpId, OpId]]) -> Iterator[LocalHazard]:
    """Containers that a graph cannot return, or returns changed: it sorts the keys of dicts, and returns plain containers."""
    for place, number in places:
        kinds = frozenset().union(*(kinds_of_keys(member) for member in members(view.context.returns)))
        if len(kinds) > 1:
            text = f"it returns a dict with keys of several types ({', '.join(sorted(kinds))}), which a traced function sorts"
            yield LocalHazard(place, text, boundary=True)
            return
        for part in _returned(view, number):
            alternatives = members(view.value(part))
            facts = [view.facts.objects[each.object] for each in alternatives if isinstance(each, Reference)]
            if any(each.kind is ObjectKind.DICT and each.name == "defaultdict" for each in facts):
                yield LocalHazard(
                    place,
                    "it returns a defaultdict, which a graph returns as a dict without its factory",
                    "callers look up only keys that are in the dict that it returns",
                    boundary=True,
                )
                return


def _returned(view: ContextView, number: OpId) -> Iterator[OpId]:
    """A result, and the elements if it is a display."""
    yield number
    made = view.origin(number)
    if isinstance(made, Display) and not made.is_comprehension:
        for item in made.items:
            yield from _returned(view, item.value)


def _raises(view: ContextView, number: OpId) -> bool:
    """Whether the result is that of a call that raises in a graph (TR301, TR302): nothing is returned then."""
    call = view.origin(number)
    if not isinstance(call, Call):
        return False
    symbolic = any(view.holds_symbolic(argument.value) for argument in call.arguments)
    return any(
        has_trait(name, Trait.EAGER_ONLY) or (symbolic and has_trait(name, Trait.CONCRETE_ARRAYS))
        for name in view.library_of(call.op)
    )


def _is_iterator(view: ContextView, number: OpId) -> bool:
    """Whether the result is a generator, or an iterator of `map`, `zip` and similar functions."""
    made = view.origin(number)
    if isinstance(made, Display):
        return made.kind is Container.GENERATOR
    names = () if made is None else view.library_of(made.op)
    return any(has_trait(name, Trait.MAKES_ITERATOR) for name in names)


def _is_operation(view: ContextView, number: OpId, depth: int) -> bool:
    """Whether the result, directly or through functions, is that of a call that returns an operation in a graph, and
    None eagerly.
    """
    call = view.origin(number)
    fact = None if call is None else view.calls.get(call.op)
    if not isinstance(call, Call) or fact is None or fact.unknown is not None:
        return False
    if any(has_trait(name, Trait.GIVES_OPERATION) for name in fact.library):
        return True
    if depth > 3 or fact.library:
        return False
    inner = [view.of(callee) for callee in fact.callees]
    return any(
        _is_operation(callee, returned, depth + 1)
        for callee in inner
        if callee.function_facts.hybrid is None
        for _, returned in callee.returns()
    )


def _variables(view: ContextView, place: OpId, alternatives: tuple[Value, ...]) -> Iterator[LocalHazard]:
    """A graph returns a variable as a tensor with its present value."""
    if not any(_holds_variable(member, 0) for member in alternatives) or not _is_read(view):
        return
    text = "the value of a variable, and neither change it nor read it again later"
    yield LocalHazard(
        place,
        "it returns a variable, which a graph returns as a tensor",
        f"its callers use what it returns as {text}",
        boundary=True,
    )


def _unknown_parts(view: ContextView, places: list[tuple[OpId, OpId]]) -> Iterator[LocalHazard]:
    """Attributes of the method's object with unknown values, and unknown results that are no tensors: a number would be
    returned as a tensor.
    """
    own = view.function.parameters[0].name if view.function.takes_self else None
    for place, number in places:
        for part in _returned(view, number):
            read = view.made(part)
            owner = view.made(read.owner) if isinstance(read, AttributeRead) else None
            is_attribute = isinstance(owner, NameRead) and owner.name == own and view.all_of(part, _is_unknown)
            if is_attribute or view.all_of(part, _is_no_tensor):
                written = view.written(part)
                yield LocalHazard(
                    place,
                    f"it returns `{written}`, whose type is unknown: a graph returns Python values as tensors",
                    f"callers accept a tensor where it returns `{written}`",
                    boundary=True,
                )
                return


def _is_no_tensor(value: Value) -> bool:
    return isinstance(value, UnknownValue) and not value.may_be_tensor


def _is_unknown(value: Value) -> bool:
    return isinstance(value, UnknownValue) and not value.reason


def _parts(value: Value) -> tuple[Value, ...]:
    """The parts of a structure; () for other values."""
    match value:
        case TupleValue(elements):
            return elements
        case FrozenList(elements, rest):
            return elements or (() if rest is None else (rest,))
        case FrozenDict(items, rest):
            return (*(item for _, item in items), *(() if rest is None else (rest,)))
        case _:
            return ()


def _holds_variable(value: Value, depth: int) -> bool:
    if is_variable(value):
        return True
    return depth < 4 and any(_holds_variable(each, depth + 1) for part in _parts(value) for each in members(part))


def _is_read(view: ContextView) -> bool:
    """Whether some caller outside of graphs uses the result; unknown callers are assumed to."""
    if not view.callers or view.function_facts.open_callers:
        return True
    contexts = view.facts.contexts
    return any(
        not contexts[caller.context].in_graph
        and bool(view.codes.of(contexts[caller.context].function).readers(caller.op))
        for caller in view.callers
    )


def _without_start_values(alternatives: tuple[Value, ...]) -> tuple[Value, ...]:
    """The alternatives without numbers among which there are tensors.

    `total = 0.0` before a loop that adds tensors: callers expect a tensor already, and AutoGraph converts the number to one.
    """
    if not any(is_tensorflow_tensor(member) for member in alternatives):
        return alternatives
    return tuple(member for member in alternatives if not _is_number(member))


def _is_number(value: Value) -> bool:
    match value:
        case Scalar(type):
            return type not in (PythonType.STR, PythonType.BYTES)
        case Constant(int() | float()):
            return True
        case _:
            return isinstance(value, TensorValue) and value.kind is TensorKind.NUMPY_SCALAR


def _problem(view: ContextView, value: Value, depth: int) -> tuple[str, bool] | None:
    """The returned values that are not tensors, and whether a graph can still return them, as tensors or datasets of tensors."""
    if depth > 4:
        return None
    match value:
        case Constant(bool() | int() | float() | complex() | str() | bytes()) | Scalar():
            return "a Python value", True
        case Constant(EnumMember()):
            return "a member of an enumeration", False
        case TupleValue() | FrozenList() | FrozenDict():
            inner = (each for part in _parts(value) for each in _without_start_values(members(part)))
            return next(filter(None, (_problem(view, each, depth + 1) for each in inner)), None)
        case Reference(number):
            facts = view.facts.objects[number]
            if facts.kind is ObjectKind.CLASS or (facts.kind is ObjectKind.INSTANCE and is_opaque(view, facts.name)):
                return f"an object ({facts.name})", False
            if facts.kind is ObjectKind.ITERATOR:
                return "an iterator", False
            return ("a set", False) if facts.kind is ObjectKind.SET else None
        case FunctionValue() | BoundMethod() | LibraryValue() | ModuleValue() | PartialValue():
            return "a function or class", False
        case SequenceValue(element, "tuple"):
            return next(filter(None, (_problem(view, each, depth + 1) for each in members(element))), None)
        case RangeValue():
            return "a range", False
        case SliceValue():
            return "a slice", False
        case DatasetValue():
            return _DATASET, True  # it is returned as a variant tensor, with the same elements
        case ShapeValue():
            return "a `tf.TensorShape`", False
        case DTypeValue():
            return "a `tf.DType`", False
        case SpecValue():
            return "a type specification", False
        case TensorValue(kind=TensorKind.NDARRAY):
            return "an ndarray", True
        case TensorValue(kind=TensorKind.NUMPY_SCALAR):
            return "a number of NumPy", True
        case _:
            return None


RULE: Final = Rule(
    id="TR318",
    name="non-tensor-return",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary=(
        "A traced function can return tensors, structures of them, and None; an object makes it raise, and a Python number becomes a "
        "tensor."
    ),
    explanation=(
        "`TypeError: To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes or None "
        "values`. Numbers, bools and strings come back as tensors, which callers that use them as Python values may not "
        "expect. So does a number that is returned on some paths only, unless it is the start value of a loop. The keys of "
        "a dict are sorted, which fails if they are of several types; a defaultdict comes back as a plain dict."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


class Result:
    def __init__(self, value):
        self.value = value


@tf.function
def step(x):
    return Result(x * 2.0)  # TR318


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


class Result:
    def __init__(self, value):
        self.value = value


@tf.function
def step(x):
    return x * 2.0


Result(step(tf.ones([3])))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    return {"double": x * 2.0, "pair": (x, None)}


step(tf.ones([3]))
""",
    ),
    cure="Return the tensors and make the object outside of the function.",
    check=check,
    inherited=False,
    wrong_in_graph=False,  # callers of a graph receive a tensor: without the decorator they would receive another value
    needs_tensors=True,
    silent=True,
)
