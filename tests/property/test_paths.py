"""No function of random paths is called safe that a graph breaks: TensorFlow is the judge (`path_judge.py`).

The functions of the first seeds have their answers in `path_answers.txt`, so that most runs need no TensorFlow. `make explore` asks about
others.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from path_judge import judge
from path_measure import ANSWERS, Measured, key_of, measure, read_answers
from path_programs import ARGUMENTS, HEAD, write_function

BLOCK = 200
SEEDS = 2000
FRESH = 100


def shown(found: Measured) -> str:
    """The functions that are wrongly called safe, for a person."""
    return "\n\n".join(f"{answer}\n{program.text}" for program, _, answer in found.wrong)


@pytest.mark.parametrize(
    "first",
    [pytest.param(first, marks=[pytest.mark.slow] if first >= 2 * BLOCK else []) for first in range(0, SEEDS, BLOCK)],
)
def test_nothing_is_called_safe_that_a_graph_breaks(first: int) -> None:
    known = read_answers(ANSWERS)
    programs = [write_function(seed) for seed in range(first, first + BLOCK)]
    assert all(key_of(program) in known for program in programs), "write the answers anew: path_measure.py"
    found = measure(programs, known)
    assert not found.wrong, shown(found)
    same = found.counts["safe, same"] + found.counts["speculative, same"] + found.counts["unsafe, same"]
    # what a graph returns in another form (TR318) is no matter of paths
    about_paths = [
        program.text
        for program, decision in found.needless
        if not any(hazard.rule == "TR318" for hazard in decision.hazards)
    ]
    assert len(about_paths) <= 0.03 * same, about_paths


@pytest.mark.tensorflow
@pytest.mark.slow
def test_answers_are_those_of_tensorflow() -> None:
    known = read_answers(ANSWERS)
    programs = [write_function(seed) for seed in range(0, SEEDS, SEEDS // 40)]
    answers = judge({program.name: program.text for program in programs}, ARGUMENTS, HEAD)
    assert {name: answer[0] for name, answer in answers.items()} == {
        program.name: known[key_of(program)][0] for program in programs
    }


@pytest.mark.tensorflow
@pytest.mark.slow
def test_functions_that_nobody_has_seen() -> None:
    explore = os.environ.get("TERRA_REFACTOR_HYPOTHESIS") == "explore"
    first = random.SystemRandom().randrange(10**6, 10**9) if explore else 10**6
    found = measure([write_function(seed) for seed in range(first, first + FRESH)], {})
    assert not found.wrong, shown(found)


def test_an_answer_belongs_to_a_text(tmp_path: Path) -> None:
    file = tmp_path / "answers.txt"
    program = write_function(3)
    file.write_text(f"{key_of(program)} d\n", encoding="utf-8")
    assert read_answers(file) == {key_of(program): "d"}
    assert key_of(program) != key_of(write_function(4))
