"""Steps that keep, print and draw numbers do the same when they have become functions: TensorFlow runs both texts.

Its answer to a pair of texts is kept (`kept_answers`).
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from kept_answers import Harness
from region_runs import difference_of_runs
from shown_results import (
    CHANGED,
    CHOSEN,
    FLOATS,
    MOVED,
    NOISE,
    OTHER_NUMBERS,
    OTHERS,
    RETURNED_GRADIENTS,
    ROWS,
    UNKNOWN_ARRAYS,
)

from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, fix

pytestmark = pytest.mark.tensorflow

RUNS = Harness("shown_results", (Path(__file__).with_name("region_runs.py"),))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def difference(before: str, after: str) -> str:
    """`same`, or how the runs of two texts differ; kept while neither changes."""

    def ask() -> str:
        pytest.importorskip("tensorflow")
        return difference_of_runs(before, after)

    return RUNS.answer(json.dumps([before, after]), ask)


def fixed(text: str) -> str:
    Path("m.py").write_text(text, encoding="utf-8")
    files = fix(["m.py"], Options(Config(level="speculative", jobs=1), use_cache=False)).files
    return files[0].new_text if files else text


@pytest.mark.parametrize("name", MOVED)
def test_what_is_kept_and_shown_moves_behind_the_step(name: str) -> None:
    after = fixed(MOVED[name])
    step = after.partition("@tf.function")[2].partition("    def train(self)")[0]
    assert "assign_sub" in step and "append" not in step and "print" not in step and "show" not in step, after
    assert difference(MOVED[name], after) == "same", after


@pytest.mark.parametrize("name", OTHERS)
def test_code_that_could_tell_when_does_the_same(name: str) -> None:
    after = fixed(OTHERS[name])
    assert difference(OTHERS[name], after) == "same", after


@pytest.mark.parametrize(("noise", "used"), FLOATS)
def test_a_float_that_an_operation_converts_is_given_as_float32(noise: str, used: str) -> None:
    text = NOISE.format(noise=noise, used=used)
    after = fixed(text)
    assert "np.float32(np.random" in after or "np.float32(noise)" in after, after
    assert difference(text, after) == "same", after


@pytest.mark.parametrize(("noise", "used"), OTHER_NUMBERS)
def test_a_number_about_which_something_else_decides_is_not(noise: str, used: str) -> None:
    text = NOISE.format(noise=noise, used=used)
    after = fixed(text)
    assert "np.float32(" not in after, after
    assert difference(text, after) == "same", after


def rows(text: str) -> str:
    return ROWS.format(rows=textwrap.indent(text, " " * 12))


def test_rows_of_an_array_are_chosen_before_the_step() -> None:
    after = fixed(rows(CHOSEN))
    assert "train_step(batch, states[batch])" in after or "train_step(states[batch])" in after, after
    assert difference(rows(CHOSEN), after) == "same", after


@pytest.mark.parametrize("text", CHANGED)
def test_rows_of_an_array_that_the_step_changes_are_not(text: str) -> None:
    after = fixed(rows(text))
    assert difference(rows(text), after) == "same", after


@pytest.mark.parametrize("text", UNKNOWN_ARRAYS)
def test_arrays_of_unknown_dtypes_are_converted_as_eager_operations_do(text: str) -> None:
    """A graph gets a float64 tensor, which no operation adds to a float32."""
    after = fixed(text)
    assert 'rewards.astype("float32")' in after
    assert difference(text, after) == "same", after


@pytest.mark.parametrize("text", RETURNED_GRADIENTS)
def test_so_are_those_whose_gradients_another_function_applies(text: str) -> None:
    after = fixed(text)
    assert 'rewards.astype("float32")' in after or 'np.asarray(rewards, "float32")' in after, after
    assert difference(text, after) == "same", after
