"""Facts about code: one record for what rules take for one thing, and questions about places."""

from __future__ import annotations

import pytest

from terra_refactor.facts.code import CodeFacts, code_facts
from terra_refactor.facts.records import (
    Arm,
    AttributeWrite,
    Call,
    Choice,
    Container,
    Display,
    FunctionMade,
    ItemDeletion,
    ItemWrite,
    NameRead,
    NameWrite,
    NextItem,
    Operation,
    Region,
    RegionKind,
    Return,
    Text,
)
from terra_refactor.ir.function import Function
from tests.unit.ir.lowering import lower_text


def function(text: str, name: str = "f") -> Function:
    return next(each for each in lower_text(text).functions if each.name == name)


def facts(body: str, parameters: str = "a, b, xs") -> CodeFacts:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return code_facts(function(f"def f({parameters}):\n{lines}\n"))


def names(code: CodeFacts, numbers: tuple[int, ...]) -> list[str]:
    return [code.written(number) for number in numbers]


def test_operators_and_comparisons_are_one_record() -> None:
    code = facts("return (a + b) < -a")
    add, negated, less = sorted(code.of_kind(Operation), key=lambda each: each.op)
    assert (add.symbol, add.is_arithmetic, names(code, add.sides)) == ("+", True, ["a", "b"])
    assert (negated.symbol, negated.is_arithmetic, negated.pairs) == ("-", False, ())
    assert less.is_comparison
    assert less.pairs == ((add.op, negated.op), (negated.op, add.op))


def test_displays_and_comprehensions_are_one_record() -> None:
    code = facts("return [a, *xs], {a: b, **xs}, {x for x in xs}, {x: y for x, y in xs}")
    by_kind = {display.kind: display for display in code.of_kind(Display) if not display.is_comprehension}
    made = {display.kind: display for display in code.of_kind(Display) if display.is_comprehension}
    assert [item.starred for item in by_kind[Container.LIST].items] == [False, True]
    assert [item.key is None for item in by_kind[Container.DICT].items] == [False, True]
    assert names(code, by_kind[Container.DICT].hashed) == ["a"]
    assert by_kind[Container.LIST].hashed == ()
    assert names(code, made[Container.SET].hashed) == ["x"]
    assert names(code, made[Container.DICT].hashed) == ["x"]
    assert by_kind[Container.LIST].is_sequence
    assert not made[Container.SET].is_sequence


def test_what_an_inner_comprehension_collects_is_its_own() -> None:
    code = facts("return [[y + 1 for y in x] for x in xs]")
    outer, inner = (display for display in code.of_kind(Display))
    assert [item.value for item in outer.items] == [inner.op]
    assert names(code, tuple(item.value for item in inner.items)) == ["y + 1"]


def test_conditional_expressions_and_connectives_choose() -> None:
    code = facts("return (a if b else xs), (a and b)")
    chosen, both = code.of_kind(Choice)
    assert (chosen.symbol, names(code, chosen.results), code.written(chosen.test)) == ("if", ["a", "xs"], "b")
    assert (both.symbol, names(code, both.results), both.is_connective) == ("and", ["a", "b"], True)


def test_writes_by_what_they_change() -> None:
    code = facts("c: int\nc = a\nself.x = b\nxs[0] = a\ndel xs[1]\nf'{a:>3}{b}'")
    assert [write.name for write in code.of_kind(NameWrite)] == ["c"]
    assert [code.written(write.value) for write in code.of_kind(AttributeWrite)] == ["b"]
    assert [code.written(write.owner) for write in (*code.of_kind(ItemWrite), *code.of_kind(ItemDeletion))] == [
        "xs",
        "xs",
    ]
    assert [has_spec for _, has_spec in code.of_kind(Text)[0].fields] == [True, False]


LOOPS = """
for x in xs:
    if a:
        inside = x
    else:
        other = x
else:
    behind = 1
while b:
    again = 1
last = [y for y in xs]
"""


def place(code: CodeFacts, name: str) -> int:
    return code.writes[name][0].op


def test_regions_know_what_they_hold_and_what_they_repeat() -> None:
    code = facts(LOOPS.strip())
    loop = next(region for region in code.of_kind(Region) if region.kind is RegionKind.FOR)
    assert [region.kind for region in code.around(place(code, "inside"))] == [RegionKind.IF, RegionKind.FOR]
    branch = next(code.around(place(code, "inside")))
    assert branch.holds(place(code, "inside"), Arm.FIRST)
    assert not branch.holds(place(code, "other"), Arm.FIRST)
    assert branch.holds(place(code, "other"), Arm.ELSE)
    assert loop.holds(place(code, "behind"))
    assert loop.has_else
    assert not loop.repeats(place(code, "behind"))
    assert not list(code.loops_around(place(code, "behind")))
    assert [each.op for each in code.loops_around(place(code, "other"))] == [loop.op]
    assert not loop.holds(place(code, "last"))
    assert [each.kind for each in code.loops_around(place(code, "again"))] == [RegionKind.WHILE]


def test_the_test_of_a_while_is_repeated() -> None:
    code = facts("while g(a):\n    b = 1")
    (call,) = code.of_kind(Call)
    assert [region.kind for region in code.loops_around(call.op)] == [RegionKind.WHILE]


def test_what_loops_and_with_hand_to_their_targets() -> None:
    code = facts("for x in xs:\n    pass\nwith a as b:\n    pass\ntry:\n    pass\nexcept E as e:\n    pass")
    given = [
        (None if item.source is None else code.written(item.source), item.is_element) for item in code.of_kind(NextItem)
    ]
    assert given == [("xs", True), ("a", False), (None, False)]


def test_assignments_that_may_have_given_a_name_its_value() -> None:
    code = facts("c = 1\nfor x in xs:\n    d = c\n    c = 2\ne = c\nc = 3")
    in_loop, behind = code.reads_of("c")
    assert [write.op for write in code.given_to(in_loop)] == [write.op for write in code.writes["c"][:2]]
    assert [write.op for write in code.given_to(behind)] == [write.op for write in code.writes["c"][:2]]


def test_readers_and_what_is_tested() -> None:
    code = facts("c = a + b\nif c:\n    return c if not c else b")
    read_a = code.reads_of("a")[0]
    (add,) = (each for each in code.of_kind(Operation) if each.is_arithmetic)
    assert code.readers(read_a.op) == (add.op,)
    branch = next(region for region in code.of_kind(Region) if region.kind is RegionKind.IF)
    assert names(code, code.tested_by(branch.op)) == ["c"]
    (choice,) = code.of_kind(Choice)
    result = choice.results[0]
    assert choice.op not in code.readers(result)
    assert choice.op in code.readers(result, results=True)


def test_what_a_result_is_computed_from_goes_through_variables_and_ends() -> None:
    code = facts("c = a\nwhile b:\n    c = c + d\nreturn c")
    (place_,) = code.of_kind(Return)
    assert place_.value is not None
    found = {fact.name for fact in code.behind(place_.value) if isinstance(fact, NameRead)}
    assert found == {"a", "c", "d"}


GIVEN = [
    ("g(1, 2)", "p", False, "1"),
    ("g(1, 2)", "q", False, "2"),
    ("g(1, q=2)", "q", False, "2"),
    ("g(1)", "q", False, None),
    ("g(1, 2)", "p", True, None),
    ("g(1, 2)", "q", True, "1"),
    ("g(*a, 2)", "q", False, None),
    ("g(1, k=3)", "k", False, "3"),
    ("g(1, 2, 3)", "k", False, None),
]


@pytest.mark.parametrize(("written", "parameter", "is_bound", "expected"), GIVEN)
def test_what_a_call_gives_for_a_parameter(written: str, parameter: str, is_bound: bool, expected: str | None) -> None:
    code = facts(written)
    called = function("def g(p, q=0, *rest, k=None):\n    pass\n", "g")
    (call,) = code.of_kind(Call)
    given = call.given_for(called, parameter, is_bound=is_bound)
    assert (None if given is None else code.written(given)) == expected


def test_methods_have_an_owner_and_functions_a_name() -> None:
    code = facts("a.m(1)\ng(1)\na.b()(1)")
    found = [
        (call.method, call.called_name, None if call.owner is None else code.written(call.owner))
        for call in code.of_kind(Call)
    ]
    assert found == [("m", "", "a"), ("g", "g", None), ("b", "", "a"), ("", "", None)]


def test_functions_and_where_they_are_made() -> None:
    code = facts("def inner(x=a):\n    return x\nreturn inner")
    (made,) = code.of_kind(FunctionMade)
    assert code.maker_of(made.function) is made
    assert [(name, code.written(default)) for name, default in made.defaults] == [("x", "a")]
