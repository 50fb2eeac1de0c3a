"""The ten programs of corpus/coexec under the shim, in shadow mode: float64, everything that can be seen, against eager execution.

Sixty steps, with and without XLA, are compared by `benchmarks/coexec.py --check`, in processes of their own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from kept_answers import Harness, code_of

tf = pytest.importorskip("tensorflow")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import corpus.coexec  # noqa: E402
from corpus.coexec.program import NAMES, build, first_difference, record  # noqa: E402
from terra_refactor.runtime import co_execute  # noqa: E402
from terra_refactor.runtime.report import describe, programs  # noqa: E402
from tests.runtime.conftest import SHIM  # noqa: E402

FOLDER = Path(corpus.coexec.__file__).parent
RUNS = Harness("shim_ten_programs", (*SHIM, FOLDER / "program.py", FOLDER / "bert_encoder.py", Path(__file__)))

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow, pytest.mark.usefixtures("float64")]

# Recorded, seen again and built, run compiled. DropBlock's schedule gives each of the first thirteen steps a path of its own.
STEPS = 16


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_eager_execution_and_so_does_each_segment(name: str) -> None:
    # what agreed is not run again until the shim, the program or this file changes; what did not is never kept
    assert RUNS.answer(f"{name} {code_of(FOLDER / f'{name}.py')}", lambda: compared(name)) == "agrees"


def compared(name: str) -> str:
    """A run under the shim against an eager one."""
    expected = record(build(name, "small", "float64"), STEPS)
    program = build(name, "small", "float64")
    step = co_execute(program.step, shadow=True, name=name)
    actual = record(program, STEPS, step)
    ours = programs()[-1]  # lives as long as `step` does
    assert first_difference(expected, actual) is None, describe(ours)
    assert ours.shadow_checks and ours.segments_run, describe(ours)
    assert not ours.shadow_differences, describe(ours)
    assert not ours.build_failures, describe(ours)
    return "agrees"
