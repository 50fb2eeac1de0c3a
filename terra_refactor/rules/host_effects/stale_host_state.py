"""TR106: Python state that other code changes between calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import Final, TypeAlias

from terra_refactor.analysis.facts import ContextFacts, ContextId, EntryKind
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import SUGGESTED, UnknownValue, Value
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.codes import ITEM
from terra_refactor.facts.records import (
    AttributeRead,
    AttributeWrite,
    Call,
    Fact,
    ItemDeletion,
    ItemRead,
    ItemWrite,
    Literal,
    NameRead,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.facts.whole_program import contexts_leading_to
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.between_calls import comes_between
from terra_refactor.rules.layer_state import SET_UP_METHODS, layer_state
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.seed_set_again import seed_set_again
from terra_refactor.rules.unseen_state import unseen_state
from terra_refactor.tf_model.graph_traits import TENSOR
from terra_refactor.tf_model.registry import attribute

_UPDATES: Final = frozenset({"apply_gradients", "minimize", "apply"})
_Assignment: TypeAlias = AttributeWrite | ItemWrite | ItemDeletion
_WEAK: Final = frozenset(
    {"KeyedRef", "ReferenceType", "WeakKeyDictionary", "WeakMethod", "WeakSet", "WeakValueDictionary"}
)
_RATES: Final = frozenset({"learning_rate", "lr"})
_CALLED: Final = "(...)"
_SETS: Final = re.compile(r"_*set(_(?!weights$|value$|state$)|[A-Z])")
"""Methods that set something of an object, except those that assign variables."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    """State without a recorded effect: captured variables, and Keras state."""
    yield from _captured_variables(view)
    yield from layer_state(view)
    yield from _objects_of_unknown_classes(view)
    yield from _of_unknown_objects(view)
    yield from _weak_references(view)
    yield from seed_set_again(view)
    yield from unseen_state(view)


def _captured_variables(view: ContextView) -> Iterator[LocalHazard]:
    """Variables of an enclosing function that are rebound after the function was created: a trace keeps the value at
    trace time.
    """
    read = {each.name: each.op for each in reversed(view.code.of_kind(NameRead)) if each.is_captured}
    inner = view.function
    while read and inner.parent is not None:
        around = view.codes.of(inner.parent)
        made = around.maker_of(inner.id)
        for name, load in sorted(read.items()):
            if made is not None and _is_bound_again(around, name, made.op):
                yield LocalHazard(
                    load,
                    f"a graph keeps the value that `{name}` had when it was traced; the enclosing function rebinds it later",
                    f"`{name}` does not change between calls",
                    boundary=True,
                )
        inner = around.function


def _is_bound_again(around: CodeFacts, name: str, made: OpId) -> bool:
    """Whether a variable may get several values during the lifetime of a function that was created once."""
    writes = [write.op for write in around.writes.get(name, ()) if write.is_shared]
    later = [number for number in writes if number > made]
    repeated = any(not loop.holds(made) for number in later for loop in around.loops_around(number))
    return bool(later) and (len(writes) + around.has_parameter(name) > 1 or repeated)


def _objects_of_unknown_classes(view: ContextView) -> Iterator[LocalHazard]:
    """Objects of unknown classes whose attributes callers set between calls: the code called here may read them."""
    for number, fact in sorted(view.calls.items()):
        call = view.made(number)
        if not isinstance(call, Call) or not (fact.unknown or call.method in _UPDATES):
            continue
        receiver, method = call.function, ""
        while isinstance(read := view.made(receiver), AttributeRead):
            receiver, method = read.owner, method or read.name
        for given in (receiver, *(argument.value for argument in call.arguments)):
            name = view.made(given)
            if not isinstance(name, NameRead):
                continue
            attribute = _set_between_calls(view, name, method)
            if attribute is not None and (fact.unknown or attribute.startswith("_")):
                # an existing graph is assumed to be correct: its author knows which attributes the object reads
                yield _set_by_caller(number, f"{name.name}.{attribute}", known=_is_graph(view))
                break


def _set_by_caller(number: OpId, written: str, *, known: bool) -> LocalHazard:
    """An attribute that code between the calls sets, or a method that sets one."""
    if not written.endswith(_CALLED):
        return LocalHazard(
            number,
            f"a graph keeps the value that `{written}` had when it was traced; code between the calls sets it",
            f"`{written}` does not change between calls" if known else None,
        )
    is_private = written.removesuffix(_CALLED).rpartition(".")[2].startswith("_")
    return LocalHazard(
        number,
        f"a graph keeps what `{written}` set when it was traced; code between the calls calls it again",
        f"`{written}` changes nothing but variables" if known or not is_private else None,
    )


def _of_unknown_objects(view: ContextView) -> Iterator[LocalHazard]:
    """Attributes and items of unknown objects that other functions assign under the same name: `self.config.rate = ...`.

    The attribute of an object that is the result of a call or an item, whose other names are unknown, may be that of any object.
    """
    told: set[tuple[str | None, str]] = set()
    reads: list[AttributeRead | ItemRead] = [*view.reached(AttributeRead), *view.reached(ItemRead)]
    for read in reads:
        if not view.all_of(read.owner, _is_unknown_object):
            continue
        holder = _holder(view, read.owner)
        if holder is None and (isinstance(read, ItemRead) or attribute(TENSOR, read.name) is not None):
            continue  # it may be a tensor
        name = read.name if isinstance(read, AttributeRead) else f"{holder}{ITEM}"
        if (holder, name) in told or not (
            any(_may_change(view, read, holder, name, function) for function in view.codes.writers_of(name))
            or (isinstance(read, AttributeRead) and _is_changed_by_method(view, holder, name))
        ):
            continue
        told.add((holder, name))
        written = view.written(read.op)
        yield LocalHazard(
            read.op,
            f"a graph keeps the value that `{written}` had when it was traced; later changes are ignored",
            f"`{written}` does not change between calls",
        )


def _weak_references(view: ContextView) -> Iterator[LocalHazard]:
    """Weak references that the function did not create: which of their objects exist may differ between calls."""
    told: set[str] = set()
    for read in view.reached(AttributeRead, NameRead):
        written = view.written(read.op)
        made_here = isinstance(view.origin(read.op), Call)
        if written in told or made_here or not view.any_of(read.op, lambda value: view.class_of(value) in _WEAK):
            continue
        told.add(written)
        yield LocalHazard(
            read.op,
            f"`{written}` refers to objects weakly: a graph keeps using those that existed when it was traced",
            f"the objects that `{written}` refers to exist as long as the graph",
        )


def _holder(view: ContextView, number: OpId) -> str | None:
    """The variable or attribute that holds an object; None for the result of a call or an item, also through a local variable."""
    held = view.code.facts[number]
    if isinstance(held, NameRead) and held.is_own and not view.code.has_parameter(held.name):
        made = view.origin(number)
        return held.name if made is held or isinstance(made, AttributeRead | NameRead) else None
    return held.name if isinstance(held, AttributeRead | NameRead) else None


def _is_unknown_object(value: Value) -> bool:
    return isinstance(value, UnknownValue) and value.reason not in SUGGESTED


def _is_changed_by_method(view: ContextView, holder: str | None, attribute: str) -> bool:
    """Whether other code calls, on an object stored under that name (None: any), a method that sets the attribute in some class."""
    for setter in view.codes.writers_of(attribute):
        code = view.codes.of(setter)
        own = code.function.parameters[0].name if code.function.takes_self else None
        owners = (code.facts[write.owner] for write in code.of_kind(AttributeWrite) if write.name == attribute)
        if code.function.name in SET_UP_METHODS or not any(isinstance(o, NameRead) and o.name == own for o in owners):
            continue
        name = view.program.attribute_name(code.function)
        for caller in view.codes.readers_of(name):
            calling = view.codes.of(caller)
            for read in calling.of_kind(AttributeRead) if caller != view.function.id else ():
                held = calling.facts[read.owner]
                if read.name == name and (
                    holder is None or (isinstance(held, AttributeRead | NameRead) and held.name == holder)
                ):
                    return True
    return False


def _may_change(
    view: ContextView, read: AttributeRead | ItemRead, holder: str | None, name: str, function: FunctionId
) -> bool:
    """Whether a function may assign an attribute or item of the content of variable or attribute `holder` (None: of any),
    between calls of the view's."""
    code = view.codes.of(function)
    if function == view.function.id:
        return False
    key = view.code.facts[read.index] if isinstance(read, ItemRead) else None
    assigned: list[_Assignment] = [
        *code.of_kind(AttributeWrite),
        *code.of_kind(ItemWrite),
        *code.of_kind(ItemDeletion),
    ]
    writes = [
        write.op
        for write in assigned
        if _assigns(code, write, holder, name)
        and not _is_other_item(code, write, key)
        and (code.function.name not in SET_UP_METHODS or _is_of_argument(code, write))
    ]
    if not writes:
        return False
    running = contexts_leading_to(view.codes, view.facts, view.function.id)
    calls = {
        call.op
        for context in view.facts.contexts_of(function)
        for call in context.calls
        if not running.isdisjoint(call.callees)
    }
    callers = view.facts.functions[function].callers
    if calls:
        # it calls the view's function itself: if a run reaches it once, all its calls see the assignments before them
        is_once = len(callers) == 1 and view.facts.contexts[callers[0].context].entry is EntryKind.MODULE
        return comes_between(code, writes, calls) or not (is_once or code.function.kind is FunctionKind.MODULE)
    if code.function.kind in (FunctionKind.MODULE, FunctionKind.CLASS_BODY):
        return False
    changing = contexts_leading_to(view.codes, view.facts, function)
    both = running & changing
    if not both:
        return True  # other code calls both
    return any(_call_comes_between(view, view.facts.contexts[each], changing, running) for each in sorted(both))


def _call_comes_between(
    view: ContextView, around: ContextFacts, changing: Set[ContextId], running: Set[ContextId]
) -> bool:
    """Whether a function or module body, between two calls that run the view's function, calls a function that changes
    something.
    """
    calls = {call.op for call in around.calls if not running.isdisjoint(call.callees)}
    others = [call.op for call in around.calls if call.op not in calls and not changing.isdisjoint(call.callees)]
    return bool(calls) and comes_between(view.codes.of(around.function), others, calls)


def _assigns(code: CodeFacts, write: _Assignment, holder: str | None, name: str) -> bool:
    if isinstance(write, AttributeWrite) and write.name != name:
        return False
    if not isinstance(write, AttributeWrite) and not name.endswith(ITEM):
        return False
    match code.facts[write.owner]:
        case AttributeRead(name=held):
            return holder in (None, held)
        case NameRead(name=held) as read:
            # the content of a local variable may be new in each call
            return holder in (None, held) and (not read.is_own or code.has_parameter(held))
        case _:
            return holder is None


def _is_of_argument(code: CodeFacts, write: _Assignment) -> bool:
    """Whether a constructor changes an object passed to it, which other objects may share, rather than the new object."""
    owner = code.facts[write.owner]
    return (
        isinstance(owner, NameRead)
        and code.has_parameter(owner.name)
        and owner.name != code.function.parameters[0].name
    )


def _is_other_item(code: CodeFacts, write: _Assignment, key: Fact | None) -> bool:
    """Whether the assigned item certainly has another key."""
    index = None if isinstance(write, AttributeWrite) else code.facts[write.index]
    return isinstance(index, Literal) and isinstance(key, Literal) and index.value != key.value


def _is_graph(view: ContextView) -> bool:
    return view.context.in_graph or view.function_facts.hybrid is not None


def _set_between_calls(view: ContextView, read: NameRead, method: str) -> str | None:
    """The attribute of a parameter's or captured variable's object that is set between two calls of the view's function.

    Follows callers that pass on their own parameter; visits each function and parameter once.
    """
    if read.outlives_call:
        around = ((outer.code, call.op) for outer, call in view.calls_of_function() if call is not None)
        return next(filter(None, (_set_around(code, read.name, call, method) for code, call in around)), None)
    if not read.is_own:
        return None
    pending, seen = [(view, read.name)], {(view.function.id, read.name)}
    while pending:
        inner, parameter = pending.pop()
        if not inner.code.has_parameter(parameter):
            continue
        for outer, call in _calls_once(inner):
            given = outer.given_for(call, inner.function, parameter)
            name = None if given is None else outer.made(given)
            if not isinstance(name, NameRead):
                continue
            found = _set_around(outer.code, name.name, call.op, method)
            if found is not None:
                return found
            if name.is_own and (outer.function.id, name.name) not in seen:
                seen.add((outer.function.id, name.name))
                pending.append((outer, name.name))
    return None


def _calls_once(view: ContextView) -> Iterator[tuple[ContextView, Call]]:
    """The calls of a function in the source, in any context."""
    seen: set[tuple[FunctionId, OpId]] = set()
    for outer, call in view.calls_of_function():
        if call is not None and (outer.function.id, call.op) not in seen:
            seen.add((outer.function.id, call.op))
            yield outer, call


def _set_around(code: CodeFacts, name: str, call: OpId, method: str) -> str | None:
    """The attribute of a variable's object that code around a call sets repeatedly; None if there is none."""
    around = {loop.op for loop in code.loops_around(call)}
    for write in code.of_kind(AttributeWrite):
        owner = code.facts[write.owner]
        if not isinstance(owner, NameRead) or owner.name != name:
            continue
        if method in _UPDATES and write.name in _RATES:
            continue  # an optimizer stores it in a variable
        if any(loop.op in around for loop in code.loops_around(write.op)):
            return write.name
    for setting in code.of_kind(Call):
        holder = None if setting.owner is None else code.facts[setting.owner]
        if not isinstance(holder, NameRead) or holder.name != name or not _SETS.match(setting.method):
            continue
        if any(loop.op in around for loop in code.loops_around(setting.op)):
            return f"{setting.method}{_CALLED}"
    return None


RULE: Final = Rule(
    id="TR106",
    name="stale-host-state",
    kind=RuleKind.HAZARD,
    severity=Severity.WARNING,
    summary="A graph keeps the value that Python state had when it was traced; later changes by other code are ignored.",
    explanation=(
        "A global, `self.x` or the content of a list is read once per trace. If another function assigns it later, eager code sees the new "
        "value, and the graph silently keeps the old one. If no analysed code makes the change after a call, the decision lists the "
        "assumption that the state does not change; so it does for an attribute that only a base class or module outside of the "
        "analysed code can set. `trainable`, and what a Keras layer learns by `adapt`, are such state as well."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


class Model:
    def __init__(self):
        self.scale = 1.0

    def set_scale(self, scale):
        self.scale = scale

    @tf.function
    def apply(self, x):
        return x * self.scale  # TR106


model = Model()
first = model.apply(tf.ones([2]))
model.set_scale(2.0)
second = model.apply(tf.ones([2]))
""",
        good="""\
import tensorflow as tf


class Model:
    def __init__(self):
        self.scale = tf.Variable(1.0)

    def set_scale(self, scale):
        self.scale.assign(scale)

    @tf.function
    def apply(self, x):
        return x * self.scale


model = Model()
first = model.apply(tf.ones([2]))
model.set_scale(2.0)
second = model.apply(tf.ones([2]))
""",
        near_miss="""\
import tensorflow as tf


class Model:
    def __init__(self, scale):
        self.scale = scale

    @tf.function
    def apply(self, x):
        return x * self.scale


model = Model(2.0)
result = model.apply(tf.ones([2]))
""",
    ),
    cure="Keep what changes in a `tf.Variable`, or pass it as an argument.",
    effects=frozenset({EffectKind.STATE_READ}),
    check=check,
    cured_by_shim=True,
    effect_message="a graph keeps the value that `{target}` had when it was traced; later changes are ignored",
)
