"""The memory of the frames on the large stack."""

from __future__ import annotations

import sys

import pytest

from terra_refactor.syntax.deep_stack import call_with_deep_stack


def leaf(number: int) -> int:
    return number


def inner(number: int) -> int:
    return leaf(number)


def loop_at(depth: int) -> None:
    if depth:
        loop_at(depth - 1)
        return
    for number in range(200):
        inner(number)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the pages that were taken")
def test_a_loop_of_calls_takes_no_new_memory_at_any_depth() -> None:
    import resource  # noqa: PLC0415 - only Linux has the counts

    def taken() -> int:
        return int(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt)

    def pages() -> int:
        before = taken()
        for depth in range(400):
            loop_at(depth)
        return taken() - before

    # a block of 16 kB for the frames of each call at its end would be thousands
    assert call_with_deep_stack(pages, at_once=True) < 500


def deep(number: int) -> int:
    return 1 + deep(number - 1) if number else 0


def test_the_large_stack_is_deep_and_ends() -> None:
    assert call_with_deep_stack(lambda: deep(40_000)) == 40_000
    with pytest.raises(RecursionError):
        call_with_deep_stack(lambda: deep(70_000))
