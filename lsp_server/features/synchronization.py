"""Notifications of the client: texts, notebooks, folders, settings, files."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import Any

from lsprotocol import types
from pygls import uris

from lsp_server.features import call_hierarchy, graph_code, workspace_diagnostics
from lsp_server.features.diagnostics import forget, publish_soon, text_opened
from lsp_server.progress import slow_analysis
from lsp_server.server import TerraServer
from lsp_server.settings import SECTION, EditorSettings, parse_settings
from terra_refactor.syntax.source import display_path
from terra_refactor.workspace.data_files import may_be_data

DATA = "**/*.{json,toml,yaml,yml,ini,cfg,csv,tsv,txt,npy}"
"""Files whose content the program may read as numbers; only those that its texts name are used."""
WATCHED = (
    "**/*.py",
    "**/*.ipynb",
    "**/pyproject.toml",
    "**/terra-refactor.toml",
    "**/.gitignore",
    "**/*record*.json",
    DATA,
)
_CONFIGURATIONS = frozenset({"pyproject.toml", "terra-refactor.toml", ".gitignore"})


def register(server: TerraServer) -> None:
    """Adds the handlers."""
    documents = server.documents

    def changed() -> None:
        server.scheduler.changed()
        publish_soon(server)

    def widened() -> None:
        publish_soon(server)
        refresh(server)

    server.widened = widened
    server.scheduler.watcher = partial(slow_analysis, server)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.start(params)
        if server.client.pulls and any(settings.whole_workspace for settings in server.settings.values()):
            server.pulls_workspace = True
            workspace_diagnostics.register(server)  # registered features are announced to the client
        settings = server.settings.get("", EditorSettings())
        # an editor accepts these from one server only; our extension has a view and a decoration instead
        if settings.call_hierarchy and not server.client.asks_reason:
            call_hierarchy.offer_call_hierarchy(server)
        if settings.semantic_tokens and not server.client.asks_reason:
            graph_code.offer_semantic_tokens(server)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        # first, since requests of the client are answered without them meanwhile
        await read_settings(server)
        if server.client.watches_files:
            watchers = [types.FileSystemWatcher(glob) for glob in WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("watched-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await server.client_register_capability_async(types.RegistrationParams([registration]))

    @server.feature(types.SHUTDOWN)
    def shutdown(*_: Any) -> None:
        server.scheduler.stop()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        documents.open_text(params.text_document)
        text_opened(server, params.text_document.uri)
        changed()

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        documents.change_text(params.text_document.uri, params.text_document.version, params.content_changes)
        changed()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        documents.close_text(params.text_document.uri)
        forget(server, [params.text_document.uri])
        changed()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(_: types.DidSaveTextDocumentParams) -> None:
        if not server.client.watches_files:
            found = [session.check_disk() for session in documents.sessions()]  # all of them, not only up to the first
            if any(found):
                documents.generation += 1
                changed()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def notebook_did_open(params: types.DidOpenNotebookDocumentParams) -> None:
        documents.open_notebook(params.notebook_document, params.cell_text_documents)
        text_opened(server, params.notebook_document.uri)
        changed()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_did_change(params: types.DidChangeNotebookDocumentParams) -> None:
        documents.change_notebook(params.notebook_document.uri, params.notebook_document.version, params.change)
        changed()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_did_close(params: types.DidCloseNotebookDocumentParams) -> None:
        documents.close_notebook(params.notebook_document.uri)
        forget(server, [cell.uri for cell in params.cell_text_documents], pushed=True)
        changed()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            documents.remove_folder(folder.uri)
        for folder in params.event.added:
            documents.add_folder(folder.uri)
        await read_settings(server)
        changed()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configuration_changed(params: types.DidChangeConfigurationParams) -> None:
        if not server.client.reads_configuration and isinstance(params.settings, dict):
            server.settings[""] = parse_settings(params.settings.get(SECTION, params.settings))
            server.settings_changed()
            documents.remake_sessions()
        await read_settings(server)
        changed()
        refresh(server)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        paths = [path for event in params.changes if (path := uris.to_fs_path(event.uri)) is not None]
        listing = any(event.type is not types.FileChangeType.Changed for event in params.changes)
        if any(os.path.basename(path) in _CONFIGURATIONS for path in paths):
            documents.remake_sessions()
        else:
            concerned = False
            for session in documents.sessions():
                own = [display_path(path) for path in paths if session.owns(path)]
                if own or session.records_changed():
                    session.files_changed(own, listing=listing and bool(own))
                    concerned = True
            if not concerned and all(map(may_be_data, paths)):
                return  # a run writes its logs
            documents.generation += 1
        changed()
        refresh(server)


async def read_settings(server: TerraServer) -> None:
    """Requests the settings of every folder from the client, if it supports that."""
    if not server.client.reads_configuration:
        return
    folders = list(server.documents.folders)
    items = [
        types.ConfigurationItem(section=SECTION),
        *(types.ConfigurationItem(scope_uri=folder.uri, section=SECTION) for folder in folders),
    ]
    values = await server.workspace_configuration_async(types.ConfigurationParams(items))
    known = dict(server.settings)
    for path, value in zip(["", *(folder.path for folder in folders)], values, strict=False):
        if value is not None:
            server.settings[path] = parse_settings(value)
    if server.settings != known:
        server.settings_changed()
        server.documents.remake_sessions()
        server.scheduler.changed()
        publish_soon(server)
        refresh(server)


def refresh(server: TerraServer) -> None:
    """Asks the client to refresh everything that it shows."""

    async def ask() -> None:
        if server.client.refreshes_diagnostics:
            await server.workspace_diagnostic_refresh_async(None)
        if server.client.refreshes_hints:
            await server.workspace_inlay_hint_refresh_async(None)
        if server.client.refreshes_lenses:
            await server.workspace_code_lens_refresh_async(None)
        if server.client.refreshes_tokens:
            await server.workspace_semantic_tokens_refresh_async(None)
        if server.client.asks_reason:
            server.protocol.notify(graph_code.CHANGED)

    server.keep(asyncio.ensure_future(ask()))
