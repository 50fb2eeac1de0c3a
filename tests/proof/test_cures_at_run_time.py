"""TensorFlow is the judge of cures: the cured program as a graph does what the program did eagerly, before anybody decorated it."""

from __future__ import annotations

import pytest
from cure_support import Case, cure_cases
from observations import Observation, observe

CASES = tuple(case for case in cure_cases() if case.after is not None)


@pytest.fixture(scope="module")
def observations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Observation]:
    programs = {}
    for number, case in enumerate(CASES):
        assert case.after is not None
        programs |= {f"before_{number}": case.before, f"after_{number}": case.after}
    return observe(programs, tmp_path_factory.mktemp("cures"))


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number].name)
def test_cured_graph_agrees_with_eager(number: int, observations: dict[str, Observation]) -> None:
    case: Case = CASES[number]
    before, after = observations[f"before_{number}"].eager, observations[f"after_{number}"].graph
    assert before.error is None
    assert after.error is None
    assert after.results == before.results
    assert after.lines == before.lines or "sys.stderr" in case.before  # which is not watched


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number].name)
def test_cured_program_is_the_same_eagerly(number: int, observations: dict[str, Observation]) -> None:
    before, after = observations[f"before_{number}"].eager, observations[f"after_{number}"].eager
    assert after.error is None
    assert after.results == before.results
    assert after.lines == before.lines or "sys.stderr" in CASES[number].before
