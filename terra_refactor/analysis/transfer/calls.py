"""Calls of functions, methods, classes, instances, library entities and unknown values.

Computes: the callees of a `Call`, and its result. Needs: all other transfer modules. Gives: `HANDLERS`, `call_value`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from terra_refactor.analysis.classes import find_method
from terra_refactor.analysis.effects import is_local, only_local, unknown_target
from terra_refactor.analysis.engine import OpHandler, Site, Terminated
from terra_refactor.analysis.facts import FailureFact, ObjectKind
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.refine import replace_value
from terra_refactor.analysis.transfer.arrays import array_changed
from terra_refactor.analysis.transfer.contents import note_arguments, note_contents
from terra_refactor.analysis.transfer.data_files import method_of_stream
from terra_refactor.analysis.transfer.definitions import instantiate
from terra_refactor.analysis.transfer.dispatch import dispatched, is_dispatcher
from terra_refactor.analysis.transfer.feeding import check_feeds
from terra_refactor.analysis.transfer.iteration import iterate
from terra_refactor.analysis.transfer.kept_iterators import advance, as_object, is_kept_iterator
from terra_refactor.analysis.transfer.library import call_library
from terra_refactor.analysis.transfer.loaded_numbers import is_loaded, method_of_loaded
from terra_refactor.analysis.transfer.mappings import dict_content, dict_element
from terra_refactor.domain.dim import Dim
from terra_refactor.domain.effect import Effect, EffectKind, RootKind
from terra_refactor.domain.lattice import join, join_all
from terra_refactor.domain.state import State
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    BOTTOM,
    NONE,
    UNBOUND,
    UNKNOWN,
    BoundMethod,
    Constant,
    DTypeValue,
    EnumMember,
    FunctionValue,
    LibraryValue,
    Origin,
    PartialValue,
    Reference,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.ops import Op, Spread
from terra_refactor.tf_model.class_names import TENSOR_TO_ARRAY, keeps_arguments
from terra_refactor.tf_model.decorators import Decoration, decoration
from terra_refactor.tf_model.ops.variables import shape_after_set
from terra_refactor.tf_model.registry import canonical_name, has_trait
from terra_refactor.tf_model.spec import Trait

MAX_SPREAD: Final = 64
"""Maximum number of separate arguments into which a `*` argument with equal elements is expanded."""
MAX_GRADIENTS: Final = 4
"""Maximum order of nested gradients."""


def call(site: Site, op: Op) -> Value | Terminated:
    assert isinstance(op, ops.Call)
    arguments = evaluate_arguments(site, op)
    site.frame.arrays_changed.clear()
    result = as_object(site, site.call(site.frame.value(op.function), arguments))
    _note_read_to_end(site, op)
    for argument in dict.fromkeys(site.frame.arrays_changed):
        if not array_changed(site, argument):
            # it may be an array that outlives the call, held in a way that is not followed
            detail = f"an in-place change of {site.written(argument)}"
            target = unknown_target(site.frame.value(argument))
            site.frame.add_effect(Effect(EffectKind.STATE_WRITE, target, detail, site.place(), assumed=True))
    _set_shape(site, op, arguments)
    if op.decorates is None or not arguments.positional:
        return result
    return join_all(
        _looked_through(site, op, arguments.positional[0]) if isinstance(member, UnknownValue) else member
        for member in members(result)
    )


def _note_read_to_end(site: Site, op: ops.Call) -> None:
    """Records that a library function consumes its iterator arguments."""
    given = [
        member
        for argument in op.arguments
        for member in members(site.frame.value(argument.value))
        if isinstance(member, Reference) and is_kept_iterator(site, member)
    ]
    names = site.frame.call_record(op.id).library if given else ()
    if any(has_trait(name, Trait.ITERATES) or not keeps_arguments(name) for name in names):
        for iterator in given:
            advance(site, iterator)


def _set_shape(site: Site, op: ops.Call, arguments: CallArguments) -> None:
    """After `x.set_shape(shape)` a variable's shape is known."""
    frame = site.frame
    function = site.operation(op.function)
    if not isinstance(function, ops.LoadAttribute) or function.name != "set_shape" or not arguments.positional:
        return
    receiver, shape = frame.values[function.object], freeze(frame, arguments.positional[0])
    if receiver is not None and all(isinstance(member, TensorValue) for member in members(receiver)):
        known = join_all(
            shape_after_set(member, shape) for member in members(receiver) if isinstance(member, TensorValue)
        )
        replace_value(site, function.object, known)


def _looked_through(site: Site, op: ops.Call, decorated: Value) -> Value:
    """The result of an unknown decorator: the decorated function or class; the decorator's name is recorded."""
    frame = site.frame
    names = frame.call_record(op.id).library or frame.call_record(op.function).library
    name = next(iter(names), None) or site.written(op.function)
    frame.effects = {key: effect for key, effect in frame.effects.items() if effect.site.op != op.id}
    if isinstance(decorated, FunctionValue):
        wrapped = replace(decorated, wrappers=(*decorated.wrappers, name))
        site.engine.note_wrapped(wrapped)
        return wrapped
    return decorated


def evaluate_arguments(site: Site, op: ops.Call) -> CallArguments:
    """The arguments of a call; `*` and `**` are spread as far as their contents are known."""
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    open_positional: Value | None = None
    open_count: Dim = None
    open_keywords: Value | None = None
    mapping: Value | None = None
    for argument in op.arguments:
        value = site.frame.value(argument.value)
        if argument.spread is Spread.STAR:
            found = iterate(site, value)
            if found.elements is not None and open_positional is None:
                positional.extend(found.elements)
            elif open_positional is None and isinstance(found.length, int) and found.length <= MAX_SPREAD:
                positional.extend([found.element] * found.length)
            else:
                element = found.element if found.element != BOTTOM else UNKNOWN
                open_count = found.length if open_positional is None else None
                open_positional = element if open_positional is None else join(open_positional, element)
        elif argument.spread is Spread.DOUBLE_STAR:
            note_contents(site, value)
            mapping = value if is_loaded(value) and open_keywords is None else None
            content = dict_content(site, value)
            for key, item in content.items:
                if isinstance(key, Constant) and isinstance(key.value, str) and UNBOUND not in members(item):
                    keywords[key.value] = item
                else:
                    open_keywords = item if open_keywords is None else join(open_keywords, item)
            if content.rest is not None:
                rest = dict_element(content)
                open_keywords = rest if open_keywords is None else join(open_keywords, rest)
        elif argument.keyword is not None:
            keywords[argument.keyword] = value
        elif open_positional is not None:
            open_positional, open_count = join(open_positional, value), None
        else:
            positional.append(value)
    return CallArguments(
        tuple(positional), tuple(keywords.items()), open_positional, open_keywords, mapping, open_count
    )


def call_value(site: Site, callee: Value, arguments: CallArguments, graph: bool) -> Value:
    """Calls each alternative of `callee` in a state of its own and joins the results."""
    frame = site.frame
    alternatives = [member for member in members(callee) if member not in (NONE, UNBOUND)]
    if len(alternatives) == 1:
        return _call_one(site, alternatives[0], arguments, graph)
    if not alternatives:
        return UNKNOWN
    outer = frame.state
    results: list[Value] = []
    states: list[State] = []
    before = frame.failures.get(site.op)
    failures: list[FailureFact] = []
    # the call ends with TypeError for those that cannot take the arguments
    fitting = [alternative for alternative in alternatives if not _cannot_take(site, alternative, arguments)]
    for alternative in fitting or alternatives:
        frame.state = outer.fork()
        frame.failures.pop(site.op, None)
        frame.alternatives += 1
        try:
            result = _call_one(site, alternative, arguments, graph)
            if result != BOTTOM:
                results.append(result)
                states.append(frame.state)
        finally:
            frame.alternatives -= 1
            frame.state = outer
        if site.op in frame.failures:
            failures.append(frame.failures.pop(site.op))
    # a failure in one of several possible callees is not definite
    failure = before or (failures[0] if len(failures) == len(alternatives) else None)
    if failure is not None:
        frame.failures[site.op] = failure
    if not states:
        return BOTTOM
    outer.merge(states)
    return join_all(results)


def _cannot_take(site: Site, callee: Value, arguments: CallArguments) -> bool:
    """Whether the call certainly raises TypeError before the callee's body runs, because its parameters do not fit.

    A decorator may change the signature, and `*` or `**` of unknown content may pass anything.
    """
    if arguments.open_positional is not None or arguments.open_keywords is not None:
        return False
    match callee:
        case FunctionValue():
            if any(decoration(name)[0] not in _KEEP_SIGNATURE for name in callee.wrappers):
                return False
            keywords = [name for name, _ in arguments.keywords]
            code = site.engine.code_of(FunctionId(*callee.function))
            return not code.accepts(len(arguments.positional), keywords)
        case BoundMethod(function, receiver):
            return _cannot_take(site, function, arguments.with_first(receiver))
        case Reference() if site.engine.objects.facts[callee.object].kind is ObjectKind.INSTANCE:
            method = find_method(site, callee, "__call__")
            return method is not None and all(_cannot_take(site, each, arguments) for each in members(method))
        case _:
            return False


_KEEP_SIGNATURE: Final = frozenset(
    {Decoration.HYBRIDISES, Decoration.PREVENTS_CONVERSION, Decoration.CACHED, Decoration.ABSTRACT}
)
"""Effects of decorators whose result takes the arguments of the decorated function."""


def _call_one(site: Site, callee: Value, arguments: CallArguments, graph: bool) -> Value:
    match callee:
        case FunctionValue():
            found = dispatched(site, callee, arguments, graph=graph) if is_dispatcher(callee) else None
            if found is not None:
                return found
            decorations = {decoration(name)[0] for name in callee.wrappers}
            if Decoration.HOST_CALLBACK in decorations:
                return _call_by_host(site, callee, arguments)
            result = site.engine.call_function(site, callee, arguments, graph=graph)
            if Decoration.DISPATCHES in decorations:
                # another implementation may be registered for these arguments
                return join(result, UNKNOWN)
            if Decoration.GIVES_GRADIENT in decorations:
                return _result_without_gradient(site, result)
            return result
        case BoundMethod(function, receiver):
            if isinstance(function, LibraryValue):
                check_feeds(site, arguments)
                return call_library(site, function.name, arguments, receiver, graph=graph)
            return site.call(function, arguments.with_first(receiver), graph=graph)
        case PartialValue():
            return _call_partial(site, callee, arguments, graph)
        case LibraryValue():
            return call_library(site, callee.name, arguments, None, graph=graph)
        case Constant(EnumMember()) if (method := find_method(site, callee, "__call__")) is not None:
            return site.call(method, arguments, graph=graph)
        case Reference():
            return _call_object(site, callee, arguments, graph)
        case DTypeValue():
            return _numpy_scalar(callee, arguments)
        case UnknownValue():
            check_feeds(site, arguments)
            return call_unknown(site, callee, arguments)
        case _:
            return UNKNOWN


def _call_by_host(site: Site, callee: FunctionValue, arguments: CallArguments) -> Value:
    """A call of a function decorated by `tf.py_function` or `tf.numpy_function`, which calls it with positional arguments."""
    host = next(name for name in callee.wrappers if decoration(name)[0] is Decoration.HOST_CALLBACK)
    inner = replace(callee, wrappers=tuple(name for name in callee.wrappers if name != host))
    inputs = TupleValue(arguments.positional) if arguments.open_positional is None else UNKNOWN
    return call_library(site, canonical_name(host), CallArguments((inner, inputs), (("Tout", UNKNOWN),)), None)


def _result_without_gradient(site: Site, value: Value) -> Value:
    """The result that callers of a `tf.custom_gradient` function receive; a tape calls its gradient with the upstream
    gradients.
    """
    frame = site.frame
    results: list[Value] = []
    for member in members(value):
        if isinstance(member, TupleValue) and len(member.elements) == 2:
            result, gradient = member.elements
            arriving = result.elements if isinstance(result, TupleValue) else (result,)
            given = CallArguments(tuple(TensorValue(TensorType()) for _ in arriving))
            if frame.gradients < MAX_GRADIENTS:
                # a gradient may have a gradient, which may be the function itself
                frame.gradients += 1
                try:
                    site.call(gradient, given)
                finally:
                    frame.gradients -= 1
            results.append(result)
        else:
            results.append(UnknownValue(may_be_tensor=True))
    return join_all(results)


def _numpy_scalar(callee: DTypeValue, arguments: CallArguments) -> Value:
    """`np.float32(x)`: the value of `x` with that type; an array keeps its shape."""
    if not arguments.positional:
        return UNKNOWN
    results: list[Value] = []
    for member in members(arguments.positional[0]):
        if isinstance(member, TensorValue):
            kind = TensorKind.NUMPY_SCALAR if member.type.shape == () else TensorKind.NDARRAY
            results.append(TensorValue(TensorType(callee.dtype, member.type.shape), kind))
        elif isinstance(member, Constant | Scalar):
            results.append(TensorValue(TensorType(callee.dtype, ()), TensorKind.NUMPY_SCALAR))
        else:
            results.append(TensorValue(TensorType(callee.dtype, None), TensorKind.NDARRAY))
    return join_all(results)


def _call_partial(site: Site, callee: PartialValue, arguments: CallArguments, graph: bool) -> Value:
    keywords = {**dict(callee.keywords), **dict(arguments.keywords)}
    combined = CallArguments(
        callee.arguments + arguments.positional,
        tuple(keywords.items()),
        arguments.open_positional,
        arguments.open_keywords,
    )
    return site.call(callee.function, combined, graph=graph)


def _call_object(site: Site, callee: Reference, arguments: CallArguments, graph: bool) -> Value:
    kind = site.engine.objects.facts[callee.object].kind
    if kind is ObjectKind.CLASS:
        return instantiate(site, callee, arguments)
    method = find_method(site, callee, "__call__")
    if method is None:
        return UNKNOWN
    return site.call(method, arguments, graph=graph)


def call_unknown(site: Site, callee: UnknownValue, arguments: CallArguments) -> Value:
    """A call of an unresolved value, which is an effect of its own kind. If everything passed to the callee is local
    (numbers, strings, tensors, new objects), the effect is only an assumption.
    """
    frame = site.frame
    note_arguments(site, "", arguments, None)
    called = site.operation(site.op)
    local = only_local(frame, arguments)
    if isinstance(called, ops.Call):
        description = site.written(called.function)
        function = site.operation(called.function)
        if isinstance(function, ops.LoadAttribute) and function.name == "numpy" and not called.arguments:
            # only eager tensors have such a method
            frame.call_record(site.op).library[TENSOR_TO_ARRAY] = None
            return TensorValue(TensorType(), TensorKind.NDARRAY)
        if isinstance(function, ops.LoadAttribute):
            local = local and is_local(frame, frame.value(function.object))
            target = unknown_target(frame.value(function.object))
            if function.name in _OF_LISTS and target.root is RootKind.PARAMETER:
                # tensors have no such method: it changes the caller's list
                frame.add_effect(
                    Effect(EffectKind.STATE_WRITE, target, f"{site.written(called.function)}(...)", site.place())
                )
    else:
        description = callee.origin.name if callee.origin is not None else "an unknown function"
    frame.call_record(site.op).unknown = description
    frame.add_effect(Effect(EffectKind.UNKNOWN_CALL, unknown_target(callee), description, site.place(), assumed=True))
    return _result_of_loaded(site, called, arguments) or UnknownValue(True, Origin("call", description))


_OF_LISTS: Final = frozenset({"append", "extend", "insert", "reverse", "sort"})
"""Methods that change containers and that tensors and arrays do not have, except `sort`, which changes arrays."""


def _result_of_loaded(site: Site, called: Op | None, arguments: CallArguments) -> Value | None:
    """The result of a method of loaded file content; None for other methods."""
    method = site.operation(called.function) if isinstance(called, ops.Call) else None
    if not isinstance(method, ops.LoadAttribute):
        return None
    owner = site.frame.value(method.object)
    return method_of_stream(site, owner, method.name, arguments) or method_of_loaded(
        site, owner, method.name, arguments
    )


HANDLERS: dict[type[Op], OpHandler] = {ops.Call: call}
