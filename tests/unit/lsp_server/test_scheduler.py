"""Analyses whose last waiter was cancelled."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from lsp_server.documents import Documents
from lsp_server.scheduler import Scheduler
from terra_refactor.config import Config
from terra_refactor.errors import SourceError
from terra_refactor.ide.session import Session, StaleError


@pytest.mark.parametrize(
    ("failure", "logged"), [(StaleError(), 0), (SourceError("a.py", "is gone"), 0), (ValueError("a bug"), 1)]
)
def test_nobody_complains_of_an_analysis_that_nobody_waits_for(
    failure: Exception, logged: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    complaints: list[Any] = []

    async def conversation() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        scheduler = Scheduler(Documents(lambda root: Session(root, Config())))
        release = asyncio.Event()

        async def failing(*_: object) -> Any:
            await release.wait()
            raise failure

        monkeypatch.setattr(scheduler, "_run", failing)
        waiting = [asyncio.ensure_future(scheduler.snapshot("a.py")) for _ in range(3)]
        await asyncio.sleep(0.01)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        release.set()
        await asyncio.sleep(0.01)
        scheduler._jobs.clear()  # the last reference: what nobody retrieved is complained of now
        scheduler.stop()

    with caplog.at_level(logging.ERROR):
        asyncio.run(conversation())
    assert not complaints
    assert not [record for record in caplog.records if record.name == "asyncio"]
    assert len([record for record in caplog.records if "the analysis of a.py failed" in record.message]) == logged
