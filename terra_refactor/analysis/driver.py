"""The order of the analysis: modules as scripts, then every function without callers, until the state is stable.

Computes: the facts of a program. Needs: the lowered program. Gives: `analyze_program`.

How: round 0 runs the module bodies. Each further round enters functions without callers, in the state after the earlier rounds
(attributes set by other methods, globals changed by other functions), and merges the writes into that state. Summaries whose reads still
hold are kept, so the cost of a round depends on its changes. The facts are those of the last round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from terra_refactor.analysis.application import writes_of_entry
from terra_refactor.analysis.assembly import assemble_facts
from terra_refactor.analysis.classes import find_in_class, resolution_order
from terra_refactor.analysis.declarations import read_declarations
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.entries import entry_parameters
from terra_refactor.analysis.facts import EntryKind, ProgramFacts
from terra_refactor.analysis.frames import Frame, Summary
from terra_refactor.analysis.interpreter import Interpreter
from terra_refactor.analysis.modules import ModuleLoader
from terra_refactor.analysis.recorded import recorded_tensors
from terra_refactor.analysis.reuse import SummaryStore
from terra_refactor.analysis.signatures import as_signed
from terra_refactor.analysis.testing import test_arguments
from terra_refactor.analysis.transfer import attributes, calls, containers, control, definitions, names, operators
from terra_refactor.config import ProjectModel
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.lattice import join
from terra_refactor.domain.state import CLASS, EXISTS, HeapKey
from terra_refactor.domain.value import (
    FALSE,
    FunctionValue,
    LibraryValue,
    ObjectId,
    PartialValue,
    Reference,
    Value,
    members,
)
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program
from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.class_names import CLASS_METHOD, STATIC_METHOD
from terra_refactor.tf_model.environment import for_release
from terra_refactor.tf_model.graph_traits import LAYER, LOSS, METRIC, SCHEDULE

_MAX_ROUNDS = 3
"""Maximum number of rounds in which changes of the program's state are followed."""
STEPS_PER_OPERATION = 80
"""Steps of a run per operation of the program: five times what any known project needs."""
MIN_STEPS = 200_000
"""Minimum steps, for short programs: five to ten seconds."""

HANDLERS = {
    **names.HANDLERS,
    **containers.HANDLERS,
    **attributes.HANDLERS,
    **operators.HANDLERS,
    **definitions.HANDLERS,
    **control.HANDLERS,
    **calls.HANDLERS,
}


_OF_THE_OBJECT: Final = frozenset({CLASS, EXISTS})
"""Attributes that belong to an object independently of its methods."""


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """Limits of the analysis, and its input other than the program."""

    max_rounds: int = _MAX_ROUNDS
    steps_per_operation: int = STEPS_PER_OPERATION
    models: Mapping[str, ProjectModel] = field(default_factory=dict)
    tf_version: str | None = None
    """The TensorFlow release that the program targets, as `X.Y`; None if unknown."""


def analyze_program(
    program: Program,
    options: AnalysisOptions,
    progress: Callable[[int, int], None] | None = None,
    store: SummaryStore | None = None,
) -> ProgramFacts:
    """The facts of a program.

    `progress` receives the number of finished functions and of all functions in the present round. With a `store`, valid results of the
    last run are reused; the facts are the same, except for the numbers of objects.
    """
    return call_with_deep_stack(lambda: _Analysis(program, options, progress, store).run(), at_once=True)


class _Analysis:
    def __init__(
        self,
        program: Program,
        options: AnalysisOptions,
        progress: Callable[[int, int], None] | None,
        store: SummaryStore | None,
    ) -> None:
        self.store = store
        self.program = program
        self.options = options
        self.progress = progress
        operations = sum(function.op_count for module in program.modules.values() for function in module.functions)
        loader = ModuleLoader(program)
        self.interpreter = Interpreter(
            program,
            loader,
            HANDLERS,
            calls.call_value,
            attributes.attribute_of,
            max(MIN_STEPS, options.steps_per_operation * operations),
            None if store is None else store.begin(program, options.models, options.tf_version),
        )
        loader.engine = self.interpreter
        self.interpreter.declarations = read_declarations(options.models, program.stubs)
        self.interpreter.recorded = {identity: recorded_tensors(seen) for identity, seen in program.recorded.items()}
        self.loader = loader
        self.evidence: dict[FunctionId, dict[str, Evidence]] = {}
        self.interpreter.entry_frame = self.world_frame
        self.changed = False
        self.is_settled = False
        """Whether all modules have run."""

    def run(self) -> ProgramFacts:
        with for_release(self.options.tf_version):
            try:
                return self._run()
            except BaseException:
                if self.store is not None and not self.store.by_identity and self.is_settled:
                    # interrupted from outside: the next run continues from what is finished
                    self.store.keep(self.interpreter, None, self.program)
                raise

    def _run(self) -> ProgramFacts:
        self.loader.run_all(self._advance)
        self.loader.settle()
        self.is_settled = True
        if len(self.program.modules) > 1:
            # a script's settings apply to its callees; other scripts use the same functions without them
            self.interpreter.set_functions_run_eagerly(self.interpreter.world, FALSE)
        rounds = 0
        order = self.entry_order()
        for rounds in range(1, self.options.max_rounds + 1):
            self.interpreter.contexts.round = rounds
            self.changed = False
            for body in self.loader.bodies.values():
                self.interpreter.contexts.touch(body)
            self.run_round(order)
            if not self.changed:
                break
        adoption = self.interpreter.adoption
        if self.store is not None:
            self.store.keep(self.interpreter, adoption, self.program)
        changed_outside = frozenset[FunctionId]() if adoption is None else adoption.changed_outside
        facts = assemble_facts(self.interpreter, self.evidence, rounds, self.store, changed_outside)
        # breaks reference cycles, so that everything unreferenced is freed now, without garbage collection
        vars(self.interpreter).clear()
        return facts

    def _advance(self, modules: int) -> None:
        """Reports progress; the callback may end the run here."""
        if self.progress is not None and modules % 10 == 0:
            self.progress(0, len(self.program.modules))

    def entry_order(self) -> list[Function]:
        """Functions in the order in which they are entered: those that no code mentions (tests, scripts) come first,
        since they call the others.
        """
        mentioned: set[str] = set()
        functions: list[Function] = []
        for module in self.program.modules.values():
            for function in module.functions:
                functions.append(function)
                mentioned |= self.interpreter.names.of(function).mentioned
        entered = [
            function
            for function in functions
            if function.kind in (FunctionKind.FUNCTION, FunctionKind.METHOD, FunctionKind.LAMBDA, FunctionKind.NESTED)
        ]
        return sorted(entered, key=lambda function: function.name in mentioned)

    def run_round(self, order: list[Function]) -> None:
        interpreter = self.interpreter
        for number, code in enumerate(order):
            if self.progress is not None and number % 10 == 0:
                self.progress(number, len(order))
            if interpreter.contexts.is_reached(code.id):
                continue
            for function in tuple(interpreter.definitions.get(code.id, ())):
                if self._is_nested_in_function(code):
                    # its closure exists only while its definer runs; the interpreter entered it there
                    continue
                with interpreter.steps.share(self.options.steps_per_operation * code.op_count):
                    self.enter(code, function)

    def _is_nested_in_function(self, code: Function) -> bool:
        parent = code.parent
        while parent is not None:
            outer = self.program.function(parent)
            if outer.kind not in (FunctionKind.MODULE, FunctionKind.CLASS_BODY):
                return True
            parent = outer.parent
        return False

    def enter(self, code: Function, function: FunctionValue) -> None:
        interpreter = self.interpreter
        receiver, framework = self.receiver_of(code)
        used = len(interpreter.usage.get(code.id, ()))
        summary = self._enter_once(code, function, receiver, framework)
        if len(interpreter.usage.get(code.id, ())) > used:
            # the body passes parameters to operations that take tensors, so they are tensors
            summary = self._enter_once(code, function, receiver, framework)
        if isinstance(summary, Summary):
            self.merge_into_world(summary)

    def _enter_once(
        self, code: Function, function: FunctionValue, receiver: Value | None, framework: str | None
    ) -> Summary | Value:
        interpreter = self.interpreter
        parameters, evidence, kind = entry_parameters(interpreter, code, function, receiver, framework)
        self.evidence[code.id] = evidence
        interpreter.contexts.forget_entries(code.id)
        wrapped = interpreter.wrapped.get(code.id)
        in_graph = wrapped is not None and wrapped[0] is not None
        in_graph = in_graph and not interpreter.functions_run_eagerly(interpreter.world)
        frame = self.world_frame()
        frame.state = interpreter.world.fork()
        given = test_arguments(Site(interpreter, frame, 0), code)
        if in_graph and wrapped is not None:
            parameters = as_signed(interpreter.world, code, wrapped[0], parameters)
        if given:
            parameters |= given
            evidence |= dict.fromkeys(given, Evidence.FRAMEWORK)
            return interpreter.summarize(frame.state, code.id, function.closure, parameters, kind, in_graph)
        return interpreter.summarize(interpreter.world, code.id, function.closure, parameters, kind, in_graph)

    def receiver_of(self, code: Function) -> tuple[Value | None, str | None]:
        """The first argument of a method, and the family of Keras classes to which its class belongs."""
        if code.kind is not FunctionKind.METHOD or code.parent is None:
            return None, None
        cls = self.interpreter.class_of_body.get(code.parent)
        if not isinstance(cls, Reference):
            return None, None
        frame = self.world_frame()
        own = self.interpreter.world.get((cls.object, code.name))
        framework = keras_family(frame, cls)
        for member in members(own) if own is not None else ():
            if isinstance(member, PartialValue) and member.function == STATIC_METHOD:
                return None, framework
            if isinstance(member, PartialValue) and member.function == CLASS_METHOD:
                return cls, framework
        return self.instance_of(cls), framework

    def world_frame(self) -> Frame:
        """A frame for queries of the state of the program outside of any call."""
        module = next(iter(self.program.modules.values()))
        number = self.loader.object_of(module.name)
        return Frame(module.body, self.interpreter.world, {}, {}, number, EntryKind.MODULE, in_graph=False)

    def instance_of(self, cls: Value) -> Value:
        """An instance that represents any object of a class of the program: created by its constructor with unknown arguments."""
        assert isinstance(cls, Reference)
        return self.interpreter.instance_for_entry(cls)

    def merge_into_world(self, summary: Summary) -> None:
        """Adds the writes of an entry to the state of the program."""
        for (number, name), value in writes_of_entry(self.interpreter, summary):
            self._merge((number, name), value, summary)
            # a method sets attributes of objects of the classes that inherit it
            for other in self._inheriting(summary.function, number) if name not in _OF_THE_OBJECT else ():
                self._merge((other, name), value, summary)

    def _merge(self, key: HeapKey, value: Value, summary: Summary) -> None:
        world = self.interpreter.world
        known = world.get(key)
        if known is None:
            if key[1] == EXISTS or world.get((key[0], EXISTS)) is not None or key[0] in summary.allocated:
                world.set(key, value)
                self.changed = True
            return
        joined = join(known, value)
        if joined != known:
            world.set(key, joined)
            self.changed = True

    def _inheriting(self, method: Function, number: ObjectId) -> Iterator[ObjectId]:
        """The instances that represent objects of classes that inherit a method, if `number` represents those of its own class."""
        interpreter = self.interpreter
        cls = interpreter.world.get((number, CLASS)) if number in interpreter.open_instances else None
        if not isinstance(cls, Reference) or method.kind is not FunctionKind.METHOD or method.name == "__init__":
            return
        below, pending = {cls.object}, [cls.object]
        while pending:
            further = [each for each in interpreter.subclasses_of(pending.pop()) if each not in below]
            pending += further
            below.update(further)
        frame = self.world_frame()
        for other in tuple(interpreter.open_instances):
            own = interpreter.world.get((other, CLASS))
            if other != number and isinstance(own, Reference) and own.object in below:
                found = find_in_class(frame, own, method.name)
                if found is not None and isinstance(found[0], FunctionValue):
                    if FunctionId(*found[0].function) == method.id:
                        yield other


def keras_family(frame: Frame, cls: Value) -> str | None:
    """Which of Keras's interfaces a class of the program implements: `layer` (models, too), `loss`, `metric`,
    `schedule`; None if it is none of them.
    """
    for candidate in resolution_order(frame, cls):
        if isinstance(candidate, LibraryValue):
            for base, family in (
                (LAYER, "layer"),
                (LOSS, "loss"),
                (METRIC, "metric"),
                (SCHEDULE, "schedule"),
            ):
                if registry.is_library_subclass(candidate.name, base):
                    return family
    return None
