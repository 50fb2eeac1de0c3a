"""Answers that are kept between the states of a program: which are found again, and that they are what would be found from nothing."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from terra_refactor.classify.answers import Answers, Question
from terra_refactor.facts.watch import Look, Looks

Numbers = dict[str, int]


class Sheet:
    """A sheet of cells, in the place of a program: a cell holds a number, or the names of cells whose sum it is."""

    def __init__(self, cells: dict[str, int | tuple[str, ...]], answers: Answers[Sheet]) -> None:
        self.cells = cells
        self.answers = answers
        self.notes = Looks()
        self.found: Counter[str] = Counter()

    def cell(self, name: str) -> int | tuple[str, ...]:
        self.notes.add(("code", name))
        return self.cells[name]

    def begin(self, changed: set[str] | None) -> None:
        looks: frozenset[Look] | None = None if changed is None else frozenset(("code", name) for name in changed)
        self.answers.begin(self, self.notes, looks)


def _value(sheet: Sheet, name: str) -> int:
    sheet.found[name] += 1
    cell = sheet.cell(name)
    return cell if isinstance(cell, int) else sum(sheet.answers.ask(VALUE, each) for each in cell)


def _sign(sheet: Sheet, name: str) -> bool:
    sheet.found[f"sign of {name}"] += 1
    return bool(sheet.answers.ask(VALUE, name) > 0)


VALUE = Question[Sheet, str, int](_value, 0)
SIGN = Question[Sheet, str, bool](_sign, meanwhile=False)


def sheet_of(cells: dict[str, int | tuple[str, ...]]) -> Sheet:
    sheet = Sheet(cells, Answers(keeps=True))
    sheet.begin(None)
    return sheet


def test_an_answer_is_found_once_in_a_state() -> None:
    sheet = sheet_of({"a": 1, "b": ("a", "a")})
    assert [sheet.answers.ask(VALUE, "b") for _ in range(3)] == [2, 2, 2]
    assert sheet.found == {"a": 1, "b": 1}


def test_what_does_not_depend_on_a_change_is_not_found_again() -> None:
    sheet = sheet_of({"a": 1, "b": ("a",), "c": 5, "d": ("b", "c")})
    assert sheet.answers.ask(VALUE, "d") == 6
    sheet.answers.end()
    sheet.cells["c"] = 7
    sheet.begin({"c"})
    sheet.found.clear()
    assert sheet.answers.ask(VALUE, "d") == 8
    assert sheet.found == {"c": 1, "d": 1}


def test_what_comes_out_the_same_keeps_what_was_made_from_it() -> None:
    sheet = sheet_of({"a": 1})
    assert sheet.answers.ask(SIGN, "a")
    sheet.answers.end()
    sheet.cells["a"] = 1
    sheet.begin({"a"})
    sheet.found.clear()
    assert sheet.answers.ask(SIGN, "a")
    assert sheet.found == {"a": 1}


def test_nothing_is_kept_of_a_state_that_cannot_be_compared() -> None:
    sheet = sheet_of({"a": 1})
    sheet.answers.ask(VALUE, "a")
    sheet.answers.end()
    sheet.begin(None)
    sheet.answers.ask(VALUE, "a")
    assert sheet.found["a"] == 2


def test_a_question_about_itself_gets_what_is_said_meanwhile_and_is_asked_again() -> None:
    sheet = sheet_of({"a": ("b", "one"), "b": ("a", "one"), "one": 1, "outside": ("a",)})
    assert sheet.answers.ask(VALUE, "outside") == 2
    sheet.answers.end()
    sheet.begin(set())
    sheet.found.clear()
    assert sheet.answers.ask(VALUE, "b") == 2, "it is entered elsewhere now, as if nothing had been kept"
    assert sheet.found == {"a": 1, "b": 1}


def test_what_used_a_recursion_when_it_was_done_holds_if_that_comes_out_the_same() -> None:
    sheet = sheet_of({"a": ("b", "one"), "b": ("a", "one"), "one": 1, "outside": ("a", "b"), "far": ("outside",)})
    assert sheet.answers.ask(VALUE, "far") == 3
    sheet.answers.end()
    sheet.begin(set())
    sheet.found.clear()
    assert sheet.answers.ask(VALUE, "far") == 3
    assert sheet.found == {"a": 1, "b": 1}, "only the circle is gone through again"
    sheet.answers.end()
    sheet.cells["one"] = 2
    sheet.begin({"one"})
    assert sheet.answers.ask(VALUE, "far") == 6


def test_what_used_a_part_of_a_recursion_before_it_was_done_is_part_of_it() -> None:
    # `inner` rests on what is said of `a` meanwhile, and so does `late`, which only meets `inner`
    sheet = sheet_of({"a": ("inner", "late", "one"), "inner": ("a", "one"), "late": ("inner",), "one": 1})
    assert sheet.answers.ask(VALUE, "a") == 3
    assert sheet.answers.ask(VALUE, "late") == 1
    sheet.answers.end()
    sheet.begin(set())
    assert sheet.answers.ask(VALUE, "late") == sheet_of(dict(sheet.cells)).answers.ask(VALUE, "late") == 2


def test_what_nobody_asks_again_goes() -> None:
    sheet = sheet_of({"a": 1, "b": ("a",)})
    sheet.answers.ask(VALUE, "b")
    sheet.answers.end()
    assert sheet.answers.count == 2
    sheet.cells["b"] = 3
    sheet.begin({"a", "b"})
    assert sheet.answers.ask(VALUE, "b") == 3
    sheet.answers.end()
    assert sheet.answers.count == 1


def test_an_answer_that_failed_is_tried_again() -> None:
    sheet = sheet_of({"b": ("a",)})
    with pytest.raises(KeyError):
        sheet.answers.ask(VALUE, "b")
    sheet.cells["a"] = 4
    assert sheet.answers.ask(VALUE, "b") == 4


@pytest.mark.parametrize("seed", range(40))
def test_kept_answers_are_those_from_nothing(seed: int) -> None:
    choose = random.Random(seed)
    names = [f"c{number}" for number in range(12)]

    def cell(position: int) -> int | tuple[str, ...]:
        if choose.random() < 0.4:
            return choose.randrange(-2, 3)
        # forward mostly; sometimes back, which makes circles
        others = names if choose.random() < 0.15 else names[position + 1 :] or names[:1]
        return tuple(choose.choice(others) for _ in range(choose.randrange(1, 4)))

    kept = sheet_of({name: cell(position) for position, name in enumerate(names)})
    changed: set[str] | None = None
    for _ in range(15):
        if changed is not None:
            for name in changed:
                kept.cells[name] = cell(names.index(name))
            kept.begin(changed)
        fresh = sheet_of(dict(kept.cells))
        asked = [(choose.choice((VALUE, SIGN)), name) for name in names if choose.random() < 0.8]
        assert [kept.answers.ask(question, name) for question, name in asked] == [
            fresh.answers.ask(question, name) for question, name in asked
        ]
        kept.answers.end()
        changed = set(choose.sample(names, choose.randrange(3)))
