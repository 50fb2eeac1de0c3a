"""The weights of Keras's own layers: `layer.kernel`, `layer.weights`.

Computes: their types from the layer's constructor arguments and its last input. Needs: the tables `WEIGHTS` of `tf_model.keras`.
Gives: `note_input`, for calls of a layer; `weight_attribute`, for reads of attributes; `trainable_weights`.

Ignores: the shapes of weights of models, and of layers of program classes derived from Keras's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.analysis.configuration import CONFIGURATION, configuration_of, with_floats
from terra_refactor.analysis.engine import ProgramSettings, Site
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.library_rules import checked_rule
from terra_refactor.analysis.transfer.allocation import new_list
from terra_refactor.analysis.transfer.keras_protocol import symbol_of_model
from terra_refactor.analysis.transfer.weight_functions import ROLES, call_weight_functions
from terra_refactor.domain.dim import Truth
from terra_refactor.domain.shape import compatible, format_shape
from terra_refactor.domain.state import CLASS
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    Constant,
    FrozenList,
    LibraryValue,
    Reference,
    TensorKind,
    TensorValue,
    Value,
)
from terra_refactor.tf_model.arguments import elements, leaves, shape_argument
from terra_refactor.tf_model.class_names import is_of_layers
from terra_refactor.tf_model.graph_traits import is_of_keras
from terra_refactor.tf_model.interpreted import Interpreted, by_name
from terra_refactor.tf_model.keras import WEIGHTS
from terra_refactor.tf_model.keras.layer_call import Settings
from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.ops.recurrent import CELLS
from terra_refactor.tf_model.spec import ErrorKind, OperationError

_INPUT: Final = "@input"
_LISTS: Final = frozenset({"weights", "variables"})
_TRAINABLE: Final = frozenset({"trainable_weights", "trainable_variables"})
_BIAS: Final = "bias"
_ENDS: Final = {"input": "inputs", "inputs": "inputs", "output": "outputs", "outputs": "outputs"}
"""Attributes of functional models, and the constructor arguments that they give back."""


def note_input(site: Site, receiver: Value, arguments: CallArguments) -> None:
    """Records the input of a layer, and calls the functions of the program that create or constrain its weights.

    It does not read an earlier input, so summaries do not depend on it.
    """
    frame = site.frame
    if not isinstance(receiver, Reference) or not arguments.positional:
        return
    cls = frame.state.get((receiver.object, CLASS))
    given = arguments.positional[0]
    if not isinstance(cls, LibraryValue) or cls.name not in WEIGHTS or not isinstance(given, TensorValue):
        return
    frame.state.set((receiver.object, _INPUT), TensorValue(given.type))
    configuration = configuration_of(frame, receiver)
    own = {name for name, value in configuration.items() if name.endswith(ROLES) and not isinstance(value, Constant)}
    if own:
        settings = Settings(with_floats(configuration, site.engine.floats))
        for name, type_ in WEIGHTS[cls.name](settings, given.type).items():
            # `kernel_initializer` of `kernel`, but `recurrent_initializer` of `recurrent_kernel`
            owner = name if any(f"{name}_{role}" in configuration for role in ROLES) else name.removesuffix("_kernel")
            functions = {role: configuration.get(f"{owner}_{role}") for role in ROLES}
            weight = TensorValue(type_, TensorKind.VARIABLE)
            call_weight_functions(site, weight, functions)


def _build(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`layer.build(shape)` of a Keras layer: creates its weights, like a call with such a shape."""
    shape = shape_argument(freeze(site.frame, arguments.positional[0])) if len(arguments.positional) == 1 else None
    if shape is not None and isinstance(receiver, Reference):
        cls = site.frame.state.get((receiver.object, CLASS))
        if isinstance(cls, LibraryValue) and cls.name in WEIGHTS:
            site.frame.state.set((receiver.object, _INPUT), TensorValue(TensorType(None, shape)))
    return None


def _set_weights(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`layer.set_weights([kernel, bias])` of a Keras layer: requires the same shapes of weights. A layer that is not built
    has none, and refuses any list.
    """
    if isinstance(receiver, Reference) and len(arguments.positional) == 1 and not arguments.keywords:
        layer, given = receiver, freeze(site.frame, arguments.positional[0])
        checked_rule(site, "Layer.set_weights", lambda: _checked_weights(site, layer, given))
    return None


def _get_weights(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`layer.get_weights()` of a Keras layer: its weights as arrays."""
    types = _weights(site, receiver) if isinstance(receiver, Reference) else None
    if types is None:
        return None
    return new_list(site, FrozenList(tuple(TensorValue(each, TensorKind.NDARRAY) for each in types.values())))


def _checked_weights(site: Site, layer: Reference, given: Value) -> Value:
    frame = site.frame
    cls, seen = frame.state.get((layer.object, CLASS)), frame.state.get((layer.object, _INPUT))
    rule = WEIGHTS.get(cls.name) if isinstance(cls, LibraryValue) else None
    arrays = elements(given)
    if rule is None or arrays is None:
        return NONE
    given_type = seen.type if isinstance(seen, TensorValue) else TensorType()
    own = list(rule(Settings(with_floats(configuration_of(frame, layer), site.engine.floats)), given_type).items())
    if len(own) != len(arrays):
        # for some layers not all weights are known
        return NONE
    for (name, weight), array in zip(own, arrays, strict=True):
        if isinstance(array, TensorValue) and compatible(weight.shape, array.type.shape) is Truth.NO:
            message = f"Layer.set_weights: `{name}` has shape {format_shape(weight.shape)}, the value {format_shape(array.type.shape)}"
            raise OperationError(ErrorKind.SHAPE, message, ("weights",))
    return NONE


WEIGHT_SETTERS: Final = {
    **{f"{name}.build": _build for name in WEIGHTS},
    **by_name({Interpreted.SET_WEIGHTS: _set_weights, Interpreted.GET_WEIGHTS: _get_weights}),
}
"""Handlers of methods of layers, by canonical name."""


def weight_attribute(site: Site, layer: Reference, name: str) -> Value | None:
    """A weight, or the list of all weights; None for other attributes."""
    types = _weights(site, layer)
    if types is None:
        return None
    if name in types:
        return TensorValue(types[name], TensorKind.VARIABLE)
    if name == _BIAS and Settings(configuration_of(site.frame, layer)).truth("use_bias") is False:
        return NONE
    if name in _LISTS:
        elements = tuple(TensorValue(type_, TensorKind.VARIABLE) for type_ in types.values())
        return new_list(site, FrozenList(elements))
    return None


def _weights(site: Site, layer: Reference) -> Mapping[str, TensorType] | None:
    """The weights of a layer by name, in the order of `layer.weights`; None for other objects."""
    frame = site.frame
    cls = frame.state.get((layer.object, CLASS))
    rule = WEIGHTS.get(cls.name) if isinstance(cls, LibraryValue) else None
    if rule is None:
        return None
    settings = Settings(with_floats(configuration_of(frame, layer), site.engine.floats))
    given = frame.state.get((layer.object, _INPUT))
    return rule(settings, given.type if isinstance(given, TensorValue) else TensorType())


def trainable_weights(engine: ProgramSettings, attribute: str) -> FrozenList | None:
    """`model.trainable_variables`, by its canonical name, with unknown number and content; None for any other attribute.

    Keras creates the weights of all layers in its default float type, whatever their compute dtype, unless code
    requests another.
    """
    if not is_of_keras(attribute) or attribute.rpartition(".")[2] not in _TRAINABLE:
        return None
    dtype = engine.floats if engine.default_weights else None
    return FrozenList(None, TensorValue(TensorType(dtype), TensorKind.VARIABLE))


def layer_setting(frame: Frame, instance: Reference, name: str) -> Value | None:
    """`layer.units`: a constructor argument that a Keras layer stores unchanged; None for other attributes.

    Recurrent cells of TensorFlow 1 store it as `cell._num_units`.
    """
    cls = frame.state.get((instance.object, CLASS))
    if not isinstance(cls, LibraryValue):
        return None
    if cls.name.startswith(CELLS):
        return frame.state.get((instance.object, CONFIGURATION + name.removeprefix("_")))
    if name not in _KEPT or not is_of_layers(cls.name):
        return None
    return frame.state.get((instance.object, CONFIGURATION + name))


def end_of_model(site: Site, instance: Reference, name: str) -> Value | None:
    """`model.input`, `model.outputs`: the symbolic tensors of a functional model; None for others.

    Only where models are built. Not for one tensor in a list: `model.input` is a list in Keras 3, and a tensor in Keras 2.
    """
    if name not in _ENDS:
        return None
    configuration = configuration_of(site.frame, instance)
    if not {"inputs", "outputs"} <= configuration.keys():
        return None
    given = configuration[_ENDS[name]]
    tensors: list[TensorValue] = []
    for each in leaves(given) or ():
        is_symbol = isinstance(each, TensorValue) and each.kind is TensorKind.KERAS
        symbol = symbol_of_model(site, instance, each) if isinstance(each, TensorValue) and is_symbol else None
        if symbol is None:
            return None
        tensors.append(symbol)
    if not tensors:
        return None
    if name in ("inputs", "outputs"):
        return FrozenList(tuple(tensors))
    if isinstance(given, TensorValue):
        return tensors[0]
    return given if len(tensors) > 1 and tensors[0].kind is TensorKind.KERAS else None


def setting_given_later(frame: Frame, instance: Reference, name: str) -> None:
    """`layer.units = 3`: the attribute no longer has the constructor argument's value; whether the layer is already
    built is not tracked.
    """
    key = (instance.object, CONFIGURATION + name)
    if frame.state.get(key) is not None:
        frame.state.set(key, UNKNOWN)


_KEPT: Final = words(
    "units filters rate axis epsilon momentum num_heads key_dim input_dim output_dim return_sequences return_state use_bias cell "
    "stateful layer go_backwards unroll groups"
)
"""Settings that a layer stores without conversion."""
