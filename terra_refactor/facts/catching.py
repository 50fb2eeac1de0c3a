"""Which exceptions are caught where: by handlers, and by context managers that suppress exceptions of their body.

Computes: the exceptions that each `try` and each `with` catches, here and around the calls of a function, through callers. Needs: a
`ContextView`. Gives: `Catch`, `catch_of`, `catches_of`, `caught_around`, `caught_by_callers`, `caught_by_name`. Ignores: handlers
that raise an exception themselves, since the caller gets one either way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import Constant, LibraryValue, TupleValue, Value, members
from terra_refactor.facts.records import Arm, AttributeRead, Call, Handler, NameRead, Region, RegionKind, Suspension
from terra_refactor.facts.view import ContextView
from terra_refactor.facts.whole_program import with_all_callers
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model.expected_errors import IGNORING, suppresses
from terra_refactor.tf_model.graph_traits import EXIT_STACK, catches_everything, is_error_of_operation

_LEAVE = "__exit__"
_ENTER_CONTEXT = "enter_context"
_PUSH = "push"


@dataclass(frozen=True, slots=True)
class Catch:
    """The exceptions that one handler or context manager catches."""

    classes: tuple[Value, ...] = ()
    """The classes that it names."""
    everything: bool = False
    """Whether it names no class, and catches every exception."""
    is_handler: bool = True
    """Whether it is an `except`; else a context manager."""

    @property
    def library(self) -> tuple[str, ...]:
        """The canonical names of the library classes among `classes`."""
        return tuple(cls.name for cls in self.classes if isinstance(cls, LibraryValue))

    @property
    def is_for_operations(self) -> bool:
        """Whether it catches an error class of TensorFlow's operations."""
        return any(map(is_error_of_operation, self.library))

    @property
    def catches_all(self) -> bool:
        """Whether it catches all errors, including those of operations."""
        return self.everything or any(map(catches_everything, self.library))


def catches_of(view: ContextView, region: Region) -> Iterator[Catch]:
    """The exceptions caught by the handlers of a `try`, or by the context managers of a `with`."""
    if region.kind is RegionKind.TRY:
        yield from (catch for handler in region.handlers if (catch := _of_handler(view, handler)) is not None)
    elif region.kind is RegionKind.WITH and region.subject is not None:
        yield from _of_manager(view, region.subject, region.op)
        for call in view.code.of_kind(Call):
            # `stack.enter_context(suppress(...))`
            if call.method == _ENTER_CONTEXT and region.holds(call.op, Arm.FIRST) and call.first is not None:
                yield from _of_manager(view, call.first, call.op)
            elif (
                call.method == _PUSH
                and region.holds(call.op, Arm.FIRST)
                and EXIT_STACK in view.library_of(region.subject)
            ):
                yield Catch(everything=True, is_handler=False)


def caught_around(view: ContextView, number: OpId) -> Iterator[tuple[Region, Catch]]:
    """The handlers around an operation within its function, innermost first."""
    for region in view.enclosing(number):
        if region.holds(number, Arm.FIRST):
            for catch in catches_of(view, region):
                yield region, catch


def caught_by_callers(view: ContextView, *, through_graphs: bool = False) -> Iterator[Catch]:
    """The handlers of exceptions that leave the function, around its calls by eager code and by the callers of that code.

    With `through_graphs` also those around the calls of graphs that call it.
    """
    pending, seen = [view], {view.context.function}
    while pending:
        for outer, call in pending.pop().calls_of_function():
            if call is None or (outer.context.in_graph and not through_graphs):
                continue
            if not outer.context.in_graph:
                yield from (catch for _, catch in caught_around(outer, call.op))
            if outer.context.function not in seen:
                seen.add(outer.context.function)
                pending.append(outer)


def caught_by_name(view: ContextView) -> Iterator[Catch]:
    """The handlers around unresolved calls of methods with the name of the function or of one of its callers."""
    names = dict.fromkeys(
        view.facts.contexts[each].function for each in sorted(with_all_callers(view.facts, (view.context.id,)))
    )
    for name in dict.fromkeys(view.program.attribute_name(view.program.function(each)) for each in names):
        for reader in view.codes.readers_of(name):
            for context in view.facts.contexts_of(reader):
                outer = view.of(context.id)
                for call in context.calls if not context.in_graph else ():
                    made = outer.made(call.op)
                    if call.unknown is not None and isinstance(made, Call) and made.method == name:
                        yield from (catch for _, catch in caught_around(outer, call.op))


def _of_handler(view: ContextView, handler: Handler) -> Catch | None:
    return None if handler.raises else catch_of(view, handler)


def catch_of(view: ContextView, handler: Handler) -> Catch:
    """The exceptions that a handler catches, also if it raises another one."""
    return Catch(everything=True) if handler.caught is None else Catch(_classes(view.value(handler.caught)))


def _classes(value: Value) -> tuple[Value, ...]:
    return tuple(part for cls in members(value) for part in (cls.elements if isinstance(cls, TupleValue) else (cls,)))


def _of_manager(view: ContextView, manager: OpId, entered: OpId) -> Iterator[Catch]:
    made = view.origin(manager)
    if isinstance(made, Call) and suppresses(made.method):
        given = made.positional if made.method in IGNORING else made.positional[:1]
        yield Catch(tuple(cls for each in given for cls in _classes(view.value(each))), is_handler=False)
        return
    for member in members(view.value(manager)):
        if view.object_kind(member) is ObjectKind.INSTANCE:
            yield from _of_own_manager(view, entered)
            return
    if isinstance(made, Call):
        yield from _of_generator(view, made.op)


def _of_own_manager(view: ContextView, entered: OpId) -> Iterator[Catch]:
    """The exceptions that `__exit__` of a class of the program suppresses, from its result and the classes that it tests."""
    fact = view.calls.get(entered)
    for callee in () if fact is None else fact.callees:
        inner = view.of(callee)
        if inner.function.name != _LEAVE:
            continue
        if all(isinstance(member, Constant) and not member.value for member in members(inner.context.returns)):
            continue
        named = [
            member
            for read in inner.reached(AttributeRead, NameRead)
            for member in members(inner.value(read.op))
            if isinstance(member, LibraryValue) and is_error_of_operation(member.name)
        ]
        yield Catch(tuple(named), everything=not named, is_handler=False)


def _of_generator(view: ContextView, number: OpId) -> Iterator[Catch]:
    """The exceptions that a `@contextmanager` catches around its `yield`."""
    fact = view.calls.get(number)
    for callee in () if fact is None else fact.callees:
        inner = view.of(callee)
        for suspended in inner.code.of_kind(Suspension):
            yield from (catch for _, catch in caught_around(inner, suspended.op))
