"""TR327: the order of `**kwargs` and dicts, which a traced function does not preserve, or does not distinguish."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import Final

from terra_refactor.analysis.facts import ParameterFacts
from terra_refactor.domain.value import UnknownValue, Value, members
from terra_refactor.facts.records import Call, Container, Display, ItemRead, NameRead, Return
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import ParameterKind
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.argument_uses import is_part_of, uses_of
from terra_refactor.rules.dict_keys import may_be_in_other_orders, orders_of_keys
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import POPITEM, built_in
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _dicts(view)
    name = next((p.name for p in view.function.parameters if p.kind is ParameterKind.VAR_KEYWORD), None)
    place = None if name is None else next(_looks_at_order(view, name), None)
    if place is None:
        return
    own = {parameter.name for parameter in view.function.parameters}
    given = [_is_in_order(call, own) for caller, call in view.calls_of_function() if not caller.context.in_graph]
    message = f"`{view.written(place)}` follows the order of the keyword arguments: a traced function gets them sorted by name"
    if False in given:
        yield LocalHazard(place, message, boundary=True)
    elif None in given or not given or view.function_facts.open_callers:
        assumption = f"the order of the arguments in `**{name}` does not matter, or callers give them sorted by name"
        yield LocalHazard(place, message, assumption, boundary=True)


def _dicts(view: ContextView) -> Iterator[LocalHazard]:
    """Dicts that calls pass with the same keys in different orders, which share a graph."""
    if view.context.in_graph and view.function_facts.hybrid is None:
        return
    stars = (ParameterKind.VAR_POSITIONAL, ParameterKind.VAR_KEYWORD)
    plain = {parameter.name for parameter in view.function.parameters if parameter.kind not in stars}
    for parameter in view.function_facts.parameters:
        key = _dicts, view.function.id, parameter.name
        orders, is_open, is_unknown = view.codes.once(key, partial(_orders, parameter))
        place = None
        if orders or is_open:
            place = next(uses_of(view, parameter.name, _looks_at_order, is_part_of), None)
        elif parameter.name in plain and is_unknown:
            place = next(uses_of(view, parameter.name, _looks_at_views, is_part_of), None)
        if place is not None:
            assumed = None if orders else f"all calls pass `{parameter.name}` with its keys in the same order"
            yield LocalHazard(
                place,
                f"`{view.written(place)}` follows the order of `{parameter.name}`, and calls {'' if orders else 'may '}bring "
                "the same keys in different orders: "
                "a traced function has one graph for them",
                assumed,
                boundary=True,
            )


def _orders(parameter: ParameterFacts) -> tuple[frozenset[tuple[Value, ...]], bool, bool]:
    """The different orders of keys that calls pass, whether they may pass other orders, and whether they may pass
    unknown values.
    """
    given = [member for value in parameter.values for member in members(value)]
    is_unknown = any(isinstance(member, UnknownValue) for member in given)
    return orders_of_keys(given), may_be_in_other_orders(given), is_unknown


def _looks_at_views(view: ContextView, name: str) -> Iterator[OpId]:
    """The same for unknown values: only operations that depend on the order of `items`, `keys` or `values`."""
    return _looks_at_order(view, name, only_views=True)


def _looks_at_order(view: ContextView, name: str, *, only_views: bool = False) -> Iterator[OpId]:
    """The operations whose result or control flow depends on the order of the dict."""
    kept = {read.op for read in view.code.of_kind(NameRead) if view.parameter_behind(read.op) == name}
    if not kept:
        return
    itself = frozenset() if only_views else frozenset(kept)
    sequences: set[OpId] = set()
    order_free: set[OpId] = set()
    for op, found in view.calls.items():
        # only dicts have such methods, whatever else is unknown
        made = view.made(op)
        if found.unknown is not None and isinstance(made, Call) and made.owner in kept and made.method is not None:
            if has_trait(built_in(f"dict.{made.method}"), Trait.VIEWS_DICT):
                sequences.add(op)
    for call, function in view.library_calls():
        first = None if call.first is None else view.behind_name(call.first)
        if has_trait(function, Trait.ORDER_FREE):
            order_free.add(call.op)
        elif (has_trait(function, Trait.VIEWS_DICT) and call.owner in kept) or (
            has_trait(function, Trait.KEEPS_ORDER) and (first in itself or first in sequences)
        ):
            sequences.add(call.op)
        elif function == POPITEM and call.owner in kept:
            yield call.op

    def in_order(number: OpId) -> bool:
        return number in sequences or view.behind_name(number) in sequences

    for number, fact in enumerate(view.code.facts):
        region = view.code.regions.get(number)
        iterated = None if region is None else region.iterated
        if iterated is not None and (iterated in itself or in_order(iterated)):
            is_free = isinstance(fact, Display) and (
                fact.kind not in (Container.LIST, Container.GENERATOR)
                or not order_free.isdisjoint(view.code.readers(number))
            )
            if not is_free:
                yield iterated
        match fact:
            case Call(arguments=arguments) if number not in order_free and number not in sequences:
                given = [argument for argument in arguments if argument.spread != "**"]
                spread = any(argument.value in itself and argument.spread == "*" for argument in given)
                if spread or any(in_order(argument.value) for argument in given):
                    yield number
            case ItemRead(owner=int() as items) | Return(value=int() as items) if in_order(items):
                yield number
            case _:
                continue


def _is_in_order(call: Call | None, own: Collection[str]) -> bool | None:
    """Whether a call passes its keyword arguments sorted by name; None if not all are known."""
    if call is None or any(argument.spread == "**" for argument in call.arguments):
        return None
    names = [argument.keyword for argument in call.arguments if argument.keyword and argument.keyword not in own]
    return names == sorted(names)


RULE: Final = Rule(
    id="TR327",
    name="keyword-order",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A traced function gets its `**kwargs` sorted by name, and has one graph for dicts with the same keys in any order.",
    explanation=(
        "A function keeps the order in which its caller wrote the keyword arguments (PEP 468). A traced function sorts them, so that calls "
        "that differ only in this order share a graph: `list(kwargs.values())`, a loop over `kwargs.items()` and `*kwargs.values()` then "
        "see another order. A dict that is an argument keeps its order while the graph is traced, but a later call with the same keys in "
        "another order gets the same graph. Nothing raises."
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
    silent=True,
)
