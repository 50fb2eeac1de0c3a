"""Which functions run only as parts of graphs: the answers, and how often callers are looked at for them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from terra_refactor.classify.coverage import Coverage
from terra_refactor.classify.decision import Level
from terra_refactor.ir.ids import FunctionId


def named(name: str) -> FunctionId:
    return FunctionId("m", int(name[1:] or 0) * 200 + ord(name[0]))


class Project:
    """Callers by name; `graphs` become graphs at `speculative`, and nobody calls what has no callers."""

    def __init__(self, callers: Mapping[str, str], graphs: str = "") -> None:
        self.calls = {named(name): frozenset(map(named, outer.split())) for name, outer in callers.items()}
        self.graphs = set(map(named, graphs.split()))
        self.looks = 0
        self.coverage = Coverage(
            lambda identity, level: level is not Level.SAFE and identity in self.graphs, self.callers_of
        )

    def callers_of(self, identity: FunctionId) -> frozenset[FunctionId] | bool:
        self.looks += 1
        return self.calls[identity] or False

    def covers(self, name: str, level: Level = Level.SPECULATIVE) -> bool:
        return self.coverage.runs_as_graph(named(name), level)


def test_every_way_up_has_to_end_in_a_graph() -> None:
    project = Project({"a": "", "b": "", "c": "a", "d": "a b", "e": "c"}, "a")
    assert [name for name in "abcde" if project.covers(name)] == ["a", "c", "e"]
    assert not any(project.covers(name, Level.SAFE) for name in "abcde")


def test_no_way_ends_in_a_cycle() -> None:
    project = Project({"a": "", "b": "a c", "c": "b", "d": "a"}, "a")
    assert not project.covers("b")
    assert not project.covers("c")
    assert project.covers("d")


def test_what_is_no_graph_any_more_covers_nothing() -> None:
    project = Project({"a": "", "b": "a", "c": "b"}, "a")
    assert project.covers("c")
    project.graphs.clear()
    project.coverage.fewer_graphs()
    assert not project.covers("c")


@pytest.mark.parametrize("graphs", ["f0 g0", "f0", ""])
def test_each_function_of_a_lattice_is_looked_at_once(graphs: str) -> None:
    depth = 200  # 2 ** 200 ways up
    callers = {f"{one}{i}": f"f{i - 1} g{i - 1}" if i else "" for i in range(depth) for one in "fg"}
    project = Project(callers, graphs)
    answers = {project.covers(name) for name in list(callers)[2:]}
    assert answers == {graphs == "f0 g0"}
    assert project.looks <= 3 * len(callers)
