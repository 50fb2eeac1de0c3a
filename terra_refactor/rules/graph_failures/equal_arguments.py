"""TR333: arguments that are equal but not identical, for which a traced function shares one graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ObjectKind, ParameterFacts, ProgramFacts
from terra_refactor.domain.lattice import python_type
from terra_refactor.domain.value import (
    Constant,
    FrozenDict,
    FrozenList,
    LibraryValue,
    PythonType,
    Reference,
    Scalar,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.facts.records import (
    AttributeRead,
    Call,
    Literal,
    Operation,
)
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.argument_uses import is_computed_from, uses_of
from terra_refactor.rules.object_equality import ignored_attributes, is_enumeration, is_number_class
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.variable_identity import GivenVariables, given_variables, identity_uses
from terra_refactor.tf_model.graph_traits import ISINSTANCE, TYPE
from terra_refactor.tf_model.spec import Trait
from terra_refactor.tf_model.types_of_numbers import NUMBERS, accepted_numbers

_IDENTITY: Final = ("is", "is not")
_MAX_DEPTH: Final = 4


def check(view: ContextView) -> Iterator[LocalHazard]:
    if view.context.in_graph and view.function_facts.hybrid is None:
        return  # inside a graph an argument does not change
    own = 1 if view.function.kind is FunctionKind.METHOD else 0
    for position, parameter in enumerate(view.function_facts.parameters):
        given = view.codes.once((check, view.function.id, parameter.name), partial(_Given.of, parameter))
        yield from _objects(view, parameter.name, given.instances)
        if position >= own:
            yield from _numbers(view, parameter.name, given)
            yield from identity_uses(view, parameter.name, given.variables)


@dataclass(frozen=True, slots=True)
class _Given:
    """The arguments that calls pass for a parameter, which is the same for all contexts of the function."""

    kinds: frozenset[PythonType]
    """The types of the numbers in them."""
    pair: tuple[Value, Value] | None
    """Two arguments that are certainly equal and have numbers of different types."""
    may_be_equal: bool
    """If there is no such pair, whether two unknown arguments may form one."""
    instances: tuple[Reference, ...]
    variables: GivenVariables

    @staticmethod
    def of(parameter: ParameterFacts) -> _Given:
        given = tuple(member for value in parameter.values for member in members(value))
        kinds = frozenset(kind for value in given for kind in _kinds(value, 0))
        pair = _equal_pair(given) if kinds else None
        may_be_equal = (
            bool(kinds)
            and pair is None
            and any(
                _compare(one, other, 0) == (None, True)
                for position, one in enumerate(given)
                for other in given[position:]
            )
        )
        instances = tuple(dict.fromkeys(each for value in given for each in _instances(value, 0)))
        return _Given(kinds, pair, may_be_equal, instances, given_variables(given))


# --- numbers --------------------------------------------------------------------------------------------------------------------------


def _numbers(view: ContextView, name: str, given: _Given) -> Iterator[LocalHazard]:
    """Numbers that are, or may be, equal but of different types."""
    kinds, pair = given.kinds, given.pair
    if pair is None:
        is_open = view.function_facts.open_callers or not view.function_facts.callers
        if given.may_be_equal or (kinds and is_open):
            kinds = NUMBERS
        elif kinds != {PythonType.INT}:
            return
    # among ints, members of enumerations may be equal: they are represented by their numbers here
    asked = next(uses_of(view, name, _AsksForType(kinds), _is_part), None)
    if pair is not None:
        place = asked if asked is not None else _differs(view, name, pair)
        if place is not None:
            one, other = map(_in_words, pair)
            yield LocalHazard(
                place,
                f"`{name}` is {one} in one call and {other} in another: they are equal, so a traced function has one graph for both, "
                f"and `{view.written(place)}` is not the same for both",
                boundary=True,
            )
    elif asked is not None:
        yield LocalHazard(
            asked,
            f"`{view.written(asked)}` distinguishes numbers that are equal: a traced function has one graph for 1, 1.0 and True",
            f"calls do not pass `{name}` equal numbers of different types (2 and 2.0, True and 1)",
            boundary=True,
        )


def _kinds(value: Value, depth: int) -> Iterator[PythonType]:
    """The types of the numbers in an argument."""
    kind = python_type(value)
    if kind in NUMBERS:
        yield kind
    elif depth < _MAX_DEPTH:
        for part in _parts(value):
            for member in members(part):
                yield from _kinds(member, depth + 1)


def _parts(value: Value) -> tuple[Value, ...]:
    match value:
        case TupleValue(elements):
            return elements
        case FrozenList(elements, element):
            return elements if elements is not None else () if element is None else (element,)
        case FrozenDict(items, rest):
            return (*(item for _, item in items), *(() if rest is None else (rest,)))
        case _:
            return ()


def _equal_pair(given: tuple[Value, ...]) -> tuple[Value, Value] | None:
    """Two arguments that are certainly equal and have numbers of different types."""
    for position, one in enumerate(given):
        for other in given[position + 1 :]:
            if _compare(one, other, 0) == (True, True):
                return one, other
    return None


def _compare(one: Value, other: Value, depth: int) -> tuple[bool | None, bool]:
    """Whether two arguments are equal (None if unknown), and whether numbers at the same position have different types."""
    if depth > _MAX_DEPTH:
        return None, False
    left, right = python_type(one), python_type(other)
    if left in NUMBERS and right in NUMBERS:
        if isinstance(one, Constant) and isinstance(other, Constant):
            return one.value == other.value, one != other
        return None, left is not right
    match one, other:
        case TensorValue(), TensorValue():
            return one.type == other.type or None, False
        case TupleValue(elements, name), TupleValue(others, other_name):
            if name != other_name or len(elements) != len(others):
                return False, False
            return _all(zip(elements, others, strict=True), depth)
        case FrozenList(elements), FrozenList(others) if elements is not None and others is not None:
            return _all(zip(elements, others, strict=True), depth) if len(elements) == len(others) else (False, False)
        case FrozenList(), FrozenList():
            return None, _all([(a, b) for a in _parts(one) for b in _parts(other)], depth)[1]
        case FrozenDict(items, None), FrozenDict(others, None):
            left_items, right_items = dict(items), dict(others)
            if left_items.keys() != right_items.keys():
                return False, False
            return _all([(left_items[key], right_items[key]) for key in left_items], depth)
        case FrozenDict(), FrozenDict():
            return None, False
        case _:
            return (
                True if one == other else None if isinstance(one, Scalar) or isinstance(other, Scalar) else False
            ), False


def _all(pairs: Iterable[tuple[Value, Value]], depth: int) -> tuple[bool | None, bool]:
    equal: bool | None = True
    differ = False
    for one, other in pairs:
        for left in members(one):
            for right in members(other):
                same, unlike = _compare(left, right, depth + 1)
                if len(members(one)) > 1 or len(members(other)) > 1:
                    same = None
                equal = False if same is False else equal if same else None
                differ = differ or (unlike and same is not False)
                if equal is False:
                    return False, False
    return equal, differ


def _in_words(value: Value) -> str:
    match value:
        case Constant(content):
            return f"`{content!r}`"
        case _:
            return f"a structure with {', '.join(sorted({kind.value for kind in _kinds(value, 0)}))}"


# --- code that distinguishes types ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _AsksForType:
    """A finder of such code, for numbers of some types."""

    kinds: frozenset[PythonType]

    def __call__(self, view: ContextView, name: str) -> Iterator[OpId]:
        return _asks_for_type(view, name, self.kinds)


def _asks_for_type(view: ContextView, name: str, kinds: frozenset[PythonType]) -> Iterator[OpId]:
    """The operations in a function whose result differs for equal numbers of different types."""
    for call, function in view.library_calls():
        if function == ISINSTANCE and len(call.positional) == 2:
            subject, cls = call.positional
            if _tells_apart(view, cls, kinds) and _is_part(view, subject, name):
                yield call.op
        elif function == TYPE and len(call.positional) == 1 and len(kinds) > 1:
            if _is_part(view, call.positional[0], name):
                yield call.op
    if len(kinds) > 1:
        for fact in view.reached(AttributeRead):
            if fact.name == "__class__" and _is_part(view, fact.owner, name):
                yield fact.op
        for call, _ in view.calls_with(Trait.KEEPS_NUMBERS_TYPE):
            # the first argument is the value, the second one the dtype
            if len(call.positional) == 1 and call.keyword("dtype") is None and _is_part(view, call.positional[0], name):
                yield call.op
    yield from _compared_by_identity(view, name, kinds)


def _compared_by_identity(view: ContextView, name: str, kinds: frozenset[PythonType]) -> Iterator[OpId]:
    """`p is True`, and the last comparison with members if several enumerations are compared."""
    enumerations: dict[str, OpId] = {}
    for operation in view.reached(Operation):
        if operation.symbol not in _IDENTITY:
            continue
        for side, other in operation.pairs:
            match view.made(other):
                case Literal(value=bool()) if len(kinds) > 1 and _is_part(view, side, name):
                    yield operation.op
                case AttributeRead(owner=owner) if _is_part(view, side, name):
                    owners = (
                        view.facts.objects[each.object]
                        for each in members(view.value(owner))
                        if isinstance(each, Reference)
                    )
                    names = (
                        each.name
                        for each in owners
                        if each.kind is ObjectKind.CLASS and is_enumeration(view, each.name)
                    )
                    enumerations.update(dict.fromkeys(names, operation.op))
                case _:
                    continue
    if len(enumerations) > 1:
        yield max(enumerations.values())


def _is_part(view: ContextView, number: OpId, name: str) -> bool:
    """Whether a result comes from a parameter and is not a tensor."""
    return not view.all_of(number, is_tensorflow_tensor) and is_computed_from(view, number, name)


def _tells_apart(view: ContextView, cls: OpId, kinds: frozenset[PythonType]) -> bool:
    """Whether `isinstance` with these classes is true for some of these number types, and false for others."""
    accepted: set[PythonType] = set()
    for member in members(view.value(cls)):
        for each in member.elements if isinstance(member, TupleValue) else (member,):
            if isinstance(each, Reference):
                if is_number_class(view, view.facts.objects[each.object].name):
                    return True
            elif isinstance(each, LibraryValue):
                numbers = accepted_numbers(each.name)
                if numbers is None:
                    return True
                accepted |= numbers
    return bool(accepted & kinds) and not kinds <= accepted


def _differs(view: ContextView, name: str, pair: tuple[Value, Value]) -> OpId | None:
    """The operation that fails, or gives another dtype or shape, for the other one of two equal arguments."""
    if view.context.parameters.get(name) not in pair:
        return None
    contexts = view.facts.contexts_of(view.function.id)
    for other in contexts:
        given = other.parameters.get(name)
        if given in pair and given != view.context.parameters.get(name) and _same_but(view.context, other, name):
            place = _difference(view, view.context, other, 0)
            if place is not None:
                return place
    return None


def _same_but(one: ContextFacts, other: ContextFacts, name: str) -> bool:
    return all(
        _compare(value, other.parameters[each], 0)[0] is not False
        for each, value in one.parameters.items()
        if each != name and each in other.parameters
    )


def _difference(view: ContextView, one: ContextFacts, other: ContextFacts, depth: int) -> OpId | None:
    for number, (left, right) in enumerate(zip(one.values, other.values, strict=True)):
        if (left is None) is not (right is None):
            return number
        if isinstance(left, TensorValue) and isinstance(right, TensorValue) and left.type != right.type:
            return number
        if isinstance(left, Constant) and isinstance(right, Constant) and _is_another(left, right):
            return number
    calls = {call.op: call for call in other.calls}
    for call in one.calls if depth < _MAX_DEPTH else ():
        same = calls.get(call.op)
        if same is None or len(call.callees) != len(same.callees):
            return call.op
        for callee, again in zip(call.callees, same.callees, strict=True):
            left_context, right_context = view.facts.contexts[callee], view.facts.contexts[again]
            if callee != again and left_context.function == right_context.function:
                if _difference(view, left_context, right_context, depth + 1) is not None:
                    return call.op
    return None


def _is_another(left: Constant, right: Constant) -> bool:
    """Whether two constants differ in more than their type; the string of a number usually only names something."""
    return left.value != right.value and not isinstance(left.value, str) and not isinstance(right.value, str)


# --- objects --------------------------------------------------------------------------------------------------------------------------


def _objects(view: ContextView, name: str, given: tuple[Reference, ...]) -> Iterator[LocalHazard]:
    """Objects that are equal by their class's comparison although they differ in attributes that the function reads."""
    key = _objects, view.function.id, name
    objects, classes = view.codes.once_with_looks(key, partial(_with_classes, view.facts, given))
    if not objects or (len(objects) == 1 and _is_only_one(view, objects[0])):
        return
    for cls in classes:
        ignored = ignored_attributes(view, cls)
        place = next((each.op for each in view.code.reads_of(name)), None) if ignored else None
        if place is None:
            continue
        attribute = min(ignored & _attributes_read(view), default=None)
        if attribute is not None:
            yield LocalHazard(
                place,
                f"`{name}` is a {cls}, and two of them may be equal with different `{attribute}`: a traced function has one graph for both",
                f"objects of `{cls}` that are equal have the same `{attribute}`",
                boundary=True,
            )


def _with_classes(facts: ProgramFacts, given: tuple[Reference, ...]) -> tuple[list[Reference], list[str]]:
    """The instances among some objects, and the names of their classes."""
    objects = [each for each in given if facts.objects[each.object].kind is ObjectKind.INSTANCE]
    return objects, sorted({facts.objects[each.object].name for each in objects})


def _attributes_read(view: ContextView) -> frozenset[str]:
    """The names of the attributes that a call of the function reads, on any object."""
    called = dict.fromkeys(context.function for context in view.called_from((view.context.id,)))
    return frozenset(read.name for function in called for read in view.codes.of(function).of_kind(AttributeRead))


def _instances(value: Value, depth: int) -> Iterator[Reference]:
    if isinstance(value, Reference):
        yield value
    elif depth < _MAX_DEPTH:
        for part in _parts(value):
            for member in members(part):
                yield from _instances(member, depth + 1)


def _is_only_one(view: ContextView, reference: Reference) -> bool:
    """Whether a reference stands for a single object: a module creates it, outside of loops."""
    facts = view.facts.objects[reference.object]
    if facts.function is None or facts.op is None or view.function_facts.open_callers:
        return False
    code = view.codes.of(facts.function)
    # the definition of a class stands for the objects that unknown calls create from it
    is_made = isinstance(code.facts[facts.op], Call)
    return is_made and code.function.kind is FunctionKind.MODULE and not any(code.loops_around(facts.op))


RULE: Final = Rule(
    id="TR333",
    name="equal-arguments",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary=(
        "A traced function has one graph for arguments that compare equal: `2` and `2.0`, `True` and `1`, objects with an `__eq__`, "
        "variables of one shape."
    ),
    explanation=(
        "A traced function looks up its graphs by its Python arguments, which it compares with `==`. The second of two calls "
        "with `2` and `2.0` (or `True` and `1`, members of two `IntEnum`s with one number, lists and dicts of these) gets the "
        "graph of the first, in which `isinstance(order, int)` was decided, or in which `tf.constant(order)` is an integer. The"
        " same holds for objects of a class whose `__eq__` ignores fields, of a frozen dataclass with `field(compare=False)`, "
        "and of a subclass of `int`, `float` or `str` with further attributes. The object that a method is called on is "
        "compared in the same way. All variables of one shape and dtype share a graph: `variable.ref()`, `variable.name`, "
        "`id(variable)` and `variable is other` are those of the first. Nothing raises."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def power(x, order):
    if isinstance(order, int):  # TR333
        return x**order
    return tf.abs(x) ** order


first = power(tf.constant([-2.0, 3.0]), 3)
second = power(tf.constant([-2.0, 3.0]), 3.0)
""",
        good="""\
import tensorflow as tf


@tf.function
def power(x, order, is_whole):
    if is_whole:
        return x**order
    return tf.abs(x) ** order


first = power(tf.constant([-2.0, 3.0]), 3, True)
second = power(tf.constant([-2.0, 3.0]), 3.0, False)
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def power(x, order):
    return x**order


first = power(tf.constant([-2.0, 3.0]), 3)
second = power(tf.constant([-2.0, 3.0]), 3.0)
""",
    ),
    cure="Pass the value on which the function branches as a separate argument, or let `__eq__` compare everything the function reads.",
    check=check,
    inherited=False,
    silent=True,
)
