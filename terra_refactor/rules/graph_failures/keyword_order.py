"""TR327: the order of `**kwargs`, which a traced function does not keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.ir import ops
from terra_refactor.ir.function import ParameterKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import operands
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_VIEWS: Final = frozenset(f"builtins.dict.{name}" for name in ("items", "keys", "values"))
_ORDER_FREE: Final = frozenset(
    (
        *(
            f"builtins.{name}"
            for name in ["all", "any", "dict", "frozenset", "len", "max", "min", "set", "sorted", "sum"]
        ),
        "tensorflow.math.add_n",
    )
)
"""What makes the same of the elements in any order."""
_SEQUENCES: Final = frozenset({"builtins.list", "builtins.tuple"})


def check(view: ContextView) -> Iterator[LocalHazard]:
    name = next((p.name for p in view.function.parameters if p.kind is ParameterKind.VAR_KEYWORD), None)
    if name is None:
        return
    place = next(_looks_at_order(view, name), None)
    if place is None:
        return
    given = [
        _in_order(view, caller.context, caller.op) for caller in view.callers if not _in_graph(view, caller.context)
    ]
    message = f"`{view.written(place)}` follows the order of the keyword arguments: a traced function gets them sorted by name"
    if False in given:
        yield LocalHazard(place, message, boundary=True)
    elif None in given or not given or view.function_facts.open_callers:
        assumption = f"the order of the arguments in `**{name}` does not matter, or callers give them sorted by name"
        yield LocalHazard(place, message, assumption, boundary=True)


def _looks_at_order(view: ContextView, name: str) -> Iterator[OpId]:
    """The operations whose result or course depends on the order of the dict."""
    kept = {op.id for op in view.code.of_kind(ops.LoadName) if view.parameter_behind(op.id) == name}
    sequences: set[OpId] = set()
    order_free: set[OpId] = set()
    for call, function in view.library_calls():
        method = view.op(call.function)
        of_dict = isinstance(method, ops.LoadAttribute) and method.object in kept
        first = view.behind_name(call.arguments[0].value) if call.arguments else None
        if function in _ORDER_FREE:
            order_free.add(call.id)
        elif (function in _VIEWS and of_dict) or (function in _SEQUENCES and (first in kept or first in sequences)):
            sequences.add(call.id)
        elif function == "builtins.dict.popitem" and of_dict:
            yield call.id

    def in_order(number: OpId) -> bool:
        return number in sequences or view.behind_name(number) in sequences

    for op in view.code.ops:
        match op:
            case ops.For(iterable=iterable) if iterable in kept or in_order(iterable):
                yield iterable
            case ops.Comprehension(iterable=iterable, kind=kind) if iterable in kept or in_order(iterable):
                ordered = kind in (ops.ComprehensionKind.LIST, ops.ComprehensionKind.GENERATOR)
                if ordered and not any(op.id in operands(view.op(user)) for user in order_free):
                    yield iterable
            case ops.Call(arguments=arguments) if op.id not in order_free and op.id not in sequences:
                given = [argument for argument in arguments if argument.spread is not ops.Spread.DOUBLE_STAR]
                spread = any(argument.value in kept and argument.spread is ops.Spread.STAR for argument in given)
                if spread or any(in_order(argument.value) for argument in given):
                    yield op.id
            case ops.LoadItem(object=items) | ops.Return(value=items) if items is not None and in_order(items):
                yield op.id
            case _:
                continue


def _in_graph(view: ContextView, context: int) -> bool:
    return view.facts.contexts[context].in_graph


def _in_order(view: ContextView, context: int, number: OpId) -> bool | None:
    """Whether a call gives its keyword arguments sorted by name; None if not all are known."""
    call = view.codes.of(view.facts.contexts[context].function).ops[number]
    if not isinstance(call, ops.Call) or any(argument.spread is ops.Spread.DOUBLE_STAR for argument in call.arguments):
        return None
    own = {parameter.name for parameter in view.function.parameters}
    names = [argument.keyword for argument in call.arguments if argument.keyword and argument.keyword not in own]
    return names == sorted(names)


RULE: Final = Rule(
    id="TR327",
    name="keyword-order",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A traced function gets its `**kwargs` sorted by name, not in the order of the call.",
    explanation=(
        "A function keeps the order in which its caller wrote the keyword arguments (PEP 468). A traced function sorts them, so that calls "
        "which differ in nothing else share a graph: `list(kwargs.values())`, a loop over `kwargs.items()` and `*kwargs.values()` then "
        "see another order. Nothing raises."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def stack(**columns):
    return tf.stack(list(columns.values()))  # TR327


rows = stack(width=tf.ones([2]), height=tf.zeros([2]))
""",
        good="""\
import tensorflow as tf


@tf.function
def stack(columns):
    return tf.stack(columns)


rows = stack([tf.ones([2]), tf.zeros([2])])
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def stack(**columns):
    return tf.stack([columns[name] for name in sorted(columns)])


rows = stack(width=tf.ones([2]), height=tf.zeros([2]))
""",
    ),
    cure="Pass a list or a tuple where the order matters, or take the arguments by name.",
    check=check,
    inherited=False,
)
