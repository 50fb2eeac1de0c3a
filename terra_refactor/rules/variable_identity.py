"""Tests of the identity of a variable argument: one trace serves all variables of the same type.

Computes: nothing. Needs: a `ContextView`. Gives: `identity_uses`, `given_variables`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from terra_refactor.domain.value import (
    FrozenDict,
    FrozenList,
    SequenceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.facts.records import AttributeRead, Literal, Operation
from terra_refactor.facts.view import ContextView, is_variable
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.argument_uses import is_part_of, uses_of
from terra_refactor.rules.rule import LocalHazard
from terra_refactor.tf_model.types_of_numbers import IDENTITY_KEYS

_REFERENCES: Final = frozenset({"ref", "experimental_ref"})
_NAMES: Final = frozenset({"name", "path", "_shared_name", "_unique_id"})
_MAX_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class GivenVariables:
    """The variables among the arguments for a parameter."""

    count: int
    several: bool
    """Whether they include two of one shape and dtype."""
    is_known: bool
    """Whether it is a single, known variable."""
    may_be_more: bool
    """Whether an unknown argument may be a variable."""


def given_variables(given: tuple[Value, ...]) -> GivenVariables:
    """The variables among the arguments for a parameter."""
    variables = [each for value in given for each in _variables(value, 0)]
    several = any(
        one.variable != other.variable and one.type == other.type
        for position, one in enumerate(variables)
        for other in variables[position + 1 :]
    )
    is_known = len(variables) == 1 and variables[0].variable is not None
    return GivenVariables(len(variables), several, is_known, _may_be_variable(given))


def identity_uses(view: ContextView, name: str, given: GivenVariables) -> Iterator[LocalHazard]:
    """The place at which a function tests the identity of a variable argument, if calls pass, or may pass, several."""
    if given.is_known and not view.function_facts.open_callers:
        return
    if not given.count and not given.may_be_more:
        return
    place = next(uses_of(view, name, _asks_for_identity, is_part_of), None)
    if place is not None:
        yield LocalHazard(
            place,
            f"`{view.written(place)}` depends on the identity of the variable `{name}`: a traced function has one graph for all variables "
            "of one shape, made for the first of them",
            None if given.several else f"calls pass one variable as `{name}`, or variables of different shapes",
            boundary=True,
        )


def _asks_for_identity(view: ContextView, name: str) -> Iterator[OpId]:
    for call, function in view.library_calls():
        if function in IDENTITY_KEYS and call.first is not None and _is_variable_of(view, call.first, name):
            yield call.op
    for read in view.reached(AttributeRead):
        # a called method is an attribute that is read
        if read.name in _REFERENCES | _NAMES and _is_variable_of(view, read.owner, name, read.name in _REFERENCES):
            yield read.op
    for operation in view.reached(Operation):
        if operation.symbol in ("is", "is not") and any(
            _is_variable_of(view, side, name)
            and not isinstance(view.made(other), Literal)
            and not is_part_of(view, other, name)
            for side, other in operation.pairs
        ):
            yield operation.op


def _is_variable_of(view: ContextView, number: OpId, name: str, or_unknown: bool = False) -> bool:
    is_it = view.any_of(number, is_variable) or (
        or_unknown and view.any_of(number, lambda each: isinstance(each, UnknownValue))
    )
    return is_it and is_part_of(view, number, name)


def _may_be_variable(given: tuple[Value, ...]) -> bool:
    return any(isinstance(each, UnknownValue) and each.may_be_tensor for each in given)


def _variables(value: Value, depth: int) -> Iterator[TensorValue]:
    """The variables in an argument."""
    if isinstance(value, TensorValue) and value.kind is TensorKind.VARIABLE:
        yield value
    if depth == _MAX_DEPTH:
        return
    match value:
        case TupleValue(elements):
            parts = elements
        case FrozenList(elements, element):
            parts = elements if elements is not None else () if element is None else (element,)
        case FrozenDict(items, rest):
            parts = (*(item for _, item in items), *(() if rest is None else (rest,)))
        case SequenceValue(element):
            parts = (element,)
        case _:
            return
    for part in parts:
        for member in members(part):
            yield from _variables(member, depth + 1)
