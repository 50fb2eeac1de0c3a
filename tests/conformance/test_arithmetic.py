"""Python's and NumPy's arithmetic: what the analysis tells of every combination of operator, operands and dtypes, held against what runs.

An answer has to cover the result of TensorFlow and NumPy here, and of NumPy 1.26, whose answers `numpy_1_answers.json` holds where
they are others. The answer for a less known operand has to cover the results of every operand that it may be.
`make test-all` combines every operator with every two operands; other runs combine one in three, except in place.
"""

from __future__ import annotations

import ast
import collections
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

pytest.importorskip("tensorflow")

import arithmetic_table as table
import tensorflow as tf
from arithmetic_answers import UNKNOWN, Verdict, analysed, covered, judged
from arithmetic_table import Answer
from running_time import examples

pytestmark = pytest.mark.tensorflow

LISTS_KEEP = frozenset(table.LISTS)
"""An unknown operand that is added to a list, repeats it or is compared with it counts as a list, or as a number."""

Cases = list[tuple[str, str, Sequence[Answer]]]
"""The key of an expression, the expression, and its real answers."""


class Real:
    """The real answers, each evaluated once."""

    def __init__(self) -> None:
        self._evaluator = table.Evaluator(tf)
        self._found: dict[str, Answer] = {}
        path = Path(__file__).with_name("numpy_1_answers.json")
        self._older = {
            key: ast.literal_eval(answer) for answer, keys in json.loads(path.read_text()).items() for key in keys
        }

    def pair(self, left: str, symbol: str, right: str) -> list[Answer]:
        key = f"{left} {symbol} {right}"
        if key not in self._found:
            self._found[key] = self._evaluator.pair(symbol, left, right)
        return self._both(key)

    def call(self, expression: str, name: str) -> list[Answer]:
        key = f"{expression} {name}"
        if key not in self._found:
            self._found[key] = self._evaluator.call(expression, name)
        return self._both(key)

    def _both(self, key: str) -> list[Answer]:
        return [self._found[key], *([self._older[key]] if key in self._older else [])]


@pytest.fixture(scope="module")
def real() -> Real:
    return Real()


def check(cases: Cases, names: Iterable[str], capsys: pytest.CaptureFixture[str], *, exact: float) -> None:
    """No answer is wrong, and of the expressions that work at least this part is known exactly."""
    told = analysed([expression for _, expression, _ in cases], names)
    verdicts = [judged(answer, answers) for answer, (_, _, answers) in zip(told, cases, strict=True)]
    counts = collections.Counter(verdicts)
    with capsys.disabled():
        print("\n", ", ".join(f"{verdict.value}: {counts[verdict]}" for verdict in Verdict), end=" ")
    wrong = {
        key: (answer.fails or answer.value, answers)
        for answer, verdict, (key, _, answers) in zip(told, verdicts, cases, strict=True)
        if verdict is Verdict.WRONG
    }
    assert not wrong
    working = [counts[verdict] for verdict in (Verdict.EXACT, Verdict.PARTLY, Verdict.UNKNOWN)]
    assert working[0] >= exact * sum(working)


@pytest.mark.parametrize(
    "symbols", [table.ARITHMETIC, table.COMPARISONS, table.IN_PLACE], ids=["two", "compare", "in place"]
)
def test_operators(symbols: tuple[str, ...], real: Real, capsys: pytest.CaptureFixture[str]) -> None:
    share = 1 if symbols == table.IN_PLACE else examples(usual=3, many=1)
    cases: Cases = [
        (f"{left} {symbol} {right}", f"{left} {symbol} {right}", real.pair(left, symbol, right))
        for symbol, left, right in table.pairs(share)
        if symbol in symbols
    ]
    check(cases, table.OPERANDS, capsys, exact=0.88)


def test_functions(real: Real, capsys: pytest.CaptureFixture[str]) -> None:
    known = table.OPERANDS | table.ELEMENTS
    cases: Cases = []
    for expression, name in table.calls():
        answers = real.call(expression, name)
        # what fails may end the program
        if any(answer[0] != "error" for answer in answers):
            written = known[name] if name.startswith("made_") else name
            cases.append((f"{expression} {name}", expression.replace("{}", written), answers))
    check(cases, known, capsys, exact=0.85)


def test_operators_of_the_unknown(real: Real, capsys: pytest.CaptureFixture[str]) -> None:
    cases: Cases = []
    for unknown in UNKNOWN:
        for symbol in (*table.ARITHMETIC, *table.COMPARISONS, *table.IN_PLACE):
            for name in table.CHANGED if symbol in table.IN_PLACE else table.OPERANDS:
                if name in LISTS_KEEP:
                    continue
                for left, right in (
                    [(name, unknown)] if symbol in table.IN_PLACE else [(name, unknown), (unknown, name)]
                ):
                    text = f"{left} {symbol} {right}"
                    answers = [
                        answer
                        for operand in covered(text, unknown)
                        for answer in real.pair(
                            operand if left == unknown else left, symbol, operand if right == unknown else right
                        )
                    ]
                    cases.append((text, text, answers))
    check(cases, {*table.OPERANDS, *UNKNOWN}, capsys, exact=0.2)


def test_functions_of_the_unknown(real: Real, capsys: pytest.CaptureFixture[str]) -> None:
    cases: Cases = []
    possible = set(table.calls())
    for unknown in UNKNOWN:
        for expression in table.EXPRESSIONS:
            answers = [
                answer
                for operand in covered(expression, unknown)
                if (expression, operand) in possible
                for answer in real.call(expression, operand)
            ]
            cases.append((f"{expression} {unknown}", expression.replace("{}", unknown), answers))
    check(cases, {*table.OPERANDS, *UNKNOWN}, capsys, exact=0.3)
