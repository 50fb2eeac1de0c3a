"""Arguments of unknown type in training steps: usually arrays from a buffer or a loader, often float64.

Computes: the operators that combine such an argument with a tensor. Eagerly an array is converted to the tensor's
dtype, like any number; a traced function receives it as a tensor with its own dtype. Also: the operators on items of a
list that the program fills with such values, where a Python number is another trace in each call. Needs: a
`ContextView`. Gives: `OpenMeeting`, `open_meetings`, `open_items`. Ignores: elements of loops over unknown data, which
are usually batches of tensors; functions without known callers, or not recorded by a tape.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from terra_refactor.domain.dtype import DType
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.value import FrozenList, Reference, TensorKind, TensorValue, UnknownValue, Value, members
from terra_refactor.facts.records import Call, Container, Display, Fact, ItemRead, NameRead, Operation, Unpacked
from terra_refactor.facts.view import ContextView, is_ndarray, is_tensorflow_tensor
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.host_sources import is_host_source, is_unknown_call
from terra_refactor.tf_model.spec import Trait


@dataclass(frozen=True, slots=True)
class OpenMeeting:
    """An operator with such an argument on one side.

    Attributes:
        fact: the operator.
        parameter: the parameter of the argument.
        dtypes: those of the tensor on the other side; empty if that is computed from the output of an unknown network.
        network: the expression of that network, in the function that calls it.
    """

    fact: Operation
    parameter: str
    dtypes: frozenset[DType]
    network: str = ""


def open_meetings(view: ContextView, symbols: frozenset[str]) -> Iterator[OpenMeeting]:
    """The operators with these symbols that combine an argument of unknown type with a tensor, each once."""
    names: frozenset[str] | None = None
    for fact in view.code.of_kind(Operation):
        if fact.symbol not in symbols:
            continue
        for one, other in fact.pairs:
            name = view.parameter_behind(one)
            if name is None or not all(map(_is_open, members(view.value(one)))):
                continue
            if names is None:
                # computed on demand: it visits all callers
                names = _open_parameters(view) if _is_recorded(view) else frozenset()
            if name not in names:
                continue
            if view.parameter_behind(other) in names:
                continue
            dtypes = _dtypes(view, other)
            network = _network(view, other, view.is_taped(fact.op), 0) if dtypes is None else None
            if dtypes:
                yield OpenMeeting(fact, name, dtypes)
            elif network is not None and not fact.is_comparison:
                yield OpenMeeting(fact, name, frozenset(), network)
            else:
                continue
            break


def open_items(view: ContextView, symbols: frozenset[str]) -> Iterator[tuple[Operation, str]]:
    """The operators with these symbols on an item of a list, which the program fills with results of host code, and its parameter."""
    names: frozenset[str] | None = None
    for fact in view.code.of_kind(Operation):
        if fact.symbol not in symbols:
            continue
        for side in fact.sides:
            name = view.parameter_behind(side)
            if name is None or not all(map(_is_open, members(view.value(side)))):
                continue
            if names is None:
                names = _host_lists(view) if _is_recorded(view) else frozenset()
            if name in names:
                yield fact, name
                break


def _host_lists(view: ContextView) -> frozenset[str]:
    """The parameters for which calls pass a list that holds values of host code."""
    facts = view.facts.functions.get(view.function.id)
    given = () if facts is None else facts.parameters
    return frozenset(
        each.name
        for each in given
        if each.evidence is Evidence.DATAFLOW
        and any(isinstance(member, FrozenList) for value in each.values for member in members(value))
        and _is_of_host(view, each.name, set(), in_list=True)
    )


def _open_parameters(view: ContextView) -> frozenset[str]:
    """The parameters for which calls pass values known only to be computed by host code."""
    facts = view.facts.functions.get(view.function.id)
    if facts is None:
        return frozenset()
    found: set[str] = set()
    for each in facts.parameters:
        given = [member for value in each.values for member in members(value)]
        if each.evidence not in (Evidence.DATAFLOW, Evidence.USAGE) or not given or not all(map(_is_open, given)):
            continue
        if any(map(is_ndarray, given)) or _is_of_host(view, each.name, set()):
            found.add(each.name)
    return frozenset(found)


def _is_of_host(view: ContextView, name: str, seen: set[tuple[FunctionId, str]], *, in_list: bool = False) -> bool:
    """Whether some call passes the result of a buffer or a loader, or of an array method or index; with `in_list`, a list that is
    filled with such results, or with those of other unknown methods.
    """
    if (view.function.id, name) in seen:
        return False
    seen.add((view.function.id, name))
    for caller, call in view.calls_of_function():
        given = None if call is None else caller.given_for(call, view.function, name)
        if given is not None and _is_made_by_host(caller, given, seen, in_list=in_list):
            return True
    return False


_OF_ARRAYS = frozenset({"astype", "copy", "flatten", "ravel", "reshape", "squeeze", "transpose"})
"""Methods of arrays that tensors do not have."""


def _is_made_by_host(
    view: ContextView, number: OpId, seen: set[tuple[FunctionId, str]], *, in_list: bool = False
) -> bool:

    def parts(fact: Fact) -> tuple[OpId, ...]:
        made = view.made(fact.source) if in_list and isinstance(fact, Unpacked) else None
        if isinstance(fact, Unpacked) and isinstance(made, Display):
            # `states, rewards = [], []`
            plain = 0 <= fact.position < len(made.items) and not any(item.starred for item in made.items)
            return (made.items[fact.position].value,) if plain else ()
        return _parts(fact)

    for fact in view.behind(number, parts):
        match fact:
            case NameRead(name=name, is_local=True) if view.code.has_parameter(name):
                found = _is_of_host(view, name, seen, in_list=in_list)
            case Display(kind=Container.LIST, is_comprehension=False, op=place) if in_list:
                found = any(_is_item_of_host(view, each) for each in _put_into(view, place))
            case _ if in_list:
                found = False
            case ItemRead(index=index):
                found = view.all_of(index, is_ndarray)
            case Call() as call:
                found = _is_array_method(view, call) or is_host_source(view, call)
            case _:
                found = view.any_of(fact.op, is_ndarray)
        if found:
            return True
    return False


def _is_item_of_host(view: ContextView, number: OpId) -> bool:
    """Whether a value that is put into a list comes from a method of an unknown object that gets no tensor: an environment, a buffer."""
    return all(map(_is_open, members(view.value(number)))) and any(
        isinstance(fact, Call)
        and fact.owner is not None
        and is_unknown_call(view, fact.op)
        and not any(view.any_of(each.value, is_tensorflow_tensor) for each in fact.arguments)
        for fact in view.behind(number, _parts)
    )


def _put_into(view: ContextView, place: OpId) -> Iterator[OpId]:
    """The values that the function adds to the list that a display creates."""
    for call, _ in view.calls_with(Trait.FILLS_LIST):
        if call.owner is None or not call.arguments:
            continue
        objects = (
            view.facts.objects[each.object] for each in members(view.value(call.owner)) if isinstance(each, Reference)
        )
        if any((each.function, each.op) == (view.function.id, place) for each in objects):
            yield call.arguments[-1].value


def _parts(fact: Fact) -> tuple[OpId, ...]:
    match fact:
        case Unpacked(source=source):
            return (source,)
        case ItemRead(owner=owner):
            return (owner,)
        case Operation(sides=sides):
            return sides
        case Call(owner=int() as owner, method=method) if method in _OF_ARRAYS:
            return (owner,)
        case _:
            return ()


def _is_array_method(view: ContextView, call: Call) -> bool:
    """Whether an array method is called on an unknown object."""
    return (
        call.owner is not None
        and call.method in _OF_ARRAYS
        and is_unknown_call(view, call.op)
        and all(isinstance(member, UnknownValue) for member in members(view.value(call.owner)))
    )


def _is_open(value: Value) -> bool:
    """Whether the value is unknown except for its uses."""
    match value:
        case TensorValue(type=type_, kind=TensorKind.TENSOR | TensorKind.NDARRAY):
            return type_.dtype is None
        case UnknownValue(may_be_tensor=may_be_tensor):
            return may_be_tensor
        case _:
            return False


def _is_recorded(view: ContextView) -> bool:
    """Whether the function computes gradients, or is called under a tape."""
    if any(True for _ in view.calls_with(Trait.COMPUTES_GRADIENT)):
        return True
    return any(call is not None and caller.is_taped(call.op) for caller, call in view.calls_of_function())


def _dtypes(view: ContextView, number: OpId) -> frozenset[DType] | None:
    """The dtypes of a TensorFlow tensor; None if it may not be one, or if a dtype is unknown."""
    if not view.all_of(number, is_tensorflow_tensor):
        return None
    found = {member.type.dtype for member in members(view.value(number)) if isinstance(member, TensorValue)}
    return None if None in found else frozenset(each for each in found if each is not None)


_MAX_DEPTH = 6


def _network(view: ContextView, number: OpId, taped: bool, depth: int) -> str | None:
    """The call under a tape, of a network or an unknown function, whose result is the value or, through operators,
    functions of the library and parameters, an input of it. `taped`: whether a tape of a caller records the function.
    """
    if depth >= _MAX_DEPTH:
        return None
    made: Fact | None = view.origin(number)
    parts: tuple[OpId, ...]
    match made:
        case Call(op=op, arguments=arguments) if view.library_of(op) and not view.all_of(op, _is_unknown):
            parts = tuple(argument.value for argument in arguments) if _has_unknown_dtype(view, op) else ()
        case Call(op=op, arguments=arguments) as call:
            found = view.calls.get(op)
            known = found is None or found.callees or not view.all_of(op, _is_open)
            return view.written(call.function) if not known and (taped or view.is_taped(op)) and arguments else None
        case Operation(sides=sides):
            parts = sides
        case Unpacked(source=source, position=position) if isinstance(display := view.made(source), Display):
            plain = 0 <= position < len(display.items) and not any(item.starred for item in display.items)
            parts = (display.items[position].value,) if plain else ()
        case NameRead(name=name, is_local=True) if view.code.has_parameter(name):
            return _network_of_callers(view, name, depth)
        case NameRead(is_local=True) as read:
            parts = tuple(write.value for write in view.code.given_to(read))  # set in several branches
        case _:
            return None
    return next((each for part in parts if (each := _network(view, part, taped, depth + 1)) is not None), None)


def _network_of_callers(view: ContextView, name: str, depth: int) -> str | None:
    """The same for what callers pass for a parameter."""
    for caller, call in view.calls_of_function():
        given = None if call is None else caller.given_for(call, view.function, name)
        if call is None or given is None:
            continue
        found = _network(caller, given, caller.is_taped(call.op), depth + 1)
        if found is not None:
            return found
    return None


def _is_unknown(value: Value) -> bool:
    return isinstance(value, UnknownValue)


def _has_unknown_dtype(view: ContextView, number: OpId) -> bool:
    return view.any_of(number, lambda each: isinstance(each, TensorValue) and each.type.dtype is None)
