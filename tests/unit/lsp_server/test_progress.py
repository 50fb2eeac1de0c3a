"""An analysis that takes long shows how far it is; one that is short shows nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from lsp_server import progress
from lsp_server.progress import slow_analysis
from lsp_server.server import TerraServer
from terra_refactor.config import Config
from terra_refactor.ide.session import Session


class _Bars:
    """The client's side of progress bars."""

    def __init__(self) -> None:
        self.tokens: dict[str, asyncio.Future[None]] = {}
        self.seen: list[tuple[str, Any]] = []

    async def create_async(self, token: str) -> None:
        self.tokens[token] = asyncio.get_running_loop().create_future()

    def begin(self, _: str, value: Any) -> None:
        self.seen.append(("begin", value.title))

    def report(self, _: str, value: Any) -> None:
        self.seen.append((value.message, value.percentage))

    def end(self, _: str, __: Any) -> None:
        self.seen.append(("end", None))


class _Server:
    """As much of the server as a bar needs."""

    def __init__(self) -> None:
        self.work_done_progress = _Bars()
        self.tasks: list[Any] = []

        class Window:
            work_done_progress = True

        class Capabilities:
            window = Window()

        self.client_capabilities = Capabilities()

    def keep(self, task: Any) -> None:
        self.tasks.append(task)


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, False), (0.3, True)])
def test_only_a_long_analysis_has_a_bar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, shown: bool
) -> None:
    monkeypatch.setattr(progress, "_SLOW", 0.05)
    session = Session(str(tmp_path), Config())
    server = _Server()

    async def analysis() -> None:
        async with slow_analysis(cast(TerraServer, server), session) as told:
            told("reading", 1, 4)
            await asyncio.sleep(seconds)
            told("analysing", 3, 4)
            told("analysing", 3, 4)
            await asyncio.sleep(0.01)
        await asyncio.gather(*server.tasks)

    asyncio.run(analysis())
    wanted = [("begin", f"terra-refactor: {tmp_path.name}"), ("analysing 3/4", 75), ("end", None)]
    assert server.work_done_progress.seen == (wanted if shown else [])


def test_a_bar_ends_with_an_analysis_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SLOW", 0.01)
    session = Session(str(tmp_path), Config())
    server = _Server()

    async def analysis() -> None:
        with pytest.raises(ValueError, match="a bug"):
            async with slow_analysis(cast(TerraServer, server), session):
                await asyncio.sleep(0.1)
                raise ValueError("a bug")
        await asyncio.gather(*server.tasks)

    asyncio.run(analysis())
    assert [what for what, _ in server.work_done_progress.seen] == ["begin", "end"]
