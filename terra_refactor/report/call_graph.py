"""A drawing of the call graph: functions, calls, the parts that run in graphs, and their layout.

Computes: for each function its region (eager, graph, both, or graph after the proposed changes), and a layered
layout, callers to the left of callees (longest path over the condensation, then barycentres within the layers;
Sugiyama, Tagawa and Toda 1981). Needs: decisions. Gives: `draw_call_graph`. Ignores: unresolved calls, functions
without calls and callers, and module code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import networkx

from terra_refactor.classify.decision import Action, Decision
from terra_refactor.ir.ids import FunctionId

MAX_NODES: Final = 1_500
"""Maximum number of nodes that a browser renders smoothly."""
_ROW: Final = 26
_LETTER: Final = 6.6
_BETWEEN: Final = 70
_SWEEPS: Final = 4


class GraphRegion(Enum):
    """Where a function runs."""

    EAGER = "eager"
    GRAPH = "graph"
    """Only in graphs, or it is one itself."""
    BOTH = "both"
    PROPOSED = "proposed"
    """Eager now; inside a graph after the proposed changes."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A function in the drawing; `x` and `y` are the middle of its left edge, in pixels."""

    function: FunctionId
    region: GraphRegion
    x: float
    y: float
    width: float


@dataclass(frozen=True, slots=True)
class CallGraph:
    """The drawing."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[FunctionId, FunctionId], ...]
    """From caller to callee, including those of functions that are not drawn."""
    left_out: int
    """Functions with calls that are not drawn, because there are too many."""
    width: float
    height: float


def regions(decisions: Sequence[Decision]) -> Mapping[FunctionId, GraphRegion]:
    """Where each function runs, now or after the proposed changes."""
    by_id = {decision.function: decision for decision in decisions}
    reached: set[FunctionId] = set()
    pending = [d.function for d in decisions if d.action in (Action.ADD_TF_FUNCTION, Action.CO_EXECUTE)]
    while pending:
        function = pending.pop()
        if function not in reached and function in by_id:
            reached.add(function)
            pending.extend(by_id[function].callees)
    return {decision.function: _region(decision, decision.function in reached) for decision in decisions}


def _region(decision: Decision, proposed: bool) -> GraphRegion:
    if decision.hybrid:
        return GraphRegion.GRAPH
    if decision.runs_in_graph:
        return GraphRegion.BOTH if decision.runs_eagerly else GraphRegion.GRAPH
    return GraphRegion.PROPOSED if proposed else GraphRegion.EAGER


def draw_call_graph(decisions: Sequence[Decision], max_nodes: int = MAX_NODES) -> CallGraph:
    """The call graph with a position for each function. Deterministic."""
    where = regions(decisions)
    functions = [decision.function for decision in decisions]
    names = [decision.qualname for decision in decisions]
    place = {function: number for number, function in enumerate(functions)}
    graph: Any = networkx.DiGraph()
    for number, decision in enumerate(decisions):
        graph.add_edges_from((number, place[callee]) for callee in decision.callees if callee in place)
    components = sorted(
        (sorted(component) for component in networkx.weakly_connected_components(graph)),
        key=lambda component: (
            all(where[functions[number]] is GraphRegion.EAGER for number in component),
            -len(component),
            component,
        ),
    )
    nodes: list[GraphNode] = []
    top, width = 0.0, 0.0
    left_out = 0
    for component in components:
        if len(nodes) + len(component) > max_nodes:
            left_out += len(component)
            continue
        layers = _layers(graph.subgraph(component))
        left = 0.0
        height = max(len(layer) for layer in layers) * _ROW
        for layer in layers:
            wide = max(len(names[number]) for number in layer) * _LETTER + 16
            start = top + (height - len(layer) * _ROW) / 2 + _ROW / 2
            for row, number in enumerate(layer):
                own_width = round(len(names[number]) * _LETTER + 16, 1)
                function = functions[number]
                nodes.append(GraphNode(function, where[function], left, round(start + row * _ROW, 1), own_width))
            left = round(left + wide + _BETWEEN, 1)
        width = max(width, left - _BETWEEN)
        top += height + _ROW
    edges = tuple((functions[caller], functions[callee]) for caller, callee in sorted(graph.edges))
    return CallGraph(tuple(nodes), edges, left_out, width, top)


def _layers(graph: Any) -> list[list[int]]:
    """The functions of a connected graph by layer; those of one cycle share a layer."""
    condensed = networkx.condensation(graph)
    layers: list[list[int]] = [
        sorted(function for component in generation for function in condensed.nodes[component]["members"])
        for generation in networkx.topological_generations(condensed)
    ]
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        order = range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1)
        row = {function: place for layer in layers for place, function in enumerate(layer)}
        for index in order:
            neighbours = graph.predecessors if forward else graph.successors
            layers[index].sort(key=lambda function: (_mean([row[other] for other in neighbours(function)]), function))
            row.update({function: place for place, function in enumerate(layers[index])})
    return layers


def _mean(rows: Sequence[int]) -> float:
    return sum(rows) / len(rows) if rows else 0.0
