"""Variables of Keras as arguments of a traced function.

Computes: whether calls pass one, or Keras itself does. Needs: facts, and the bases of classes. Gives: `weight_problem`.

Source: `tf.function` converts an argument that is a `keras.Variable` (Keras 3) to a tensor; inside of another graph, which
`fit` makes, it raises NotImplementedError. The same for one in a list, tuple or dict.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.facts import ParameterFacts, ProgramFacts
from terra_refactor.classify.candidates import derives_from, made_by
from terra_refactor.domain.value import (
    FrozenDict,
    FrozenList,
    Reference,
    SequenceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.facts.codes import Codes
from terra_refactor.ir.function import Function
from terra_refactor.tf_model.graph_traits import CALLED_WITH_VARIABLES, KERAS_VARIABLE

_MAX_DEPTH: Final = 4


def weight_problem(codes: Codes, facts: ProgramFacts, code: Function, parameter: ParameterFacts) -> str | None:
    """The reason why the function is no graph, if the parameter receives Keras variables."""
    if any(_holds_weight(facts, value, 0) for value in parameter.values):
        return (
            f"`{parameter.name}` receives the variables of a model: Keras 3 variables become tensors when they are arguments of a graph, "
            "which no tape watches and no optimizer can update; a call from another graph fails"
        )
    if (
        code.takes_self
        and code.parent is not None
        and code.name == "__call__"
        and parameter.name != code.parameters[0].name
    ):
        if derives_from(codes, facts, code.parent, CALLED_WITH_VARIABLES):
            return f"Keras passes one of its variables as `{parameter.name}` in the graph of `fit`, where a traced function refuses it"
    return None


def _holds_weight(facts: ProgramFacts, value: Value, depth: int) -> bool:
    return any(
        _is_weight(facts, member) or _is_structure_with_weight(facts, member, depth) for member in members(value)
    )


def _is_weight(facts: ProgramFacts, value: Value) -> bool:
    """Whether a value is the weight of a layer, or a `keras.Variable`."""
    if isinstance(value, Reference):
        return KERAS_VARIABLE in made_by(facts, value)
    return isinstance(value, TensorValue) and value.kind is TensorKind.VARIABLE and value.variable is None


def _is_structure_with_weight(facts: ProgramFacts, value: Value, depth: int) -> bool:
    match value:
        case TupleValue(elements):
            parts = elements
        case FrozenList(elements, element):
            parts = (*(elements or ()), *(() if element is None else (element,)))
        case FrozenDict(items, rest):
            parts = (*(item for _, item in items), *(() if rest is None else (rest,)))
        case SequenceValue(element):
            parts = (element,)
        case _:
            return False
    return depth < _MAX_DEPTH and any(_holds_weight(facts, part, depth + 1) for part in parts)
