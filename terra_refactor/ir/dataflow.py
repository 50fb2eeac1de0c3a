"""Data flow over the control flow of a function: a solver, and the analyses for which AutoGraph uses one.

Computes: for each node of a `Flow` the fixpoint of a transfer function. Needs: the flow; for `reaching` also which
paths a trace may take. Gives: `solve`; `live_names` (names that may be read later, by AutoGraph's liveness);
`reaching` (the definitions that may reach a use, `UNBOUND_HERE` among them); `carried` and `merged_by` (names that
are variables of a loop or branch of the graph). Ignores: correlated conditions; each name is analysed independently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias, TypeVar

from terra_refactor.ir.control import ControlSite, Flow, FlowNode, NodeId, NodeKind

_State = TypeVar("_State")


def solve(
    flow: Flow,
    start: _State,
    transfer: Callable[[NodeId, _State], _State | None],
    join: Callable[[_State, _State], _State],
    *,
    backward: bool = False,
) -> tuple[dict[NodeId, _State], dict[NodeId, _State]]:
    """The states before and after each reached node, in the direction of the analysis.

    `transfer` returns None if execution does not continue.
    """
    before: dict[NodeId, _State] = {}
    behind: dict[NodeId, _State] = {}
    # nodes are numbered in execution order, except for the back edges of loops, so the predecessors of a merge point
    # are usually computed before it
    step = -1 if backward else 1
    waiting = [step * number for number in range(len(flow.nodes))] if backward else [flow.entry]
    if backward:
        before = dict.fromkeys(range(len(flow.nodes)), start)
    else:
        before[flow.entry] = start
    heapify(waiting)
    queued = set(waiting)
    while waiting:
        place = heappop(waiting)
        queued.discard(place)
        number = step * place
        out = transfer(number, before[number])
        if out is None or (number in behind and behind[number] == out):
            continue
        behind[number] = out
        node = flow.nodes[number]
        for other in node.previous if backward else node.next:
            if other in before:
                known = before[other]
                joined = join(known, out)
                if joined is known or joined == known:
                    continue
                before[other] = joined
            else:
                before[other] = out
            if step * other not in queued:
                queued.add(step * other)
                heappush(waiting, step * other)
    return before, behind


# --- liveness -------------------------------------------------------------------------------------------------------------------------

NameSet: TypeAlias = frozenset[str]


def live_names(flow: Flow) -> tuple[NameSet, ...]:
    """The names that may be read at or after each node before they are bound again."""

    def transfer(number: NodeId, live: NameSet) -> NameSet:
        node = flow.nodes[number]
        if node.kind in (NodeKind.BIND, NodeKind.UNBIND):
            live -= {node.name}
        return live.union(node.reads) if node.reads else live

    _, behind = solve(flow, flow.captured, transfer, NameSet.union, backward=True)
    return tuple(behind[number] for number in range(len(flow.nodes)))


# --- reaching definitions -------------------------------------------------------------------------------------------------------------


class DefinitionKind(Enum):
    """The origin of a name's value."""

    UNBOUND = "unbound"
    PARAMETER = "parameter"
    STORED = "stored"
    MERGED = "merged"
    """The result of a branch or loop of the graph: a tensor, if it can be one."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A reaching definition: `place` is the node that binds it, or the site that merges it."""

    kind: DefinitionKind
    place: int = -1


UNBOUND_HERE: Final = Definition(DefinitionKind.UNBOUND)
GIVEN: Final = Definition(DefinitionKind.PARAMETER)
Definitions: TypeAlias = Mapping[str, frozenset[Definition]]
"""By name; a name that is missing is unbound."""
_UNBOUND: Final = frozenset({UNBOUND_HERE})


def reaching(
    flow: Flow,
    parameters: frozenset[str],
    reached: Callable[[FlowNode], bool],
    feasible: Callable[[int, int, Definitions], bool],
    merged: Mapping[int, NameSet],
    fresh: Mapping[NodeId, NameSet],
    is_null: Callable[[str, Definition], bool],
    *,
    once: bool = False,
) -> dict[NodeId, Definitions]:
    """The definitions that reach each node that a trace reaches.

    `feasible(site, arm, definitions)` says whether a trace may take that arm; `merged` gives the names that each
    branch or loop of the graph redefines; `fresh` the names that are local to one iteration, by the head of the loop.
    A name that is unbound or None before a loop (`is_null`) still is in the iteration that AutoGraph stages first.
    With `once` Python's loops run their first iteration only.
    """
    cut = {site.again for number, site in enumerate(flow.sites) if once and site.is_loop and number not in merged}
    behind = {flow.sites[number].after: number for number in merged}
    heads = {flow.sites[number].head: number for number in merged if flow.sites[number].is_loop}
    entries = {flow.sites[number].before: number for number in heads.values()}
    entered: dict[int, Definitions] = {}
    starts = {start: (number, arm) for number, site in enumerate(flow.sites) for arm, start in enumerate(site.arms)}

    def transfer(number: NodeId, found: Definitions) -> Definitions | None:
        node = flow.nodes[number]
        if number in cut or (number in starts and not feasible(*starts[number], found)):
            return None
        if number in entries:
            entered[entries[number]] = found
        if number in fresh:
            found = {**found, **dict.fromkeys(fresh[number], _UNBOUND)}
        site = behind.get(number, heads.get(number))
        if site is not None:
            given = frozenset({Definition(DefinitionKind.MERGED, site)})
            changed = {**found, **dict.fromkeys(merged[site], given)}
            for name in merged[site] if number in heads else ():
                before = entered[site].get(name, _UNBOUND)
                nulls = frozenset(each for each in before if is_null(name, each))
                if nulls:
                    changed[name] = nulls if nulls == before else nulls | given
            return changed
        match node.kind:
            case NodeKind.BIND:
                if not reached(node):
                    return None
                return {**found, node.name: frozenset({Definition(DefinitionKind.STORED, number)})}
            case NodeKind.MAY_BIND:
                own = Definition(DefinitionKind.STORED, number)
                return {**found, node.name: found.get(node.name, _UNBOUND) | {own}}
            case NodeKind.UNBIND:
                return {**found, node.name: _UNBOUND}
            case _:
                return found

    start: Definitions = dict.fromkeys(parameters, frozenset({GIVEN}))
    before, _ = solve(flow, start, transfer, _joined)
    return before


def _joined(first: Definitions, second: Definitions) -> Definitions:
    if first is second:
        return first
    wider = {
        name: known | found
        for name, found in second.items()
        if (known := first.get(name, _UNBOUND)) is not found and not found <= known
    }
    for name, known in first.items():
        if name not in second and UNBOUND_HERE not in known:
            wider[name] = known | _UNBOUND
    return {**first, **wider} if wider else first


def carried(site: ControlSite, live: tuple[NameSet, ...]) -> NameSet:
    """The loop variables of the graph's loop: names bound in it that are read in a later iteration or after it."""
    return site.bound & (live[site.after] | live[site.head])


def merged_by(site: ControlSite, live: tuple[NameSet, ...]) -> NameSet:
    """The names that a branch merges: bound in an arm, and live after it."""
    return site.bound & live[site.after]
