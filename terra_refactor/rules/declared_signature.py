"""The `input_signature` that a traced function declares, read off the expression that makes it.

Computes: for each entry the type it stands for, and whether an axis is a literal None. Needs: the view of any context
of the function. Gives: `Signature`, or None where there is none, or where it is not written as a list or tuple of
`tf.TensorSpec(...)` that can be read. Ignores: nested structures.
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.domain.value import NONE, SpecValue, Value
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Op
from terra_refactor.ir.walk import walk
from terra_refactor.rules.view import ContextView


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a signature."""

    spec: SpecValue | None
    """None for an entry that is something else than a spec."""
    is_none: bool
    """The entry itself is None, which no signature may hold."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a traced function declares."""

    entries: tuple[Entry, ...]
    parameters: tuple[str, ...]
    """The names of the parameters they are for, in order; without `self` and `cls`."""
    required: int
    """How many parameters have no default."""

    def of(self, parameter: str) -> Entry | None:
        """The entry of a parameter; None for one that the signature leaves to its default."""
        position = self.parameters.index(parameter) if parameter in self.parameters else len(self.entries)
        return self.entries[position] if position < len(self.entries) else None


def declared_signature(view: ContextView, identity: FunctionId) -> Signature | None:
    """The signature of a traced function; `view` may be that of any function of the program."""
    code = view.program.function(identity)
    options = dict(view.facts.functions[identity].hybrid or ())
    if options.get("input_signature", NONE) == NONE or code.parent is None:
        return None
    parent = view.program.function(code.parent)
    table = {op.id: op for op in walk(parent.body)}
    written = _written_signature(table, identity)
    contexts = view.facts.contexts_of(code.parent)
    if written is None or not contexts:
        return None
    display = table.get(written)
    if isinstance(display, ops.LoadName):
        stores = [op for op in table.values() if isinstance(op, ops.StoreName) and op.name == display.name]
        display = table.get(stores[0].value) if len(stores) == 1 and stores[0].value is not None else None
    if not isinstance(display, ops.BuildContainer) or any(element.starred for element in display.elements):
        return None
    entries = tuple(_entry(contexts[0].value(element.value)) for element in display.elements)
    if any(entry.spec is None and not entry.is_none for entry in entries):
        return None
    return Signature(entries, *_parameters(code))


def _parameters(code: Function) -> tuple[tuple[str, ...], int]:
    parameters = code.parameters
    if code.kind is FunctionKind.METHOD and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    return tuple(parameter.name for parameter in parameters), sum(not each.has_default for each in parameters)


def _written_signature(table: dict[OpId, Op], identity: FunctionId) -> OpId | None:
    """The argument `input_signature` of the decorator, or of `tf.function(f, ...)`."""
    makes = {op.id for op in table.values() if isinstance(op, ops.MakeFunction) and op.function == identity}
    for op in table.values():
        if not isinstance(op, ops.Call):
            continue
        if op.decorates in makes:
            maker = table.get(op.function)
        elif op.arguments and _is_of(table, op.arguments[0].value, makes):
            maker = op
        else:
            continue
        if isinstance(maker, ops.Call):
            for argument in maker.arguments:
                if argument.keyword == "input_signature":
                    return argument.value
    return None


def _is_of(table: dict[OpId, Op], number: OpId, makes: set[OpId]) -> bool:
    op = table.get(number)
    if isinstance(op, ops.LoadName):
        stores = [other for other in table.values() if isinstance(other, ops.StoreName) and other.name == op.name]
        return len(stores) == 1 and stores[0].value in makes
    return number in makes


def _entry(value: Value | None) -> Entry:
    return Entry(value, False) if isinstance(value, SpecValue) else Entry(None, value == NONE)
