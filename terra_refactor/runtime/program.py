"""The state of one co-executed function over all its calls.

Computes: counts for the report, and the decision to give up. Needs: nothing of TensorFlow. Gives: `Program`, `epoch`.
Ignores: how calls are matched and run.
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

from terra_refactor.runtime.costs import Costs
from terra_refactor.runtime.trie import Call, Node

GIVE_UP_AFTER = 20  # successive calls that left every known path
MAX_NODES = 100_000
OBSTRUCTED_AFTER = 8
"""Successive calls that fell back before their first operation, after which the hooks are not needed. The number doubles
when they are needed again: to install and remove them takes as long as a few hundred operations.
"""
MOST_OBSTRUCTED = 65_536


class Epoch:
    """A number that is incremented when an attribute of a Keras layer or optimizer changes: older paths are then invalid."""

    value = 0

    @classmethod
    def advance(cls) -> None:
        cls.value += 1


class CoExecutionWarning(UserWarning):
    """A co-executed function runs eagerly from now on; the message has the reason."""


_numbers = itertools.count(1)


class Program:
    """One decorated function or block.

    Attributes:
        frozen: nothing new is recorded; known paths are still used.
        eager_reason: set if all calls are eager from now on.
        alone: the self-test, whose variables no other thread knows, so that none ends its deferral.
    """

    def __init__(
        self,
        name: str,
        xla: bool,
        shadow: bool,
        max_paths: int,
        fast_math: bool = False,
        measure: bool = True,
    ) -> None:
        self.name = name
        self.number = next(_numbers)
        self.xla = xla
        self.shadow = shadow
        self.max_paths = max_paths
        self.fast_math = fast_math
        self.costs = Costs(name, measure)
        self.roots: dict[tuple[Any, ...], Node] = {}
        self.reads: set[int] = set()  # ids of the handles of variables
        self.writes: set[int] = set()
        self.calls = 0
        self.complete_calls = 0
        self.deferred = 0
        self.ran_at_once = 0
        self.immediates: Counter[str] = Counter()
        self.refusals: dict[str, str] = {}
        self.departures: Counter[tuple[str, str]] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self.build_failures: Counter[str] = Counter()
        self.paths = 0
        self.nodes = 0
        self.replays = 0
        self.fetches = 0
        self.asides = 0
        self.asides_built = 0
        self.segments_built = 0
        self.segments_run = 0
        self.build_seconds = 0.0
        self.graph_seconds = 0.0
        self.total_seconds = 0.0
        self.shadow_checks = 0
        self.shadow_differences: list[str] = []
        self.frozen = False
        self.eager_reason: str | None = None
        self.misses_in_a_row = 0
        self.last_call = 0.0
        self.alone = False
        self.obstructions = 0  # in a row
        self.obstructed_after = OBSTRUCTED_AFTER
        self.at_end: Callable[[Program], None] | None = None

    def __del__(self) -> None:
        if self.at_end is not None and not sys.is_finalizing():
            self.at_end(self)

    def conflicts_with(self, other: Program) -> bool:
        """Whether the order of operations of the two matters: one writes what the other touches."""
        return not (self.writes.isdisjoint(other.writes | other.reads) and self.reads.isdisjoint(other.writes))

    def root(self, settings: tuple[Any, ...]) -> Node:
        """The start node of every segment for the current state of layers, optimizers and global settings."""
        state = (Epoch.value, settings)
        found = self.roots.get(state)
        if found is None:
            if len(self.roots) > 2:  # older states rarely recur
                del self.roots[next(iter(self.roots))]
            found = self.roots[state] = Node()
        return found

    def count_path(self) -> None:
        """Count a path whose recording is complete."""
        self.paths += 1
        if self.paths > self.max_paths or self.nodes > MAX_NODES:
            self.frozen = True

    def sights_before_building(self) -> int:
        """How often the end of a segment must be reached before it is compiled; more often if there are many."""
        return 0 if self.segments_built < 16 else 1 if self.segments_built < 48 else 3

    def operations(self) -> int:
        """The number of deferred or immediate operations in all calls."""
        return self.deferred + self.ran_at_once

    def learned(self) -> int:
        """A number that is incremented when something is compiled, or runs one by one and will be compiled next time."""
        return self.segments_built + self.asides_built + self.replays

    def immediate(self, call: Call) -> None:
        self.ran_at_once += 1
        self.immediates[call.name] += 1

    def refused(self, call: Call, reason: str) -> None:
        """Counts a call that cannot be deferred, with the reason."""
        self.refusals.setdefault(call.name, reason)

    def departed(self, line: str, name: str) -> None:
        """Counts a call that left all known paths at a line of the program, with a call of TensorFlow or Keras."""
        self.departures[line, name] += 1

    def fell_back(self, reason: str) -> None:
        """Counts a call that is eager from here on, with the reason."""
        self.fallbacks[reason] += 1

    def obstructed(self) -> None:
        """Counts a call that fell back before its first operation."""
        self.obstructions += 1

    def unobstructed(self) -> None:
        """Counts a call that was entered."""
        if self.obstructions >= self.obstructed_after:
            self.obstructed_after = min(2 * self.obstructed_after, MOST_OBSTRUCTED)
        self.obstructions = 0

    def needs_hooks(self) -> bool:
        """Whether the next calls are expected to be co-executed."""
        return self.eager_reason is None and not self.costs.resting and self.obstructions < self.obstructed_after

    def give_up(self, reason: str) -> None:
        """Makes every later call eager, with one warning."""
        if self.eager_reason is None:
            self.eager_reason = reason
            warnings.warn(f"{self.name} is no longer co-executed: {reason}", CoExecutionWarning, stacklevel=3)

    def end_call(self, missed: bool, seconds: float, graph_seconds: float) -> None:
        """Records a call that has just ended."""
        self.calls += 1
        self.last_call = time.monotonic()
        self.total_seconds += seconds
        self.graph_seconds += graph_seconds
        if not missed:
            self.complete_calls += 1
            self.misses_in_a_row = 0
        elif self.frozen:
            self.misses_in_a_row += 1
            if self.misses_in_a_row >= GIVE_UP_AFTER:
                self.give_up(
                    f"it took more than {self.max_paths} paths, and the last {GIVE_UP_AFTER} calls took new ones"
                )
