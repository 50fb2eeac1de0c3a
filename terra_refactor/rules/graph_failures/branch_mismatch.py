"""TR306: branches on a tensor whose outcomes do not match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchFact, BranchKind
from terra_refactor.domain.dtype import BOOL, FLOAT32, INT32, STRING, DType
from terra_refactor.domain.value import (
    NONE,
    UNBOUND,
    BoundMethod,
    Constant,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    PartialValue,
    PythonType,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    is_symbolic_number,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import blocks, walk
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.tensor_choices import is_live, no_choice
from terra_refactor.rules.view import ContextView, is_tensorflow_tensor

_SCALAR_DTYPES: Final = {
    PythonType.BOOL: BOOL,
    PythonType.INT: INT32,
    PythonType.FLOAT: FLOAT32,
    PythonType.STR: STRING,
}
"""What a branch makes of a Python value."""
_BRANCHES: Final = frozenset({"tensorflow.cond", "tensorflow.case", "tensorflow.switch_case"})
"""What traces all the functions that it is given, and eagerly calls one of them."""
_NO_TENSORS: Final = (FunctionValue, LibraryValue, BoundMethod, PartialValue)
END: Final = None
"""The outcome of code that reaches the end of the function without a `return`."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _loops(view)
    yield from _library_conditions(view)
    yield from _fails_where_not_taken(view)
    yield from _objects(view)
    for branch in view.branches.values():
        op = view.op(branch.op)
        if branch.kind is not BranchKind.TENSOR or not isinstance(op, ops.If) or op.is_assert:
            continue
        if all(branch.falls_through):
            for name, first, second in branch.changed:
                problem = mismatch(first, second)
                if problem is not None and is_live(view, op, name):
                    yield LocalHazard(
                        op.id, f"`{name}` {problem} after the branch on a tensor: in a graph both sides must agree"
                    )
                    break
        loop = _python_loop_left(view, op)
        if loop is not None:
            yield LocalHazard(
                op.id,
                f"`{loop}` under a condition on a tensor leaves a Python loop: in a graph such a loop cannot end early",
            )
            continue
        problem = _returns_differ(view, op)
        if problem is not None:
            yield LocalHazard(op.id, f"{problem}: in a graph both sides of the branch must return alike")


def _objects(view: ContextView) -> Iterator[LocalHazard]:
    """Objects and functions that a tensor chooses, or that a side of its branch sets, be it the same on both."""
    for branch in view.branches.values():
        op = view.op(branch.op)
        if branch.kind is not BranchKind.TENSOR:
            continue
        if isinstance(op, ops.IfExpression):
            reason = no_choice(view, view.value(op.then_value)) or no_choice(view, view.value(op.else_value))
            if reason is not None:
                yield LocalHazard(op.id, f"a tensor chooses {reason}: in a graph both sides must give tensors")
        if not isinstance(op, ops.If) or op.is_assert:
            continue
        found = next(_without_choice(view, branch, op), None)
        if found is not None:
            yield LocalHazard(op.id, found)


def _without_choice(view: ContextView, branch: BranchFact, op: ops.If) -> Iterator[str]:
    """What variables hold behind a branch on a tensor that cannot come out of it."""
    for name, first, second in branch.changed if all(branch.falls_through) else ():
        reason = no_choice(view, first) or no_choice(view, second)
        if reason is not None and is_live(view, op, name):
            yield f"`{name}` is {reason} on a side of the branch on a tensor: in a graph both sides must give tensors"
    for block, reaches_end in zip((op.then_block, op.else_block), branch.falls_through, strict=True):
        if not reaches_end:
            continue
        stored = {each.name: each.value for each in walk(block) if isinstance(each, ops.StoreName)}
        for name, value in stored.items():
            if value is None:
                continue
            if view.is_variable(value) and _is_assigned_after(view, op, name):
                yield f"`{name}` is one of several variables: in a graph it is a tensor after the branch, which cannot be assigned"
            reason = no_choice(view, view.value(value))
            if reason is not None and is_live(view, op, name):
                yield f"`{name}` is {reason} after the branch on a tensor: in a graph both sides must give tensors"


def _is_assigned_after(view: ContextView, branch: ops.If, name: str) -> bool:
    """Whether a method that changes a variable is called on what a local variable holds behind a branch."""
    inside = {op.id for op in walk((branch,))}
    return is_live(view, branch, name) and any(
        op.name.startswith(("assign", "scatter_"))
        and op.id > branch.id
        and op.id not in inside
        and isinstance(held := view.op(op.object), ops.LoadName)
        and held.name == name
        for op in view.code.of_kind(ops.LoadAttribute)
    )


def _fails_where_not_taken(view: ContextView) -> Iterator[LocalHazard]:
    """Operations that cannot work, under a condition on a tensor that keeps eager code from running them."""
    failing = {failure.op: failure.message for failure in (*view.context.failures, *view.context.guarded_failures)}
    for number, fact in view.calls.items():
        for callee in fact.callees:
            inside = view.facts.contexts[callee].failures
            if inside and (len(fact.callees) == 1 or _BRANCHES.intersection(fact.library)):
                failing.setdefault(number, inside[0].message)
    for number, message in failing.items():
        called = view.calls.get(number)
        staged = called is not None and bool(_BRANCHES.intersection(called.library))
        if staged or _under_tensor_alone(view, number):
            yield LocalHazard(
                number,
                f"{message}: a trace runs both sides of a condition on a tensor, so in a graph this raises even where it is not reached",
            )


def _under_tensor_alone(view: ContextView, number: OpId) -> bool:
    """Whether a condition on a tensor may leave an operation out, and nothing else may."""
    under = False
    for outer in view.enclosing(number):
        fact = view.branches.get(outer.id)
        if isinstance(outer, ops.Try) or (fact is None and isinstance(outer, ops.If | ops.For | ops.While)):
            return False
        if fact is None:
            continue
        if fact.kind is BranchKind.TENSOR:
            under = under or isinstance(outer, ops.If | ops.While)
        elif isinstance(outer, ops.If | ops.IfExpression | ops.ShortCircuit) and all(fact.taken):
            # of Python's own conditions a trace runs one side
            return False
    return under


def _loops(view: ContextView) -> Iterator[LocalHazard]:
    """Loops on tensors that a condition leaves by `return`, and loops whose condition is a Python value first, and a tensor later."""
    for op in view.code.ops:
        if not isinstance(op, ops.Return) or (op.value is not None and view.context.values[op.value] is None):
            continue
        conditional = False
        for outer in view.enclosing(op.id):
            fact = view.branches.get(outer.id)
            conditional = conditional or isinstance(outer, ops.If)
            if not conditional or fact is None or not isinstance(outer, ops.For | ops.While):
                continue
            if fact.kind in (BranchKind.TENSOR, BranchKind.DATASET):
                yield LocalHazard(
                    op.id,
                    "`return` under a condition in a loop on a tensor: in a graph such a loop only ends with its condition",
                )
                break
    for loop in view.reached(ops.While):
        fact = view.branches.get(loop.id)
        if fact is None:
            continue
        parts = list(_conditions(view, loop.test))
        if fact.kind is BranchKind.TENSOR and not any(_is_tensor(view, part) is True for part in parts):
            mixed = next((part for part in parts if _is_tensor(view, part) is None), None)
            if mixed is not None:
                yield LocalHazard(
                    loop.id,
                    f"`{view.written(mixed)}` is a Python value when the loop starts, and a tensor later: in a graph it must be one "
                    "from the start",
                )
        if isinstance(view.op(loop.test), ops.Literal) and _ends_on_tensor(view, loop):
            yield LocalHazard(
                loop.id,
                "a condition on a tensor ends a `while True` loop: in a graph the loop itself must have that condition",
            )


def _conditions(view: ContextView, number: OpId) -> Iterator[OpId]:
    """The parts of a condition that `and`, `or` and `not` connect."""
    op = view.op(number)
    match op:
        case ops.ShortCircuit(left=left, value=right):
            yield from _conditions(view, left)
            yield from _conditions(view, right)
        case ops.Unary(operator="not", operand=operand):
            yield from _conditions(view, operand)
        case ops.Compare(left=left, right=right):
            tensors = [_is_tensor(view, side) for side in (left, right)]
            yield left if tensors[0] is True or tensors[1] is False else right
        case _:
            yield number


def _is_tensor(view: ContextView, number: OpId) -> bool | None:
    """Whether a result is a tensor in a graph, each time or never; None if it is one only some of the times."""
    found = {is_tensorflow_tensor(member) or is_symbolic_number(member) for member in members(view.value(number))}
    return found.pop() if len(found) == 1 else None if found else False


def _ends_on_tensor(view: ContextView, loop: ops.While) -> bool:
    """Whether a `break` or `return` of the loop is under a condition on a tensor."""
    for op in walk(loop.body):
        if not isinstance(op, ops.Break | ops.Return):
            continue
        under = False
        for outer in view.enclosing(op.id):
            fact = view.branches.get(outer.id)
            under = under or (isinstance(outer, ops.If) and fact is not None and fact.kind is BranchKind.TENSOR)
            if outer.id == loop.id:
                if under:
                    return True
                break
            if isinstance(outer, ops.For | ops.While) and isinstance(op, ops.Break):
                break
    return False


def _library_conditions(view: ContextView) -> Iterator[LocalHazard]:
    """`tf.cond` on a Python bool, or with functions of which the results do not match."""
    for call, name in view.library_calls():
        if name != "tensorflow.cond":
            continue
        asked = view.library_argument(call, name, "pred")
        alternatives = members(view.value(asked)) if asked is not None else ()
        if alternatives and all(_is_python_bool(member) for member in alternatives):
            yield LocalHazard(
                call.id,
                "`tf.cond` gets a Python bool: in a graph it takes tensors only (a Python `if` does what is meant)",
            )
            continue
        fact = view.calls[call.id]
        if len(fact.callees) == 2:
            first, second = (view.facts.contexts[callee].returns for callee in fact.callees)
            problem = mismatch(first, second)
            if problem is not None:
                yield LocalHazard(
                    call.id, f"what the functions of `tf.cond` return {problem}: in a graph both must agree"
                )


def _is_python_bool(value: Value) -> bool:
    return (isinstance(value, Constant) and isinstance(value.value, bool)) or (
        isinstance(value, Scalar) and value.type is PythonType.BOOL and not value.symbolic
    )


def _python_loop_left(view: ContextView, branch: ops.If) -> str | None:
    """How a branch leaves a loop that AutoGraph leaves to Python: `break` or `return`; None if it does not."""
    loop = next((outer for outer in view.enclosing(branch.id) if isinstance(outer, ops.For | ops.While)), None)
    if not isinstance(loop, ops.For):
        return None
    fact = view.branches.get(loop.id)
    if fact is None or fact.kind is not BranchKind.PYTHON:
        return None
    for inner in (*branch.then_block, *branch.else_block):
        if isinstance(inner, ops.Break):
            return "break"
        if isinstance(inner, ops.Return):
            return "return"
    return None


def _returns_differ(view: ContextView, branch: ops.If) -> str | None:
    """What is wrong with the `return`s of the two ways through a branch."""
    if not any(isinstance(inner, ops.Return) for inner in (*branch.then_block, *branch.else_block)):
        return None
    rest = _continuation(view, branch)
    if rest is None:
        return None
    first = _outcomes(view, (*branch.then_block, *rest))
    second = _outcomes(view, (*branch.else_block, *rest))
    if first is None or second is None or not first or not second:
        return None
    for one, other in ((first, second), (second, first)):
        if one == [END] and other != [END]:
            return "only one side of a branch on a tensor returns"
        if all(value == NONE for value in one) and all(value is not END and _has_value(value) for value in other):
            return "one side of a branch on a tensor returns None, the other a value"
    for value in (*first, *second):
        reason = None if value is None else no_choice(view, value)
        if reason is not None:
            return f"a side of a branch on a tensor returns {reason}"
    if len(first) == len(second) == 1 and first[0] is not None and second[0] is not None:
        problem = mismatch(first[0], second[0])
        if problem is not None:
            return f"what is returned {problem} of a branch on a tensor"
    return None


def _has_value(value: Value) -> bool:
    return bool(members(value)) and all(_is_definite(member) and member != NONE for member in members(value))


def _continuation(view: ContextView, branch: ops.If) -> ops.Block | None:
    """What runs after a branch until the function ends; None if that is not plain (the branch is in a loop, a `try`)."""
    rest: list[ops.Op] = []
    inner: ops.Op = branch
    for outer in view.enclosing(branch.id):
        if not isinstance(outer, ops.If | ops.With):
            return None
        rest.extend(_after(inner, next(block for block in blocks(outer) if inner in block)))
        if isinstance(outer, ops.With):
            # AutoGraph looks no further for the other side's `return`
            return tuple(rest)
        inner = outer
    rest.extend(_after(inner, view.function.body))
    return tuple(rest)


def _after(op: ops.Op, block: ops.Block) -> ops.Block:
    return block[block.index(op) + 1 :]


def _outcomes(view: ContextView, code: ops.Block) -> list[Value | None] | None:
    """What running a block to the end of the function may return, `END` where it returns nothing; None if that is not plain."""
    found: list[Value | None] = []
    for position, op in enumerate(code):
        match op:
            case ops.Return():
                return [*found, NONE if op.value is None else _returned(view, op.value)]
            case ops.Raise():
                return found
            case ops.If():
                fact = view.branches.get(op.id)
                if fact is None:
                    return None
                for block, taken in zip((op.then_block, op.else_block), fact.taken, strict=True):
                    if taken:
                        inner = _outcomes(view, (*block, *code[position + 1 :]))
                        if inner is None:
                            return None
                        found.extend(value for value in inner if value not in found)
                return found
            case ops.For() | ops.While() | ops.Try() | ops.With():
                if any(isinstance(inner, ops.Return | ops.Raise) for inner in walk((op,))):
                    return None
            case _:
                pass
    return [*found, END]


def _returned(view: ContextView, number: OpId) -> Value:
    """What a `return` gives; of a display its content, as far as nothing else can have changed it."""
    op = view.op(number)
    match op:
        case ops.BuildDict(items=items):
            keys = [NONE if item.key is None else view.value(item.key) for item in items]
            if all(isinstance(key, Constant) and key != NONE for key in keys):
                return FrozenDict(
                    tuple((key, _returned(view, item.value)) for key, item in zip(keys, items, strict=True))
                )
        case ops.BuildContainer(kind=ops.ContainerKind.LIST, elements=elements):
            if not any(element.starred for element in elements):
                return FrozenList(tuple(_returned(view, element.value) for element in elements))
        case _:
            pass
    return view.value(number)


def mismatch(first: Value, second: Value) -> str | None:
    """How the values of one variable on the two sides of a branch certainly disagree."""
    firsts, seconds = members(first), members(second)
    if (UNBOUND in firsts) is not (UNBOUND in seconds):
        return "is not defined on one side"
    if (firsts == (NONE,)) is not (seconds == (NONE,)) and all(_is_definite(value) for value in (*firsts, *seconds)):
        return "is None on one side only"
    if len(firsts) == len(seconds) == 1:
        a, b = firsts[0], seconds[0]
        if a != b and isinstance(a, _NO_TENSORS) and isinstance(b, _NO_TENSORS):
            return "is another function or class on each side"
        if any(_is_structure(one) and _is_leaf(other) for one, other in ((a, b), (b, a))):
            return "is a tuple, list or dict on one side only"
        if isinstance(a, TupleValue) and isinstance(b, TupleValue):
            if a.name != b.name:
                return "is a tuple of another class on one side"
            if len(a.elements) != len(b.elements):
                return "is a tuple of another length on one side"
            return _elements_mismatch(a.elements, b.elements)
        if isinstance(a, FrozenList) and isinstance(b, FrozenList):
            if a.elements is None or b.elements is None:
                return None
            if len(a.elements) != len(b.elements):
                return "is a list of another length on one side"
            return _elements_mismatch(a.elements, b.elements)
        if isinstance(a, FrozenDict) and isinstance(b, FrozenDict):
            if a.rest is not None or b.rest is not None:
                return None
            ones, others = dict(a.items), dict(b.items)
            if ones.keys() != others.keys():
                return "is a dict with other keys on one side"
            return _elements_mismatch(ones.values(), (others[key] for key in ones))
        one, other = graph_dtype(a), graph_dtype(b)
        if one is not None and other is not None and one != other:
            return f"is {one} on one side and {other} on the other"
    return None


def _elements_mismatch(firsts: Iterable[Value], seconds: Iterable[Value]) -> str | None:
    problem = next(filter(None, map(mismatch, firsts, seconds)), None)
    return None if problem is None else f"holds something that {problem}"


def graph_dtype(value: Value) -> DType | None:
    """The dtype that a value has as a variable of a graph's branch or loop; None where that is not known."""
    match value:
        case TensorValue(kind=TensorKind.TENSOR | TensorKind.VARIABLE):
            return value.type.dtype
        case Constant(bool()):
            return BOOL
        case Constant(int()):
            return INT32
        case Constant(float()):
            return FLOAT32
        case Constant(str()):
            return STRING
        case Scalar():
            return _SCALAR_DTYPES.get(value.type)
        case _:
            return None


def _is_structure(value: Value) -> bool:
    return isinstance(value, TupleValue | FrozenList | FrozenDict)


def _is_leaf(value: Value) -> bool:
    # a tensor without a dtype may be only guessed from how it is used
    return (isinstance(value, TensorValue) and value.type.dtype is not None) or (
        isinstance(value, Constant) and isinstance(value.value, bool | int | float | str)
    )


def _is_definite(value: Value) -> bool:
    return isinstance(value, TensorValue | TupleValue | Scalar | Constant)


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
        "AutoGraph turns the branch into `tf.cond`, both sides of which must give the same structure: `ValueError: 'y' must also be "
        "initialized in the else branch`, `'y' is None at the end of the else branch`, `TypeError: 'y' has dtype float32 in the main "
        "branch, but dtype int32 in the else branch`, or `the else branch must also have a return statement`. A `break` or `return` on "
        "a tensor's value inside a loop over a Python `range` or list raises `NotImplementedError` or `ValueError`, too. Both sides are "
        "traced with the shapes that the arguments have: an operation that these shapes do not allow raises, also on the side that eager "
        "code leaves out (`if tf.rank(x) == 3: x = x[:, :, 0]` with a matrix; a Python `if` on `x.shape` leaves it out in a trace, too). "
        "Objects and functions cannot come out of a branch on a tensor at all, nor can variables that are assigned behind it."
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
)
