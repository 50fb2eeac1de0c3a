"""Variables of Keras as arguments of a traced function.

Computes: whether calls pass one, or Keras itself does. Needs: facts, and the bases of classes. Gives: `weight_problem`.

Source: `tf.function` converts an argument that is a `keras.Variable` (Keras 3) to a tensor; inside of another graph, which
`fit` makes, it raises NotImplementedError. The same for one in a list. A parameter that is only annotated as a variable may be one of
TensorFlow, which is passed as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import FunctionFacts, ParameterFacts, ProgramFacts
from terra_refactor.classify.candidates import is_keras_class, made_by
from terra_refactor.domain.value import FrozenList, Reference, TensorKind, TensorValue, Value, members
from terra_refactor.facts.class_bases import derives_from
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import AttributeRead, Call, ItemRead, NameRead
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.graph_traits import CALLED_WITH_VARIABLES, KERAS_VARIABLE, LAYER

_CALL: Final = "__call__"
_USE_VARIABLES: Final = frozenset({"apply", "apply_gradients", "gradient", "jacobian", "minimize"})


def weight_problem(
    codes: Codes, facts: ProgramFacts, code: Function, found: FunctionFacts, parameter: ParameterFacts
) -> str | None:
    """The reason why the function is no graph, if the parameter receives Keras variables."""
    if (
        code.takes_self
        and code.parent is not None
        and code.name == _CALL
        and parameter.name != code.parameters[0].name
        and derives_from(codes, facts, code.parent, CALLED_WITH_VARIABLES)
    ):
        return f"Keras passes one of its variables as `{parameter.name}` in the graph of `fit`, where a traced function refuses it"
    given = [member for value in parameter.values for member in members(value)]
    if (
        any(KERAS_VARIABLE in made_by(facts, member) for member in given)
        or any(isinstance(member, FrozenList) and _holds_weight(member) for member in given)
        or _receives_weight(codes, facts, code, found, parameter.name, any(map(_is_weight, given)))
    ):
        return (
            f"`{parameter.name}` receives the variables of a model: Keras 3 variables become tensors when they are arguments of a graph, "
            "which no tape watches and no optimizer can update; a call from another graph fails"
        )
    return None


def _is_weight(value: Value) -> bool:
    """Whether a value may be the weight of a layer: a variable that no call of the program created."""
    return isinstance(value, TensorValue) and value.kind is TensorKind.VARIABLE and value.variable is None


def _holds_weight(value: FrozenList) -> bool:
    elements = (*(value.elements or ()), *(() if value.element is None else (value.element,)))
    return any(_is_weight(member) for each in elements for member in members(each))


def _receives_weight(
    codes: Codes, facts: ProgramFacts, code: Function, found: FunctionFacts, name: str, may_be: bool
) -> bool:
    """Whether the function changes a weight that it receives, or a call passes an attribute of a layer, or what Keras passed."""
    if (may_be and _changes(codes.of(code.id), name)) or (code.id, name) in _given_by_keras(codes, facts):
        return True
    if not found.contexts or not may_be:
        return False
    own = ContextView(codes, facts, facts.contexts[found.contexts[0]])
    for caller, call in own.calls_of_function():
        number = None if call is None else caller.given_for(call, code, name)
        if number is not None and caller.all_of(number, _is_weight) and _is_of_layer(caller, number):
            return True
    return False


def _given_by_keras(codes: Codes, facts: ProgramFacts) -> frozenset[tuple[FunctionId, str]]:
    """The parameters that receive what Keras passes to a regularizer, constraint or schedule, handed on by any number of functions."""
    return codes.once_with_looks((_given_by_keras,), lambda: _handed_on(codes, facts))


def _handed_on(codes: Codes, facts: ProgramFacts) -> frozenset[tuple[FunctionId, str]]:
    pending = [
        (function.id, parameter.name)
        for function in map(codes.program.function, codes.functions_named(_CALL))
        if function.takes_self and function.parent is not None
        if derives_from(codes, facts, function.parent, CALLED_WITH_VARIABLES)
        for parameter in function.parameters[1:]
    ]
    found = dict.fromkeys(pending)
    while pending:
        function, name = pending.pop()
        for context in facts.contexts_of(function):
            view = ContextView(codes, facts, context)
            for given in _given_on(view, name):
                if given not in found:
                    found[given] = None
                    pending.append(given)
    return frozenset(found)


def _given_on(view: ContextView, name: str) -> Iterator[tuple[FunctionId, str]]:
    """The parameters of other functions that receive a parameter unchanged."""
    for call in view.reached(Call):
        fact = view.calls.get(call.op)
        for callee in () if fact is None else map(view.of, fact.callees):
            for parameter in callee.function.parameters:
                number = view.given_for(call, callee.function, parameter.name)
                read = None if number is None else view.origin(number)
                if isinstance(read, NameRead) and read.name == name and not view.code.given_to(read):
                    yield callee.function.id, parameter.name


def _is_of_layer(view: ContextView, number: OpId) -> bool:
    """Whether a result is an attribute of a layer or model, or an element of one."""
    made = view.origin(number)
    if isinstance(made, ItemRead):
        made = view.origin(made.owner)
    if not isinstance(made, AttributeRead):
        return False
    return any(
        isinstance(member, Reference)
        and (
            any(registry.is_library_subclass(name, LAYER) for name in made_by(view.facts, member))
            or any(
                is_keras_class(view.codes, view.facts, outline.body)
                for outline in view.codes.classes_named(view.facts.objects[member.object].name)
            )
        )
        for member in members(view.value(made.owner))
    )


def _changes(code: CodeFacts, name: str) -> bool:
    """Whether the function assigns to a parameter, or passes it to a tape or an optimizer."""
    reads = {read.op for read in code.of_kind(NameRead) if read.name == name}
    return any(
        read.owner in reads and read.name.startswith(("assign", "scatter_")) for read in code.of_kind(AttributeRead)
    ) or any(
        call.method in _USE_VARIABLES
        and any(fact.op in reads for each in call.arguments for fact in code.behind(each.value))
        for call in code.of_kind(Call)
    )
