"""Analyses whose last waiter was cancelled, and those that make room for a first answer."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from lsp_server.documents import Documents
from lsp_server.scheduler import Scheduler
from terra_refactor.config import Config
from terra_refactor.errors import SourceError
from terra_refactor.ide import session as sessions
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


def test_a_first_answer_does_not_wait_for_a_whole_analysis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While all of a project is analysed, a first answer about another file of it comes before that ends; then the analysis goes on."""
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "b.py").write_text("x = 1\n")
    monkeypatch.setattr(sessions, "_WIDE", 0)
    order: list[str] = []

    class Slow(Session):
        def snapshot(self, path: str, cancelled: Any = None, progress: Any = None) -> Any:
            order.append("whole begins")
            for _ in range(200):
                time.sleep(0.01)
                if cancelled():
                    raise StaleError("there is something else to do")
                if "first" in order:
                    break
            return super().snapshot(path, cancelled, progress)

    async def conversation() -> None:
        documents = Documents(lambda root: Slow(root, Config(jobs=1)))
        documents.add_folder(tmp_path.as_uri())
        scheduler = Scheduler(documents)
        path = documents.path_of((tmp_path / "a.py").as_uri())
        whole = asyncio.ensure_future(scheduler.snapshot(path))
        while not order:
            await asyncio.sleep(0.01)
        first = await scheduler.first(documents.path_of((tmp_path / "b.py").as_uri()))
        order.append("first")
        assert first is not None
        assert first.left_out == 1
        found = await whole
        order.append("whole")
        assert found is not None
        assert found.left_out == 0
        scheduler.stop()

    asyncio.run(conversation())
    assert order[0] == "whole begins"
    assert order.index("first") < order.index("whole")
    assert order.count("whole begins") == 2
