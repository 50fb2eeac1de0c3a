"""A real client that talks to the server over standard input and output: with the capabilities of VS Code, or with
almost none.

The server is forked after its imports (`warm_programs`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import warm_programs
from lsprotocol import types
from pygls.lsp.client import LanguageClient

ROOT = Path(__file__).parents[3]
PATIENCE = 60
"""Seconds after which a conversation counts as stuck."""


def modern() -> types.ClientCapabilities:
    """The relevant capabilities of VS Code."""
    return types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            diagnostic=types.DiagnosticClientCapabilities(related_document_support=True, dynamic_registration=False),
            code_action=types.CodeActionClientCapabilities(
                data_support=True,
                disabled_support=True,
                is_preferred_support=True,
                honors_change_annotations=True,
                resolve_support=types.ClientCodeActionResolveOptions(["edit"]),
            ),
            inlay_hint=types.InlayHintClientCapabilities(
                resolve_support=types.ClientInlayHintResolveOptions(["tooltip", "textEdits"])
            ),
        ),
        workspace=types.WorkspaceClientCapabilities(
            apply_edit=True,
            configuration=True,
            workspace_folders=True,
            workspace_edit=types.WorkspaceEditClientCapabilities(
                document_changes=True, change_annotation_support=types.ChangeAnnotationsSupportOptions(True)
            ),
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
            inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        ),
        notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
        window=types.WindowClientCapabilities(work_done_progress=True),
        general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf16]),
    )


def poor() -> types.ClientCapabilities:
    """A client with only mandatory capabilities."""
    return types.ClientCapabilities()


class Conversation:
    """One client and one server, in a folder."""

    def __init__(self, folder: Path, capabilities: types.ClientCapabilities, options: Any = None) -> None:
        self.folder = folder
        self.capabilities = capabilities
        self.options = options
        self.client = LanguageClient("test", "1")
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.publications = 0
        self.shown: list[str] = []
        self.applied: list[types.ApplyWorkspaceEditParams] = []
        self.refreshed = 0
        self.progress: list[Any] = []
        self.registered: list[types.Registration] = []
        self.settings: dict[str | None, Any] = {}
        self.versions: dict[str, int] = {}
        self.server_capabilities = types.ServerCapabilities()
        self._listen()

    def _listen(self) -> None:
        client = self.client

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.publications += 1
            self.published[params.uri] = params

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def shown(params: types.ShowMessageParams) -> None:
            self.shown.append(params.message)

        @client.feature(types.WORKSPACE_APPLY_EDIT)
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.applied.append(params)
            return types.ApplyWorkspaceEditResult(applied=True)

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.registered.extend(params.registrations)

        @client.feature(types.WORKSPACE_CONFIGURATION)
        def configuration(params: types.ConfigurationParams) -> list[Any]:
            return [self.settings.get(item.scope_uri) for item in params.items]

        @client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
        def create(_: types.WorkDoneProgressCreateParams) -> None:
            return None

        @client.feature(types.PROGRESS)
        def progress(params: types.ProgressParams) -> None:
            self.progress.append(params.value)

        for method in (
            types.WORKSPACE_DIAGNOSTIC_REFRESH,
            types.WORKSPACE_INLAY_HINT_REFRESH,
            types.WORKSPACE_CODE_LENS_REFRESH,
        ):

            @client.feature(method)
            def refresh(*_: Any) -> None:
                self.refreshed += 1

    async def __aenter__(self) -> Conversation:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": str(self.folder.parent / "cache"),
        }
        await self.client.start_io(*warm_programs.server(), env=environment, cwd=str(self.folder))
        result = await self.client.initialize_async(
            types.InitializeParams(
                capabilities=self.capabilities,
                initialization_options=self.options,
                root_uri=self.folder.as_uri(),
                workspace_folders=[types.WorkspaceFolder(self.folder.as_uri(), "folder")],
            )
        )
        self.server_capabilities = result.capabilities
        self.client.initialized(types.InitializedParams())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None) -> str:
        """Opens a file, with the text on disk unless another is given."""
        if text is None:
            text = (self.folder / name).read_bytes().decode()
        uri = self.uri(name)
        self.versions[uri] = 1
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text))
        )
        return uri

    def change(self, uri: str, text: str, where: types.Range | None = None) -> None:
        """Replaces the text, or a part of it."""
        self.versions[uri] = self.versions.get(uri, 0) + 1
        event: types.TextDocumentContentChangeEvent = (
            types.TextDocumentContentChangeWholeDocument(text)
            if where is None
            else types.TextDocumentContentChangePartial(where, text)
        )
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(self.versions[uri], uri), [event])
        )

    async def pull(self, uri: str, previous: str | None = None) -> Any:
        return await self.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=previous)
        )

    async def rules(self, uri: str) -> list[str]:
        return [str(item.code) for item in (await self.pull(uri)).items]

    async def actions(
        self,
        uri: str,
        line: int,
        *,
        only: list[str] | None = None,
        invoked: bool = True,
    ) -> list[types.CodeAction]:
        """The actions at a line, from 0."""
        trigger = types.CodeActionTriggerKind.Invoked if invoked else types.CodeActionTriggerKind.Automatic
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(uri),
                types.Range(types.Position(line, 0), types.Position(line, 0)),
                types.CodeActionContext([], only=only, trigger_kind=trigger),
            )
        )
        return [action for action in found or () if isinstance(action, types.CodeAction)]

    async def command(self, name: str, *arguments: Any) -> Any:
        return await self.client.workspace_execute_command_async(
            types.ExecuteCommandParams(name, arguments=list(arguments))
        )

    async def until(self, what: Callable[[], bool]) -> None:
        """Waits until a condition holds."""
        for _ in range(PATIENCE * 50):
            if what():
                return
            await asyncio.sleep(0.02)
        raise AssertionError("it did not happen")


def converse(
    folder: Path,
    capabilities: types.ClientCapabilities,
    scenario: Callable[[Conversation], Awaitable[None]],
    settings: dict[str | None, Any] | None = None,
    options: Any = None,
    patience: float = PATIENCE,
) -> Conversation:
    """Runs a scenario against a new server, with a time limit; `options` are those of `initialize`."""

    async def run() -> Conversation:
        conversation = Conversation(folder, capabilities, options)
        conversation.settings = settings or {}
        async with conversation:
            await asyncio.wait_for(scenario(conversation), patience)
        return conversation

    return asyncio.run(run())


def applied(text: str, edits: list[Any]) -> str:
    """A text after edits in UTF-16 positions, as a client would apply them."""
    lines = text.splitlines(keepends=True) or [""]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(position: types.Position) -> int:
        if position.line >= len(lines):
            return len(text)
        encoded = lines[position.line].encode("utf-16-le")[: position.character * 2]
        return starts[position.line] + len(encoded.decode("utf-16-le"))

    for edit in sorted(edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text
