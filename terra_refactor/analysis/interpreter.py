"""The abstract interpreter: runs functions on abstract values.

Computes: for each function and each distinct tuple of abstract arguments a summary (result, effects, writes, reads) and the value of
every operation. Needs: the lowered program and `tf_model`. Gives: summaries, which `driver` turns into facts.

How: blocks run in order; branches fork the state and merge it; loops run to a fixpoint with widening (`transfer.loops`); a call looks up
a summary of the callee whose reads hold in the present state, and creates one if there is none. Objects created by the callee are renamed
at each call (`objects`). Exceeding a budget makes the result unknown, never wrong. Ignores: exceptions between two operations of one
block (a handler sees the states at the beginning, at the end and at each `raise`); threads.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Set
from functools import partial
from typing import Final

from terra_refactor.analysis import entries
from terra_refactor.analysis.abstract_heap import WHOLE_OBJECT, AbstractHeap
from terra_refactor.analysis.alone import NotAloneError
from terra_refactor.analysis.annotations import ABSTRACT, as_declared
from terra_refactor.analysis.application import (
    DEPTH_OF_ARRIVALS,
    apply_summary,
    entry_naming,
    note_arrival,
    outward,
    stand_ins,
)
from terra_refactor.analysis.binding import bind_arguments
from terra_refactor.analysis.boundary import as_parameter, surviving_writes, widened_parameters
from terra_refactor.analysis.code_names import CodeNamesTable
from terra_refactor.analysis.contexts import SummaryTable, unsettled
from terra_refactor.analysis.declarations import Declaration
from terra_refactor.analysis.effects import EXTERNAL
from terra_refactor.analysis.engine import (
    TERMINATED,
    AttributeTransfer,
    CallTransfer,
    Modules,
    OpHandler,
    Site,
    Terminated,
)
from terra_refactor.analysis.entries import as_evidence_says
from terra_refactor.analysis.facts import DOES_NOT_FIT, EntryKind, ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame, Summary
from terra_refactor.analysis.freezing import freeze_in
from terra_refactor.analysis.joined_calls import note_joined, note_refused
from terra_refactor.analysis.log import Called, Closure, ContextKey, Epoch, Flags, Joined, Log
from terra_refactor.analysis.module_bodies import Beginning
from terra_refactor.analysis.module_runs import run_body
from terra_refactor.analysis.notes import Notes
from terra_refactor.analysis.recursion import Recursions, Running
from terra_refactor.analysis.returned import returned
from terra_refactor.analysis.reuse import Adoption
from terra_refactor.analysis.sharing import Sharing
from terra_refactor.analysis.signatures import as_signed
from terra_refactor.analysis.steps import STEPS_OF_A_CALL, StepBudget, steps_of_call
from terra_refactor.analysis.summaries import summary_of
from terra_refactor.analysis.weight_dtypes import weights_are_default
from terra_refactor.analysis.yields import count_of_yields
from terra_refactor.domain.dtype import FLOAT32, DType
from terra_refactor.domain.effect import Effect, EffectKind
from terra_refactor.domain.lattice import join, references
from terra_refactor.domain.state import CELL, EXISTS, HeapKey, Naming, State
from terra_refactor.domain.traced import as_given, without_marks
from terra_refactor.domain.value import (
    BOTTOM,
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Bottom,
    FunctionValue,
    ObjectId,
    Reference,
    SequenceValue,
    UnknownValue,
    Value,
)
from terra_refactor.domain.weight import COMPOSITE
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Block, Op
from terra_refactor.ir.program import Program
from terra_refactor.syntax.deep_stack import has_deep_stack
from terra_refactor.tf_model.class_names import SETTINGS_OF_TENSORFLOW

LOGGER: Final = logging.getLogger(__name__)


MAX_ACTIVE: Final = 3
"""Maximum recursion depth per function before its arguments are widened."""
_RUN_EAGERLY: Final = "run_functions_eagerly"
MAX_CALL_DEPTH: Final = 80
"""Maximum depth of nested calls."""
MAX_NAMESAKES: Final = 24
"""Maximum number of running methods of one name: each method that calls its base class has another context for every subclass."""
_ABSTRACT: Final = ("abstractmethod", "abstractproperty")


class Interpreter(AbstractHeap, Notes):
    """The shared state of one analysis of a program."""

    def __init__(
        self,
        program: Program,
        loader: Modules,
        handlers: Mapping[type[Op], OpHandler],
        calls: CallTransfer,
        attributes: AttributeTransfer,
        step_budget: int,
        adoption: Adoption | None = None,
    ) -> None:
        AbstractHeap.__init__(self, None if adoption is None else adoption.store.objects)
        Notes.__init__(self)
        self.calls = calls
        self.attributes = attributes
        self.program = program
        self.loader = loader
        self.handlers = dict(handlers)
        self.contexts = SummaryTable(program, self.journal, 0 if adoption is None else adoption.store.next_identity)
        self.sharing = Sharing()
        self.names = CodeNamesTable() if adoption is None else adoption.store.names
        self.adoption = adoption
        """Reuse of summaries from an earlier run."""
        self.epoch: Epoch = None
        self.running: list[FunctionId] = []
        """The functions that are being interpreted, outermost first."""
        self.logs: list[Log] = []
        """The log of each of them, if logs are written."""
        if adoption is not None:
            adoption.engine = self
            if adoption.store.code is not None:
                self.code.take_over(adoption.store.code, adoption.unchanged)
            self.objects.journal = self.journal
        self.problems: dict[FunctionId, str] = {}
        self.open_instances: dict[ObjectId, None] = {}
        """Instances that represent any object of a class or of a subclass: created for functions without callers."""
        self.entry_frame: Callable[[], Frame]
        """Creates a frame for queries of the state of the program outside of any call."""
        self.parametrized: dict[FunctionId, dict[str, Value]] = {}
        """Arguments that a test runner passes to a test, by parameter."""
        self.declarations: Mapping[str, Declaration] = {}
        """User declarations about functions, by full name."""
        self.recorded: Mapping[FunctionId, frozenset[str]] = {}
        """The parameters that were tensors in recorded runs."""
        self.floats: DType | None = FLOAT32
        """Keras's default float type; None if the program sets it to an unknown one."""
        self.default_weights = weights_are_default(program, lambda function: self.names.of(function).weights)
        """Whether no code of the program gives weights another dtype than the default."""
        self.one_of_several = 0
        """The number of enclosing library calls that are evaluated for each alternative of their arguments."""
        self._execution = self.objects.setting(SETTINGS_OF_TENSORFLOW)
        self.world.set((self._execution, EXISTS), TRUE)
        self.set_functions_run_eagerly(self.world, FALSE)
        self._recursions = Recursions(self.contexts)
        self._depth = 0
        self.alone = 0
        """The depth of nested contexts that run alone, from their recorded reads."""
        self._methods_running: dict[str, int] = {}
        """For each method name, the number of running contexts of methods with this name."""
        self._active_of: dict[FunctionId, list[dict[str, Value]]] = {}
        self.steps = StepBudget(step_budget)

    def functions_run_eagerly(self, state: State) -> bool:
        """Whether the program certainly ignores `tf.function`: after `tf.config.run_functions_eagerly(True)`."""
        return state.get((self._execution, _RUN_EAGERLY)) == TRUE

    def set_functions_run_eagerly(self, state: State, value: Value) -> None:
        """`tf.config.run_functions_eagerly(value)`."""
        state.set((self._execution, _RUN_EAGERLY), value)

    # --- running code -----------------------------------------------------------------------------------------------------------

    def run_block(self, frame: Frame, block: Block) -> bool:
        """Runs the operations in order; whether control reaches the end."""
        handlers = self.handlers
        values, makers = frame.values, frame.makers
        self.steps.charge(frame, len(block))
        if frame.steps > frame.max_steps or self.steps.left <= 0:
            frame.problem = "budget"
            return False
        site = Site(self, frame, 0)  # reused for all operations: creating one for each takes longer
        for op in block:
            site.op = op.id
            if op.id in makers:
                self.make_room_again(frame, op.id)
            result = handlers[type(op)](site, op)
            if result is None:
                continue
            if result is TERMINATED:
                return False
            assert not isinstance(result, Terminated)
            if type(result) in COMPOSITE:
                result = self.steps.weighed(frame, result)
            if frame.iteration or frame.repeated:
                frame.keep_earlier(op.id, result)
            values[op.id] = result
            if type(result) is Bottom:
                return False
        return True

    def run_branch(self, frame: Frame, block: Block, prepare: Callable[[], bool] | None = None) -> State | None:
        """Runs a block in a fork of the present state; returns the state at its end, or None if the end is unreachable.

        `prepare` refines the fork first, and returns False if the branch cannot be taken.
        """
        outer = frame.state
        frame.state = outer.fork()
        effects, exits = len(frame.effects), frame.exits
        try:
            if prepare is not None and not prepare():
                return None
            if self.run_block(frame, block):
                return frame.state
            if frame.exits == exits and frame.problem is None:
                # the branch only raises, so a call that returns has none of its effects
                for key in list(frame.effects)[effects:]:
                    del frame.effects[key]
            return None
        finally:
            frame.state = outer

    # --- the program --------------------------------------------------------------------------------------------------------------

    def parametrized_of(self, function: FunctionValue) -> dict[str, Value]:
        """Arguments that a test runner passes to a function, by parameter. The caller adds to them."""
        self.spoil_logs()
        return self.parametrized.setdefault(FunctionId(*function.function), {})

    def code_of(self, identity: FunctionId) -> Function:
        """A function, for queries from outside."""
        if self.log is not None:
            self.log.codes.add(identity)
        return self.program.function(identity)

    def line_of(self, identity: FunctionId, op: OpId) -> int:
        """The line of an operation."""
        line = self.program.function(identity).span_of(op).line
        if self.log is not None:
            self.log.codes.add(identity)
            self.log.ask(line, Interpreter.line_of, identity, op)
        return line

    def forget_summaries(self) -> None:
        self.spoil_logs()
        self.contexts.forget()
        self.adoption = None

    def begin_epoch(self, written: HeapKey, unsettled: Set[HeapKey]) -> None:
        """Forgets the summaries that depend on these fields, because their reads of them are not recorded."""
        whole = written[0] if written[1] in WHOLE_OBJECT else None
        self.contexts.forget_readers(unsettled, whole, self._recursions.unfinished())
        self.epoch = (*(self.epoch or ()), written)

    def settle(self) -> None:
        """Declares the bindings of the modules as settled."""
        self.contexts.forget_settled_reads(self.world.settled)
        self.epoch = ()
        if self.adoption is not None:
            self.adoption.settle(self.world.settled)

    # --- calling functions of the program ----------------------------------------------------------------------------------------

    def call_function(
        self, site: Site, function: FunctionValue, arguments: CallArguments, *, graph: bool = False
    ) -> Value:
        """Calls a function of the program in the present state; its effects and writes become the caller's."""
        frame = site.frame
        code = self.code_of(FunctionId(*function.function))
        identity = code.id
        bound = bind_arguments(site, code, function, arguments)
        if bound is None:
            frame.call_record(site.op).unknown = f"{code.qualname} {DOES_NOT_FIT}"
            return UNKNOWN
        wrapped = function.hybrid is not None and not self.functions_run_eagerly(frame.state)
        in_graph = frame.in_graph or graph or wrapped
        self._charge_call(STEPS_OF_A_CALL)
        if not frame.provoked:
            self.note_called(identity)
        arrivals = frame.arrivals.setdefault(identity, {})
        # arguments with which a test expects a failure are no evidence for the parameter's type
        for name, value in () if frame.provoked else bound.items():
            seen = arrivals.setdefault(name, {})
            arriving = value if not references(value) else freeze_in(frame.state, value, DEPTH_OF_ARRIVALS)
            note_arrival(seen, without_marks(arriving))
        naming = Naming(stand_ins(self, bound), self.objects.level_names, identity)
        # a function called as a graph of its own gets its arguments as a graph does; others as in their caller
        inward = naming.named if graph else naming.inward

        def given(values: Mapping[str, Value]) -> dict[str, Value]:
            parameters = {name: inward(as_parameter(name, value)) for name, value in values.items()}
            return as_signed(frame.state, code, function.hybrid, parameters) if wrapped else parameters

        known = as_evidence_says(self, code, function, bound)
        closure = tuple((name, naming.inward_object(cell)) for name, cell in function.closure)
        summary = self.summarize(frame.state, identity, closure, given(known), EntryKind.CALLED, in_graph, naming)
        if isinstance(summary, Summary):
            again = as_evidence_says(self, code, function, known)
            if again is not known and again != known:
                # now the body has shown how it uses the unknown parameters
                summary = self.summarize(
                    frame.state, identity, closure, given(again), EntryKind.CALLED, in_graph, naming
                )
        if isinstance(summary, Summary):
            self._charge_call(steps_of_call(summary))
            return as_declared(self, code, function, apply_summary(site, summary, bound, naming))
        if isinstance(summary, UnknownValue):
            # not followed any further: its effects are unknown
            how = "too deep" if self.problems.get(identity) == "recursion depth" else "in too many ways"
            detail = f"{code.qualname} (called {how} to follow)"
            frame.add_effect(Effect(EffectKind.UNKNOWN_CALL, EXTERNAL, detail, site.place()))
        return outward(summary, naming, {})

    def _charge_call(self, steps: int) -> None:
        self.steps.left -= steps
        if self.log is not None:
            self.log.steps += steps

    def forget_entry(self, context: int) -> None:
        """Drops an entry context: the function is about to be entered with more information."""
        self.contexts.forget_entry(context)
        if self.log is not None:
            self.log.tell(Interpreter.forget_entry, context)

    def note_open_instance(self, number: ObjectId) -> None:
        """Records an instance that represents any object of a class or of a subclass."""
        self.journal.put(self.open_instances, number, None)
        if self.log is not None:
            self.log.tell_once(Interpreter.note_open_instance, number)

    def summarize(
        self,
        state: State,
        identity: FunctionId,
        closure: Closure,
        parameters: dict[str, Value],
        entry: EntryKind,
        in_graph: bool,
        naming: Naming | None = None,
    ) -> Summary | Value:
        """The summary of a call, computed if none fits; a plain value where there can be none (recursion, budget)."""
        parameters = as_given(parameters)
        if naming is None:
            naming = entry_naming(self, identity)
        key = (identity, tuple(parameters.values()), closure, in_graph)
        found = self.contexts.find(key, state, naming)
        if found is not None:
            return self._found(found, entry)
        active = self._active_of.setdefault(identity, [])
        if len(active) >= MAX_ACTIVE:
            self._note_recursion(identity, key)
            parameters = widened_parameters(active, parameters)
            key = (identity, tuple(parameters.values()), closure, in_graph)
            found = self.contexts.find(key, state, naming)
            if found is not None:
                return self._found(found, entry)
        recursion = self._recursion(key, identity, state, naming)
        if recursion is not None:
            return recursion
        if self._is_too_deep(identity) or self.steps.left <= 0 or len(active) >= 4 * MAX_ACTIVE:
            self.spoil_logs()
            self.problems.setdefault(identity, "recursion depth" if self.steps.left > 0 else "budget")
            return UnknownValue(reason="budget")
        joined = None
        if entry is EntryKind.CALLED and not self.contexts.is_told_apart(key):
            joined = Joined(key, parameters, self.contexts.known(key))
            parameters = self.contexts.joined(key, parameters)
            key = (identity, tuple(parameters.values()), closure, in_graph)
            found = self.contexts.find(key, state, naming)
            if found is not None:
                return self._found(found, entry, joined)
            recursion = self._recursion(key, identity, state, naming)
            if recursion is not None:
                note_joined(self, joined, key, state, naming)
                return recursion
            if not self.contexts.has_room(key):
                note_joined(self, joined, key, state, naming)
                note_refused(self, key)
                return UnknownValue(reason="budget")
        summary = None
        if self.adoption is not None:
            summary = self.adoption.adopt(key, state, naming, entry, self.circumstances(general=joined is not None))
        if summary is None:
            summary = self.run_context(key, state, parameters, entry, naming, general=joined is not None)
        return self._found(summary, entry, joined)

    def run_context(
        self,
        key: ContextKey,
        state: State,
        parameters: dict[str, Value],
        entry: EntryKind,
        naming: Naming | None,
        *,
        general: bool,
    ) -> Summary:
        """Runs a context and returns its summary."""
        log = None if self.adoption is None else Log(key, self.circumstances(general=general), self.epoch)
        summary = self._make_summary(key, state, parameters, entry, naming, log)
        if general or self.expecting_errors or self.one_of_several:
            # its arguments are joined from several calls, or a test expects the error, or another argument may exclude this one: a
            # failure proves nothing
            summary.failures = summary.guarded_failures = {}
        return summary

    def _found(self, summary: Summary, entry: EntryKind, joined: Joined | None = None) -> Summary:
        """The summary of a call, recorded in the log of the calling context."""
        log, inner = self.log, summary.log
        self._recursions.use(summary)
        if log is None:
            return summary
        if inner is None:
            log.spoiled = True
            return summary
        log.reached(inner)
        flags = self.circumstances(general=joined is not None)
        log.call(Called(self.running[-1], summary.identity, entry, flags, joined))
        return summary

    def circumstances(self, *, general: bool) -> Flags:
        """The context, apart from the arguments, that determines which failures are recorded."""
        return bool(self.expecting_errors), bool(self.one_of_several), self.floats, self.default_weights, general

    def _note_recursion(self, identity: FunctionId, key: ContextKey) -> None:
        """Records that the running context has called a running context of that function, for which no finished one is valid."""
        if self.log is not None:
            self.log.recursive.add(identity)
            self.log.functions.add(identity)
            self.log.ask(self.known(key), Interpreter.known, key)

    def known(self, key: ContextKey) -> tuple[int, ...]:
        """The finished contexts of that key."""
        return self.contexts.known(key)

    def add_body_again(self, identity: int) -> bool:
        """Enters the result of the body of a class from an earlier run; whether it is known."""
        summary = None if self.adoption is None else self.adoption.body(identity)
        if summary is not None:
            self.contexts.add_body_again(summary)
        return summary is not None

    def tried(self, step: Callable[[], bool]) -> bool:
        """Runs a step that replays a log; if it fails, all its changes are rolled back."""
        log, left = self.log, self.steps.left
        self.log = self.objects.log = None
        place = self.journal.open()
        succeeded = False
        try:
            succeeded = step()
        finally:
            self.journal.close(place, keep=succeeded)
            self.log = self.objects.log = log
            if not succeeded:
                self.steps.left = left
        return succeeded

    def spoil_logs(self) -> None:
        """Marks the logs of running contexts as incomplete: they depend on something that is not logged and is about to change."""
        if self.alone:
            raise NotAloneError
        for log in self.logs:
            log.spoiled = True

    def change_world(self) -> None:
        """Records that the state of the program is about to be changed by other than the end of a module's body."""
        if self.adoption is not None:
            self.adoption.modules.differ()

    def is_nested_too_deep(self, log: Log) -> bool:
        """Whether a context and its callees would exceed the call depth below the running contexts."""
        height = self._depth + log.height
        if height < MAX_NAMESAKES:
            return False
        namesakes = Counter(self._methods_running)
        namesakes.update(filter(None, map(self._name_of_method, log.functions)))
        return height >= MAX_CALL_DEPTH or max(namesakes.values(), default=0) > MAX_NAMESAKES

    def _is_too_deep(self, identity: FunctionId) -> bool:
        """Whether the maximum call depth is reached."""
        return (
            self._depth >= MAX_CALL_DEPTH
            or self._methods_running.get(self._name_of_method(identity) or "", 0) >= MAX_NAMESAKES
        )

    def _name_of_method(self, identity: FunctionId) -> str | None:
        code = self.program.function(identity)
        return code.name if code.kind is FunctionKind.METHOD else None

    def register_again(self, summary: Summary) -> None:
        """Registers a summary of an earlier run in this one."""
        log = summary.log
        assert log is not None
        summary.reads = unsettled(log.reads, self.world.settled)
        summary.fixed = log.fixed.union(log.reads.keys() - summary.reads.keys())
        self.steps.left -= log.steps
        self.contexts.add_again(log.key, summary)

    def _recursion(
        self, key: ContextKey, identity: FunctionId, state: State, naming: Naming | None
    ) -> Summary | Value | None:
        """Result of a recursive call; None if the call is not recursive.

        A call is recursive only in the same state: another object under the same name (the child of a tree node) is another context, up
        to a maximum depth.
        """
        running = self._recursions.of(key)
        if not running:
            return None
        self._note_recursion(identity, key)
        self.note_cycle(self.running, identity)
        for context in reversed(running):
            if context.runs_in(state, naming):
                last = self._recursions.recurse(context)
                return last if last is not None else BOTTOM
        if len(running) < MAX_ACTIVE:
            return None
        return UnknownValue(reason="recursion")

    def instance_for_entry(self, cls: Reference) -> Value:
        """An instance that represents any object of a class of the program."""
        return entries.instance_for_entry(self, cls)

    def _make_summary(
        self,
        key: ContextKey,
        state: State,
        parameters: dict[str, Value],
        entry: EntryKind,
        naming: Naming | None,
        log: Log | None,
    ) -> Summary:
        identity = key[0]
        active = self._active_of.setdefault(identity, [])
        running = self._recursions.enter(key)
        self._depth += 1
        name = self._name_of_method(identity)
        if name is not None:
            self._methods_running[name] = self._methods_running.get(name, 0) + 1
        active.append(parameters)
        outer = self.log
        if log is not None:
            self.logs.append(log)
        self.log = self.objects.log = log
        self.running.append(identity)
        try:
            run = partial(self._run, key, state, parameters, entry, naming, running)
            summary = self._recursions.run_in_rounds(running, log, run)
        finally:
            self._recursions.leave(key, running)
            self._depth -= 1
            if name is not None:
                self._methods_running[name] -= 1
            active.pop()
            self.running.pop()
            self.log = self.objects.log = outer
            if log is not None:
                self.logs.pop()
        assert running.boundary is not None
        summary.fixed = self.sharing.absent({**running.fixed, **running.boundary.fixed})
        summary.used = self.sharing.shared_set(frozenset(running.used))
        if log is not None and self.adoption is not None and not log.spoiled:
            log.reads, log.fixed = summary.reads, summary.fixed
            log.within = next(
                (outside for each, outside in zip(self.running, self.logs, strict=True) if each in log.functions), None
            )
            summary.log = log
            log.told.clear()
        if self.adoption is not None:
            self.adoption.ran(identity, summary)
            taken = self.adoption.take_place(summary)
            if taken is not None:
                summary.identity = taken
        self.contexts.add(key, summary)
        self._recursions.finish(key, running, summary)
        if self.alone and self.adoption is not None and summary.log is not None:
            self.adoption.keep(summary)
        return summary

    def _run(
        self,
        key: ContextKey,
        state: State,
        parameters: dict[str, Value],
        entry: EntryKind,
        naming: Naming | None,
        running: Running,
    ) -> Summary:
        identity, _, closure, in_graph = key
        code = self.program.function(identity)
        boundary = state.call(naming)
        running.boundary = boundary
        frame = Frame(
            code, boundary, dict(closure), parameters, self.loader.object_of(identity.module), entry, in_graph
        )
        self._guarded_execute(frame)
        returns = self.finish(frame)
        for made in frame.made:
            entries.enter_nested(self, frame, made)
        return summary_of(self, frame, returns, surviving_writes(frame, returns))

    def run_inline(self, frame: Frame) -> Summary:
        """Runs the body of a module or class, whose writes go directly to the state of the frame."""
        self._guarded_execute(frame)
        self.finish(frame)
        summary = summary_of(self, frame, NONE, {})
        self.contexts.add_body(summary)
        # `forget_summaries` ends the adoption; a log that outlives it is invalid
        if self.log is not None and self.adoption is not None and frame.function.kind is FunctionKind.CLASS_BODY:
            self.adoption.note_body(summary)
            self.log.bodies.add(frame.function.id)
            self.log.ask(True, Interpreter.add_body_again, summary.identity)
        return summary

    def run_module(self, frame: Frame, beginning: Beginning) -> Summary:
        """Runs the body of a module, or takes over what it did in an earlier run."""
        return self.run_inline(frame) if self.adoption is None else run_body(self, self.adoption, frame, beginning)

    def _guarded_execute(self, frame: Frame) -> None:
        code = frame.function
        try:
            self.execute(frame)
        except Exception as error:
            if isinstance(error, RecursionError) and not has_deep_stack():
                raise  # it is repeated on a larger stack
            # an internal error affects only this function: it is reported, and tests fail on it
            LOGGER.exception("the analysis of %s in %s failed", code.qualname, code.id.module)
            frame.problem = f"internal error in analysis: {type(error).__name__}: {error}"
            frame.returns.append((UNKNOWN, frame.root.fork()))
        if self.log is not None:
            self.log.steps += frame.steps
        if frame.problem is not None:
            self.spoil_logs()
            self.problems.setdefault(code.id, frame.problem)
            # its further effects are unknown to its callers
            detail = f"{code.qualname} (not analysed to its end)"
            frame.add_effect(Effect(EffectKind.UNKNOWN_CALL, EXTERNAL, detail, frame.site(0)))

    def execute(self, frame: Frame) -> None:
        """Runs the body of a function from its entry; the states at its returns are in `frame.returns`."""
        code = frame.function
        frame.state = frame.root.fork()
        for name in code.cells:
            cell = self.allocate(frame, 0, ObjectKind.CELL, name, tag=("cell", name))
            frame.cells[name] = cell
        frame.makers.clear()  # cells are not created by an operation
        cells = frame.cells
        for name, value in frame.parameters.items():
            if name in cells:
                frame.state.set((cells[name], CELL), value)
            else:
                frame.state.locals[name] = value
        if self._run_module(frame) if code.kind is FunctionKind.MODULE else self.run_block(frame, code.body):
            frame.returns.append((NONE, frame.state.flattened(frame.root)))
        elif frame.problem is not None:
            frame.returns.append((UnknownValue(reason=frame.problem), frame.state.flattened(frame.root)))

    def _run_module(self, frame: Frame) -> bool:
        """Runs a module to its last line, even if it stops earlier.

        A script may stop on purpose (`raise SystemExit`, `assert False, "work in progress"`); the code after that is still part of the
        report.
        """
        for op in frame.function.body:
            if not self.run_block(frame, (op,)) and frame.problem is None:
                # the operation at which it stopped has no result
                frame.values[op.id] = UNKNOWN
        return True

    def finish(self, frame: Frame) -> Value:
        """Merges the states in which a function returns; its result."""
        result: Value = BOTTOM
        states: list[State] = []
        for value, state in frame.returns:
            result = join(result, value)
            state.locals = {}
            states.append(state)
        if states:
            frame.root.merge(states)
        frame.state = frame.root
        if frame.function.is_generator:
            return SequenceValue(frame.yields, "generator", count_of_yields(frame))
        result = returned(frame, self.code.index(frame.function), result)
        if any(decorator.text.endswith(_ABSTRACT) for decorator in frame.function.decorators):
            return join(result, UnknownValue(reason=ABSTRACT))
        if frame.abstract and (type(result) is Bottom or frame.function.kind is FunctionKind.METHOD):
            return join(result, UnknownValue(reason=ABSTRACT))
        return result
