"""The diagnostics of the whole workspace, where the search for training steps makes way for an open file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types

from lsp_server.features import workspace_diagnostics
from lsp_server.scheduler import Scheduler
from lsp_server.server import TerraServer
from terra_refactor.ide.snapshot import Snapshot

STEP = Path(__file__).parents[3] / "vscode-extension/e2e/project/fit.py"


def test_a_search_that_made_way_begins_again_although_no_text_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fit.py").write_text(STEP.read_text())
    searches: list[bool] = []
    search = Scheduler.regions

    async def interrupted_once(scheduler: Scheduler, snapshot: Snapshot) -> bool:
        searches.append(len(searches) > 0 and await search(scheduler, snapshot))
        return searches[-1]

    monkeypatch.setattr(Scheduler, "regions", interrupted_once)

    async def pulled() -> types.WorkspaceDiagnosticReport:
        server = TerraServer()
        server.documents.add_folder(tmp_path.as_uri())
        workspace_diagnostics.register(server)
        pull = server.protocol.fm.features[types.WORKSPACE_DIAGNOSTIC]
        try:
            return await asyncio.wait_for(pull(types.WorkspaceDiagnosticParams([])), 60)  # type: ignore[no-any-return]
        finally:
            server.scheduler.stop()

    (report,) = asyncio.run(pulled()).items
    assert [item.code for item in report.items] == ["TR507"]  # type: ignore[union-attr]
    assert searches == [False, True]
