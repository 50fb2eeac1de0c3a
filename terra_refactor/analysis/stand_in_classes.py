"""Classes of parameters, inferred from the object that the function creates if the caller passes None.

Computes: the class of the program, from `rate or Rate()`, `Rate() if rate is None else rate`, `if rate is None: rate
= Rate()` and from a default that is an object. Needs: the code of the function, the globals of its module. Gives:
`class_shown`.
"""

from __future__ import annotations

from collections.abc import Iterator

from terra_refactor.analysis.engine import Engine
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.state import CLASS
from terra_refactor.domain.value import NONE, Reference, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import OpId


def class_shown(engine: Engine, code: Function, name: str, default: Value | None) -> Reference | None:
    """The only class of the program of which a parameter gets an object by default; None if unknown."""
    found = {
        cls
        for member in (() if default is None else members(default))
        if isinstance(member, Reference) and engine.objects.facts[member.object].kind is ObjectKind.INSTANCE
        for cls in members(engine.world.get((member.object, CLASS)) or NONE)
    }
    if default == NONE:
        called = [made for made in _made_instead(engine, code, name) if isinstance(made, ops.Call)]
        names = [engine.code.op(code, made.function) for made in called]
        known = dict(engine.loader.globals_of(code.id.module)) if names else {}
        found = {known.get(each.name, NONE) if isinstance(each, ops.LoadName) else NONE for each in names}
    only = found.pop() if len(found) == 1 else None
    is_class = isinstance(only, Reference) and engine.objects.facts[only.object].kind is ObjectKind.CLASS
    return only if isinstance(only, Reference) and is_class else None


def _made_instead(engine: Engine, code: Function, name: str) -> Iterator[ops.Op | None]:
    """The operations whose results replace the parameter if it is None."""
    index = engine.code.index(code)

    def reads(number: OpId) -> bool:
        op = index.ops[number]
        return isinstance(op, ops.LoadName) and op.name == name

    for stored in index.stores.get(name, ()):
        if stored.value is not None and isinstance(index.ops[stored.value], ops.Call):
            yield index.ops[stored.value]
    for choice in index.of_kind(ops.ShortCircuit):
        if choice.operator == "or" and reads(choice.left):
            yield index.ops[choice.value]
    for expression in index.of_kind(ops.IfExpression):
        sides = (expression.then_value, expression.else_value)
        yield from (index.ops[other] for one, other in (sides, sides[::-1]) if reads(one))
