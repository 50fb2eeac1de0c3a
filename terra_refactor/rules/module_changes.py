"""What a module's own code changes between the calls of a function: a learning rate in a script's loop, for example.

Computes: for every module body, its writes to globals, attributes and items, and the calls around each. Needs: the program
and its facts. Gives: `ModuleChanges.between_calls`. Ignores: writes of functions, which the analysis reports as effects, and
whether a loop runs more than once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from terra_refactor.analysis.facts import ContextFacts, ContextId, EntryKind, ObjectKind, ProgramFacts
from terra_refactor.domain.value import BOTTOM, Reference, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.program import Program
from terra_refactor.ir.walk import blocks, walk

_CHANGING_METHODS = frozenset(
    {"append", "extend", "insert", "update", "pop", "popitem", "clear", "remove", "add", "discard", "setdefault"}
)


@dataclass(frozen=True, slots=True)
class Change:
    """One write of a module body."""

    key: Hashable
    """See `global_key`, `attribute_key`, `class_key` and `item_key`."""
    op: OpId
    loops: frozenset[OpId]
    """The loops around it."""
    line: int


def global_key(module: str, name: str) -> Hashable:
    """A global variable."""
    return ("global", module, name)


def attribute_key(value: Value, name: str) -> Iterator[Hashable]:
    """An attribute of each object that a value may be."""
    return (("attribute", member.object, name) for member in members(value) if isinstance(member, Reference))


def class_key(facts: ProgramFacts, value: Value, name: str) -> Iterator[Hashable]:
    """An attribute of some instance of the class of each object that a value may be: an argument has a name of its own in a callee."""
    found = (facts.objects[member.object] for member in members(value) if isinstance(member, Reference))
    return (("class", each.name, name) for each in found if each.kind is ObjectKind.INSTANCE)


def item_key(facts: ProgramFacts, value: Value) -> Iterator[Hashable]:
    """The content of each list, dict or set that a value may be."""
    kinds = (ObjectKind.LIST, ObjectKind.DICT, ObjectKind.SET)
    return (
        ("items", member.object)
        for member in members(value)
        if isinstance(member, Reference) and facts.objects[member.object].kind in kinds
    )


class ModuleChanges:
    """The changes of all module bodies, found when they are asked for first."""

    def __init__(self, program: Program, facts: ProgramFacts) -> None:
        self.program = program
        self.facts = facts
        self._by_key: dict[Hashable, list[tuple[ContextFacts, Change]]] = {}
        self._loops: dict[ContextId, dict[OpId, frozenset[OpId]]] = {}
        self._reached: dict[ContextId, frozenset[FunctionId]] = {}
        for context in facts.contexts:
            code = program.function(context.function)
            if context.entry is EntryKind.MODULE and code.kind is FunctionKind.MODULE:
                if any(call.callees for call in context.calls):
                    self._loops[context.id] = loops_around(code.body)
                    for change in self._changes(context):
                        self._by_key.setdefault(change.key, []).append((context, change))

    def between_calls(self, key: Hashable, function: FunctionId) -> Change | None:
        """A write after a call that reaches the function, and before (or in a loop with) another; None if there is none."""
        for context, change in self._by_key.get(key, ()):
            loops = self._loops[context.id]
            earlier = later = False
            for call in context.calls:
                if not any(function in self._reaches(callee) for callee in call.callees):
                    continue
                shared = not change.loops.isdisjoint(loops.get(call.op, frozenset()))
                earlier = earlier or shared or call.op < change.op
                later = later or shared or call.op > change.op
            if earlier and later:
                return change
        return None

    def _changes(self, context: ContextFacts) -> Iterator[Change]:
        code = self.program.function(context.function)
        table = {op.id: op for op in walk(code.body)}
        for op in table.values():
            for key in self._written(context, table, op):
                yield Change(key, op.id, self._loops[context.id].get(op.id, frozenset()), code.span_of(op.id).line)

    def _written(self, context: ContextFacts, table: dict[OpId, ops.Op], op: ops.Op) -> Iterator[Hashable]:
        match op:
            case ops.StoreName(name=name, value=value) if value is not None:
                if not isinstance(table.get(value), ops.MakeFunction | ops.MakeClass | ops.Import | ops.ImportFrom):
                    yield global_key(context.function.module, name)
            case ops.StoreAttribute(object=owner, name=name):
                yield from attribute_key(_value(context, owner), name)
                yield from class_key(self.facts, _value(context, owner), name)
            case ops.StoreItem(object=owner) | ops.DeleteItem(object=owner):
                yield from item_key(self.facts, _value(context, owner))
            case ops.Call(function=function):
                method = table.get(function)
                if isinstance(method, ops.LoadAttribute) and method.name in _CHANGING_METHODS:
                    yield from item_key(self.facts, _value(context, method.object))

    def _reaches(self, start: ContextId) -> frozenset[FunctionId]:
        found = self._reached.get(start)
        if found is None:
            pending, seen = [start], {start}
            while pending:
                for call in self.facts.contexts[pending.pop()].calls:
                    for callee in call.callees:
                        if callee not in seen:
                            seen.add(callee)
                            pending.append(callee)
            found = self._reached[start] = frozenset(self.facts.contexts[each].function for each in seen)
        return found


def _value(context: ContextFacts, number: OpId) -> Value:
    value = context.value(number)
    return BOTTOM if value is None else value


def loops_around(body: ops.Block) -> dict[OpId, frozenset[OpId]]:
    """The loops that repeat each operation of a body."""
    found: dict[OpId, frozenset[OpId]] = {}
    pending: list[tuple[ops.Block, frozenset[OpId]]] = [(body, frozenset())]
    while pending:
        block, outer = pending.pop()
        for op in block:
            found[op.id] = outer
            inner = outer | {op.id} if isinstance(op, ops.For | ops.While | ops.Comprehension) else outer
            pending.extend((nested, inner) for nested in blocks(op))
    return found
