"""Training programs as people write them do the same when their steps have become functions: TensorFlow runs both texts.

What a model adds as losses, weights of losses that grow from epoch to epoch, metrics that each epoch makes, conditions that say which
names there are.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kept_answers import Harness
from region_projects_of_training import OTHER_CONDITIONS, PROGRAMS, SAME_CONDITION, UNKNOWN_OBJECTS
from region_runs import difference_of_runs

from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, fix

pytestmark = pytest.mark.tensorflow

RUNS = Harness("usual_training", (Path(__file__).with_name("region_runs.py"),))


def kept_difference(before: str, after: str) -> str:
    """The difference of the runs of two texts, kept while neither changes."""
    return RUNS.answer(json.dumps([before, after]), lambda: difference_of_runs(before, after))


def fixed(text: str, level: str = "safe") -> str:
    Path("m.py").write_text(text, encoding="utf-8")
    files = fix(["m.py"], Options(Config(level=level, jobs=1), use_cache=False)).files
    return files[0].new_text if files else text


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_step_becomes_a_function_that_does_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorflow")
    monkeypatch.chdir(tmp_path)
    text = PROGRAMS[name]
    after = fixed(text)
    assert "@tf.function" in after
    assert kept_difference(text, after) == "same", after


@pytest.mark.parametrize("name", UNKNOWN_OBJECTS)
def test_the_step_of_unknown_networks_does_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorflow")
    monkeypatch.chdir(tmp_path)
    text = UNKNOWN_OBJECTS[name]
    after = fixed(text, "speculative")
    assert "@tf.function" in after
    assert kept_difference(text, after) == "same", after


def test_names_under_a_condition_that_no_pass_changes_are_those_of_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorflow")
    monkeypatch.chdir(tmp_path)
    after = fixed(SAME_CONDITION, "speculative")
    assert "    return loss, total\n" in after
    assert kept_difference(SAME_CONDITION, after) == "same", after


@pytest.mark.parametrize("name", OTHER_CONDITIONS)
def test_names_that_another_pass_has_bound_are_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function raises where the loop has the value of an earlier pass."""
    pytest.importorskip("tensorflow")
    monkeypatch.chdir(tmp_path)
    text = OTHER_CONDITIONS[name]
    after = fixed(text, "speculative")
    if after != text:
        assert kept_difference(text, after) == "same", after
