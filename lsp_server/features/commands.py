"""Commands: change or explain one function, all safe changes, the whole workspace with progress, the report as a page, the cache."""

from __future__ import annotations

import asyncio
import functools
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp_server.convert import range_as_json
from lsp_server.edits import workspace_edit
from lsp_server.features.diagnostics import publish_closed, publish_soon
from lsp_server.features.synchronization import refresh
from lsp_server.progress import Progress, progress_bar
from lsp_server.requests import decoded
from lsp_server.server import TerraServer
from terra_refactor.errors import SourceError
from terra_refactor.ide.causes import places_to
from terra_refactor.ide.code_actions import NewText, NotPossible, Request, best_change, perform
from terra_refactor.ide.explanations import function_text, shown_name
from terra_refactor.ide.regions import forget_regions, is_to_be_searched
from terra_refactor.ide.session import Session
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ide.whole_project import (
    Proposal,
    Totals,
    order_of_proposals,
    proposals,
    report_of,
    safe_changes,
    totals,
)
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.cache import clean_cache
from terra_refactor.workspace.workspace import cache_folder_of

APPLY_FUNCTION = "terra-refactor.applyFunction"
EXPLAIN_FUNCTION = "terra-refactor.explainFunction"
PROVE = "terra-refactor.prove"
CAUSES = "terra-refactor.causes"
SUPPRESS = "terra-refactor.suppress"
APPLY_SAFE = "terra-refactor.applyAllSafe"
ANALYZE_WORKSPACE = "terra-refactor.analyzeWorkspace"
PROPOSALS = "terra-refactor.proposals"
WRITE_REPORT = "terra-refactor.writeReport"
CLEAR_CACHE = "terra-refactor.clearCache"
ASK_REASON = "terra-refactor.suppressWithReason"
"""A command of the client that requests a reason and calls `SUPPRESS`."""
PROVE_HERE = "terra-refactor.proveChange"
"""A command of the same client that requests permission to run the program, and calls `PROVE`."""
ADD_PACKAGE = "terra-refactor.addPackage"
"""A command of the same client that installs the package into the program's environment, if the user agrees."""
NO_TENSORFLOW = "no TensorFlow"
"""The status of a proof for which no interpreter has TensorFlow: that client lets the user choose another."""
_RUN = "Run It"


def register(server: TerraServer) -> None:
    """Adds the handlers."""

    @server.command(APPLY_FUNCTION)
    async def apply_function(uri: str, qualname: str, line: int) -> bool:
        path = server.documents.path_of(uri)
        snapshot = await server.with_regions(path)
        return snapshot is not None and await _apply(server, best_change(snapshot, path, qualname, line))

    @server.command(EXPLAIN_FUNCTION)
    async def explain_function(uri: str, qualname: str, line: int) -> str | None:
        path = server.documents.path_of(uri)
        snapshot = await server.snapshot(path)
        for decision in () if snapshot is None else snapshot.decisions.get(path, ()):
            if (decision.qualname, decision.line) == (qualname, line):
                text = function_text(decision)
                if not server.client.asks_reason:
                    server.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))
                return text
        return None

    @server.command(CAUSES)
    async def causes(uri: str, line: int) -> list[dict[str, Any]]:
        """The paths from the innermost function around a line (from 1) to the code that keeps it from being a graph,
        certain hazards first.
        """
        path, line, _ = server.documents.place(uri, types.Position(line - 1, 0))
        snapshot = await server.snapshot(path)
        decision = None if snapshot is None else snapshot.decision_around(path, line)
        if snapshot is None or decision is None:
            return []
        ways = []
        for hazard in sorted(decision.hazards, key=lambda hazard: hazard.assumed):
            steps = []
            for place in places_to(snapshot, decision, hazard):
                located = server.documents.locate(snapshot.sources[place.path], place.span)
                if located is not None:
                    where = range_as_json(located[1])
                    steps.append({"uri": located[0], "range": where, "message": place.message})
            ways.append(
                {
                    "function": shown_name(decision.qualname),
                    "rule": hazard.rule,
                    "message": hazard.message,
                    "steps": steps,
                }
            )
        if ways and server.client.shows_documents and not server.client.asks_reason:
            place = places_to(snapshot, decision, min(decision.hazards, key=lambda hazard: hazard.assumed))[-1]
            located = server.documents.locate(snapshot.sources[place.path], place.span)
            if located is not None:
                shown = types.ShowDocumentParams(located[0], selection=located[1], take_focus=True)
                await server.window_show_document_async(shown)
        return ways

    @server.command(PROVE)
    async def prove_change(uri: str, qualname: str, line: int, how: dict[str, Any]) -> dict[str, Any] | None:
        """Runs the program with and without a change, and makes the change if both behave the same. `how` may name
        the interpreters that could have TensorFlow, in their order (`python`), and a command to run instead of
        generated calls (`run`). Without a name, the innermost function around the line is used. A change with
        assumptions is left to a client that shows the comparison first (`review`).
        """
        from terra_refactor.ide.proving import NoTensorFlow, ProofResult, change_around, prove  # noqa: PLC0415 - what runs programs is not for every start

        path = server.documents.path_of(uri)
        snapshot = await server.with_regions(path)
        if snapshot is None:
            return None
        if qualname:
            request: Request | NotPossible = best_change(snapshot, path, qualname, line)
        else:
            path, line, _ = server.documents.place(uri, types.Position(line - 1, 0))
            request = change_around(snapshot, path, line)
        if isinstance(request, NotPossible):
            server.tell(request.reason)
            return None
        if not (server.client.asks_reason or await _agrees(server)):
            return None
        named = how.get("python") or ()
        pythons = dict.fromkeys([named] if isinstance(named, str) else map(str, named))
        run = str(how.get("run") or "")
        shown: list[ProofResult] = []
        async with progress_bar(
            server, f"Running {shown_name(request.qualname)} with and without the change"
        ) as progress:
            # in a separate thread: the analysis continues meanwhile
            result = await asyncio.to_thread(
                prove, snapshot, request, tuple(pythons) or (sys.executable,), run, progress.is_cancelled
            )
            if isinstance(result, ProofResult):
                shown.append(result)
            elif isinstance(result, NoTensorFlow) and server.client.asks_reason:
                return {"status": NO_TENSORFLOW, "sentence": result.reason}
            else:
                server.tell(result.reason)
        for proof in shown:  # none if it was cancelled or nothing could be run
            if not server.client.asks_reason:
                server.window_show_message(types.ShowMessageParams(types.MessageType.Info, proof.sentence))
            new = perform(snapshot, request)
            # clients that can show the comparison do so before the user confirms the assumptions
            review = proof.holds and server.client.asks_reason and isinstance(new, NewText) and bool(new.assumptions)
            return {
                "status": proof.status.value,
                "applied": proof.holds and not review and await _apply(server, request),
                "review": review,
                "sentence": proof.sentence,
                "page": proof.page,
                "qualname": request.qualname,
                "name": shown_name(request.qualname),
                "line": request.line,
            }
        return None

    @server.command(SUPPRESS)
    async def suppress(_uri: str, request: dict[str, Any], reason: str) -> bool:
        asked = decoded({**request, "reason": reason})
        return await _apply(server, asked)

    @server.command(APPLY_SAFE)
    async def apply_all_safe(*chosen: dict[str, Any]) -> int:
        """Makes the safe changes of the workspace, each to be confirmed in the editor's preview; or immediately those
        chosen by `path`, `qualname` and `functionLine` of a proposal.
        """
        only = frozenset((str(each["path"]), str(each["qualname"]), int(each["functionLine"])) for each in chosen)
        wanted = functools.partial(safe_changes, only=only or None)
        changes: list[tuple[Snapshot, NewText]] = []
        async with progress_bar(server, "Looking for safe changes") as progress:
            for session in await _projects(server):
                changes.extend(await _working(server, session, progress, wanted))
        closed = [new.path for snapshot, new in changes if _is_closed_notebook(server, snapshot, new.path)]
        changes = [(snapshot, new) for snapshot, new in changes if new.path not in closed]
        if changes:
            edit = workspace_edit(server, changes, confirm=not only)
            await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, "All safe changes"))
        message = "" if changes else "There is no safe change left."
        if closed:  # called when the preview is closed, because the message would hide its buttons
            message = f"Not changed, because not open: {', '.join(map(os.path.basename, closed))}"
        if message:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, message))
        return len(changes)

    @server.command(ANALYZE_WORKSPACE)
    async def analyze_workspace() -> dict[str, int] | None:
        found = Totals()
        async with progress_bar(server, "Analysing the workspace") as progress:
            for session in await _projects(server):
                for component in await server.scheduler.in_thread(session.components):
                    progress.check()
                    analysed = functools.partial(session.snapshot, component[0], progress.is_cancelled, progress.told)
                    snapshot = await server.scheduler.in_thread(analysed)
                    if not server.pulls_workspace:
                        while is_to_be_searched(snapshot) and not await server.scheduler.regions(snapshot):
                            progress.check()
                            await asyncio.sleep(0.1)
                        publish_closed(server, snapshot)
                    found = found.plus(totals(snapshot))
        text = str(found) + (" (cancelled)" if progress.cancelled else "")
        server.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))
        return found.as_dict()

    @server.command(PROPOSALS)
    async def all_proposals() -> list[dict[str, Any]]:
        """Every proposed change in the workspace, the largest gain first."""
        found: list[Proposal] = []
        async with progress_bar(server, "Looking for changes") as progress:
            for session in await _projects(server):
                found.extend(await _working(server, session, progress, proposals))
        return [
            {
                "uri": located[0],
                "line": located[1].start.line + 1,
                "functionLine": proposal.line,
                "qualname": proposal.qualname,
                "name": shown_name(proposal.qualname),
                "path": proposal.path,
                "place": _place(proposal.snapshot.sources[proposal.path], proposal.line),
                "canChange": not _is_closed_notebook(server, proposal.snapshot, proposal.path),
                "title": proposal.title,
                "level": proposal.level.value,
                "isExtraction": proposal.is_extraction,
                "reason": proposal.reason,
                "assumptions": list(proposal.assumptions),
                "secondsSaved": proposal.seconds_saved,
            }
            for proposal in sorted(found, key=order_of_proposals)
            if (located := server.documents.locate(proposal.snapshot.sources[proposal.path], _line(proposal.line)))
        ]

    @server.command(WRITE_REPORT)
    async def write_report() -> str | None:
        from terra_refactor.report.to_html import to_html  # noqa: PLC0415 - what draws graphs is not for every start

        pages: list[str] = []
        async with progress_bar(server, "Writing the report") as progress:
            for session in await _projects(server):
                report = await _working(server, session, progress, report_of)
                folder = Path(tempfile.mkdtemp(prefix="terra-refactor-"))
                page = folder / "report.html"
                page.write_text(to_html(report), encoding="utf-8")
                pages.append(page.as_uri())
        if not pages:
            return None
        if server.client.shows_documents and not server.client.asks_reason:
            await server.window_show_document_async(types.ShowDocumentParams(pages[0], external=True))
        elif not server.client.asks_reason:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"The report is {pages[0]}"))
        return pages[0]

    @server.command(CLEAR_CACHE)
    async def clear_cache() -> int:
        entries = 0
        for session in server.documents.sessions():
            info = await server.scheduler.in_thread(functools.partial(clean_cache, cache_folder_of(session.config)))
            entries += info.entries + info.stale_entries
            await server.scheduler.in_thread(session.clear)
        await server.scheduler.in_thread(forget_regions)
        server.documents.generation += 1
        server.scheduler.changed()
        message = f"The cache is empty ({entries} entr{'y' if entries == 1 else 'ies'} removed)."
        server.window_show_message(types.ShowMessageParams(types.MessageType.Info, message))
        return entries


async def _apply(server: TerraServer, request: Request) -> bool:
    """Makes a change in the editor. Reports changes that the client rejects."""
    snapshot = await server.snapshot(request.path)
    if snapshot is None:
        return False
    result = perform(snapshot, request)
    if isinstance(result, NewText):
        try:
            edit = workspace_edit(server, [(snapshot, result)])
        except SourceError as error:
            result = NotPossible(error.message)
        else:
            applied = await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, result.title))
            return applied.applied
    server.tell(result.reason)
    return False


def _line(number: int) -> Span:
    return Span(number, 1, number, 1)


async def _agrees(server: TerraServer) -> bool:
    """Whether the user agrees to running their code; False if the editor cannot ask."""
    question = types.ShowMessageRequestParams(
        types.MessageType.Warning,
        "terra-refactor: this runs the code of the project, with your permissions.",
        [types.MessageActionItem(_RUN), types.MessageActionItem("Cancel")],
    )
    try:
        answer = await server.window_show_message_request_async(question)
    except JsonRpcException:
        return False
    return answer is not None and answer.title == _RUN


def _place(source: Source, line: int) -> str:
    """A line of a file in words; for a notebook, the cell and its line."""
    inside = None if source.notebook is None else source.notebook.cell_line(line)
    return f"{source.path}:{line}" if inside is None else f"{source.path}, cell {inside[0]}, line {inside[1]}"


def _is_closed_notebook(server: TerraServer, snapshot: Snapshot, path: str) -> bool:
    """Whether a path is a notebook that the client does not have open, so that there is no text to edit."""
    return snapshot.sources[path].notebook is not None and not server.documents.is_open(path)


async def _projects(server: TerraServer) -> tuple[Session, ...]:
    """The projects of the folders, or of the single files if there is no folder; as they are on disk, since the editor may
    report changes much later.
    """
    folders = tuple(folder.session for folder in server.documents.folders)
    sessions = folders or server.documents.sessions()
    changed = [session.check_disk(await server.scheduler.in_thread(session.listed)) for session in sessions]
    if any(changed):
        server.documents.generation += 1
        server.scheduler.changed()
        publish_soon(server)
        refresh(server)
    return sessions


async def _working(
    server: TerraServer,
    session: Session,
    progress: Progress,
    work: Callable[[Session, Callable[[], bool], Callable[[str, int, int], None]], Any],
) -> Any:
    return await server.scheduler.in_thread(functools.partial(work, session, progress.is_cancelled, progress.told))
