"""Code that runs only once: under a test for state that is missing until that code sets it.

Computes: whether an operation is under `if self.x is None`, `if not made`, `if key not in self.cache`, `if not
hasattr(self, "x")`, `if not self.built` or `if self.first_call`, or in `self.x = self.x or ...`, and whether the
tested state is set there; whether that branch decides more than this state. Needs: the code of the function, and its
writes through calls. Gives: `runs_first_time`, `decides_more`, `is_set_first`.
Ignores: state that is removed again, or set after the branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ProgramFacts
from terra_refactor.domain.effect import Effect, EffectKind
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.codes import ITEM, Codes
from terra_refactor.facts.records import (
    Argument,
    Arm,
    AttributeRead,
    AttributeWrite,
    Call,
    Choice,
    Display,
    Fact,
    ItemRead,
    ItemWrite,
    Literal,
    NameRead,
    NameWrite,
    Operation,
    Part,
    Region,
    RegionKind,
    Return,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.tf_model.graph_traits import built_in, is_of_python
from terra_refactor.tf_model.python_effects import MUTATING_FUNCTIONS, MUTATING_METHODS

_FLAGS: Final = frozenset({"built", "initialized", "is_built", "is_initialized", "build_done"})
"""Attributes with this meaning by convention: Keras sets `built` itself."""
_FILLING: Final = frozenset().union(*(MUTATING_METHODS[built_in(kind)] for kind in ("list", "dict", "set"))) - {
    "clear",
    "pop",
    "popitem",
    "remove",
    "discard",
}
SETS_UP: Final = frozenset({"__init__", "build"})
"""Methods that set up an object."""
_COMPUTED: Final = "..."
"""The attribute name of `getattr` and `setattr` if it is not a literal."""


def written_through_calls(contexts: Iterable[ContextFacts]) -> frozenset[tuple[OpId, str]]:
    """The calls in a function that write state, each with the name of the written attribute or variable."""
    return frozenset(
        (effect.via[0].op, str(effect.target).replace("[]", "").rpartition(".")[2])
        for context in contexts
        for effect in context.effects
        if effect.kind is EffectKind.STATE_WRITE and effect.via
    )


def _updates(contexts: Iterable[ContextFacts]) -> frozenset[OpId]:
    """The operations of a function that assign variables, also through calls."""
    effects = (effect for context in contexts for effect in context.effects)
    return frozenset((*each.via, each.site)[0].op for each in effects if each.kind is EffectKind.TENSOR_STATE)


def _first_write(codes: Codes, facts: ProgramFacts, function: FunctionId, target: str) -> OpId | None:
    """The first operation of a function that writes some state, also through calls, in any of its contexts."""
    return dict(codes.answered(_first_writes, facts, function)).get(target)


def _first_writes(codes: Codes, facts: ProgramFacts, function: FunctionId) -> tuple[tuple[str, OpId], ...]:
    first: dict[str, OpId] = {}
    for context in facts.contexts_of(function):
        for effect in context.effects:
            if effect.kind is EffectKind.STATE_WRITE:
                op, target = (*effect.via, effect.site)[0].op, str(effect.target)
                first[target] = min(op, first.get(target, op))
    return tuple(first.items())


def is_set_first(view: ContextView, effect: Effect, is_guarded: Callable[[Function, OpId], bool]) -> bool:
    """Whether an effect reads an attribute, or items of a container in one, that the call sets before, the first time
    only, and nothing sets again.
    """
    path = effect.target.path.removeprefix(".")
    name = path.removesuffix(ITEM)
    if effect.kind is not EffectKind.STATE_READ or not name.isidentifier():
        return False
    first_read = (*effect.via, effect.site)[0].op
    first_write = view.codes.answered(_first_write, view.facts, view.function.id, str(effect.target))
    if first_write is None or first_write >= first_read:
        # the callee that reads it may set it
        further = [
            (view.of(callee), each)
            for call in (view.context.calls if effect.via else ())
            for callee in (call.callees if call.op == first_read else ())
            for each in view.facts.contexts[callee].effects
            if each.kind is EffectKind.STATE_READ and (each.via, each.site) == (effect.via[1:], effect.site)
        ]
        return bool(further) and all(is_set_first(inner, each, is_guarded) for inner, each in further)

    def is_once(function: Function, op: OpId, above: tuple[FunctionId, ...] = ()) -> bool:
        """Whether an operation runs the first time only, in its function or because all calls of the function do."""
        if is_guarded(function, op):
            return True
        callers = () if function.id in above else view.facts.functions[function.id].callers
        places = dict.fromkeys((view.facts.contexts[caller.context].function, caller.op) for caller in callers)
        return bool(places) and all(
            is_once(view.program.function(caller), op, (*above, function.id)) for caller, op in places
        )

    codes, contexts_of = view.codes, view.facts.contexts_of
    return all(
        is_once(writer.function, write.op)
        for writer in map(codes.of, codes.writers_of(name))
        if writer.function.name not in SETS_UP
        for write in writer.of_kind(AttributeWrite)
        if write.name == name
    ) and (
        path == name
        or all(
            is_once(user.function, use)
            for user in map(codes.of, codes.readers_of(name))
            if user.function.name not in SETS_UP
            for use in _may_change(user, name, contexts_of(user.function.id))
        )
    )


def _may_change(code: CodeFacts, name: str, contexts: Iterable[ContextFacts]) -> Iterator[OpId]:
    """The operations of a function that may change the container in an attribute of that name, or hand it on."""
    only_read = {
        call.op
        for context in contexts
        for call in context.calls
        if not call.callees and call.unknown is None and all(map(_reads_only, call.library))
    }
    for read in code.of_kind(AttributeRead):
        for reader in code.readers(read.op) if read.name == name else ():
            match code.facts[reader]:
                case ItemRead(owner=owner) | Display(iterable=owner) if owner == read.op:
                    pass
                case Operation():
                    pass  # one that changes it assigns the attribute, too
                case None if reader in code.regions:
                    pass  # a loop over it, or a test of it
                case AttributeRead(op=method):
                    yield from (call for call in code.readers(method) if call not in only_read)
                case Call(op=op) if op in only_read:
                    pass
                case _:
                    yield reader


def _reads_only(name: str) -> bool:
    """Whether a function of Python's library, or a method of its containers, changes none of its arguments."""
    owner, _, method = name.rpartition(".")
    return is_of_python(name) and name not in MUTATING_FUNCTIONS and method not in MUTATING_METHODS.get(owner, ())


def runs_first_time(code: CodeFacts, number: OpId, through_calls: Callable[[], AbstractSet[tuple[OpId, str]]]) -> bool:
    """Whether the operation runs only while some state is missing that is set there, too.

    `through_calls`: a write in a callee counts at its call.
    """
    return _setting_up(code, number, through_calls) is not None


def decides_more(code: CodeFacts, number: OpId, contexts: Iterable[ContextFacts], *, is_result_used: bool) -> bool:
    """Whether the branch in which an operation runs the first time decides more than the state that it sets: a result
    that a caller uses, a variable that is read later, an assignment to a `tf.Variable`.

    A graph takes for each call the side that it took when it was traced. `contexts`: those of the function.
    """
    holder = _setting_up(code, number, lambda: written_through_calls(contexts))
    if holder is None or holder.kind is not RegionKind.IF or (test := holder.subject) is None:
        return False
    sides = [part for part in holder.parts if part.arm in (Arm.FIRST, Arm.ELSE)]
    inside = [fact for part in sides for fact in code.facts[part.start : part.end] if fact is not None]
    if any(part.start <= op < part.end for op in _updates(contexts) for part in sides):
        return True
    stores = [fact for fact in inside if _set_by(code, fact) and not isinstance(fact, Call)]
    values = {fact.value for fact in stores if isinstance(fact, AttributeWrite | ItemWrite | NameWrite)}
    names = {read.name for value in values if isinstance(read := code.facts[value], NameRead)}
    places = frozenset().union(*(_set_by(code, fact) for fact in stores))
    for truth in (True, False):
        places |= (_missing(code, test, truth) or frozenset()) | _raised(code, test, truth)

    def is_kept(value: OpId) -> bool:
        read = code.facts[value]
        is_stored = value in values or (isinstance(read, NameRead) and read.name in names)
        return is_stored or not places.isdisjoint(_kept_at(code, value))

    end = max(part.end for part in holder.parts)
    returns = code.of_kind(Return)
    if (
        any(holder.holds(each.op, Arm.FIRST, Arm.ELSE) for each in returns)
        and not all(each.value is not None and is_kept(each.value) for each in returns)
        and is_result_used
    ):
        return True
    return any(
        isinstance(fact, NameWrite)
        and not fact.outlives_call
        and fact.name not in names
        and not is_kept(fact.value)
        and any(read.op >= end for read in code.reads_of(fact.name))
        for fact in inside
    )


def _setting_up(
    code: CodeFacts, number: OpId, through_calls: Callable[[], AbstractSet[tuple[OpId, str]]]
) -> Region | None:
    """The branch in which the operation runs only while some state is missing that is set there, too."""
    for holder in (*code.around(number), *code.behind_exits(number)):
        if holder.kind not in (RegionKind.IF, RegionKind.CHOICE, RegionKind.CONNECTIVE) or holder.subject is None:
            continue
        arm = next(part for part in holder.parts if part.start <= number < part.end)
        guarded = code.facts[arm.start : arm.end]
        truth = arm.arm is Arm.FIRST
        made = code.facts[holder.op]
        if isinstance(made, Choice) and made.symbol == "or":
            truth = False
        tested = _missing(code, holder.subject, truth)
        if tested is not None and (tested is _FLAGS or _are_set(code, tested, arm, through_calls)):
            return holder
        if tested is not None and isinstance(made, Choice) and _is_kept(code, tested, made):
            return holder
        raised = _raised(code, holder.subject, truth)
        if any(_lowers(code, raised, fact) for fact in guarded):
            return holder
    return None


def _missing(code: CodeFacts, test: OpId, truth: bool) -> frozenset[str] | None:
    """The names that are missing or empty if the test has that truth; `_FLAGS` for a flag, which needs no proof.

    None if the test has another form.
    """
    fact = _value(code, test)
    match fact:
        case Operation(symbol="not", left=operand):
            return _missing(code, operand, not truth)
        case Operation(symbol="is" | "is not" as symbol, left=left, right=int() as right):
            is_none = _literal(code, right) == Literal(right, None)
            return _kept_at(code, left) if is_none and truth is (symbol == "is") else None
        case Operation(symbol="in" | "not in" as symbol, left=left, right=int() as right):
            return _kept_in(code, left, right) if truth is (symbol == "not in") else None
        case Operation(symbol="==", left=left, right=int() as right):
            counted = code.facts[left]
            if isinstance(counted, Call) and counted.called_name == "len" and len(counted.arguments) == 1 and truth:
                zero = _literal(code, right)
                return _container(code, counted.arguments[0].value) if zero is not None and zero.value == 0 else None
            return None
        case Call():
            if truth:
                return None
            asks = fact.called_name == "hasattr" and len(fact.arguments) == 2
            return _kept_at(code, test) or (frozenset({_named(code, fact.arguments)}) if asks else None)
        case AttributeRead(name=name):
            if truth:
                return None
            return _FLAGS if name.lstrip("_") in _FLAGS else _kept_at(code, test)
        case NameRead(outlives_call=True):
            return None if truth else _kept_at(code, test)
        case Choice(symbol="and", results=results) if truth:
            parts = [part for part in (_missing(code, each, True) for each in results) if part is not None]
            return _FLAGS if _FLAGS in parts else frozenset().union(*parts) if parts else None
        case _:
            return None


def _raised(code: CodeFacts, test: OpId, truth: bool) -> frozenset[str]:
    """The flags that are true if the test has that truth: `self.first_call`."""
    match _value(code, test):
        case Operation(symbol="not", left=operand):
            return _raised(code, operand, not truth)
        case AttributeRead() | NameRead(outlives_call=True) if truth:
            return _kept_at(code, test)
        case Choice(symbol="and", results=results) if truth:
            return frozenset().union(*(_raised(code, each, True) for each in results))
        case _:
            return frozenset()


def _lowers(code: CodeFacts, flags: frozenset[str], fact: Fact | None) -> bool:
    """Whether an operation sets one of these flags to False."""
    if not isinstance(fact, AttributeWrite | NameWrite) or flags.isdisjoint(_set_by(code, fact)):
        return False
    lowered = _literal(code, fact.value)
    return lowered is not None and lowered.value is False


def _kept_at(code: CodeFacts, number: OpId) -> frozenset[str]:
    """The places that an expression reads, also through local variables: an attribute, an item, a variable that
    outlives the call.
    """
    match _value(code, number):
        case AttributeRead():
            return frozenset({_text(code, number)})
        case ItemRead(owner=container):
            return _container(code, container)
        case NameRead(name=name, outlives_call=True):
            return frozenset({name})
        case NameRead(name=name):
            before = (write.value for write in code.writes.get(name, ()) if write.op < number)
            return frozenset().union(*(_kept_at(code, value) for value in before))
        case Call(called_name="getattr", arguments=(_, _, _) as arguments):
            return frozenset({_named(code, arguments)})
        case Call(owner=int() as owner, method="get", arguments=(_,)):
            return _container(code, owner)
        case _:
            return frozenset()


def _kept_in(code: CodeFacts, key: OpId, container: OpId) -> frozenset[str]:
    fact = code.facts[container]
    if isinstance(fact, AttributeRead) and fact.name == "__dict__":
        return frozenset({f"{_text(code, fact.owner)}.{_name(code, key)}"})
    return _container(code, container)


def _container(code: CodeFacts, number: OpId) -> frozenset[str]:
    """The expressions for a container that outlives the call or is an argument: items stored in it are found again later."""
    match code.facts[number]:
        case ItemRead(owner=owner):
            return _container(code, owner)
        case Call(owner=owner):
            return frozenset() if owner is None else _container(code, owner)
        case NameRead(name=name):
            return frozenset({name}) | _kept_at(code, number)
        case _:
            return _kept_at(code, number)


def _are_set(
    code: CodeFacts,
    tested: frozenset[str],
    arm: Part,
    through_calls: Callable[[], AbstractSet[tuple[OpId, str]]],
) -> bool:
    """Whether the guarded operations, or their callees, set part of the tested state."""
    if any(not tested.isdisjoint(_set_by(code, fact)) for fact in code.facts[arm.start : arm.end]):
        return True
    fields = {text.rpartition(".")[2] for text in tested}
    return any(arm.start <= op < arm.end and field in fields for op, field in through_calls())


def _is_kept(code: CodeFacts, tested: frozenset[str], choice: Choice) -> bool:
    """Whether the tested state is set to the result of the choice: `self.v = self.v or make()`."""
    return any(
        write.value == choice.op and not tested.isdisjoint(_set_by(code, write))
        for write in code.of_kind(AttributeWrite, ItemWrite, NameWrite)
    )


def _set_by(code: CodeFacts, fact: Fact | None) -> frozenset[str]:
    match fact:
        case AttributeWrite(op=op):
            return frozenset({_text(code, op)})
        case ItemWrite(owner=container):
            return _container(code, container)
        case NameWrite(name=name, outlives_call=True):
            return frozenset({name})
        case Call(owner=int() as owner, method=method) if method in _FILLING:
            return _container(code, owner)
        case Call(called_name="setattr", arguments=(_, _, _) as arguments):
            return frozenset({_named(code, arguments)})
        case _:
            return frozenset()


def _value(code: CodeFacts, number: OpId) -> Fact | None:
    """The operation that computes a result; for `name := value` the value."""
    fact = code.facts[number]
    return code.facts[fact.value] if isinstance(fact, NameWrite) else fact


def _literal(code: CodeFacts, number: OpId) -> Literal | None:
    fact = code.facts[number]
    return fact if isinstance(fact, Literal) else None


def _named(code: CodeFacts, arguments: tuple[Argument, ...]) -> str:
    """The place that `getattr(object, name)` reads."""
    return f"{_text(code, arguments[0].value)}.{_name(code, arguments[1].value)}"


def _name(code: CodeFacts, number: OpId) -> str:
    literal = _literal(code, number)
    return literal.value if literal is not None and isinstance(literal.value, str) else _COMPUTED


def _text(code: CodeFacts, number: OpId) -> str:
    """The text of a place; an attribute of an object's class has the same text as one of the object."""
    match code.facts[number]:
        case AttributeRead(owner=owner, name=name) | AttributeWrite(owner=owner, name=name):
            return _text(code, owner) if name == "__class__" else f"{_text(code, owner)}.{name}"
        case Call(called_name="type", arguments=(Argument(value=inner),)):
            return _text(code, inner)
        case _:
            return code.written(number)
