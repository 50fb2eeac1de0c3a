"""Segments under a gradient tape that really records: a compiled forward function, and compiled backward functions.

Computes: for each needed result of the segment, the gradient with respect to the watched tensors, as a separate
function. Needs: real tapes. Gives: `TapeSegment`, `build_tape_segment`. Ignores: segments that read state under several
tapes by other operations than reads of variables; they are not built.

Each needed result has its own entry on the tape, whose inputs are exactly its dependencies: the watched inputs and
variables, and earlier needed results. So a gradient with respect to an intermediate result is the same as in eager
execution, and unconnected gradients stay None instead of zero. Junctions (`junctions`) have entries, too.

Under several tapes, or a persistent one, a tape may record while another one computes gradients. The intermediate
results that a backward function takes are not on that tape. So the backward function is then another segment
(`Entry.higher`), which computes the result again from the arguments and the earlier needed results, and has entries of
its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from terra_refactor.runtime.executor import call_function, note_shape
from terra_refactor.runtime.interrupts import held
from terra_refactor.runtime.junctions import junctions
from terra_refactor.runtime.lazy_tensor import real_of
from terra_refactor.runtime.rounding import keep_rounding, restore
from terra_refactor.runtime.segments import (
    BuildError,
    call_attributes,
    define_function,
    find_sources,
    fresh_name,
    trace_nodes,
    without_real_tapes,
)
from terra_refactor.runtime.tf_internals import (
    IndexedSlices,
    concrete_function,
    convert_to_tensor,
    func_graph,
    function_type_utils,
    gradients_util,
    pywrap_tfe,
    resource_variable_ops,
    tf,
)
from terra_refactor.runtime.trie import InputRef, Node

_READ = "ReadVariableOp"


@dataclass(eq=False, slots=True)
class Entry:
    """The gradient of one result. Positions: in the arguments (>= 0) or in the outputs (~position)."""

    output: int
    inputs: tuple[int, ...]
    name: str
    graph: Any
    function: Any
    captured: tuple[int, ...]
    shape: tuple[str, ...]  # per input: "tensor", "slices" or "none"
    outputs: int
    shapes: tuple[tuple[int, ...] | None, ...]  # of the outputs, if known
    result: tuple[int, ...] | None  # the shape of the result itself
    build: Callable[[Any, Any], Entry | None] | None = None
    sliced: dict[tuple[Any, Any], Entry | None] = field(default_factory=dict)
    """For a gradient of the result that is an `IndexedSlices`, by the dtypes of its indices and its dense shape."""
    passes: bool = False
    """Whether the result is its input, so that its gradient, rows too, is the gradient of the input."""
    build_higher: Callable[[], Higher] | None = None
    built_higher: Higher | None = None

    def higher(self) -> Higher | None:
        """The backward function that other tapes can record; None if only one tape recorded the segment."""
        if self.built_higher is None and self.build_higher is not None:
            with held(), without_real_tapes():
                self.built_higher = self.build_higher()
        return self.built_higher

    def for_slices(self, gradient: Any) -> Entry | None:
        """The entry for an `IndexedSlices`, whose rows stay rows where the gradient functions keep them.

        The variable at which the gradient arrives may be updated differently for rows: a norm is that of the rows
        before equal ones are added. None if the gradient must become dense.
        """
        if gradient.dense_shape is None or self.build is None:
            return None
        dtypes = (gradient.indices.dtype, gradient.dense_shape.dtype)
        if dtypes not in self.sliced:
            try:
                with held(), without_real_tapes():
                    entry = self.build(*dtypes)
            except (TypeError, ValueError, LookupError, NotImplementedError):  # a gradient function that needs a tensor
                entry = None
            if entry is not None and (entry.inputs != self.inputs or not set(entry.captured) <= set(self.captured)):
                entry = None  # the tape has recorded these inputs, and keeps only the tensors of the dense gradient
            self.sliced[dtypes] = entry
        return self.sliced[dtypes]


class _Pending:
    """Placeholder on a tape for a result that may not be computed yet; the tape gets the needed properties without waiting."""

    __slots__ = ("_id", "_shape", "dtype")

    def __init__(self, tensor: Any, shape: tuple[int, ...]) -> None:
        self._id = tensor._id
        self.dtype = tensor.dtype
        self._shape = shape

    def _shape_tuple(self) -> tuple[int, ...]:
        return self._shape


@dataclass(eq=False, slots=True)
class Differentiated:
    """A forward function that also returns the intermediate results needed by its entries, for one set of watched arguments."""

    name: str
    function: Any
    outputs: int
    entries: tuple[Entry, ...]
    reads: tuple[tuple[int, int], ...] = ()
    """(position of a variable's value, position of its handle): the operands of `Higher` are on the tapes."""


@dataclass(eq=False, slots=True)
class Higher:
    """A backward function as a segment under the tapes that record while it runs.

    given: positions of its arguments after the gradient of the result
    kinds: like `Entry.shape`
    """

    segment: TapeSegment
    given: tuple[int, ...]
    kinds: tuple[str, ...]

    def __call__(self, incoming: Any, place: Callable[[int], Any]) -> tuple[list[Any], tuple[str, ...]]:
        given = list(map(place, self.given))
        if tf.executing_eagerly():
            return self.segment.apply([incoming, *given], True), self.kinds
        return _differentiable(self.segment.graph)([incoming], given), self.kinds  # a jacobian is being traced


@dataclass(eq=False, slots=True)
class TapeSegment:
    """A part of a path that runs under a real tape."""

    program: Any
    graph: Any
    sources: tuple[Any, ...]
    captures: tuple[Any, ...]
    live: tuple[int, ...]
    live_set: frozenset[int]
    variables: tuple[Any, ...]
    attrs: tuple[Any, ...]
    runs: int = 0
    variants: dict[tuple[tuple[int, ...], bool], Differentiated] = field(default_factory=dict)

    def arguments(self, values: list[Any], inputs: Sequence[Any]) -> list[Any]:
        """The actual inputs, captures last."""
        found = [inputs[s.index] if type(s) is InputRef else values[s.index] for s in self.sources]
        found.extend(self.captures)
        return found

    def watched(self, arguments: list[Any]) -> tuple[int, ...]:
        """The positions of the arguments that the tape watches, now that the variables are accessed."""
        for variable in self.variables:
            resource_variable_ops.variable_accessed(variable)
        watches = pywrap_tfe.TFE_Py_TapeSetShouldRecordBackprop
        return tuple(position for position, tensor in enumerate(arguments) if watches([tensor]))

    def run(self, values: list[Any], inputs: Sequence[Any], several: bool) -> None:
        """Runs forward, and records the entries on the tapes. `several`: see `apply`.

        Raises:
            BuildError: the gradient cannot be built; nothing has run.
        """
        for slot, result in zip(self.live, self.apply(self.arguments(values, inputs), several), strict=False):
            values[slot] = result

    def apply(self, arguments: list[Any], several: bool) -> list[Any]:
        """The results. `several`: a tape may record while another one, or the same, computes gradients.

        Raises:
            BuildError: the gradient cannot be built; nothing has run.
        """
        watched = self.watched(arguments)
        variant = self.variants.get((watched, several))
        if variant is None:
            try:
                with held(), without_real_tapes():
                    variant = self.variants[watched, several] = self._differentiate(watched, several)
            except Exception as error:  # nothing has run yet: the caller runs the nodes one by one
                raise BuildError(f"gradient: {type(error).__name__}: {error}") from error
        results = call_function(variant.name, arguments, self.attrs, variant.outputs, wait=self.runs == 0)
        self.runs += 1

        def place(position: int) -> Any:
            return arguments[position] if position >= 0 else results[~position]

        for value, handle in variant.reads:
            pywrap_tfe.TFE_Py_TapeSetRecordOperation(
                "ReadVariableOp", [place(value)], [place(handle)], lambda gradient: [gradient], None
            )
        for entry in variant.entries:
            pywrap_tfe.TFE_Py_TapeSetRecordOperation(
                "CoExecutedSegment",
                [results[entry.output] if entry.result is None else _Pending(results[entry.output], entry.result)],
                [place(position) for position in entry.inputs],
                _backward(entry, [place(position) for position in entry.captured], self.attrs, several and place),
                None,
            )
        return list(results[: len(self.graph.coexec_results)])

    def _differentiate(self, watched: tuple[int, ...], several: bool) -> Differentiated:
        graph = self.graph
        results = list(graph.coexec_results)  # not the outputs, which are copies without a gradient path
        sources = [(graph.inputs[position], position) for position in watched]
        differentiable = [result for result in results if result.dtype.is_floating or result.dtype.is_complex]
        extra: list[Any] = []
        reads: list[Any] = []
        if several:
            reads = _read_values(differentiable)
            extra.extend(value for value in reads if not any(value is result for result in results))
        else:
            extra.extend(junctions(graph, differentiable, [tensor for tensor, _ in sources]))
        recordable = results if several else [*results, *extra]
        positions = {id(tensor): position for position, tensor in enumerate(graph.inputs)}
        for position, tensor in enumerate([*results, *extra]):
            positions.setdefault(id(tensor), ~position)
        order = {operation.name: number for number, operation in enumerate(graph.get_operations())}
        recorded: list[tuple[Any, int]] = []
        entries: list[Entry] = []
        # a result comes after the results on which it depends
        for position, result in sorted(enumerate(recordable), key=lambda each: order[each[1].op.name]):
            if not (result.dtype.is_floating or result.dtype.is_complex):
                continue
            entry = self._entry(result, position, [*sources, *recorded], [r for r, _ in recorded], positions, extra)
            if entry is not None:
                if several:
                    if "slices" in entry.shape and self.captures + self.sources:
                        raise BuildError("rows under several tapes")  # of a higher order, there are others than eagerly
                    entry.build_higher = functools.partial(
                        self._higher, result, entry.inputs, list(recorded), reads, positions
                    )
                entries.append(entry)
                recorded.append((result, ~position))
        name = fresh_name(self.program.name)
        whole = list(graph.outputs)
        graph.outputs = results + extra
        uses = [] if self.program.fast_math else keep_rounding(graph)
        try:
            function = define_function(name, graph, False)
        finally:
            graph.outputs = whole
            restore(uses)
        handles = {id(tensor): place for place, tensor in enumerate(graph.inputs)}
        read = [
            (positions[id(value)], handles[id(value.op.inputs[0])])
            for value in reads
            if not any(value is result for result in results)
        ]
        return Differentiated(name, function, len(results) + len(extra), tuple(entries), tuple(read))

    def _higher(
        self, result: Any, inputs: tuple[int, ...], recorded: list[Any], reads: list[Any], positions: dict[int, int]
    ) -> Higher:
        """The gradient of a result with respect to `inputs`, computed from the arguments, values of variables and
        recorded results.
        """
        graph = self.graph
        starts = [tensor for tensor in graph.inputs if tensor.dtype != tf.resource]
        starts.extend(reads)
        starts.extend(tensor for tensor, _ in recorded if not any(tensor is read for read in reads))
        stops = {id(tensor) for tensor, _ in recorded}
        backward = func_graph.FuncGraph(fresh_name("gradient"))
        with backward.as_default():
            incoming, operands = _incoming(result, None)
            here: dict[int, Any] = {}
            for tensor in starts:
                here[id(tensor)] = tf.compat.v1.placeholder(tensor.dtype, tensor.shape)
            known = here.setdefault(id(result), tf.compat.v1.placeholder(result.dtype, result.shape))
            if result.op.type == _READ:
                target = known
            else:
                target = _copy(result, {each: copy for each, copy in here.items() if each != id(result)})
            against = [self._starts_of(position, recorded, reads, stops) for position in inputs]
            outputs: list[Any] = []
            kinds: list[str] = []
            for tensors in against:
                parts = gradients_util._GradientsHelper(
                    [target],
                    [here[id(tensor)] for tensor in tensors],
                    grad_ys=[incoming],
                    src_graph=backward,
                    stop_gradients=[here[each] for each in stops],
                )
                parts = [part for part in parts if part is not None]
                if len(parts) == 1 and isinstance(parts[0], IndexedSlices) and parts[0].dense_shape is not None:
                    slices = parts[0]
                    outputs.extend(tf.identity(part) for part in (slices.values, slices.indices, slices.dense_shape))
                    kinds.append("slices")
                else:
                    total = [tf.convert_to_tensor(part) for part in parts]
                    outputs.append(tf.identity(total[0] if len(total) == 1 else tf.add_n(total)))
                    kinds.append("tensor")
            for user in target.consumers() if target is not known else ():
                # where a gradient function uses the result (as that of `tanh` does), it is the one on the tapes
                for index, operand in enumerate(user.inputs):
                    if operand is target:
                        user._update_input(index, known)
        backward.inputs = [*operands, *here.values()]
        backward.outputs = outputs
        backward.coexec_results = outputs
        segment = TapeSegment(
            program=self.program,
            graph=backward,
            sources=(),
            captures=(),
            live=(),
            live_set=frozenset(),
            variables=(),
            attrs=call_attributes(backward, self.program.fast_math),
        )
        given = tuple(positions[each] for each in here)
        return Higher(segment, given, tuple(kinds))

    def _starts_of(self, position: int, recorded: list[Any], reads: list[Any], stops: set[int]) -> list[Any]:
        """The tensors in place of an entry's input: the values read from a variable in place of its handle."""
        if position < 0:
            return [tensor for tensor, place in recorded if place == position]
        tensor = self.graph.inputs[position]
        if tensor.dtype != tf.resource:
            return [tensor]
        return [read for read in reads if read.op.inputs[0] is tensor and id(read) not in stops]

    def _entry(
        self,
        result: Any,
        position: int,
        against: list[Any],
        stops: list[Any],
        positions: dict[int, int],
        extra: list[Any],
        slices: tuple[Any, Any] | None = None,
    ) -> Entry | None:
        """The gradient of a result with respect to the tensors of `against`. `slices`: see `Entry.for_slices`."""
        with self.graph.as_default():  # the enclosing graph is the default while the new one is built
            backward = func_graph.FuncGraph(fresh_name("gradient"))
        with backward.as_default():
            incoming, operands = _incoming(result, slices)
            gradients = gradients_util._GradientsHelper(
                [result],
                [tensor for tensor, _ in against],
                grad_ys=[incoming],
                src_graph=self.graph,
                stop_gradients=stops,
            )
            outputs: list[Any] = []
            shape: list[str] = []
            inputs: list[int] = []
            for (_, place), gradient in zip(against, gradients, strict=True):
                if gradient is None:
                    continue
                inputs.append(place)
                if isinstance(gradient, IndexedSlices):
                    parts = [gradient.values, gradient.indices, gradient.dense_shape]
                    if parts[2] is None:
                        parts[2] = tf.shape(gradient)
                    outputs.extend(tf.identity(part) for part in parts)
                    shape.append("slices")
                else:
                    outputs.append(tf.identity(tf.convert_to_tensor(gradient)))
                    shape.append("tensor")
        if not inputs:
            return None
        captured: list[int] = []
        for tensor in backward.external_captures:
            known = positions.get(id(tensor))
            if known is None and slices is not None:
                return None  # the forward function has run, without this result
            if known is None:
                known = ~(len(self.graph.coexec_results) + len(extra))
                extra.append(tensor)
                positions[id(tensor)] = known
            captured.append(known)
        backward.inputs = [*operands, *backward.internal_captures]
        backward.outputs = outputs
        if not self.program.fast_math:
            keep_rounding(backward)
        name = fresh_name(self.program.name + "_gradient")
        function = define_function(name, backward, False)
        return Entry(
            output=position,
            inputs=tuple(inputs),
            name=name,
            graph=backward,
            function=function,
            captured=tuple(captured),
            shape=tuple(shape),
            outputs=len(outputs),
            shapes=tuple(_known_shape(output) for output in outputs),
            result=_known_shape(result),
            passes=len(inputs) == 1 and _is_value_of(result, inputs[0], positions),
            build=None
            if slices
            else lambda *dtypes: self._entry(result, position, list(against), stops, positions, [], dtypes),
        )


def _incoming(result: Any, slices: tuple[Any, Any] | None) -> tuple[Any, list[Any]]:
    """A placeholder for the gradient of a result, and its tensors; an `IndexedSlices` if there are dtypes for one."""
    placeholder = tf.compat.v1.placeholder
    if slices is None:
        incoming = placeholder(result.dtype, result.shape)
        return incoming, [incoming]
    indices, dense_shape = slices
    parts = [
        placeholder(result.dtype, [None, *result.shape.as_list()[1:]]),
        placeholder(indices, [None]),
        placeholder(dense_shape, [result.shape.rank]),
    ]
    return IndexedSlices(*parts), parts


def _is_value_of(result: Any, position: int, positions: dict[int, int]) -> bool:
    """Whether a result is the tensor at a position, or the value of the variable whose handle is there."""
    tensor = result
    while tensor.op.type in ("Identity", _READ):
        tensor = tensor.op.inputs[0]
        if positions.get(id(tensor)) == position:
            return True
    return False


def _copy(result: Any, copies: dict[int, Any]) -> Any:
    """A copy of a tensor in the default graph, and of the operations that lead from `copies` to it."""
    waiting = [result]
    while waiting:
        tensor = waiting[-1]
        missing = [each for each in tensor.op.inputs if id(each) not in copies]
        if id(tensor) in copies or not missing:
            waiting.pop()
        else:
            waiting.extend(missing)
            continue
        if id(tensor) not in copies:
            operation = tensor.op
            copied = tf.compat.v1.get_default_graph().create_op(
                operation.type,
                [copies[id(each)] for each in operation.inputs],
                [each.dtype for each in operation.outputs],
                attrs=dict(operation.node_def.attr),
            )
            copies.update(zip(map(id, operation.outputs), copied.outputs, strict=True))
    return copies[id(result)]


def _read_values(results: Sequence[Any]) -> list[Any]:
    """The values of variables on which the results depend.

    Raises:
        BuildError: they depend on other state.
    """
    seen: set[str] = set()
    found: list[Any] = []
    waiting = [result.op for result in results]
    while waiting:
        operation = waiting.pop()
        if operation.name in seen:
            continue
        seen.add(operation.name)
        if operation.type == _READ:
            found.append(operation.outputs[0])
            continue
        if operation.op_def.is_stateful and operation.type != "Placeholder":
            raise BuildError(f"{operation.type} under several tapes")
        if any(attribute.HasField("func") for attribute in operation.node_def.attr.values()):
            raise BuildError("a function under several tapes")
        waiting.extend(tensor.op for tensor in operation.inputs)
        waiting.extend(operation.control_inputs)
    return sorted(found, key=lambda tensor: str(tensor.name))


def _known_shape(tensor: Any) -> tuple[int, ...] | None:
    return tuple(tensor.shape.as_list()) if tensor.shape.is_fully_defined() else None


def _backward(whole: Entry, captured: list[Any], attrs: tuple[Any, ...], place: Any) -> Any:
    """The function that the tape calls with the gradient of the result.

    place: gives the arguments and results of the segment, if several tapes have recorded it
    """

    def backward(*gradients: Any) -> list[Any]:
        incoming = real_of(gradients[0])
        entry, parts, given = whole, [incoming], captured
        records = not tf.executing_eagerly() or not pywrap_tfe.TFE_Py_TapeSetIsEmpty()
        if whole.passes and place and records:
            return [incoming]
        higher = whole.higher() if place and records else None
        if higher is not None:
            results, kinds = higher(convert_to_tensor(incoming), place)
            return _packed(results, kinds)
        if isinstance(incoming, IndexedSlices):  # the user of the result looked up rows of it
            sliced = whole.for_slices(incoming)
            if sliced is None:
                parts = [convert_to_tensor(incoming)]
            else:
                entry, parts = sliced, [incoming.values, incoming.indices, incoming.dense_shape]
                given = [captured[whole.captured.index(position)] for position in sliced.captured]
        if records:
            # a tape around the backward pass, or a graph (a jacobian): a call that differentiates, and can be
            # captured
            results = _differentiable(entry.graph)(parts, given)
        else:
            results = call_function(entry.name, [*parts, *given], attrs, entry.outputs, wait=False)
            for tensor, shape in zip(results, entry.shapes, strict=True):
                if shape is not None:
                    note_shape(tensor, shape)
        return _packed(results, entry.shape)

    return backward


def _packed(results: Sequence[Any], kinds: Sequence[str]) -> list[Any]:
    packed: list[Any] = []
    position = 0
    for kind in kinds:
        if kind == "slices":
            packed.append(IndexedSlices(*results[position : position + 3]))
            position += 3
        else:
            packed.append(results[position])
            position += 1
    return packed


def _differentiable(graph: Any) -> Any:
    """The backward function as TensorFlow's own ConcreteFunction, which supports higher derivatives."""
    with held():
        function_type = function_type_utils.derive_from_graph(graph)
        concrete = concrete_function.ConcreteFunction.from_func_graph(graph, function_type, {})

    def call(incoming: list[Any], captured: list[Any]) -> Any:
        results = concrete._call_flat(incoming, captured)
        return list(results) if isinstance(results, (list, tuple)) else [results]

    return call


def build_tape_segment(
    program: Any, nodes: Sequence[Node], values: Sequence[Any], inputs: Sequence[Any], live: tuple[int, ...]
) -> TapeSegment:
    """Traces the nodes. The backward functions are built when it is known what the tape watches."""
    sources = find_sources(nodes)
    graph = trace_nodes(fresh_name(program.name), nodes, sources, values, inputs, live)
    return TapeSegment(
        program=program,
        graph=graph,
        sources=sources,
        captures=tuple(graph.external_captures),
        live=live,
        live_set=frozenset(live),
        variables=tuple(variable for variable in graph.variables if variable.trainable),
        attrs=call_attributes(graph, program.fast_math),
    )
