"""TR306: branches on a tensor with incompatible outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import MAX_CHANGES, BranchKind, CallFact
from terra_refactor.domain.dtype import INT32
from terra_refactor.domain.value import (
    Constant,
    PythonType,
    Reference,
    Scalar,
    TensorValue,
    Value,
    is_symbolic_number,
    members,
)
from terra_refactor.facts.records import (
    AttributeRead,
    AttributeWrite,
    Call,
    Choice,
    ItemRead,
    ItemWrite,
    NameRead,
    NameWrite,
    Operation,
    Raise,
    Region,
    RegionKind,
    Write,
)
from terra_refactor.facts.staging import Staging, displayed, has_stages, staging_of
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor, is_variable
from terra_refactor.ir.control import RESULT, RETURNED, ControlSite, NodeKind
from terra_refactor.ir.dataflow import UNBOUND_HERE, Definition, DefinitionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.merged_values import disagreement, graph_dtype, graph_shape, mismatch
from terra_refactor.rules.object_parts import initial_values, is_returned, part_writes, variables_of_target
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.tensor_choices import no_choice
from terra_refactor.tf_model.graph_traits import COND, RANK, made_by_autograph
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_ARITHMETIC: Final = frozenset({"+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">="})


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _library_conditions(view)
    yield from _fails_where_not_taken(view)
    yield from _changing_conditions(view)
    yield from _expressions(view)
    yield from _by_rank(view)
    yield from _numbers_converted(view)
    yield from _numbers_made_tensors(view)
    if not has_stages(view):
        return
    staging = staging_of(view)
    yield from _loops_left(view, staging)
    yield from _unbound_reads(view, staging)
    yield from _parts_of_objects(view)
    for site in staging.sites():
        for name, certain in staging.missing(site):
            yield LocalHazard(
                site.op,
                f"`{name}` is set after this, so AutoGraph makes it local to the enclosing iteration or branch: reading it here "
                "raises NameError",
                None if certain else f"`{name}` has a value whenever the function is traced",
            )
        if not site.is_loop:
            yield from _branch(view, staging, site)


def _parts_of_objects(view: ContextView) -> Iterator[LocalHazard]:
    """Attributes and items with constant keys, which AutoGraph makes variables of a branch or loop as it does names.

    Where the values at the ends of a branch are not known, the values written in the function are compared in any order,
    so a mismatch is an assumption.
    """
    yield from _parts_of_branches(view)
    compared = {op for fact in view.branches.values() for op, _, _ in fact.parts}
    written: dict[tuple[object, object], list[Write]] = {}
    for write in part_writes(view):
        part = _part_of(view, write)
        for holder in members(view.value(write.owner)) if part is not None else ():
            written.setdefault((_holder(view, write.owner, holder), part), []).append(write)
    for (place, part), places in written.items():
        around = {write.op: regions for write in places if (regions := list(view.staged_around(write.op)))}
        values = {write.op: displayed(view, write.value) for write in places} if around else {}
        first = initial_values(view, place, part) if around else []
        for stored in places if around else ():
            if stored.op not in around:
                continue
            others = [value for op, value in values.items() if op != stored.op] + first
            sides = list(members(values[stored.op])), [each for value in others for each in members(value)]
            is_open = stored.op not in compared
            found = disagreement(view, *sides) if all(sides) and is_open else None
            in_loop = any(region.is_loop for region in around[stored.op])
            resized = (is_open and _has_other_shape(*sides)) or _is_resized(view, stored.value)
            if found is not None or (in_loop and resized):
                name = view.written(stored.op)
                problem = "may get another shape" if found is None else found[0]
                yield LocalHazard(
                    stored.op,
                    f"`{name}` {problem} in a branch or loop on a tensor: in a graph its values must agree",
                    f"`{name}` has the same structure, dtypes and shapes in and around the branch or loop on a tensor",
                )
                break


def _parts_of_branches(view: ContextView) -> Iterator[LocalHazard]:
    """Attributes and items that a branch sets, and that its two sides leave with incompatible values."""
    for fact in view.branches.values():
        region = view.code.regions[fact.op] if fact.parts else None
        if region is None or region.kind is not RegionKind.IF:
            continue
        for op, first, second in fact.parts:
            write = view.made(op)
            if not isinstance(write, AttributeWrite | ItemWrite):
                continue
            found = disagreement(view, list(members(first)), list(members(second)))
            if found is not None and is_returned(view, region, variables_of_target(view, write)):
                problem, certain = found
                name = f"`{view.written(op)}`"
                yield LocalHazard(
                    op,
                    f"{name} {problem} after the branch on a tensor: in a graph both sides must agree",
                    None
                    if certain
                    else f"{name} has the same structure and dtypes on both sides of the branch on a tensor",
                )


def _is_resized(view: ContextView, number: OpId) -> bool:
    """Whether a function that changes sizes, such as `tf.concat`, computes a value of unknown size."""
    call = view.origin(number)
    return (
        isinstance(call, Call)
        and any(has_trait(name, Trait.RESIZES) for name in view.library_of(call.op))
        and view.any_of(number, lambda each: not isinstance(each, TensorValue) or each.type.shape is None)
    )


def _part_of(view: ContextView, write: AttributeWrite | ItemWrite) -> object:
    """The name of an attribute, or the constant key of an item; None for other keys."""
    if isinstance(write, AttributeWrite):
        return write.name
    key = view.value(write.index)
    return key if isinstance(key, Constant) else None


def _holder(view: ContextView, number: OpId, holder: Value) -> object:
    return holder if isinstance(holder, Reference) else view.written(number)


def _has_other_shape(firsts: list[Value], seconds: list[Value]) -> bool:
    """Whether two values have shapes that certainly differ."""
    shapes = [(graph_shape(one), graph_shape(other)) for one in firsts for other in seconds]
    return any(one is not None and other is not None and one != other for one, other in shapes)


def _by_rank(view: ContextView) -> Iterator[LocalHazard]:
    """Branches by the rank of a tensor, `if tf.rank(x) == 1:`: a trace runs both sides on the tensor that it gets."""
    for branch in view.reached(Region):
        test = None if branch.subject is None else view.made(branch.subject)
        if view.kind_of(branch) is not BranchKind.TENSOR or branch.kind not in (RegionKind.IF, RegionKind.CHOICE):
            continue
        for side in test.sides if isinstance(test, Operation) and test.is_comparison else ():
            asked = view.origin(side)
            if not isinstance(asked, Call) or RANK not in view.library_of(asked.op) or asked.first is None:
                continue
            if view.any_of(asked.first, lambda each: not isinstance(each, TensorValue) or each.type.shape is None):
                written = view.written(asked.first)
                yield LocalHazard(
                    branch.op,
                    f"`{view.written(asked.op)}` is a tensor: a trace runs both sides of the condition, for any rank",
                    f"both sides can be traced for any rank of `{written}`",
                )


def _expressions(view: ContextView) -> Iterator[LocalHazard]:
    """`a if condition else b`, `condition and b` on a tensor: the graph computes both values, and merges them."""
    for choice in view.reached(Choice):
        branch = view.branches.get(choice.op)
        if branch is None or branch.kind is not BranchKind.TENSOR:
            continue
        sides = [list(members(displayed(view, result))) for result in choice.results]
        reasons = (no_choice(view, view.value(result)) for result in choice.results)
        reason = next(filter(None, reasons), None)
        if reason is not None and not choice.is_connective:
            yield LocalHazard(choice.op, f"a tensor chooses {reason}: in a graph both sides must give tensors")
            continue
        found = disagreement(view, *sides) if len(sides) == 2 and all(sides) else None
        if found is not None:
            problem, certain = found
            yield LocalHazard(
                choice.op,
                f"the result of an expression that depends on a tensor {problem}: in a graph both sides must agree",
                None
                if certain
                else "both sides of the expression that depends on a tensor have the same structure and dtypes",
            )


def _branch(view: ContextView, staging: Staging, site: ControlSite) -> Iterator[LocalHazard]:
    """Values that a branch of the graph (an `if`, or one on a flag) cannot return."""
    fact = view.branches.get(site.op)
    exact: dict[str, list[tuple[Value, Value]]] | None = None
    if not site.flags and fact is not None and all(fact.falls_through) and len(fact.changed) < MAX_CHANGES:
        exact = {}
        for changed, first, second in fact.changed:
            exact.setdefault(changed, []).append((first, second))
    assumed: LocalHazard | None = None
    if site.flags and staging.definitions(RETURNED, site.ends[0]) is None:
        if not view.code.of_kind(Raise):
            yield LocalHazard(
                site.op,
                "the following code is never reached eagerly, but it is traced: a graph has both sides of a condition on a tensor",
                "the code that follows can be traced",
            )
        return
    for name in staging.names(site):
        if any(staging.definitions(name, end) is None for end in site.ends):
            return  # an arm raises
        sides = [staging.alternatives(name, end) for end in site.ends]
        # the facts about both ends together, which include conditions and contents of containers
        pairs = [] if exact is None or name == RESULT else exact.get(name, [])
        if pairs:
            sides = [list(members(each)) for each in pairs[0]]
        elif exact is not None and name != RESULT:
            if all(each in sides[0] for each in sides[1]) or site.in_python_loop:
                sides = [sides[0], []]
        found = disagreement(view, *sides)
        for first, second in pairs[1:] if site.in_python_loop and found is None else ():
            later = disagreement(view, list(members(first)), list(members(second)))
            found = found or (None if later is None else (later[0], False))
        if (found is None or not found[1]) and fact is not None and not site.flags and all(fact.falls_through):
            seen = [mismatch(first, second) for changed, first, second in fact.changed if changed == name]
            problem = next(filter(None, seen), None)
            found = found if problem is None else (problem, True)
        if found is not None and not found[1] and site.in_python_loop and exact is None:
            once = disagreement(view, *(staging.alternatives(name, end, first=True) for end in site.ends))
            found = once if once is not None and once[1] else found
        if found is not None:
            problem, certain = found
            if name == RESULT:
                message = (
                    f"the returned value {problem} of a branch on a tensor: in a graph both sides must return the same structure "
                    "and dtypes"
                )
                holds = "both sides of the branch on a tensor return the same structure and dtypes"
            else:
                message = f"`{name}` {problem} after the branch on a tensor: in a graph both sides must agree"
                holds = f"`{name}` has the same structure and dtypes on both sides of the branch on a tensor"
            if certain:
                yield LocalHazard(_place(view, staging, site, name), message)
                return
            assumed = assumed or LocalHazard(site.op, message, holds)
        if (
            not site.flags
            and any(is_variable(part) for side in sides for part in side)
            and _is_assigned_after(view, staging, site, name)
        ):
            yield LocalHazard(
                site.op,
                f"`{name}` is one of several variables: in a graph it is a tensor after the branch, which cannot be assigned",
            )
            return
    if assumed is not None:
        yield assumed


def _place(view: ContextView, staging: Staging, site: ControlSite, name: str) -> OpId:
    """Where to report it: at the branch, or at the `return` in a loop of the graph."""
    around = staging.flow.nodes[site.before].sites
    if name == RESULT and any(staging.flow.sites[number].is_loop and number in staging.staged for number, _ in around):
        returns = [
            staging.flow.nodes[each.place].op
            for end in site.ends
            for each in staging.definitions(name, end) or ()
            if each.kind is DefinitionKind.STORED
        ]
        return min((op for op in returns if op is not None), default=site.op)
    return site.op


def _loops_left(view: ContextView, staging: Staging) -> Iterator[LocalHazard]:
    """Python loops that a tensor condition leaves."""
    for site, flag in staging.loops_left():
        word = "return" if flag == RETURNED else "break"
        if view.code.regions[site.op].kind is RegionKind.WHILE:
            yield LocalHazard(
                site.op,
                f"`{word}` under a condition on a tensor ends a Python `while` loop: in a graph the loop itself must have that condition",
            )
            continue
        setter = next(staging.setters(site, flag), site)
        yield LocalHazard(
            setter.op,
            f"`{word}` under a condition on a tensor leaves a Python loop: in a graph such a loop cannot end early",
        )


def _unbound_reads(view: ContextView, staging: Staging) -> Iterator[LocalHazard]:
    """Reads of names that a trace has not bound, in code for which it is decided only at run time whether it runs."""
    for number, node in enumerate(staging.flow.nodes):
        if node.kind is not NodeKind.READ or node.op is None or not staging.under_staged(node):
            continue
        read = view.made(node.op)
        if not isinstance(read, NameRead) or not read.is_local:
            continue
        found = staging.definitions(read.name, number)
        if found is not None and UNBOUND_HERE in found:
            yield LocalHazard(
                read.op,
                f"`{read.name}` has no value on some path to here: a trace runs this for any value of the condition, and raises",
                None
                if staging.definitions(read.name, number, first=True) == frozenset({UNBOUND_HERE})
                else f"`{read.name}` has a value whenever the function is traced",
            )


def _numbers_converted(view: ContextView) -> Iterator[LocalHazard]:
    """`int(tensor)`, which AutoGraph converts to a cast, combined with a tensor of unknown dtype."""
    for operation in view.code.of_kind(Operation):
        for number, other in operation.pairs if operation.symbol in _ARITHMETIC else ():
            call = view.origin(number)
            dtype = made_by_autograph(view.library_of(call.op)) if isinstance(call, Call) else None
            if dtype != INT32 or not all(map(is_symbolic_number, members(view.value(number)))):
                continue
            if view.all_of(other, lambda each: is_tensorflow_tensor(each) and graph_dtype(each) is None):
                yield LocalHazard(
                    operation.op,
                    f"`{view.written(number)}` is a tensor of {dtype} in a graph: beside one of another dtype it raises",
                    f"`{view.written(other)}` is {dtype}",
                )


def _numbers_made_tensors(view: ContextView) -> Iterator[LocalHazard]:
    """Python numbers that a branch or loop of the graph converts to tensors, combined with a tensor of another dtype: a Python number would
    be converted to that dtype.
    """
    for operation in view.code.of_kind(Operation):
        for number, other in operation.pairs if operation.symbol in _ARITHMETIC else ():
            numbers = members(view.value(number))
            made = [graph_dtype(part) for part in numbers if is_symbolic_number(part)]
            if not made:
                continue
            tensors = members(view.value(other))
            beside = {graph_dtype(part) for part in tensors if is_tensorflow_tensor(part)}
            # with a tensor of unknown dtype, an int is the most likely to be incompatible
            wrong = [
                dtype for dtype in made if dtype == INT32 or (dtype not in beside and None not in {dtype, *beside})
            ]
            merged = _is_merged(view, number) if wrong and len(beside) == 1 and beside != {INT32} else None
            if merged is not None:
                certain = merged and len(wrong) == len(numbers) and len(tensors) == 1
                holds = f"`{view.written(number)}` is a Python number there"
                (dtype,) = beside
                yield LocalHazard(
                    operation.op,
                    f"`{view.written(number)}` is a number, which a branch or loop on a tensor makes a tensor of {wrong[0]}: beside one of "
                    f"{dtype or 'another dtype'} it raises in a graph",
                    f"`{view.written(other)}` is {wrong[0]}" if dtype is None else None if certain else holds,
                )


def _is_merged(view: ContextView, number: OpId) -> bool | None:
    """Whether a result is computed from a value that the graph merges, in every trace; None if in none."""
    match view.made(number):
        case NameRead():
            kinds = [_is_merged_before(view, each) for each in staging_of(view).definitions_of(number)]
            return all(kinds) if any(kinds) else None
        case Operation(sides=sides, is_comparison=False):
            found = [_is_merged(view, side) for side in sides]
            return None if all(each is None for each in found) else found == [False] or True in found
        case AttributeRead() | ItemRead():
            kinds = [is_symbolic_number(each) for each in members(view.value(number))]
            return all(kinds) if any(kinds) else None
        case _:
            return None


def _is_merged_before(view: ContextView, definition: Definition) -> bool:
    """Whether a definition of a variable is a number that the graph merges, or the result of an operator on one."""
    staging = staging_of(view)
    place = None if definition.kind is not DefinitionKind.STORED else staging.flow.nodes[definition.place].op
    write = None if place is None else view.made(place)
    if not isinstance(write, NameWrite):
        return definition.kind is DefinitionKind.MERGED
    value = view.made(write.value)
    sides = value.sides if isinstance(value, Operation) and value.is_arithmetic else (write.value,)
    return any(
        (isinstance(view.made(side), AttributeRead | ItemRead) and _is_merged(view, side) is True)
        or any(each.kind is DefinitionKind.MERGED for each in staging.definitions_of(side))
        for side in sides
    )


def _is_assigned_after(view: ContextView, staging: Staging, site: ControlSite, name: str) -> bool:
    """Whether a local variable set by a branch is changed afterwards by a method."""
    merged = Definition(DefinitionKind.MERGED, staging.flow.sites.index(site))
    for method in view.code.of_kind(AttributeRead):
        held = view.made(method.owner)
        if method.name.startswith(("assign", "scatter_")) and isinstance(held, NameRead) and held.name == name:
            if merged in staging.definitions_of(held.op):
                return True
    return False


def _fails_where_not_taken(view: ContextView) -> Iterator[LocalHazard]:
    """Operations that certainly fail, under a condition on a tensor that keeps eager code from running them."""
    failing = {failure.op: failure.message for failure in (*view.context.failures, *view.context.guarded_failures)}
    for number, fact in view.calls.items():
        for callee in fact.callees:
            inside = view.facts.contexts[callee].failures
            if inside and (len(fact.callees) == 1 or _runs_branches(fact)):
                failing.setdefault(number, inside[0].message)
    for number, message in failing.items():
        called = view.calls.get(number)
        staged = called is not None and _runs_branches(called)
        under, doubt = (True, None) if staged else _under_tensor(view, number)
        if under:
            yield LocalHazard(
                number,
                f"{message}: a trace runs both sides of a condition on a tensor, so in a graph this raises even where it is not reached",
                doubt,
            )


def _runs_branches(fact: CallFact) -> bool:
    return any(has_trait(name, Trait.RUNS_BRANCHES) for name in fact.library)


def _under_tensor(view: ContextView, number: OpId) -> tuple[bool, str | None]:
    """Whether a condition on a tensor may skip an operation, and the condition, if any, under which this does not affect a trace."""
    under: bool = False
    doubt: str | None = None
    for outer in view.enclosing(number):
        fact = view.branches.get(outer.op)
        if fact is None and outer.kind in (RegionKind.IF, RegionKind.FOR, RegionKind.WHILE):
            return False, None
        if outer.kind is RegionKind.TRY:
            doubt = "the `try` around it behaves in a trace as it does eagerly"
        if fact is None:
            continue
        if fact.kind is BranchKind.TENSOR:
            under = under or outer.kind in (RegionKind.IF, RegionKind.WHILE)
        elif outer.kind in (RegionKind.IF, RegionKind.CHOICE) and all(fact.taken) and outer.subject is not None:
            # a trace runs only one side of a Python condition
            doubt = f"`{view.written(outer.subject)}` prevents that from being traced"
        elif outer.kind is RegionKind.CONNECTIVE and all(fact.taken):
            return False, None
    if not under and has_stages(view):
        under = staging_of(view).may_be_left_out(number)
    return under, doubt


def _changing_conditions(view: ContextView) -> Iterator[LocalHazard]:
    """Loops whose condition is a Python value at first, and a tensor later."""
    for loop in view.reached(Region):
        if loop.kind is not RegionKind.WHILE or view.kind_of(loop) is not BranchKind.TENSOR or loop.subject is None:
            continue
        parts = list(_conditions(view, loop.subject))
        if not any(_is_tensor(view, part) is True for part in parts):
            mixed = next((part for part in parts if _is_tensor(view, part) is None), None)
            if mixed is not None:
                yield LocalHazard(
                    loop.op,
                    f"`{view.written(mixed)}` is a Python value when the loop starts, and a tensor later: in a graph it must be one "
                    "from the start",
                )


def _conditions(view: ContextView, number: OpId) -> Iterator[OpId]:
    """The parts of a condition that `and`, `or` and `not` connect."""
    match view.made(number):
        case Choice(is_connective=True, results=parts) | Operation(symbol="not", sides=parts):
            for part in parts:
                yield from _conditions(view, part)
        case Operation(is_comparison=True, left=left, right=int() as right):
            tensors = [_is_tensor(view, side) for side in (left, right)]
            yield left if tensors[0] is True or tensors[1] is False else right
        case _:
            yield number


def _is_tensor(view: ContextView, number: OpId) -> bool | None:
    """Whether a result is a tensor in a graph: always or never; None if only sometimes."""
    found = {is_tensorflow_tensor(member) or is_symbolic_number(member) for member in members(view.value(number))}
    return found.pop() if len(found) == 1 else None if found else False


def _library_conditions(view: ContextView) -> Iterator[LocalHazard]:
    """`tf.cond` on a Python bool, or with functions whose results are incompatible."""
    for call, name in view.library_calls():
        if name != COND:
            continue
        asked = view.library_argument(call, name, "pred")
        if asked is not None and view.all_of(asked, _is_python_bool):
            yield LocalHazard(
                call.op,
                "`tf.cond` gets a Python bool: in a graph it takes tensors only (use a Python `if`)",
            )
            continue
        fact = view.calls[call.op]
        if len(fact.callees) == 2:
            first, second = (view.facts.contexts[callee].returns for callee in fact.callees)
            problem = mismatch(first, second)
            if problem is not None:
                yield LocalHazard(
                    call.op, f"the result of the functions of `tf.cond` {problem}: in a graph both must agree"
                )


def _is_python_bool(value: Value) -> bool:
    return (isinstance(value, Constant) and isinstance(value.value, bool)) or (
        isinstance(value, Scalar) and value.type is PythonType.BOOL and not value.symbolic
    )


RULE: Final = Rule(
    id="TR306",
    name="branch-mismatch",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary=(
        "A branch on a tensor that gives a variable another type on one side, or leaves it undefined, or returns a value on one side "
        "and None on the other, raises in a graph."
    ),
    explanation=(
        "AutoGraph turns the branch into `tf.cond`, whose sides must give the same structure: `ValueError: 'y' must also be initialized in "
        "the else branch`, `'y' is None at the end of the else branch`, `TypeError: 'y' has dtype float32 in the main branch, but dtype "
        "int32 in the else branch`, or `the else branch must also have a return statement`. A `break` or `return` on a tensor's value "
        "inside a loop over a Python `range` or list raises `NotImplementedError` or `ValueError`, too. Both sides are traced with the "
        "shapes of the arguments, so an operation that is invalid for these shapes raises even on the side that eager code skips (`if "
        "tf.rank(x) == 3: x = x[:, :, 0]` with a matrix; a Python `if` on `x.shape` skips it in a trace, too). A branch cannot return "
        "None, not even on both sides. A Python number becomes an int32 or float32 tensor, which raises if the other side has another "
        "dtype. Reading a name that has no value on some path raises while tracing, even if that path is not taken. Objects and functions "
        "cannot be results of the branch, and neither can `tf.Variable`s that the code after it assigns to: the branch turns them into "
        "tensors."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    if tf.reduce_sum(x) > 0.0:  # TR306
        y = x
    return y


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    y = tf.zeros_like(x)
    if tf.reduce_sum(x) > 0.0:
        y = x
    return y


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x, double=False):
    if double:
        y = x * 2.0
    else:
        y = (x, x)
    return y


step(tf.ones([3]))
""",
    ),
    cure="Give every variable a value of the same type on both sides.",
    check=check,
    cured_by_shim=True,
    compares_structures=True,
)
