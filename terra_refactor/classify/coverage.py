"""The functions that run only as parts of graphs, for one choice of the functions that are, or become, graphs.

Needs: the functions that are graphs, and the call graph. Gives: `Coverage`. Each function is visited once per choice:
walking up the callers for each function would be quadratic for a chain of calls, and exponential for a lattice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from terra_refactor.classify.decision import Level
from terra_refactor.ir.ids import FunctionId


class IsGraph(Protocol):
    """Whether a function is itself a graph, or becomes one at a level."""

    def __call__(self, identity: FunctionId, level: Level) -> bool: ...


class Coverage:
    """Coverage of functions that are not graphs themselves; `callers` is True or False if it does not depend on callers."""

    def __init__(self, is_graph: IsGraph, callers: Callable[[FunctionId], frozenset[FunctionId] | bool]) -> None:
        self._is_graph = is_graph
        self._callers = callers
        self._covered: dict[bool, set[FunctionId]] = {True: set(), False: set()}
        self._open: dict[bool, set[FunctionId]] = {True: set(), False: set()}

    def fewer_graphs(self) -> None:
        """Marks a former graph as eager; what runs outside of graphs still does."""
        for covered in self._covered.values():
            covered.clear()

    def runs_as_graph(self, identity: FunctionId, level: Level) -> bool:
        """Whether every path up from a function ends in a graph. A path back to the function itself does not count."""
        covered, uncovered = self._covered[level is Level.SAFE], self._open[level is Level.SAFE]
        path: dict[FunctionId, Iterator[FunctionId]] = {}
        current: FunctionId | None = identity
        while current is not None:
            if current not in covered and not self._is_graph(current, level):
                callers = self._callers(current)
                if callers is False or current in uncovered or current in path:
                    uncovered.update(path, (current,))
                    return False
                path[current] = iter(()) if callers is True else iter(callers)
            current = _next(path, covered)
        return True


def _next(path: dict[FunctionId, Iterator[FunctionId]], covered: set[FunctionId]) -> FunctionId | None:
    """The next caller in the depth-first search; a function with only covered callers is covered, and leaves the path."""
    while path:
        last = next(reversed(path))
        following = next(path[last], None)
        if following is not None:
            return following
        covered.add(last)
        del path[last]
    return None
