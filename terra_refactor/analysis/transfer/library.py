"""Calls of library functions, methods and classes.

Computes: binding of arguments to a library function's parameters, its rule's result, its effects. Needs: the registry
of `tf_model`; the built-in functions that use the heap (`builtin_functions`). Gives: `call_library`.

The result of a function without a rule is an unknown tensor if the catalogue says that it returns tensors, otherwise
an unknown value; both cases are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product, zip_longest
from typing import Final

from terra_refactor.analysis.annotations import annotated_value
from terra_refactor.analysis.binding import bind_library_arguments, is_refused, may_be_given
from terra_refactor.analysis.configuration import (
    CONFIGURATION,
    CONFIGURED,
    configuration_of,
    is_configuration_known,
    with_floats,
)
from terra_refactor.analysis.declarations import Declaration
from terra_refactor.analysis.effects import (
    EXTERNAL,
    external_effect,
    is_local,
    only_local,
    unknown_target,
    write_effect,
)
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.library_rules import over_combinations
from terra_refactor.analysis.testing import PYTEST_MARKS
from terra_refactor.analysis.transfer.allocation import thaw
from terra_refactor.analysis.transfer.arrays import changed_by_call
from terra_refactor.analysis.transfer.builtin_functions import BUILTINS
from terra_refactor.analysis.transfer.command_line import COMMAND_LINE
from terra_refactor.analysis.transfer.contents import note_arguments, note_settings
from terra_refactor.analysis.transfer.data_files import DATA_FILES
from terra_refactor.analysis.transfer.deferred_tensors import DEFERRED_TENSORS, defer, note_array_conversion
from terra_refactor.analysis.transfer.execution_mode import EXECUTION_MODE
from terra_refactor.analysis.transfer.handed_on import HANDED_ON, run_given_functions
from terra_refactor.analysis.transfer.host_callbacks import HOST_CALLBACKS
from terra_refactor.analysis.transfer.keras_protocol import KERAS_PROTOCOL
from terra_refactor.analysis.transfer.keras_settings import KERAS_SETTINGS
from terra_refactor.analysis.transfer.keras_shapes import build_sequential
from terra_refactor.analysis.transfer.keras_training import KERAS_TRAINING
from terra_refactor.analysis.transfer.layer_weights import WEIGHT_SETTERS, note_input
from terra_refactor.analysis.transfer.loaded_numbers import LOADED_NUMBERS
from terra_refactor.analysis.transfer.replicas import REPLICA_FUNCTIONS
from terra_refactor.analysis.transfer.special_methods import asked_of_object, format_object, note_array_of
from terra_refactor.analysis.transfer.tensor_arrays import TENSOR_ARRAYS
from terra_refactor.analysis.transfer.weight_functions import call_weight_functions
from terra_refactor.domain.dtype import DType, dtype_named
from terra_refactor.domain.effect import Effect, EffectKind, RootKind, Target
from terra_refactor.domain.lattice import join, join_all, join_tensors, list_element, references
from terra_refactor.domain.state import CLASS, ITEMS
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import open_number
from terra_refactor.domain.value import (
    NONE,
    UNBOUND,
    UNKNOWN,
    Constant,
    FrozenDict,
    FrozenList,
    LibraryValue,
    Reference,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
    of_release,
    speaks_of_release,
)
from terra_refactor.ir.function import FunctionKind
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.class_names import is_of_layers, name_as_written
from terra_refactor.tf_model.factories import FACTORIES
from terra_refactor.tf_model.graph_traits import (
    FORMAT_METHOD,
    MODEL,
    PARAMETERS_WITH_FUNCTIONS,
    SEQUENTIAL,
    is_of_keras,
)
from terra_refactor.tf_model.keras.ready_models import ready_model
from terra_refactor.tf_model.library_objects import (
    CONSTRUCTED_FROM,
    FLOAT_SETTINGS,
    MADE_OF_CLASS,
    PLACEHOLDERS,
    SETTINGS_OF_PART,
    reads_default_writer,
)
from terra_refactor.tf_model.packages import TENSOR_PACKAGES
from terra_refactor.tf_model.probability import DEFERRED
from terra_refactor.tf_model.python_effects import MUTATING_FUNCTIONS, MUTATING_METHODS
from terra_refactor.tf_model.releases import KERAS_1
from terra_refactor.tf_model.spec import BoundCall, Entity, EntityKind, Trait
from terra_refactor.tf_model.traced_sizes import result_of
from terra_refactor.tf_model.traits import WEIGHTLESS_WITH

_INTERPRETED: Final = {
    **EXECUTION_MODE,
    **KERAS_SETTINGS,
    **PYTEST_MARKS,
    **TENSOR_ARRAYS,
    **COMMAND_LINE,
    **DATA_FILES,
    **LOADED_NUMBERS,
    **HANDED_ON,
    **HOST_CALLBACKS,
    **DEFERRED_TENSORS,
    **REPLICA_FUNCTIONS,
    **WEIGHT_SETTERS,
    **BUILTINS,
}
MAX_COMBINATIONS: Final = 8
"""Maximum number of combinations of alternative arguments for which a rule is evaluated."""


def call_library(
    site: Site, name: str, arguments: CallArguments, receiver: Value | None, *, graph: bool = False
) -> Value:
    """Calls a library entity by its canonical name."""
    engine, frame = site.engine, site.frame
    if name in MADE_OF_CLASS:
        _note_effects(site, name, registry.lookup(name), receiver, arguments)
        name = MADE_OF_CLASS[name]
    frame.call_record(site.op).library[name] = None
    owner, _, leaf = name.rpartition(".")
    if owner in MUTATING_METHODS:
        if receiver is None and arguments.positional:
            # `list.append(values, value)`
            receiver, arguments = arguments.positional[0], replace(arguments, positional=arguments.positional[1:])
        if receiver is not None and leaf not in MUTATING_METHODS[owner]:
            for member in members(receiver):
                if isinstance(member, Reference):
                    # also an object of a subclass
                    frame.note_read(site.op, (member.object, ITEMS))
    note_arguments(site, name, arguments, receiver)
    if name in FLOAT_SETTINGS:
        _set_floats(site, arguments)
    asked = asked_of_object(site, name, arguments)
    if asked is not None:
        _note_effects(site, name, registry.lookup(name), receiver, arguments)
        return asked
    note_array_of(site, name, arguments)
    run_given_functions(site, name, arguments, receiver)
    if name == FORMAT_METHOD:
        for value in (*arguments.positional, *(value for _, value in arguments.keywords)):
            format_object(site, value)
    builtin = _INTERPRETED.get(name)
    if builtin is not None:
        result = builtin(site, arguments, receiver)
        if result is not None:
            _note_effects(site, name, registry.lookup(name), receiver, arguments)
            told = isinstance(result, Scalar) and any(speaks_of_release(value) for value in arguments.positional)
            return of_release(result) if told else result
    entity = registry.lookup(name)
    declared = engine.declarations.get(name)
    if declared is not None and (entity is None or entity.rule is None):
        return _call_declared(site, name, declared, arguments, receiver)
    if receiver is not None and name.endswith(".__call__"):
        note_input(site, receiver, arguments)
    if receiver is not None:
        note_settings(site, owner, leaf, receiver)
    protocol = KERAS_PROTOCOL.get(leaf) or KERAS_TRAINING.get(leaf) if receiver is not None else None
    if protocol is not None and receiver is not None:
        result = protocol(site, name, arguments, receiver)
        if result is not None:
            _note_effects(site, name, entity, receiver, arguments)
            return result
    if entity is None:
        return _call_unlisted(site, name, arguments, receiver)
    _note_effects(site, name, entity, receiver, arguments)
    _change_argument(site, name, arguments)
    changed_by_call(site, name)
    if Trait.CONCRETE_ARRAYS in entity.traits:
        note_array_conversion(site, arguments)
    if Trait.TAKES_TENSORS in entity.traits or (entity.rule is not None and Trait.TENSOR_OPERATION in entity.traits):
        names = (parameter.name for parameter in entity.parameters or ())
        for parameter, value in (*zip_longest(names, arguments.positional), *arguments.keywords):
            if value is not None and parameter not in PARAMETERS_WITH_FUNCTIONS:
                engine.note_usage(value, frame)
    if entity.kind is EntityKind.CLASS and entity.rule is None:
        return _instance_of(site, entity, arguments)
    made = registry.lookup(FACTORIES[entity.name]) if entity.name in FACTORIES else None
    if made is not None:
        return _instance_of(site, made, CallArguments())
    if entity.rule is None:
        ready = _ready_model(site, entity, arguments)
        return _without_rule(site, entity) if ready is None else ready
    result = _with_rule(site, entity, arguments, receiver)
    if leaf == "add_weight":
        call_weight_functions(site, result, dict(arguments.keywords))
    return result


_LAYER_LISTS: Final = frozenset({"add_loss", "add_update"})
"""Without `add_metric`: in a traced function, it updates the variables of the metric on each call."""


def _set_floats(site: Site, arguments: CallArguments) -> None:
    """`set_floatx` and `set_global_policy`.

    Their effect is known in a program of one module, before the first layer: Keras keeps the policy in force when the
    first layer is created.
    """
    engine, frame = site.engine, site.frame
    given = arguments.positional[0] if arguments.positional else UNKNOWN
    floats = dtype_named(given.value) if isinstance(given, Constant) and isinstance(given.value, str) else None
    if floats == engine.floats:
        return
    at_top = frame.function.kind is FunctionKind.MODULE and not frame.uncertainty
    first = not engine.called and not engine.layers_made
    engine.floats = floats if at_top and first and len(engine.program.modules) == 1 else None
    if len(engine.program.modules) == 1:
        engine.forget_summaries()
    else:
        # summaries of an earlier run record the float type that they assume
        engine.spoil_logs()
        engine.contexts.forget()


def _losses_with(floats: DType | None, given: Value) -> FrozenList:
    """Content of `layer.losses` after `layer.add_loss(given)`: numbers of Keras's dtype, as far as no other loss was seen."""
    others = [
        member
        for member in members(given)
        if isinstance(member, TensorValue) and member.type.dtype not in (None, floats)
    ]
    return FrozenList(None, TensorValue(TensorType(None if others else floats)))


def _note_effects(
    site: Site, name: str, entity: Entity | None, receiver: Value | None, arguments: CallArguments
) -> None:
    engine, frame = site.engine, site.frame
    if entity is None:
        return
    weightless = _is_weightless(entity, arguments)
    for kind in sorted(entity.effects, key=lambda kind: kind.value):
        if kind is EffectKind.VARIABLE_CREATION and weightless:
            continue
        if kind is EffectKind.RANDOM and receiver is not None and _is_seeded_here(frame, receiver):
            continue
        external_effect(site, kind, f"{name_as_written(name)}(...)")
    if reads_default_writer(name):
        # the default writer, and whether it records, is read while a graph is traced
        target = Target(RootKind.GLOBAL, "the default summary writer")
        frame.add_effect(Effect(EffectKind.STATE_READ, target, f"{name_as_written(name)}(...)", site.place()))
    if receiver is not None and name.rpartition(".")[2] in _LAYER_LISTS and is_of_keras(name):
        # a list of the layer that outlives the call: with our decorator it would keep a symbolic tensor
        given = arguments.positional[0] if arguments.positional else UNKNOWN
        for number in engine.objects.ordered(references(receiver)):
            write_effect(site, number, ".losses", f"{name.rpartition('.')[2]}(...)")
            # code after the call sees the losses that it added; a called layer drops its earlier ones
            frame.state.set((number, "losses"), _losses_with(engine.floats, given))
    owner, _, method = name.rpartition(".")
    if receiver is not None and method in MUTATING_METHODS.get(owner, ()):
        for number in engine.objects.ordered(references(receiver)):
            write_effect(site, number, ITEMS, site.written(site.op))
    if Trait.CREATES_STATE in entity.traits and not weightless:
        frame.add_effect(Effect(EffectKind.VARIABLE_CREATION, EXTERNAL, f"{name_as_written(name)}(...)", site.place()))


def _is_weightless(entity: Entity, arguments: CallArguments) -> bool:
    """Whether a layer is constructed with arguments that leave it without variables."""
    needed = WEIGHTLESS_WITH.get(entity.name)
    if needed is None:
        return False
    bound = bind_library_arguments(entity, arguments)[0]
    return all(name in bound and NONE not in members(bound[name]) for name in needed)


def _is_seeded_here(frame: Frame, generator: Value) -> bool:
    """Whether a random generator was created in this call from a known seed, so that each call draws the same numbers."""
    found = members(generator)
    return bool(found) and all(
        isinstance(member, Reference)
        and member.object in frame.allocated
        and isinstance(given := frame.state.get((member.object, CONFIGURED)), TupleValue)
        and any(
            isinstance(name, Constant)
            and isinstance(seed := frame.state.get((member.object, CONFIGURATION + str(name.value))), Constant)
            and seed.value is not None
            for name in (*given.elements, Constant("*"))
        )
        for member in found
    )


def _change_argument(site: Site, name: str, arguments: CallArguments) -> None:
    """Functions such as `heapq.heappush` change a container argument, which may contain their other arguments afterwards."""
    frame = site.frame
    parameter = MUTATING_FUNCTIONS.get(name)
    if parameter is None:
        return
    changed = arguments.positional[0] if arguments.positional else dict(arguments.keywords).get(parameter, UNKNOWN)
    others = join_all([*arguments.positional[1:], *(value for key, value in arguments.keywords if key != parameter)])
    for number in site.engine.objects.ordered(references(changed)):
        content = frame.state.get((number, ITEMS))
        if isinstance(content, FrozenList):
            frame.state.set((number, ITEMS), FrozenList(None, join(list_element(content), others)))
        elif isinstance(content, FrozenDict):
            frame.state.set((number, ITEMS), FrozenDict(content.items, UNKNOWN))
        write_effect(site, number, ITEMS, site.written(site.op))
    if any(isinstance(member, UnknownValue) for member in members(changed)):
        target = unknown_target(changed)
        effect = Effect(EffectKind.STATE_WRITE, target, f"{name_as_written(name)}(...)", site.place(), assumed=True)
        frame.add_effect(effect)


def _call_declared(
    site: Site, name: str, declared: Declaration, arguments: CallArguments, receiver: Value | None
) -> Value:
    """A call of a function with a model or a stub."""
    unlisted = UNKNOWN if declared.pure else _call_unlisted(site, name, arguments, receiver)
    known = annotated_value(site.engine, declared.returns)
    return unlisted if known is None else known


def _call_unlisted(site: Site, name: str, arguments: CallArguments, receiver: Value | None) -> Value:
    """A call of a library function without a model."""
    frame = site.frame
    frame.call_record(site.op).unknown = name
    target = EXTERNAL if receiver is None else unknown_target(receiver)
    local = only_local(frame, arguments) and (receiver is None or is_local(frame, receiver))
    frame.add_effect(Effect(EffectKind.UNKNOWN_CALL, target, name, site.place(), assumed=local))
    return UNKNOWN


def _without_rule(site: Site, entity: Entity) -> Value:
    site.engine.note_missing_rule(site.frame, site.op, entity.name)
    if Trait.RETURNS_TENSOR in entity.traits or Trait.TENSOR_OPERATION in entity.traits:
        # a tensor or a structure of tensors; only a rule can tell
        return UNKNOWN
    package = entity.name.partition(".")[0]
    return UnknownValue(may_be_tensor=package in _HANDING_ON or package in TENSOR_PACKAGES)


_HANDING_ON: Final = frozenset(
    {
        "itertools",
        "functools",
        "operator",
        "collections",
        "copy",
        "heapq",
        "concurrent",
        "queue",
        "contextlib",
        "contextvars",
        "types",
        "weakref",
    }
)
"""Python modules whose functions may return tensors passed to them."""


def _instance_of(site: Site, entity: Entity, arguments: CallArguments) -> Value:
    """An object of a library class: represented by its class and its constructor arguments."""
    frame = site.frame
    # a call of one of several classes creates objects that have nothing in common
    number = site.allocate(ObjectKind.INSTANCE, entity.name.rpartition(".")[2], entity.name)
    if is_of_layers(entity.name):
        site.engine.note_layer_made()
    frame.state.set((number, CLASS), LibraryValue(entity.name))
    bound, extra, keywords, incomplete = bind_library_arguments(entity, arguments)
    if incomplete:
        # `**settings` may set parameters that are not passed by name, so a default is not certain
        bound |= {each.name: UNKNOWN for each in entity.parameters or () if may_be_given(each, bound)}
    part, settings = SETTINGS_OF_PART.get(entity.name, ("", frozenset()))
    of_part = configuration_of(frame, bound[part]) if part in bound and not incomplete else {}
    keywords |= {each: value for each, value in of_part.items() if each in settings and each not in bound}
    for parameter, value in zip(CONSTRUCTED_FROM.get(entity.name, ()), extra, strict=False):
        keywords.setdefault(parameter, value)
    for parameter, value in [*bound.items(), *keywords.items()]:
        frame.state.set((number, CONFIGURATION + parameter), value)
    if extra:
        frame.state.set((number, CONFIGURATION + "*"), extra[0])
    given = TupleValue(tuple(Constant(name) for name in (*bound, *keywords)))
    is_former = is_of_layers(entity.name) and not KERAS_1.isdisjoint(keywords)
    frame.state.set((number, CONFIGURED), UNKNOWN if is_former else given)
    if registry.is_library_subclass(entity.name, DEFERRED):
        defer(site, Reference(number), {**bound, **keywords})
    if entity.name == SEQUENTIAL:
        build_sequential(site, Reference(number))
    return Reference(number)


def _ready_model(site: Site, entity: Entity, arguments: CallArguments) -> Value | None:
    """A model of `keras.applications`: a functional one with known inputs and outputs; None for other functions."""
    bound, _, _, incomplete = bind_library_arguments(entity, arguments)
    given = {parameter: freeze(site.frame, value) for parameter, value in bound.items()}
    parts = None if incomplete else ready_model(entity.name, given)
    model = registry.lookup(MODEL)
    if parts is None or model is None:
        return None
    return _instance_of(site, model, CallArguments((), tuple(parts.items())))


def _with_rule(site: Site, entity: Entity, arguments: CallArguments, receiver: Value | None) -> Value:
    engine, frame = site.engine, site.frame
    bound, extra, keywords, incomplete = bind_library_arguments(entity, arguments)
    if is_refused(entity, bound, extra, keywords):
        return UNKNOWN
    names = [*bound, *keywords]
    slots: list[tuple[Value, ...]] = []
    for value in [*bound.values(), *keywords.values(), *extra, *([receiver] if receiver is not None else [])]:
        slots.append(_alternatives(freeze(frame, value)))
    total = 1
    for slot in slots:
        total *= len(slot)
        for value in slot:
            if type(value) in (FrozenList, TupleValue) and (size := open_number(value)) is not None:
                frame.call_record(site.op).open_size = size
    if total > MAX_COMBINATIONS:
        slots = [slot if len(slot) == 1 else (UNKNOWN,) for slot in slots]
    if receiver is not None and not is_configuration_known(frame, receiver):
        return UNKNOWN
    configuration = {} if receiver is None else configuration_of(frame, receiver)
    configuration = with_floats(configuration, engine.floats)

    # a graph has both branches; eager code runs the one that the condition selects
    chooses = Trait.RUNS_BRANCHES in entity.traits and not frame.in_graph

    def invoke(function: Value, arguments: Sequence[Value], *, graph: bool = False) -> Value:
        thawed = tuple(thaw(site, value, ("argument", position)) for position, value in enumerate(arguments))
        frame.conditions += chooses
        try:
            return freeze(frame, site.call(function, CallArguments(thawed), graph=graph))
        finally:
            frame.conditions -= chooses

    def run(combination: tuple[Value, ...]) -> Value:
        by_name = dict(zip(names, combination, strict=False))
        rest = combination[len(names) :]
        call = BoundCall(
            name=entity.name,
            arguments={name: by_name[name] for name in bound},
            extra_arguments=rest[: len(extra)],
            extra_keywords={name: by_name[name] for name in keywords},
            receiver=rest[len(extra)] if receiver is not None else None,
            configuration=configuration,
            incomplete=incomplete,
            invoke=invoke,
        )
        return result_of(entity, call)

    combinations = list(product(*slots)) if slots else [()]
    # a failure in a function that is called with one of several alternatives is not definite: they may exclude each other
    engine.one_of_several += len(combinations) > 1
    try:
        result = over_combinations(site, name_as_written(entity.name), combinations, run)
    finally:
        engine.one_of_several -= len(combinations) > 1
    if any(speaks_of_release(value) for slot in slots for value in slot):
        result = of_release(result)
    is_variable = (
        entity.kind is EntityKind.CLASS and isinstance(result, TensorValue) and result.kind is TensorKind.VARIABLE
    )
    if isinstance(result, TensorValue) and (is_variable or entity.name in PLACEHOLDERS):
        number = site.allocate(ObjectKind.VARIABLE, entity.name)
        result = replace(result, variable=number)
    return thaw(site, result, "result")


def _alternatives(value: Value) -> tuple[Value, ...]:
    kept = tuple(_with_one_tensor_each(member) for member in members(value) if member != UNBOUND)
    return kept if kept else (UNKNOWN,)


def _with_one_tensor_each(value: Value) -> Value:
    """A structure in which alternative tensor types at one place are joined.

    Rules read the members of a structure directly; combinations of alternatives for every member would be too many.
    """
    match value:
        case FrozenList(elements=elements) if elements is not None:
            return FrozenList(tuple(_with_one_tensor_each(_one_tensor(element)) for element in elements))
        case TupleValue(elements=elements):
            return replace(value, elements=tuple(_with_one_tensor_each(_one_tensor(element)) for element in elements))
        case _:
            return value


def _one_tensor(value: Value) -> Value:
    alternatives = members(value)
    first = alternatives[0] if alternatives else None
    if len(alternatives) < 2 or not isinstance(first, TensorValue):
        return value
    tensors = [member for member in alternatives if isinstance(member, TensorValue) and member.kind is first.kind]
    return join_tensors(tensors) if len(tensors) == len(alternatives) else value
