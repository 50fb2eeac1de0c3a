"""Interfaces of the interpreter for transfer functions.

Computes: nothing. Gives: `Site`, the operation that a transfer function evaluates; `Engine`, whose parts are `Heap`, `Code`, `Calls`,
`Recorder` and `ProgramSettings`; `Handler`. A function that needs only one part of the engine takes that part. Only the driver knows the
implementation (`interpreter.Interpreter`), so that no transfer function depends on how summaries are created.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeAlias

from terra_refactor.analysis.code_names import CodeNamesTable
from terra_refactor.analysis.code_table import CodeTable
from terra_refactor.analysis.contexts import SummaryTable
from terra_refactor.analysis.declarations import Declaration
from terra_refactor.analysis.describe import written_form
from terra_refactor.analysis.facts import EntryKind, FailureFact, ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame, Summary
from terra_refactor.analysis.journal import Journal
from terra_refactor.analysis.log import Closure, Epoch, Log
from terra_refactor.analysis.module_bodies import Beginning
from terra_refactor.analysis.objects import ObjectTable
from terra_refactor.analysis.sharing import Sharing
from terra_refactor.analysis.steps import StepBudget
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.effect import EffectSite
from terra_refactor.domain.state import HeapKey, Naming, State
from terra_refactor.domain.value import FunctionValue, ObjectId, Reference, Value
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Block, Op
from terra_refactor.ir.program import Program


class Terminated:
    """Returned by a handler if control does not continue after its operation."""


TERMINATED: Final = Terminated()

OpHandler: TypeAlias = "Callable[[Site, Op], Value | Terminated | None]"
"""Evaluates one kind of operation: the value of its result, None if it has none, or `TERMINATED`."""

CallTransfer: TypeAlias = "Callable[[Site, Value, CallArguments, bool], Value]"
AttributeTransfer: TypeAlias = "Callable[[Site, Value, str], Value]"


class Heap(Protocol):
    """Objects and their fields."""

    objects: ObjectTable
    world: State
    """The state of the program outside of any call."""
    open_instances: dict[ObjectId, None]
    """Instances that represent any object of a class or of a subclass."""

    def allocate(
        self, frame: Frame, op: OpId, kind: ObjectKind, name: str, tag: object = None, body: FunctionId | None = None
    ) -> ObjectId: ...

    def make_room(self, frame: Frame, number: ObjectId) -> None: ...

    def fields_here(self, frame: Frame, number: ObjectId) -> dict[str, Value]: ...

    def write_any_name(self, frame: Frame, number: ObjectId, beginning: str, value: Value) -> None: ...

    def write(self, frame: Frame, key: HeapKey, value: Value) -> None: ...

    def unsettle(self, key: HeapKey) -> None: ...

    def note_open_instance(self, number: ObjectId) -> None: ...


class Modules(Protocol):
    """The modules of a program, each of which runs when it is first imported."""

    def object_of(self, module: str) -> ObjectId: ...

    def is_module(self, name: str) -> bool: ...

    def ensure_run(self, name: str) -> None: ...

    def member(self, frame: Frame, importer: str, module: str, name: str) -> Value: ...

    def import_module(self, importer: str, name: str, level: int, *, whole: bool) -> Value: ...

    def import_from(self, frame: Frame, importer: str, module: str, level: int, name: str) -> Value: ...

    def import_star(self, frame: Frame, importer: str, module: str, level: int) -> None: ...

    def note_name(self, module: str, name: str) -> None: ...

    def globals_of(self, module: str) -> tuple[tuple[str, Value], ...]: ...

    def stars_of(self, module: str) -> tuple[str, ...]: ...


class Code(Protocol):
    """The program that is analysed."""

    program: Program
    loader: Modules
    code: CodeTable
    names: CodeNamesTable

    def code_of(self, identity: FunctionId) -> Function: ...

    def line_of(self, identity: FunctionId, op: OpId) -> int: ...


class Calls(Protocol):
    """Running code: blocks of operations, functions, the bodies of modules and classes."""

    steps: StepBudget
    expecting_errors: int
    """The number of enclosing `with` statements that expect an error."""
    one_of_several: int
    """The number of enclosing library calls that are evaluated for each alternative of their arguments."""
    calls: CallTransfer
    attributes: AttributeTransfer
    entry_frame: Callable[[], Frame]
    contexts: SummaryTable
    sharing: Sharing
    epoch: Epoch

    def run_block(self, frame: Frame, block: Block) -> bool: ...

    def run_branch(self, frame: Frame, block: Block, prepare: Callable[[], bool] | None = None) -> State | None: ...

    def run_inline(self, frame: Frame) -> Summary: ...

    def run_module(self, frame: Frame, beginning: Beginning) -> Summary: ...

    def call_function(
        self, site: Site, function: FunctionValue, arguments: CallArguments, *, graph: bool = False
    ) -> Value: ...

    def summarize(
        self,
        state: State,
        identity: FunctionId,
        closure: Closure,
        parameters: dict[str, Value],
        entry: EntryKind,
        in_graph: bool,
        naming: Naming | None = None,
    ) -> Summary | Value: ...

    def forget_entry(self, context: int) -> None: ...

    def instance_for_entry(self, cls: Reference) -> Value: ...

    def forget_summaries(self) -> None: ...

    def settle(self) -> None: ...


class Recorder(Protocol):
    """Records observations that the analysis uses later."""

    journal: Journal
    log: Log | None
    wrapped: dict[FunctionId, tuple[tuple[tuple[str, Value], ...] | None, tuple[str, ...]]]
    definitions: dict[FunctionId, dict[FunctionValue, None]]
    called: dict[FunctionId, None]
    layers_made: dict[str, None]
    flags: dict[str, Value]
    missing_rules: dict[str, dict[tuple[FunctionId, OpId], None]]
    recursive: dict[FunctionId, None]
    problems: dict[FunctionId, str]

    def spoil_logs(self) -> None: ...

    def change_world(self) -> None: ...

    def note_failure(self, frame: Frame, op: OpId, failure: FailureFact) -> None: ...

    def note_missing_rule(self, frame: Frame, op: OpId, name: str) -> None: ...

    def note_definition(self, frame: Frame, value: FunctionValue) -> None: ...

    def note_wrapped(self, value: FunctionValue) -> None: ...

    def wrapping_of(
        self, identity: FunctionId
    ) -> tuple[tuple[tuple[str, Value], ...] | None, tuple[str, ...]] | None: ...

    def note_layer_made(self) -> None: ...

    def flag(self, name: str) -> Value | None: ...

    def note_subclass(self, base: ObjectId, cls: ObjectId) -> None: ...

    def subclasses_of(self, base: ObjectId) -> tuple[ObjectId, ...]: ...

    def note_registered(self, dispatcher: FunctionId, cls: Value, implementation: Value) -> None: ...

    def registered_with(self, dispatcher: FunctionId) -> tuple[tuple[Value, Value], ...]: ...

    def note_class_of_body(self, body: FunctionId, cls: Value) -> None: ...

    def class_with_body(self, body: FunctionId) -> Value | None: ...

    def is_called(self, identity: FunctionId) -> bool: ...

    def note_usage(self, value: Value, frame: Frame, *, beside_tensor: bool = False) -> None: ...

    def usage_of(self, function: FunctionId) -> frozenset[str]: ...

    def operands_of(self, function: FunctionId) -> frozenset[str]: ...


class ProgramSettings(Protocol):
    """Program-wide settings."""

    declarations: Mapping[str, Declaration]
    """User declarations about functions, by full name."""
    recorded: Mapping[FunctionId, frozenset[str]]
    """The parameters that were tensors in recorded runs."""
    parametrized: dict[FunctionId, dict[str, Value]]
    """Arguments that a test runner passes to a test, by parameter."""
    floats: DType | None
    """Keras's default float type; None if unknown."""
    default_weights: bool

    def functions_run_eagerly(self, state: State) -> bool: ...

    def set_functions_run_eagerly(self, state: State, value: Value) -> None: ...

    def parametrized_of(self, function: FunctionValue) -> dict[str, Value]: ...


class Engine(Heap, Code, Calls, Recorder, ProgramSettings, Protocol):
    """All parts of the engine."""


class Site:
    """The operation of a context that a transfer function evaluates.

    It is valid only during that operation, since it is reused for the next one: do not store it.
    """

    __slots__ = ("engine", "frame", "op")

    def __init__(self, engine: Engine, frame: Frame, op: OpId) -> None:
        self.engine = engine
        self.frame = frame
        self.op = op

    def at(self, op: OpId) -> Site:
        """Another operation of the same context."""
        return Site(self.engine, self.frame, op)

    def operation(self, number: OpId) -> Op | None:
        """An operation of the function by its number."""
        return self.engine.code.op(self.frame.function, number)

    def place(self) -> EffectSite:
        """The position of the operation, for an effect."""
        return self.frame.site(self.op)

    def written(self, op: OpId) -> str:
        """The source text of an operation, for messages."""
        return written_form(self.operation, op)

    def call(self, callee: Value, arguments: CallArguments, *, graph: bool = False) -> Value:
        """Calls anything. `graph` if the callee is traced as a graph of its own."""
        return self.engine.calls(self, callee, arguments, graph)

    def attribute(self, value: Value, name: str) -> Value:
        """`value.name`."""
        return self.engine.attributes(self, value, name)

    def allocate(self, kind: ObjectKind, name: str, tag: object = None, body: FunctionId | None = None) -> ObjectId:
        """A new object that this operation creates; `tag` distinguishes several.

        The object of a class is identified by its `body`, not by the operation.
        """
        return self.engine.allocate(self.frame, self.op, kind, name, tag, body)

    def fails(self, failure: FailureFact) -> None:
        """Records that the operation certainly fails in this context."""
        self.engine.note_failure(self.frame, self.op, failure)
