"""Keras's calls of program classes: `__call__` runs `build` once and then `call`. For `fit` and similar methods see
`keras_training`.

Computes: the calls that Keras makes into the program. Needs: class lookup. Gives: `KERAS_PROTOCOL`, by method name.

Source: `keras.layers.Layer.__call__`, `keras.losses.Loss.__call__`, `keras.metrics.Metric.__call__`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from terra_refactor.analysis.binding import bind_library_arguments, may_be_given
from terra_refactor.analysis.classes import find_method
from terra_refactor.analysis.configuration import CONFIGURATION, CONFIGURED, configuration_of, with_floats
from terra_refactor.analysis.engine import Code, Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.transfer.allocation import thaw
from terra_refactor.analysis.transfer.iteration import iterate
from terra_refactor.analysis.transfer.keras_shapes import (
    add_to_sequential,
    call_sequential,
    forget_output,
)
from terra_refactor.domain.dtype import FLOATING, DType
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.state import CLASS
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    UNKNOWN_TENSOR,
    BoundMethod,
    Constant,
    FrozenDict,
    FrozenList,
    FunctionValue,
    Reference,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    Value,
    members,
)
from terra_refactor.ir.function import ParameterKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.graph_traits import LAYER, LOSS, METRIC, MODEL, SEQUENTIAL
from terra_refactor.tf_model.keras.layer_call import Settings
from terra_refactor.tf_model.keras.ready_models import output_of_layer
from terra_refactor.tf_model.library_objects import CONSTRUCTED_FROM

Protocol: TypeAlias = Callable[[Site, str, CallArguments, Value], "Value | None"]


def own_method(site: Site, receiver: Value, name: str) -> Value | None:
    """The method of that name that the program defines for the instance; None if only the library does."""
    if not isinstance(receiver, Reference):
        return None
    method = find_method(site, receiver, name)
    if isinstance(method, BoundMethod) and isinstance(method.function, FunctionValue):
        return method
    return None


def call_instance(site: Site, name: str, arguments: CallArguments, receiver: Value) -> Value | None:
    """`layer(x)`: on the first call `build` with the shape of the input, then `call`."""
    method = own_method(site, receiver, "call")
    if method is None:
        if name == f"{SEQUENTIAL}.__call__" and arguments.positional:
            return call_sequential(site, name, receiver, arguments.positional[0])
        return None
    ensure_built(site, receiver, arguments)
    result = site.call(method, _as_call_gets_them(site, method, arguments, receiver))
    if any(_has_keras_tensors(freeze(site.frame, value)) for value in arguments.positional):
        # `call` ran on the placeholders of a discarded graph; its result is part of the model
        return _map_leaves(site, result, _as_keras_tensor, "result")
    return result


def _as_call_gets_them(site: Site, method: Value, arguments: CallArguments, receiver: Value) -> CallArguments:
    """The arguments that `Layer.__call__` passes to `call`: arrays as tensors, floats in the layer's dtype, `training` if `call` has it."""
    engine = site.engine
    dtype = Settings(with_floats(configuration_of(site.frame, receiver), engine.floats)).compute_dtype()
    accepted = parameter_names(engine, method)
    return CallArguments(
        tuple(_converted(site, value, dtype, position) for position, value in enumerate(arguments.positional)),
        tuple(
            (name, as_tensor(value, dtype))
            for name, value in arguments.keywords
            if accepted is None or name in accepted or name not in _ARGUMENTS_OF_KERAS
        ),
        arguments.open_positional,
        arguments.open_keywords,
    )


def _converted(site: Site, value: Value, dtype: DType | None, position: int) -> Value:
    """`as_tensor`, also for the contents of lists and dicts, which become new containers."""
    return _map_leaves(site, value, lambda leaf: as_tensor(leaf, dtype), "argument", position)


def _map_leaves(site: Site, value: Value, function: Callable[[Value], Value], *tag: object) -> Value:
    """Applies a function to the tensors of a structure; returns the same containers if nothing changes."""
    if not isinstance(value, Reference):
        return function(value)
    content = freeze(site.frame, value)
    if not isinstance(content, FrozenList | FrozenDict):
        return value
    made = read.map_structure(function, content)
    return value if made == content else thaw(site, made, tag)


def _has_keras_tensors(value: Value) -> bool:
    match value:
        case TensorValue():
            return value.kind is TensorKind.KERAS
        case TupleValue():
            return any(map(_has_keras_tensors, value.elements))
        case UnionValue():
            return any(map(_has_keras_tensors, value.members))
        case FrozenList():
            return any(map(_has_keras_tensors, (*(value.elements or ()), *((value.element,) if value.element else ()))))
        case FrozenDict():
            return any(_has_keras_tensors(item) for _, item in value.items)
        case _:
            return False


def _as_keras_tensor(value: Value) -> Value:
    if isinstance(value, TensorValue) and value.kind is TensorKind.TENSOR:
        return TensorValue(value.type, TensorKind.KERAS)
    if isinstance(value, TupleValue):
        return TupleValue(tuple(map(_as_keras_tensor, value.elements)), value.name, value.fields, value.cls)
    if isinstance(value, UnionValue):
        return join_all(map(_as_keras_tensor, value.members))
    return value


_ARGUMENTS_OF_KERAS: Final = ("training", "mask")


def parameter_names(engine: Code, method: Value) -> frozenset[str] | None:
    """The parameters of a method of the program; None if it takes any (`**kwargs`) or is not one."""
    function = method.function if isinstance(method, BoundMethod) else method
    if not isinstance(function, FunctionValue):
        return None
    parameters = engine.code_of(FunctionId(*function.function)).parameters
    if any(parameter.kind is ParameterKind.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters)


_BECOMES_TENSOR: Final = (TensorKind.NDARRAY, TensorKind.VARIABLE, TensorKind.TENSOR, TensorKind.KERAS)


def as_tensor(value: Value, dtype: DType | None) -> Value:
    """The argument as a layer's `call` receives it: arrays and Keras placeholders become tensors, floats get the
    layer's dtype.
    """
    if isinstance(value, TensorValue) and value.kind in _BECOMES_TENSOR:
        own = value.type.dtype
        if own in FLOATING and own != dtype:
            return TensorValue(TensorType(dtype, value.type.shape))
        return value if value.kind is TensorKind.TENSOR else TensorValue(value.type, TensorKind.TENSOR)
    if isinstance(value, TupleValue):
        elements = tuple(as_tensor(element, dtype) for element in value.elements)
        return TupleValue(elements, value.name, value.fields, value.cls)
    if isinstance(value, UnionValue):
        return join_all(as_tensor(member, dtype) for member in value.members)
    return value


def ensure_built(site: Site, receiver: Value, arguments: CallArguments) -> None:
    """Runs the program's `build` of a layer with the shape of its first input, once on each path."""
    frame = site.frame
    build = own_method(site, receiver, "build")
    if build is None or not isinstance(receiver, Reference):
        return
    mark = (receiver.object, "@built")
    if frame.state.get(mark) is not None:
        return
    frame.state.set(mark, receiver)
    first = arguments.positional[0] if arguments.positional else UNKNOWN
    site.call(build, CallArguments((shape_of(first),)))


def shape_of(value: Value) -> Value:
    """The shape of an input as `build` receives it."""
    shapes: list[Value] = []
    for member in members(value):
        match member:
            case TensorValue():
                shapes.append(ShapeValue(member.type.shape))
            case TupleValue():
                shapes.append(TupleValue(tuple(shape_of(element) for element in member.elements)))
            case _:
                shapes.append(ShapeValue(None))
    return join_all(shapes) if shapes else ShapeValue(None)


def call_loss(site: Site, name: str, arguments: CallArguments, receiver: Value) -> Value | None:
    """`loss(y_true, y_pred)` and `metric(y_true, y_pred)` for a class of the program."""
    if registry.is_library_subclass(name.rpartition(".")[0], LOSS):
        method = own_method(site, receiver, "call")
        if method is None:
            return None
        site.call(
            method, replace(arguments, positional=tuple(map(partial(_as_loss_gets_it, site), arguments.positional)))
        )
        return UNKNOWN_TENSOR
    if registry.is_library_subclass(name.rpartition(".")[0], METRIC):
        method = own_method(site, receiver, "update_state")
        if method is None:
            return None
        site.call(method, arguments)
        result = own_method(site, receiver, "result")
        return UNKNOWN_TENSOR if result is None else site.call(result, CallArguments())
    return call_instance(site, name, arguments, receiver)


def _as_loss_gets_it(site: Site, value: Value) -> Value:
    """An argument of `loss(...)`: Keras 3 converts it to the dtype of the loss, Keras 2 leaves it as it is."""

    def converted(leaf: Value) -> Value:
        if not isinstance(leaf, TensorValue) or leaf.kind is TensorKind.RAGGED:
            return leaf
        kept = leaf.type.dtype if leaf.type.dtype == site.engine.floats else None
        return TensorValue(TensorType(kept, leaf.type.shape))

    return join_all(read.map_structure(converted, member) for member in members(value))


def add_layer(site: Site, name: str, arguments: CallArguments, receiver: Value) -> Value | None:
    """`model.add(layer)` of a `keras.Sequential`: its layers are part of its configuration."""
    frame = site.frame
    if not isinstance(receiver, Reference) or not registry.is_library_subclass(name.rpartition(".")[0], SEQUENTIAL):
        return None
    layer = arguments.positional[0] if arguments.positional else UNKNOWN
    layers = frame.state.get((receiver.object, CONFIGURATION + "layers"))
    elements: tuple[Value, ...] | None = ()
    if layers is not None and layers != NONE:
        elements = iterate(site, layers).elements
    if elements is None or frame.uncertainty:
        configure(frame, receiver, "layers", UNKNOWN)
    else:
        configure(frame, receiver, "layers", TupleValue((*elements, layer)))
        add_to_sequential(site, receiver, layer)
    return NONE


def take_layer(site: Site, name: str, arguments: CallArguments, receiver: Value) -> Value | None:
    """`model.pop()` of a `keras.Sequential`: its remaining layers are not tracked."""
    is_model = registry.is_library_subclass(name.rpartition(".")[0], SEQUENTIAL)
    if not isinstance(receiver, Reference) or not is_model:
        return None
    configure(site.frame, receiver, "layers", UNKNOWN)
    forget_output(site.frame, receiver)
    return UNKNOWN


def layer_of(site: Site, name: str, arguments: CallArguments, receiver: Value) -> Value | None:
    """`model.get_layer("hidden")` or `get_layer(index=0)` of a `keras.Sequential` whose layers are known, and
    `get_layer("block1_pool")` of a model of `keras.applications`.
    """
    frame = site.frame
    if not registry.is_library_subclass(name.rpartition(".")[0], MODEL) or not isinstance(receiver, Reference):
        return None
    configuration = configuration_of(frame, receiver)
    layers = read.elements(configuration.get("layers"))
    given = dict(zip(("name", "index"), arguments.positional, strict=False)) | dict(arguments.keywords)
    if layers is None and len(given) == 1:
        return _layer_of_ready_model(site, receiver, configuration, read.text(given.get("name")))
    if layers is None or len(given) != 1:
        return None
    # an input is no layer of the model
    layers = tuple(layer for layer in layers if not isinstance(layer, TensorValue))
    if (index := read.known_integer(given.get("index"))) is not None:
        return layers[index] if 0 <= index < len(layers) else None
    wanted = read.text(given.get("name"))
    for layer in layers if wanted is not None else ():
        if isinstance(layer, Reference) and configuration_of(frame, layer).get("name") == Constant(wanted):
            return layer
    return None


def symbol_of_model(site: Site, model: Reference, symbol: TensorValue) -> TensorValue | None:
    """A symbolic tensor of a model, where the function reads it: the symbol itself if it built the model, None if it
    only looks at a model.

    If it builds another model, on parts of this one, a tensor of that type: TR311 is about captured symbols that a
    function computes with, and a graph may build a model on them.
    """
    if model.object in site.frame.allocated:
        return symbol
    builds = MODEL.rpartition(".")[2] in site.engine.code.names_called(site.frame.function)
    return TensorValue(symbol.type) if builds else None


def _layer_of_ready_model(
    site: Site, model: Reference, configuration: Mapping[str, Value], name: str | None
) -> Value | None:
    """A layer with its output. Only where models are built, like `model.output`; its class is unknown."""
    found = None if name is None else output_of_layer(configuration, name)
    output = None if found is None else symbol_of_model(site, model, found)
    if output is None:
        return None
    number = site.allocate(ObjectKind.INSTANCE, "Layer", name)
    site.frame.state.set((number, CLASS), UNKNOWN)
    site.frame.state.set((number, "output"), output)
    return Reference(number)


def initialize_layer(site: Site, name: str, arguments: CallArguments, receiver: Value) -> Value | None:
    """`super().__init__(...)` of a layer or model of the program: the dtype is part of its configuration, and so are the
    inputs and outputs of a functional model (`super().__init__(inputs, outputs)`), and all arguments of a layer that
    computes something itself (`super().__init__(units, return_sequences=True)` of an `LSTM`).
    """
    owner = name.rpartition(".")[0]
    if not isinstance(receiver, Reference) or not registry.is_library_subclass(owner, LAYER):
        return None
    if owner not in _OF_PROGRAM and (base := registry.lookup(owner)) is not None:
        bound, _, keywords, incomplete = bind_library_arguments(base, arguments)
        if incomplete:
            bound |= {each.name: UNKNOWN for each in base.parameters or () if may_be_given(each, bound)}
        for parameter, value in [*bound.items(), *keywords.items()]:
            configure(site.frame, receiver, parameter, value)
        return None
    given = dict(arguments.keywords)
    dtype = given.get("dtype")
    if dtype is not None:
        configure(site.frame, receiver, "dtype", dtype)
    for parameter, value in zip(CONSTRUCTED_FROM.get(owner, ()), arguments.positional, strict=False):
        given.setdefault(parameter, value)
    if owner in CONSTRUCTED_FROM and {"inputs", "outputs"} <= given.keys():
        for parameter in ("inputs", "outputs"):
            configure(site.frame, receiver, parameter, given[parameter])
    return None


def configure(frame: Frame, instance: Reference, parameter: str, value: Value) -> None:
    """Adds constructor arguments to an instance."""
    names = frame.state.get((instance.object, CONFIGURED))
    known = names.elements if isinstance(names, TupleValue) else ()
    if Constant(parameter) not in known:
        frame.state.set((instance.object, CONFIGURED), TupleValue((*known, Constant(parameter))))
    frame.state.set((instance.object, CONFIGURATION + parameter), value)


_OF_PROGRAM: Final = frozenset({LAYER, *CONSTRUCTED_FROM, SEQUENTIAL})
"""Base classes whose subclasses compute by a `call` or by layers of their own."""

KERAS_PROTOCOL: Final[dict[str, Protocol]] = {
    "__init__": initialize_layer,
    "__call__": call_loss,
    "add": add_layer,
    "pop": take_layer,
    "get_layer": layer_of,
}
