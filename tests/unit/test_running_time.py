"""The longest modules come first, and there are more examples where everything is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_answers import SETTING
from running_time import LONGEST_FIRST, examples


def test_the_longest_modules_are_there() -> None:
    root = Path(__file__).parents[2]
    assert [name for name in LONGEST_FIRST if not (root / name).is_file()] == []
    assert len(set(LONGEST_FIRST)) == len(LONGEST_FIRST)


def test_they_come_first(request: pytest.FixtureRequest) -> None:
    modules = list(dict.fromkeys(item.nodeid.partition("::")[0] for item in request.session.items))
    long = [name for name in modules if name in LONGEST_FIRST]
    assert modules[: len(long)] == sorted(long, key=LONGEST_FIRST.index)


@pytest.mark.parametrize(
    ("answers", "hypothesis", "expected"),
    [("", "", 1), ("write", "repeatable", 1), ("fresh", "", 2), ("", "explore", 2)],
)
def test_everything_is_more(monkeypatch: pytest.MonkeyPatch, answers: str, hypothesis: str, expected: int) -> None:
    monkeypatch.setenv(SETTING, answers)
    monkeypatch.setenv("TERRA_REFACTOR_HYPOTHESIS", hypothesis)
    assert examples(usual=1, many=2) == expected
