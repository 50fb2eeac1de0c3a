"""No function of random paths is called safe that a graph breaks: TensorFlow is the judge (`path_judge.py`).

TensorFlow's answers are kept (`kept_answers`), so that most runs need no TensorFlow. `make test-all` decides about 2,000, `make
explore` asks about other functions.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
from kept_answers import SETTING
from path_judge import judge
from path_measure import Measured, answers_of, measure, question
from path_programs import ARGUMENTS, HEAD, write_function
from running_time import examples

BLOCK = 200
# answers are kept for all of them
SEEDS = 2000 if os.environ.get(SETTING) == "write" else examples(usual=600, many=2000)
FRESH = 100


def shown(found: Measured) -> str:
    """The functions that are wrongly called safe, for a person."""
    return "\n\n".join(f"{answer}\n{program.text}" for program, _, answer in found.wrong)


@pytest.mark.parametrize(
    "first",
    [pytest.param(first, marks=[pytest.mark.slow] if first >= BLOCK else []) for first in range(0, SEEDS, BLOCK)],
)
def test_nothing_is_called_safe_that_a_graph_breaks(first: int) -> None:
    found = measure([write_function(seed) for seed in range(first, first + BLOCK)])
    assert not found.wrong, shown(found)
    same = found.counts["safe, same"] + found.counts["speculative, same"] + found.counts["unsafe, same"]
    needless = [program.text for program, _ in found.needless]
    assert len(needless) <= 0.03 * same, needless


@pytest.mark.tensorflow
@pytest.mark.slow
def test_tensorflow_says_what_is_kept() -> None:
    """A few are asked again in each run; `make test-all` asks all."""
    programs = [write_function(seed) for seed in range(0, SEEDS, SEEDS // 16)]
    verdicts = judge({program.name: program.text for program in programs}, ARGUMENTS, HEAD)
    kept = answers_of(programs)
    assert {name: verdict.partition(":")[0] for name, verdict in verdicts.items()} == {
        name: answer.partition(":")[0] for name, answer in kept.items()
    }


@pytest.mark.tensorflow
@pytest.mark.slow
def test_functions_that_nobody_has_seen() -> None:
    explore = os.environ.get("TERRA_REFACTOR_HYPOTHESIS") == "explore"
    first = random.SystemRandom().randrange(10**6, 10**9) if explore else 10**6
    found = measure([write_function(seed) for seed in range(first, first + FRESH)])
    assert not found.wrong, shown(found)


def test_an_answer_belongs_to_a_text() -> None:
    program = write_function(3)
    assert question(program) == question(replace(program, name="other", text=program.text.replace("f3", "other", 1)))
    assert question(program) != question(write_function(4))
