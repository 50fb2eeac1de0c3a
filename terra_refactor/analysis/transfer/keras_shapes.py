"""Shape checks of Keras when models are built and trained: inputs, widths that layers were built for, labels.

Computes: whether the layers of a sequential model fit each other, whether its input fits their built widths, whether a model's output
fits its loss and labels. Needs: instances of library classes and their configuration. Gives: `add_to_sequential`, `build_sequential`,
`call_sequential`, `check_labels`, `check_numbers`.

Ignores: layers of the program: Keras runs them when a model is built, but the arguments there are no evidence of use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from terra_refactor.analysis.classes import class_name
from terra_refactor.analysis.configuration import configuration_of
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.library_rules import checked_rule, over_combinations
from terra_refactor.domain.dim import definitely_different, format_dim
from terra_refactor.domain.shape import format_shape
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    LibraryValue,
    Reference,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.arguments import elements, leaves
from terra_refactor.tf_model.class_names import is_loss_name, loss_named
from terra_refactor.tf_model.keras.model_inputs import adjusted_input
from terra_refactor.tf_model.library_objects import EMBEDDING, FIXED_WIDTH, KERAS_INPUT
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError

_INPUTS: Final = "@inputs"
"""Field of a sequential model: the inputs of its layers, as far as they follow from its declared input."""
_OUTPUT: Final = "@output"
"""Field of a sequential model: the output of its layers for its declared input."""
_NOTHING_YET: Final = Constant(None)
"""Initial value of the field."""


_SHORT_LOSSES: Final = {
    "mse": "mean_squared_error",
    "MSE": "mean_squared_error",
    "mae": "mean_absolute_error",
    "MAE": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
    "bce": "binary_crossentropy",
    "kld": "kl_divergence",
    "logcosh": "log_cosh",
}


def add_to_sequential(site: Site, model: Reference, layer: Value) -> None:
    """Runs one more layer of a sequential model on the output of the previous ones, as Keras does once it knows the input."""
    frame = site.frame
    given = frame.state.get((model.object, _OUTPUT))
    if isinstance(layer, TensorValue):
        frame.state.set((model.object, _OUTPUT), layer)
        return
    if given is None or given == _NOTHING_YET:
        given = _declared_by(frame, layer)
    inputs = frame.state.get((model.object, _INPUTS))
    known = inputs.elements if isinstance(inputs, TupleValue) else ()
    frame.state.set((model.object, _INPUTS), TupleValue((*known, UNKNOWN if given is None else given)))
    output: Value = UNKNOWN
    if isinstance(given, TensorValue) and class_name(frame, layer) is not None:
        output = site.call(layer, CallArguments((given,)))
    frame.state.set((model.object, _OUTPUT), output)


def forget_output(frame: Frame, model: Reference) -> None:
    """Discards the outputs of the layers of a sequential model."""
    frame.state.set((model.object, _OUTPUT), UNKNOWN)


def _declared_by(frame: Frame, layer: Value) -> TensorValue | None:
    """The input that a first layer declares with `input_shape=`, or `input_dim=`, its only axis."""
    settings = configuration_of(frame, layer)
    given, size = settings.get("input_shape"), settings.get("input_dim")
    if given is None and size is not None and class_name(frame, layer) != EMBEDDING:
        given = TupleValue((size,))
    entity = registry.lookup(KERAS_INPUT)
    if given is None or given == Constant(None) or entity is None or entity.rule is None:
        return None
    made = entity.rule(BoundCall(KERAS_INPUT, {"shape": given}))
    return made if isinstance(made, TensorValue) else None


def build_sequential(site: Site, model: Reference) -> None:
    """Runs the layers with which a sequential model is constructed."""
    # the operation may have created a model before: this one begins without layers
    site.frame.state.set((model.object, _INPUTS), TupleValue(()))
    site.frame.state.set((model.object, _OUTPUT), _NOTHING_YET)
    layers = elements(configuration_of(site.frame, model).get("layers"))
    for layer in layers or ():
        add_to_sequential(site, model, layer)


def call_sequential(site: Site, name: str, receiver: Value, first: Value) -> Value | None:
    """Output of a sequential model that was built for a declared input; None otherwise.

    The input gets the rank of the declared one, as in Keras. Records a failure if it certainly does not fit.
    """
    frame = site.frame
    layers = elements(configuration_of(frame, receiver).get("layers"))
    if not layers or not isinstance(receiver, Reference):
        return None
    built = frame.state.get((receiver.object, _INPUTS))
    inputs = list(built.elements) if isinstance(built, TupleValue) else []
    layers = tuple(layer for layer in layers if not isinstance(layer, TensorValue))
    declared = inputs[0] if inputs and len(inputs) == len(layers) else None
    if not isinstance(declared, TensorValue):
        return None

    def run(member: Value) -> Value:
        alone = elements(member) or ()
        if len(alone) == 1 and isinstance(alone[0], TensorValue) and alone[0].type.shape != ():
            member = alone[0]  # a list of one input is this input
        value = adjusted_input(declared.type.shape, member, "Sequential")
        for layer, expected in zip(layers, inputs, strict=True):
            own_class = class_name(frame, layer)
            if isinstance(value, TensorValue) and isinstance(expected, TensorValue) and own_class is not None:
                _check_width(frame, layer, own_class, expected, value)
            value = site.call(layer, CallArguments((value,)))
            if isinstance(value, UnknownValue):
                break
        return value

    return over_combinations(site, name, members(freeze(frame, first)), run)


def _check_width(frame: Frame, layer: Value, class_name: str, expected: TensorValue, given: TensorValue) -> None:
    """Raises OperationError if the weights of a layer certainly do not fit the last axis of its input."""
    wanted, shape = expected.type.shape, given.type.shape
    if class_name not in FIXED_WIDTH or not wanted or not shape:
        return
    configuration = configuration_of(frame, layer)
    if configuration.get("data_format", Constant(None)) not in (Constant(None), Constant("channels_last")):
        return
    if configuration.get("axis", Constant(-1)) != Constant(-1) or not definitely_different(wanted[-1], shape[-1]):
        return
    raise OperationError(
        ErrorKind.SHAPE,
        f"{class_name.rpartition('.')[2]}: an input of shape {format_shape(shape)}; the layer was built for {format_shape(wanted)}: the "
        f"last axis is {format_dim(shape[-1])} instead of {format_dim(wanted[-1])}",
        ("inputs",),
    )


def check_labels(site: Site, loss: Value, labels: Value, predictions: Value) -> None:
    """Records a failure if labels certainly do not match the output of a model, for a Keras loss with which it was compiled."""
    rule = _loss_rule(site, loss)
    if rule is None or not isinstance(predictions, TensorValue):
        return
    over_combinations(site, "fit", members(freeze(site.frame, labels)), lambda member: rule(member, predictions))


def check_numbers(site: Site, given: Sequence[Value]) -> None:
    """Records a failure if the arrays on which a model is trained or tested certainly differ in their number of examples."""
    shapes = [
        leaf.type.shape
        for value in given
        for leaf in leaves(freeze(site.frame, value)) or ()
        if isinstance(leaf, TensorValue) and leaf.type.shape
    ]

    def check() -> Value:
        for shape in shapes:
            if definitely_different(shape[0], shapes[0][0]):
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"arrays of shape {format_shape(shapes[0])} and {format_shape(shape)} are of {format_dim(shapes[0][0])} and "
                    f"{format_dim(shape[0])} examples (axis 0)",
                    ("x", "y"),
                )
        return UNKNOWN

    checked_rule(site, "fit", check)


def _loss_rule(site: Site, loss: Value) -> Callable[[Value, Value], Value] | None:
    """The rule of a Keras loss given by its short name, as a function or as an object; None for other values."""
    frame = site.frame
    configuration: dict[str, Value] = {}
    if isinstance(loss, Constant) and isinstance(loss.value, str):
        entity = registry.lookup(loss_named(_SHORT_LOSSES.get(loss.value, loss.value)))
    elif isinstance(loss, LibraryValue):
        entity = registry.lookup(loss.name)
    else:
        own_class = class_name(frame, loss)
        if own_class is None or not is_loss_name(own_class):
            return None
        configuration = configuration_of(frame, loss)
        entity = registry.lookup(f"{own_class}.__call__")
    if entity is None or entity.rule is None or not is_loss_name(entity.name):
        return None
    rule, called = entity.rule, entity.name
    return lambda labels, predictions: rule(
        BoundCall(called, {"y_true": labels, "y_pred": predictions}, configuration=configuration)
    )
