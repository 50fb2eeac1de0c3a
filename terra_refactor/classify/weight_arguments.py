"""Variables of Keras as arguments of a traced function.

Computes: whether calls pass one, or Keras itself does. Needs: facts, and the bases of classes. Gives: `weight_problem`.

Source: `tf.function` converts an argument that is a `keras.Variable` (Keras 3) to a tensor; inside of another graph, which
`fit` makes, it raises NotImplementedError. The same for one in a list. A parameter that is only annotated as a variable may be one of
TensorFlow, which is passed as it is.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.facts import CallerFact, FunctionFacts, ParameterFacts, ProgramFacts
from terra_refactor.classify.candidates import derives_from, is_keras_class, made_by
from terra_refactor.domain.value import FrozenList, Reference, TensorKind, TensorValue, Value, members
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import AttributeRead, Call, ItemRead, NameRead
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.graph_traits import CALLED_WITH_VARIABLES, KERAS_VARIABLE, LAYER

_CALL: Final = "__call__"
_USE_VARIABLES: Final = frozenset({"apply", "apply_gradients", "gradient", "jacobian", "minimize"})


def weight_problem(
    codes: Codes, facts: ProgramFacts, code: Function, found: FunctionFacts, parameter: ParameterFacts
) -> str | None:
    """The reason why the function is no graph, if the parameter receives Keras variables."""
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
    if (
        code.takes_self
        and code.parent is not None
        and code.name == _CALL
        and parameter.name != code.parameters[0].name
        and derives_from(codes, facts, code.parent, CALLED_WITH_VARIABLES)
    ):
        return f"Keras passes one of its variables as `{parameter.name}` in the graph of `fit`, where a traced function refuses it"
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
    if may_be and _changes(codes.of(code.id), name):
        return True
    # the views of all callers are made only where one may matter
    if not found.contexts or not (may_be or any(_is_call_method(codes, facts, each) for each in found.callers)):
        return False
    own = ContextView(codes, facts, facts.contexts[found.contexts[0]])
    for caller, call in own.calls_of_function():
        number = None if call is None else caller.given_for(call, code, name)
        if number is not None and (
            (may_be and caller.all_of(number, _is_weight) and _is_of_layer(caller, number))
            or _is_given_by_keras(caller, number)
        ):
            return True
    return False


def _is_call_method(codes: Codes, facts: ProgramFacts, place: CallerFact) -> bool:
    return codes.program.function(facts.function_of(place.context)).name == _CALL


def _is_given_by_keras(view: ContextView, number: OpId) -> bool:
    """Whether a result is the argument of a regularizer, constraint or schedule, which Keras calls with a variable."""
    function = view.function
    if function.name != _CALL or function.parent is None or not function.takes_self:
        return False
    read = view.origin(number)
    return (
        isinstance(read, NameRead)
        and view.code.has_parameter(read.name)
        and not view.code.given_to(read)
        and derives_from(view.codes, view.facts, function.parent, CALLED_WITH_VARIABLES)
    )


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
