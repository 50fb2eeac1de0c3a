"""Waiting for worker processes: it can be ended before the first of them has a result."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from terra_refactor.workspace.pool import Attempt, Unusual, _first_done


class EndedError(Exception):
    pass


def test_waiting_for_a_process_can_be_ended() -> None:
    told: list[int] = []

    def advance(count: int) -> None:
        told.append(count)
        if len(told) == 3:
            raise EndedError

    with pytest.raises(EndedError):
        _first_done({Future[Attempt]()}, 600.0, advance)
    assert told == [0, 0, 0]


def test_what_is_done_is_given_at_once_and_patience_ends() -> None:
    done, pending = Future[Attempt](), Future[Attempt]()
    done.set_result(Unusual())
    assert _first_done({done, pending}, 600.0, lambda _: None) == ({done}, {pending})
    assert _first_done({pending}, 0.01, lambda _: None) == (set(), {pending})
