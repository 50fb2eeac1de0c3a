"""TR334: gradients that are None eagerly and zeros in a graph, and connections hidden by the call of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from terra_refactor.domain.value import FunctionValue, members
from terra_refactor.facts.records import (
    Arm,
    AttributeRead,
    Call,
    Choice,
    Display,
    Fact,
    ItemRead,
    Literal,
    NameRead,
    Operation,
    Region,
    RegionKind,
    Unpacked,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.argument_uses import is_part_of, taken_out_of, uses_of
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_GRADIENT: Final = "gradient"
_WATCHED: Final = "watched_variables"
_MAX_DEPTH: Final = 4
Holds: TypeAlias = Callable[[OpId], bool]
Follow: TypeAlias = Callable[[Fact], Iterable[OpId]]


def check(view: ContextView) -> Iterator[LocalHazard]:
    """Queries of gradients and watched variables whose result differs in a graph."""
    if not any(map(view.codes.is_read, (_GRADIENT, _WATCHED))):
        return
    yield from _own_tapes(view)
    yield from _tapes_of_callers(view)


# --- tapes in the function ------------------------------------------------------------------------------------------------------------


def _own_tapes(view: ContextView) -> Iterator[LocalHazard]:
    """A gradient that the function compares with None, if a tensor decides which variables its tape records."""
    for place, tape in _asked_about_variables(view):
        taped = [
            region
            for region in view.code.of_kind(Region)
            if region.kind is RegionKind.WITH and _opens(view, region, tape)
        ]
        if any(_chooses_variables(view, region) for region in taped):
            yield LocalHazard(place, f"`{view.written(place)}` {_ZEROS}")


_ZEROS: Final = (
    "depends on variables that only one side of a branch on a tensor uses: eagerly a tape does not record the others, and in a "
    "graph their gradients are zeros"
)


def _opens(view: ContextView, region: Region, tape: OpId) -> bool:
    return region.subject is not None and view.is_taping(region) and view.value(region.subject) == view.value(tape)


def _asked_about_variables(view: ContextView) -> Iterator[tuple[OpId, OpId]]:
    """The places, each with its tape, that compare a gradient with None or read a tape's variables."""
    for call in view.reached(Call):
        if call.method == _WATCHED and call.owner is not None and view.is_tape(call.owner):
            yield call.op, call.owner
    if not any(call.method == _GRADIENT and _may_be_none(view, call) for call in view.reached(Call)):
        return
    for place, compared in _compared_with_none(view):
        for tape in _tapes_behind(view, compared):
            yield place, tape
    for call in view.reached(Call):
        record = view.calls.get(call.op)
        for inner in map(view.of, () if record is None else record.callees):
            for parameter in inner.function.parameters:
                given = view.given_for(call, inner.function, parameter.name)
                tapes = () if given is None else tuple(_tapes_behind(view, given))
                if tapes and any(True for _ in uses_of(inner, parameter.name, _parts_compared_with_none, is_part_of)):
                    for tape in tapes:
                        yield call.op, tape


def _tapes_behind(view: ContextView, number: OpId) -> Iterator[OpId]:
    """The tapes whose gradients, which may be None, a result is or contains."""
    for fact in view.behind(number, _parts):
        if isinstance(fact, Call) and fact.method == _GRADIENT and _may_be_none(view, fact):
            assert fact.owner is not None
            yield fact.owner


def _compared_with_none(view: ContextView) -> Iterator[tuple[OpId, OpId]]:
    """The comparisons with None, each with its other operand."""
    for operation in view.reached(Operation):
        if operation.symbol in ("is", "is not", "==", "!="):
            for side, other in operation.pairs:
                if isinstance(literal := view.made(other), Literal) and literal.value is None:
                    yield operation.op, side


def _parts_compared_with_none(view: ContextView, parameter: str) -> Iterator[OpId]:
    """The comparisons of a parameter, or of a part of it, with None."""
    for place, compared in _compared_with_none(view):
        if is_part_of(view, compared, parameter):
            yield place


def _may_be_none(view: ContextView, call: Call) -> bool:
    return call.owner is not None and view.is_tape(call.owner) and call.keyword("unconnected_gradients") is None


def _parts(fact: Fact) -> Iterable[OpId]:
    """The results that a result equals, or of which it is an element."""
    return fact.results if isinstance(fact, Choice) else taken_out_of(fact)


def _chooses_variables(view: ContextView, around: Region | None, depth: int = 0) -> bool:
    """Whether a condition on a tensor determines, in some code or its callees, which variables are used; None: in the
    whole function.
    """
    for region in view.code.of_kind(Region):
        if (around is None or around.holds(region.op)) and next(
            view.staged_around(region.parts[0].start), None
        ) == region:
            arms = [_used(view, region, arm, depth) for arm in (Arm.FIRST, Arm.ELSE)]
            # after a branch that returns, the following code is its other side
            rest = (
                _used_behind(view, region, depth)
                if region.kind is RegionKind.IF and not region.has_else
                else frozenset()
            )
            if region.is_loop:
                if arms[0]:
                    return True
            elif arms[0] != arms[1] | rest:
                return True
    for call in view.reached(Call):
        if around is not None and not around.holds(call.op):
            continue
        fact = view.calls.get(call.op)
        if fact is None:
            continue
        if any(has_trait(name, Trait.RUNS_BRANCHES) for name in fact.library) and _chooses_by_call(view, call):
            return True
        if depth < _MAX_DEPTH and any(_chooses_variables(view.of(each), None, depth + 1) for each in fact.callees):
            return True
    return False


def _used(view: ContextView, region: Region, arm: Arm, depth: int) -> frozenset[str]:
    return _variables_in(view, lambda number: region.holds(number, arm), depth)


def _used_behind(view: ContextView, region: Region, depth: int) -> frozenset[str]:
    """The variables used after a branch whose first arm returns; none if it does not return."""
    fact = view.branches.get(region.op)
    if fact is None or fact.falls_through[0]:
        return frozenset()
    end = max(part.end for part in region.parts)
    return _variables_in(view, lambda number: number >= end, depth)


def _variables_in(view: ContextView, holds: Holds, depth: int) -> frozenset[str]:
    """The variables that some operations use, here (as expressions) or in their callees."""
    found: set[str] = set()
    for read in (*view.reached(NameRead), *view.reached(AttributeRead)):
        if holds(read.op) and view.is_variable(read.op):
            found.add(view.written(read.op))
    for item in view.reached(ItemRead):
        if holds(item.op) and view.is_variable(item.op):
            found.add(view.written(item.op))
    for call in view.reached(Call):
        fact = view.calls.get(call.op) if holds(call.op) else None
        if fact is None:
            continue
        for callee in fact.callees if depth < _MAX_DEPTH else ():
            inner = view.of(callee)
            used = _variables_in(inner, lambda number: True, depth + 1)
            # variables of its object, and those passed to it, differ for another call
            found |= {f"{view.written(call.function)}: {each}" for each in used}
        if any(name.endswith(".__call__") for name in fact.library):
            found.add(view.written(call.function))  # a layer
    return frozenset(found)


def _chooses_by_call(view: ContextView, call: Call) -> bool:
    """Whether the functions passed to a call of `tf.cond` or a similar one use different variables."""
    found = []
    for argument in call.arguments:
        for part in (argument.value, *_elements(view, argument.value)):
            for member in members(view.value(part)):
                if isinstance(member, FunctionValue):
                    contexts = view.facts.contexts_of(FunctionId(*member.function))
                    found.append(
                        frozenset().union(
                            *(_variables_in(view.of(each.id), lambda number: True, 1) for each in contexts)
                        )
                    )
    return len(set(found)) > 1


def _elements(view: ContextView, number: OpId) -> tuple[OpId, ...]:
    made = view.origin(number)
    return tuple(item.value for item in made.items) if isinstance(made, Display) else ()


# Callers' tapes outside of graphs that record a call of the function.


def _tapes_of_callers(view: ContextView) -> Iterator[LocalHazard]:
    """Tapes of callers outside of graphs that record a call of the function."""
    place = view.code.first()
    if place is None or not any(_uses_gradients(view, caller) for caller in view.facts.calling(view.function.id)):
        return
    chooses: bool | None = None
    for caller, call in view.calls_of_function():
        if call is None or caller.context.in_graph:
            continue
        taping = [region for region in caller.enclosing(call.op) if caller.is_taping(region)]
        if not taping:
            continue
        for asked, tape in _asked_about_variables(caller):
            if any(_opens(caller, region, tape) for region in taping):
                chooses = _chooses_variables(view, None) if chooses is None else chooses
                if chooses:
                    yield LocalHazard(place, f"`{caller.written(asked)}` of a caller {_ZEROS}", boundary=True)
                    return
        hidden = _hidden_connection(caller, call)
        if hidden is not None:
            yield LocalHazard(
                place,
                f"`{caller.written(hidden)}` of a caller is the gradient of one result of a call with respect to another one: "
                "a graph hides how they are connected",
                boundary=True,
            )
            return


def _uses_gradients(view: ContextView, function: FunctionId) -> bool:
    """Whether a function queries a tape, so that its contexts must be checked."""
    code = view.codes.of(function)
    return view.codes.once(
        (_uses_gradients, function), lambda: any(call.method in (_GRADIENT, _WATCHED) for call in code.of_kind(Call))
    )


def _hidden_connection(view: ContextView, made: Call) -> OpId | None:
    """A gradient of a value computed from one result of a call with respect to another result of the same call."""
    for call in view.reached(Call):
        if call.method != _GRADIENT or call.owner is None or not view.is_tape(call.owner):
            continue
        target, sources = call.argument(0, "target"), call.argument(1, "sources")
        if target is None or sources is None:
            continue
        of_sources = _results_of(view, sources, made, _parts)
        if of_sources and _results_of(view, target, made, _computed) - of_sources:
            return call.op
    return None


def _results_of(view: ContextView, number: OpId, made: Call, follow: Follow) -> frozenset[str]:
    """The results of a call from which a result is computed: by position or key."""
    found: set[str] = set()

    def without_call(fact: Fact) -> Iterable[OpId]:
        match fact:
            case Unpacked(source=source, position=position) if _is(view, source, made):
                found.add(str(position))
                return ()
            case ItemRead(owner=owner, index=index) if _is(view, owner, made):
                found.add(view.written(index))
                return ()
            case AttributeRead(owner=owner, name=name) if _is(view, owner, made):
                found.add(name)
                return ()
            case _:
                return follow(fact)

    for _ in view.behind(number, without_call):
        pass
    return frozenset(found)


def _is(view: ContextView, number: OpId, made: Call) -> bool:
    return view.origin(number) == made


def _computed(fact: Fact) -> Iterable[OpId]:
    match fact:
        case Operation(sides=sides):
            return sides
        case AttributeRead(owner=owner):
            return (owner,)
        case Call(owner=owner, arguments=arguments):
            return (*(() if owner is None else (owner,)), *(argument.value for argument in arguments))
        case _:
            return _parts(fact)


RULE: Final = Rule(
    id="TR334",
    name="gradient-connection",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A gradient that is None eagerly is zeros in a graph where a tensor decides which variables are used.",
    explanation=(
        "Eagerly a tape records the branch that ran, so `tape.gradient` gives None for a variable of the other one, and "
        "`tape.watched_variables()` does not list it. In a graph `if` and `while` on tensors become operations that use the variables "
        "of all branches: gradients are zeros, which pass `if g is not None`, so an optimizer with momentum updates these "
        "variables too. A tape in an eager caller records the call of a traced function as one operation: the gradient of one of "
        "its results with respect to another one (as in Grad-CAM) is None."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

left = tf.Variable(1.0)
right = tf.Variable(2.0)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        if x > 0.0:
            loss = left * x
        else:
            loss = right * x
    gradients = tape.gradient(loss, [left, right])
    return [g for g in gradients if g is not None]  # TR334


result = step(tf.constant(1.0))
""",
        good="""\
import tensorflow as tf

left = tf.Variable(1.0)
right = tf.Variable(2.0)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        if x > 0.0:
            loss = left * x
        else:
            loss = right * x
    return tape.gradient(loss, [left, right], unconnected_gradients="zero")


result = step(tf.constant(1.0))
""",
        near_miss="""\
import tensorflow as tf

left = tf.Variable(1.0)
right = tf.Variable(2.0)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        if x > 0.0:
            loss = left * x
        else:
            loss = left * 2.0
    gradients = tape.gradient(loss, [left, right])
    return [g for g in gradients if g is not None]


result = step(tf.constant(1.0))
""",
    ),
    cure='Pass `unconnected_gradients="zero"`, or open the tape inside of the function, around both results.',
    check=check,
    silent=True,
)
