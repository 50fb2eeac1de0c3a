"""TR307: a loop variable of a loop on tensors that has another shape or dtype after an iteration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ObjectKind
from terra_refactor.domain.traced import without_marks
from terra_refactor.domain.value import (
    NONE,
    UNBOUND,
    Constant,
    DatasetValue,
    FrozenDict,
    FrozenList,
    FunctionValue,
    PythonType,
    Reference,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.facts.records import (
    AttributeWrite,
    Call,
    Display,
    ItemRead,
    ItemWrite,
    NameRead,
    NameWrite,
    Region,
    Slice,
)
from terra_refactor.facts.staging import Staging, displayed, has_stages, is_made_within, staging_of
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.control import RESULT, ControlSite
from terra_refactor.ir.dataflow import DefinitionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.merged_values import graph_dtype, graph_shape, is_open, mismatch
from terra_refactor.rules.object_parts import initial_values, is_returned, part_writes, variables_of_target
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.tensor_choices import no_choice
from terra_refactor.tf_model.graph_traits import WHILE_LOOP
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_LIST: Final = "is or contains a list, which a loop over a dataset in a graph converts to one tensor: only tuples and dicts can be kept"


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _loops_of_library(view)
    if not has_stages(view):
        return
    yield from _parts_in_loops_over_datasets(view)
    yield from _parts_in_loops(view)
    staging = staging_of(view)
    for site in staging.sites():
        if site.is_loop:
            yield from _loop(view, staging, site, _has_invariants(view, view.code.regions[site.op]))


def _loops_of_library(view: ContextView) -> Iterator[LocalHazard]:
    """`tf.while_loop` without shape invariants: eager code does not compare the results of the body with its arguments."""
    for call, name in view.library_calls():
        if name != WHILE_LOOP or view.library_argument(call, name, "shape_invariants") is not None or not call.is_plain:
            continue
        given = view.library_argument(call, name, "body")
        bodies = (
            {each.function for each in members(view.value(given)) if isinstance(each, FunctionValue)}
            if given is not None
            else set()
        )
        for context in view.calls[call.op].callees:
            facts = view.facts.contexts[context]
            if (facts.function.module, facts.function.index) not in bodies:
                continue
            before, after = facts.parameters, _parts(facts.returns, len(facts.parameters))
            for parameter, result in zip(before, after, strict=True) if len(before) == len(after) else ():
                found = list(_variant(call.op, f"`{parameter}`", [(before[parameter], result)], []))
                yield from found
                if found:
                    return


def _parts(value: Value, count: int) -> tuple[Value, ...]:
    """The results of a loop's body, one for each loop variable."""
    if isinstance(value, TupleValue | FrozenList):
        return value.elements or ()
    return (value,) if count == 1 else ()


def _loop(view: ContextView, staging: Staging, site: ControlSite, invariants: bool) -> Iterator[LocalHazard]:
    fact = view.branches[site.op]
    first_read = staging.read_first(site)
    changed: dict[str, list[tuple[Value, Value]]] = {}
    for name, after, before in fact.changed:
        changed.setdefault(name, []).append((before, after))
    for name in staging.names(site):
        if staging.definitions(name, site.ends[0]) is None:
            return  # no iteration reaches its end
        starts, ends = staging.alternatives(name, site.before), staging.alternatives(name, site.ends[0])
        shown = "what is returned" if name == RESULT else f"`{name}`"
        empty = [start for start in starts if start in (NONE, UNBOUND)]
        if empty:
            entered = staging.alternatives(name, site.before, first=True)
            always = bool(entered) and all(start in (NONE, UNBOUND) for start in entered)
            if fact.kind is BranchKind.DATASET:
                yield LocalHazard(
                    site.op,
                    f"{shown} has no value before the loop over a dataset, and is used after it or in its next iteration: in a graph it "
                    "must have one",
                    None if always else f"{shown} has a value before the loop",
                )
                continue
            if name in first_read and name != RESULT:
                # AutoGraph starts with zeros in place of None, which may work
                yield LocalHazard(
                    site.op,
                    f"{shown} has no value before the loop, and an iteration reads it before it sets it: in a graph it must have one",
                    None if always and NONE not in empty else f"zeros are equivalent to {shown} before the loop",
                )
                continue
        lost = [end for end in ends if end in (NONE, UNBOUND)]
        if lost:
            yield LocalHazard(
                site.op,
                f"{shown} has no value at the end of an iteration: loop variables of a graph are tensors",
                None if len(lost) == len(ends) else f"{shown} has a value at the end of each iteration",
            )
            continue
        if empty and any(_is_text(end) for end in ends):
            yield LocalHazard(
                site.op,
                f"{shown} has no value before the loop and is set to a string in it: loop variables of a graph are tensors",
            )
            continue
        if empty and any(is_open(end) for end in ends):
            yield LocalHazard(
                site.op,
                f"{shown} has no value before the loop and is set to a list or dict in it: in a graph it must have elements",
                f"{shown} has elements at the end of each iteration",
            )
        skipped = NONE in empty or name == RESULT or not staging.is_surely_read(name, site.after)
        if empty and fact.taken[1] and skipped:
            yield LocalHazard(
                site.op,
                f"{shown} has no value before the loop: in a graph it must run at least once",
                "the loop runs at least once",
            )
        reason = next(filter(None, (no_choice(view, each) for each in (*starts, *ends))), None)
        if reason is not None:
            yield LocalHazard(
                site.op,
                f"{shown} is {reason}, which an iteration cannot pass to the next one: the variables of a loop in a graph are tensors",
            )
            continue
        lists = (
            [each for each in (*starts, *ends) if _holds_list(each)]
            if _is_over_dataset(view, view.code.regions.get(site.op))
            else []
        )
        if lists:
            yield LocalHazard(
                site.op,
                f"{shown} {_LIST}",
                None if all(map(_holds_list, ends)) else f"{shown} is or holds no list",
            )
            continue
        pairs = [(start, end) for start in starts if start not in empty for end in staging.parts(name, site.ends[0])]
        first = [] if invariants or empty else changed.get(name, [])
        found = list(_variant(site.op, shown, first, [] if invariants else pairs))
        yield from found
        if not (found or invariants or empty) and name in first_read and any(map(_is_of_unknown_shape, starts)):
            yield from _resized(view, staging, site, name)


def _resized(view: ContextView, staging: Staging, site: ControlSite, name: str) -> Iterator[LocalHazard]:
    """A variable of unknown shape that an iteration lengthens or shortens: if a call passes a known shape, the loop raises."""
    for each in staging.definitions(name, site.ends[0]) or ():
        node = staging.flow.nodes[each.place] if each.kind is DefinitionKind.STORED else None
        write = None if node is None or node.op is None else view.made(node.op)
        if isinstance(write, NameWrite) and _is_resized(view, write.value, name):
            yield LocalHazard(
                site.op,
                f"`{name}` has another size after `{view.written(write.value)}`: a loop in a graph keeps shapes",
                f"`{name}` keeps its shape in the loop",
            )
            return


def _is_resized(view: ContextView, number: OpId, name: str) -> bool:
    """Whether a result is the variable with more or fewer elements."""

    def is_itself(part: OpId) -> bool:
        return isinstance(read := view.made(part), NameRead) and read.name == name

    match view.origin(number):
        case ItemRead(owner=owner, index=index):
            return is_itself(owner) and isinstance(view.made(index), Slice)
        case Call(op=op) as call if any(has_trait(each, Trait.RESIZES) for each in view.library_of(op)):
            given = None if call.first is None else view.origin(call.first)
            if isinstance(given, Display):
                return len(given.items) > 1 and any(is_itself(item.value) for item in given.items)
            return call.first is not None and is_itself(call.first)
        case _:
            return False


def _is_of_unknown_shape(value: Value) -> bool:
    if isinstance(value, UnknownValue):
        return value.may_be_tensor
    return isinstance(value, TensorValue) and value.kind is TensorKind.TENSOR and value.type.shape is None


def _variant(
    op: OpId, shown: str, first: list[tuple[Value, Value]], pairs: list[tuple[Value, Value]]
) -> Iterator[LocalHazard]:
    """A variable that an iteration changes to another type or shape: `first` are the values in first iterations,
    `pairs` are possible values.
    """
    for certain, given in ((True, first), (False, pairs)):
        problems = [_difference(start, end) for start, end in given]
        found = next(filter(None, problems), None)
        if found is not None:
            yield LocalHazard(
                op,
                f"{shown} {found} after an iteration: in a graph, a loop cannot change dtypes or shapes",
                None if certain or all(problems) else f"{shown} keeps its type and shape in the loop",
            )
            return
    # the possible values of definitions have not passed through `set_shape`: only their eager view is compared
    possible = [(without_marks(start), without_marks(end)) for start, end in pairs]
    if any(_may_grow(start, end) for start, end in (*first, *possible)):
        yield LocalHazard(
            op,
            f"{shown} may have another shape after an iteration: a loop in a graph keeps shapes",
            f"{shown} keeps its shape in the loop",
        )
    elif any(_loses_dtype(start, end) for start, end in pairs):
        yield LocalHazard(
            op,
            f"{shown} may have another dtype after an iteration: a loop in a graph keeps dtypes",
            f"{shown} keeps its dtype in the loop",
        )
    elif any(is_open(start) and (is_open(end) or isinstance(end, UnknownValue)) for start, end in pairs):
        yield LocalHazard(
            op,
            f"{shown} is a list or dict that an iteration sets: a loop in a graph keeps its number of elements",
            f"{shown} has as many elements after an iteration as before",
        )


def _parts_in_loops_over_datasets(view: ContextView) -> Iterator[LocalHazard]:
    """Attributes and items that such a loop sets: it makes a list one tensor, and an item must exist before it."""
    for write in part_writes(view):
        for region in view.staged_around(write.op):
            if not _is_over_dataset(view, region) or is_made_within(view, write.owner, region):
                continue
            if not is_returned(view, region, variables_of_target(view, write)):
                continue
            if any(map(_holds_list, members(displayed(view, write.value)))):
                yield LocalHazard(write.op, f"`{view.written(write.op)}` {_LIST}")
            elif isinstance(write, ItemWrite) and _is_missing(view, write, region):
                yield LocalHazard(
                    write.op,
                    f"`{view.written(write.op)}` does not exist before the loop over a dataset: in a graph it must have a value there",
                )


def _parts_in_loops(view: ContextView) -> Iterator[LocalHazard]:
    """Attributes and items that get another type or shape in the first iteration."""
    for fact in view.branches.values():
        region = view.code.regions[fact.op] if fact.parts else None
        if region is None or not region.is_loop or _has_invariants(view, region):
            continue
        for op, after, before in fact.parts:
            write = view.made(op)
            if not isinstance(write, AttributeWrite | ItemWrite) or before in (NONE, UNBOUND):
                continue
            if is_returned(view, region, variables_of_target(view, write)):
                yield from _variant(op, f"`{view.written(op)}`", [(before, after)], [])


def _has_invariants(view: ContextView, region: Region) -> bool:
    """Whether a loop declares the shapes of its variables."""
    return any(region.holds(call.op) for call, _ in view.calls_with(Trait.LOOP_OPTIONS))


def _is_missing(view: ContextView, write: ItemWrite, region: Region) -> bool:
    """Whether a dict that the function made certainly has no such item before a loop."""
    key, holders = view.value(write.index), members(view.value(write.owner))
    if not isinstance(key, Constant) or key == NONE or not all(isinstance(each, Reference) for each in holders):
        return False
    made = [view.facts.objects[each.object] for each in holders if isinstance(each, Reference)]
    if any(each.kind is not ObjectKind.DICT or each.function != view.function.id or each.op is None for each in made):
        return False
    others = [each for each in view.reached(ItemWrite) if not region.holds(each.op)]
    changed = any(set(members(view.value(each.owner))) & set(holders) for each in others)
    displays = [view.made(each.op) for each in made if each.op is not None]
    is_known = all(
        isinstance(each, Display)
        and not each.is_comprehension
        and all(item.key is not None and isinstance(view.value(item.key), Constant) for item in each.items)
        for each in displays
    )
    return is_known and not changed and not any(initial_values(view, each, key) for each in holders)


def _is_over_dataset(view: ContextView, region: Region | None) -> bool:
    """Whether a loop is over a dataset itself, which reduces it in a graph. A loop over an iterator is a `tf.while_loop`."""
    iterated = None if region is None else region.iterated
    return iterated is not None and view.any_of(
        iterated, lambda one: isinstance(one, DatasetValue) and not one.iterator
    )


def _holds_list(value: Value) -> bool:
    """Whether it is a list, or a tuple or dict with one in it: as an element of a dataset it is a single tensor."""
    match value:
        case FrozenList():
            return True
        case TupleValue(elements=parts):
            return any(_holds_list(each) for part in parts for each in members(part))
        case FrozenDict(items=items):
            return any(_holds_list(each) for _, part in items for each in members(part))
        case _:
            return False


def _is_text(value: Value) -> bool:
    return (isinstance(value, Constant) and isinstance(value.value, str)) or (
        isinstance(value, Scalar) and value.type is PythonType.STR
    )


def _difference(before: Value, after: Value) -> str | None:
    """The certain change of the value's type in a graph."""
    befores, afters = members(before), members(after)
    if len(befores) != 1 or len(afters) != 1:
        return None
    one, other = befores[0], afters[0]
    if isinstance(one, TupleValue) and isinstance(other, TupleValue):
        return "has another length" if len(one.elements) != len(other.elements) else None
    if isinstance(one, TupleValue | FrozenList | FrozenDict) or isinstance(other, TupleValue | FrozenList | FrozenDict):
        return mismatch(one, other)
    first, second = graph_dtype(one), graph_dtype(other)
    if first is not None and second is not None and first != second:
        return f"is {second} instead of {first}"
    start, end = graph_shape(one), graph_shape(other)
    if start is not None and end is not None:
        if len(start) != len(end):
            return f"has rank {len(end)} instead of {len(start)}"
        for a, b in zip(start, end, strict=True):
            if isinstance(a, int) and isinstance(b, int) and a != b:
                return f"has size {b} instead of {a} along an axis"
    return None


def _may_grow(before: Value, after: Value) -> bool:
    befores, afters = members(before), members(after)
    if len(befores) != 1 or len(afters) != 1:
        return False
    one, other = graph_shape(befores[0]), graph_shape(afters[0])
    if one is None or other is None:
        # a sum that starts as a Python number: in most cases a tensor of unknown shape is no scalar
        return one == () and not isinstance(befores[0], TensorValue) and _is_of_unknown_shape(afters[0])
    return any(isinstance(a, int) and not isinstance(b, int) for a, b in zip(one, other, strict=True))


def _loses_dtype(before: Value, after: Value) -> bool:
    """Whether the dtype is known before an iteration, and is one of several after it."""
    return graph_dtype(before) is not None and (
        isinstance(after, TensorValue) and after.kind is TensorKind.TENSOR and after.type.dtype is None
    )


RULE: Final = Rule(
    id="TR307",
    name="loop-variant-shape",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A variable of a loop on tensors that grows, or changes its rank or dtype, from one iteration to the next raises in a graph.",
    explanation=(
        "AutoGraph turns the loop into `tf.while_loop`, whose variables must keep shape and dtype: `ValueError: 'y' has shape (1,) before "
        "the loop, but shape (2,) after one iteration. Use tf.autograph.experimental.set_loop_options to set shape invariants`, or "
        "`TypeError: Input 'y' of 'AddV2' Op has type float32 that does not match type int32` where a sum starts as the Python number 0. "
        "A sum that starts as `0.0` is a scalar: `ValueError: 'y' has shape () before the loop, but shape (2,) after one iteration`. A "
        "variable that is None before the loop, or assigned only in it, is allowed in a loop over a tensor. In a loop over a dataset it "
        "raises `ValueError: 'y' must be defined before the loop`. Loop variables cannot be objects; attributes of objects can be loop "
        "variables."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    total = tf.constant(0.0)
    for _ in x:  # TR307
        total = total + x
    return total


result = step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    total = tf.zeros([3])
    for _ in x:
        total = total + x
    return total


result = step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    total = tf.constant(0.0)
    for _ in range(3):
        total = total + x
    return total


result = step(tf.ones([3]))
""",
    ),
    cure="Start with a value of the final type, use a `tf.TensorArray`, or declare `shape_invariants`.",
    check=check,
    compares_structures=True,
)
