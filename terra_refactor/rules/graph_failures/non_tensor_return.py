"""TR318: results that a graph cannot return."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import (
    BoundMethod,
    Constant,
    DatasetValue,
    DTypeValue,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    PartialValue,
    Reference,
    Scalar,
    ShapeValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import operands, walk
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, has_trait, is_tensorflow_tensor
from terra_refactor.tf_model.decorators import Decoration, decoration
from terra_refactor.tf_model.spec import Trait

_OPERATIONS: Final = frozenset(
    {"tensorflow.print", "tensorflow.group", "tensorflow.no_op", "tensorflow.debugging.Assert"}
)
_ASSERTIONS: Final = (
    "tensorflow.debugging.assert_",
    "tensorflow.compat.v1.assert_",
    "tensorflow.compat.v1.debugging.assert_",
)
_ITERATORS: Final = frozenset(f"builtins.{name}" for name in ("map", "zip", "filter", "enumerate", "reversed", "iter"))


def check(view: ContextView) -> Iterator[LocalHazard]:
    if any(decoration(name)[0] is Decoration.GIVES_GRADIENT for name in view.function_facts.wrappers):
        return  # its callers get the first of what it returns
    places = [op for op in view.code.ops if isinstance(op, ops.Return) and op.value is not None]
    alternatives = _without_start_values(members(view.context.returns))
    problems = [found for member in alternatives if (found := _problem(view, member, 0)) is not None]
    if not problems:
        # what is unknown at one `return` hides what another one returns
        each = [view.value(place.value) for place in places if place.value is not None]
        alternatives = _without_start_values(
            tuple(dict.fromkeys(member for value in each for member in members(value)))
        )
        each_problem = [_problem(view, member, 0) for member in alternatives]
        problems = [problem for problem in each_problem if problem is not None and not problem[1]]
    for place in places:
        if place.value is not None and _is_set(view, view.value(place.value)):
            yield LocalHazard(place.id, "it returns a set: a traced function can only return tensors and None")
            return
        if place.value is not None and _is_iterator(view, place.value):
            yield LocalHazard(place.id, "it returns an iterator: a traced function can only return tensors and None")
            return
    for place in places:
        if place.value is not None and _is_operation(view, place.value, 0):
            message = (
                f"`{view.written(place.value)}` gives None eagerly, and in a graph an operation, which it cannot return"
            )
            yield LocalHazard(place.id, message, boundary=True)
            return
    if not places:
        return
    if not problems:
        yield from _variables(view, places[-1], members(view.context.returns))
        return
    op = places[-1]
    text, becomes_tensor = problems[0]
    if becomes_tensor and op.value is not None and _raises(view, op.value):
        return
    if becomes_tensor:
        message = f"it returns {text}, which a graph returns as a tensor"
        called = any(not view.facts.contexts[caller.context].in_graph for caller in view.function_facts.callers)
        # a caller that is known gets something else than it got; of one that is not, that is an assumption
        assumption = None if called else f"callers take a tensor where it returns {text}"
        # the callers of a graph that is in use get a tensor already, which `%d`, `float` or an index take as well as a number
        in_use = "its callers do with it what a tensor does not: a key, `isinstance`, a method of `str`"
        yield LocalHazard(op.id, message, assumption, boundary=True, in_use=in_use)
    elif len(problems) == len(alternatives):
        yield LocalHazard(op.id, f"it returns {text}: a traced function can only return tensors and None")
    else:
        message = f"it may return {text}: a traced function can only return tensors and None"
        yield LocalHazard(op.id, message, f"it never returns {text}")


def _raises(view: ContextView, number: OpId) -> bool:
    """Whether the result comes out of a call that raises in a graph (TR301, TR302): nothing is returned then."""
    call = view.op(view.behind_name(number))
    fact = view.calls.get(call.id)
    if not isinstance(call, ops.Call) or fact is None:
        return False
    symbolic = any(view.holds_symbolic(argument.value) for argument in call.arguments)
    return any(
        has_trait(name, Trait.EAGER_ONLY) or (symbolic and has_trait(name, Trait.CONCRETE_ARRAYS))
        for name in fact.library
    )


def _is_iterator(view: ContextView, number: OpId) -> bool:
    """Whether the result is a generator, or what `map`, `zip` and the like make."""
    made = view.op(view.behind_name(number))
    if isinstance(made, ops.Comprehension):
        return made.kind is ops.ComprehensionKind.GENERATOR
    fact = view.calls.get(made.id)
    return fact is not None and bool(_ITERATORS.intersection(fact.library))


def _is_operation(view: ContextView, number: OpId, depth: int) -> bool:
    """Whether the result is, directly or through functions, that of a call which gives an operation in a graph, and None eagerly."""
    op = view.op(view.behind_name(number))
    fact = view.calls.get(op.id)
    if not isinstance(op, ops.Call) or fact is None or fact.unknown is not None:
        return False
    if any(name in _OPERATIONS or name.startswith(_ASSERTIONS) for name in fact.library):
        return True
    if depth > 3 or fact.library:
        return False
    inner = [view.of(callee) for callee in fact.callees]
    return any(
        _is_operation(callee, returned.value, depth + 1)
        for callee in inner
        if callee.function_facts.hybrid is None
        for returned in callee.returns()
        if returned.value is not None
    )


def _variables(view: ContextView, place: ops.Return, alternatives: tuple[Value, ...]) -> Iterator[LocalHazard]:
    """A variable comes out of a graph as a tensor with the value of that moment."""
    if not any(_holds_variable(member, 0) for member in alternatives) or not _is_read(view):
        return
    text = "the value of a variable, and do not change it or look again later"
    yield LocalHazard(
        place.id,
        "it returns a variable, which a graph returns as a tensor",
        f"its callers use what it returns as {text}",
        boundary=True,
    )


def _holds_variable(value: Value, depth: int) -> bool:
    match value:
        case TensorValue(kind=TensorKind.VARIABLE):
            return True
        case TupleValue(elements) if depth < 4:
            return any(_holds_variable(member, depth + 1) for part in elements for member in members(part))
        case FrozenList(elements, rest) if depth < 4:
            parts = elements or (() if rest is None else (rest,))
            return any(_holds_variable(member, depth + 1) for part in parts for member in members(part))
        case FrozenDict(items, rest) if depth < 4:
            parts = (*(item for _, item in items), *(() if rest is None else (rest,)))
            return any(_holds_variable(member, depth + 1) for part in parts for member in members(part))
        case _:
            return False


def _is_read(view: ContextView) -> bool:
    """Whether some caller outside of graphs uses the result; of callers that are not known, it is taken that they do."""
    callers = [caller for caller in view.callers if not view.facts.contexts[caller.context].in_graph]
    if not view.callers or view.function_facts.open_callers:
        return True
    for caller in callers:
        code = view.program.function(view.facts.contexts[caller.context].function)
        if any(caller.op in operands(op) for op in walk(code.body)):
            return True
    return False


def _without_start_values(alternatives: tuple[Value, ...]) -> tuple[Value, ...]:
    """The alternatives without numbers that stand beside tensors.

    `total = 0.0` before a loop that adds tensors: callers take a tensor already, and AutoGraph makes one of the number.
    """
    if not any(is_tensorflow_tensor(member) for member in alternatives):
        return alternatives
    return tuple(
        member
        for member in alternatives
        if not isinstance(member, Scalar)
        and not (isinstance(member, Constant) and isinstance(member.value, int | float))
        and not (isinstance(member, TensorValue) and member.kind is TensorKind.NUMPY_SCALAR)
    )


def _is_set(view: ContextView, value: Value) -> bool:
    """Whether it certainly is a set, which a function's result as a whole no longer tells from a list."""
    return isinstance(value, Reference) and view.facts.objects[value.object].kind is ObjectKind.SET


def _first_problem(view: ContextView, parts: Iterable[Value], depth: int) -> tuple[str, bool] | None:
    """The first part of a structure that is no tensor."""
    found = (_problem(view, member, depth + 1) for part in parts for member in _without_start_values(members(part)))
    return next((problem for problem in found if problem is not None), None)


def _problem(view: ContextView, value: Value, depth: int) -> tuple[str, bool] | None:
    """What is returned that is no tensor, and whether it would become one."""
    if depth > 4:
        return None
    match value:
        case Constant(bool() | int() | float() | complex() | str() | bytes()) | Scalar():
            return "a Python value", True
        case TupleValue(elements):
            return _first_problem(view, elements, depth)
        case FrozenList(elements, rest):
            return _first_problem(view, elements or (() if rest is None else (rest,)), depth)
        case FrozenDict(items, rest):
            return _first_problem(view, (*(item for _, item in items), *(() if rest is None else (rest,))), depth)
        case Reference(number):
            facts = view.facts.objects[number]
            if facts.kind in (ObjectKind.INSTANCE, ObjectKind.CLASS):
                return f"an object ({facts.name})", False
            return ("a set", False) if facts.kind is ObjectKind.SET else None
        case FunctionValue() | BoundMethod() | LibraryValue() | ModuleValue() | PartialValue():
            return "a function or class", False
        case DatasetValue() | ShapeValue() | DTypeValue() | SpecValue():
            return "an object of TensorFlow that is no tensor", False
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
        "values`. Numbers, bools and strings come back as tensors, which callers that use them as Python values may not expect."
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
)
