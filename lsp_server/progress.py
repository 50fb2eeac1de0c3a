"""Progress bars of the client: for requested work, and for slow analyses.

Gives: `progress_bar`, `Progress`, `slow_analysis`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from lsprotocol import types

from lsp_server.server import TerraServer
from terra_refactor.errors import TerraError
from terra_refactor.ide.session import Session, StaleError
from terra_refactor.workspace.workspace import ProgressCallback

_SLOW: Final = 1.0
"""Seconds after which an analysis shows its progress."""


@dataclass(slots=True)
class Progress:
    """A progress bar of the client; `told` and `is_cancelled` are called in the thread of the analysis."""

    server: TerraServer
    token: str | None
    loop: asyncio.AbstractEventLoop
    cancellable: bool = True
    last: str = ""

    @property
    def cancelled(self) -> bool:
        """Whether the user cancelled."""
        tokens = self.server.work_done_progress.tokens
        return self.token is not None and self.token in tokens and tokens[self.token].cancelled()

    def is_cancelled(self) -> bool:
        """`cancelled`, as a function to pass on."""
        return self.cancelled

    def check(self) -> None:
        """Raises StaleError if it was cancelled."""
        if self.cancelled:
            raise StaleError("cancelled")

    def told(self, stage: str, done: int, total: int) -> None:
        """Reports the progress."""
        text = f"{stage} {done}/{total}"
        if self.token is not None and total and text != self.last:
            self.last = text
            report = types.WorkDoneProgressReport(
                message=text, percentage=100 * done // total, cancellable=self.cancellable
            )
            self.loop.call_soon_threadsafe(self.server.work_done_progress.report, self.token, report)


@contextlib.asynccontextmanager
async def progress_bar(server: TerraServer, title: str, *, cancellable: bool = True) -> AsyncIterator[Progress]:
    """A progress bar around some work; ends quietly when cancelled."""
    window = server.client_capabilities.window
    token = f"terra-refactor-{uuid.uuid4()}" if window is not None and window.work_done_progress else None
    progress = Progress(server, token, asyncio.get_running_loop(), cancellable)
    if token is not None:
        await server.work_done_progress.create_async(token)
        begin = types.WorkDoneProgressBegin(title, cancellable=cancellable, percentage=0)
        server.work_done_progress.begin(token, begin)
    try:
        yield progress
    except StaleError:
        pass
    except TerraError as error:
        server.tell(str(error))
    finally:
        if token is not None:
            server.work_done_progress.end(token, types.WorkDoneProgressEnd())


@contextlib.asynccontextmanager
async def slow_analysis(server: TerraServer, session: Session) -> AsyncIterator[ProgressCallback]:
    """Shows a progress bar for a slow background analysis."""
    ended = asyncio.Event()
    shown: list[Progress] = []

    async def show() -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(ended.wait(), _SLOW)
            return
        async with progress_bar(server, f"terra-refactor: {os.path.basename(session.root)}", cancellable=False) as bar:
            shown.append(bar)
            await ended.wait()

    def told(stage: str, done: int, total: int) -> None:
        for bar in shown:
            bar.told(stage, done, total)

    server.keep(asyncio.ensure_future(show()))
    try:
        yield told
    finally:
        ended.set()
