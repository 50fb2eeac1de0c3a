"""TR322: a container, object or captured variable that changes where a tensor decides whether, or how often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ContextFacts, ObjectKind
from terra_refactor.domain.effect import Effect, EffectKind, RootKind
from terra_refactor.domain.value import Reference, members
from terra_refactor.ir import ops
from terra_refactor.ir.function import ParameterKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView
from terra_refactor.tf_model.python_effects import MUTATING_METHODS

_BRANCHES: Final = frozenset(f"tensorflow.{name}" for name in ("cond", "case", "switch_case"))
"""What runs one of the functions that it is given in eager code, and all of them while a graph is traced."""
_LOOPS: Final = frozenset(f"tensorflow.{name}" for name in ("while_loop", "map_fn", "scan", "foldl", "foldr"))
"""What runs a function as often as tensors say in eager code, and once while a graph is traced."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _in_containers(view)
    for number, fact in view.calls.items():
        call = view.op(number)
        if not fact.callees or not isinstance(call, ops.Call):
            continue
        around = call if (_BRANCHES | _LOOPS).intersection(fact.library) else _stage(view, number)
        if around is None:
            continue
        repeats = isinstance(around, ops.For | ops.While) or bool(_LOOPS.intersection(fact.library))
        changed = {
            name
            for callee in fact.callees
            for name in _changed_by(view, call, view.facts.contexts[callee], repeats)
            if _is_carried(view, name, around)
        }
        for name in sorted(changed):
            where = "as often as a tensor says" if repeats else "if a tensor says so"
            yield LocalHazard(
                number,
                f"`{view.written(number)}` changes `{name}` {where}: a trace does it once, whatever the tensor says",
            )


def _stage(view: ContextView, number: OpId) -> ops.If | ops.For | ops.While | None:
    """The innermost statement around an operation of which AutoGraph makes a part of a graph of its own."""
    inner = number
    for outer in view.enclosing(number):
        fact = view.branches.get(outer.id)
        if isinstance(outer, ops.If | ops.For | ops.While) and fact is not None:
            tensor = fact.kind is BranchKind.TENSOR or (isinstance(outer, ops.For) and fact.kind is BranchKind.DATASET)
            if tensor and not (isinstance(outer, ops.For) and any(part.id == inner for part in outer.else_block)):
                return outer
        inner = outer.id
    return None


def _changed_by(view: ContextView, call: ops.Call, callee: ContextFacts, repeats: bool) -> Iterator[str]:
    """The local variables whose content, or value, a call changes so that it matters whether, or how often, it does."""
    for effect in callee.effects:
        if effect.kind is not EffectKind.STATE_WRITE or effect.assumed:
            continue
        if repeats and _sets_constant(view, effect):
            continue
        name = effect.target.name
        match effect.target.root:
            case RootKind.CLOSURE if view.program.function(callee.function).parent == view.function.id:
                yield name
            case RootKind.SELF | RootKind.PARAMETER:
                held = _argument(view, call, callee, name)
                target = None if held is None else view.op(held)
                if isinstance(target, ops.LoadName) and _is_object(view, target.id):
                    yield target.name
            case _:
                continue


def _sets_constant(view: ContextView, effect: Effect) -> bool:
    """Whether it sets an attribute or a variable to a value that is written there: once is as good as often."""
    code = view.codes.of(FunctionId(effect.site.module, effect.site.function))
    op = code.ops[effect.site.op]
    return (
        isinstance(op, ops.StoreAttribute | ops.StoreName)
        and op.value is not None
        and isinstance(code.ops[op.value], ops.Literal)
    )


def _argument(view: ContextView, call: ops.Call, callee: ContextFacts, name: str) -> OpId | None:
    """What a call gives to that parameter, receivers among them; None if that is not plain to see."""
    parameters = [
        each.name
        for each in view.program.function(callee.function).parameters
        if each.kind in (ParameterKind.POSITIONAL, ParameterKind.POSITIONAL_ONLY)
    ]
    if any(argument.spread is not ops.Spread.PLAIN for argument in call.arguments):
        return None
    keywords = {argument.keyword: argument.value for argument in call.arguments if argument.keyword is not None}
    given = [argument.value for argument in call.arguments if argument.keyword is None]
    function = view.op(call.function)
    if isinstance(function, ops.LoadAttribute) and _is_object(view, function.object):
        given.insert(0, function.object)
    return keywords.get(name, dict(zip(parameters, given, strict=False)).get(name))


def _is_object(view: ContextView, number: OpId) -> bool:
    alternatives = members(view.value(number))
    return bool(alternatives) and all(
        isinstance(member, Reference)
        and view.facts.objects[member.object].kind
        in (ObjectKind.INSTANCE, ObjectKind.LIST, ObjectKind.DICT, ObjectKind.SET)
        for member in alternatives
    )


def _is_carried(view: ContextView, name: str, around: ops.Op) -> bool:
    """Whether a local variable has its value from before a statement, and is looked at behind it or in its next iteration."""
    inside = {op.id for op in walk((around,))}
    stores = [op.id for op in view.code.of_kind(ops.StoreName) if op.name == name]
    if not stores or any(number in inside for number in stores) or min(stores) > around.id:
        return False
    repeated = isinstance(around, ops.For | ops.While)
    return repeated or any(
        op.name == name and op.id > around.id and op.id not in inside for op in view.code.of_kind(ops.LoadName)
    )


def _in_containers(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.library_calls():
        owner, _, method = name.rpartition(".")
        function = view.op(call.function)
        if (
            method in MUTATING_METHODS.get(owner, ())
            and owner != "numpy.ndarray"
            and isinstance(function, ops.LoadAttribute)
        ):
            condition = _condition(view, call.id)
            if condition is not None and not _made_inside(view, function.object, condition):
                yield LocalHazard(
                    call.id,
                    f"`{view.written(call.id)}` under a condition on a tensor: a trace runs both sides, so it always happens",
                )
    for op in view.code.ops:
        if isinstance(op, ops.StoreItem | ops.DeleteItem) and _is_dict(view, op.object):
            condition = _condition(view, op.id)
            if condition is None or _made_inside(view, op.object, condition):
                continue
            written = view.written(op.object)
            if isinstance(op, ops.DeleteItem):
                yield LocalHazard(
                    op.id, f"an item of `{written}` is deleted under a condition on a tensor: a trace always does it"
                )
            else:
                yield LocalHazard(
                    op.id,
                    f"an item of `{written}` is set under a condition on a tensor: a graph needs it on the other side, too",
                    f"`{written}` has that item on both sides of the condition",
                )


def _condition(view: ContextView, number: OpId) -> ops.If | None:
    """The innermost statement around an operation that decides by a tensor whether it runs."""
    for outer in view.enclosing(number):
        fact = view.branches.get(outer.id)
        if isinstance(outer, ops.If) and fact is not None and fact.kind is BranchKind.TENSOR:
            return outer
    return None


def _is_dict(view: ContextView, number: OpId) -> bool:
    alternatives = members(view.value(number))
    return bool(alternatives) and all(
        isinstance(member, Reference) and view.facts.objects[member.object].kind is ObjectKind.DICT
        for member in alternatives
    )


def _made_inside(view: ContextView, container: OpId, condition: ops.If) -> bool:
    """Whether the container is a local variable that is set within the same statement."""
    target = view.op(container)
    return isinstance(target, ops.LoadName) and any(
        isinstance(op, ops.StoreName) and op.name == target.name for op in walk((condition,))
    )


RULE: Final = Rule(
    id="TR322",
    name="change-under-tensor-condition",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`list.append` and the like under a condition on a tensor happen in every trace, whatever the tensor says.",
    explanation=(
        "AutoGraph makes a `tf.cond` of the statement and traces both sides. Variables that are assigned become results of the condition; "
        "a list, dict or set that is changed in place has changed after the trace, on whichever side it was: the graph goes on with the "
        "change always, silently. An item of a dict that one side sets raises `ValueError: 'd['b']' must also be initialized in the "
        "else branch` unless it was there before. The same holds for what a function does that is called there, or that `tf.cond` and its "
        "kin are given: an attribute of an object, or a captured variable (`nonlocal`), is no variable of the statement, and what it keeps "
        "is a tensor of the inner graph: `InaccessibleTensorError`."
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
)
