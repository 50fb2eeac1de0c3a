"""Generated programs: the shim and eager execution agree on all of them.

`TERRA_REFACTOR_GENERATED=5000` runs that many instead of the few of every day.
"""

from __future__ import annotations

import os

import pytest

tf = pytest.importorskip("tensorflow")

from hypothesis import HealthCheck, given, settings  # noqa: E402

from terra_refactor.runtime import co_execute  # noqa: E402
from tests.runtime.conftest import difference, observe  # noqa: E402
from tests.runtime.generated import Machine, statements  # noqa: E402

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow, pytest.mark.usefixtures("float64")]

USUAL = 25
COUNT = int(os.environ.get("TERRA_REFACTOR_GENERATED", USUAL))
if COUNT == USUAL:
    pytestmark.append(pytest.mark.kept)


@settings(
    max_examples=COUNT,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=COUNT <= USUAL,
    database=None,
)
@given(program=statements())
def test_a_generated_program_means_the_same(program: list[object]) -> None:
    def build() -> object:
        machine = Machine()
        return machine.step(program), machine.state

    expected = observe(build, lambda step: step, 5)
    actual = observe(build, co_execute, 5)
    assert difference(expected, actual) is None, difference(expected, actual)
