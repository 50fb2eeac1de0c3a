"""The fields that name an object: what is looked through level by level is what one call sees of the heap."""

from __future__ import annotations

from random import Random

from terra_refactor.analysis.abstract_heap import _fields_about, _visible
from terra_refactor.domain.lattice import names_object
from terra_refactor.domain.state import EXISTS, HeapKey, State
from terra_refactor.domain.value import NONE, TRUE, Constant, Reference, TupleValue, UnionValue, Value

OBJECTS = 6


def value(random: Random) -> Value:
    number = random.randrange(OBJECTS)
    return random.choice(
        (
            NONE,
            TRUE,
            Constant(number),
            Reference(number),
            TupleValue((Constant(1), Reference(number))),
            UnionValue((NONE, Reference(number))),
        )
    )


def chain(random: Random) -> State:
    """A state below others, some of which are boundaries of calls."""
    state = State(None, {}, None)
    for _ in range(random.randrange(1, 7)):
        for _ in range(random.randrange(8)):
            key: HeapKey = (random.randrange(OBJECTS), random.choice((EXISTS, "one", "other")))
            state.set(key, value(random))
        state = state.call() if random.random() < 0.2 else state.fork()
    return state


def test_all_fields_that_name_an_object_are_found_in_their_order() -> None:
    random = Random(5)
    found = hidden = 0
    for _ in range(2_000):
        state = chain(random)
        for number in range(OBJECTS):
            seen = [
                (key, held) for key, held in _visible(state).items() if key[0] == number or names_object(held, number)
            ]
            assert _fields_about(state, number) == seen
            found += len(seen)
            hidden += state.parent is not None and len(_visible(state.parent)) > len(_visible(state))
    assert found > 1_000 and hidden, "there is nothing to find, or no call that hides anything"
