"""The `input_signature` that a traced function declares, read from its expression.

Computes: for each entry its type, and whether an axis is a literal None. Needs: the view of any context of the function. Gives:
`Signature`, or None if there is none, or if it is not a literal list or tuple of `tf.TensorSpec(...)`. Ignores: nested structures.
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.domain.value import NONE, SpecValue, Value
from terra_refactor.facts.records import Call, Display, FunctionMade
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.tf_model.graph_traits import TF_FUNCTION


@dataclass(frozen=True, slots=True)
class SignatureEntry:
    """One entry of a signature."""

    spec: SpecValue | None
    """None for an entry that is not a spec."""
    is_none: bool
    """The entry itself is None, which is invalid in a signature."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The declared signature of a traced function."""

    entries: tuple[SignatureEntry, ...]
    parameters: tuple[str, ...]
    """The names of the corresponding parameters, in order; without `self` and `cls`."""
    required: int
    """The number of parameters without a default."""

    def of(self, parameter: str) -> SignatureEntry | None:
        """The entry of a parameter; None if the signature omits it, so that it has its default."""
        position = self.parameters.index(parameter) if parameter in self.parameters else len(self.entries)
        return self.entries[position] if position < len(self.entries) else None


def traced_definition(view: ContextView, call: Call) -> FunctionId | None:
    """The function to which a call applies `tf.function` as a decorator."""
    made = None if call.decorates is None else view.made(call.decorates)
    is_decorator = isinstance(made, FunctionMade) and TF_FUNCTION in view.library_of(call.op)
    return made.function if isinstance(made, FunctionMade) and is_decorator else None


def declared_signature(view: ContextView, identity: FunctionId) -> Signature | None:
    """The signature of a traced function; `view` may be that of any function of the program."""
    code = view.program.function(identity)
    options = dict(view.facts.functions[identity].hybrid or ())
    if options.get("input_signature", NONE) == NONE or code.parent is None:
        return None
    contexts = view.facts.contexts_of(code.parent)
    if not contexts:
        return None
    outer = ContextView(view.codes, view.facts, contexts[0])
    written = _written_signature(outer, identity)
    display = None if written is None else outer.origin(written)
    if not isinstance(display, Display) or not display.is_sequence or any(item.starred for item in display.items):
        return None
    entries = tuple(_entry(outer.value(item.value)) for item in display.items)
    if any(entry.spec is None and not entry.is_none for entry in entries):
        return None
    return Signature(entries, *_parameters(code))


def _parameters(code: Function) -> tuple[tuple[str, ...], int]:
    parameters = code.parameters
    if code.kind is FunctionKind.METHOD and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    return tuple(parameter.name for parameter in parameters), sum(not each.has_default for each in parameters)


def _written_signature(outer: ContextView, identity: FunctionId) -> OpId | None:
    """The argument `input_signature` of the decorator or of `tf.function(f, ...)`."""
    made = outer.code.maker_of(identity)
    for call in outer.code.of_kind(Call) if made is not None else ():
        if made is not None and call.decorates == made.op:
            maker = outer.made(call.function)
        elif call.first is not None and outer.origin(call.first) is made:
            maker = call
        else:
            continue
        if isinstance(maker, Call):
            found = maker.keyword("input_signature")
            if found is not None:
                return found
    return None


def _entry(value: Value) -> SignatureEntry:
    return SignatureEntry(value, False) if isinstance(value, SpecValue) else SignatureEntry(None, value == NONE)
