"""The longest modules come first, some are divided among workers, and there are more examples where everything is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kept_answers import SETTING
from running_time import LONGEST_FIRST, SPREAD, examples, unit_of


def test_the_longest_modules_are_there() -> None:
    root = Path(__file__).parents[2]
    assert [name for name in LONGEST_FIRST if not (root / name).is_file()] == []
    assert len(set(LONGEST_FIRST)) == len(LONGEST_FIRST)
    assert set(LONGEST_FIRST) >= SPREAD


def test_they_come_first(request: pytest.FixtureRequest) -> None:
    modules = list(dict.fromkeys(item.nodeid.partition("::")[0] for item in request.session.items))
    long = [name for name in modules if name in LONGEST_FIRST]
    assert modules[: len(long)] == sorted(long, key=LONGEST_FIRST.index)


def test_a_worker_takes_a_module_or_a_test_of_one_that_is_spread() -> None:
    spread = min(SPREAD)
    assert unit_of(f"{spread}::test_a[b]") == f"{spread}::test_a[b]"
    assert unit_of("tests/unit/test_a.py::test_b") == unit_of("tests/unit/test_a.py::test_c") == "tests/unit/test_a.py"
    assert unit_of("tests/unit/test_a.py::TestB::test_c") == "tests/unit/test_a.py::TestB"


@pytest.mark.parametrize("module", sorted(SPREAD))
def test_what_is_spread_shares_nothing(module: str) -> None:
    text = (Path(__file__).parents[2] / module).read_text(encoding="utf-8")
    assert not re.search(r"fixture\(.*scope=|lru_cache|functools\.cache", text)


@pytest.mark.parametrize(
    ("answers", "hypothesis", "expected"),
    [("", "", 1), ("write", "repeatable", 1), ("fresh", "", 2), ("", "explore", 2)],
)
def test_everything_is_more(monkeypatch: pytest.MonkeyPatch, answers: str, hypothesis: str, expected: int) -> None:
    monkeypatch.setenv(SETTING, answers)
    monkeypatch.setenv("TERRA_REFACTOR_HYPOTHESIS", hypothesis)
    assert examples(usual=1, many=2) == expected
