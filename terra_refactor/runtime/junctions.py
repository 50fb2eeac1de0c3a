"""Tensors at which the backward paths from several results of a segment meet.

Computes: the tensors, between what a tape watches and the wanted results of a traced graph, that one result depends on through
operations of which another does not depend. Needs: the graph. Gives: `junctions`.

Each needed result has its own backward function (`tape_segments`). Operations above a junction would be in several of
them, and their gradient would be computed several times; with an entry for the junction it is computed once, from the
sum, as in eager execution.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

MOST_FOR_EACH_RESULT: Final = 4
"""Maximum number of junctions per result; more are not worth their calls."""
_SAME_VALUE: Final = ("Identity", "Cast")
_INPUTS: Final = ("ReadVariableOp", "Placeholder")


def junctions(graph: Any, results: Sequence[Any], watched: Iterable[Any]) -> list[Any]:
    """The junctions of the results, in the order of the graph's operations; none if there are too many."""
    if len(results) < 2:
        return []
    operations = graph.get_operations()
    depending = {tensor.name for tensor in watched}
    for operation in operations:
        if any(tensor.name in depending for tensor in operation.inputs):
            depending.update(tensor.name for tensor in operation.outputs)
    wanted = {result.name for result in results}
    found: list[Any] = []
    users: dict[str, set[frozenset[str]]] = {}
    """For each tensor, the next results or junctions reached by each of its users."""
    for operation in reversed(operations):
        reached: frozenset[str] = frozenset()
        for tensor in operation.outputs:
            name = tensor.name
            leads_to = users.get(name, set())
            if name in wanted:
                reached |= {name}
            elif len(leads_to) > 1 and name in depending and _can_be_recorded(tensor):
                found.append(tensor)
                reached |= {name}
            else:
                reached = reached.union(*leads_to)
        if reached:
            for tensor in operation.inputs:
                users.setdefault(tensor.name, set()).add(reached)
    return found[::-1] if len(found) <= MOST_FOR_EACH_RESULT * len(results) else []


def _can_be_recorded(tensor: Any) -> bool:
    """Whether gradients may be summed at a tensor.

    Not at the value of a variable, whose gradient may be `IndexedSlices` and must stay so.
    """
    if not (tensor.dtype.is_floating or tensor.dtype.is_complex):
        return False
    operation = tensor.op
    while operation.type in _SAME_VALUE:
        operation = operation.inputs[0].op
    return operation.type not in _INPUTS
