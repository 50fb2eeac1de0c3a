"""One call of a co-executed function: which operations are deferred, which run immediately, and when deferred ones run.

Computes: for every hooked call, whether it is deferred (its results are LazyTensors), decomposed, or run immediately. Needs: the trie of
its program, and flush.py to run pending operations. Gives: `Run`. Ignores: gradient tapes' own rules (tapes.py), compilation
(segments.py).

Nothing is run speculatively, and every operation runs exactly once: deferred calls wait in `pending` until Python needs a value, an
operation must run immediately, or the call ends; then they run as one compiled segment or, on a new path, one by one like eager
execution. A segment starts at the root of the trie and ends at such a cut.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np

from terra_refactor.runtime import aside, flush, foreign, run_tapes, varying_index
from terra_refactor.runtime.array_arguments import array_hint, has_tensor, may_convert_arrays
from terra_refactor.runtime.encoding import LARGE_ARRAY, SMALL_ARRAY, Encoder, Fact, Unencodable, note_assignment
from terra_refactor.runtime.executor import wait_for_segments
from terra_refactor.runtime.keras_hooks import global_settings, notice_patched_classes
from terra_refactor.runtime.lazy_tensor import LazyTensor, keep, real_of
from terra_refactor.runtime.observe import Observation, op_definition
from terra_refactor.runtime.program import Program
from terra_refactor.runtime.state import thread
from terra_refactor.runtime.tf_internals import (
    EagerTensor,
    IndexedSlices,
    UnreadVariable,
    Variable,
    as_dtype,
    context,
    int32,
    int64,
    ops,
)
from terra_refactor.runtime.trie import (
    Arrays,
    Call,
    Hung,
    InputRef,
    Kind,
    Node,
    Rebuild,
    Role,
    SlotRef,
    SlotSpec,
    fill,
    node_references,
)
from terra_refactor.runtime.values import as_given, collect, hangs, real_value, real_values
from terra_refactor.runtime.varying_index import SHAPE_SIZE

MOST_KEPT = 64  # references to tensors that outlived their segment, before dead ones are dropped
_LIBRARIES = ("tensorflow", "keras", "terra_refactor.runtime", "contextlib", "numpy")


class Run(Encoder):
    """The state of one call of a co-executed function, on one thread.

    Attributes:
        depth: above 0 while operations must really run (inside a running call, or after a bail-out).
        real: the current segment is being recorded: its operations have run, and its tensors are real.
        log: observes the operations of the call being recorded.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        self.depth = 0
        self.suspended = 0  # the part of the depth due to blocks in which nothing may be deferred
        self.log: Observation | None = None
        self.passive = False
        self.missed = False
        self.tld = context.context()._thread_local_data
        self.ident = threading.get_ident()
        self.collects = gc.isenabled()
        self.outer_tapes = list(thread.recording())
        self.real_tapes = thread.tapes  # those that are really entered on this thread, now and later
        self.tapes: list[run_tapes.TapeState] = []
        self.tape_ids: dict[int, int] = {}
        self.used: dict[int, tuple[Any, list[Node]]] = {}  # tensors whose use real tapes have recorded (run_tapes.py)
        self.computed_aside: set[int] = set()  # slots whose values exist before the pending operations run
        self.pending: list[Node] = []
        self.slot_specs: list[SlotSpec] = []
        self.recorded = 0
        self.graph_seconds = 0.0
        self.operations_before = program.operations()
        self.learned_before = program.learned()
        self.flushing = 0  # the thread that currently runs the pending operations
        self.kept: list[Any] = []  # weak references to tensors that outlived their segment
        self.shared = False  # another thread runs operations, so nothing is deferred any more
        self.lock = threading.RLock()
        self.real = False
        self.slots = []
        self.node: Node
        self.start_segment()

    # --- segments ----------------------------------------------------------------------------------------------

    def keep_facts(self, nodes: list[Node]) -> None:
        """Keeps the values fixed by the path beyond the segment that computed them."""
        slots = self.slots
        last = nodes[-1]
        if last.facts is None:
            last.facts = tuple(
                (slot, *fact)
                for node in nodes
                if node.has_facts
                for slot, spec in enumerate(node.specs, node.first_slot)
                if (fact := _fact(spec)) is not None
            )
        for slot, value, bound in last.facts:
            tensor = slots[slot]._value
            if tensor is not None:
                self.facts[id(tensor)] = Fact(tensor, value, bound)

    def learn(self, tensor: Any, spec: SlotSpec) -> None:
        """Stores the value of a small integer tensor that the path fixes, or the bound on an index tensor."""
        fact = _fact(spec)
        if fact is not None:
            self.facts[id(tensor)] = Fact(tensor, *fact)

    def learn_constant(self, tensor: Any) -> None:
        """Stores the value of a tensor that Python created from constants, if it may be a shape or an axis."""
        if tensor.dtype in (int32, int64) and tensor._rank() <= 1 and tensor._num_elements() <= SHAPE_SIZE:
            self.facts[id(tensor)] = Fact(tensor, tensor._numpy_internal().tobytes(), None)

    def knows_value(self, tensor: Any) -> bool:
        """Whether the path fixes the value of a real tensor."""
        fact = self.facts.get(id(tensor))
        return fact is not None and fact.value is not None

    def start_segment(self) -> None:
        """Begins a segment at the root. Earlier tensors are inputs from now on."""
        recorded, real, slots, specs = self.recorded, self.real, self.slots, self.slot_specs
        if real and thread.recording():
            run_tapes.note_use(self, self.node, [real_of(slot) for slot in slots])
        self.slots = []
        self.hung = False
        self.inputs = []
        self.ids = {}
        self.anonymous = []
        self.pending = []
        self.slot_specs = []
        self.tapes = []
        self.tape_ids = {}
        self.computed_aside = set()
        self.recorded = 0
        self.real = False
        if recorded:
            self.program.count_path()
        if real:
            for tensor, spec in zip(slots, specs, strict=False):
                self.learn(real_of(tensor), spec)
            tensor = None  # reference counts show whether anything except the slots holds it
        notice_patched_classes()
        self.node = self.program.root(global_settings())
        if slots:  # last of all: what hangs on the tensors may have finalizers that run operations
            self.kept.extend(flush.release(slots))
            if len(self.kept) > MOST_KEPT:
                self.hand_over_kept()

    def hand_over_kept(self) -> None:
        """Records tensors that may outlive the run."""
        keep(self.kept)
        self.kept = []

    def cut(self, wanted: Sequence[LazyTensor] = ()) -> None:
        """Runs the pending operations and begins a new segment. Python waits only for the `wanted` tensors."""
        collects = gc.isenabled()
        try:
            if collects:
                gc.disable()
            if self.pending:
                notice_patched_classes()
            if self.pending or self.flushing not in (0, self.ident):  # or they ran because a class was patched
                with self.lock:  # another thread may be running them at the moment
                    if self.pending:
                        if wanted and self.tld.is_eager:
                            aside.compute(self, wanted)
                        self._run_pending()
            elif self.slots or self.tapes or self.inputs:
                self.start_segment()
        except BaseException as error:
            self.left_by(error)
            raise
        finally:
            if collects:
                gc.enable()

    def left_by(self, error: BaseException) -> None:
        """Handles an error that leaves the shim. After an interruption, which may have left an inconsistent state, the rest of the call
        is eager.

        Pending operations run as far as possible; nothing is recorded or compiled, and the state of the path is dropped.
        """
        if isinstance(error, Exception) or self.passive or thread.run is not self:
            return
        self.passive = True
        self.depth += 1
        nodes, self.pending = self.pending, []
        try:
            flush.replay(self, nodes)
        except Exception as half:  # the caller must see the interruption
            self.program.fell_back(f"an interruption left something behind ({type(half).__name__})")
        finally:
            self.start_segment()

    def _run_pending(self) -> None:
        started = time.perf_counter()
        here = thread.run  # another one, or none, if another thread runs what this one has deferred
        if here is not None:
            here.depth += 1
        try:
            self.flushing = threading.get_ident()
            pending, self.pending = self.pending, []  # first of all, so that nothing runs twice after any interruption
            if self.tld.is_eager:
                flush.run_pending(self, pending)
            else:
                with ops.init_scope():
                    flush.run_pending(self, pending)
            self.keep_facts(pending)
        finally:
            if here is not None:
                here.depth -= 1
            self.graph_seconds += time.perf_counter() - started
            self.start_segment()
            self.flushing = 0

    def force(self, lazy: LazyTensor) -> None:
        """Computes a deferred tensor whose value Python needs."""
        if thread.run is not self:
            self.force_from_elsewhere(lazy)
            return
        self.program.fetches += 1
        self.cut((lazy,))

    def force_from_elsewhere(self, lazy: LazyTensor) -> None:
        """Computes a deferred tensor for another thread."""
        foreign.ask_for(self, lazy)

    def share(self) -> None:
        """Makes the rest of this call eager, because another thread executes operations."""
        with self.lock:  # it may be running the pending operations
            self.bail_out("another thread runs operations at the same time")

    def go_real(self) -> None:
        """Runs the pending operations one by one, like eager execution; the segment continues, recorded."""
        self.depth += 1
        try:
            self.flushing = threading.get_ident()
            wait_for_segments()
            nodes, self.pending = self.pending, []
            if nodes:
                self.program.replays += 1
                flush.replay(self, nodes)
        except BaseException:
            self.start_segment()
            raise
        finally:
            self.depth -= 1
            self.flushing = 0
        specs: list[SlotSpec] = []
        for node in nodes:
            specs.extend(node.specs)
        self.slot_specs = specs
        self.real = True

    def bail_out(self, reason: str) -> None:
        """Makes the rest of this call eager."""
        self.cut()
        wait_for_segments()
        self.program.fell_back(reason)
        self.passive = True
        self.depth += 1

    # --- calls -------------------------------------------------------------------------------------------------

    def call(self, call: Call, args: Any, kwargs: Any) -> Any:
        """A hooked call of the program, at depth 0."""
        if call.descend or not self.tld.is_eager:
            return call.original(*args, **kwargs)
        if self.shared:
            self.share()
            return as_given(call.eager(*real_values(args), **real_value(kwargs)), (*args, *kwargs.values()))
        collects = gc.isenabled()
        try:
            if collects:
                gc.disable()  # finalizers may run operations, and must find the tables complete
            mark = len(self.inputs)
            key: list[Any] = [call]
            if call.arrays is Arrays.INPUT:
                self.hint = array_hint(call, args)
            try:
                self.key(args, key, call.arrays)
                if kwargs:
                    if "name" in kwargs:
                        kwargs = {name: value for name, value in kwargs.items() if name != "name"}
                    if kwargs:
                        key.append(tuple(kwargs))
                        self.key(kwargs.values(), key, call.arrays)
                if call.attributes:
                    self.key_hung(args, key)
                    if kwargs:
                        self.key_hung(kwargs.values(), key)
            except Unencodable as reason:
                self.forget(mark)
                if reason.args[0] != LARGE_ARRAY or call.arrays is Arrays.INPUT or not may_convert_arrays(call, args):
                    return self._not_deferred(call, args, kwargs)
                return self.call(call.with_arrays(), args, kwargs)
            child = self.node.children.get(tuple(key))
            if child is None:
                result = self._unknown(call, args, kwargs, tuple(key), mark)
            else:
                result = self._known(child, call, args, kwargs, mark)
        except BaseException as error:
            self.left_by(error)
            raise
        finally:
            if collects:
                gc.enable()
        return as_given(result, (*args, *kwargs.values())) if type(result) is EagerTensor else result

    def _known(self, child: Node, call: Call, args: Any, kwargs: Any, mark: int) -> Any:
        if self.anonymous:
            self.anonymous = []
        if child.expected is not None:
            child.keep_owner()
        if child.kind is Kind.IMMEDIATE:
            self.rollback(mark)
            return self.immediate(call, args, kwargs)
        if child.kind is not Kind.DEFER or (child.guards and not flush.guards_hold(self, child)):
            self.rollback(mark)
            return self._not_deferred(call, args, kwargs)
        if self.real:
            result = self._run_known(child)
            if call.rehang is not None and type(result) is EagerTensor:
                call.rehang(result, *args, **kwargs)
            return result
        self.node = child
        self.pending.append(child)
        if child.single:
            slots = self.slots
            spec = child.specs[0]
            lazy = LazyTensor(self, slots, len(slots), spec.dtype, spec.shape, spec.static)
            slots.append(lazy)
            if call.rehang is not None:
                call.rehang(lazy, *args, **kwargs)
            return lazy
        return self.defer_result(child)

    def defer_result(self, child: Node) -> Any:
        """Creates the LazyTensors of a deferred call, and its result."""
        slots = self.slots
        self.hung |= child.hangs
        for spec in child.specs:
            slots.append(LazyTensor(self, slots, len(slots), spec.dtype, spec.shape, spec.static))
        return fill(child.result, slots, self.inputs, ())

    def _not_deferred(self, call: Call, args: Any, kwargs: Any) -> Any:
        if call.raw is None and call.role is Role.OPERATION:
            return call.original(*args, **kwargs)  # the calls inside it are handled one by one
        return self.immediate(call, args, kwargs)

    def immediate(self, call: Call, args: Any, kwargs: Any) -> Any:
        """Runs a call immediately, after everything before it."""
        if call.raw is not None and not has_tensor(args) and not op_definition(call.raw).is_stateful:
            # computed only from arrays and numbers: pending operations cannot change it, and no tape records it
            self.depth += 1
            try:
                return call.eager(*args)
            finally:
                self.depth -= 1
        self.cut(aside.deferred_in(args))
        self.program.immediate(call)
        if call.raw is None:  # the hook on raw operations waits for accesses to state
            wait_for_segments()
        self.depth += 1
        try:
            return call.eager(*real_values(args), **{name: real_value(value) for name, value in kwargs.items()})
        finally:
            self.depth -= 1

    # --- recording ---------------------------------------------------------------------------------------------

    def _unknown(self, call: Call, args: Any, kwargs: Any, key: Any, mark: int) -> Any:
        node = self.node
        if call.owner is not None and node.lost is not None and node.is_fresh(call.owner()):
            self.forget(mark)
            return self._not_deferred(call, args, kwargs)
        if call.creation and len(self.inputs) == mark and not any(type(part) is int for part in key):
            if call in node.relaxed:  # another constant was created here before: create this one now, as an input
                node.forget_special(call)
                self.forget(mark)
                self.depth += 1
                try:
                    return call.eager(*real_values(args), **kwargs)
                finally:
                    self.depth -= 1
            node.relaxed[call] = key
        if call.arrays is not Arrays.INPUT and any(isinstance(arg, (np.ndarray, np.generic)) for arg in args):
            # an array that differs from the earlier one here becomes an input
            seen = (call, "array")
            if seen in node.relaxed and may_convert_arrays(call, args):
                node.forget_special(seen)
                self.forget(mark)
                return self.call(call.with_arrays(), args, kwargs)
            node.relaxed[seen] = key
        if call.at_varying is not None and not self.program.xla:  # XLA requires the ends of a slice to be constants
            index = varying_index.varying(*args[:2])
            if index is not None:
                general = (call, index[1])
                if general in node.relaxed:
                    node.forget_special(general)
                    self.forget(mark)
                    self.facts.pop(id(index[0]), None)  # a constant for Python, but not for the path
                    result = self.call(call.at_varying, (args[0], *index, *args[2:]), {})
                    if call.rehang is not None:
                        call.rehang(result, *args)
                    return result
                node.relaxed[general] = key
        if call.convert_scalars and any(type(arg) is int or isinstance(arg, float) for arg in args):
            widened = self._widen(call, args, kwargs, key, mark)
            if widened is not None:
                child, key = widened
                if child is not None:
                    return self._known(child, call, args, kwargs, mark)
                try:
                    self.widen = True
                    return self._record(call, args, kwargs, key, mark)
                finally:
                    self.widen = False
        return self._record(call, args, kwargs, key, mark)

    def _widen(self, call: Call, args: Any, kwargs: Any, special: Any, mark: int) -> tuple[Node | None, Any] | None:
        """Numbers as inputs: a child that takes them as inputs, or the decision to record one because a second number occurred."""
        self.scalar_dtype = next(
            (as_dtype(value.dtype) for value in args if hasattr(value, "dtype") and not isinstance(value, np.generic)),
            None,
        )
        if self.scalar_dtype is None:
            return None
        inputs, anonymous = self.inputs[mark:], self.anonymous
        self.forget(mark)
        key: list[Any] = [call]
        self.widen = True
        try:
            self.key(args, key, call.arrays)
            self.widen = False
            if kwargs:
                key.append(tuple(kwargs))
                self.key(kwargs.values(), key, call.arrays)
            if call.attributes:
                self.key_hung(args, key)
                self.key_hung(kwargs.values(), key)
            wide = tuple(key)
            child = self.node.children.get(wide)
            if child is not None or wide in self.node.relaxed:
                self.node.forget_special(wide)
                return child, wide
            self.node.relaxed[wide] = special
        except Unencodable:
            pass
        finally:
            self.widen = False
        self.rollback(mark)
        for tensor in inputs:
            self.new_input(tensor)
        self.anonymous = anonymous
        return None

    def begin_recording(self, child: Node) -> bool:
        """Makes the segment real, unless nothing new may be recorded: then the rest of the call is eager."""
        if not self.missed:
            self.missed = True
            self.program.departed(child.where or source_line(), "" if child.call is None else child.call.name)
        if self.program.frozen:
            self.bail_out("more paths than max_paths")
            return False
        if not self.real:
            self.go_real()
        return True

    def _record(self, call: Call, args: Any, kwargs: Any, key: Any, mark: int) -> Any:
        anonymous = list(self.anonymous)
        self.anonymous = []
        child = Node(parent=self.node, call=call, first_slot=len(self.slots), where=source_line())
        child.expect(key)
        self.hanging = call.attributes
        child.args = tuple(self.template(value, anonymous, call.arrays) for value in args)
        widen, self.widen = self.widen, False
        child.kwargs = {name: self.template(value, anonymous, call.arrays) for name, value in kwargs.items()}
        self.widen, self.hanging = widen, False
        if not self.begin_recording(child):
            return call.eager(*real_values(args), **{name: real_value(value) for name, value in kwargs.items()})
        log = Observation(call.trusted, call.creation)
        try:
            result = self.run_node(child, log)
        except Exception as error:
            self._raises(child, key, error)
            raise
        result = self.add_node(child, key, log, result, mark)
        if call.rehang is not None and type(result) is EagerTensor:
            call.rehang(result, *args, **kwargs)
        return result

    def _raises(self, child: Node, key: Any, error: Exception) -> None:
        """Runs a call that failed immediately next time: it fails again, or depends on values."""
        assert child.call is not None
        self.program.refused(child.call, f"raised {type(error).__name__}")
        child.kind = Kind.IMMEDIATE
        child.args, child.kwargs, child.result = (), {}, None
        self.node.children[key] = child
        self.start_segment()

    def run_node(self, node: Node, log: Observation | None) -> Any:
        """Really runs a node, in a segment that is real."""
        slots = [real_of(slot) for slot in self.slots]
        if log is not None:
            for reference in node_references(node):
                if type(reference) is SlotRef:
                    spec = self.slot_specs[reference.index]
                    if spec.static is None:
                        source = spec.source if spec.source is not None or spec.bound is not None else None
                        log.add_argument(slots[reference.index], source, spec.bound)
                else:
                    tensor = self.inputs[reference.index]
                    fact = self.facts.get(id(tensor))
                    if fact is None:
                        log.add_argument(tensor, reference, None)
                    elif fact.value is None:
                        log.add_argument(tensor, None, fact.bound)
        args = [fill(template, slots, self.inputs, ()) for template in node.args]
        kwargs = {name: fill(template, slots, self.inputs, ()) for name, template in node.kwargs.items()}
        assert node.call is not None
        outer, self.log = self.log, log
        self.depth += 1
        try:
            return node.call.eager(*args, **kwargs)
        finally:
            self.depth -= 1
            self.log = outer

    def add_node(self, child: Node, key: Any, log: Observation, result: Any, mark: int) -> Any:
        """Adds a call that just ran to the trie, with the kind that its observation allows. `mark`: the number of inputs
        before it.
        """
        call = child.call
        assert call is not None
        specs: list[SlotSpec] = []
        new: list[Any] = []
        try:
            if call.rehang is not None and type(result) is EagerTensor:
                log.rehung = result
            child.result = self._result_template(result, log, specs, new, call.role is Role.GRADIENT)
            if not specs and log.ops == 0 and call.role is Role.OPERATION and result is None:
                log.refuse("does nothing that TensorFlow sees")
        except Unencodable as reason:
            log.refuse(f"returns {reason}")
        if log.problem is not None and log.ops == 0:
            call.descend = True  # no TensorFlow operation at all: plain Python, which is not handled here
            self.rollback(mark)  # the path continues without it: inputs are numbered in the order of its nodes
            return result
        self.program.reads |= log.reads
        self.program.writes |= log.writes
        if type(result) is UnreadVariable and isinstance(child.args[0], Variable):
            note_assignment(child.args[0])
        self.recorded += 1
        self.program.nodes += 1
        if log.problem is not None:
            child.kind = Kind.IMMEDIATE if call.raw is not None else Kind.DESCEND
            child.extra = log.problem
            child.args, child.kwargs, child.result = (), {}, None
            self.program.refused(call, log.problem)
            if log.intrinsic and call.raw is None:
                call.descend = True
            self.node.children[key] = child
            self.start_segment()
            return result
        child.specs = tuple(specs)
        child.hangs = hangs(child.result)
        child.has_facts = any(spec.bound is not None or spec.static is not None for spec in specs)
        child.single = type(child.result) is SlotRef and len(specs) == 1
        child.pure = call.role is Role.OPERATION and not (call.attributes or child.hangs or log.touches_variables)
        child.guards = tuple(sorted(log.guards, key=lambda guard: (guard.index, guard.bound)))
        self.node.children[key] = child  # last, so that no interruption leaves half a node
        self.bind(child, new)
        return result

    def bind(self, child: Node, tensors: list[Any]) -> None:
        """Makes the tensors returned by a real call slots."""
        for tensor in tensors:
            self.ids[id(tensor)] = len(self.slots)
            self.slots.append(tensor)
        self.slot_specs.extend(child.specs)
        self.node = child

    def _run_known(self, child: Node) -> Any:
        """A known call in a segment that is being recorded: runs it, and checks that its results have the recorded structure."""
        try:
            result = self.run_node(child, None)
        except Exception as error:
            assert child.call is not None
            child.kind = Kind.IMMEDIATE  # it can fail after all
            self.program.refused(child.call, f"raised {type(error).__name__}")
            self.start_segment()
            raise
        found: list[Any] = []
        if collect(child.result, result, child.first_slot, found) and all(
            tensor.dtype == spec.dtype and tensor._shape_tuple() == tuple(spec.shape.as_list())
            for tensor, spec in zip(found, child.specs, strict=True)
        ):
            self.bind(child, found)
            return result
        assert child.call is not None
        child.kind = Kind.IMMEDIATE if child.call.raw is not None else Kind.DESCEND
        child.extra = "its result has another shape at times"
        self.program.refused(child.call, child.extra)
        self.start_segment()
        return result

    def _result_template(
        self, value: Any, log: Observation, specs: list[SlotSpec], new: list[Any], dynamic: bool
    ) -> Any:
        kind = type(value)
        if kind is EagerTensor:
            code = self.ids.get(id(value))
            hung = value.__dict__
            if code is not None:
                # the program's attributes are already on it; Keras may have set more
                item: Any = SlotRef(code) if code >= 0 else InputRef(~code)
                names = tuple(sorted(name for name in hung if name.startswith("_keras_")))
            else:
                for position, tensor in enumerate(new):
                    if tensor is value:
                        return SlotRef(len(self.slots) + position)
                if value._datatype_enum() in (20, 21):
                    raise Unencodable("a handle")
                specs.append(SlotSpec(value.dtype, value.shape) if dynamic else log.spec(value))
                new.append(value)
                item = SlotRef(len(self.slots) + len(new) - 1)
                names = () if value is log.rehung else tuple(sorted(hung))
            if hung.get("_keras_mask") is not None:
                raise Unencodable("a masked tensor")
            if not names:
                return item
            return Hung(item, names, tuple(self._result_template(hung[n], log, specs, new, dynamic) for n in names))
        if value is None or isinstance(value, (Variable, bool, int, float, str)):
            return value  # a call that never read a value returns the same Python values on the same path
        if kind is list or kind is tuple:
            items = tuple(self._result_template(item, log, specs, new, dynamic) for item in value)
            return Rebuild(kind, items)
        if kind is dict:
            names = tuple(value)
            items = tuple(self._result_template(item, log, specs, new, dynamic) for item in value.values())
            return Rebuild(lambda parts: dict(zip(names, parts, strict=True)), items)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            items = tuple(self._result_template(item, log, specs, new, dynamic) for item in value)
            return Rebuild(kind._make, items)
        if kind is IndexedSlices:
            parts = (value.values, value.indices, value.dense_shape)
            before = len(specs)
            items = tuple(self._result_template(item, log, specs, new, dynamic) for item in parts)
            if dynamic and value.dense_shape is not None:
                # a gradient's slices: their indices passed through the lookup that was differentiated
                rows = int(value.dense_shape._numpy_internal()[0])
                for position in range(before, len(specs)):
                    if new[position] is value.indices:
                        specs[position] = replace(specs[position], bound=rows)
                    elif new[position] is value.dense_shape:  # the shape of the lookup's table, which is fixed
                        specs[position] = replace(specs[position], static=value.dense_shape)
            return Rebuild(lambda made: IndexedSlices(*made), items)
        raise Unencodable(f"a {kind.__name__}")


def _fact(spec: SlotSpec) -> tuple[bytes | None, int | None] | None:
    """Facts that hold beyond its segment for every tensor with this description: its value, or a bound on its elements."""
    if spec.static is not None and spec.dtype in (int32, int64) and spec.shape.num_elements() <= SMALL_ARRAY:
        return spec.static._numpy_internal().tobytes(), None
    return None if spec.bound is None else (None, spec.bound)


def source_line() -> str:
    """File and line of the innermost frame of the program."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_LIBRARIES):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
