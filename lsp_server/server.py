"""The state of the server.

Gives: `TerraServer`. The features are separate modules below `features/`, which `lsp_server.wiring` combines; a
handler decodes, calls `terra_refactor.ide` and encodes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from lsp_server.convert import agreed_encoding
from lsp_server.documents import Documents
from lsp_server.protocol import AnsweringProtocol
from lsp_server.scheduler import Scheduler
from lsp_server.settings import EditorSettings, parse_settings
from terra_refactor import __version__
from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.ide.regions import Regions, known_regions, shown_regions
from terra_refactor.ide.session import Session
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.workspace.cache import LoweringCache, ResultCache
from terra_refactor.workspace.workspace import cache_folder_of

NAME = "terra-refactor-lsp"
_QUIET: Final = 0.5
"""Seconds without a change after which regions are searched without a request."""
LOGGER = logging.getLogger(__name__)

NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        # the type must be given: clients built on lsprotocol 2025.0.0 do not understand a selector without it. Cells
        # of all languages are requested, because they are identified by their index in the document
        types.NotebookDocumentFilterWithNotebook(
            notebook=types.NotebookDocumentFilterNotebookType(notebook_type=notebook_type)
        )
        for notebook_type in ("jupyter-notebook", "interactive")
    ],
    save=True,
)


@dataclass(frozen=True, slots=True)
class Client:
    """The relevant capabilities of the client."""

    pulls: bool = False
    related_documents: bool = False
    resolves_edits: bool = False
    annotates_changes: bool = False
    document_changes: bool = False
    disabled_actions: bool = False
    refreshes_diagnostics: bool = False
    refreshes_hints: bool = False
    refreshes_lenses: bool = False
    refreshes_tokens: bool = False
    reads_configuration: bool = False
    watches_files: bool = False
    shows_documents: bool = False
    runs_shim: bool = True
    """The program's environment has the co-execution shim, as far as the client knows."""
    asks_reason: bool = False
    """The client has the commands of our own extension: it asks for the reason of a suppression, and shows texts and
    pages itself.
    """


class TerraServer(LanguageServer):
    """The language server."""

    def __init__(self) -> None:
        super().__init__(
            NAME,
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            notebook_document_sync=NOTEBOOKS,
            protocol_cls=AnsweringProtocol,
        )
        self.client = Client()
        self.settings: dict[str, EditorSettings] = {}
        """By folder path; `""` for files outside of all folders."""
        self.documents = Documents(self.make_session)
        self.scheduler = Scheduler(self.documents)
        self.told: dict[str, str] = {}
        """The identity of the diagnostics that were sent last, by URI."""
        self.pushed_closed: set[str] = set()
        """Files that are not open and have published diagnostics."""
        self.pulls_workspace = False
        """The client requests the findings of the whole workspace."""
        self.publishing: asyncio.Future[None] | None = None
        self.widened: Callable[[], None] = lambda: None
        """Called when the full analysis is finished for files with a first answer."""
        self._widening: set[str] = set()
        """The projects with a first answer, by their folders, during their full analysis."""
        self._looking: set[str] = set()
        self.regions_found: Callable[[], Awaitable[object]] | None = None
        """Called when the regions of a file were found, which changes its diagnostics."""
        """The files whose regions are being searched."""
        self._tasks: set[asyncio.Future[Any]] = set()

    def settings_changed(self) -> None:
        """Applies the settings of the whole editor that concern the server itself."""
        logging.getLogger().setLevel(self.settings.get("", EditorSettings()).log_level.upper())

    def keep(self, task: asyncio.Future[Any]) -> None:
        """Keeps a reference to a task of the server, so that it is not garbage collected, and logs it if it fails."""
        self._tasks.add(task)

        def done(finished: asyncio.Future[Any]) -> None:
            self._tasks.discard(finished)
            if not finished.cancelled() and (error := finished.exception()) is not None:
                LOGGER.error("%r", error)

        task.add_done_callback(done)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A crash affects only its request: the client receives an error, the log has the trace, and nothing pops up."""
        LOGGER.error("%s: %r", getattr(source, "__name__", source), error)

    # --- projects ------------------------------------------------------------------------------------------------------------------

    def settings_of(self, path: str) -> EditorSettings:
        """The settings for a path (absolute): those of the innermost folder around it."""
        around = [folder for folder in self.settings if folder and (path + "/").startswith(folder.rstrip("/") + "/")]
        return self.settings.get(max(around, key=len, default=""), EditorSettings())

    def make_session(self, root: str) -> Session:
        """The project of a folder or a single file. Reports configuration errors and falls back to the defaults."""
        settings = self.settings_of(root)
        for problem in settings.problems:
            self.tell(problem)
        try:
            config = settings.config(root)
            for notice in config.notices:
                self.tell(notice)
            folder = cache_folder_of(config)
            return Session(root, config, LoweringCache(folder), ResultCache(folder))
        except UsageError as error:
            self.tell(f"{error}. The defaults are used.")
            return Session(root, Config(), LoweringCache(), ResultCache())

    def tell(self, message: str) -> None:
        """Shows the user an error and its remedy."""
        self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"terra-refactor: {message}"))

    async def snapshot(self, path: str) -> Snapshot | None:
        """The current snapshot of a path; None if it is disabled or cannot be read."""
        return await self._asked(self.scheduler.snapshot, path)

    async def first(self, path: str) -> Snapshot | None:
        """Like `snapshot`, for features that can be refreshed: if much code connected with the path is not analysed
        yet, it is a first answer from the file and its imports.

        The client is asked to refresh when the full answer is known.
        """
        if not (self.client.refreshes_diagnostics or not self.client.pulls):
            return await self.snapshot(path)
        found = await self._asked(self.scheduler.first, path)
        if found is not None and found.left_out:
            self.keep(asyncio.ensure_future(self._widen(path)))
        return found

    async def consistent(self, path: str) -> Snapshot | None:
        """Like `first`, for features that cannot combine the answers before and after an edit: in that case it waits
        for the full answer.
        """
        found = await self.first(path)
        return found if found is None or found.before is None else await self.snapshot(path)

    async def with_regions(self, path: str, *, soon: bool = True) -> Snapshot | None:
        """Like `snapshot`, with the regions of its files.

        Without `soon`, a client that supports refreshes gets the regions known now (`shown_regions`), and is asked to
        refresh when they are found after a pause in the changes.
        """
        while True:
            found = await self.snapshot(path)
            if found is None or (await self._shown(found, path)).are_final:
                return found
            if not soon and self.client.refreshes_lenses:
                self.look_soon(path)
                return found
            if await self.scheduler.regions(found) or self.scheduler.stopped:
                return found

    async def _shown(self, snapshot: Snapshot, path: str) -> Regions:
        """`shown_regions`, which parses a new text."""
        return await self.scheduler.in_thread(partial(shown_regions, snapshot, path))

    def look_soon(self, path: str) -> None:
        """Looks for the regions of a file when no text has changed for a while."""
        if path not in self._looking:
            self._looking.add(path)
            self.keep(asyncio.ensure_future(self._look(path)))

    async def _look(self, path: str) -> None:
        """Searches for the regions of a file when no text has changed for a while."""
        try:
            while not self.scheduler.stopped:
                generation = self.documents.generation
                await asyncio.sleep(_QUIET)
                if generation != self.documents.generation:
                    continue
                found = await self.snapshot(path)
                if found is None or not self.documents.is_open(path):
                    return
                before, reported = await self._shown(found, path), known_regions(found, path)
                # diagnostics of steps of the previous text are still shown, and an extracted step is no longer a candidate
                if before.are_final and reported == before.decisions:
                    return
                if await self.scheduler.regions(found):
                    after = await self._shown(found, path)
                    if before.undecided or not before.decisions == reported == after.decisions:
                        if self.client.refreshes_lenses:
                            await self.workspace_code_lens_refresh_async(None)
                        if self.regions_found is not None:
                            await self.regions_found()
                    return
        finally:
            self._looking.discard(path)

    async def _widen(self, path: str) -> None:
        root = self.documents.session(path).root
        if root in self._widening:
            return
        self._widening.add(root)
        try:
            await self.snapshot(path)
        finally:
            self._widening.discard(root)
        if not self.scheduler.stopped:
            self.widened()

    async def _asked(self, ask: Callable[[str], Awaitable[Snapshot | None]], path: str) -> Snapshot | None:
        if not self.settings_of(self.documents.session(path).root).enable:
            return None
        try:
            return await ask(path)
        except Exception as error:
            raise JsonRpcInternalError(f"the analysis failed inside: {error!r}") from error

    def start(self, params: types.InitializeParams) -> None:
        """Stores the capabilities of the client, its folders and settings."""
        self.client = _client_of(params)
        self.documents.encoding = agreed_encoding(params.capabilities)
        options = params.initialization_options
        if isinstance(options, dict):
            given = parse_settings(options.get("settings"))
            self.settings[""] = given
            for uri, data in (options.get("folders") or {}).items():
                self.settings[uris.to_fs_path(uri) or uri] = parse_settings(data)
            self.settings_changed()
        folders = params.workspace_folders
        if folders is None and params.root_uri is not None:
            folders = [types.WorkspaceFolder(params.root_uri, "")]
        for folder in folders or ():
            self.documents.add_folder(folder.uri)


def _client_of(params: types.InitializeParams) -> Client:
    capabilities = params.capabilities
    text = capabilities.text_document or types.TextDocumentClientCapabilities()
    workspace = capabilities.workspace or types.WorkspaceClientCapabilities()
    action = text.code_action or types.CodeActionClientCapabilities()
    edit = workspace.workspace_edit or types.WorkspaceEditClientCapabilities()
    options = params.initialization_options
    return Client(
        pulls=text.diagnostic is not None,
        related_documents=bool(text.diagnostic and text.diagnostic.related_document_support),
        resolves_edits=bool(
            action.resolve_support and "edit" in action.resolve_support.properties and action.data_support
        ),
        annotates_changes=edit.change_annotation_support is not None and bool(edit.document_changes),
        document_changes=bool(edit.document_changes),
        disabled_actions=bool(action.disabled_support),
        refreshes_diagnostics=bool(workspace.diagnostics and workspace.diagnostics.refresh_support),
        refreshes_hints=bool(workspace.inlay_hint and workspace.inlay_hint.refresh_support),
        refreshes_lenses=bool(workspace.code_lens and workspace.code_lens.refresh_support),
        refreshes_tokens=bool(workspace.semantic_tokens and workspace.semantic_tokens.refresh_support),
        reads_configuration=bool(workspace.configuration),
        watches_files=bool(
            workspace.did_change_watched_files and workspace.did_change_watched_files.dynamic_registration
        ),
        shows_documents=bool(
            capabilities.window and capabilities.window.show_document and capabilities.window.show_document.support
        ),
        runs_shim=not (isinstance(options, dict) and options.get("coExecution") is False),
        asks_reason=bool(isinstance(options, dict) and options.get("asksReason")),
    )
