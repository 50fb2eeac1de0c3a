"""From a part of the trie to a compiled function.

Computes: a FuncGraph equivalent to the nodes, with automatic control dependencies, and a library function of it.
Needs: nodes, the kinds of their inputs, and the results that are still needed. Gives: `Segment`, `trace_nodes`,
`build_segment`. Ignores: gradients that leave the segment (tape_segments.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from terra_refactor.runtime import op_rules
from terra_refactor.runtime.executor import call_function
from terra_refactor.runtime.rounding import keep_rounding
from terra_refactor.runtime.run_tapes import original_gradient, original_pop, original_push, original_watch
from terra_refactor.runtime.state import thread
from terra_refactor.runtime.tf_internals import (
    GradientTape,
    atomic_function,
    attr_value_pb2,
    config_pb2,
    context,
    func_graph,
    pywrap_tfe,
    rewriter_config_pb2,
    tf,
)
from terra_refactor.runtime.trie import Hung, InputRef, Node, Rebuild, Role, SlotRef, fill, node_references
from terra_refactor.runtime.values import collect

_numbers = itertools.count()
_NO_OPERATION = ("Const", "Identity", "Placeholder")  # nothing depends on these
_KERAS_ATTRIBUTES = frozenset(("_keras_logits", "_keras_mask"))
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


class BuildError(Exception):
    """The nodes cannot be built as a graph with the same results."""


@dataclass(eq=False, slots=True)
class Segment:
    """A compiled part of a path.

    Attributes:
        sources: the source of each input: an InputRef, or a SlotRef created before this part.
        captures: the resource handles and tensors that the graph captured.
        live: the slots that it computes, in the order of its outputs.
    """

    name: str
    sources: tuple[Any, ...]
    captures: tuple[Any, ...]
    live: tuple[int, ...]
    outputs: int
    attrs: tuple[Any, ...]
    graph: Any
    function: Any
    xla: bool
    runs: int = 0
    live_set: frozenset[int] = field(default_factory=frozenset)

    def arguments(self, values: Any, inputs: Sequence[Any]) -> list[Any]:
        """The actual inputs, captures last."""
        found = [inputs[source.index] if type(source) is InputRef else values[source.index] for source in self.sources]
        found.extend(self.captures)
        return found

    def run(self, values: list[Any], inputs: Sequence[Any]) -> None:
        """Runs it, and stores the live slots in `values`. The first run is waited for: XLA compiles in it."""
        results = call_function(
            self.name, self.arguments(values, inputs), self.attrs, self.outputs, wait=self.runs == 0
        )
        self.runs += 1
        for slot, result in zip(self.live, results, strict=False):
            values[slot] = result


def find_sources(nodes: Sequence[Node]) -> tuple[Any, ...]:
    """The references that the nodes read and do not create themselves, in order of first use."""
    first = nodes[0].first_slot
    found: dict[Any, None] = {}
    for node in nodes:
        for reference in node_references(node):
            if type(reference) is InputRef or reference.index < first:
                found[reference] = None
    return tuple(found)


def trace_nodes(
    name: str, nodes: Sequence[Node], sources: Sequence[Any], values: Any, inputs: Sequence[Any], live: Any
) -> Any:
    """A FuncGraph that replays the nodes; its outputs are the live slots.

    Raises:
        BuildError: a result's dtype, shape or structure differs from eager execution.
    """
    actual = [inputs[source.index] if type(source) is InputRef else values[source.index] for source in sources]
    specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in actual]

    def body(*tensors: Any) -> list[Any]:
        slots: dict[int, Any] = {}
        outside: dict[int, Any] = {}
        for source, tensor in zip(sources, tensors, strict=True):
            (slots if type(source) is SlotRef else outside)[source.index] = tensor
        tapes: dict[int, Any] = {}
        for node in nodes:
            _replay_in_graph(node, slots, outside, tapes)
        for slot in live:
            tensor = slots[slot]
            if any(tensor is other for other in (*kept, *tensors)):
                tensor = tf.identity(tensor)  # two results may not be one tensor: each has its own gradient
            kept.append(tensor)
        return list(kept)

    kept: list[Any] = []
    with without_real_tapes():
        graph = func_graph.func_graph_from_py_func(name, body, tuple(specs), {})
    graph.coexec_results = kept  # the outputs are copies of these
    return graph


def _replay_in_graph(node: Node, slots: Any, inputs: Any, tapes: Any) -> None:
    call = node.call
    assert call is not None
    if call.role is Role.PUSH:
        persistent, watch_accessed = node.extra if node.extra is not None else (True, True)
        if node.tape not in tapes:
            tapes[node.tape] = GradientTape(persistent=persistent, watch_accessed_variables=watch_accessed)
        original_push(tapes[node.tape])
        return
    if call.role is Role.POP:
        original_pop(tapes[node.tape])
        return
    given = _fill_as_eager if call.attributes else fill
    args = [given(template, slots, inputs, tapes) for template in node.args]
    kwargs = {name: given(template, slots, inputs, tapes) for name, template in node.kwargs.items()}
    if call.role is Role.WATCH:
        original_watch(*args, **kwargs)
        return
    function = original_gradient if call.role is Role.GRADIENT else call.graph
    result = function(*args, **kwargs)
    found: list[Any] = []
    if not collect(node.result, result, node.first_slot, found) or len(found) != len(node.specs):
        raise BuildError(f"{call.name} gives another structure in a graph")
    for index, (tensor, spec) in enumerate(zip(found, node.specs, strict=True)):
        if tensor.dtype != spec.dtype or not tensor.shape.is_compatible_with(spec.shape):
            raise BuildError(
                f"{call.name} gives {tensor.dtype.name}{tensor.shape} in a graph, not {spec.dtype.name}{spec.shape}"
            )
        if not tensor.shape.is_fully_defined():
            tensor.set_shape(spec.shape)
        if len(tensor.op.outputs) > 1 or tensor.op.type in _CALLS:
            # Gradients stop at operations, never at function calls: an identity makes each tensor a possible stop.
            tensor = tf.identity(tensor)  # noqa: PLW2901
        slots[node.first_slot + index] = tensor


def _fill_as_eager(template: Any, slots: Any, inputs: Any, tapes: Any) -> Any:
    """`fill` for Python code that, in a graph, depends on the operation that created a tensor, and on its attributes.

    Keras uses the operand of a `Softmax` as the logits. An eager tensor has no operation, and has the attributes that
    it had when the call was recorded: so the tensor passed here comes from an identity, and has exactly these.
    """
    kind = type(template)
    if kind is Rebuild:
        return template.make([_fill_as_eager(item, slots, inputs, tapes) for item in template.items])
    if kind is Hung:
        tensor = tf.identity(fill(template.item, slots, inputs, tapes))
        for name, value in zip(template.names, template.values, strict=True):
            setattr(tensor, name, fill(value, slots, inputs, tapes))
        return tensor
    value = fill(template, slots, inputs, tapes)
    if (kind is SlotRef or kind is InputRef) and isinstance(value, tf.Tensor):
        if (
            value.dtype.is_floating and value.op.type not in _NO_OPERATION
        ) or value.__dict__.keys() & _KERAS_ATTRIBUTES:
            return tf.identity(value)
    return value


class without_real_tapes:  # noqa: N801  (a context manager, read as words)
    """Removes the thread's real tapes while a graph is built: they must not record its operations."""

    def __enter__(self) -> None:
        self.tapes = [tape._tape._tape for tape in thread.recording()]
        for tape in reversed(self.tapes):
            pywrap_tfe.TFE_Py_TapeSetRemove(tape)

    def __exit__(self, *error: Any) -> None:
        for tape in self.tapes:
            pywrap_tfe.TFE_Py_TapeSetAdd(tape)


def define_function(name: str, graph: Any, xla: bool) -> Any:
    """Adds a graph to the function library of the context."""
    attributes = {}
    if xla:
        attributes["_XlaMustCompile"] = attr_value_pb2.AttrValue(b=True)
    return atomic_function.from_func_graph(name, graph, attributes)


_SUMS = ("Add", "AddV2", "AddN", "Sub", "Identity", "StopGradient")
_MOST_TERMS = 1024
_PRODUCTS = ("Mul", "Div", "RealDiv", "MatMul", "BatchMatMulV2")
_ORDERINGS = ("Less", "LessEqual", "Greater", "GreaterEqual")


def call_attributes(graph: Any, fast_math: bool) -> tuple[Any, ...]:
    """The attributes with which the context calls functions: executor and session configuration.

    Grappler's arithmetic rewrites and constant folding change the numbers: `exp(x) - 1` becomes `expm1(x)`, `x ** .5`
    a square root, `(x + c) - c` becomes `x`. Its remapper fuses a product, a bias and a `tanh` into one kernel, which
    rounds differently, too. They are disabled unless requested (`fast_math`). Even then, it converts `not (x < y)` to
    `x >= y`, which differs for NaNs, and expands sums into all their terms, of which `x = x + x` twenty times has a
    million: for a graph with such a pattern the arithmetic rewrites are disabled. In TensorFlow 2.16 it also replaces
    `x * zeros_like(x)` by zeros, even with infinities and NaNs: constants are not folded there.

    If Grappler folds no constants it must not reduce control dependencies, either. It drops the edge from a read to
    the following assignment if a path over other operations implies it. Such a path may go through one `IdentityN`
    for all gradients, which is split afterwards, or through a `Shape`, which the executor replaces by a constant: the
    variable is then assigned before, or while, it is read.
    """
    attributes = dict(context.context().function_call_options.as_attrs())
    no_arithmetic = not fast_math or _has_inverted_comparison(graph) or _has_sum_of_too_many(graph)
    no_folding = not fast_math or _has_factor_of_zeros(graph)
    config = config_pb2.ConfigProto.FromString(attributes["config_proto"])
    rewrites = config.graph_options.rewrite_options
    off = rewriter_config_pb2.RewriterConfig.OFF
    if no_arithmetic:
        rewrites.arithmetic_optimization = off
    if no_folding:
        rewrites.constant_folding = rewrites.dependency_optimization = off
    if not fast_math:
        rewrites.remapping = off
    attributes["config_proto"] = config.SerializeToString()
    return tuple(itertools.chain(*attributes.items()))


def _has_factor_of_zeros(graph: Any) -> bool:
    return any(
        op.type in _PRODUCTS and any(_is_zero(operand) for operand in op.inputs) for op in graph.get_operations()
    )


def _is_zero(tensor: Any) -> bool:
    if tensor.op.type != "Const":
        return bool(tensor.op.type == "ZerosLike")
    value = tf.get_static_value(tensor)
    return value is not None and not value.any()


def _has_inverted_comparison(graph: Any) -> bool:
    return any(
        op.type == "LogicalNot" and op.inputs[0].op.type in (*_ORDERINGS, "Identity") for op in graph.get_operations()
    )


def _has_sum_of_too_many(graph: Any) -> bool:
    terms: dict[str, int] = {}
    for op in graph.get_operations():  # topologically sorted
        if op.type in _SUMS:
            found = terms[op.name] = sum(terms.get(operand.op.name, 1) for operand in op.inputs)
            if found > _MOST_TERMS:
                return True
    return False


def fresh_name(text: str) -> str:
    """A name that no function in the library has."""
    clean = "".join(letter if letter.isalnum() else "_" for letter in text)
    return f"__inference_coexec_{clean}_{next(_numbers)}"


def may_use_xla(graph: Any) -> bool:
    """Whether XLA may be used: it draws other random floats, and cannot compile strings and lists.

    (Where it clamps indices, guards ensure that they are in range.)
    """
    graphs = [graph]
    names = {op.type for each in graphs for op in each.get_operations()}
    for function in graph._functions.values():
        names.update(node.op for node in function.cached_definition.node_def)
    if any(op_rules.has_random_floats(name) for name in names):
        return False
    return not any(tensor.dtype in (tf.string, tf.variant) for op in graph.get_operations() for tensor in op.outputs)


def build_segment(
    program: Any,
    nodes: Sequence[Node],
    values: Any,
    inputs: Sequence[Any],
    live: tuple[int, ...],
    sources: tuple[Any, ...] | None = None,
    xla: bool = True,
) -> Segment:
    """Traces and compiles the nodes.

    Args:
        program: its options apply; `xla` allows XLA if it has that option.
        nodes: a part of a path or, with `sources`, any of its nodes.
        values: the values of the slots among the sources, by slot.
        inputs: those of the segment.
        live: the slots that it computes.
        sources: references that the nodes read and do not create themselves.
        xla: see `program`.
    """
    if sources is None:
        sources = find_sources(nodes)
    name = fresh_name(program.name)
    graph = trace_nodes(name, nodes, sources, values, inputs, live)
    if not program.fast_math:
        keep_rounding(graph)
    xla = xla and program.xla and may_use_xla(graph)
    function = define_function(name, graph, xla)
    return Segment(
        name=name,
        sources=sources,
        captures=tuple(graph.external_captures),
        live=live,
        outputs=len(graph.outputs),
        attrs=call_attributes(graph, program.fast_math),
        graph=graph,
        function=function,
        xla=xla,
        live_set=frozenset(live),
    )
