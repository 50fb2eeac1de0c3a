"""Answers about each context: asked again only where the context or its code is another one, and those of an analysis from nothing."""

from __future__ import annotations

from collections import Counter

from analysis_support import FilesByName

from terra_refactor.classify.each_context import about_each_context
from terra_refactor.config import Config
from terra_refactor.facts.records import Call
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.build.relower import relower
from terra_refactor.ir.program import ModuleIR, Program
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text
from terra_refactor.workspace.judgement import RepeatedJudge

BEFORE = """
def one(x):
    return abs(x)

def two(x):
    return one(x)

two(1)
"""
ASKED = Counter[str]()


@about_each_context
def _calls(view: ContextView) -> int:
    ASKED[view.function.name] += 1
    return sum(1 for _ in view.code.of_kind(Call))


def _lowered(text: str) -> ModuleIR:
    return lower_module(parse_module(source_from_text(text, "m.py")), "m", is_package=False)


def _answers(judge: RepeatedJudge, module: ModuleIR) -> dict[str, int]:
    """The answers about a state of the program, asked as decisions are: while it is judged."""
    _, hazards = judge._advance(Program({"m": module}, FilesByName({"m": module})), Config(), None)
    answers = {hazards.program.function(context.function).name: found for context, found in hazards.of_each(_calls)}
    assert answers == {
        hazards.program.function(context.function).name: found for context, found in hazards.of_each(_calls)
    }
    hazards.end()
    judge._hazards = hazards
    return answers


def test_an_answer_is_kept_where_neither_the_context_nor_its_code_has_changed() -> None:
    ASKED.clear()
    judge = RepeatedJudge()
    before = _lowered(BEFORE)
    assert _answers(judge, before) == {"<module>": 1, "one": 1, "two": 1}
    assert set(ASKED.values()) == {1}
    ASKED.clear()
    after = relower(before, BEFORE, source_from_text(BEFORE.replace("abs(x)", "abs(abs(x))"), "m.py"))
    assert after is not None
    assert _answers(judge, after) == {"<module>": 1, "one": 2, "two": 1}
    assert ASKED == {"one": 1}
