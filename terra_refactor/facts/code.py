"""The facts of one function's code, from one pass over its operations.

Computes: a record for each operation that rules query, its enclosing operations, the readers of each result. Needs: a
function. Gives: `CodeFacts`. It holds no values, which belong to a context (`ContextView`). Ignores: operations that
only import a name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

from terra_refactor.analysis.describe import written_form
from terra_refactor.facts.records import (
    DECISIONS,
    Argument,
    Arm,
    AttributeRead,
    AttributeWrite,
    Call,
    Choice,
    ClassMade,
    Container,
    Display,
    Fact,
    FunctionMade,
    Handler,
    Imported,
    Item,
    ItemDeletion,
    ItemRead,
    ItemWrite,
    Literal,
    NameRead,
    NameWrite,
    NextItem,
    Operation,
    Part,
    Raise,
    Region,
    RegionKind,
    Return,
    Slice,
    Suspension,
    Text,
    Unpacked,
)
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Op
from terra_refactor.ir.walk import HAS_BLOCKS, block_results, blocks, operands, walk

FactType = TypeVar("FactType", bound=Fact)


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """The facts of one function. Created once for each function."""

    function: Function
    facts: tuple[Fact | None, ...]
    """The fact of each operation, by its number; None if it has none."""
    regions: Mapping[OpId, Region]
    parents: tuple[OpId | None, ...]
    """The region that contains each operation."""
    writes: Mapping[str, tuple[NameWrite, ...]]
    """The operations that bind each name, in order."""
    skipping: Mapping[OpId, tuple[OpId, ...]]
    """The `if` statements in which a `continue` ends an iteration of each loop."""
    leaving: Mapping[OpId, tuple[OpId, ...]]
    """The same for a `break`, which ends the loop."""
    _ops: tuple[Op | None, ...]
    _kinds: Mapping[type[Fact], tuple[Fact, ...]]
    _readers: dict[bool, dict[OpId, tuple[OpId, ...]]] = field(default_factory=dict)

    def of_kind(self, *kinds: type[FactType]) -> tuple[FactType, ...]:
        """The facts of some kinds, in order within each kind."""
        if len(kinds) == 1:
            found = self._kinds.get(kinds[0], ())
        else:
            found = tuple(fact for kind in kinds for fact in self._kinds.get(kind, ()))
        return cast("tuple[FactType, ...]", found)

    def reads_of(self, name: str) -> tuple[NameRead, ...]:
        """The reads of a name, in order."""
        return tuple(read for read in self.of_kind(NameRead) if read.name == name)

    def inputs(self, number: OpId, *, results: bool = False) -> tuple[OpId, ...]:
        """The results that an operation itself uses; with `results` also those of its blocks."""
        op = self._ops[number]
        if op is None:
            return ()
        return (*operands(op), *(result for _, result in block_results(op))) if results else operands(op)

    def readers(self, number: OpId, *, results: bool = False) -> tuple[OpId, ...]:
        """The operations that use a result, in order; `results` as in `inputs`."""
        known = self._readers.get(results)
        if known is None:
            found: dict[OpId, list[OpId]] = {}
            for op in range(len(self._ops)):
                for read in dict.fromkeys(self.inputs(op, results=results)):
                    found.setdefault(read, []).append(op)
            known = self._readers[results] = {read: tuple(users) for read, users in found.items()}
        return known.get(number, ())

    def tested_by(self, number: OpId) -> tuple[OpId, ...]:
        """The values that an operation tests for truth: a condition, the left side of `and` and `or`, the operand of `not`."""
        region, fact = self.regions.get(number), self.facts[number]
        if region is not None and region.kind in DECISIONS and region.subject is not None:
            return (region.subject,)
        return (fact.left,) if isinstance(fact, Operation) and fact.symbol == "not" else ()

    def written(self, number: OpId) -> str:
        """The source text of a result."""
        return written_form(self._ops.__getitem__, number)

    def around(self, number: OpId) -> Iterator[Region]:
        """The regions that contain an operation, innermost first."""
        parent = self.parents[number]
        while parent is not None:
            yield self.regions[parent]
            parent = self.parents[parent]

    def skipped_by(self, number: OpId, loop: Region) -> Iterator[Region]:
        """For each `if` that may end the iteration of a loop before an operation of its body: what is left of the body.

        AutoGraph runs it under `if not` the flag of the `continue`, a branch like the other side of that `if`.
        """
        body = next((part for part in loop.parts if part.arm is Arm.FIRST), None)
        for op in self.skipping.get(loop.op, ()):
            region = self.regions[op]
            end = max(part.end for part in region.parts)
            if body is None or not end <= number < body.end:
                continue
            outer = (each for each in self.around(op) if each.op > loop.op and each.holds(number))
            if not any(
                part.start <= op < part.end and not part.start <= number < part.end
                for each in outer
                for part in each.parts
            ):
                yield Region(op, region.kind, (Part(Arm.ELSE, end, body.end),), region.subject)

    def is_for_errors(self, region: Region, others: frozenset[str]) -> bool:
        """Whether a handler of a `try` catches exceptions, except those in `others`."""
        return any(not each.raises and self._may_catch(each, others) for each in region.handlers)

    def _may_catch(self, handler: Handler, others: frozenset[str]) -> bool:
        if handler.caught is None:
            return True
        caught = self.facts[handler.caught]
        kinds = [self.facts[item.value] for item in caught.items] if isinstance(caught, Display) else [caught]
        return not all(isinstance(kind, NameRead | AttributeRead) and kind.name in others for kind in kinds)

    def loops_around(self, number: OpId) -> Iterator[Region]:
        """The loops that repeat an operation, innermost first."""
        return (region for region in self.around(number) if region.repeats(number))

    def behind_exits(self, number: OpId) -> Iterator[Region]:
        """For each `if` whose first side ends with `return` or `raise`, before an operation: what follows it in its block, as its
        other side.
        """
        for region in self.regions.values():
            first = next((part for part in region.parts if part.arm is Arm.FIRST), None)
            if region.kind is not RegionKind.IF or first is None or region.has_else or not first.end <= number:
                continue
            parent = self.parents[region.op]
            blocks = () if parent is None else self.regions[parent].parts
            end = next((part.end for part in blocks if part.start <= region.op < part.end), len(self.facts))
            last = first.end - 1
            if number < end and self.parents[last] == region.op and isinstance(self.facts[last], Return | Raise):
                yield Region(region.op, region.kind, (first, Part(Arm.ELSE, first.end, end)), region.subject)

    def is_between(self, number: OpId, calls: Collection[OpId]) -> bool:
        """Whether an operation may run between two of some calls: it lies between them, or a loop repeats it and one of them."""
        return min(calls) < number < max(calls) or any(
            loop.repeats(call) for loop in self.loops_around(number) for call in calls
        )

    def set_in(self, region: Region, name: str) -> tuple[NameWrite, ...]:
        """The assignments to a name in a region."""
        return tuple(write for write in self.writes.get(name, ()) if region.holds(write.op))

    def behind(self, number: OpId) -> Iterator[Fact]:
        """Everything that a result is computed from, through all assignments to the function's variables."""
        waiting, seen = [number], {number}
        while waiting:
            each = waiting.pop()
            fact = self.facts[each]
            if fact is not None:
                yield fact
            further = [*self.inputs(each)]
            if isinstance(fact, NameRead):
                further += [write.value for write in self.writes.get(fact.name, ())]
            waiting += [other for other in dict.fromkeys(further) if other not in seen]
            seen.update(further)

    def has_parameter(self, name: str) -> bool:
        """Whether a parameter has that name."""
        return any(parameter.name == name for parameter in self.function.parameters)

    def given_to(self, read: NameRead) -> tuple[NameWrite, ...]:
        """The assignments that a read of a variable may see: those before it, and later ones in a loop around both."""
        loops = {loop.op for loop in self.loops_around(read.op)}
        return tuple(
            write
            for write in self.writes.get(read.name, ())
            if write.op < read.op or any(loop.op in loops for loop in self.loops_around(write.op))
        )

    def names_of_bases(self, made: ClassMade) -> tuple[str | None, ...]:
        """The last components of the names of a class's bases; None for a base that is not a name."""
        written = (self.facts[base] for base in made.bases)
        return tuple(base.name if isinstance(base, NameRead | AttributeRead) else None for base in written)

    def maker_of(self, function: FunctionId) -> FunctionMade | None:
        """The operation that defines a function in this one."""
        return next((made for made in self.of_kind(FunctionMade) if made.function == function), None)

    def first(self) -> OpId | None:
        """The first operation; None if the body is empty."""
        return next((op.id for op in self._ops if op is not None), None)


def code_facts(function: Function) -> CodeFacts:
    """The facts of a function."""
    found: list[Op | None] = [None] * function.op_count
    facts: list[Fact | None] = [None] * function.op_count
    parents: list[OpId | None] = [None] * function.op_count
    kinds: dict[type[Fact], list[Fact]] = {}
    regions: dict[OpId, Region] = {}
    writes: dict[str, list[NameWrite]] = {}
    skipping: dict[OpId, list[OpId]] = {}
    leaving: dict[OpId, list[OpId]] = {}
    for op in walk(function.body):
        found[op.id] = op
        if isinstance(op, ops.Continue | ops.Break):
            within: list[OpId] = []
            outer = parents[op.id]
            while outer is not None and not regions[outer].is_loop:
                within += [outer] if regions[outer].kind is RegionKind.IF else []
                outer = parents[outer]
            if outer is not None:
                ending = skipping if isinstance(op, ops.Continue) else leaving
                ending.setdefault(outer, []).extend(within)
        region = _region(op) if type(op) in HAS_BLOCKS else None
        if region is not None:
            regions[op.id] = region
            kinds.setdefault(Region, []).append(region)
            for block in blocks(op):
                for inner in block:
                    parents[inner.id] = op.id
        holder = parents[op.id]
        fact = _record(op, found, None if holder is None else regions[holder])
        if fact is None:
            continue
        facts[op.id] = fact
        kinds.setdefault(type(fact), []).append(fact)
        if type(fact) is NameWrite:
            writes.setdefault(fact.name, []).append(fact)
    return CodeFacts(
        function,
        tuple(facts),
        regions,
        tuple(parents),
        {name: tuple(setting) for name, setting in writes.items()},
        {loop: tuple(dict.fromkeys(within)) for loop, within in skipping.items()},
        {loop: tuple(dict.fromkeys(within)) for loop, within in leaving.items()},
        tuple(found),
        {kind: tuple(each) for kind, each in kinds.items()},
    )


# --- records --------------------------------------------------------------------------------------------------------------------------


def _next_item(number: OpId, holder: Region | None) -> NextItem:
    source = None if holder is None or holder.kind is RegionKind.TRY else holder.subject
    return NextItem(number, source, holder is not None and holder.is_loop)


def _call(op: Op, found: list[Op | None]) -> Call:
    assert isinstance(op, ops.Call)
    callee = found[op.function]
    return Call(
        op.id,
        op.function,
        callee.object if isinstance(callee, ops.LoadAttribute) else None,
        callee.name if isinstance(callee, ops.LoadAttribute | ops.LoadName) else "",
        tuple(Argument(each.value, each.keyword, each.spread.value) for each in op.arguments),
        op.decorates,
    )


def _comprehension(op: Op) -> Display:
    assert isinstance(op, ops.Comprehension)
    items = []
    nested: set[OpId] = set()
    for inner in walk(op.body):
        # the elements of an inner comprehension belong to that one
        if isinstance(inner, ops.Comprehension):
            nested.update(each.id for each in walk(inner.body))
        elif isinstance(inner, ops.CollectElement) and inner.id not in nested:
            items.append(Item(inner.value, inner.key))
    return Display(op.id, Container(op.kind.value), tuple(items), op.iterable)


def _record(op: Op, found: list[Op | None], holder: Region | None) -> Fact | None:
    match op:
        case ops.Literal(value=value):
            return Literal(op.id, value)
        case ops.LoadName(name=name, scope=scope):
            return NameRead(op.id, name, scope)
        case ops.LoadAttribute(object=owner, name=name):
            return AttributeRead(op.id, owner, name)
        case ops.StoreName(value=int() as value):
            return NameWrite(op.id, value, op.name, op.scope, op.is_expression)
        case ops.Call():
            return _call(op, found)
        case ops.LoadItem(object=owner, index=index):
            return ItemRead(op.id, owner, index)
        case ops.Binary(operator=symbol, left=left, right=right, in_place=in_place):
            return Operation(op.id, symbol, left, right, in_place=in_place)
        case ops.Compare(operator=symbol, left=left, right=right):
            return Operation(op.id, symbol, left, right, is_comparison=True)
        case ops.Unary(operator=symbol, operand=left):
            return Operation(op.id, symbol, left, None)
        case ops.BuildContainer(kind=kind, elements=elements):
            return Display(op.id, Container(kind.value), tuple(Item(e.value, None, e.starred) for e in elements))
        case ops.BuildDict(items=items):
            return Display(op.id, Container.DICT, tuple(Item(e.value, e.key, e.key is None) for e in items))
        case ops.Comprehension():
            return _comprehension(op)
        case ops.StoreAttribute(value=int() as value):
            return AttributeWrite(op.id, value, op.object, op.name)
        case ops.StoreItem(object=owner, index=index, value=value):
            return ItemWrite(op.id, value, owner, index)
        case ops.DeleteItem(object=owner, index=index):
            return ItemDeletion(op.id, owner, index)
        case ops.Return(value=value):
            return Return(op.id, value)
        case ops.Raise(exception=exception):
            return Raise(op.id, exception)
        case ops.ShortCircuit(operator=symbol, left=left, value=right):
            return Choice(op.id, symbol, left, (left, right))
        case ops.IfExpression(test=test):
            return Choice(op.id, "if", test, (op.then_value, op.else_value))
        case ops.BuildSlice():
            return Slice(op.id, tuple(bound for bound in (op.lower, op.upper, op.step) if bound is not None))
        case ops.UnpackElement(source=source, position=position, total=total, star=star):
            return Unpacked(op.id, source, position, total if star is None else None)
        case ops.FormatString(parts=parts):
            fields = (part for part in parts if isinstance(part, ops.FormatField))
            return Text(op.id, tuple((part.value, part.spec is not None) for part in fields))
        case ops.MakeFunction(function=function, defaults=defaults):
            return FunctionMade(op.id, function, defaults)
        case ops.MakeClass(name=name, body=body, bases=bases):
            return ClassMade(op.id, name, body, tuple(base.value for base in bases))
        case ops.Import(module=module):
            return Imported(op.id, module, None, 0)
        case ops.ImportFrom(module=module, level=level, name=name):
            return Imported(op.id, module, name, level)
        case ops.ImportStar(module=module, level=level):
            return Imported(op.id, module, "*", level)
        case ops.NextItem():
            return _next_item(op.id, holder)
        case ops.Await() | ops.Yield() | ops.YieldFrom():
            return Suspension(op.id)
        case _:
            return None


# --- regions --------------------------------------------------------------------------------------------------------------------------


def _parts(*arms: tuple[Arm, ops.Block]) -> tuple[Part, ...]:
    return tuple(Part(arm, block[0].id, _end(block)) for arm, block in arms if block)


def _end(block: ops.Block) -> OpId:
    """The number after the last operation of a block and of the blocks in it."""
    while True:
        last = block[-1]
        inner = [each for each in blocks(last) if each]
        if not inner:
            return last.id + 1
        block = inner[-1]


def _region(op: Op) -> Region | None:
    first, otherwise = Arm.FIRST, Arm.ELSE
    match op:
        case ops.If(test=test):
            parts = _parts((first, op.then_block), (otherwise, op.else_block))
            return Region(op.id, RegionKind.IF, parts, test, is_assert=op.is_assert, is_case=op.is_case)
        case ops.IfExpression(test=test):
            return Region(op.id, RegionKind.CHOICE, _parts((first, op.then_block), (otherwise, op.else_block)), test)
        case ops.ShortCircuit(left=left, block=block):
            return Region(op.id, RegionKind.CONNECTIVE, _parts((first, block)), left)
        case ops.For(iterable=iterable, body=body):
            return Region(op.id, RegionKind.FOR, _parts((first, body), (otherwise, op.else_block)), iterable)
        case ops.While(test=test, body=body):
            parts = _parts((Arm.TEST, op.test_block), (first, body), (otherwise, op.else_block))
            return Region(op.id, RegionKind.WHILE, parts, test)
        case ops.Comprehension(iterable=iterable, body=body):
            return Region(op.id, RegionKind.COMPREHENSION, _parts((first, body)), iterable)
        case ops.Try(body=body, handlers=handlers):
            inner = [part for handler in handlers for part in (handler.type_block, handler.body)]
            parts = _parts(
                (first, body),
                *((Arm.HANDLER, each) for each in inner),
                (otherwise, op.else_block),
                (Arm.FINAL, op.final_block),
            )
            caught = tuple(
                Handler(each.type, any(isinstance(last, ops.Raise) for last in each.body)) for each in handlers
            )
            return Region(op.id, RegionKind.TRY, parts, None, handlers=caught)
        case ops.With(manager=manager, body=body):
            return Region(op.id, RegionKind.WITH, _parts((first, body)), manager)
        case ops.Lazy(block=block):
            return Region(op.id, RegionKind.LAZY, _parts((first, block)), None)
        case _:
            return None
