"""TR322: a change of a container, object or captured variable under a condition or in a loop on a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ObjectKind
from terra_refactor.domain.effect import Effect, EffectKind, RootKind
from terra_refactor.domain.value import Reference, Value, members
from terra_refactor.facts.records import (
    Arm,
    AttributeWrite,
    Call,
    ItemDeletion,
    ItemWrite,
    Literal,
    NameRead,
    NameWrite,
    Operation,
    Region,
    RegionKind,
)
from terra_refactor.facts.staging import has_stages, is_made_within, staging_of
from terra_refactor.facts.view import ContextView, is_ndarray
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.object_parts import is_returned, part_writes, variables_of_target
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.class_names import is_of_numpy
from terra_refactor.tf_model.graph_traits import SETS_ATTRIBUTE, is_method_of_array
from terra_refactor.tf_model.python_effects import MUTATING_FUNCTIONS, MUTATING_METHODS
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_OBJECTS: Final = (ObjectKind.INSTANCE, ObjectKind.LIST, ObjectKind.DICT, ObjectKind.SET)
_STATEMENTS: Final = frozenset({RegionKind.IF, RegionKind.FOR, RegionKind.WHILE})


def check(view: ContextView) -> Iterator[LocalHazard]:
    left = {hazard.op: hazard for hazard in _left_behind(view)}
    yield from left.values()
    yield from (hazard for hazard in _in_containers(view) if hazard.op not in left)
    if has_stages(view):
        yield from _in_arrays(view)
        yield from _in_place(view)
        yield from _of_iterators(view)
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
            for name, is_own in _changed_by(view, call, view.facts.contexts[callee], repeats)
            if not is_own or by_library or _is_carried(view, name, number, around)
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


def _changed_by(view: ContextView, call: Call, callee: ContextFacts, repeats: bool) -> Iterator[tuple[str, bool]]:
    """The local variables whose content or value a call changes, such that it matters whether or how often it runs;
    and whether they are variables of this function: others belong to the function that defines the callee.
    """
    for effect in callee.effects:
        if effect.kind is not EffectKind.STATE_WRITE or effect.assumed:
            continue
        if repeats and _sets_constant(view, effect):
            continue
        name, code = effect.target.name, view.program.function(callee.function)
        match effect.target.root:
            case RootKind.CLOSURE:
                yield name, code.parent == view.function.id
            case RootKind.SELF | RootKind.PARAMETER:
                # `object.method(...)`, or a call of the object
                owner = call.function if call.owner is None else call.owner
                is_bound = view.is_object(owner, *_OBJECTS)
                is_receiver = is_bound and code.parameters[:1] and code.parameters[0].name == name
                held = owner if is_receiver else call.given_for(code, name, is_bound=is_bound)
                target = None if held is None else view.made(held)
                if isinstance(target, NameRead) and view.is_object(target.op, *_OBJECTS):
                    yield target.name, True
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


def _left_behind(view: ContextView) -> Iterator[LocalHazard]:
    """Attributes and items that a branch or loop of the graph sets and does not return.

    AutoGraph returns those whose names it can tell: attributes, and items under a literal or a variable, of variables
    that are live before the statement (`_get_block_composite_vars` in control_flow.py of TensorFlow 2.21).
    """
    if not has_stages(view):
        return
    writes = [
        *((write.op, write.owner, variables_of_target(view, write)) for write in part_writes(view)),
        *((call.op, call.first, None) for call, name in view.library_calls() if name in SETS_ATTRIBUTE),
    ]
    for number, owner, names in sorted(writes, key=lambda write: write[0]):
        for region in view.staged_around(number):
            if owner is None or not _is_stage(region, number):
                continue
            if is_made_within(view, owner, region) or _is_unread(view, owner, region):
                break
            if not is_returned(view, region, names):
                where = "in a loop on a tensor" if region.is_loop else "under a condition on a tensor"
                yield LocalHazard(
                    number,
                    f"`{view.written(number)}` is set {where}: in a graph it is not a result of the statement, so "
                    "later code reads a tensor of an inner graph",
                )
                break


def _is_unread(view: ContextView, owner: OpId, region: Region) -> bool:
    """Whether an object that the function made is not read after a branch or loop, nor in it but for such changes."""
    read = view.made(owner)
    made = [view.facts.objects[each.object] for each in members(view.value(owner)) if isinstance(each, Reference)]
    return (
        isinstance(read, NameRead)
        and bool(made)
        and all(each.function == view.context.function and each.op is not None for each in made)
        and not view.code.set_in(region, read.name)
        and not staging_of(view).is_read_after(read.name, region.op)
        and not (
            region.is_loop
            and any(_is_used(view, each) for each in view.code.reads_of(read.name) if region.holds(each.op))
        )
    )


def _is_used(view: ContextView, read: NameRead) -> bool:
    """Whether an object is read otherwise than to set an item or attribute of it."""
    writes = [view.made(user) for user in view.code.readers(read.op)]
    return not all(isinstance(each, AttributeWrite | ItemWrite) and each.owner == read.op for each in writes)


def _in_containers(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.library_calls():
        owner, _, method = name.rpartition(".")
        if method in MUTATING_METHODS.get(owner, ()) and not is_method_of_array(name) and call.owner is not None:
            if _condition(view, call.op, call.owner) is not None:
                yield LocalHazard(
                    call.op,
                    f"`{view.written(call.op)}` under a condition on a tensor: a trace runs both sides, so it always happens",
                )
            elif not has_trait(name, Trait.FILLS_LIST) and _is_repeated(view, call.op, call.owner):
                yield LocalHazard(
                    call.op,
                    f"`{view.written(call.op)}` in a loop on a tensor: a trace does it once, regardless of the tensor's value",
                )
    for write in view.code.of_kind(ItemWrite):
        region = _condition(view, write.op, write.owner) if view.is_object(write.owner, ObjectKind.DICT) else None
        if region is not None and is_returned(view, region, variables_of_target(view, write)):
            written = view.written(write.owner)
            yield LocalHazard(
                write.op,
                f"an item of `{written}` is set under a condition on a tensor: a graph needs it on the other side, too",
                f"`{written}` has that item on both sides of the condition",
            )
    for deletion in view.code.of_kind(ItemDeletion):
        if view.is_object(deletion.owner, ObjectKind.DICT, ObjectKind.LIST) and _is_repeated(
            view, deletion.op, deletion.owner
        ):
            yield LocalHazard(
                deletion.op,
                f"an item of `{view.written(deletion.owner)}` is deleted in a loop on a tensor: a trace does it once",
            )
        if view.is_object(deletion.owner, ObjectKind.DICT) and _condition(view, deletion.op, deletion.owner):
            yield LocalHazard(
                deletion.op,
                f"an item of `{view.written(deletion.owner)}` is deleted under a condition on a tensor: a trace always does it",
            )


def _in_arrays(view: ContextView) -> Iterator[LocalHazard]:
    """NumPy arrays that a branch or loop of the graph changes: AutoGraph assigns tensors to the items that it returns, and
    methods and functions change the array in every trace.
    """
    for write in view.reached(ItemWrite):
        region = next((each for each in view.staged_around(write.op) if _is_stage(each, write.op)), None)
        if region is None or is_made_within(view, write.owner, region) or not view.any_of(write.owner, is_ndarray):
            continue
        if is_returned(view, region, variables_of_target(view, write)):
            array = view.written(write.owner)
            yield LocalHazard(
                write.op,
                f"`{view.written(write.op)}` becomes a tensor in a branch or loop on a tensor, and `{array}` is a NumPy array: in a "
                "graph assigning it raises",
                None if view.all_of(write.owner, is_ndarray) else f"`{array}` is not a NumPy array",
            )
    for call, name in view.library_calls():
        changed = _array_changed(view, call, name)
        if changed is None or not view.any_of(changed, is_ndarray):
            continue
        if _condition(view, call.op, changed) is not None or _is_repeated(view, call.op, changed):
            yield LocalHazard(
                call.op,
                f"`{view.written(call.op)}` changes a NumPy array under a condition or in a loop on a tensor: a trace does it once, "
                "regardless of the tensor's value",
            )


def _array_changed(view: ContextView, call: Call, name: str) -> OpId | None:
    """The array that a method or function changes in place."""
    owner, _, method = name.rpartition(".")
    if is_method_of_array(name):
        return call.owner if method in MUTATING_METHODS[owner] else None
    if name in MUTATING_FUNCTIONS:
        return view.library_argument(call, name, MUTATING_FUNCTIONS[name])
    return call.keyword("out") if is_of_numpy(name) else None


def _in_place(view: ContextView) -> Iterator[LocalHazard]:
    """`x += y` and the like on objects that change in place, under a condition on a tensor."""
    for operation in view.reached(Operation):
        if not operation.in_place or not view.any_of(operation.left, lambda each: _changes_in_place(view, each)):
            continue
        if _condition(view, operation.op, operation.left) is not None:
            changed = view.written(operation.left)
            yield LocalHazard(
                operation.op,
                f"`{changed} {operation.symbol}= ...` under a condition on a tensor changes the object in place: a trace runs both "
                "sides, so it always happens",
            )


def _changes_in_place(view: ContextView, value: Value) -> bool:
    if isinstance(value, Reference):
        return view.object_kind(value) in (ObjectKind.LIST, ObjectKind.DICT, ObjectKind.SET)
    return is_ndarray(value)


def _of_iterators(view: ContextView) -> Iterator[LocalHazard]:
    """Iterators that a branch or loop of the graph advances, and other code, too: a trace advances them once."""
    for read in view.reached(NameRead):
        if not view.is_object(read.op, ObjectKind.ITERATOR):
            continue
        region = next((each for each in view.staged_around(read.op) if _is_stage(each, read.op)), None)
        if region is None or is_made_within(view, read.op, region):
            continue
        if _is_carried(view, read.name, read.op, region) or _is_read_on_other_side(view, read, region):
            where = "in a loop on a tensor" if region.is_loop else "under a condition on a tensor"
            yield LocalHazard(
                read.op, f"`{read.name}` is advanced {where}: a trace does it once, regardless of the tensor's value"
            )


def _is_read_on_other_side(view: ContextView, read: NameRead, region: Region) -> bool:
    arms = [part for part in region.parts if part.arm is not Arm.TEST]
    return any(
        part.start <= other.op < part.end and not part.start <= read.op < part.end
        for other in view.code.reads_of(read.name)
        for part in arms
    )


def _condition(view: ContextView, number: OpId, container: OpId) -> Region | None:
    """The condition on a tensor that decides whether an existing container is changed there."""
    conditions = (each for each in view.staged_around(number) if each.kind is RegionKind.IF)
    condition = next(conditions, None)
    return None if condition is None or is_made_within(view, container, condition) else condition


def _is_repeated(view: ContextView, number: OpId, container: OpId) -> bool:
    """Whether iterations of a loop of the graph change one container, which is read in the next one or later."""
    loop = next((each for each in view.staged_around(number) if _is_stage(each, number)), None)
    if loop is None or not loop.is_loop or is_made_within(view, container, loop):
        return False
    read = view.made(container)
    return not (isinstance(read, NameRead) and read.is_local) or _is_carried(view, read.name, number, loop)


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
        "tensor of the inner graph (`InaccessibleTensorError`). In the statement itself AutoGraph returns `x.a`, `x[0]` and "
        "`x[key]`, but not `x[-1]`, `x[key + 1]`, `setattr(x, 'a', ...)`, or what a variable of the statement refers to "
        "(`x[i]` under `for i in range(2)`, `y = x; y.a = ...`). `x += ...` changes a list, dict, set or NumPy array itself, and "
        "`next(iterator)` advances the iterator, in every trace. An item of a NumPy array cannot be set at all: AutoGraph would assign "
        "a tensor to it (`ValueError: setting an array element with a sequence`)."
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
