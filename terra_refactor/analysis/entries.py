"""Entries: the possible values of the parameters of a function without callers.

Computes: values of parameters from annotations, defaults, framework convention, use in the body, and (last) names.
Needs: the evaluated annotations and defaults of the function object. Gives: `entry_parameters`, with the evidence for
each; `instance_for_entry`, the value of `self`.

Source of the conventions: `keras.layers.Layer.call`, `keras.Model.train_step`, `keras.losses.Loss.call`,
`keras.metrics.Metric.update_state`, `keras.optimizers.schedules.LearningRateSchedule.__call__`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from terra_refactor.analysis import classes
from terra_refactor.analysis.annotations import annotated_value
from terra_refactor.analysis.application import entry_naming, writes_of_entry
from terra_refactor.analysis.engine import Engine, Heap
from terra_refactor.analysis.facts import EntryKind, ObjectKind
from terra_refactor.analysis.frames import Frame, Summary
from terra_refactor.analysis.freezing import freeze_in
from terra_refactor.analysis.signatures import as_signed
from terra_refactor.analysis.stand_in_classes import class_shown
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.lattice import join, python_type
from terra_refactor.domain.state import CLASS, EXISTS
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NAMED_LIKE_A_TENSOR,
    NONE,
    RECORDED_AS_A_TENSOR,
    TRUE,
    UNKNOWN_BOOL,
    UNKNOWN_TENSOR,
    FrozenList,
    FunctionValue,
    ObjectId,
    Origin,
    Reference,
    Scalar,
    SequenceValue,
    ShapeValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    is_tensor,
)
from terra_refactor.ir.function import Function, FunctionKind, ParameterKind
from terra_refactor.ir.ids import FunctionId

_POSITIONAL: Final = (ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL)
_STEP_NAME: Final = re.compile(r"train\w*_step|test\w*_step|^call$|\w*inference\w*")
_TENSOR_NAME: Final = re.compile(
    r"^(x|inputs?|images?|labels?|logits|tensors?|features?|y_true|y_pred|targets?|batch|hidden|embeddings?)$"
)


def entry_parameters(
    engine: Engine,
    code: Function,
    function: FunctionValue,
    receiver: Value | None,
    framework: str | None = None,
) -> tuple[dict[str, Value], dict[str, Evidence], EntryKind]:
    """Abstract values and evidence of the parameters, and whether Keras calls the function.

    `framework` is the kind of Keras base class (`layer`, `loss`, `metric`) of the method's class.
    """
    values: dict[str, Value] = {}
    evidence: dict[str, Evidence] = {}
    annotations = dict(function.annotations)
    declared = engine.declarations.get(f"{code.id.module}.{code.qualname}")
    if declared is not None:
        annotations = {**declared.parameters, **annotations}
    defaults = dict(function.defaults)
    iterated = engine.code.iterated_parameters(code)
    used = engine.usage_of(code.id) - iterated
    recorded = engine.recorded.get(code.id, frozenset())
    convention = _convention(code, framework)
    signature = _declared_signature(engine, code, receiver is not None)
    kind = EntryKind.FRAMEWORK if convention else EntryKind.UNCALLED
    for position, parameter in enumerate(code.parameters):
        name = parameter.name
        if position == 0 and receiver is not None:
            values[name], evidence[name] = receiver, Evidence.FRAMEWORK
            continue
        if parameter.kind is ParameterKind.VAR_POSITIONAL:
            values[name], evidence[name] = SequenceValue(_unknown(name)), Evidence.NONE
            continue
        if parameter.kind is ParameterKind.VAR_KEYWORD:
            values[name], evidence[name] = _unknown(name, may_be_tensor=False), Evidence.NONE
            continue
        annotated = annotated_value(engine, annotations.get(name), code.id.module)
        default = defaults.get(name)
        if name in signature:
            value, reason = signature[name], Evidence.ANNOTATION
        elif annotated is not None:
            value, reason = annotated, Evidence.ANNOTATION
        elif name in convention:
            # a layer may take a list or a dict of tensors
            is_container = name in iterated and convention[name] == UNKNOWN_TENSOR
            value, reason = _unknown(name) if is_container else convention[name], Evidence.FRAMEWORK
        elif name in used:
            value, reason = UNKNOWN_TENSOR, Evidence.USAGE
        elif default is not None and (plain := _of_default(default)) is not None:
            value, reason = plain, Evidence.DEFAULT
        elif _STEP_NAME.search(code.name) and _TENSOR_NAME.match(name) and name not in iterated:
            # a name proves nothing, since a batch may also be a tuple: the value stays unknown, so that no rule is
            # certain because of it
            value, reason = replace(_unknown(name), reason=NAMED_LIKE_A_TENSOR), Evidence.KEYWORD
        else:
            value, reason = _unknown(name), Evidence.NONE
        if reason is Evidence.NONE and (cls := class_shown(engine, code, name, default)) is not None:
            value, reason = engine.instance_for_entry(cls), Evidence.DEFAULT
        if name in recorded and reason in (Evidence.NONE, Evidence.KEYWORD, Evidence.DEFAULT):
            suggested = _recorded(name)
            value = suggested if reason is not Evidence.DEFAULT else join(value, suggested)
            reason = Evidence.RECORDED
        if (
            default is not None
            and (reason is not Evidence.DEFAULT or isinstance(value, Reference))
            and name not in signature
        ):
            value = join(value, default)
        values[name], evidence[name] = value, reason
    return values, evidence, kind


def _declared_signature(engine: Engine, code: Function, bound: bool) -> dict[str, Value]:
    """The parameters declared by the `input_signature` of the function's `tf.function`: TensorFlow accepts nothing else."""
    wrapping = engine.wrapping_of(code.id)
    options = dict(wrapping[0]) if wrapping is not None and wrapping[0] is not None else {}
    declared = freeze_in(engine.world, options.get("input_signature", NONE))
    elements = declared.elements if isinstance(declared, TupleValue | FrozenList) else None
    names = [parameter.name for parameter in code.parameters if parameter.kind in _POSITIONAL][bound:]
    found = {name: _specified(element) for name, element in zip(names, elements or (), strict=False)}
    return {name: value for name, value in found.items() if value is not None}


def _specified(spec: Value) -> Value | None:
    """The values that a spec admits; None if unknown."""
    match spec:
        case SpecValue(type, kind):
            return TensorValue(type, kind)
        case TupleValue(elements=elements):
            inner = [_specified(element) for element in elements]
            return None if None in inner else replace(spec, elements=tuple(each for each in inner if each is not None))
        case _:
            return None


def as_evidence_says(
    engine: Engine, code: Function, function: FunctionValue, bound: Mapping[str, Value]
) -> Mapping[str, Value]:
    """The arguments of a call; an unknown one gets its value from the callee's annotation or body.

    So an unknown argument of one call does not weaken the known facts about the function.
    """
    unknown = [
        parameter.name
        for parameter in code.parameters
        if parameter.kind not in (ParameterKind.VAR_POSITIONAL, ParameterKind.VAR_KEYWORD)
        and isinstance(value := bound[parameter.name], UnknownValue)
        and value.may_be_tensor
        and not value.reason
    ]
    if not unknown:
        return bound
    annotations = dict(function.annotations)
    used = engine.usage_of(code.id) - engine.code.iterated_parameters(code)
    recorded = engine.recorded.get(code.id, frozenset())
    result = dict(bound)
    for name in unknown:
        annotated = annotated_value(engine, annotations.get(name), code.id.module)
        if annotated is not None and is_tensor(annotated):
            result[name] = annotated
        elif annotated is None and name in used:
            result[name] = UNKNOWN_TENSOR
        elif annotated is None and name in recorded:
            result[name] = _recorded(name)
    return result


def instance_for_entry(engine: Engine, cls: Reference) -> Value:
    """An instance that represents any object of a class of the program, created by its constructor with unknown arguments."""
    facts = engine.objects.facts[cls.object]
    assert facts.function is not None
    known_by = ("entry", cls.object)
    number = engine.objects.at_site(ObjectKind.INSTANCE, facts.name, facts.function, facts.op, known_by=known_by)
    instance = Reference(number)
    if engine.world.get((number, EXISTS)) is not None:
        if engine.log is not None:
            engine.log.ask(True, _exists, number)
        return instance
    engine.spoil_logs()
    engine.change_world()
    engine.world.set((number, EXISTS), TRUE)
    engine.world.set((number, CLASS), cls)
    engine.open_instances[number] = None
    frame = engine.entry_frame()
    initializer = classes.find_in_class(frame, cls, "__init__")
    if initializer is None or not isinstance(initializer[0], FunctionValue):
        return instance
    function = initializer[0]
    identity = FunctionId(*function.function)
    parameters, _, _ = entry_parameters(engine, engine.program.function(identity), function, instance)
    summary = engine.summarize(engine.world, identity, function.closure, parameters, EntryKind.UNCALLED, in_graph=False)
    if isinstance(summary, Summary):
        for key, value in writes_of_entry(engine, summary):
            known = engine.world.get(key)
            engine.world.set(key, value if known is None else join(known, value))
    return instance


def _exists(engine: Heap, number: ObjectId) -> bool:
    return engine.world.get((number, EXISTS)) is not None


def enter_nested(engine: Engine, frame: Frame, made: FunctionValue) -> None:
    """Analyses a nested function without callers, in the state at the end of its definer."""
    identity = FunctionId(*made.function)
    if engine.is_called(identity):
        return
    used = engine.usage_of(identity)
    summary = _enter_nested_once(engine, frame, made, identity)
    if isinstance(summary, Summary) and summary.identity >= 0 and not engine.usage_of(identity) <= used:
        # the body, or its callees, pass parameters to operations that take tensors: they are tensors
        engine.forget_entry(summary.identity)
        summary = _enter_nested_once(engine, frame, made, identity)
    if isinstance(summary, Summary) and summary.identity >= 0:
        frame.entered[summary.identity] = None


def _enter_nested_once(engine: Engine, frame: Frame, made: FunctionValue, identity: FunctionId) -> Summary | Value:
    code = engine.program.function(identity)
    parameters, _, kind = entry_parameters(engine, code, made, None)
    wrapped = engine.wrapping_of(identity)
    eager = wrapped is None or wrapped[0] is None or engine.functions_run_eagerly(frame.root)
    in_graph = frame.in_graph or not eager
    if wrapped is not None and not eager:
        parameters = as_signed(frame.root, code, wrapped[0], parameters)
    naming = entry_naming(engine, identity)
    closure = tuple((name, naming.inward_object(cell)) for name, cell in made.closure)
    given = {name: naming.inward(value) for name, value in parameters.items()}
    return engine.summarize(frame.root, identity, closure, given, kind, in_graph, naming)


def _unknown(name: str, *, may_be_tensor: bool = True) -> UnknownValue:
    return UnknownValue(may_be_tensor, Origin("parameter", name))


def _recorded(name: str) -> UnknownValue:
    """Parameters that were tensors in recorded runs."""
    return replace(_unknown(name), reason=RECORDED_AS_A_TENSOR)


def _of_default(default: Value) -> Value | None:
    """Evidence from a parameter's default: its type, but not its value. None is no evidence."""
    kind = python_type(default)
    if kind is not None:
        return Scalar(kind)
    return None


def _convention(code: Function, framework: str | None) -> dict[str, Value]:
    """The parameters that Keras passes, by its documented interfaces."""
    if framework is None or code.kind is not FunctionKind.METHOD:
        return {}
    names = [parameter.name for parameter in code.parameters[1:]]
    result: dict[str, Value] = {}
    match framework, code.name:
        case "layer", "call":
            if names:
                result[names[0]] = UNKNOWN_TENSOR
            for name in names[1:]:
                if name == "training":
                    result[name] = join(UNKNOWN_BOOL, NONE)
                elif name == "mask":
                    result[name] = join(UNKNOWN_TENSOR, NONE)
        case "layer", "build" | "compute_output_shape":
            if names:
                result[names[0]] = ShapeValue(None)
        case "layer", "train_step" | "test_step" | "predict_step":
            if names:
                result[names[0]] = UnknownValue(True, Origin("parameter", names[0]), "a batch of data")
        case "loss", "call":
            result.update(dict.fromkeys(names[:2], UNKNOWN_TENSOR))
        case "metric", "update_state":
            result.update(dict.fromkeys(names[:2], UNKNOWN_TENSOR))
        case "schedule", "__call__":
            if names:
                # a variable of Keras 3, whose operators convert to floats, or an int64 tensor of Keras 2
                result[names[0]] = TensorValue(TensorType(None, ()), TensorKind.VARIABLE)
        case _:
            pass
    return result
