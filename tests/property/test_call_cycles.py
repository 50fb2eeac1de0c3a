"""Which functions lie on cycles of calls: as networkx says, on random graphs."""

from __future__ import annotations

import networkx
from hypothesis import given
from hypothesis import strategies as st

from terra_refactor.analysis.assembly import on_cycles
from terra_refactor.ir.ids import FunctionId

FUNCTIONS = st.builds(FunctionId, st.just("m"), st.integers(0, 9))


@given(st.lists(st.tuples(FUNCTIONS, FUNCTIONS), max_size=25))
def test_on_cycles(calls: list[tuple[FunctionId, FunctionId]]) -> None:
    edges: dict[FunctionId, set[FunctionId]] = {}
    for caller, callee in calls:
        edges.setdefault(caller, set()).add(callee)
    graph = networkx.DiGraph(calls)
    loops = {node for node in graph if graph.has_edge(node, node)}
    components = networkx.strongly_connected_components(graph)
    assert on_cycles(edges) == loops.union(*(part for part in components if len(part) > 1))


def test_a_long_chain_is_no_recursion_of_ours() -> None:
    chain = {FunctionId("m", number): {FunctionId("m", number + 1)} for number in range(50_000)}
    assert on_cycles(chain) == set()
    chain[FunctionId("m", 50_000)] = {FunctionId("m", 0)}
    assert len(on_cycles(chain)) == 50_001
