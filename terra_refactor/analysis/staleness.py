"""Stale state: state that changes between the calls of a function that reads it.

Computes: for each context, the holders of the containers that it reads or changes, and the reads of callees after which the same state is
written again; for each function, the reads of state that other code changes. Needs: finished frames, then the summaries of the last
round.
Gives: `holders_of`, `reads_before_writes`, `reads_after_writes`, `called_in_loops`, `StateChanges`. Objects are distinguished by class
only, and a class also matches its base classes and subclasses; a container by the field that holds it.
Ignores: writes by constructors, and functions that only constructors call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from terra_refactor.analysis.boundary import is_restored
from terra_refactor.analysis.effects import MAX_VIA, own_field
from terra_refactor.analysis.engine import Code, Engine, Heap
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import FieldKey, Frame, StaleRead, Summary
from terra_refactor.domain.effect import Effect, EffectKind, EffectSite, RootKind, Target
from terra_refactor.domain.lattice import references
from terra_refactor.domain.state import ANY_NAME, BASES, CELL, CLASS, EXISTS, ITEMS, HeapKey, may_be_named
from terra_refactor.domain.value import (
    ObjectId,
    Reference,
    Scalar,
    TensorValue,
    TupleValue,
    members,
)
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.index import CodeIndex
from terra_refactor.ir.ops import Binary, Call, Compare, If, Literal, LoadAttribute, LoadName, MakeClass, Unary

_Node = TypeVar("_Node")
_Way: TypeAlias = tuple[EffectSite, tuple[FunctionId, ...]]
"""A path to a read of state: the place of the read, and the functions called on the way."""

_CONSTRUCTORS = frozenset(
    {
        "__init__",
        "__init_subclass__",
        "__new__",
        "__post_init__",
        "__set_name__",
        "__setstate__",
        "build",
        "setUp",
        "setup_method",
    }
)
"""Methods that run before the other methods of their object, never between two calls of them: their writes to the
object itself are not changes.
"""

_ONCE = (FunctionKind.MODULE, FunctionKind.CLASS_BODY)
_SHARED = (ObjectKind.CLASS, ObjectKind.MODULE, ObjectKind.CELL)
_OF_CLASSES = (ObjectKind.INSTANCE, ObjectKind.CLASS)


# --- of one context ---------------------------------------------------------------------------------------------------------------


def live_reads(frame: Frame) -> dict[HeapKey, tuple[EffectSite, tuple[EffectSite, ...]]]:
    """The reads of state that may see values from before the call: all except those that the call's own writes precede on all paths.

    On a path without a write, the merge of paths reads the earlier value, so the boundary records it.
    """
    before, written = frame.root.reads or {}, frame.root.heap
    return {key: place for key, place in frame.state_reads.items() if key in before or key not in written}


def overwrites_of(frame: Frame, effects: Iterable[Effect], reads: Iterable[HeapKey]) -> frozenset[str]:
    """The attributes that a finished call writes without needing their former value on any of its objects."""
    before, written = frame.root.reads or {}, frame.root.heap
    needed = {name for _, name in reads}
    found: set[str] = set()
    for effect in effects:
        if effect.kind is not EffectKind.STATE_WRITE:
            continue
        number, field = effect.target.object, own_field(effect.target)
        name = field.removeprefix(".")
        key = None if number is None else (number, name)
        if key is None or key in before or key not in written or not field.startswith("."):
            needed.add(name)
        else:
            found.add(name)
    return frozenset(found - needed)


def holders_of(engine: Heap, frame: Frame) -> Mapping[ObjectId, frozenset[FieldKey]]:
    """The fields that hold the containers that a finished call has read or changed, as far as it has looked at them."""
    if frame.function.kind in (FunctionKind.MODULE, FunctionKind.CLASS_BODY):
        return {}
    wanted = {number for number, name in frame.state_reads if name == ITEMS}
    for effect in frame.effects.values():
        number = effect.target.object
        if effect.kind is EffectKind.STATE_WRITE and number is not None and own_field(effect.target) == ITEMS:
            wanted.add(number)
    wanted -= frame.allocated
    if not wanted:
        return {}
    fields: dict[ObjectId, set[FieldKey]] = {}
    outer: dict[ObjectId, set[ObjectId]] = {}
    for key in dict.fromkeys((*(frame.root.reads or ()), *frame.root.heap)):
        if key[1] in (EXISTS, CLASS):
            continue
        held = frame.root.get(key)
        if held is None:
            continue
        for inner in references(held):
            if key[1] == ITEMS:
                outer.setdefault(inner, set()).add(key[0])
            elif inner in wanted or engine.objects.facts[inner].container_class is not None:
                fields.setdefault(inner, set()).add(_field_key(engine, key))
    return {number: found for number in wanted if (found := _through_containers(number, fields, outer))}


def _through_containers(
    number: ObjectId, fields: Mapping[ObjectId, set[FieldKey]], outer: Mapping[ObjectId, set[ObjectId]]
) -> frozenset[FieldKey]:
    """The fields that hold a container, or that hold another container with it."""
    return frozenset(field for each in _reached((number,), outer) for field in fields.get(each, ()))


def _reached(starts: Iterable[_Node], following: Mapping[_Node, Iterable[_Node]]) -> set[_Node]:
    """Nodes, and all nodes that are reachable from them."""
    seen: set[_Node] = set()
    pending = list(starts)
    while pending:
        current = pending.pop()
        if current not in seen:
            seen.add(current)
            pending.extend(following.get(current, ()))
    return seen


def reads_before_writes(engine: Engine, frame: Frame) -> frozenset[StaleRead]:
    """The reads of callees after which this function, or another callee, writes the same state: the next call sees another value.

    A function may be called again, so its last write may precede its first read; a module runs once, and an object
    that a call creates is written and read only in that call.
    """
    found: set[StaleRead] = set()
    module = frame.function.kind is FunctionKind.MODULE
    for key, ways in _reads_of_written(frame).items():
        restored = is_restored(frame, key)
        once = module or key[0] in frame.allocated
        for (site, way), (first, last) in ways.items():
            for written, by in frame.writes_at.get(key, ()):
                if (by.module, by.function) == (site.module, site.function):
                    continue
                if restored and not first < written < last:
                    # only the value between the two writes is ever read
                    continue
                is_made = engine.objects.facts[key[0]].kind not in _SHARED
                if is_made and engine.code_of(FunctionId(by.module, by.function)).name in _CONSTRUCTORS:
                    continue
                between = first < written and (last > written or not once)
                if between or any(_in_one_loop(engine, frame.function, read, written, way) for read in (first, last)):
                    found.add((site, key[1], way))
                    break
    return frozenset(found)


def reads_after_writes(engine: Engine, frame: Frame) -> frozenset[StaleRead]:
    """The reads in callees of state that this function, or another callee, has set to a new value before: in each call of
    the function they see another value.
    """
    if frame.function.kind in (FunctionKind.MODULE, FunctionKind.CLASS_BODY) or frame.function.name in _CONSTRUCTORS:
        return frozenset()
    found: set[StaleRead] = set()
    for key, ways in _reads_of_written(frame).items():
        if key[0] in frame.allocated or key[1] in (ITEMS, EXISTS, CLASS) or not _is_new(engine, frame, key):
            continue
        for (site, way), (_, last) in ways.items():
            for written, by in frame.writes_at.get(key, ()):
                inside = (by.module, by.function) == (site.module, site.function)
                if engine.code_of(FunctionId(by.module, by.function)).name in _CONSTRUCTORS:
                    continue
                if written < last and not inside and _made_at(engine, frame.function, way) is None:
                    found.add((site, key[1], way))
                    break
    return frozenset(found)


def _is_new(engine: Heap, frame: Frame, key: HeapKey) -> bool:
    """Whether a field gets another value in each call: something computed, or a new dict (a list may have the same elements)."""
    value = frame.root.heap.get(key)
    return value is not None and any(
        isinstance(member, TensorValue)
        or (isinstance(member, Scalar) and not member.symbolic)
        or (
            isinstance(member, Reference)
            and member.object in frame.allocated
            and engine.objects.facts[member.object].kind is ObjectKind.DICT
        )
        for member in members(value)
    )


def called_in_loops(engine: Engine, frame: Frame) -> frozenset[FunctionId]:
    """The functions of the program that a finished call calls in a loop."""
    loops = engine.code.loops_of(frame.function)
    if not loops:
        return frozenset()
    return frozenset(
        engine.contexts.summaries[number].function.id
        for op, record in frame.calls.items()
        if any(start <= op <= end for start, end in loops)
        for number in record.callees
    )


def _reads_of_written(frame: Frame) -> Mapping[HeapKey, Mapping[_Way, tuple[OpId, OpId]]]:
    """The reads in callees of state that is written here or in callees, with the first and the last call that does."""
    found: dict[HeapKey, dict[_Way, tuple[OpId, OpId]]] = {}
    for op, summary, naming in frame.reading_calls if frame.writes_at else ():
        for read, (site, via) in summary.state_reads.items():
            if read[0] in summary.allocated or len(via) >= MAX_VIA:
                continue
            actual = naming.outward_object(read[0])
            if actual is None or (actual, read[1]) not in frame.writes_at:
                continue
            ways = found.setdefault((actual, read[1]), {})
            way = _way(summary.function, site, via)
            ways[site, way] = (ways[site, way][0], op) if (site, way) in ways else (op, op)
    return found


def _way(function: Function, site: EffectSite, via: Sequence[EffectSite]) -> tuple[FunctionId, ...]:
    """The functions on the way from a function to a read of state: itself, those called, and the one that reads."""
    return (function.id, *(FunctionId(step.module, step.function) for step in (*via[1:], site)))


def _made_at(engine: Code, function: Function, way: Sequence[FunctionId]) -> OpId | None:
    """The `def` in this function that creates one of the called functions; None if there is none."""
    inner = next((each for each in way if engine.code_of(each).parent == function.id), None)
    return None if inner is None else engine.code.definition_of(inner, function)


def _in_one_loop(engine: Code, function: Function, first: OpId, second: OpId, way: Sequence[FunctionId]) -> bool:
    """Whether a loop repeats both operations, but not the operation that creates the callee each time."""
    around = [
        (start, end)
        for start, end in engine.code.loops_of(function)
        if start <= first <= end and start <= second <= end
    ]
    made = _made_at(engine, function, way) if around else None
    return any(made is None or not start <= made <= end for start, end in around)


# --- of the program ---------------------------------------------------------------------------------------------------------------


class StateChanges:
    """State that changes between calls, over all contexts of the last round."""

    def __init__(self, engine: Engine, live: Sequence[Summary], real: Set[int] = frozenset()) -> None:
        self._engine = engine
        self._relatives = _relatives(engine)
        # a test that tries several settings is not a program that changes them between calls: there it stays an
        # assumption
        self._certain: dict[tuple[EffectSite, str], set[FunctionId]] = {}
        for summary in live:
            for site, name, way in () if summary.function.name.startswith("test") else summary.stale_reads:
                # a read by another function proves nothing: code that changes a setting also reads it
                self._add_certain(site, name, way)
        self._rewritten(live)
        self._writers: dict[FieldKey, set[FunctionId]] = {}
        self._of_relatives: dict[FieldKey, frozenset[FunctionId]] = {}
        before = _constructing(engine, live, real)
        for summary in live:
            if summary.function.kind in (FunctionKind.MODULE, FunctionKind.CLASS_BODY):
                continue
            for effect in summary.effects:
                if effect.kind is not EffectKind.STATE_WRITE or effect.target.object is None:
                    continue
                writer = FunctionId(effect.site.module, effect.site.function)
                if writer in before and not _is_shared(engine, effect.target):
                    continue
                field = own_field(effect.target)
                name = field if field == ITEMS else field.lstrip(".") or CELL
                if name != ITEMS and effect.via:
                    # the callee's own context reports it
                    continue
                for key in self._keys(summary, (effect.target.object, name)):
                    self._writers.setdefault(key, set()).add(writer)
        self._counted(live)
        self._hand_on(live)

    def _add_certain(self, site: EffectSite, name: str, way: Sequence[FunctionId]) -> None:
        """Marks a read as one of changed state for the functions on the way to it, except those that another one of them
        creates and calls: they have no earlier trace.
        """
        self._certain.setdefault((site, name), set()).update(
            function
            for position, function in enumerate(way)
            if self._engine.code_of(function).parent not in way[:position]
        )

    def _counted(self, live: Sequence[Summary]) -> None:
        """Reads in methods that another method of the class or of a related one calls, by name, and beside the call it
        counts the attribute: `self._train(batch)` and `self.updates += 1`. The call may be resolved to the method of a
        base class only.
        """
        engine = self._engine
        own: dict[FunctionId, tuple[frozenset[str], frozenset[str]]] = {}
        for summary in live:
            function = summary.function
            for key, (site, via) in summary.state_reads.items() if function.takes_self else ():
                for writer in self._writers_of(_field_key(self._engine, key)) - {function.id}:
                    counted, called = own.get(writer) or own.setdefault(writer, _counted_and_called(engine, writer))
                    if key[1] in counted and function.name in called:
                        self._add_certain(site, key[1], _way(function, site, via))

    def _rewritten(self, live: Sequence[Summary]) -> None:
        """Reads of state that a function sets to a new value before, if some loop of the program repeats that function."""
        setting = [summary for summary in live if summary.rewritten_reads]
        if not setting:
            return
        calls: dict[FunctionId, set[FunctionId]] = {}
        for summary in live:
            own = calls.setdefault(summary.function.id, set())
            own.update(
                self._engine.contexts.summaries[n].function.id for r in summary.calls.values() for n in r.callees
            )
        repeated = _reached((each for summary in live for each in summary.repeats), calls)
        for summary in setting:
            if summary.function.id in repeated:
                for site, name, way in summary.rewritten_reads:
                    self._certain.setdefault((site, name), set()).update(way)

    def _hand_on(self, live: Sequence[Summary]) -> None:
        """Propagates reads of state: a summary keeps only the first read, and callees that read it again see the same changes."""
        engine = self._engine
        pending = [
            (summary, key, frozenset[FunctionId]())
            for summary in (live if self._certain else ())
            for key, (site, _) in summary.state_reads.items()
            if summary.function.id in self._certain.get((site, key[1]), ())
        ]
        seen = {(summary.identity, key) for summary, key, _ in pending}
        while pending:
            summary, key, above = pending.pop()
            way = above | {summary.function.id}
            for number in dict.fromkeys(callee for record in summary.calls.values() for callee in record.callees):
                callee = engine.contexts.summaries[number]
                if key not in callee.state_reads or (number, key) in seen:
                    continue
                seen.add((number, key))
                pending.append((callee, key, way))
                # a function that another one creates and calls has no earlier trace
                if engine.code_of(callee.function.id).parent not in way:
                    site, _ = callee.state_reads[key]
                    self._certain.setdefault((site, key[1]), set()).add(callee.function.id)

    def of(self, engine: Engine) -> StateChanges:
        """The same changes for another run in which no context writes or reads other state."""
        again = StateChanges(engine, ())
        again._certain, again._writers = self._certain, self._writers
        return again

    def kept(self) -> tuple[object, ...]:
        """The contents as plain data, for storage."""
        return self._certain, self._writers

    @staticmethod
    def restored(kept: tuple[Any, ...]) -> StateChanges:
        """Restores stored contents; the result supports only `of`."""
        changes = StateChanges.__new__(StateChanges)
        changes._certain, changes._writers = kept
        return changes

    def forget(self) -> None:
        """Frees the data of the run: afterwards only `of` can be called."""
        del self._engine, self._relatives, self._of_relatives

    def effects_of(self, summary: Summary) -> tuple[Effect, ...]:
        """Reads of state that other functions change between calls; assumed unless the analysis has seen the change
        happen after a call.
        """
        effects: list[Effect] = []
        given = _given(self._engine, summary) if summary.state_reads else frozenset()
        for key, (site, via) in summary.state_reads.items():
            if key[0] in given:
                continue
            certain = summary.function.id in self._certain.get((site, key[1]), ())
            if not certain:
                known = summary.function.id, FunctionId(site.module, site.function)
                if all(self._writers_of(each).issubset(known) for each in self._keys(summary, key)):
                    continue
            target = _target_of(self._engine, summary, key)
            effects.append(Effect(EffectKind.STATE_READ, target, f"reads {target}", site, via, assumed=not certain))
        return tuple(effects)

    def _writers_of(self, key: FieldKey) -> frozenset[FunctionId]:
        """The functions that set a field of objects of a class or of a related class."""
        found = self._of_relatives.get(key)
        if found is None:
            kind, cls, field = key
            related = [
                (kind, each, field) for each in (self._relatives.get(cls, (cls,)) if kind in _OF_CLASSES else (cls,))
            ]
            found = self._of_relatives[key] = frozenset().union(
                *(self._writers.get(each, ()) for each in related), *map(self._writers_by_computed_name, related)
            )
        return found

    @cached_property
    def _computed(self) -> Mapping[tuple[ObjectKind, str], Mapping[str, set[FunctionId]]]:
        """By kind and class of object: the prefixes of computed names, each with the functions that set attributes
        under such names.
        """
        found: dict[tuple[ObjectKind, str], dict[str, set[FunctionId]]] = {}
        for (kind, cls, field), writers in self._writers.items():
            if field.endswith(ANY_NAME):
                found.setdefault((kind, cls), {})[field.removesuffix(ANY_NAME)] = writers
        return found

    @cached_property
    def _methods(self) -> Mapping[str, Set[str]]:
        """The names that a class body defines, by the name of the class."""
        found: dict[str, set[str]] = {}
        code = self._engine
        for module in code.program.modules.values():
            for function in module.functions:
                if function.parent is not None and function.kind is FunctionKind.METHOD:
                    found.setdefault(code.code_of(function.parent).name, set()).add(function.name)
        return found

    def _writers_by_computed_name(self, key: FieldKey) -> Iterator[FunctionId]:
        """The functions that set an attribute of the class under a name known only by its prefix: a data attribute, not
        a method.
        """
        kind, cls, field = key
        for beginning, writers in self._computed.get((kind, cls), {}).items():
            if may_be_named(field, beginning) and field not in self._methods.get(cls, ()):
                yield from writers

    def _keys(self, summary: Summary, key: HeapKey) -> Iterable[FieldKey]:
        if key[1] != ITEMS:
            return (_field_key(self._engine, key),)
        held = tuple((kind, cls, f"{name}[]") for kind, cls, name in summary.holders.get(key[0], ()))
        made = self._engine.objects.facts[key[0]]
        kind = None if made.function is None else self._engine.code_of(made.function).kind
        if kind in _ONCE or (made.function is not None and self._engine.code_of(made.function).name in _CONSTRUCTORS):
            # the body runs once, and a constructor once per object: the place identifies the list or dict, under any
            # name
            return (*held, (made.kind, f"{made.function} {made.op}", ITEMS))
        return held


def _is_shared(engine: Engine, target: Target) -> bool:
    """Whether an effect changes state shared by several objects of a class: a constructor of another object may do so at any time."""
    if target.object is None:
        return False
    facts = engine.objects.facts[target.object]
    # a list created in a class body is shared by all objects of the class
    is_own = target.root is RootKind.SELF and target.path.count(".") == 1 and facts.kind is ObjectKind.INSTANCE
    of_class = _made_in(engine, target.object) is FunctionKind.CLASS_BODY and not is_own
    return of_class or target.root in (RootKind.GLOBAL, RootKind.CLOSURE) or facts.kind in _SHARED


def _given(engine: Heap, summary: Summary) -> frozenset[ObjectId]:
    """The lists and dicts that are (parts of) arguments: each call passes their contents, and a graph flattens them on
    each call.
    """
    own = 1 if summary.function.kind is FunctionKind.METHOD else 0
    pending = [number for value in [*summary.parameters.values()][own:] for number in references(value)]
    found: set[ObjectId] = set()
    while pending:
        number = pending.pop()
        if number not in found and engine.objects.facts[number].kind in (ObjectKind.LIST, ObjectKind.DICT):
            found.add(number)
            held = summary.reads.get((number, ITEMS))
            pending.extend(references(held) if held is not None else ())
    return frozenset(found)


def _constructing(engine: Engine, live: Sequence[Summary], real: Set[int]) -> frozenset[FunctionId]:
    """Constructors and the functions that only constructors call.

    Without methods of existing objects, which several constructors share; without a `build` that another method of its object calls, for
    example where the size of an argument has changed; in a library, also without public functions that store their arguments, which other
    code may call. `real` are the contexts that a run reaches.
    """
    callers: dict[FunctionId, set[FunctionId]] = {}
    names: dict[FunctionId, str] = {}
    rebuilt: set[FunctionId] = set()
    for summary in live:
        names[summary.function.id] = summary.function.name
        for op, record in summary.calls.items():
            callees = [engine.contexts.summaries[callee].function for callee in record.callees]
            by_shared = any(callee.takes_self for callee in callees) and _is_of_shared(engine, summary, op)
            for callee in callees:
                # treated as if other code called it, too
                by = {summary.function.id, callee.id} if by_shared else {summary.function.id}
                callers.setdefault(callee.id, set()).update(by)
                if callee.name == "build" and _calls_own_build(engine, summary, op):
                    rebuilt.add(callee.id)
    found = {identity for identity, name in names.items() if name in _CONSTRUCTORS} - rebuilt
    called = {summary.function.id for summary in live if summary.identity in real}
    setters = {summary.function.id for summary in live if _is_public_setter(summary.function)} - called
    grown = True
    while grown:
        more = {identity for identity, by in callers.items() if identity not in found | setters and by <= found}
        found |= more
        grown = bool(more)
    return frozenset(found)


def _counted_and_called(engine: Code, identity: FunctionId) -> tuple[frozenset[str], frozenset[str]]:
    """The attributes of its object that a method changes in place by a number, and the methods of it that it calls.

    Nothing for constructors and tests.
    """
    function = engine.code_of(identity)
    if not function.takes_self or function.name in _CONSTRUCTORS or function.name.startswith("test"):
        return frozenset(), frozenset()
    index = engine.code.index(function)

    def own(number: OpId) -> Iterator[str]:
        read = index.ops[number]
        held = index.ops[read.object] if isinstance(read, LoadAttribute) else None
        if isinstance(read, LoadAttribute) and isinstance(held, LoadName) and held.name == function.parameters[0].name:
            yield read.name

    by_numbers = (
        each for each in index.of_kind(Binary) if each.in_place and isinstance(index.ops[each.right], Literal)
    )
    return (
        frozenset(name for each in by_numbers for name in own(each.left)),
        frozenset(name for call in index.of_kind(Call) for name in own(call.function)),
    )


def _calls_own_build(engine: Engine, summary: Summary, op: OpId) -> bool:
    """Whether a call is `self.build(...)` in a method that is no constructor.

    Not under `if not self.built`, `if self.weights is None` or `if not hasattr(self, "weights")`: there it is made once.
    """
    function = summary.function
    if function.name in _CONSTRUCTORS or not function.takes_self:
        return False
    index = engine.code.index(function)
    around = index.parents[op]
    while around is not None:
        test = index.ops[around]
        if isinstance(test, If) and _asks_for_absence(index, test.test):
            return False
        around = index.parents[around]
    call = engine.code.op(function, op)
    method = engine.code.op(function, call.function) if isinstance(call, Call) else None
    own = summary.parameters.get(function.parameters[0].name)
    if not isinstance(method, LoadAttribute) or method.name != "build":
        return False
    return own is not None and summary.values[method.object] == own


def _asks_for_absence(index: CodeIndex, test: OpId) -> bool:
    """Whether a condition is `not object.name`, `object.name is None` or `not hasattr(...)`."""
    match index.ops[test]:
        case Unary(operator="not", operand=number):
            asked = index.ops[number]
            called = index.ops[asked.function] if isinstance(asked, Call) else None
            return isinstance(asked, LoadAttribute) or (isinstance(called, LoadName) and called.name == "hasattr")
        case Compare(operator="is", left=left, right=right):
            none = index.ops[right]
            return isinstance(index.ops[left], LoadAttribute) and isinstance(none, Literal) and none.value is None
        case _:
            return False


def _is_of_shared(engine: Engine, summary: Summary, op: OpId) -> bool:
    """Whether a method is called on an object that a module or class body created."""
    call = engine.code.op(summary.function, op)
    method = engine.code.op(summary.function, call.function) if isinstance(call, Call) else None
    owner = summary.values[method.object] if isinstance(method, LoadAttribute) else None
    return owner is not None and any(
        isinstance(member, Reference) and _made_in(engine, member.object) in _ONCE for member in members(owner)
    )


def _made_in(engine: Engine, number: ObjectId) -> FunctionKind | None:
    """The kind of the function that creates an object; None for classes, modules, and any object of a class (a stand-in)."""
    facts = engine.objects.facts[number]
    if facts.function is None or facts.op is None or facts.kind in (ObjectKind.CLASS, ObjectKind.MODULE):
        return None
    function = engine.code_of(facts.function)
    return None if isinstance(engine.code.op(function, facts.op), MakeClass) else function.kind


def _is_public_setter(function: Function) -> bool:
    """Whether it is a public method with parameters."""
    return function.kind is FunctionKind.METHOD and not function.name.startswith("_") and len(function.parameters) > 1


def _relatives(engine: Heap) -> Mapping[str, frozenset[str]]:
    """By name of a class: itself, its base classes and its subclasses; one object may be an instance of all of these."""
    bases: dict[str, set[str]] = {}
    for number, facts in enumerate(engine.objects.facts):
        given = engine.world.get((number, BASES)) if facts.kind is ObjectKind.CLASS else None
        for base in given.elements if isinstance(given, TupleValue) else ():
            if isinstance(base, Reference):
                bases.setdefault(facts.name, set()).add(engine.objects.facts[base.object].name)
    found: dict[str, set[str]] = {}
    for name in bases:
        above = _reached((name,), bases)
        for each in above:
            found.setdefault(each, {each}).add(name)
        found.setdefault(name, {name}).update(above)
    return {name: frozenset(related) for name, related in found.items()}


def _field_key(engine: Heap, key: HeapKey) -> FieldKey:
    facts = engine.objects.facts[key[0]]
    return (facts.kind, facts.name, key[1])


def _target_of(engine: Engine, summary: Summary, key: HeapKey) -> Target:
    number, name = key
    facts = engine.objects.facts[number]
    path = "[]" if name == ITEMS else "" if name == CELL else f".{name}"
    parameters = summary.function.parameters
    for parameter, value in summary.parameters.items():
        if number in references(value):
            is_self = summary.function.takes_self and parameters[0].name == parameter
            return Target(RootKind.SELF if is_self else RootKind.PARAMETER, parameter, path, number)
    if facts.kind is ObjectKind.MODULE:
        return Target(RootKind.GLOBAL, name, "", number)
    if facts.kind is ObjectKind.CELL:
        return Target(RootKind.CLOSURE, facts.name, "", number)
    held = sorted(summary.holders.get(number, ()), key=str)
    if name == ITEMS and not held and facts.function is not None:
        stores = engine.code.index(engine.code_of(facts.function)).stores
        bound = (bound for bound, written in stores.items() if any(op.value == facts.op for op in written))
        return Target(RootKind.GLOBAL, next(bound, facts.name), path, number)
    if name == ITEMS and held:
        kind, cls, field = held[0]
        if kind is ObjectKind.MODULE:
            return Target(RootKind.GLOBAL, field, path, number)
        if kind is ObjectKind.CELL:
            return Target(RootKind.CLOSURE, cls, path, number)
        first = parameters[0].name if parameters else ""
        own = first in summary.parameters and any(
            engine.objects.facts[inner].name == cls for inner in references(summary.parameters[first])
        )
        if own and summary.function.takes_self:
            return Target(RootKind.SELF, first, f".{field}{path}", number)
        return Target(RootKind.UNKNOWN, cls, f".{field}{path}", number)
    return Target(RootKind.UNKNOWN, facts.name, path, number)
