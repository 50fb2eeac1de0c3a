"""Observations that the interpreter records besides summaries: for the facts and for better entries.

Computes: nothing. Needs: frames. Gives: `Notes`, a base of the interpreter: failures, missing rules, definitions,
wrappers, evidence of use, subclasses. If logs are written (`reuse`), the log of a context contains its observations
and its queries of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from terra_refactor.analysis.code_table import CodeTable
from terra_refactor.analysis.facts import EntryKind, FailureFact
from terra_refactor.analysis.frames import Frame
from terra_refactor.analysis.journal import Journal
from terra_refactor.analysis.log import Log
from terra_refactor.domain.value import FunctionValue, ObjectId, UnknownValue, Value
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.tf_model.spec import ErrorKind

MAX_DEFINITIONS: Final = 12
"""Maximum number of function objects per function that are kept as entries."""


class Notes:
    """The observations of one analysis."""

    def __init__(self) -> None:
        self.code = CodeTable()
        self.journal = Journal()
        """The journal by which notes are rolled back while a summary is being reused."""
        self.expecting_errors = 0
        """The number of enclosing `with` statements that expect an error, as `pytest.raises` does."""
        self.missing_rules: dict[str, dict[tuple[FunctionId, OpId], None]] = {}
        self.layers_made: dict[str, None] = {}
        """Non-empty if a Keras layer was created."""
        self.flags: dict[str, Value] = {}
        """The command-line flags that the program declares, by name."""
        self.usage: dict[FunctionId, dict[str, bool]] = {}
        """Parameters that were passed, still unknown, to operations that take tensors."""
        self.wrapped: dict[FunctionId, tuple[tuple[tuple[str, Value], ...] | None, tuple[str, ...]]] = {}
        """For each function the `tf.function` arguments and the library decorators that wrap it."""
        self.definitions: dict[FunctionId, dict[FunctionValue, None]] = {}
        """The function objects that were created for each function, before decorators."""
        self.subclasses: dict[ObjectId, dict[ObjectId, None]] = {}
        self.registered: dict[FunctionId, dict[tuple[Value, Value], None]] = {}
        """For each function with `functools.singledispatch`: the classes and their implementations."""
        self.class_of_body: dict[FunctionId, Value] = {}
        """The class object that a class body created last: for `super()` and `__class__`."""
        self.recursive: dict[FunctionId, None] = {}
        self.called: dict[FunctionId, None] = {}
        """Functions that some analysed code calls."""
        self.log: Log | None = None
        """Log of the running context, if summaries are kept for another run."""

    def note_failure(self, frame: Frame, op: OpId, failure: FailureFact) -> None:
        """Records an operation that certainly fails in this context."""
        if failure.kind is ErrorKind.NONE or self.expecting_errors:
            return
        if frame.iteration and frame.doubt:
            # it is unknown whether this iteration gets here, and the condition may exclude the failing one; a trace
            # runs both branches of a condition on a tensor
            frame.guarded_failures.setdefault(op, failure)
            return
        if frame.loops and frame.doubt > frame.loops[-1].doubt:
            frame.loops[-1].doubtful.add(op)
        if frame.conditions:
            # the branch may be meant for other arguments
            frame.guarded_failures.setdefault(op, failure)
            return
        frame.failures.setdefault(op, failure)

    def note_missing_rule(self, frame: Frame, op: OpId, name: str) -> None:
        """Counts a call of a library function whose result is unknown."""
        self._note_missing_rule(name, frame.function.id, op)

    def _note_missing_rule(self, name: str, function: FunctionId, op: OpId) -> None:
        self.journal.put_inside(self.missing_rules, name, (function, op), None)
        if self.log is not None:
            self.log.tell(Notes._note_missing_rule, name, function, op)

    def note_definition(self, frame: Frame, value: FunctionValue) -> None:
        """Records that a function object was created."""
        self._note_definition(value)
        if frame.entry is not EntryKind.MODULE:
            frame.made.append(value)

    def _note_definition(self, value: FunctionValue) -> None:
        identity = FunctionId(*value.function)
        if len(self.definitions.get(identity, ())) < MAX_DEFINITIONS:
            self.journal.put_inside(self.definitions, identity, value, None)
        if self.log is not None:
            self.log.tell(Notes._note_definition, value)

    def note_wrapped(self, value: FunctionValue) -> None:
        """Records that a function object was wrapped by `tf.function` or a library decorator."""
        identity = FunctionId(*value.function)
        known = self.wrapped.get(identity)
        hybrid = value.hybrid if value.hybrid is not None or known is None else known[0]
        names = dict.fromkeys([*(known[1] if known is not None else ()), *value.wrappers])
        self.journal.put(self.wrapped, identity, (hybrid, tuple(names)))
        if self.log is not None:
            self.log.tell(Notes.note_wrapped, value)

    def wrapping_of(self, identity: FunctionId) -> tuple[tuple[tuple[str, Value], ...] | None, tuple[str, ...]] | None:
        """The known wrappers of a function."""
        found = self.wrapped.get(identity)
        if self.log is not None:
            self.log.ask(found, Notes.wrapping_of, identity)
        return found

    def note_layer_made(self) -> None:
        """Records that a Keras layer was created."""
        self.journal.put(self.layers_made, "", None)
        if self.log is not None:
            self.log.tell_once(Notes.note_layer_made)

    def flag(self, name: str) -> Value | None:
        """Possible values of a program flag; None if there is no such flag."""
        found = self.flags.get(name)
        if self.log is not None:
            self.log.ask(found, Notes.flag, name)
        return found

    def note_subclass(self, base: ObjectId, cls: ObjectId) -> None:
        """Records that a class was created as a direct subclass of another one."""
        self.journal.put_inside(self.subclasses, base, cls, None)
        if self.log is not None:
            self.log.tell(Notes.note_subclass, base, cls)

    def subclasses_of(self, base: ObjectId) -> tuple[ObjectId, ...]:
        """The known direct subclasses of a class, in order."""
        found = tuple(self.subclasses.get(base, ()))
        if self.log is not None:
            self.log.ask(found, Notes.subclasses_of, base)
        return found

    def note_registered(self, dispatcher: FunctionId, cls: Value, implementation: Value) -> None:
        """Records the implementation of a function with `functools.singledispatch` for a class."""
        self.journal.put_inside(self.registered, dispatcher, (cls, implementation), None)
        if self.log is not None:
            self.log.tell(Notes.note_registered, dispatcher, cls, implementation)

    def registered_with(self, dispatcher: FunctionId) -> tuple[tuple[Value, Value], ...]:
        """The classes and implementations registered with such a function, in order."""
        found = tuple(self.registered.get(dispatcher, ()))
        if self.log is not None:
            self.log.ask(found, Notes.registered_with, dispatcher)
        return found

    def note_class_of_body(self, body: FunctionId, cls: Value) -> None:
        """Records the class object that a class body created."""
        self.journal.put(self.class_of_body, body, cls)
        if self.log is not None:
            self.log.bodies.add(body)
            self.log.tell(Notes.note_class_of_body, body, cls)

    def class_with_body(self, body: FunctionId) -> Value | None:
        """The class object that a class body created last."""
        found = self.class_of_body.get(body)
        if self.log is not None:
            self.log.ask(found, Notes.class_with_body, body)
        return found

    def note_recursive(self, identity: FunctionId) -> None:
        """Records that a function calls itself, directly or through its callees."""
        self.journal.put(self.recursive, identity, None)
        if self.log is not None:
            self.log.tell_once(Notes.note_recursive, identity)

    def note_cycle(self, running: Sequence[FunctionId], identity: FunctionId) -> None:
        """Records a call of a running function: it and those that it has called since are recursive.

        The analysis does not follow such a call, so no callee shows the cycle.
        """
        for each in reversed(running):
            self.note_recursive(each)
            if each == identity:
                return

    def note_called(self, identity: FunctionId) -> None:
        """Records that some code calls a function."""
        self.journal.put(self.called, identity, None)
        if self.log is not None:
            self.log.tell_once(Notes.note_called, identity)

    def is_called(self, identity: FunctionId) -> bool:
        """Whether some code analysed so far calls a function."""
        found = identity in self.called
        if self.log is not None:
            self.log.ask(found, Notes.is_called, identity)
        return found

    def note_usage(self, value: Value, frame: Frame, *, beside_tensor: bool = False) -> None:
        """Records that an unknown parameter was passed to an operation that takes tensors.

        `beside_tensor`: as an operand of arithmetic with a tensor, where a number may be just as well.
        """
        if not isinstance(value, UnknownValue) or value.origin is None or value.origin.is_attribute:
            return
        if value.origin.root == "parameter":
            name = value.origin.name
            if name not in self.code.discriminated_parameters(frame.function):
                self._note_used(frame.function.id, name, beside_tensor)

    def _note_used(self, function: FunctionId, parameter: str, beside_tensor: bool) -> None:
        if self.usage.get(function, {}).get(parameter, True):
            self.journal.put_inside(self.usage, function, parameter, beside_tensor)
        if self.log is not None:
            self.log.tell(Notes._note_used, function, parameter, beside_tensor)

    def usage_of(self, function: FunctionId) -> frozenset[str]:
        """The parameters of a function that it passes to operations that take tensors, as far as seen."""
        found = frozenset(self.usage.get(function, ()))
        if self.log is not None:
            self.log.ask_once(found, Notes.usage_of, function)
        return found

    def operands_of(self, function: FunctionId) -> frozenset[str]:
        """Those among `usage_of` that it only combines with tensors by operators."""
        found = frozenset(name for name, beside_tensor in self.usage.get(function, {}).items() if beside_tensor)
        if self.log is not None:
            self.log.ask_once(found, Notes.operands_of, function)
        return found
