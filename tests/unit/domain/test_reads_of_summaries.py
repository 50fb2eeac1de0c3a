"""Whether the recorded reads of a summary hold in another state."""

from __future__ import annotations

import pytest

from terra_refactor.domain.state import HeapKey, LevelNames, Naming, State, same_reads
from terra_refactor.domain.value import Constant, Value

ONE, TWO = Constant(1), Constant(2)
OBJECT, STAND_IN = 1, -1


def state_with(**fields: Value) -> State:
    state = State(None, {}, None)
    for name, value in fields.items():
        state.set((OBJECT, f".{name}"), value)
    return state


@pytest.mark.parametrize(
    ("reads", "hold"),
    [
        ({}, True),
        ({(OBJECT, ".a"): ONE}, True),
        ({(OBJECT, ".a"): TWO}, False),
        ({(OBJECT, ".a"): ONE, (OBJECT, ".b"): None}, True),
        ({(OBJECT, ".a"): ONE, (OBJECT, ".b"): ONE}, False),
    ],
)
def test_without_names_of_its_own_a_callee_reads_the_state_itself(
    reads: dict[HeapKey, Value | None], hold: bool
) -> None:
    assert same_reads(state_with(a=ONE), reads, frozenset(), None) is hold


def test_reads_of_an_object_that_this_call_does_not_give_do_not_matter() -> None:
    names = LevelNames(lambda number: number - 100, lambda number: number - 1000)
    names.all.update({STAND_IN, STAND_IN - 1})
    naming = Naming({OBJECT: STAND_IN}, names, "callee")
    state = state_with(a=ONE)
    assert same_reads(state, {(STAND_IN, ".a"): ONE}, frozenset(), naming)
    assert not same_reads(state, {(STAND_IN, ".a"): TWO}, frozenset(), naming)
    assert same_reads(state, {(STAND_IN, ".a"): ONE, (STAND_IN - 1, ".a"): TWO}, frozenset(), naming)
