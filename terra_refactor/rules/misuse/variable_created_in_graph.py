"""TR603: variables that are created while a graph is traced."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Final

from terra_refactor.analysis.facts import ContextId, ObjectKind
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import Reference, Value, members
from terra_refactor.facts.records import Call, NameRead, NextItem
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.argument_uses import uses_of
from terra_refactor.rules.kept_resources import kept_resources
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    """Tables and queues; optimizers passed by callers, each of which creates its variables when it is first applied, which only
    the first trace may do.
    """
    yield from kept_resources(view)
    # most functions apply no optimizer, and comparing all calls is expensive
    if not view.facts.leads_to(view.context.id, Trait.TAKES_VARIABLES) or _is_built_elsewhere(view):
        return
    for parameter, found, is_repeated in _several_given(view):
        uses = dict.fromkeys(uses_of(view, parameter, _applied, _is_parameter))
        assumption = _assumption(view, parameter, found, is_repeated=is_repeated) if uses else None
        for number in uses:
            yield LocalHazard(
                number,
                f"calls pass several optimizers as `{parameter}`: each creates its variables when it is first applied, which a "
                "graph may do only in its first trace",
                assumption,
                boundary=True,
            )


def _applied(view: ContextView, parameter: str) -> Iterator[OpId]:
    """The calls that apply gradients through an optimizer parameter."""
    for call, name in view.calls_with(Trait.TAKES_VARIABLES):
        if call.owner is not None and not name.endswith(".build") and _is_parameter(view, call.owner, parameter):
            yield call.op


def _is_parameter(view: ContextView, number: OpId, name: str) -> bool:
    read = view.origin(number)
    return isinstance(read, NameRead) and read.name == name and view.code.has_parameter(name)


def _several_given(view: ContextView) -> Iterator[tuple[str, set[Reference], bool]]:
    """The parameters for which calls pass several objects, with these objects and whether a loop may create one for each call."""
    own = 1 if view.function.kind is FunctionKind.METHOD else 0
    for parameter in view.function_facts.parameters[own:]:
        found = {
            each
            for value in parameter.values
            for each in members(value)
            if isinstance(each, Reference) and view.object_kind(each) is ObjectKind.INSTANCE
        }
        is_repeated = any(_is_made_for_each_call(view, each) for each in found)
        if len(found) > 1 or is_repeated:
            yield parameter.name, found, is_repeated


def _assumption(view: ContextView, name: str, found: Collection[Reference], *, is_repeated: bool) -> str | None:
    """The assumption under which the optimizers passed for a parameter create no variables in a later trace."""
    if any(view.class_of(each) == "SGD" for each in found):
        # without momentum there is nothing to create
        return f"the optimizers that are passed as `{name}` make no variables"
    if is_repeated or _some_are_passed_apart(view, name, found):
        return None
    return f"a run passes only one of the optimizers that calls pass as `{name}`"


def _run_together(view: ContextView, first: Reference, second: Reference) -> bool:
    """Whether something calls, directly or not, both functions that create the objects; those that nothing calls may be alternatives."""
    one, other = (view.facts.objects[each.object].function for each in (first, second))
    if one is None or other is None or one == other:
        return True
    return not _callers_of(view, one).isdisjoint(_callers_of(view, other))


def _some_are_passed_apart(view: ContextView, parameter: str, found: Collection[Reference]) -> bool:
    """Whether different calls pass two of the objects that exist in one run, or one call in a loop over them;
    otherwise they are alternatives of one call.

    Each object whose method is called has a graph of its own.
    """
    pairs = [frozenset(pair) for pair in combinations(found, 2) if _run_together(view, *pair)]
    if not pairs:
        return False
    single: dict[tuple[ContextId | None, Value | None], set[Value]] = {}
    several = set[Value]()
    # one search for the callers of all pairs, since there may be many of both
    for caller in view.callers:
        calling = view.of(caller.context)
        made = calling.made(caller.op)
        given = calling.given_for(made, view.function, parameter) if isinstance(made, Call) else None
        if given is None or not isinstance(made, Call):
            return True
        owners: tuple[Value | None, ...] = (None,) if made.owner is None else members(calling.value(made.owner))
        # an object that is a parameter has one name in all contexts of the caller
        own = caller.context if made.owner is not None and calling.parameter_behind(made.owner) is not None else None
        passed = {each for each in members(calling.value(given)) if isinstance(each, Reference)}
        if len(passed) == 1:
            for owner in owners:
                single.setdefault((own, owner), set()).update(passed)
        elif any(pair <= passed for pair in pairs) and any(
            isinstance(each, NextItem) and each.is_element for each in calling.code.behind(given)
        ):
            return True
        several |= passed
    # an object that no call shows has another name there
    return any(not pair <= several or any(pair <= each for each in single.values()) for pair in pairs)


def _callers_of(view: ContextView, function: FunctionId) -> frozenset[FunctionId]:
    """A function and those that call it, directly or not."""

    def find() -> frozenset[FunctionId]:
        found, pending = {function}, [function]
        while pending:
            callers = view.facts.functions[pending.pop()].callers
            new = {view.facts.function_of(caller.context) for caller in callers} - found
            found |= new
            pending.extend(new)
        return frozenset(found)

    # many pairs of objects have the same creators
    return view.codes.once_with_looks((_callers_of, function), find)


def _is_made_for_each_call(view: ContextView, value: Reference) -> bool:
    """Whether a loop both creates the object and calls the function."""
    made = view.facts.objects[value.object]
    if made.function is None or made.op is None:
        return False
    loops = list(view.codes.of(made.function).loops_around(made.op))
    return any(
        view.facts.function_of(caller.context) == made.function and loop.repeats(caller.op)
        for caller in view.callers
        for loop in loops
    )


def _is_built_elsewhere(view: ContextView) -> bool:
    """Whether the program builds an optimizer explicitly (`optimizer.build`), so that its variables may exist already."""
    return view.facts.is_called(Trait.TAKES_VARIABLES, ".build")


def _cure_of_creation(view: ContextView, number: OpId) -> CureHint | None:
    """A constructor can be called elsewhere; `build` and similar methods cannot be moved."""
    names = view.library_of(number)
    made = all(name.rpartition(".")[2][:1].isupper() for name in names)
    return CureHint(CureKind.CREATION_OUTSIDE) if names and made and isinstance(view.made(number), Call) else None


RULE: Final = Rule(
    id="TR603",
    name="variable-created-in-graph",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary=(
        "Variables, layers, metrics, optimizers and models that are created inside a function are created again in each "
        "trace, which raises."
    ),
    explanation=(
        "On the second trace TensorFlow raises `ValueError: tf.function only supports singleton tf.Variables created on "
        "the first call`. Creation on the first call only (`if self.v is None: self.v = tf.Variable(...)`, a Keras "
        "layer's `build`) is fine. Lookup tables and queues are created once, too, without an error: all calls share the contents."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    w = tf.Variable(tf.ones([3]))  # TR603
    return x * w


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf

w = tf.Variable(tf.ones([3]))


@tf.function
def step(x):
    return x * w


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


class Scale:
    def __init__(self):
        self.w = None

    @tf.function
    def apply(self, x):
        if self.w is None:
            self.w = tf.Variable(tf.ones([3]))
        return x * self.w


scale = Scale()
scale.apply(tf.ones([3]))
""",
    ),
    cure="Make it in `__init__`, in `build`, or in the module, and use it in the function.",
    effects=frozenset({EffectKind.VARIABLE_CREATION}),
    check=check,
    cure_of_effect=_cure_of_creation,
    of_set_up=True,
    effect_message="`{done}` creates variables: a graph may do that only in its first trace",
)
