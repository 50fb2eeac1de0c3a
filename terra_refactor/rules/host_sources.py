"""Calls of unknown objects without tensor arguments, in training steps: usually they return the next batch, or a number
from a schedule.

Computes: the calls before the tape whose result the step uses, and which would not be symbolic in a trace. Needs: a
`ContextView`. Gives: `host_sources`, `is_host_source`, `is_unknown_call`. Ignores: calls that a tape records, since a
loss may have no arguments and read variables; functions of unknown modules, which usually have no state; calls with
an unused result.

    def learn(self):
        states, rewards = self.memory.sample(64)       # a graph would train on the first batch only
        self.step(states, rewards)
"""

from __future__ import annotations

from collections.abc import Iterator

from terra_refactor.domain.value import Constant, LibraryValue, Scalar, UnknownValue, Value, members
from terra_refactor.facts.records import AttributeRead, Call, Fact, NameRead
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.spec import Trait

_MAX_DEPTH = 3
_MAX_STEPS = 6


def host_sources(view: ContextView) -> Iterator[OpId]:
    """The calls whose results at trace time a graph of a training step would keep."""
    calls = [fact for fact in view.code.of_kind(Call) if is_host_source(view, fact)]
    if calls and _trains(view, 0):
        yield from (fact.op for fact in calls)


def is_host_source(view: ContextView, fact: Call) -> bool:
    """Whether it is a method call on an unknown existing object, without tensor arguments, whose result is used."""
    if fact.owner is None or not is_unknown_call(view, fact.op):
        return False
    if view.is_taped(fact.op) or not _is_kept(view, fact.owner, 0):
        return False
    if not fact.is_plain or not all(_is_plain(view, each.value) for each in fact.arguments):
        return False
    return bool(view.code.readers(fact.op))


def is_unknown_call(view: ContextView, number: OpId) -> bool:
    """Whether the callee is unknown: neither a function of the program nor a modelled library function."""
    found = view.calls.get(number)
    if found is None or found.callees:
        return False
    if found.library:
        return all(_is_of_unknown_library(name) for name in found.library)
    return found.unknown is not None


def _is_of_unknown_library(name: str) -> bool:
    return registry.lookup(name) is None and not name.startswith(("tensorflow", "keras"))


def _is_unknown(value: Value) -> bool:
    match value:
        case UnknownValue():
            return True
        case LibraryValue(name=name):
            return _is_of_unknown_library(name)
        case _:
            return False


def _is_kept(view: ContextView, owner: OpId, depth: int) -> bool:
    """Whether a method's object existed before the call: an attribute of such an object, or a variable of the module or
    of an enclosing function.

    An argument may have existed, too; one that is a tensor, or contains tensors, is also used in other ways.
    """
    if not all(map(_is_unknown, members(view.value(owner)))):
        return False
    made: Fact | None = view.origin(owner)
    match made:
        case AttributeRead(owner=holder) if depth < _MAX_STEPS:
            inner = view.origin(holder)
            return isinstance(inner, NameRead) or _is_kept(view, holder, depth + 1)
        case NameRead(outlives_call=True):
            return True
        case NameRead(name=name):
            return view.parameter_behind(owner) == name and _is_only_asked(view, name)
        case _:
            return False


def _is_only_asked(view: ContextView, name: str) -> bool:
    """Whether a function only calls unknown methods without tensor arguments on a parameter, as on a replay buffer.

    A tensor would be an operand, a distribution would get a value, a network a batch.
    """
    asked = {
        call.owner
        for call in view.code.of_kind(Call)
        if is_unknown_call(view, call.op)
        and call.is_plain
        and all(_is_plain(view, each.value) for each in call.arguments)
    }
    return all(read.op in asked for read in view.code.of_kind(NameRead) if read.name == name)


def _is_plain(view: ContextView, number: OpId) -> bool:
    """Whether an argument is a Python value, or a setting of an object: neither a tensor nor computed from one."""
    if all(map(_is_python, members(view.value(number)))):
        return True
    return isinstance(view.origin(number), AttributeRead) and view.parameter_behind(number) is None


def _is_python(value: Value) -> bool:
    return isinstance(value, Constant | Scalar)


def _trains(view: ContextView, depth: int) -> bool:
    """Whether the function computes gradients, itself or in its callees."""
    if any(True for _ in view.calls_with(Trait.COMPUTES_GRADIENT)):
        return True
    if depth >= _MAX_DEPTH:
        return False
    callees = {callee for call in view.calls.values() for callee in call.callees}
    return any(_trains(view.of(callee), depth + 1) for callee in sorted(callees))
