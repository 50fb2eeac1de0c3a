"""When decisions about a changed program stay valid after an edit: each condition by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from terra_refactor.classify.alike import Edited, Seen, is_alike
from terra_refactor.domain.effect import EffectSite
from terra_refactor.ir.ids import FunctionId

EDITED, OTHER = FunctionId("m", 0), FunctionId("m", 1)
FACTS: Any = SimpleNamespace(contexts={}, functions={}, objects={})


def state(changed: object = frozenset(), moved: object = frozenset()) -> Any:
    return SimpleNamespace(changed=changed, moved=moved, whole_facts=FACTS)


@pytest.mark.parametrize(
    ("now", "seen", "alike"),
    [
        (state(), Seen(), True),
        (state(changed=None), Seen(), False),
        (state(moved=None), Seen(), False),
        (state(), Seen(is_complete=False), False),
        (state(moved=frozenset({OTHER})), Seen(places=frozenset({OTHER})), False),
        (state(moved=frozenset({OTHER})), Seen(places=frozenset({EDITED})), True),
        (state(changed=frozenset({("path", "a.py")})), Seen(), False),
        (state(changed=frozenset({("path", None)})), Seen(), True),
        (state(changed=frozenset({("path", None)})), Seen(looks=frozenset({("path", None)})), False),
    ],
    ids=[
        "nothing changed",
        "changes unknown",
        "moves unknown",
        "incomplete",
        "moved",
        "another moved",
        "a path",
        "paths",
        "seen",
    ],
)
def test_each_condition(now: Any, seen: Seen, *, alike: bool) -> None:
    assert is_alike(state(), now, Edited({}, FACTS), seen) is alike


def test_what_ran_in_an_edited_function_is_not_alike() -> None:
    edited = Edited({EDITED: {}}, FACTS)
    assert not is_alike(state(), state(), edited, Seen(executed=frozenset({EDITED, OTHER})))


def test_answers_are_the_same_up_to_the_numbers_of_operations() -> None:
    edited = Edited({EDITED: {5: 7, 6: None}}, FACTS)
    assert edited.are_same((EffectSite("m", 0, 5),), (EffectSite("m", 0, 7),))
    assert not edited.are_same((EffectSite("m", 0, 5),), (EffectSite("m", 0, 5),))
    assert not edited.are_same((EffectSite("m", 0, 6),), (EffectSite("m", 0, 6),))
    assert edited.are_same(EffectSite("m", 0, 4), EffectSite("m", 0, 4)), "it did not move"
    assert edited.are_same(EffectSite("m", 1, 5), EffectSite("m", 1, 5)), "in a function that was not edited"
    assert not edited.are_same(EffectSite("m", 1, 5), EffectSite("m", 1, 7))
