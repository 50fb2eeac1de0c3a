"""Makes sums and convolutions in a traced graph round like the single operations of eager execution.

Computes: the graph, changed where TensorFlow's kernels and oneDNN's graph pass would round differently. Needs: a
graph that is traced, differentiated, and not yet a function. Gives: `keep_rounding`, `restore`. Ignores: rewrites by
the graph optimiser, which `segments.call_attributes` disables.

- The kernel of `AddN` adds into the first operand whose memory it may reuse. In a graph that is any of them, in eager execution
  none, since Python holds them all: a chain of `AddV2` adds in the order of the operands.
- oneDNN's pass makes one kernel of a convolution and the `BiasAdd` after it, and of the gradients of the two, unless they depend
  on different operations.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from terra_refactor.runtime.tf_internals import tf

_LEAST_ORDERED: Final = 3
"""Minimum number of operands whose order matters: two give the same sum either way."""
_GROUP: Final = 8
"""Number of operands that the kernel of `AddN` sums before adding them to the rest, which comes first."""
_CONVOLUTIONS: Final = ("Conv2D", "Conv3D", "DepthwiseConv2dNative")


def keep_rounding(graph: Any) -> list[tuple[Any, int, Any]]:
    """Changes the graph and its outputs so that it computes the same numbers as eager execution.

    Returns the replaced operands (operation, index, and former operand), which are needed if the graph is
    differentiated again.
    """
    operations = graph.get_operations()
    order = {operation.name: number for number, operation in enumerate(operations)}
    replaced: dict[str, Any] = {}
    uses: list[tuple[Any, int, Any]] = []
    filters: dict[str, Any] = {}
    for operation in operations:
        if operation.type == "Conv2DBackpropFilter":
            filters[operation.inputs[2].name] = operation
    for operation in operations:
        if operation.type == "AddN":
            dtype = operation.outputs[0].dtype
            if len(operation.inputs) >= _LEAST_ORDERED and (dtype.is_floating or dtype.is_complex):
                replaced[operation.outputs[0].name] = _chain(graph, operation, uses)
        elif operation.type == "BiasAdd" and operation.inputs[0].op.type in _CONVOLUTIONS:
            operation._add_control_input(operation.inputs[0].op.inputs[0].op)
        elif operation.type == "BiasAddGrad" and operation.inputs[0].name in filters:
            _separate(operation, filters[operation.inputs[0].name], order)
    graph.outputs = [replaced.get(output.name, output) for output in graph.outputs]
    return uses


def restore(uses: list[tuple[Any, int, Any]]) -> None:
    """Restores the operands of operations."""
    for user, index, operand in uses:
        user._update_input(index, operand)


def _chain(graph: Any, operation: Any, uses: list[tuple[Any, int, Any]]) -> Any:
    """The sum of the operands in the order of the kernel, for all users of the operation."""
    output = operation.outputs[0]
    users = [(user, index) for user in output.consumers() for index, used in enumerate(user.inputs) if used is output]
    with graph.as_default(), tf.control_dependencies(None):
        operands = list(operation.inputs)
        first = len(operands) % _GROUP
        if first < 2:  # a single operand is not a sum: it joins the next group
            first += _GROUP
        total = functools.reduce(_add, operands[:first])
        for start in range(first, len(operands), _GROUP):
            total = _add(total, functools.reduce(_add, operands[start : start + _GROUP]))
    for user, index in users:
        user._update_input(index, total)
        uses.append((user, index, output))
    return total


def _add(one: Any, other: Any) -> Any:
    return tf.raw_ops.AddV2(x=one, y=other)


def _separate(bias: Any, convolution: Any, order: dict[str, int]) -> None:
    """Makes the gradient of a bias depend on something on which the gradient of the filter does not depend otherwise."""
    before = convolution.inputs[0].op
    if before.name in order and order[before.name] < order[bias.name]:
        bias._add_control_input(before)
    elif order[convolution.name] < order[bias.name]:
        bias._add_control_input(convolution)
    else:
        convolution._add_control_input(bias)
