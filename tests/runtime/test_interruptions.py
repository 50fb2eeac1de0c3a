"""The programs of `interruptions.py`: what was deferred before deferral ends means the same after it, bit for bit."""

from __future__ import annotations

import functools

import pytest

tf = pytest.importorskip("tensorflow")

from tests.runtime.interruptions import INTERRUPTIONS, program  # noqa: E402
from tests.runtime.test_against import plain  # noqa: E402

pytestmark = [pytest.mark.tensorflow, pytest.mark.kept]
# ruff: noqa: PLC0415


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Even though the `tf.config")  # functions of tf.data stay graphs
@pytest.mark.parametrize(
    "interruption",
    [pytest.param(name, marks=[pytest.mark.concurrent] if "thread" in name else []) for name in INTERRUPTIONS],
)
def test_what_was_deferred_means_the_same_after_an_interruption(interruption: str) -> None:
    from terra_refactor.runtime import co_execute

    eager = plain(program(lambda function: function, interruption))
    assert plain(program(functools.partial(co_execute, measure=False), interruption)) == eager


@pytest.mark.slow
def test_what_was_deferred_means_the_same_where_nothing_new_is_recorded() -> None:
    from terra_refactor.runtime import co_execute

    eager = plain(program(lambda function: function, "a_value"))
    for paths in (1, 3, 9):
        co = functools.partial(co_execute, measure=False, max_paths=paths)
        assert plain(program(co, "a_value")) == eager
