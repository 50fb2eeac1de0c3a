"""What the interpreter notes on its way, beside summaries: for the facts and for better entries.

Computes: nothing. Needs: frames. Gives: `Notes`, a base of the interpreter: failures, missing rules, definitions, wrappers, evidence
of use.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.facts import EntryKind, FailureFact
from terra_refactor.analysis.frames import Frame
from terra_refactor.domain.value import FunctionValue, UnknownValue, Value
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Op
from terra_refactor.ir.walk import walk

MAX_DEFINITIONS: Final = 12
"""So many function objects of one function are kept as entries."""


class Notes:
    """Notes of one analysis."""

    def __init__(self) -> None:
        self.expecting_errors = 0
        """How many enclosing `with` statements expect an error, as `pytest.raises` does."""
        self.missing_rules: dict[str, dict[tuple[FunctionId, OpId], None]] = {}
        self.layers_made = False
        """Whether a layer of Keras was made so far."""
        self.flags: dict[str, Value] = {}
        """The flags that the program declares, by name."""
        self.usage: dict[FunctionId, set[str]] = {}
        self._discriminated: dict[FunctionId, frozenset[str]] = {}
        """Parameters that were handed, still unknown, to operations that take tensors."""
        self.wrapped: dict[FunctionId, tuple[tuple[tuple[str, Value], ...] | None, tuple[str, ...]]] = {}
        """For each function the `tf.function` arguments and the library decorators that wrap it somewhere."""
        self.definitions: dict[FunctionId, dict[FunctionValue, None]] = {}
        """The function objects that were made of each function, as first made (before decorators)."""
        self._ops: dict[FunctionId, tuple[Op | None, ...]] = {}

    def op(self, function: Function, number: OpId) -> Op | None:
        """The operation with that number (refinement of conditions needs to see how a value was made)."""
        table = self._ops.get(function.id)
        if table is None:
            found: list[Op | None] = [None] * function.op_count
            for op in walk(function.body):
                found[op.id] = op
            table = self._ops[function.id] = tuple(found)
        return table[number]

    def note_failure(self, frame: Frame, op: OpId, failure: FailureFact) -> None:
        """Records an operation that certainly fails in this context."""
        if failure.message.startswith("None cannot be"):
            # an attribute that some other method sets, most likely: None alone proves nothing
            return
        if self.expecting_errors:
            return
        if frame.conditions:
            # the branch may be for other arguments than these
            return
        if frame.iteration and frame.doubt:
            # whether this iteration gets here is not known, and the condition may well leave out the one that would fail
            return
        frame.failures.setdefault(op, failure)

    def note_missing_rule(self, frame: Frame, op: OpId, name: str) -> None:
        """Counts a call of a library function whose result nothing is known about."""
        self.missing_rules.setdefault(name, {})[frame.function.id, op] = None

    def note_definition(self, frame: Frame, value: FunctionValue) -> None:
        """Records that a function object was made."""
        made = self.definitions.setdefault(FunctionId(*value.function), {})
        if len(made) < MAX_DEFINITIONS:
            made[value] = None
        if frame.entry is not EntryKind.MODULE:
            frame.made.append(value)

    def note_wrapped(self, value: FunctionValue) -> None:
        """Records that a function object was wrapped by `tf.function` or a library decorator."""
        identity = FunctionId(*value.function)
        known = self.wrapped.get(identity)
        hybrid = value.hybrid if value.hybrid is not None or known is None else known[0]
        names = dict.fromkeys([*(known[1] if known is not None else ()), *value.wrappers])
        self.wrapped[identity] = (hybrid, tuple(names))

    def iterated_parameters(self, code: Function) -> frozenset[str]:
        """The parameters that the body iterates over, unpacks or reads by a text key: containers of tensors, rather than tensors."""
        found: set[str] = set()
        for op in walk(code.body):
            sources: tuple[OpId, ...] = ()
            if isinstance(op, ops.Comprehension | ops.For):
                sources = (op.iterable,)
            elif isinstance(op, ops.UnpackElement):
                sources = (op.source,)
            elif isinstance(op, ops.LoadItem):
                key = self.op(code, op.index)
                if isinstance(key, ops.Literal) and isinstance(key.value, str):
                    sources = (op.object,)
            elif isinstance(op, ops.Call):
                function = self.op(code, op.function)
                if isinstance(function, ops.LoadName) and function.name in (
                    "zip",
                    "enumerate",
                    "list",
                    "tuple",
                    "len",
                    "sorted",
                ):
                    sources = tuple(argument.value for argument in op.arguments)
            for source in sources:
                made = self.op(code, source)
                if isinstance(made, ops.LoadName):
                    found.add(made.name)
        return frozenset(found)

    def note_usage(self, value: Value, frame: Frame) -> None:
        """Records that an unknown parameter was handed to an operation that takes tensors."""
        if isinstance(value, UnknownValue) and value.origin is not None and value.origin.root == "parameter":
            name = value.origin.name
            if name not in self.discriminated_parameters(frame.function):
                self.usage.setdefault(frame.function.id, set()).add(name)

    def discriminated_parameters(self, code: Function) -> frozenset[str]:
        """The parameters that the body asks for their class: it expects several, and a use as a tensor speaks for one branch only."""
        known = self._discriminated.get(code.id)
        if known is not None:
            return known
        found: set[str] = set()
        for op in walk(code.body):
            if not isinstance(op, ops.Call) or not op.arguments:
                continue
            function, subject = self.op(code, op.function), self.op(code, op.arguments[0].value)
            if isinstance(function, ops.LoadName) and function.name in ("isinstance", "hasattr", "callable", "type"):
                if isinstance(subject, ops.LoadName):
                    found.add(subject.name)
        self._discriminated[code.id] = frozenset(found)
        return self._discriminated[code.id]
