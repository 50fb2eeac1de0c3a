"""TR322: a change of a container, object or captured variable under a condition or in a loop on a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ObjectKind
from terra_refactor.domain.effect import Effect, EffectKind, RootKind
from terra_refactor.facts.records import (
    Arm,
    AttributeWrite,
    Call,
    ItemDeletion,
    ItemWrite,
    Literal,
    NameRead,
    NameWrite,
    Region,
    RegionKind,
)
from terra_refactor.facts.staging import is_made_within, staging_of
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import is_method_of_array
from terra_refactor.tf_model.python_effects import MUTATING_METHODS
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_OBJECTS: Final = (ObjectKind.INSTANCE, ObjectKind.LIST, ObjectKind.DICT, ObjectKind.SET)
_STATEMENTS: Final = frozenset({RegionKind.IF, RegionKind.FOR, RegionKind.WHILE})


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _in_containers(view)
    for number, fact in view.calls.items():
        call = view.made(number)
        if not fact.callees or not isinstance(call, Call):
            continue
        by_library = any(has_trait(name, Trait.RUNS_BODY) for name in fact.library)
        around = None
        if not by_library and not any(has_trait(name, Trait.RUNS_BRANCHES) for name in fact.library):
            around = next((each for each in view.staged_around(number) if _is_stage(each, number)), None)
            if around is None:
                continue
        repeats = by_library or (around is not None and around.is_loop)
        changed = {
            name
            for callee in fact.callees
            for name in _changed_by(view, call, view.facts.contexts[callee], repeats)
            if _is_carried(view, name, number, around)
        }
        for name in sorted(changed):
            where = "in a loop on a tensor" if repeats else "under a condition on a tensor"
            yield LocalHazard(
                number,
                f"`{view.written(number)}` changes `{name}` {where}: a trace does it once, regardless of the tensor's value",
            )


def _is_stage(region: Region, number: OpId) -> bool:
    """Whether the body of a statement is a separate part of the graph."""
    return region.kind in _STATEMENTS and not (region.kind is RegionKind.FOR and region.holds(number, Arm.ELSE))


def _changed_by(view: ContextView, call: Call, callee: ContextFacts, repeats: bool) -> Iterator[str]:
    """The local variables whose content or value a call changes, such that it matters whether or how often it runs."""
    for effect in callee.effects:
        if effect.kind is not EffectKind.STATE_WRITE or effect.assumed:
            continue
        if repeats and _sets_constant(view, effect):
            continue
        name, code = effect.target.name, view.program.function(callee.function)
        match effect.target.root:
            case RootKind.CLOSURE if code.parent == view.function.id:
                yield name
            case RootKind.SELF | RootKind.PARAMETER:
                is_bound = call.owner is not None and view.is_object(call.owner, *_OBJECTS)
                is_receiver = is_bound and code.parameters[:1] and code.parameters[0].name == name
                held = call.owner if is_receiver else call.given_for(code, name, is_bound=is_bound)
                target = None if held is None else view.made(held)
                if isinstance(target, NameRead) and view.is_object(target.op, *_OBJECTS):
                    yield target.name
            case _:
                continue


def _sets_constant(view: ContextView, effect: Effect) -> bool:
    """Whether it sets an attribute or a variable to a literal value: setting it once or repeatedly makes no difference."""
    code = view.codes.of(FunctionId(effect.site.module, effect.site.function))
    write = code.facts[effect.site.op]
    return isinstance(write, AttributeWrite | NameWrite) and isinstance(code.facts[write.value], Literal)


def _is_carried(view: ContextView, name: str, number: OpId, around: Region | None) -> bool:
    """Whether a local variable has a value from before a statement that is read after it or in its next iteration."""
    start, staging = number if around is None else around.op, staging_of(view)
    if around is not None and view.code.set_in(around, name):
        return False
    if not any(staging.assignments(name, start)):
        return False
    return (around is not None and around.is_loop) or staging.is_read_after(name, start)


def _in_containers(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.library_calls():
        owner, _, method = name.rpartition(".")
        if method in MUTATING_METHODS.get(owner, ()) and not is_method_of_array(name) and call.owner is not None:
            if _is_conditional(view, call.op, call.owner):
                yield LocalHazard(
                    call.op,
                    f"`{view.written(call.op)}` under a condition on a tensor: a trace runs both sides, so it always happens",
                )
    for write in view.code.of_kind(ItemWrite):
        if view.is_object(write.owner, ObjectKind.DICT) and _is_conditional(view, write.op, write.owner):
            written = view.written(write.owner)
            yield LocalHazard(
                write.op,
                f"an item of `{written}` is set under a condition on a tensor: a graph needs it on the other side, too",
                f"`{written}` has that item on both sides of the condition",
            )
    for deletion in view.code.of_kind(ItemDeletion):
        if view.is_object(deletion.owner, ObjectKind.DICT) and _is_conditional(view, deletion.op, deletion.owner):
            yield LocalHazard(
                deletion.op,
                f"an item of `{view.written(deletion.owner)}` is deleted under a condition on a tensor: a trace always does it",
            )


def _is_conditional(view: ContextView, number: OpId, container: OpId) -> bool:
    """Whether a tensor decides if an existing container is changed there."""
    conditions = (each for each in view.staged_around(number) if each.kind is RegionKind.IF)
    condition = next(conditions, None)
    return condition is not None and not is_made_within(view, container, condition)


RULE: Final = Rule(
    id="TR322",
    name="change-under-tensor-condition",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`list.append` and other changes in place under a condition on a tensor run in every trace, regardless of the tensor's value.",
    explanation=(
        "AutoGraph turns the statement into `tf.cond` and traces both sides. Assigned variables become results of the "
        "`tf.cond`. A list, dict or set that one side changes in place is changed by the trace itself: from then on the graph "
        "uses the changed object in every call, silently. Setting an item of a dict on one side raises (`'d['b']' must also be "
        "initialized in the else branch`) unless the key existed before. The same holds for functions that are called there or "
        "passed to `tf.cond`: attributes and captured variables (`nonlocal`) are not results of the `tf.cond`, so they keep a "
        "tensor of the inner graph (`InaccessibleTensorError`)."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    parts = [x]
    if tf.reduce_sum(x) > 0.0:
        parts.append(-x)  # TR322
    return tf.stack(parts)


result = step(tf.constant([-1.0, -2.0]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    parts = tf.stack([x])
    if tf.reduce_sum(x) > 0.0:
        parts = tf.stack([x, x])
    else:
        parts = tf.stack([x, -x])
    return parts


result = step(tf.constant([-1.0, -2.0]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    parts = [x]
    if x.shape[0] > 1:
        parts.append(-x)
    return tf.stack(parts)


result = step(tf.constant([-1.0, -2.0]))
""",
    ),
    cure="Compute both results and choose with `tf.where`, or assign a tensor of one shape on both sides.",
    check=check,
    silent=True,
)
